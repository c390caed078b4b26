"""Polynomials over the integers: the normal form of sums and products of index terms.

Comes in: a term. Goes out: its monomials with their coefficients, where what is no sum or product is an atom; and terms again.
The one idea: `by*64 + ty*8 + ri` and `(by*8 + ty)*8 + ri` are one polynomial, so they are one term.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import reduce
from typing import TypeAlias

from tinygpu.category.term import INDEX, App, Const, Term, apply, lift, text, variables

Monomial: TypeAlias = tuple[Term, ...]  # atoms, sorted by their text
Polynomial: TypeAlias = dict[Monomial, int]  # no coefficient is 0


def polynomial(term: Term) -> Polynomial:
    """The term as a polynomial in its atoms.

    >>> from tinygpu.category.term import Var
    >>> by, ty = Var("by"), Var("ty")
    >>> polynomial((by * 8 + ty) * 8) == polynomial(by * 64 + ty * 8) == {(by,): 64, (ty,): 8}
    True
    """
    match term:
        case Const(int(value)):
            return constant(value)
        case App("add", (a, b), "index"):
            return plus(polynomial(a), polynomial(b))
        case App("sub", (a, b), "index"):
            return plus(polynomial(a), polynomial(b), -1)
        case App("neg", (a,), "index"):
            return plus({}, polynomial(a), -1)
        case App("mul", (a, b), "index"):
            return times(polynomial(a), polynomial(b))
    return {(term,): 1}


def constant(value: int) -> Polynomial:
    """The constant polynomial."""
    return {(): value} if value else {}


def number(p: Polynomial) -> int | None:
    """The value of a constant polynomial, None of any other."""
    return p.get((), 0) if all(m == () for m in p) else None


def plus(p: Polynomial, q: Polynomial, scale: int = 1) -> Polynomial:
    """`p + scale·q`."""
    out = dict(p)
    for monomial, c in q.items():
        out[monomial] = out.get(monomial, 0) + scale * c
    return {monomial: c for monomial, c in out.items() if c}


def times(p: Polynomial, q: Polynomial) -> Polynomial:
    """`p·q`."""
    out: Polynomial = {}
    for m, c in p.items():
        for n, d in q.items():
            both = _sorted(m + n)
            out[both] = out.get(both, 0) + c * d
    return {monomial: c for monomial, c in out.items() if c}


def replace_atoms(p: Polynomial, change: Callable[[Term], Polynomial]) -> Polynomial:
    """The polynomial with a polynomial in place of each atom."""
    out: Polynomial = {}
    for monomial, c in p.items():
        out = plus(out, reduce(times, map(change, monomial), constant(c)))
    return out


def divide(p: Polynomial, d: Polynomial) -> tuple[Polynomial, Polynomial]:
    """`(q, r)` with `p = q·d + r`, where no monomial of r is a multiple of the leading one of d; constants leave `0 ≤ r < d`.

    >>> from tinygpu.category.term import Var
    >>> i, j, W = Var("i"), Var("j"), Var("W")
    >>> divide(polynomial(i * (W - 2) + j), polynomial(W - 2)) == (polynomial(i), polynomial(j))
    True
    """
    if not d:
        return {}, p
    lead = max(d, key=_order)
    quotient: Polynomial = {}
    rest: Polynomial = {}
    p = dict(p)
    while p:
        top = max(p, key=_order)
        factor = _without(top, lead)
        whole = None if factor is None else p[top] // d[lead]
        if factor is None or not whole or (p[top] % d[lead] and top != ()) or (top == () and p[top] < 0 and p[top] % d[lead]):
            rest[top] = p.pop(top)
            continue
        quotient = plus(quotient, {factor: whole})
        p = plus(p, times({factor: whole}, d), -1)
        if top in p:
            rest[top] = p.pop(top)
    return quotient, rest


def term_of(p: Polynomial, first: Collection[str] = ()) -> Term:
    """The polynomial as a term, in one fixed order: what is added before what is subtracted, high degrees and coefficients first.

    `first` are names that stand to the left in products: axes before sizes.

    >>> from tinygpu.category.term import Var
    >>> text(term_of(polynomial(Var("j") - 1 + Var("N") * Var("i") + Var("j")), ["i", "j"]))
    'i*N + j*2 - 1'
    """
    out: Term | None = None
    for monomial in sorted(p, key=lambda m: (p[m] < 0, -len(m), -abs(p[m]), m == (), tuple(map(text, m)))):
        factors = sorted(monomial, key=lambda a: (not variables(a) & set(first), text(a)))
        size = abs(p[monomial])
        product = reduce(lambda a, b: App("mul", (a, b)), factors) if factors else Const(size)
        if factors and size != 1:
            product = apply("mul", product, size)
        if out is None:
            out = product if p[monomial] > 0 else _negative(product)
        else:
            out = apply("add" if p[monomial] > 0 else "sub", out, product)
    return lift(0) if out is None else out


def _negative(product: Term) -> Term:
    match product:
        case Const(int(value)):
            return Const(-value)
        case App("mul", (a, Const(int(value)))):
            return App("mul", (a, Const(-value)))
    return App("neg", (product,), INDEX)


def _sorted(monomial: Monomial) -> Monomial:
    return tuple(sorted(monomial, key=text)) if len(monomial) > 1 else monomial


def _order(monomial: Monomial) -> tuple[int, tuple[str, ...]]:
    # a monomial order (degree, then names), so that division ends
    return len(monomial), tuple(map(text, monomial))


def _without(monomial: Monomial, part: Monomial) -> Monomial | None:
    """The monomial divided by another, or None."""
    rest = list(monomial)
    for atom in part:
        if atom not in rest:
            return None
        rest.remove(atom)
    return tuple(rest)
