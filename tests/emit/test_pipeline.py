"""Launchers of pipelines: what is called with what, where values lie, what is refused; and edits of them, which validation sees.

Comes in: ops with machines, and pipelines of them. Goes out: the emitted module, called on the CPU at odd sizes against numpy. The one idea: a pipeline computes what its op says, in the workspace
that it is given, and makes nothing else.
"""

from __future__ import annotations

from functools import cache
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.validate.modules import edited
from tinygpu import pipeline
from tinygpu.algebra.verdict import judged
from tinygpu.emit.module import Built
from tinygpu.proof.choice import Covered
from tinygpu.proof.pipeline import Linked
from tinygpu.run.load import load

SPEC = """
op shift(x: f32[M, N], a: f32) -> (y: f32[M, N]) { y[i, j] = x[i, j] + a }
op product(A: f32[M, K], B: f32[K, N]) -> (C: f32[M, N]) { C[i, j] = sum[k] A[i, k] * B[k, j] }
op add(x: f32[M, N], y: f32[M, N]) -> (z: f32[M, N]) { z[i, j] = x[i, j] + y[i, j] }
op spread(x: f32[N]) -> (y: f32[M, N]) { y[i, j] = x[j] }
op sums(x: f32[M, N]) -> (s: f32[M]) { s[r] = sum[j] x[r, j] }
machine shifts : shift {
  work    grid = (b), block = (t: 32)
  compute i = b, j = (c, t)
  time    c
}
machine tiles : product {
  work    grid = (by, bx), block = (ty: 8, tx: 8)
  compute i = (by, ty), j = (bx, tx)
  time    k
}
machine adds : add {
  work    grid = (b), block = (t: 32)
  compute i = b, j = (c, t)
  time    c
}
machine spreads : spread {
  work    grid = (b), block = (t: 32)
  compute i = b, j = (c, t)
  time    c
}
machine parts : sums {
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
machine more_parts : sums {
  launch partial {
    work    grid = (r, g: 8), block = (t: 32)
    compute j = (c, g, t)
    time    c
  }
  launch rest {
    work    grid = (r), block = (t: 1)
    compute g = (c, t)
    time    c
  }
}
machine whole_sum : sums {
  work    grid = (r), block = (t: 32)
  compute j = (c, t)
  time    c
}
choice any_sum : sums {
  whole_sum where N <= 9
  parts where N > 9, N <= 40
  more_parts where N > 40
}
pipeline chosen(x: f32[T, D]) -> (n: f32[T], m: f32[T]) {
  s = shift(x, 1)
  n = sums(s) by any_sum
  m = sums(x) by any_sum
}
pipeline inner(x: f32[T, D], V: f32[D, H], W: f32[H, D]) -> (y: f32[T, D]) {
  s = shift(x, 1)
  h = product(s, V)
  y = product(h, W)
}
pipeline mixer(x: f32[T, D], V: f32[D, H], W: f32[H, D], b: f32[D], a: f32) -> (y: f32[T, D], n: f32[T]) {
  r = inner(x, V, W)
  c = spread(b, M = T)
  d = add(r, c)
  e = shift(d, a)
  n = sums(e) by parts
  y = add(e, x)
}
"""


@cache
def ready() -> tuple[tuple[Built, ...], tuple[Covered | Linked, ...]]:
    """Machines and pipelines, proved."""
    spec = pipeline.load_text(SPEC, "mixer.tgpu").spec
    built = []
    for machine in spec.machines:
        proof = pipeline.check(machine)
        assert isinstance(proof, pipeline.Proof)
        built.append(pipeline.built(proof, machine))
    found = [one for one in map(judged, spec.joined) if isinstance(one, Covered | Linked)]
    assert len(found) == len(spec.joined)
    return tuple(built), tuple(found)


@cache
def text() -> str:
    """The module, read back."""
    return pipeline.sound("mixer.tgpu", *ready())


@cache
def module() -> ModuleType:
    return load(text(), "mixer")


