"""Two points that have the same in equations, of which the one is the other in what these tell: numerals have one value where they have the same digits.

    c·t + r = c·t′ + r′,  −c < r − r′ < c  ⊢  t = t′   (and then r = r′)
    t // n = t′ // n,  t % n = t′ % n,  n ≥ 1  ⊢  t = t′

Comes in: a goal about two points, equations between what they have, the ranges of their coordinates. Goes out: the goal with the coordinates that are
seen to be one written as one. The one idea: a digit that outweighs all that is beside it is the same at both, and what is the same is no longer in
question.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tinygpu.category.bounds import range_of
from tinygpu.category.decide import others
from tinygpu.category.known import Known
from tinygpu.category.linear import ONE, Polynomial, plus, polynomial
from tinygpu.category.settle import settle
from tinygpu.category.term import INDEX, App, Term, Var, substitute, variables
from tinygpu.obligations.bijection import PRIME

Names = Mapping[str, Var]


def as_one(goal: Term, extents: Mapping[str, Term], hypotheses: tuple[Term, ...]) -> Term:
    """A goal with each coordinate of the second point, whose names end in `~`, that is seen to be the first one's written as that.

    >>> from tinygpu.category.term import Const, equal, text
    >>> i, j, n, there = Var("i"), Var("j"), Var("n"), {"i": Var("i~"), "j": Var("j~")}
    >>> box = {"i": n, "i~": n, "j": Const(4), "j~": Const(4)}
    >>> for at in (i * 4 + j, j * n + i, i * 3 + j, i * 2 + j % 2, i * n + j):
    ...     print(text(as_one(i + j < there["i"] + there["j"], box, (equal(at, substitute(at, there)),))))
    i + j < i + j
    i + j < i + j
    i + j < i~ + j~
    i + j < i + j~
    i + j < i~ + j~
    """
    there = {name: Var(name + PRIME) for name in extents if name + PRIME in extents}
    known, pairs = Known.of(extents), list(_equations(hypotheses, extents))
    same, back = set[Term](), dict[str, Term]()
    while news := {digit for pair in pairs for digit in _told(_difference(pair, back), there, known)} - same:
        same |= news
        back |= {t.name + PRIME: t for t in news if isinstance(t, Var)}
        pairs += [(t, substitute(t, there)) for t in set(_wholes(same, known))]
    return substitute(goal, back)


def _equations(hypotheses: tuple[Term, ...], extents: Mapping[str, Term]) -> Iterator[tuple[Term, Term]]:
    """What is the same in each equation of indices."""
    for fact in hypotheses:
        match fact:
            case App("eq", (a, b)) if a.dtype == INDEX == b.dtype and any(name.endswith(PRIME) for name in variables(fact)):
                yield settle(a, extents), settle(b, extents)


def _wholes(same: set[Term], known: Known) -> Iterator[Term]:
    """What is the same since its quotient and its remainder by one number are."""
    for digit in same:
        match digit:
            case App("floordiv", (whole, by)) if App("mod", (whole, by), INDEX) in same and known.positive(
                plus(polynomial(by), ONE, -1)
            ):
                yield whole


def _difference(pair: tuple[Term, Term], back: Mapping[str, Term]) -> Polynomial:
    """What is 0 by an equation."""
    a, b = (polynomial(substitute(side, back)) for side in pair)
    return plus(a, b, -1)


def _told(nought: Polynomial, there: Names, known: Known) -> Iterator[Term]:
    """The digits that are the same at two points since a difference is 0, the first first."""
    left = [t for t in dict.fromkeys(atom for m in nought for atom in m) if not there.keys().isdisjoint(variables(t))]
    while digit := next((t for t in left if _outweighs(t, substitute(t, there), nought, known)), None):
        yield digit
        gone = (digit, substitute(digit, there))
        left.remove(digit)
        nought = {m: c for m, c in nought.items() if gone[0] not in m and gone[1] not in m}


def _outweighs(digit: Term, other: Term, nought: Polynomial, known: Known) -> bool:
    """Whether it is `weight·(digit − other) + rest`, and one step of the digit is more than the rest."""
    weight, against = ({others(m, t): c for m, c in nought.items() if t in m} for t in (digit, other))
    if not weight or plus(weight, against) or any(t in m for m in weight for t in (digit, other)):
        return False
    low, high = range_of({m: c for m, c in nought.items() if digit not in m and other not in m}, known)
    if low is None or high is None:
        return False
    return any(
        known.positive(plus(plus(w, high, -1), ONE, -1)) and known.positive(plus(plus(w, low), ONE, -1)) for w in (weight, against)
    )
