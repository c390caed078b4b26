"""Values over the reals as sums of products: a value is a polynomial in its atoms, which are what arithmetic does not open.

    exp(u − v) = exp u · exp(v)⁻¹        a if g else b = [g]·a + (1 − [g])·b        [g]·[g] = [g]        a / b = a · b⁻¹

Comes in: a value of an equation. Goes out: a map from monomials to rational coefficients, and back a term that has the same one. The one idea: functions are
total here, with 0⁻¹ = 0, so that every law holds everywhere but one: `a · a⁻¹ = 1` is noted in `met`, and somebody has to show that a is not 0. An atom
is a read, a size, a function of a value, a truth `[g]` as a number, a fold, or a sum of several monomials that is divided by.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import reduce
from typing import TypeAlias

from tinygpu.category.dtype import DTYPE, contains, nearest
from tinygpu.category.linear import polynomial as index_polynomial
from tinygpu.category.linear import term_of as index_of
from tinygpu.category.simplify import simplify
from tinygpu.category.term import BOOL, FLOATS, INDEX, INTEGERS, App, Const, Term, negation
from tinygpu.category.text import sorting

REAL = "f64"  # of every value here
Monomial: TypeAlias = tuple[tuple[Term, int], ...]  # atoms and their powers, which are not 0, in one fixed order
Polynomial: TypeAlias = Mapping[Monomial, Fraction]
Met: TypeAlias = set[Term]  # atoms of which a power met its inverse
ZERO: Polynomial = {}
ONE: Polynomial = {(): Fraction(1)}
EXPONENTIALS = ("exp", "exp2")
RAISED = 8  # how often a product says one factor
PARTS = 50_000  # of a value that is followed, written out
MOST = 20_000  # products of monomials in one product


class Unfollowed(ValueError):
    """A value that is no polynomial over the reals: one of machine integers, an infinity, a division by 0."""


def bearable(term: Term) -> Term:
    """The value itself. Raises Unfollowed for one that is too large when it is written out: what reads itself twice, thirty times over."""
    if term.parts > PARTS:
        raise Unfollowed(f"a value that has more than {PARTS} parts when it is written out")
    return term


def atom(term: Term, power: int = 1) -> Polynomial:
    """One atom."""
    return {((term, power),): Fraction(1)}


def added(p: Polynomial, q: Polynomial, scale: Fraction | int = 1) -> Polynomial:
    """`p + scale·q`."""
    out = dict(p)
    for monomial, c in q.items():
        if total := out.get(monomial, 0) + scale * c:
            out[monomial] = Fraction(total)
        else:
            out.pop(monomial, None)
    return out


def times(p: Polynomial, q: Polynomial, met: Met) -> Polynomial:
    """`p·q`."""
    if len(p) * len(q) > MOST:
        raise Unfollowed("a product of so many terms")
    out: dict[Monomial, Fraction] = {}
    for m, c in p.items():
        for n, d in q.items():
            both = product((*m, *n), met)
            out[both] = out.get(both, Fraction(0)) + c * d
    return {m: c for m, c in out.items() if c}


def product(factors: Iterable[tuple[Term, int]], met: Met) -> Monomial:
    """One monomial of several factors. A truth is 0 or 1, so its powers are itself."""
    powers: dict[Term, int] = {}
    for term, power in factors:
        before = powers.get(term, 0)
        if before * power < 0:
            met.add(term)
        powers[term] = 1 if is_truth(term) else before + power
    return tuple(sorted(((t, p) for t, p in powers.items() if p), key=_place))


def _place(factor: tuple[Term, int]) -> tuple[str, int]:
    return sorting(factor[0]), factor[1]


def rounds(term: Term) -> bool:
    """Whether a value is a cast that is a function: to a dtype of floats that has not all numbers of the other one."""
    match term:
        case App("cast", (a,), dtype):
            return a.dtype in FLOATS and dtype in FLOATS and not contains(dtype, a.dtype)
    return False


def saturates(term: Term) -> bool:
    """Whether it is one to a dtype that has a largest number for all that are larger."""
    return rounds(term) and DTYPE[term.dtype].saturates


def is_truth(term: Term) -> bool:
    """Whether an atom is `[g]`."""
    return isinstance(term, App) and term.op == "select"


def inverse(p: Polynomial) -> Polynomial:
    """`1 / p`. Raises Unfollowed for that of 0."""
    if not p:
        raise Unfollowed("a division by 0")
    if len(p) == 1:
        ((monomial, c),) = p.items()
        return {product(((t, -power) for t, power in monomial), set()): 1 / c}
    if shared := _shared(p):
        rest = {
            product((*m, *((t, -power) for t, power in shared)), set()): c for m, c in p.items()
        }  # of one sign, so nothing is cancelled
        return times(inverse(rest), {tuple((t, -power) for t, power in shared): Fraction(1)}, set())
    lead = p[min(p, key=_order)]
    return {((term_of({m: c / lead for m, c in p.items()}), -1),): 1 / lead}


def _shared(p: Polynomial) -> Monomial:
    """What all monomials are multiplied with, or all are divided by."""
    first, *others = map(dict, p)
    found: list[tuple[Term, int]] = []
    for term, power in first.items():
        powers = [power, *(other.get(term, 0) for other in others)]
        least = min(powers, key=abs)
        if not is_truth(term) and all(q * least > 0 for q in powers):
            found.append((term, least))
    return tuple(found)


def ring(term: Term, met: Met) -> Polynomial:
    """The polynomial of a value in its atoms, as they stand there. Raises Unfollowed.

    >>> from tinygpu.category.term import Read, text
    >>> x, y = (Read(name, (), "f32") for name in "xy")
    >>> value = App("mul", (App("exp", (App("sub", (x, y), "f32"),), "f32"), App("exp", (y,), "f32")), "f32")
    >>> met = set()
    >>> text(term_of(ring(value, met))), [text(t) for t in met]
    ('exp(x)', ['exp(y)'])
    """
    match term:
        case Const(value, dtype) if dtype != BOOL:
            exact = Fraction(int(value)) if dtype not in FLOATS else nearest(float(value), dtype)
            if exact is None:
                raise Unfollowed("an infinity")
            return {(): exact} if exact else ZERO
        case App("cast", (a,)) if a.dtype == INDEX:
            return _counted(simplify(a), met)
        case App("cast", (a,), dtype) if a.dtype in FLOATS and dtype in FLOATS:
            number = ring(a, met)
            return atom(App("cast", (term_of(number),), dtype)) if rounds(term) else number
        case App("cast", (a,), dtype) if a.dtype in INTEGERS and dtype in FLOATS:
            return atom(term)  # integers wrap, so nothing is seen through
        case App("select", (condition, then, otherwise)):
            g = truth(condition, met)
            return added(times(g, ring(then, met), met), times(added(ONE, g, -1), ring(otherwise, met), met))
        case App(op, args, dtype) if op in ("add", "sub", "mul", "div", "neg", *EXPONENTIALS, "sqrt", "rsqrt", "max", "min"):
            if dtype not in FLOATS:
                raise Unfollowed(f"a value of type {dtype}")
            return _applied(op, [ring(a, met) for a in args], met)
    if term.dtype not in FLOATS:
        raise Unfollowed(f"a value of type {term.dtype}")
    return atom(term)


def _applied(op: str, args: list[Polynomial], met: Met) -> Polynomial:
    match op, args:
        case "add", [a, b]:
            return added(a, b)
        case "sub", [a, b]:
            return added(a, b, -1)
        case "neg", [a]:
            return added(ZERO, a, -1)
        case "mul", [a, b]:
            return times(a, b, met)
        case "div", [a, b]:
            return times(a, inverse(b), met)
        case (("max" | "min"), [a, b]):
            return a if a == b else atom(App(op, tuple(sorted(map(term_of, (a, b)), key=sorting)), REAL))
        case (("sqrt" | "rsqrt"), [a]):
            return atom(App("sqrt", (term_of(a),), REAL), 1 if op == "sqrt" else -1)
    return exponential(op, args[0], met)


def exponential(op: str, p: Polynomial, met: Met) -> Polynomial:
    """The exponential of a sum, a product of exponentials."""
    factors: list[tuple[Term, int]] = []
    for monomial, c in p.items():
        whole = c.denominator == 1 and abs(c) <= RAISED
        base = term_of({monomial: Fraction(1) if whole else abs(c)})
        factors.append((App(op, (base,), REAL), int(c) if whole else 1 if c > 0 else -1))
    return {product(factors, met): Fraction(1)}


def _counted(index: Term, met: Met) -> Polynomial:
    """An index as a number."""
    out: Polynomial = ZERO
    for monomial, c in index_polynomial(index).items():
        factors = ((App("cast", (part,), REAL), 1) for part in monomial)
        out = added(out, {product(factors, met): Fraction(c)})
    return out


def truth(condition: Term, met: Met) -> Polynomial:
    """A condition as a number, 0 or 1. Two comparisons of indices that say the same are one atom."""
    match condition:
        case Const(bool(value)):
            return ONE if value else ZERO
        case App("and", args):
            return reduce(lambda p, q: times(p, q, met), (truth(a, met) for a in args))
        case App("or", args):
            return added(ONE, reduce(lambda p, q: times(p, q, met), (truth(negation(a), met) for a in args)), -1)
        case App("not", (a,)):
            return added(ONE, truth(a, met), -1)
        case App("ne", (a, b)) if a.dtype == INDEX:
            return added(ONE, truth(App("eq", (a, b), BOOL), met), -1)
        case App("eq", (a, b)) if a.dtype != INDEX:  # of data it is a mask that is asked for: what is not 0
            return added(ONE, truth(App("ne", (a, b), BOOL), met), -1)
        case App("lt" | "le" | "gt" | "ge" | "eq" as op, (a, b)) if a.dtype == INDEX and b.dtype == INDEX:
            return _compared(op, a, b)
    return atom(App("select", (condition, Const(1.0, REAL), Const(0.0, REAL)), REAL))


def _compared(op: str, a: Term, b: Term) -> Polynomial:
    """`0 <= d`, or `0 == d` where the first coefficient of d is above 0. (Which of `0 <= d` and `0 <= -d - 1` is the atom must not follow from names: bound
    ones change.)"""
    if op in ("gt", "ge"):
        a, b = b, a
    d = index_polynomial(simplify(b - a - (1 if op in ("lt", "gt") else 0)))
    if d.keys() <= {()}:
        return ONE if (d.get((), 0) == 0 if op == "eq" else d.get((), 0) >= 0) else ZERO
    if op == "eq" and d[min((m for m in d if m), key=lambda m: tuple(map(sorting, m)))] < 0:
        d = {m: -c for m, c in d.items()}
    goal = App("eq" if op == "eq" else "le", (Const(0), index_of(d)), BOOL)
    return atom(App("select", (goal, Const(1.0, REAL), Const(0.0, REAL)), REAL))


def _order(monomial: Monomial) -> tuple[int, tuple[tuple[str, int], ...]]:
    return len(monomial), tuple(map(_place, monomial))


def term_of(p: Polynomial) -> Term:
    """The polynomial as a term, in one fixed order: the ring of that is p again."""
    out: Term | None = None
    for monomial in sorted(p, key=_order):
        c = p[monomial]
        one = _scaled(abs(c), written(monomial))
        if out is None:
            out = one if c > 0 else App("neg", (one,), REAL)
        else:
            out = App("add" if c > 0 else "sub", (out, one), REAL)
    return Const(0.0, REAL) if out is None else out


def _scaled(c: Fraction, body: Term) -> Term:
    above = body if c.numerator == 1 else App("mul", (_number(c.numerator), body), REAL)
    return above if c.denominator == 1 else App("div", (above, _number(c.denominator)), REAL)


def _number(value: int) -> Term:
    if Fraction(float(value)) != value:
        raise Unfollowed("a number of many digits")
    return Const(float(value), REAL)


def written(monomial: Monomial) -> Term:
    """A monomial as a term."""
    above = [t for t, p in monomial for _ in range(p)]
    below = [t for t, p in monomial for _ in range(-p)]
    first = reduce(lambda a, b: App("mul", (a, b), REAL), above) if above else Const(1.0, REAL)
    return reduce(lambda a, b: App("div", (a, b), REAL), below, first)