def arrays(T: int, D: int, H: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(T + D + H)
    return tuple(rng.integers(-4, 5, shape).astype(np.float32) for shape in ((T, D), (D, H), (H, D), (D,)))


def expected(x: np.ndarray, V: np.ndarray, W: np.ndarray, b: np.ndarray, a: float) -> tuple[np.ndarray, np.ndarray]:
    e = (x + 1) @ V @ W + b + np.float32(a)
    return e + x, e.sum(axis=1)


def room(T: int, D: int, H: int, name: str = "mixer") -> int:
    spec = vars(module())[f"{name}_spec"]
    (said,) = spec["workspaces"]["arena"][1]
    return int(eval(module().runtime._python(said), {"n_T": T, "n_D": D, "n_H": H}))


def makes_nothing(monkeypatch: pytest.MonkeyPatch, launch: Any) -> None:
    """From now on it may not."""

    def none(*given: object) -> None:
        raise AssertionError(f"{given[1]} is made")

    for held in (vars(module().runtime), launch.__globals__):
        if "_allocate" in held:
            monkeypatch.setitem(held, "_allocate", none)


@pytest.mark.parametrize("sizes", [(1, 1, 1), (3, 5, 2), (7, 33, 65), (64, 1, 70), (2, 100, 0), (5, 0, 3), (0, 4, 4), (0, 0, 0)])
def test_it_computes_what_its_op_says_at_odd_sizes(sizes: tuple[int, int, int]) -> None:
    given = arrays(*sizes)
    y, n = module().mixer(*given, 2)
    right = expected(*given, 2)
    assert np.array_equal(y, right[0]) and np.array_equal(n, right[1])


def test_in_the_memory_that_it_is_given_it_makes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = 7, 33, 65
    given = arrays(*sizes)
    out = np.empty((7, 33), np.float32), np.empty(7, np.float32)
    workspace = np.full(room(*sizes), 255, np.uint8)  # a NaN in each element
    module().mixer(*given, 2, out=out, workspace=workspace)  # compiled
    makes_nothing(monkeypatch, module().mixer_launch)
    workspace[:] = 255
    found = module().mixer(*given, 2, out=out, workspace=workspace)
    right = expected(*given, 2)
    assert found[0] is out[0] and np.array_equal(out[0], right[0]) and np.array_equal(out[1], right[1])


@pytest.mark.parametrize("D", [0, 3, 9, 10, 40, 41, 100])
def test_a_choice_has_its_case_s_workspace_in_that_of_the_pipeline(D: int, monkeypatch: pytest.MonkeyPatch) -> None:
    x, (T, _) = arrays(5, D, 1)[0], (5, D)
    out, workspace = (np.empty(T, np.float32), np.empty(T, np.float32)), np.full(room(T, D, 0, "chosen"), 255, np.uint8)
    module().chosen(x, out=out, workspace=workspace)  # compiled
    makes_nothing(monkeypatch, module().chosen_launch)
    workspace[:] = 255
    n, m = module().chosen(x, out=out, workspace=workspace)
    assert np.array_equal(n, (x + 1).sum(axis=1)) and np.array_equal(m, x.sum(axis=1))
    between = module().chosen_spec["between"]
    assert [name for name in between if "." in name] == ["1.1.s_part", "1.2.s_part", "2.1.s_part", "2.2.s_part"]
    assert between["1.1.s_part"][2] == between["1.2.s_part"][2], "one of the two is there"


def test_what_is_between_has_no_extent_below_0() -> None:
    text = """
op cut(x: f32[N]) -> (y: f32[N - 2]) { y[i] = x[i + 1] }
op total(x: f32[N]) -> (s: f32[3]) { s[r] = sum[i] x[i] }
machine cuts : cut {
  work    grid = (g), block = (t: 32)
  compute i = (g, t)
}
machine totals : total {
  work    grid = (r), block = (t: 32)
  compute i = (c, t)
  time    c
}
pipeline inside(x: f32[T]) -> (s: f32[3]) {
  h = cut(x)
  s = total(h)
}
pipeline outside(x: f32[T]) -> (s: f32[3]) { s = inside(x) }
"""
    import tinygpu

    made = pipeline.load_text(text, "inside.tgpu")
    for one in (made.inside, made.outside):
        call = tinygpu.build(tinygpu.check(one))
        assert call(np.arange(5, dtype=np.float32)).tolist() == [6] * 3 and call(np.ones(2, np.float32)).tolist() == [0] * 3
        with pytest.raises(ValueError, match=f"TG808 {one.name}: proved only where T - 2 >= 0"):
            call(np.ones(1, np.float32))


def test_what_no_launcher_takes_is_refused_in_the_name_of_the_pipeline() -> None:
    given = arrays(3, 5, 2)
    for wrong, said in ((given[0][0], "TG803 mixer"), (given[0].astype(np.float64), "TG802 mixer")):
        with pytest.raises((TypeError, ValueError), match=said):
            module().mixer(wrong, *given[1:], 2)
    with pytest.raises(ValueError, match="TG804 mixer"):
        module().mixer(given[0], given[1], given[1], given[3], 2)
    with pytest.raises(ValueError, match="TG80"):
        module().mixer(*given, 2, workspace=np.empty(room(3, 5, 2) - 1, np.uint8))
    with pytest.raises(ValueError, match="TG8"):
        module().mixer(*given, 2, out=(given[0], np.empty(3, np.float32)))  # no output lies in an input


def test_on_a_gpu_calls_are_given_places_in_the_workspace(monkeypatch: pytest.MonkeyPatch) -> None:
    made, calls = load(text(), "mixer_watched"), list[tuple[str, list[object]]]()
    monkeypatch.setattr(made.runtime, "_device_of", lambda pointer: 0)  # which a driver says
    for name in ("inner", "spreads", "adds", "shifts", "parts"):
        watched = SimpleNamespace(go=lambda *given, name=name: calls.append((name, [*map(address, given)])))
        setattr(made, f"{name}_launch", watched)
    sizes = dict(zip("TDH", (5, 4, 3), strict=True))
    x, V, W, b = (on_gpu(k << 20, shape) for k, shape in enumerate(((5, 4), (4, 3), (3, 4), (4,)), 1))
    out, workspace = (on_gpu(8 << 20, (5, 4)), on_gpu(9 << 20, (5,))), on_gpu(1 << 30, (room(**sizes),), "|u1")
    assert made.mixer(x, V, W, b, 2, out=out, stream=7, workspace=workspace) is not None
    lie = {
        n: (1 << 30) + int(eval(made.runtime._python(at), {f"n_{s}": v for s, v in sizes.items()}))
        for n, (*_, at) in made.mixer_spec["between"].items()
    }
    assert calls == [
        ("inner", [1 << 20, 2 << 20, 3 << 20, lie["r"], lie["0.arena"], 5, 4, 3, 7]),
        ("spreads", [4 << 20, lie["c"], 4, 5, 7]),
        ("adds", [lie["r"], lie["c"], lie["d"], 5, 4, 7]),
        ("shifts", [lie["d"], 2, lie["e"], 5, 4, 7]),
        ("parts", [lie["e"], 9 << 20, next(at for n, at in lie.items() if n.startswith("4.")), 5, 4, 7]),
        ("adds", [lie["e"], 1 << 20, 8 << 20, 5, 4, 7]),
    ]  # fmt: skip


def on_gpu(pointer: int, shape: tuple[int, ...], typestr: str = "<f4") -> object:
    held = {"shape": shape, "typestr": typestr, "data": (pointer, False), "strides": None, "version": 3}
    return type("OnGpu", (), {"__cuda_array_interface__": held})()


def address(given: object) -> object:
    return getattr(given, "pointer", given)


EDITS = (
    ("another argument", '("adds", ("r", "c")', '("adds", ("r", "d")'),
    ("another place", '"c": ("f32", ("T", "D"), "', '"c": ("f32", ("T", "D"), "0 + '),
    ("another size", '("b",), {"N": "D", "M": "T"}', '("b",), {"N": "D", "M": "T + 1"}'),
    ("a number", '("shifts", ("x", 1.0)', '("shifts", ("x", 2.0)'),
    ("another output", '("e", "x"), {"M": "T", "N": "D"}, ("y",)', '("e", "x"), {"M": "T", "N": "D"}, ("n",)'),
    ("another launcher", '("adds", ("e", "x")', '("mixer", ("e", "x")'),
    ("no launcher", '("adds", ("e", "x")', '("subs", ("e", "x")'),
    ("less room", '"arena": ("u8", ("', '"arena": ("u8", ("-256 + '),
    ("a launcher of its own", "runtime.chain(mixer_spec", "runtime.launcher(mixer_spec"),
    ("another table", "runtime.chain(mixer_spec", "runtime.chain(inner_spec"),
    ("other arguments", "return mixer_launch(x, V, W, b, a, out", "return mixer_launch(x, V, W, b, 1, out"),
)  # fmt: skip


@pytest.mark.parametrize(("old", "new"), [pytest.param(*one, id=what) for what, *one in EDITS])
def test_an_edit_is_seen(old: str, new: str) -> None:
    machines, joined = ready()
    changed, _ = edited(text(), old, new, "inner_spec = {" if "shifts" in old else "mixer_spec = {")
    assert changed != text() and pipeline.validate(changed, machines, joined=joined)
    assert not pipeline.validate(text(), machines, joined=joined)


def test_from_python_a_pipeline_is_checked_and_built_as_a_machine_is() -> None:
    import tinygpu
    from tinygpu.diagnostic import Diagnostic
    from tinygpu.whole import Whole, insisted, parts

    spec = pipeline.load_text(SPEC, "mixer.tgpu")
    proof = tinygpu.check(spec.mixer)
    assert isinstance(proof, Whole) and [one.name for one in parts(spec.mixer)] == ["inner", "mixer"]
    given = arrays(3, 5, 2)
    y, n = tinygpu.build(proof)(*given, 2)
    assert np.array_equal(y, expected(*given, 2)[0]) and np.array_equal(n, expected(*given, 2)[1])
    assert isinstance(tinygpu.check(spec.adds), pipeline.Proof)
    wrong = pipeline.load_text(SPEC + "pipeline bad(x: f32[T, D], z: f32[R, D]) -> (y: f32[T, D]) { y = add(x, z) }", "bad.tgpu")
    found = tinygpu.check(wrong.bad)
    assert isinstance(found, Diagnostic) and found.code == "TG555"
    with pytest.raises(pipeline.TinygpuError):
        insisted(found)
    with pytest.raises(AttributeError, match=r"<Loaded mixer\.tgpu: .*, inner, mixer, shifts, .*> has no 'other'"):
        spec.other  # noqa: B018
