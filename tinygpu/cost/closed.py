"""Closed forms: sums of products over the sizes, as counts come out.

    8·K·M·⌈N/64⌉ + M·N

Comes in: terms over the sizes. Goes out: a normal form that adds, multiplies, prints and has a value at given sizes.
The one idea: a count is a sum of products of extents, so products of factors in order of their text are enough of an algebra.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import prod

from tinygpu.category.evaluate import evaluate
from tinygpu.category.term import App, Const, Term, Var, lift, text
from tinygpu.record import dataclass

Monomial = tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Closed:
    """`Σ coefficient · Π factors`, the products in order of their text, each with a coefficient that is not 0."""

    parts: tuple[tuple[Monomial, int], ...] = ()

    def __add__(self, other: Closed) -> Closed:
        return _normal(Counter(dict(self.parts)), other)

    def __mul__(self, other: Closed | int) -> Closed:
        if isinstance(other, int):
            other = closed(Const(other))
        total: Counter[Monomial] = Counter()
        for left, a in self.parts:
            for right, b in other.parts:
                total[tuple(sorted((*left, *right), key=text))] += a * b
        return _normal(total)

    def __sub__(self, other: Closed) -> Closed:
        return self + other * -1

    @property
    def constant(self) -> int | None:
        """The number that it is, if it is one.

        >>> closed(Const(8)).constant, Closed().constant, closed(Var("n")).constant
        (8, 0, None)
        """
        if not self.parts:
            return 0
        return self.parts[0][1] if len(self.parts) == 1 and self.parts[0][0] == () else None

    def number(self, sizes: Mapping[str, int]) -> int:
        """Its value. Raises KeyError for a size that is not given."""
        return sum(c * prod(evaluate(f, sizes) for f in factors) for factors, c in self.parts)

    def term(self) -> Term:
        """It as a term over the sizes."""
        total: Term = Const(0)
        for factors, coefficient in self.parts:
            part: Term = Const(abs(coefficient))
            for factor in factors:
                part = part * factor
            total = total + part if coefficient > 0 else total - part
        return total

    def __str__(self) -> str:
        """For a reader.

        >>> n = Var("n")
        >>> print(closed(Var("K")) * closed(App("ceildiv", (n, Const(64)))) * 8 + closed(n), "|", closed(n) - closed(Const(1)), "|", Closed())
        8·K·⌈n/64⌉ + n | n − 1 | 0
        """
        said = [(c, "·".join([*([str(abs(c))] if abs(c) != 1 or not f else []), *map(_factor, f)])) for f, c in self.parts]
        return "".join(f" {'−' if c < 0 else '+'} {s}" for c, s in said).removeprefix(" + ").lstrip() or "0"


def _normal(total: Counter[Monomial], more: Closed | None = None) -> Closed:
    for factors, coefficient in more.parts if more else ():
        total[factors] += coefficient
    kept = [(factors, c) for factors, c in total.items() if c]
    return Closed(tuple(sorted(kept, key=lambda p: (-len(p[0]), [text(f) for f in p[0]]))))


def _factor(factor: Term) -> str:
    match factor:
        case Var(name):
            return name
        case App("ceildiv", (a, b)):
            return f"⌈{text(a)}/{text(b, 8)}⌉"
        case App("floordiv", (a, b)):
            return f"⌊{text(a)}/{text(b, 8)}⌋"
        case App("min" | "max"):
            return text(factor)
    return f"({text(factor)})"


def closed(term: Term | int) -> Closed:
    """A term over the sizes in normal form: sums and products are opened, everything else is a factor.

    >>> n = Var("n")
    >>> closed((n + 1) * n * 2) == closed(n * n) * 2 + closed(n) * 2
    True
    """
    term = lift(term)
    match term:
        case Const(int(value)):
            return Closed((((), value),)) if value else Closed()
        case App("add", (a, b)):
            return closed(a) + closed(b)
        case App("sub", (a, b)):
            return closed(a) - closed(b)
        case App("mul", (a, b)):
            return closed(a) * closed(b)
    return Closed((((term,), 1),))


ONE = closed(1)


def natural(value: Closed, at_least: Mapping[str, int]) -> Closed:
    """`max(value, 0)`; `at_least` says how small a size can be.

    >>> n = closed(Var("n"))
    >>> print(natural(n - closed(2), {}), "|", natural(n - closed(2), {"n": 2}))
    max(n - 2, 0) | n − 2
    """
    if all(c > 0 for _, c in value.parts):
        return value
    if value.constant is not None:
        return closed(max(0, value.constant))
    low = 0
    for factors, c in value.parts:
        if c < 0 and factors:
            break
        low += c * prod(at_least.get(f.name, 0) if isinstance(f, Var) else 0 for f in factors)
    else:
        if low >= 0:
            return value
    return closed(App("max", (value.term(), Const(0))))


def least(a: Closed, b: Closed) -> Closed:
    """`min(a, b)`.

    >>> print(least(closed(4), closed(Var("n"))), "|", least(closed(4), closed(7)))
    min(n, 4) | 4
    """
    if a == b:
        return a
    if a.constant is not None and b.constant is not None:
        return a if a.constant <= b.constant else b
    first, second = (b, a) if a.constant is not None else (a, b)
    return closed(App("min", (first.term(), second.term())))
