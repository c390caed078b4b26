"""Doubles that say how far they may be off are that far off at most: what fractions compute lies within.

Comes in: operations, numbers by chance, large, small, equal, infinite. Goes out: nothing, or a number that is further off than it says. The one idea:
`real` computes the same without rounding.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from tinygpu.category import balls, reals
from tinygpu.category.balls import UNDEFINED, apart, apply, made
from tinygpu.category.number import IDEAL, as_float, combined, rounded
from tinygpu.category.operation import FUNCTION
from tinygpu.category.real import Beyond, Real, Undecided, of

NUMBERS = (0.0, 1.0, -1.0, 0.1, 3.0, -7.3, 1e-9, 1e20, -1e20, 2.0**53 + 2, 1e-200, math.inf, -math.inf)
BINARY = ("add", "sub", "mul", "div", "min", "max")
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # as where they are used
UNARY = ("neg", "abs", *(name for name in FUNCTION if name not in ("abs", "floor", "round")))


def holds(found: complex, exact: Real) -> bool:
    """Whether a number is as near to what it should be as it says; of what it does not know it says nothing."""
    if found.real != found.real:
        return True
    if exact.undefined or not exact.finite or math.isinf(found.real):
        return found.imag == 0 and not exact.undefined and found.real == float(exact)
    return Fraction(found.real) - Fraction(found.imag) <= exact.high and exact.low <= Fraction(found.real) + Fraction(found.imag)


def exactly(op: str, *args: Real) -> Real | None:
    try:
        return reals.COMPUTE[op](*args)  # type: ignore[no-any-return]
    except Beyond:
        return None  # too large, or too small, to be computed


def both(seed: int) -> list[tuple[complex, Real]]:
    """Numbers, each with what it stands for: those above, some by chance, and sums, products and quotients of these, which are off."""
    chance = np.random.default_rng(seed)
    found = [(made(n), of(n)) for n in (*NUMBERS, *map(float, chance.uniform(-4, 4, 8)))]
    for op in ("add", "mul", "div", "add", "mul"):
        (a, x), (b, y) = (found[n] for n in chance.integers(len(found), size=2))
        exact = exactly(op, x, y)
        if exact is not None:
            found.append((apply(op, [a, b], None), exact))
    return found


@pytest.mark.parametrize("op", BINARY)
@pytest.mark.parametrize("seed", range(8))
def test_of_two_numbers(op: str, seed: int) -> None:
    for a, x in (given := both(seed)):
        for b, y in given:
            exact, found = exactly(op, x, y), apply(op, [a, b], None)
            assert exact is None or holds(found, exact), (op, a, b, found, exact)


@pytest.mark.parametrize("op", UNARY)
@pytest.mark.parametrize("seed", range(8))
def test_of_one_number(op: str, seed: int) -> None:
    for a, x in both(seed):
        exact, found = exactly(op, x), apply(op, [a], None)
        assert exact is None or holds(found, exact), (op, a, found, exact)


@pytest.mark.parametrize("monoid", ["sum", "max", "min", "prod"])
def test_folds_and_updates(monoid: str) -> None:
    chance = np.random.default_rng(1)
    values = chance.uniform(-2, 2, 50)
    mask = chance.random(50) < 0.7
    unit = rounded(np.float64({"sum": 0, "prod": 1, "max": -math.inf, "min": math.inf}[monoid]), balls.BALL)
    exact = reals.folded(monoid, of(as_float(unit)), reals.held(values), mask, (50,))
    assert holds(balls.folded(monoid, unit, balls.held(values), mask, (50,)), exact)
    cells = np.full(3, unit)
    balls.accumulate(monoid, cells, np.arange(50)[mask] % 3, balls.held(values)[mask])
    total = cells[0]
    for cell in cells[1:]:
        total = combined(monoid, balls.BALL, total, cell, None)
    assert holds(total, exact)


def test_only_what_certainly_differs_is_apart() -> None:
    third = apply("div", [1, 3], None)
    one = apply("add", [apply("add", [third, third], None), third], None)
    assert not apart(one, 1) and apart(one, 1 + 1e-12) and not apart(UNDEFINED, 1) and not apart(1, UNDEFINED)
    assert apart(math.inf, 1) and apart(math.inf, -math.inf) and not apart(math.inf, math.inf)
    assert not apart(apply("mul", [1e200, 1e200], None), 7)  # too large: nothing is known of it


@pytest.mark.parametrize("op", ["lt", "le", "gt", "ge", "eq", "ne"])
def test_a_comparison_that_rounding_decides_is_none(op: str) -> None:
    third = apply("div", [made(np.ones(2)), 3.0], None)
    with pytest.raises(Undecided):
        apply(op, [third, apply("mul", [third, 1.0], None)], None)
    assert apply(op, [third, third + np.array([0, 1])], np.array([False, True])).tolist()[1] == (op in ("lt", "le", "ne"))
    assert bool(apply(op, [2.0, 2.0], None)) == (op in ("le", "ge", "eq"))


def test_integers_of_numbers() -> None:
    assert balls.cast(made(np.array([-1.5, 300.0, 2.9])), np.dtype(np.uint8), None).tolist() == [0, 255, 2]
    assert balls.cast(made(np.array([1e30, -1e30, 5.0])), np.dtype(np.int64), None).tolist() == [2**63 - 1, -(2**63), 5]
    assert apply("floor", [made(np.array([-1.5, 2.0]))], None).real.tolist() == [-2, 2]
    assert balls.cast(made(0.5), np.dtype(bool), None)
    three = apply("mul", [apply("div", [1, 3], None), 9], None)
    for question in (lambda: apply("floor", [three], None), lambda: balls.cast(three, np.dtype(np.int32), None)):
        with pytest.raises(Undecided):
            question()


def test_each_kind_of_number_has_the_same_words() -> None:
    words = ("HELD", "UNDEFINED", "made", "held", "apply", "cast", "combined", "folded", "accumulate", "apart")
    assert all(hasattr(numbers, word) for numbers in IDEAL.values() for word in words)
