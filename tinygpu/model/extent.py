"""Extents as polynomials over the sizes, so that `n + 2` and `2 + n` are one extent and their difference is a number.

Comes in: index terms. Goes out: normal forms, differences, and which size a shape determines.
The one idea: a polynomial is a map from monomials (sorted tuples of atoms) to integers; whatever is no polynomial is an atom.
"""

from __future__ import annotations

from tinygpu.category.term import App, Const, Term, Var, text

Monomial = tuple[str, ...]


def polynomial(term: Term) -> dict[Monomial, int]:
    """The normal form of an index term.

    >>> n = Var("n")
    >>> polynomial((n + 2) * 3 - n) == {("n",): 2, (): 6}
    True
    """
    match term:
        case Const(int(value)):
            return {(): value} if value else {}
        case Var(name):
            return {(name,): 1}
        case App("add" | "sub", (a, b)):
            total, sign = polynomial(a), 1 if term.op == "add" else -1
            for monomial, factor in polynomial(b).items():
                total[monomial] = total.get(monomial, 0) + sign * factor
            return {m: f for m, f in total.items() if f}
        case App("mul", (a, b)):
            product: dict[Monomial, int] = {}
            for m, f in polynomial(a).items():
                for k, g in polynomial(b).items():
                    key = tuple(sorted(m + k))
                    product[key] = product.get(key, 0) + f * g
            return {m: f for m, f in product.items() if f}
    return {(text(term),): 1}


def difference(a: Term, b: Term) -> int | None:
    """`a - b` where that is a number for all sizes, else None.

    >>> difference(Var("n") + 2, Var("n")), difference(Var("n"), Var("m"))
    (2, None)
    """
    rest = polynomial(App("sub", (a, b)))
    return rest.get((), 0) if set(rest) <= {()} else None


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


def _solvable(form: dict[Monomial, int], size: str, known: set[str]) -> bool:
    """Whether the extent is affine in `size`, with everything else in it known."""
    with_size = [m for m in form if size in m]
    others = {atom for m in form for atom in m} - {size}
    return len(with_size) == 1 and with_size[0].count(size) == 1 and others <= known
