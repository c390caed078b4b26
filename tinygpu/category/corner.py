"""The least value that a polynomial takes on a box, where that is a number.

Comes in: polynomials of index terms, and what is known where they stand. Goes out: a number, or whether it is at least 0. The one idea: what
is taken away is taken away most at a corner of the box, `x = n − 1`; this is quick, and decides what a program does at every step.
"""

from __future__ import annotations

from tinygpu.category.known import Known
from tinygpu.category.linear import ONE, Monomial, Polynomial, constant, number, plus, polynomial, scaled, times, without
from tinygpu.category.term import App, Const, Term, Var


def smallest(form: Polynomial, known: Known) -> int | None:
    """The smallest value of a polynomial over the box `0 ≤ x < extents[x]`, if that is a number; variables are at least 0.

    >>> smallest(polynomial(Var("n") - Var("i") - 1), Known.of({"i": Var("n")}))
    0
    """
    for _ in range(len(form) + 1):
        negative = next(((m, c) for m, c in form.items() if c < 0 and m), None)
        if negative is None:
            return form.get((), 0) if all(_natural(atom, known) for m in form for atom in m) else None
        bound = _largest(negative[0], known)
        if bound is None:
            return None
        form = plus(without(form, negative[0]), bound, negative[1])
    return None


def nonnegative(form: Polynomial, known: Known, inside: bool = False) -> bool:
    """Whether a form is at least 0 everywhere: by its smallest value, or because it exceeds a known one.

    `inside` of a term, where every step goes to smaller terms, it must exceed a known one by a number.

    >>> i, n = Var("i"), Var("n")
    >>> nonnegative(polynomial(n - i), Known.of({}, frozenset({i < n})))
    True
    """
    low = smallest(form, known)
    if low is not None and low >= 0:
        return True
    if not known.forms:
        return False
    below = {m for m, c in form.items() if c < 0 and m}
    for name in [atom.name for m in below for atom in m if isinstance(atom, Var) and atom.name in known.extents]:
        below.update(m for m in polynomial(known.extents[name]) if m)
    # only a fact that is negative where the form is, or becomes as its axes end, can make up for it
    short = form.get((), 0) < 0
    for fact in known.forms:
        if (short and fact.get((), 0) < 0) or any(c < 0 and m in below for m, c in fact.items()):
            beyond = plus(form, fact, -1)
            low = number(beyond) if inside else smallest(beyond, known)
            if low is not None and low >= 0:
                return True
    return False


def _largest(monomial: Monomial, known: Known) -> Polynomial | None:
    """What a monomial is at most: as one of its factors is, where none is negative."""
    for place, atom in enumerate(monomial):
        most = _most(atom, known)
        if most is not None:
            others = monomial[:place] + monomial[place + 1 :]
            return times(most, {others: 1}) if all(_natural(other, known) for other in others) else None
    return None


def _most(atom: Term, known: Known) -> Polynomial | None:
    match atom:
        case Var(name) if name in known.extents:
            return plus(polynomial(known.extents[name]), ONE, -1)
        case App("mod", (_, n)) if _positive(n, known):
            return plus(polynomial(n), ONE, -1)
        case App("floordiv", (a, Const(int(n)))) if n > 0 and (most := smallest(scaled(polynomial(a), -1), known)) is not None:
            return constant(-most // n)
    return None


def _positive(term: Term, known: Known) -> bool:
    return nonnegative(plus(polynomial(term), ONE, -1), known, inside=True)


def _natural(atom: Term, known: Known) -> bool:
    """Axes, sizes and their Euclidean quotients and remainders are not negative; anything else might be."""
    match atom:
        case Var():
            return True
        case App("mod", (_, n)):
            return _positive(n, known)
        case App("floordiv" | "ceildiv", (a, n)):
            return _positive(n, known) and nonnegative(polynomial(a), known, inside=True)
        case App("min" | "max", args):
            return all(nonnegative(polynomial(a), known, inside=True) for a in args)
    return False
