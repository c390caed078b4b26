"""Promises of data, checked on request: what breaks them is named, what keeps them passes, and nobody is asked unasked.

Comes in: small specs with promises of every kind, arrays that break them at the edges. Goes out: the exact messages.
The one idea: a launch that was refused has written nothing.
"""

from __future__ import annotations

import inspect
from functools import cache
from types import ModuleType

import ml_dtypes
import numpy as np
import pytest

from tests.emit.specs_for_launchers import built
from tinygpu.emit.module import emit
from tinygpu.pipeline import load_text
from tinygpu.run.load import load
from tinygpu.simulate.promised import promised

ONE = "{\n  work grid = (g), block = (t: 64)\n  compute i = (g, t)\n}"
HEAD = "op pick(k: i32, x: i32[n], w: i64[n], r: i32[n + 1], f: f32[n, m], h: bf16[n], b: bool[n], u: u8[n]) -> (y: i32[n]) where PROMISE {\n"
BODY = "  y[i] = x[i] + k + i32(w[i]) + i32(r[i]) + (1 if b[i] and f[i, 0] > 0 and h[i] > 0 else 0) + i32(u[i])\n}\n"


def spec(promise: str) -> str:
    """Its text."""
    return HEAD.replace("PROMISE", promise) + BODY + f"machine pick_m : pick {ONE}"


def loaded(name: str, text: str) -> ModuleType:
    """The module of a spec."""
    return load(emit(f"{name}.tgpu", built(text, f"{name}.tgpu")), name)


@cache
def made(promise: str) -> ModuleType:
    """The module of an op that promises that, with every kind of input."""
    return loaded("pick", spec(promise))


def arrays(n: int = 6, m: int = 2, **changed: object) -> dict[str, object]:
    """Inputs that keep every promise below, but for those that are changed."""
    inputs: dict[str, object] = {
        "k": 3, "x": np.arange(n, dtype=np.int32), "w": np.arange(n, dtype=np.int64), "r": np.arange(n + 1, dtype=np.int32),
        "f": np.ones((n, m), np.float32), "h": np.ones(n, ml_dtypes.bfloat16), "b": np.ones(n, np.bool_), "u": np.ones(n, np.uint8),
    }  # fmt: skip
    return inputs | changed


def at(place: object, value: object, like: object) -> np.ndarray:
    """A copy with one other element."""
    array = np.array(like)
    array[place] = value
    return array


G = arrays()
INSIDE = "all[t] (0 <= x[t] and x[t] < i32(n))"
SAID = INSIDE.replace("[t]", "[t < n]", 1)
WITH = "n = 6, m = 2"
BROKEN = [  # promise, what it is called in the message, inputs that break it, what is read there
    (INSIDE, SAID, {"x": at(2, 6, G["x"])}, "x[2] = 6"),
    (INSIDE, SAID, {"x": at(0, -1, G["x"])}, "x[0] = -1"),
    (INSIDE, SAID, {"x": at(5, 2**31 - 1, G["x"])}, "x[5] = 2147483647"),
    (INSIDE, SAID, {"x": at([4, 3], [-7, 9], G["x"])}, "x[3] = 9"),
    ("k > 0", "k > 0", {"k": 0}, "k = 0"),
    ("k > 0 and all[t] (u[t] < 4)", "all[t < n] (u[t] < 4)", {"u": at(1, 255, G["u"])}, "u[1] = 255"),
    ("all[t] (x[t] < n)", "all[t < n] (x[t] < n)", {"x": at(4, 6, G["x"])}, "x[4] = 6"),
    ("all[t < n] (r[t] <= r[t + 1])", "all[t < n] (r[t] <= r[t + 1])", {"r": at(6, 0, G["r"])}, "r[5] = 5, r[6] = 0"),
    ("all[t < n] (r[t + 1 | 0] >= 0)", "all[t < n] ((r[t + 1] if t + 1 >= 0 and t + 1 < n + 1 else 0) >= 0)", {"r": at(6, -2, G["r"])}, "r[6] = -2"),
    ("all[t < n] (r[t + 2] >= 0)", "all[t < n] (r[t + 2] >= 0)", {}, "r[7] is outside"),
    ("all[t < n] (not r[t + 2] < 0)", "all[t < n] (not r[t + 2] < 0)", {}, "r[7] is outside"),
    ("r[n] == i32(n)", "r[n] == i32(n)", {"r": at(6, 5, G["r"])}, "r[6] = 5"),
    ("all[t] (not b[t] or x[t] >= 0)", "all[t < n] (not b[t] or x[t] >= 0)", {"x": at([1, 3], -1, G["x"]), "b": at(1, False, G["b"])}, "x[3] = -1, b[3] = True"),
    ("all[s, t] (f[s, t] > 0)", "all[s < n, t < m] (f[s, t] > 0)", {"f": at((3, 1), 0, G["f"])}, "f[3, 1] = 0.0"),
    ("all[s] (x[s] >= 0 and all[t] (f[s, t] > 0))", "all[s < n] (x[s] >= 0 and all[t < m] (f[s, t] > 0))", {"f": at((0, 1), np.nan, G["f"])}, "f[0, 1] = nan"),
    ("all[t] (h[t] > 0)", "all[t < n] (h[t] > 0)", {"h": at(5, -2, G["h"])}, "h[5] = -2.0"),
    ("all[t] (h[t] > 0)", "all[t < n] (h[t] > 0)", {"h": at(5, -2, G["h"]).view(np.uint16)}, "h[5] = -2.0"),
    ("all[s < n, t < n] (s == t or x[s] != x[t])", "all[s < n, t < n] (s == t or x[s] != x[t])", {"x": at(4, 1, G["x"])}, "x[1] = 1, x[4] = 1"),
    ("all[t] (w[t] + 1 < k)", "all[t < n] (w[t] + 1 < k)", {"w": at(2, 2**63 - 1, np.zeros(6, np.int64))}, f"k = 3, w[2] = {2**63 - 1}"),
    ("all[t] (x[x[t]] >= 0)", "all[t < n] (x[x[t]] >= 0)", {"x": at(2, 77, G["x"])}, "x[2] = 77, x[77] is outside"),
    ("all[t] (w[t] // k >= 0)", "all[t < n] (w[t] // k >= 0)", {"k": 0}, "k = 0, w[0] = 0"),
    ("all[t] (x[t] <= n // t)", "all[t < n] (x[t] <= n // t)", {}, "x[0] = 0"),
    ("all[t] (w[t]*w[t]*w[t] < k)", "all[t < n] (w[t]*w[t]*w[t] < k)", {"w": at(2, 2**22, np.zeros(6, np.int64))}, f"k = 3, w[2] = {2**22}"),
    ("all[t] (w[t]*w[t] // k >= 0)", "all[t < n] (w[t]*w[t] // k >= 0)", {"k": 0}, "k = 0, w[0] = 0"),
    ("all[t] ((x[t] if b[t] else k) > 0)", "all[t < n] ((x[t] if b[t] else k) > 0)", {"b": at(0, False, G["b"]), "x": at(3, 0, G["x"])}, "k = 3, x[3] = 0, b[3] = True"),
]  # fmt: skip


