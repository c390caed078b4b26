"""Corners of the category's decisions and interpreters, each against plain evaluation: divisors that vary, infinities, narrow types.

Comes in: terms that no shipped machine has. Goes out: what each interpreter makes of them.
The one idea: a corner that no machine reaches today is reached by the next one.
"""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest

from tests.laws.points import box, points
from tests.program.library import proof_of
from tinygpu import pipeline
from tinygpu.category.bounds import range_of
from tinygpu.category.carrier import allowed
from tinygpu.category.decide import holds
from tinygpu.category.dtype import nearest
from tinygpu.category.evaluate import evaluate, number
from tinygpu.category.known import Known
from tinygpu.category.linear import as_written, divide, joined, polynomial, term_of
from tinygpu.category.number import load, outside_dtype, rounded
from tinygpu.category.region import Region
from tinygpu.category.simplify import Rule, common_factors, simplify
from tinygpu.category.smtlib import unrounded
from tinygpu.category.term import BOOL, TRUE, App, Axis, Const, Fold, Read, Term, Var, lift, select
from tinygpu.category.to_numpy import evaluate as values
from tinygpu.category.to_source import source
from tinygpu.model.monoid import built_in
from tinygpu.simulate.inputs import edge_inputs, ends_inputs, random_inputs
from tinygpu.simulate.simulate import simulate

I, D, N, M = map(Var, "idnm")
TWO = box(i=20, d=6).under(D >= 1)


