"""Launchers of choices: which case is taken, what is handed on, what is refused; and edits of them, which validation sees.

Comes in: an op with several machines and a choice among them. Goes out: the emitted module, called on the CPU at sizes of each case; which launcher would be called for arrays of a GPU. The one idea:
that the right kernel ran cannot be seen in its results, so the launchers of the machines say that they were called.
"""

from __future__ import annotations

from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.validate.modules import edited
from tinygpu import pipeline
from tinygpu.algebra.verdict import judged
from tinygpu.emit.module import Built
from tinygpu.proof.choice import Covered
from tinygpu.run.load import load

SPECS = {
    "sums": """
op sums(x: f32[R, N]) -> (s: f32[R]) { s[r] = sum[j] x[r, j] }
machine whole : sums {
  work    grid = (r), block = (t: 32)
  compute j = (c, t)
  time    c
}
machine parts : sums where N >= 1 {
  launch partial {
    work    grid = (r, g: 4), block = (t: 32)
    compute j = (c, g, t)
    time    c
  }
  launch rest {
    work    grid = (r), block = (t: 1)
    compute g = (c, t)
    time    c
  }
}
choice best : sums {
  whole where N <= 100
  parts where N > 100
}
""",
    "pick": """
op pick(x: f32[N], k: i32[R]) -> (y: f32[R // S]) where S >= 1, all[r] (0 <= k[r] and k[r] < N) { y[i] = x[k[i*S]] }
machine one : pick {
  work    grid = (g), block = (t: 32)
  compute i = (g, t)
}
machine two : pick where S > 1 {
  work    grid = (g), block = (t: 64)
  compute i = (g, t)
}
choice pick_any : pick {
  one where S == 1
  two
}
""",
    "family": """
op relu[T in {f32, f64}](x: T[n]) -> (y: T[n]) { y[i] = max(x[i], 0) }
machine plain : relu {
  work    grid = (g), block = (t: 32)
  compute i = (g, t)
}
machine fours : relu where n % 4 == 0 {
  work    grid = (g), block = (t: 32)
  compute i = (g, t, v: 4)
  vector  v
}
choice any_relu : relu {
  plain where n % 4 != 0
  fours
}
""",
}


@cache
def ready(name: str) -> tuple[tuple[Built, ...], tuple[Covered, ...]]:
    """Machines and choices, proved."""
    spec = pipeline.load_text(SPECS[name], f"{name}.tgpu").spec
    proofs = [(pipeline.check(machine), machine) for machine in spec.machines]
    found = [judged(one) for one in spec.choices]
    assert all(isinstance(proof, pipeline.Proof) for proof, _ in proofs) and all(isinstance(one, Covered) for one in found)
    return tuple(pipeline.built(proof, machine) for proof, machine in proofs), tuple(found)  # type: ignore[arg-type]


@cache
def text(name: str) -> str:
    """The module, read back."""
    machines, choices = ready(name)
    return pipeline.sound(f"{name}.tgpu", machines, choices)


@cache
def module(name: str) -> ModuleType:
    return load(text(name), name)


def watched(name: str, answer: Any = None) -> tuple[ModuleType, list[tuple[str, tuple[Any, ...]]]]:
    """A module of its own, whose machines say that they are called, and with what; they give `answer`."""
    made, calls = load(text(name), f"{name}_watched"), list[tuple[str, tuple[Any, ...]]]()
    for one in ready(name)[0]:
        called = next(n for n in vars(made) if n.endswith("_spec") and n.startswith(one.machine.name) and _of(made, n, one))
        setattr(made, called.replace("_spec", "_launch"), lambda *given, n=called[:-5]: (calls.append((n, given)), answer)[1])
    return made, calls


def _of(made: ModuleType, spec: str, one: Built) -> bool:
    return [dtype for dtype, _ in vars(made)[spec]["inputs"].values()] == [t.dtype for t in one.machine.op.inputs]


@pytest.mark.parametrize("shape", [(3, 7), (2, 100), (2, 101), (1, 333), (0, 5), (0, 200), (4, 0), (5, 1)])
def test_each_case_computes_what_the_op_says(shape: tuple[int, int]) -> None:
    x = np.random.default_rng(1).integers(-9, 9, shape).astype(np.float32)
    found = module("sums").best(x)
    assert found.dtype == np.float32 and np.array_equal(found, x.sum(axis=1))
    out = np.empty(shape[0], np.float32)
    assert module("sums").best(x, out=out) is out and np.array_equal(out, found)
    assert module("sums").sums is module("sums").best  # the op's name is that of its choice


@pytest.mark.parametrize(("columns", "name"), [(0, "whole"), (100, "whole"), (101, "parts"), (5000, "parts")])
def test_the_case_is_told_by_sizes(columns: int, name: str) -> None:
    made, calls = watched("sums", "answered")
    x, out = np.zeros((2, columns), np.float32), np.zeros(2, np.float32)
    assert made.best(x, out=out, stream="mine") == "answered"
    ((called, given),) = calls
    assert called == name and given[0] is x and given[1] is out and given[2] == "mine"
    assert given[3:] == ((None,) if name == "parts" else ())  # whose workspace it makes itself


