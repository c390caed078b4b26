"""Numbers that bound others, as terms: sums and products of magnitudes in f64, without what is 0.

Comes in: terms. Goes out: terms, and a `Bound`: how large what is computed may be, and how far from what is meant. The one idea: most errors are a
multiple of the size, so that multiple is a number that is computed before any data is there.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from math import inf
from typing import cast

from tinygpu.category.dtype import DTYPE, EPSILON, FLOATS, STORAGE
from tinygpu.category.term import BOOL, FALSE, App, Const, Term, select
from tinygpu.record import dataclass

F64 = "f64"
ZERO, ONE, MUCH = Const(0.0, F64), Const(1.0, F64), Const(inf, F64)

NARROW = tuple(
    name for name in FLOATS if DTYPE[name].exponent < DTYPE["f32"].exponent
)  # some of f32 are too large for them, or too small
SMALLEST = {  # what is smaller may be 0
    name: 2.0 ** (DTYPE[name].normal - (DTYPE[name].digits - 1 if name in NARROW else 0)) for name in FLOATS
}


@dataclass(frozen=True, slots=True)
class Bound:
    """What is computed for a term is at most `size` from 0, and at most `rel·size + rest` from its value."""

    size: Term
    rel: float = 0.0
    rest: Term = ZERO

    @property
    def error(self) -> Term:
        return plus(times(Const(self.rel, F64), self.size), self.rest)

    def rounded(self, dtype: str, ulps: float = 1) -> Bound:
        """The same after so many roundings to a dtype."""
        if dtype not in FLOATS:
            return self
        lost = Const(ulps * SMALLEST[dtype], F64) if dtype in STORAGE else ZERO  # f16 loses what is within any bound
        found = Bound(self.size, self.rel + ulps * EPSILON[dtype], plus(self.rest, lost))
        return found.held(dtype) if dtype in NARROW else found

    def held(self, dtype: str) -> Bound:
        """The same, infinitely wrong where the dtype has no number of the size, or as wrong as its largest number is."""
        if dtype not in FLOATS:
            return self
        if DTYPE[dtype].saturates:
            more = App("sub", (self.size, Const(DTYPE[dtype].largest, F64)), F64)
            return Bound(self.size, self.rel, plus(self.rest, App("max", (more, ZERO), F64)))
        beyond = App("gt", (self.size, Const(DTYPE[dtype].largest, F64)), BOOL)
        return Bound(self.size, self.rel, plus(self.rest, select(beyond, MUCH, ZERO)))


def real(term: Term) -> Term:
    """The number itself, in f64."""
    return term if term.dtype == F64 else App("cast", (term,), F64)


def magnitude(term: Term) -> Term:
    """How far a number is from 0."""
    return App("abs", (real(term),), F64)


def plus(a: Term, b: Term) -> Term:
    return b if a == ZERO else a if b == ZERO else App("add", (a, b), F64)


def summed(terms: Iterable[Term]) -> Term:
    return reduce(plus, terms, cast(Term, ZERO))


def times(a: Term, b: Term, factor: float = 1.0) -> Term:
    if ZERO in (a, b):
        return ZERO
    found = b if a == ONE else a if b == ONE else App("mul", (a, b), F64)
    return found if factor == 1.0 else App("mul", (Const(factor, F64), found), F64)


def over(a: Term, b: Term) -> Term:
    return ZERO if a == ZERO else App("div", (a, b), F64)


def larger(a: Term, b: Term) -> Term:
    return a if a == b else b if a == ZERO and b == ZERO else App("max", (a, b), F64)


def above(a: Term, b: Term) -> Term:
    return App("gt", (a, b), BOOL)


def unlimited(where: Term) -> Term:
    """An error that is infinite where a condition holds."""
    return ZERO if where == FALSE else select(where, MUCH, ZERO)


def beyond(most: Term, dtype: str, roundings: float) -> Term:
    """The error of products of numbers of a dtype, in whatever order, where none is above `most`: infinite where there is no such number, and what is
    lost below the smallest one, times two of the others."""
    lost = times(Const(roundings * SMALLEST[dtype], F64), times(most, most))
    return plus(unlimited(above(most, Const(DTYPE[dtype].largest, F64))), lost)
