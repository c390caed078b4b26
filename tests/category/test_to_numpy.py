"""Terms in numpy: masks, folds, dtypes. That index terms have their value is said in `tests/laws/test_functors.py`."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

from tinygpu.category.encoding import nearest_of
from tinygpu.category.monoid import SCALARS
from tinygpu.category.number import load, outside_dtype, unit
from tinygpu.category.term import BOOL, FUNCTIONS, TRUE, App, Axis, Const, Fold, Read, Term, Var, equal, select
from tinygpu.category.to_numpy import evaluate

I, J, N = Var("i"), Var("j"), Var("n")


def reader(arrays: dict[str, Any], log: list[Any] | None = None) -> Any:
    """Reads without mercy: an index outside raises, unless it is masked out."""

    def read(node: Read, index: tuple[Any, ...], mask: Any) -> Any:
        array = np.asarray(arrays[node.tensor])
        shape = np.broadcast_shapes(*map(np.shape, index), np.shape(mask if mask is not None else True))
        where = np.broadcast_to(True if mask is None else mask, shape)
        if log is not None:
            log.append((node.tensor, int(where.sum())))
        places = tuple(np.where(where, i, 0) for i in index)
        return array[places]

    return read


def test_division_is_euclidean_for_negative_divisors_too() -> None:
    env = {"i": np.arange(-7, 8), "d": -3}
    quotient, remainder = (evaluate(App(op, (I, Var("d"))), env) for op in ("floordiv", "mod"))
    assert (quotient * -3 + remainder == env["i"]).all() and (remainder >= 0).all() and (remainder < 3).all()


def test_a_branch_not_taken_is_not_read() -> None:
    log: list[Any] = []
    x = np.arange(4, dtype=np.float32)
    shifted = select(I > 0, Read("x", (I - 1,), "f32"), Const(9.0, "f32"))
    got = evaluate(shifted, {"i": np.arange(4)}, reader({"x": x}, log))
    assert got.tolist() == [9, 0, 1, 2] and log == [("x", 3)]
    never = select(I > 10, Read("nothing", (I,), "f32"), Read("x", (I,), "f32"))
    assert evaluate(never, {"i": np.arange(4)}, reader({"x": x})).tolist() == [0, 1, 2, 3]


def test_and_or_stop_early() -> None:
    x = np.array([True, False, True, True])
    before = App("and", (I > 0, Read("x", (I - 1,), BOOL)), BOOL)
    log: list[Any] = []
    assert evaluate(before, {"i": np.arange(4)}, reader({"x": x}, log)).tolist() == [False, True, False, True]
    assert log == [("x", 3)]
    either = App("or", (equal(I, 0), Read("x", (I - 1,), BOOL)), BOOL)
    assert evaluate(either, {"i": np.arange(4)}, reader({"x": x}, log)).tolist() == [True, True, False, True]
    assert log[1] == ("x", 3)


def test_division_by_zero_counts_only_where_it_is_evaluated() -> None:
    guarded = select(equal(I, 0), Const(0), Const(12) // I)
    assert evaluate(guarded, {"i": np.arange(4)}).tolist() == [0, 12, 6, 4]
    with pytest.raises(ZeroDivisionError):
        evaluate(Const(12) // I, {"i": np.arange(4)})
    assert evaluate(Const(12) // I, {"i": np.arange(4)}, mask=np.arange(4) > 0)[1:].tolist() == [12, 6, 4]


def summed(body: Term, *axes: Axis, guard: Term = TRUE, monoid: str = "sum", dtype: str = "f32") -> Fold:
    return Fold(monoid, axes, guard, body, dtype)


def test_folds_over_chunks_guards_and_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tinygpu.category.to_numpy.CHUNK", 10)
    x = np.random.default_rng(0).uniform(size=(6, 5))
    read = Read("x", (I, Var("k")), "f64")
    over = Axis("k", Const(5))
    env = {"i": np.arange(6)}
    assert np.allclose(evaluate(summed(read, over, dtype="f64"), env, reader({"x": x})), x.sum(1))
    lower = summed(read, over, guard=App("le", (Var("k"), I), BOOL), dtype="f64")
    assert np.allclose(evaluate(lower, env, reader({"x": x})), np.tril(x).sum(1))
    largest = summed(read, over, monoid="max", guard=App("gt", (Var("k"), I), BOOL), dtype="f64")
    assert np.array_equal(evaluate(largest, env, reader({"x": x})), [*(x[i, i + 1 :].max() for i in range(4)), -np.inf, -np.inf])
    ragged = summed(read, Axis("k", App("min", (I, Const(5)))), dtype="f64")
    assert np.allclose(evaluate(ragged, env, reader({"x": x})), [x[i, :i].sum() for i in range(6)])
    for monoid, want in (("sum", 0), ("prod", 1), ("max", -math.inf), ("min", math.inf)):
        assert evaluate(summed(read, Axis("k", Const(0)), monoid=monoid, dtype="f64"), env, reader({"x": x})) == want


def test_folds_of_several_axes_nest_and_need_not_use_their_axes() -> None:
    body = App("cast", (I * 100 + Var("a") * 10 + Var("b"),), "f64")
    two = summed(body, Axis("a", Const(3)), Axis("b", Const(4)), dtype="f64")
    nested = summed(summed(body, Axis("b", Const(4)), dtype="f64"), Axis("a", Const(3)), dtype="f64")
    want = [sum(i * 100 + a * 10 + b for a in range(3) for b in range(4)) for i in range(3)]
    for term in (two, nested):
        assert evaluate(term, {"i": np.arange(3)}).tolist() == want
    assert evaluate(summed(Const(1.0, "f32"), Axis("k", Const(1000))), {"i": np.arange(3)}) == 1000


def test_integers_wrap_also_when_exact() -> None:
    x = np.array([200, 100, 30], np.uint8)
    total = summed(Read("x", (Var("k"),), "u8"), Axis("k", Const(3)), dtype="u8")
    for exact in (False, True):
        assert evaluate(total, {}, reader({"x": x}), exact=exact) == (330 % 256)
        assert evaluate(App("add", (Const(127, "i8"), Const(1, "i8")), "i8"), {}, exact=exact) == -128
        assert evaluate(App("neg", (Const(1, "u32"),), "u32"), {}, exact=exact) == 2**32 - 1


def test_floats_have_their_dtype_unless_exact() -> None:
    third = App("div", (Const(1.0, "f32"), Const(3.0, "f32")), "f32")
    assert evaluate(third, {}).dtype == np.float32 and evaluate(third, {}, exact=True) == 1 / 3
    half = App("add", (Const(2048.0, "f16"), Const(1.0, "f16")), "f16")
    assert evaluate(half, {}) == 2048 and evaluate(half, {}, exact=True) == 2049
    brain = App("add", (Const(256.0, "bf16"), Const(1.0, "bf16")), "bf16")
    assert evaluate(brain, {}) == 256 and evaluate(brain, {}, exact=True) == 257


def test_bf16_is_ml_dtypes_bfloat16() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    values = (
        np.random.default_rng(1).normal(size=10000).astype(np.float32) * np.float32(10) ** np.arange(-30, 30).repeat(167)[:10000]
    )
    want = values.astype(ml_dtypes.bfloat16)
    assert np.array_equal(nearest_of(values, "bf16"), want.astype(np.float32))
    assert np.array_equal(load(want, "bf16"), want.astype(np.float32))
    assert np.array_equal(load(want.view(np.uint16), "bf16"), want.astype(np.float32))
    assert outside_dtype("bf16") == want.dtype
    assert np.isinf(nearest_of(np.float32(np.inf), "bf16")) and np.isinf(nearest_of(np.float32(3.4e38), "bf16"))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str) -> None:
    by_hand = {
        "rsqrt": lambda x: x**-0.5,
        "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
        "abs": abs,
        "round": lambda x: float(round(x)),
        "exp2": lambda x: 2.0**x,
    }
    points = np.linspace(0.1, 3, 30)
    function = by_hand.get(name) or getattr(math, name)
    for dtype, epsilon in (("f64", 2.0**-52), ("f32", 2.0**-23), ("f16", 2.0**-10), ("bf16", 2.0**-7)):
        x = load(points, dtype)
        want = [function(float(p)) for p in x]
        got = evaluate(App(name, (Read("x", (I,), dtype),), dtype), {"i": np.arange(30)}, reader({"x": x}))
        assert got.dtype == x.dtype
        assert np.allclose(got.astype(float), want, rtol=2 * epsilon, atol=epsilon / 4)
    got = evaluate(App(name, (Read("x", (I,), "f16"),), "f16"), {"i": np.arange(30)}, reader({"x": points}), exact=True)
    assert np.allclose(got, [function(p) for p in points], rtol=1e-15, atol=1e-15)


def test_no_warning_leaks() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for op, value in (("log", -1.0), ("log", 0.0), ("exp", 1e4), ("sqrt", -1.0), ("rsqrt", 0.0), ("sigmoid", -1e4)):
            evaluate(App(op, (Const(value, "f32"),), "f32"), {})
        evaluate(App("cast", (Const(math.nan, "f32"),), "i32"), {})
        evaluate(App("cast", (Const(1e30, "f64"),), "f16"), {})


def test_units_are_those_of_the_monoids() -> None:
    for monoid in SCALARS.values():
        for dtype, value in monoid.units.items():
            assert unit(monoid, dtype) == value