@pytest.mark.parametrize(("promise", "said", "changed", "read"), BROKEN, ids=lambda v: v[:40] if isinstance(v, str) else None)
def test_what_breaks_a_promise_is_named_and_nothing_is_written(promise, said, changed, read):
    out = np.full(6, 77, np.int32)
    with pytest.raises(ValueError) as caught:
        made(promise).pick(**arrays(**changed), out=out, check_data=True)
    assert str(caught.value) == f"TG808 pick_m: proved only where {said}; here {read}, with {WITH}"
    assert type(caught.value) is ValueError and (out == 77).all()


NEVER = ("t + 2", "w[t] + 1", "if b", "n // t", "*w[t] < k")  # of the arrays above
KEPT = sorted({promise for promise, *_ in BROKEN if not any(part in promise for part in NEVER)})


@pytest.mark.parametrize("promise", KEPT)
@pytest.mark.parametrize("n", [0, 1, 6])
def test_right_data_passes(promise, n):
    given = arrays(n)
    assert np.array_equal(made(promise).pick(**given, check_data=True), made(promise).pick(**given))


def test_nothing_is_checked_unless_somebody_asks():
    wrong = arrays(x=at(5, -1, G["x"]))
    assert np.array_equal(made(INSIDE).pick(**wrong), made(INSIDE).pick(**wrong, check_data=False))
    assert str(inspect.signature(made(INSIDE).pick)).endswith("stream: 'Any' = None, check_data: 'bool' = False) -> 'Array'")
    said = inspect.getdoc(made(INSIDE).pick_m)
    assert f"Promised of the data: {SAID}.\nAssumed, unless check_data=True" in said and "On a GPU that copies the inputs" in said


@pytest.mark.parametrize(
    ("promise", "broken", "said"),
    [
        ("k > 0", {"k": 0}, "k > 0; here k = 0, with n = 6, m = 2"),
        ("k < i32(n)", {"k": 6}, "k < i32(n); here k = 6, with n = 6, m = 2"),
        ("k > 0 and all[t] (u[t] < 4)", {"k": 0}, "k > 0; here k = 0, with n = 6, m = 2"),
        ("k != 4 or n == 5", {"k": 4}, "k != 4 or n == 5; here k = 4, with n = 6, m = 2"),
    ],
)
def test_what_is_said_of_scalars_is_checked_in_every_call(promise, broken, said):
    pick = made(promise.replace(" and ", ", ")).pick
    out = np.full(6, -5, np.int32)
    for more in ({}, {"check_data": True}):
        with pytest.raises(ValueError) as caught:
            pick(**arrays(**broken), out=out, **more)
        assert str(caught.value) == f"TG808 pick_m: proved only where {said}" and (out == -5).all()
        assert pick(**arrays(), **more).shape == (6,)
    assert "What is said of scalars alone is checked at each call." in inspect.getdoc(made(promise).pick_m)
    only = "all" not in promise
    assert ("Assumed, unless check_data=True" in inspect.getdoc(made(promise).pick_m)) != only


