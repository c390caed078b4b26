"""Extents compared: `n + 2` and `2 + n` are one extent, their difference is a number, and a shape tells its sizes.

Comes in: index terms. Goes out: differences, and which sizes shapes determine.
The one idea: an extent is the polynomial of its term.
"""

from __future__ import annotations

from tinygpu.category.linear import Polynomial, number, plus, polynomial
from tinygpu.category.term import Term, Var


def difference(a: Term, b: Term) -> int | None:
    """`a - b` where that is a number for all sizes, else None.

    >>> difference(Var("n") + 2, Var("n")), difference(Var("n"), Var("m"))
    (2, None)
    """
    return number(plus(polynomial(a), polynomial(b), -1))


def same(a: Term, b: Term) -> bool:
    """Whether two extents are equal for all sizes, as polynomials."""
    return difference(a, b) == 0


def determined(extents: list[Term], sizes: tuple[str, ...]) -> frozenset[str]:
    """The sizes that the extents of arrays tell: each from an axis that is `c*size + d` once the others are known.

    >>> sorted(determined([Var("n") * 2, Var("n") * Var("m"), Var("p") * Var("q")], ("n", "m", "p", "q")))
    ['m', 'n']
    """
    known: set[str] = set()
    forms = [polynomial(extent) for extent in extents]
    while True:
        found = {m for form in forms for m in sizes if m not in known and _solvable(form, m, known)}
        if not found:
            return frozenset(known)
        known |= found


def _solvable(form: Polynomial, size: str, known: set[str]) -> bool:
    """Whether the extent is affine in `size`, with everything else in it known."""
    with_size = [m for m in form if Var(size) in m]
    others = {atom.name if isinstance(atom, Var) else None for m in form for atom in m} - {size}
    return len(with_size) == 1 and with_size[0].count(Var(size)) == 1 and others <= known
