"""Sums and products of numbers as polynomials: floats are a field, machine integers a ring modulo 2ʷ; and sums of bits without carries.

Comes in: a sum or a product of values that are numbers. Goes out: the same one, where less stands in its polynomial. The one idea: what two
sides of a difference share is the same monomial; of `^`, the same operand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import reduce
from typing import Any, TypeAlias

from tinygpu.category.dtype import BITS, SIGNED, nearest
from tinygpu.category.linear import number, plus, times
from tinygpu.category.node import kept
from tinygpu.category.term import FLOATS, App, Const, Term, memoised, rebuild
from tinygpu.category.text import sorting

Polynomial: TypeAlias = dict[tuple[Term, ...], Any]  # of `linear`, with fractions
MOST = 64  # monomials of a polynomial, beyond which nothing is looked for


def shorter(term: App) -> Term:
    """The sum or product as its polynomial, if that is shorter. All operands are numbers.

    >>> from tinygpu.category.term import Read, text
    >>> x, w = Read("x", (), "i8"), Read("w", (), "i8")
    >>> text(shorter(App("sub", (App("add", (App("max", (x, w), "i8"), App("min", (x, w), "i8")), "i8"), w), "i8")))
    'x'
    """
    form = polynomial(term)
    if form is None or sum(len(m) + (abs(c) != 1 or not m) for m, c in form.items()) >= _leaves(term):
        return term
    return _written(form, term.dtype) or term


def difference(a: Term, b: Term) -> Any:
    """What `a - b` is, if that is one number, whatever the data."""
    form = polynomial(App("sub", (a, b), a.dtype))
    return None if form is None else number(form)


@kept
def _leaves(term: Term) -> int:
    """How many operands a sum or product has, all in all."""
    match term:
        case App("add" | "sub" | "mul" | "neg" | "div", args):
            return sum(map(_leaves, args))
    return 1


@kept
def polynomial(term: Term) -> Polynomial | None:
    """The term over the rationals, or over the integers modulo 2ʷ; None where that is long, or where it is infinite."""
    dtype = term.dtype
    match term:
        case Const(value):
            exact = nearest(value, dtype) if dtype in FLOATS else int(value)
            return None if exact is None else _number(exact)
        case App("add" | "sub" | "mul" as op, (a, b)):
            p, q = polynomial(a), polynomial(b)
            if p is None or q is None or (len(p) * len(q) if op == "mul" else len(p) + len(q)) > MOST:
                return None
            return _modulo(times(p, q) if op == "mul" else _both(plus(p, q, 1 if op == "add" else -1)), dtype)
        case App("neg", (a,)):
            p = polynomial(a)
            return None if p is None else _modulo(plus({}, p, -1), dtype)
        case App("div", (a, Const() as divisor)) if dtype in FLOATS and (by := polynomial(divisor)):
            p = polynomial(a)
            return None if p is None else times(p, _number(1 / by[()]))
    return {(term,): Fraction(1) if dtype in FLOATS else 1}


def _both(form: Polynomial) -> Polynomial:
    """`max(a, b) + min(a, b)` is `a + b`, with any factor."""
    for monomial, c in form.items():
        for at, atom in enumerate(monomial):
            if isinstance(atom, App) and atom.op == "max":
                rest, other = monomial[:at] + monomial[at + 1 :], App("min", atom.args, atom.dtype)
                least = next(
                    (m for m in form if len(m) == len(monomial) and form[m] == c and Counter(m) == Counter((*rest, other))),
                    None,
                )
                if least is not None:
                    left = {m: k for m, k in form.items() if m not in (monomial, least)}
                    return plus(left, times({rest: c}, plus({atom.args[:1]: 1}, {atom.args[1:]: 1})))
    return form


def _number(value: Any) -> Polynomial:
    return {(): value} if value else {}


def _modulo(form: Polynomial, dtype: str) -> Polynomial:
    """The same integers, the coefficients next to 0 as they are modulo 2ʷ."""
    if dtype in FLOATS:
        return form
    half = 1 << BITS[dtype] - 1
    found = {monomial: (c + half) % (2 * half) - half for monomial, c in form.items()}
    return {monomial: c for monomial, c in found.items() if c}


def _written(form: Polynomial, dtype: str) -> Term | None:
    """The polynomial as a term; None where a coefficient is no number of the dtype."""
    if not all(_exact(abs(c), dtype) for c in form.values()):
        return None
    out: Term | None = None
    for monomial in sorted(form, key=lambda m: (form[m] < 0, not m, tuple(map(sorting, m)))):
        size = Const(float(abs(form[monomial])) if dtype in FLOATS else abs(form[monomial]), dtype)
        factors = (*monomial, *(() if monomial and size.value == 1 else (size,)))
        product: Term = reduce(lambda a, b: App("mul", (a, b), dtype), factors)
        if out is None:
            out = product if form[monomial] > 0 else App("neg", (product,), dtype)
        else:
            out = App("add" if form[monomial] > 0 else "sub", (out, product), dtype)
    return out if out is not None else Const(0.0 if dtype in FLOATS else 0, dtype)


def _exact(number: Fraction | int, dtype: str) -> bool:
    """Whether a number can be written in a dtype as it is."""
    if dtype in FLOATS:
        return nearest(float(number), dtype) == number
    return number < 1 << BITS[dtype] - (dtype in SIGNED)


@memoised
def flips(term: Term) -> Term:
    """The term with each `^` in normal form: integers with `^` are a group in which every element is its own inverse, so a flip is a set of
    operands; solvers that count bits find that again and again.

    >>> from tinygpu.category.term import Var, text
    >>> a, b, c = (Var(n, "i32") for n in "abc")
    >>> flip = lambda x, y: App("xor", (x, y), "i32")
    >>> text(flips(flip(flip(c, Const(5, "i32")), flip(a, flip(c, Const(3, "i32")))))), flips(flip(flip(a, b), b)) == a
    ('a ^ 6', True)
    """
    inner = rebuild(term, flips)
    match inner:
        case App("xor", _, dtype):
            once: dict[Term, None] = {}
            number = 0
            for operand in _operands(inner):
                if isinstance(operand, Const):
                    number ^= int(operand.value)
                elif operand in once:
                    del once[operand]
                else:
                    once[operand] = None
            parts = [*sorted(once, key=sorting), *([Const(number, dtype)] if number or not once else [])]
            return reduce(lambda a, b: App("xor", (a, b), dtype), parts)
    return inner


def _operands(term: Term) -> Iterator[Term]:
    match term:
        case App("xor", (a, b)):
            yield from _operands(a)
            yield from _operands(b)
        case _:
            yield term