def test_arrays_of_a_gpu_are_handed_on_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    made, calls = watched("sums")
    monkeypatch.setattr(made.runtime, "_device_of", lambda pointer: 0)  # which a driver says
    held = {"shape": (3, 400), "typestr": "<f4", "data": (4096, False), "strides": None, "version": 3}
    x = type("OnGpu", (), {"__cuda_array_interface__": held})()
    made.best(x, stream=7)
    assert calls == [("parts", (x, None, 7, None))]


def test_sizes_by_name_and_promises_are_handed_on() -> None:
    made, calls = watched("pick")
    x, k = np.arange(5, dtype=np.float32), np.array([4, 0, 2, 1, 3], np.int32)
    made.pick_any(x, k, S=1)
    made.pick_any(x, k, S=2, check_data=True)
    assert [(name, given[2:]) for name, given in calls] == [("one", (1, None, None, False)), ("two", (2, None, None, True))]
    assert module("pick").pick_any(x, k, S=2).tolist() == [4, 2]
    with pytest.raises(ValueError, match="TG808 two: proved only where all"):
        module("pick").pick_any(x, k + 1, S=2, check_data=True)


def test_what_no_launcher_takes_is_refused_in_the_name_of_the_choice() -> None:
    x = np.zeros((2, 3), np.float32)
    for given, said in ((x[0], "TG803 best"), (x.astype(np.float64), "TG802 best"), ("x", "TG801 best")):
        with pytest.raises((TypeError, ValueError), match=said):
            module("sums").best(given)
    with pytest.raises(ValueError, match="TG808 pick_any: proved only where S >= 1"):
        module("pick").pick_any(x[0], np.zeros(2, np.int32), S=0)
    with pytest.raises(TypeError, match="TG804 pick_any"):
        module("pick").pick_any(x[0], np.zeros(2, np.int32), S=1.5)
    with pytest.raises(ValueError, match="TG804"):
        module("sums").best(x, out=np.zeros(3, np.float32))


@pytest.mark.parametrize(
    ("dtype", "count", "name"), [("f4", 8, "fours_f32"), ("f4", 7, "plain_f32"), ("f8", 8, "fours_f64"), ("f8", 0, "fours_f64")]
)
def test_of_a_family_dtype_and_sizes_tell(dtype: str, count: int, name: str) -> None:
    made, calls = watched("family")
    made.any_relu(np.zeros(count, dtype))
    made.relu(np.zeros(count, dtype))
    assert [called for called, _ in calls] == [name, name]
    x = np.linspace(-1, 1, count, dtype=dtype)
    assert np.array_equal(module("family").relu(x), np.maximum(x, 0))


EDITS = (
    ("another case", '(("N <= 100",), "whole"), (("N > 100",), "parts")', '(("N <= 101",), "whole"), (("N > 101",), "parts")'),
    ("the cases in another order", '(("N <= 100",), "whole"), (("N > 100",), "parts")', '(("N > 100",), "parts"), (("N <= 100",), "whole")'),
    ("another machine", '(("N > 100",), "parts")', '(("N > 100",), "whole")'),
    ("no machine", '(("N > 100",), "parts")', '(("N > 100",), "best")'),
    ("a case less", ', (("N > 100",), "parts"))', ",)"),
    ("another size", '"solved": {"R": ("x", 0, "0", "1"), "N": ("x", 1, "0", "1")}', '"solved": {"R": ("x", 1, "0", "1"), "N": ("x", 0, "0", "1")}'),
    ("a launcher of its own", "runtime.chooser(best_spec", "runtime.launcher(best_spec"),
    ("another table", "runtime.chooser(best_spec", "runtime.chooser(whole_spec"),
    ("other arguments", "return best_launch(x, out, stream)", "return best_launch(x, None, stream)"),
    ("something at its call", "return best_launch(x, out, stream)", "return print(x)"),
    ("code in a default", "def best(x: Array, *, out: Array = None", "def best(x: Array, *, out: Array = print('run')"),
    ("another name", "sums = best", "sums = best_cpu"),
)  # fmt: skip


@pytest.mark.parametrize(("old", "new"), [pytest.param(*one, id=what) for what, *one in EDITS])
def test_an_edit_is_seen(old: str, new: str) -> None:
    machines, choices = ready("sums")
    assert pipeline.validate(text("sums"), machines, "m.py", choices) == ()
    other, _ = edited(text("sums"), old, new, after="best_spec = {" if "sums =" not in old else "")
    found = pipeline.validate(other, machines, "m.py", choices)
    assert (
        found and {d.code for d in found} <= {"TG821", "TG822", "TG823"} and all(d.verdict in ("error", "unknown") for d in found)
    )


def test_a_choice_is_part_of_what_is_expected() -> None:
    machines, choices = ready("sums")
    without = pipeline.module("sums.tgpu", machines)
    assert [d.code for d in pipeline.validate(without, machines, "m.py", choices)] == ["TG822"]
    assert pipeline.validate(text("sums"), machines, "m.py") != ()


def test_only_what_is_proved_is_built() -> None:
    machines, choices = ready("sums")
    with pytest.raises(TypeError, match="not proved"):
        pipeline.module("sums.tgpu", machines, [choices[0].choice])  # type: ignore[list-item]
    with pytest.raises(KeyError):
        pipeline.module("sums.tgpu", machines[:1], choices)
