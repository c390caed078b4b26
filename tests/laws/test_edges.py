"""Bounds at their edges: every decision that is off by one somewhere is off by one here.

Comes in: whole families of guards and facts, with every small constant. Goes out: nothing, or a guard that was decided wrongly.
The one idea: random terms seldom touch the edge of what is true, so the edges are enumerated; and enough of them must be decided.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

import numpy as np
import pytest

from tests.laws.points import box, points
from tinygpu.category import to_numpy
from tinygpu.category.bounds import lower, upper
from tinygpu.category.decide import holds
from tinygpu.category.evaluate import evaluate
from tinygpu.category.region import Region
from tinygpu.category.term import Axis, Term, Var, apply, ceildiv, lift, text

i, j, m, n = map(Var, "ijmn")
SIZES = [{"n": a, "m": b} for a in (0, 1, 2, 3, 4, 5, 6, 9) for b in (1, 2, 3)]
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
NEAR = (-1, 0, 1)


def decided(guards: Iterable[Term], where: Region) -> int:
    """How many of the guards are decided on a box; each that is must be so at every point."""
    everywhere = [at for sizes in SIZES for at in points(where, sizes)]
    if not everywhere:  # of a box without points everything may be said
        return len(COMPARISONS)
    columns = {name: np.array([at[name] for at in everywhere]) for name in everywhere[0]}
    count = 0
    for guard in guards:
        found = holds(guard, where)
        if found is not None:
            count += 1
            wrong = np.flatnonzero(np.broadcast_to(to_numpy.evaluate(guard, columns), len(everywhere)) != found)
            assert not wrong.size, (text(guard), str(where), found, everywhere[wrong[0]])
    return count


DIVIDED = {
    "floordiv": lambda a, d: a // d,
    "ceildiv": ceildiv,
    "mod": lambda a, d: a % d,
    "floor and back": lambda a, d: a // d * d,
    "ceiling and back": lambda a, d: ceildiv(a, d) * d,
    "min": lambda a, d: apply("min", a, d),
    "max": lambda a, d: apply("max", a, d),
    "xor": lambda a, d: a ^ d,
}


@pytest.mark.parametrize("op", DIVIDED)
@pytest.mark.parametrize("by", [lift(3), m], ids=["number", "size"])
def test_quotients(op: str, by: Term) -> None:
    """A quotient or remainder of an axis, of a size, of both, against what is near to it."""
    function = DIVIDED[op]
    tops = [i + c for c in (-1, 0, 2)] + [i * by + j, n, n - 1, i + j]
    against = [lift(0), by, n, function(n, by), i, ceildiv(n, by), n // by]
    guards = (apply(compare, function(a, by), b + c) for a, b, c, compare in product(tops, against, NEAR, ("lt", "eq")))
    assert decided(guards, Region((Axis("i", n), Axis("j", by)))) > 20


@pytest.mark.parametrize("fact", COMPARISONS)
def test_facts(fact: str) -> None:
    """What a guard says is said, and no more: each comparison as a fact, each as a question, one off to both sides."""
    for shift, other in product(NEAR, (j, n, lift(4))):
        where = box(i=n, j=5).under(apply(fact, i, other + shift))
        questions = [apply(ask, i, other + c) for ask, c in product(COMPARISONS, (-2, -1, 0, 1, 2))]
        count = decided(questions, where) + decided([apply("not", q) for q in questions], where)
        assert count >= 4 or fact == "ne"


@pytest.mark.parametrize(
    "fact", [lambda c: n >= c, lambda c: n // 3 >= c, lambda c: ceildiv(n, 3) >= c, lambda c: n * m >= c, lambda c: n * 2 >= c]
)
def test_least_sizes(fact: object) -> None:
    """The least size that a precondition tells: exactly, or less."""
    for least in (1, 2, 3):
        guard = fact(least)  # type: ignore[operator]
        assert (
            decided(
                [n >= c for c in range(1, 9)] + [n // 3 >= c for c in (1, 2, 3)] + [m >= c for c in (1, 2)], Region((), (guard,))
            )
            > 0
        )


@pytest.mark.parametrize("extent", [n, n // 3, ceildiv(n, 3), n * m, n * 2, n - 2, ceildiv(n, m)], ids=text)
def test_extents_are_facts(extent: Term) -> None:
    """A box with a point has extents of at least 1, and what follows from that."""
    where = Region((Axis("i", extent),))
    guards = (
        [n >= c for c in range(1, 8)]
        + [i < n + c for c in NEAR]
        + [i * 3 + c < n for c in (0, 1, 2, 3)]
        + [i <= extent - c for c in NEAR]
    )
    assert decided(guards, where) > 2


ENDS = {
    "sums": [i + j, i - j, i * 3 - j * 2 + 1, i * j, n - i],
    "quotients": [i // 2, ceildiv(i, 2), (i - 1) // 2, ceildiv(i - 3, 2), i // m, (i + j) // m],
    "remainders": [i % 3, (i + 1) % 2, j % 7, (j + 3) % m],
    "others": [apply("min", i, 2), apply("max", i, j), i ^ j, (i % 4) ^ (j % 4), j ^ 5, apply("min", i - 1, j), apply("max", 2, j)],
}


TIGHT = (*ENDS["sums"][:3], i // 2, ceildiv(i - 3, 2), i % 3, apply("min", i, 2), (i % 4) ^ (j % 4))  # where nothing occurs twice


@pytest.mark.parametrize("kind", ENDS)
def test_bounds_are_reached(kind: str) -> None:
    """Bounds hold at every point; where nothing occurs twice, in constant boxes, they are reached too."""
    for term, extent in product(ENDS[kind], (n, lift(1), lift(4), lift(6))):
        where = Region((Axis("i", extent), Axis("j", lift(4))), (m >= 1,))
        low, high = lower(term, where), upper(term, where)
        assert low is not None and high is not None, text(term)
        for sizes in SIZES:
            found = [evaluate(term, at) for at in points(where, sizes)]
            if found:
                ends = evaluate(low, sizes), evaluate(high, sizes)
                assert ends[0] <= min(found) and max(found) <= ends[1], (text(term), str(where))
                assert extent == n or term not in TIGHT or ends == (min(found), max(found)), (text(term), str(where))
