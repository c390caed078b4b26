"""Terms over sizes: extents compared, and what a precondition needs to have a value.

Comes in: index terms, and guards over the sizes. Goes out: differences, and guards with those that they need.
The one idea: an extent is the polynomial of its term, so `n + 2` and `2 + n` are one; and a precondition without a value does not hold, so
it says of its divisors that they are at least 1, and whoever reads it, reads that too.
"""

from __future__ import annotations

from collections.abc import Iterable

from tinygpu.category.decide import holds
from tinygpu.category.known import apart
from tinygpu.category.linear import polynomial
from tinygpu.category.region import Region
from tinygpu.category.term import INDEX, App, Read, Term, apply, walk


def difference(a: Term, b: Term) -> int | None:
    """`a - b` where that is a number for all sizes, else None.

    >>> from tinygpu.category.term import Var
    >>> difference(Var("n") + 2, Var("n")), difference(Var("n"), Var("m"))
    (2, None)
    """
    return apart(polynomial(a), polynomial(b))


def same(a: Term, b: Term) -> bool:
    """Whether two extents are equal for all sizes, as polynomials."""
    return difference(a, b) == 0


def with_divisors(guards: Iterable[Term], known: tuple[Term, ...] = ()) -> tuple[Term, ...]:
    """The guards with those that they need; none that is known, or that numbers decide.

    >>> from tinygpu.category.term import Var, equal, text
    >>> n, m = Var("n"), Var("m")
    >>> [text(g) for g in with_divisors([equal(n % m, 0), n // m >= 2]) + with_divisors([m >= 4, n % m < 2, n % 8 < 1])]
    ['m >= 1', 'n % m == 0', 'n // m >= 2', 'm >= 4', 'n % m < 2', 'n % 8 < 1']
    """
    out: list[Term] = []
    for guard in guards:
        out += needed(guard, (*known, *out))
        out.append(guard)
    return tuple(out)


def needed(term: Term, known: tuple[Term, ...]) -> tuple[Term, ...]:
    """That what a guard or an extent divides by is at least 1, where this is not known.

    >>> from tinygpu.category.term import Var, text
    >>> n, m = Var("n"), Var("m")
    >>> [text(g) for g in needed(n // m + n // 2, ())], needed(n // m, (m >= 3,))
    (['m >= 1'], ())
    """
    asked = dict.fromkeys(apply("ge", divisor, 1) for divisor in _divisors(term))
    return tuple(g for g in asked if holds(g, Region((), known)) is not True)


def _divisors(term: Term) -> Iterable[Term]:
    """What is divided by in a term over the sizes."""
    if any(isinstance(part, Read) for part in walk(term)):
        return ()
    return [t.args[1] for t in walk(term) if isinstance(t, App) and t.op in ("floordiv", "mod", "ceildiv") and t.dtype == INDEX]
