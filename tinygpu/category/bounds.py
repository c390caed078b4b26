"""Bounds of index terms: what a polynomial is at least, and at most.

Comes in: polynomials of index terms, and what is known where they stand. Goes out: a number, or bounds over the sizes, or None where none is
seen. The one idea: interval arithmetic whose ends are polynomials over the sizes, so tiles of symbolic size have bounds too.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from tinygpu.category.bitrange import NOTHING, Range, of_shift, of_xor
from tinygpu.category.dtype import LONG, RANGE
from tinygpu.category.known import Known
from tinygpu.category.linear import (
    ONE,
    Polynomial,
    constant,
    divide,
    number,
    plus,
    polynomial,
    term_of,
    times,
)
from tinygpu.category.term import INDEX, App, Const, Term, Var, apply, negation

if TYPE_CHECKING:
    from tinygpu.category.region import Region

HELD = {name: ends for name, ends in RANGE.items() if name not in LONG}  # what data says of an index


def reach(term: Term, known: Known) -> tuple[Term | None, Term | None]:
    """Terms over the sizes, at most and at least `term` at every point of a place, None where none is seen.

    >>> from tinygpu.category.term import text
    >>> low, high = reach(Var("i") - 1, Known.of({"i": Var("n")}))
    >>> text(low), text(high)
    ('-1', 'n - 2')
    """
    low, high = range_of(polynomial(term), known)
    return None if low is None else term_of(low), None if high is None else term_of(high)


def lower(term: Term, region: Region) -> Term | None:
    """A term over the sizes that is at most `term` at every point of a region, or None."""
    return reach(term, Known.at(region))[0]


def upper(term: Term, region: Region) -> Term | None:
    """A term over the sizes that is at least `term` at every point of a region, or None. It states the launcher's width checks.

    >>> from tinygpu.category.region import Region
    >>> from tinygpu.category.term import Axis, ceildiv, lift, text
    >>> g, t, v, e, M, N = map(Var, "gtveMN")
    >>> text(upper((g * 256 + t) * 4 + v, Region((Axis("g", ceildiv(Var("n"), 1024)), Axis("t", lift(256)), Axis("v", lift(4))))))
    'ceil(n / 1024)*1024 - 1'
    >>> text(upper(e // N, Region((Axis("e", M * N),)))), text(upper(e % N, Region((Axis("e", M * N),))))
    ('M - 1', 'N - 1')
    """
    return reach(term, Known.at(region))[1]


def natural(extent: Term) -> Term:
    """How many there are, as a term over the sizes: an extent below 0 is 0.

    >>> from tinygpu.category.term import ceildiv, text
    >>> n = Var("n")
    >>> text(natural(ceildiv(n, 256) * 4)), text(natural(n - 1)), text(natural(natural(n - 1)))
    ('ceil(n / 256)*4', 'max(n - 1, 0)', 'max(n - 1, 0)')
    """
    natural = least_positive(polynomial(extent), Known.of({})) or (
        isinstance(extent, App) and extent == apply("max", extent.args[0], 0)
    )
    return extent if natural else apply("max", extent, Const(0))


def range_of(p: Polynomial, known: Known) -> Range:
    """Bounds of a polynomial: monomial by monomial, None where one of them has none."""
    low: Polynomial | None = {}
    high: Polynomial | None = {}
    for monomial, c in p.items():
        a, b = _product(monomial, known) if c > 0 else _product(monomial, known)[::-1]
        low = None if low is None or a is None else plus(low, a, c)
        high = None if high is None or b is None else plus(high, b, c)
    return low, high


def least(p: Polynomial, known: Known) -> Polynomial | None:
    """The lower bound of a polynomial, None where there is none."""
    low: Polynomial = {}
    for monomial, c in p.items():
        end = _product(monomial, known)[c < 0] if monomial else ONE
        if end is None:
            return None
        low = plus(low, end, c)
    return low


def least_positive(p: Polynomial, known: Known) -> bool:
    """Whether the lower bound of a polynomial is seen to be not negative."""
    low = least(p, known)
    return low is not None and known.positive(low)


def _product(monomial: tuple[Term, ...], known: Known) -> Range:
    """Bounds of a product of atoms: of its factors, where none of them is negative."""
    for atom in monomial:
        if atom not in known.ranges:
            known.ranges[atom] = _atom(atom, known)
    ranges = [known.ranges[atom] for atom in monomial]
    if len(ranges) == 1:
        return ranges[0]
    if any(low is None or (low and not known.positive(low)) for low, _ in ranges):
        return NOTHING
    lows, highs = ([p for p in side if p is not None] for side in zip(*ranges, strict=True)) if ranges else ([], [])
    return reduce(times, lows, constant(1)), reduce(times, highs, constant(1)) if len(highs) == len(ranges) else None


def _atom(atom: Term, known: Known) -> Range:
    """Bounds of what is no sum or product. What no axis occurs in bounds itself."""
    match atom:
        case Var(name) if name in known.extents:
            return {}, range_of(plus(polynomial(known.extents[name]), ONE, -1), known)[1]
        case _ if known.constant(atom):
            return {(atom,): 1}, {(atom,): 1}
        case App("floordiv" | "ceildiv" as op, (a, b)):
            return _quotient(op, polynomial(a), polynomial(b), known)
        case App("mod", (a, b)):
            return _remainder(polynomial(a), polynomial(b), known)
        case App("min" | "max" as op, (a, b)):
            return _extreme(op, range_of(polynomial(a), known), range_of(polynomial(b), known), known)
        case App("select", (condition, a, b)) if atom.dtype == INDEX:
            then, otherwise = (known.under(c) for c in (condition, negation(condition)))
            return _either(range_of(polynomial(a), then), range_of(polynomial(b), otherwise), known)
        case App("xor", (a, b)):
            return of_xor(range_of(polynomial(a), known), range_of(polynomial(b), known), known)
        case App("cast", (App("shl", (Const(int(one)), App("cast", (places,), "i64"))),)) if places.dtype == INDEX and one >= 0:
            return of_shift(one, range_of(polynomial(places), known))
        case App("cast", (inner,), "index") if inner.dtype in HELD:
            low, most = HELD[inner.dtype]
            return constant(low), constant(most)
        case App("table", (_, *entries)):
            return reduce(lambda a, b: _either(a, b, known), (range_of(polynomial(e), known) for e in entries))
    return NOTHING


def _quotient(op: str, a: Polynomial, b: Polynomial, known: Known) -> Range:
    if not least_positive(plus(b, ONE, -1), known):
        return NOTHING
    low, high = range_of(a, known)
    if number(b) is not None or all(known.constant(atom) for m in b for atom in m):
        return (None if low is None else divided(op, low, b)), (None if high is None else divided(op, high, b))
    if low is None or not known.positive(low):
        return NOTHING
    # the divisor varies: it is least where its bound is, and at least 1
    least = range_of(b, known)[0] or {}
    by = least if known.positive(plus(least, ONE, -1)) else constant(1)
    return {}, None if high is None else divided(op, high, by)


def _remainder(a: Polynomial, b: Polynomial, known: Known) -> Range:
    if not least_positive(plus(b, ONE, -1), known):
        return NOTHING
    low, high = range_of(a, known)
    most = range_of(b, known)[1]
    below = None if most is None else plus(most, ONE, -1)
    if low is None or high is None or not known.positive(low):
        return {}, below
    return {}, high if below is None else _pick("min", high, below, known)


def _extreme(op: str, a: Range, b: Range, known: Known) -> Range:
    """For a minimum either upper bound is one, and the lower needs both; for a maximum the other way round."""
    ends = [_pick(op, p, q, known) if p is not None and q is not None else None for p, q in zip(a, b, strict=True)]
    loose = 1 if op == "min" else 0
    if ends[loose] is None:
        ends[loose] = a[loose] if b[loose] is None else b[loose]
    return ends[0], ends[1]


def _either(a: Range, b: Range, known: Known) -> Range:
    low = None if a[0] is None or b[0] is None else _pick("min", a[0], b[0], known)
    return low, None if a[1] is None or b[1] is None else _pick("max", a[1], b[1], known)


def _pick(op: str, p: Polynomial, q: Polynomial, known: Known) -> Polynomial:
    """The smaller (or larger) of two polynomials over the sizes, a term for it where they cannot be compared."""
    small, large = (p, q) if known.positive(plus(q, p, -1)) else (q, p)
    if known.positive(plus(large, small, -1)):
        return small if op == "min" else large
    return {(apply(op, term_of(p), term_of(q)),): 1}


def divided(op: str, p: Polynomial, d: Polynomial) -> Polynomial:
    """`p // d` or `⌈p / d⌉` for d ≥ 1, divided out as far as it goes, the rest an atom.

    >>> M, N = Var("M"), Var("N")
    >>> divided("floordiv", polynomial(M * N - 1), polynomial(N)) == polynomial(M - 1)
    True
    """
    q, r = divide(p, d)
    rest, by = number(r), number(d)
    if rest is not None and by is not None:
        return plus(q, constant(rest // by if op == "floordiv" else -(-rest // by)))
    if rest == 0 or (rest == -1 and op == "ceildiv" and by != 1):
        # ⌈−1 / d⌉ is −1 for d = 1 and 0 beyond it, so it stays an atom
        return q if rest == 0 else plus(q, {(apply(op, Const(-1), term_of(d)),): 1})
    if rest == -1:
        return plus(q, ONE, -1)
    return plus(q, {(apply(op, term_of(r), term_of(d)),): 1})