@pytest.mark.parametrize(
    "term", [I // D, (I + 3) // D, (I - 5) // D, I // (D + 2), I % D, (I + N) // D, I // 3, (I - 30) // D], ids=str
)
def test_a_quotient_by_what_varies_is_in_its_range(term: Term) -> None:
    low, high = range_of(polynomial(term), Known.at(TWO))
    for n in (0, 7):
        found = [int(evaluate(term, at)) for at in points(TWO, {"n": n})]
        assert low is None or int(evaluate(term_of(low), {"n": n})) <= min(found)
        assert high is None or max(found) <= int(evaluate(term_of(high), {"n": n}))


def test_a_quotient_by_what_varies_has_a_range() -> None:
    assert range_of(polynomial(I // (D + 2)), Known.at(TWO)) == ({}, polynomial(lift(9)))  # 19 // 2, as the divisor is 2 or more
    assert range_of(polynomial((I - 5) // D), Known.at(TWO)) == (None, None)
    assert range_of(polynomial(I // (D - 3)), Known.at(TWO)) == (None, None)


@pytest.mark.parametrize("op", ["min", "max"])
def test_an_extreme_of_what_is_not_known(op: str) -> None:
    """Of two values one of which has no bounds, the least is at most the other, and the largest at least."""
    low, high = range_of(polynomial(App(op, (I, I // (D - 3)))), Known.at(TWO))
    assert (low, high) == ((None, polynomial(lift(19))) if op == "min" else ({}, None))


def test_what_is_not_decided_is_not_decided_when_negated() -> None:
    less = App("lt", (N, M), BOOL)
    assert holds(App("not", (less,), BOOL), Region()) is None
    assert holds(App("not", (less,), BOOL), Region((), (less,))) is False


def test_division_by_nothing_leaves_everything() -> None:
    assert divide(polynomial(I * 3 + 1), {}) == ({}, polynomial(I * 3 + 1))


def test_numbers_on_the_left() -> None:
    assert polynomial(3 + I) == polynomial(I + 3) and polynomial(3 - I) == polynomial(I * -1 + 3)


def test_quotients_that_are_whole_are_put_together() -> None:
    even = Region((Axis("i", N),), (App("eq", (I % 4, lift(0)), BOOL),))
    assert simplify(I // 4 * 4 + 1, even) == I + 1
    assert simplify(I // 4 * 8, even) == I * 2
    assert simplify(I // 4 * 3, even) == I // 4 * 3


def test_a_guard_that_the_others_imply_goes() -> None:
    both = App("and", (I < 30, App("lt", (I, lift(10)), BOOL)), BOOL)
    assert simplify(both, Region((Axis("i", N),))) == (I < 10)


def test_rules_can_be_read() -> None:
    assert str(Rule("cut", I * 2 // 2, I, (I >= 0,))).endswith("→  i  if i >= 0")
    assert " if " not in str(Rule("same", I + 0, I))
    assert list(common_factors(App("floordiv", (I, lift(2), lift(2))))) == []


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_sixteen_bits_come_as_their_bits(dtype: str) -> None:
    bits = np.array([0x3C00 if dtype == "f16" else 0x3F80, 0], np.uint16)
    assert load(bits, dtype).astype(float).tolist() == [1.0, 0.0]


def test_values_of_python_are_rounded() -> None:
    assert rounded(0.1, "f32") == np.float32(0.1) and rounded(300, "u8") == np.uint8(44)


BF16 = """op f(x: bf16[n], a: bf16) -> (y: bf16[n], m: u16[n]) where n >= 1 {
  y[i] = x[i] * a
  m[i] = u16(n)
}
machine g : f {
  work    grid = (b), block = (t: 32)
  compute i = (b, t)
}
"""


@pytest.mark.parametrize("installed", [True, False])
def test_bf16_of_the_outside_is_what_launchers_take(monkeypatch: pytest.MonkeyPatch, installed: bool) -> None:
    if not installed:
        monkeypatch.setitem(__import__("sys").modules, "ml_dtypes", None)
    assert (outside_dtype("bf16") == np.uint16) != installed
    proof = proof_of(BF16)
    op = proof.program.op
    for inputs in (random_inputs(op, {"n": 40}), edge_inputs(op, {"n": 40}), ends_inputs(op, {"n": 40})):
        assert inputs["x"].dtype == outside_dtype("bf16")
        got = pipeline.build(proof)(inputs["x"], float(inputs["a"]))
        wanted = simulate(proof.program, {"n": 40}, inputs).outputs
        for tensor, array in zip(op.outputs, got, strict=True):
            assert array.dtype == wanted[tensor.name].dtype == outside_dtype(tensor.dtype)
            assert np.array_equal(load(array, tensor.dtype), load(wanted[tensor.name], tensor.dtype))


def test_constants_of_doubles_are_themselves() -> None:
    assert float(nearest(0.1, "f64") or 0) == 0.1 and nearest(math.inf, "f64") is None
    assert nearest(1e39, "f32") is None and nearest(3.4e38, "bf16") is None


def test_a_choice_is_unrounded_if_both_are() -> None:
    a, b = Read("a", (), "f16"), Read("b", (), "f16")
    assert unrounded(select(I < 3, a, b))
    assert not unrounded(select(I < 3, a, App("add", (a, b), "f16")))


def test_numbers_of_monoids() -> None:
    x = Var("x", "f32")
    less = App("lt", (x, Const(2.0, "f32")), BOOL)
    assert number(App("not", (less,), BOOL), {"x": 1.0}) is False
    assert number(App("cast", (x,), "i32"), {"x": 2.5}) == 2 and number(App("cast", (Const(200, "i32"),), "i8"), {}) == -56
    assert math.isnan(number(App("cast", (x,), "i32"), {"x": math.inf}))
    assert math.isnan(number(App("add", (x, x), "f32"), {"x": math.nan}))
    definition = built_in("argmax", "f32")
    assert allowed(definition, (-math.inf, 3)) and not allowed(definition, (math.nan, 3)) and not allowed(definition, (math.inf, 3))


def test_divisions_of_data() -> None:
    a, b = Var("a", "i32"), Var("b", "i32")
    at: dict[str, Any] = {"a": np.array([7, 8, 0], np.int32), "b": np.array([2, 4, 3], np.int32)}
    assert values(App("div", (a, b), "i32"), at).tolist() == [3, 2, 0]


def test_values_of_carriers_are_combined() -> None:
    monoid = built_in("argmax", "f32")
    pair = lambda v, k: App("pack", (Const(v, "f32"), Const(k, "i32")), monoid)  # noqa: E731
    both = App(monoid, (pair(1.0, 4), pair(1.0, 2)), monoid)
    assert [float(part) for part in values(both, {})] == [1.0, 2.0]
    assert values(App("part", (both, Const(1)), "i32"), {}) == 2


def test_sums_of_bf16_are_rounded_at_each_step() -> None:
    fold = Fold("sum", (Axis("k", lift(4)),), TRUE, Read("a", (Var("k"),), "bf16"), "bf16")
    data = np.array([256.0, 1.0, 1.0, 1.0], np.float32)
    assert float(values(fold, {}, lambda node, index, mask: data[index[0]])) == 256.0
    assert float(values(fold, {}, lambda node, index, mask: data[index[0]], exact=True)) == 259.0


def test_infinities_as_text() -> None:
    assert eval(source(Const(-math.inf, "f32"))) == -math.inf


CASTS = [(App("abs", (Var("a", "i32"),), "i32"), -5, 5), (App("cast", (Var("a", BOOL),), "i32"), True, 1), (App("cast", (Var("a", BOOL),), "f32"), False, 0),
         (App("cast", (Var("a", "i32"),), BOOL), 3, True), (App("cast", (Var("a", "i32"),), "i8"), 200, -56), (App("cast", (Var("a", "i32"),), "u8"), -1, 255)]  # fmt: skip


@pytest.mark.parametrize(("term", "at", "want"), CASTS, ids=str)
def test_casts(term: Term, at: Any, want: Any) -> None:
    assert values(term, {"a": np.bool_(at) if isinstance(at, bool) else np.int32(at)}) == want


def digits(chance: random.Random) -> Term:
    """Digits of i and j with weights, some of them those of a numeral."""
    total: Term = Const(chance.randint(-3, 3))
    for _ in range(chance.randint(1, 5)):
        e = Var(chance.choice("ij")) + chance.randint(-2, 2) * Var("j")
        a, m, c = chance.choice((1, 2, 4)), chance.choice((2, 3, 4)), chance.choice((-2, 1, 3))
        total = total + e // (a * m) * (c * m) + e // a % m * (c if chance.random() < 0.8 else 1)
    return total


@pytest.mark.parametrize("seed", range(40))
def test_digits_that_are_put_together_are_the_same_number(seed: int) -> None:
    """(Machines of many digits are in `tests/meaning/right`.)"""
    term = digits(random.Random(seed))
    short = as_written(joined(polynomial(term)))
    for i in range(-7, 26, 3):
        for j in range(-5, 12):
            assert evaluate(term, {"i": i, "j": j}) == evaluate(short, {"i": i, "j": j})
