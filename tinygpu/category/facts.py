"""What a box says about its axes and sizes, in the form that bounds are computed from.

Comes in: a box (axes with extents, a guard whose comparisons are facts). Goes out: polynomials that are not negative, and least values.
The one idea: every variable that is no axis is a size and not negative, and a polynomial over the sizes is seen to be
not negative when it has no negative coefficient once each atom is written as its least value and a rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from tinygpu.category.box import Box
from tinygpu.category.linear import Polynomial, constant, number, plus, polynomial, replace_atoms
from tinygpu.category.term import INDEX, App, Const, Term, Var, conjuncts, variables
from tinygpu.record import dataclass

COMPLEMENT = {"lt": "ge", "ge": "lt", "le": "gt", "gt": "le", "ne": "eq", "eq": "ne"}


@dataclass(frozen=True, slots=True)
class Facts:
    """Extents of the axes, polynomials that are not negative, least values of atoms over the sizes, remainders that are 0.

    All of it is so at the points of the box; an empty box has no points, so there anything may be said.
    """

    box: Box
    extents: Mapping[str, Polynomial]
    known: tuple[Polynomial, ...]
    least: Mapping[Term, int]
    zeros: frozenset[Term]

    def constant(self, term: Term) -> bool:
        """Whether no axis occurs in a term: it is one number, or a size."""
        return not variables(term) & self.extents.keys()

    def positive(self, p: Polynomial) -> bool:
        """Whether a polynomial over the sizes is seen to be never negative.

        >>> from tinygpu.category.box import box
        >>> n = Var("n")
        >>> facts(box(i=n)).positive(polynomial(n - 1)), facts(Box()).positive(polynomial(n - 1))
        (True, False)
        """
        least = {a: self.least_of(a) for m in p for a in m}
        if None in least.values():
            return False
        shifted = replace_atoms(p, lambda a: plus({(a,): 1}, constant(least[a] or 0)))
        return all(c >= 0 for c in shifted.values())

    def least_of(self, atom: Term) -> int | None:
        """The least value known of an atom over the sizes."""
        if atom in self.least:
            return self.least[atom]
        match atom:
            case Var(name):
                return None if name in self.extents else 0
            case App("mod", (_, b)):
                return 0 if self.positive(plus(polynomial(b), constant(-1))) else None
            case App("floordiv" | "ceildiv" | "min" | "max" | "xor", (a, b)):
                return 0 if self.positive(polynomial(a)) and self.positive(polynomial(b)) else None
        return None


@lru_cache(maxsize=512)
def facts(box: Box) -> Facts:
    """What a box says. (Kept, because one box is asked many times.)"""
    extents = {a.name: polynomial(a.extent) for a in box.axes}
    known = [plus(e, constant(-1)) for e in extents.values()]
    zeros = set()
    for guard in conjuncts(box.guard):
        known += nonnegatives(guard)
        match guard:
            case App("eq", (App("mod", _) as remainder, Const(0))) | App("eq", (Const(0), App("mod", _) as remainder)):
                zeros.add(remainder)
    least: dict[Term, int] = {}
    for p in known:
        for atom, value in _least(p):
            if not variables(atom) & extents.keys():
                least[atom] = max(least.get(atom, 0), value)
    return Facts(box, extents, tuple(p for p in known if number(p) is None), least, frozenset(zeros))


def nonnegatives(guard: Term) -> Iterator[Polynomial]:
    """The polynomials that a comparison of indices, or the complement of one, says are not negative.

    >>> [p == polynomial(Var("n") - Var("i") - 1) for p in nonnegatives(Var("i") < Var("n"))]
    [True]
    """
    match guard:
        case App("not", (App(op, args),)) if op in COMPLEMENT:
            yield from nonnegatives(App(COMPLEMENT[op], args, guard.dtype))
        case App("lt" | "le" | "gt" | "ge" | "eq" as op, (a, b)) if a.dtype == b.dtype == INDEX:
            up = plus(polynomial(b), polynomial(a), -1)
            strict = constant(-1) if op in ("lt", "gt") else {}
            if op in ("lt", "le", "eq"):
                yield plus(up, strict)
            if op in ("gt", "ge", "eq"):
                yield plus(strict, up, -1)


def _least(p: Polynomial) -> Iterator[tuple[Term, int]]:
    """Least values that a fact `c·m − d ≥ 0` with `d > 0` tells: of one atom exactly, of the factors of a product 1, where none is negative,
    and of what is divided.

    What variables take away from `c·m` is not negative, and `c·m` is as large without it.
    """
    p = {m: c for m, c in p.items() if c > 0 or not m or not all(isinstance(atom, Var) for atom in m)}
    monomials = [m for m in p if m]
    if len(monomials) != 1 or p[monomials[0]] < 0 or p.get((), 0) >= 0:
        return
    (monomial,) = monomials
    for atom in monomial if len(monomial) == 1 or all(map(natural, monomial)) else ():
        value = -(p[()] // p[monomial]) if len(monomial) == 1 else 1
        yield atom, value
        match atom:
            case App("floordiv", (Var() as x, Const(int(by)))) if by > 0:
                yield x, value * by
            case App("ceildiv", (Var() as x, Const(int(by)))) if by > 0:
                yield x, (value - 1) * by + 1
            case App("floordiv" | "ceildiv", (Var() as x, Var())):
                yield x, 1


def natural(term: Term) -> bool:
    """Whether an index is seen to be never negative: sizes and axes are not, an integer of the data may be.

    >>> from tinygpu.category.term import Read
    >>> n, k = Var("n"), App("cast", (Read("k", (), "i32"),))
    >>> natural(n // 4 * n), natural(n * k)
    (True, False)
    """
    match term:
        case Const(value):
            return value >= 0
        case App("add" | "mul" | "mod" | "floordiv" | "ceildiv" | "min" | "max", args, "index"):
            return all(map(natural, args))
    return isinstance(term, Var)