def test_data_is_checked_also_where_there_is_nothing_to_write():
    head = "op rows(W: f32[V, D], idx: i32[T]) -> (y: f32[T, D]) where V <= 2147483647, all[t] (0 <= idx[t] and idx[t] < i32(V)) {"
    rows = loaded(
        "rows",
        head
        + " y[t, d] = W[idx[t], d] }\nmachine m : rows { work grid = (t), block = (lane: 64)\n compute t = (t), d = (c, lane)\n time c }",
    ).rows
    W, idx = np.ones((4, 0), np.float32), np.array([3, 4], np.int32)
    with pytest.raises(ValueError, match=r"here idx\[1\] = 4, with V = 4, D = 0, T = 2"):
        rows(W, idx, check_data=True)
    with pytest.raises(ValueError, match=r"here idx\[0\] = 0, with V = 0"):
        rows(np.ones((0, 3), np.float32), idx[:1] * 0, out=np.empty((1, 3), np.float32), check_data=True)
    assert rows(np.ones((4, 3), np.float32), idx[:0], check_data=True).shape == (0, 3)
    long = np.zeros(2**20 + 7, np.int32)
    long[-2] = 4
    with pytest.raises(ValueError, match=rf"here idx\[{2**20 + 5}\] = 4"):
        rows(W, long, check_data=True)


UNCHECKED = {
    "(sum[t] x[t]) > 0": "sum[t < n] x[t] > 0",
    "all[t < n] (f[t, 0] + 1.0 > 0)": "all[t < n] (f[t, 0] + 1 > 0)",
    "k > 0 and any[t] (x[t] == 0)": "any[t < n] (x[t] == 0)",
}


@pytest.mark.parametrize(("promise", "said"), UNCHECKED.items())
def test_what_cannot_be_checked_is_refused_and_said(promise, said):
    call = made(promise).pick
    with pytest.raises(ValueError) as caught:
        call(**arrays(), check_data=True)
    assert str(caught.value) == f"TG817 pick_m: check_data cannot check {said}: it stays an assumption. Call without check_data"
    assert f"Assumed: no call can check {said}" in inspect.getdoc(made(promise).pick_m)
    assert len(call(**arrays())) == 6


def test_arrays_on_a_gpu_are_copied_and_waited_for(monkeypatch):
    """The copy itself is the driver's; here another array stands for the GPU's."""
    module, asked = made(INSIDE), []
    view = module.runtime._view

    def on_gpu(*arguments, **rest):
        seen = view(*arguments, **rest)
        seen.device = 0
        return seen

    def copied(function, seen, dtype, stream):
        asked.append((seen.name, dtype, stream))
        return np.array(seen.base)

    monkeypatch.setattr(module.runtime, "_view", on_gpu)
    monkeypatch.setattr(module.runtime, "_to_host", copied)
    with pytest.raises(ValueError, match=r"here x\[1\] = -1"):
        module.pick(**arrays(x=at(1, -1, G["x"])), out=np.empty(6, np.int32), stream=5, check_data=True)
    assert asked == [("x", "i32", 5)]


def test_a_family_hands_the_keyword_on():
    call = loaded(
        "o", "op o[T in {f32, f64}](x: T[n]) -> (y: T[n]) where all[t] (x[t] > 0) { y[i] = x[i] }\n" + f"machine m : o {ONE}"
    ).o
    for dtype in (np.float32, np.float64):
        assert call(np.ones(3, dtype), check_data=True).sum() == 3
        with pytest.raises(ValueError, match=r"here x\[2\] = -1.0"):
            call(np.array([1, 1, -1], dtype), check_data=True)


@pytest.mark.parametrize("promise", [INSIDE, "all[t < n] (r[t] <= r[t + 1])", "all[s < n, t < n] (s == t or x[s] != x[t])",
                                     "all[t] (not b[t] or x[t]*2 - k > 0)", "all[t] (x[t] ^ 1 >= 0 and min(x[t], k) < i32(u[t]))"])  # fmt: skip
def test_it_agrees_with_the_meaning_of_the_term(promise):
    """Small random integers: the launcher refuses exactly those of which the promise is false."""
    op = load_text(spec(promise)).machines[0].op
    chance, seen = np.random.default_rng(1), set()
    for _ in range(60):
        n = int(chance.integers(0, 4))
        x, r, u = (chance.integers(-1, 4, count).astype(np.int32) for count in (n, n + 1, n))
        given = arrays(n, k=int(chance.integers(-1, 3)), x=x, r=r, u=np.abs(u).astype(np.uint8), b=chance.integers(0, 2, n) > 0)
        try:
            made(promise).pick(**given, check_data=True)
            kept = True
        except ValueError:
            kept = False
        assert kept == promised(op, {"n": n, "m": 2}, given)
        seen.add(kept)
    assert seen == {True, False}
