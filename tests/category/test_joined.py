"""Digits put together are the number that they are digits of.

Comes in: random sums of quotients and remainders. Goes out: the same number at every point. The one idea: what the kernel decides without a solver
is tried by brute force. (Machines of many digits are in `tests/meaning/right`.)
"""

from __future__ import annotations

import random

import pytest

from tinygpu.category.evaluate import evaluate
from tinygpu.category.linear import as_written, joined, polynomial
from tinygpu.category.term import Const, Term, Var


def some_sum(chance: random.Random) -> Term:
    """Digits of i and j with weights, some of them those of a numeral."""
    total: Term = Const(chance.randint(-3, 3))
    for _ in range(chance.randint(1, 5)):
        e = Var(chance.choice("ij")) + chance.randint(-2, 2) * Var("j")
        a, m, c = chance.choice((1, 2, 4)), chance.choice((2, 3, 4)), chance.choice((-2, 1, 3))
        total = total + e // (a * m) * (c * m) + e // a % m * (c if chance.random() < 0.8 else 1)
    return total


@pytest.mark.parametrize("seed", range(40))
def test_what_is_put_together_is_the_same_number(seed: int) -> None:
    term = some_sum(random.Random(seed))
    short = as_written(joined(polynomial(term)))
    for i in range(-7, 26, 3):
        for j in range(-5, 12):
            assert evaluate(term, {"i": i, "j": j}) == evaluate(short, {"i": i, "j": j})
