"""Polynomials over index terms, with digits `base // a % b` as atoms.

Comes in: terms. Goes out: polynomials, and terms of them in one order. The one idea: a polynomial is a map from monomials to whole numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from tinygpu.replay.ir import BOOL, INDEX, Num, Op, Term, both, either, negated, num

Poly: TypeAlias = dict[tuple[Term, ...], int]  # monomial (sorted atoms, none for 1) to its factor


def opposite(term: Term) -> Term:
    """`not term`, of indices the opposite comparison."""
    flipped = {"lt": "ge", "ge": "lt", "le": "gt", "gt": "le", "eq": "ne", "ne": "eq"}
    match term:
        case Op(op, (a, b)) if op in flipped and a.dtype == INDEX:
            return Op(flipped[op], (a, b), BOOL)
        case Op("or", args):
            return both(*map(opposite, args))
        case Op("and", args):
            return either(*map(opposite, args))
    return negated(term)


def polynomial(term: Term) -> Poly:
    """A term as a polynomial; what is no sum or product is an atom.

    >>> from tinygpu.replay.ir import Var
    >>> i = Var("i")
    >>> polynomial(Op("mul", (Op("add", (i, num(2)), INDEX), num(3)), INDEX)) == {(i,): 3, (): 6}
    True
    """
    match term:
        case Num(value):
            return {(): int(value)} if value else {}
        case Op("add", (a, b)):
            return plus(polynomial(a), polynomial(b))
        case Op("sub", (a, b)):
            return plus(polynomial(a), polynomial(b), -1)
        case Op("neg", (a,)):
            return plus({}, polynomial(a), -1)
        case Op("mul", (a, b)):
            found: Poly = {}
            for m, f in polynomial(a).items():
                for k, g in polynomial(b).items():
                    found = plus(found, {tuple(sorted(m + k, key=repr)): f * g})
            return found
    return {(term,): 1}


def plus(a: Poly, b: Mapping[tuple[Term, ...], int], times: int = 1) -> Poly:
    """`a + times·b`."""
    found = dict(a)
    for monomial, factor in b.items():
        found[monomial] = found.get(monomial, 0) + times * factor
        if not found[monomial]:
            del found[monomial]
    return found


def divided(poly: Poly, n: int) -> tuple[Poly, Poly]:
    """`poly = n·whole + rest`: what n divides, and the constant below n."""
    whole = {m: f // n for m, f in poly.items() if m and f % n == 0}
    rest = {m: f for m, f in poly.items() if m and f % n}
    constant = poly.get((), 0)
    return plus(whole, {(): constant // n}), plus(rest, {(): constant % n})


def single(poly: Poly) -> Term | None:
    """The atom that a polynomial is, if it is one."""
    if len(poly) == 1:
        ((monomial, factor),) = poly.items()
        if factor == 1 and len(monomial) == 1:
            return monomial[0]
    return None


def digit(term: Term) -> tuple[Term, int, int | None]:
    """`base // a % b`; b is None where there is no `%`."""
    match term:
        case Op("mod", (Op("floordiv", (base, Num(int(a)))), Num(int(b)))) if a > 0 and b > 0:
            return base, a, b
        case Op("mod", (base, Num(int(b)))) if b > 0:
            poly = polynomial(base)
            for monomial in poly:
                match monomial:  # y // a + r is (y + a·r) // a
                    case (Op("floordiv", (inner, Num(int(a)))),) if a > 0 and poly[monomial] == 1:
                        rest = {m: f * a for m, f in poly.items() if m != monomial}
                        return back(plus(polynomial(inner), rest)), a, b
            return base, 1, b
        case Op("floordiv", (base, Num(int(a)))) if a > 0:
            return base, a, None
    return term, 1, None


def made(base: Term, a: int, b: int | None) -> Term:
    """The term of a digit."""
    found = base if a == 1 else Op("floordiv", (base, num(a)), INDEX)
    return found if b is None else Op("mod", (found, num(b)), INDEX)


def back(poly: Poly) -> Term:
    """The term of a polynomial, its monomials in an order of their own."""
    total: Term | None = None
    for monomial in sorted(poly, key=lambda m: (not m, -len(m), -abs(poly[m]), repr(m))):
        factor = poly[monomial]
        if total is None:
            total = scaled(monomial, factor)
        else:
            total = Op("add" if factor > 0 else "sub", (total, scaled(monomial, abs(factor))), INDEX)
    return num(0) if total is None else total


def scaled(monomial: tuple[Term, ...], factor: int) -> Term:
    """`factor · monomial`."""
    product: Term | None = None
    for atom in monomial:
        product = atom if product is None else Op("mul", (product, atom), INDEX)
    if product is None:
        return num(factor)
    return product if factor == 1 else Op("mul", (product, num(factor)), INDEX)
