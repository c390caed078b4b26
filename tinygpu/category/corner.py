"""Whether an index term is 0 or more everywhere, by its smallest value.

Comes in: a polynomial of index terms, and what is known where it stands. Goes out: its smallest value, where that is a number, and whether it is seen
to be not negative. The one idea: what is taken away is taken away most at a corner of the box, `x = n − 1`; that is quick, and decides what a
program does at every step.
"""

from __future__ import annotations

from tinygpu.category.known import Known, over
from tinygpu.category.linear import ONE, Monomial, Polynomial, constant, plus, polynomial, scaled, times, without
from tinygpu.category.term import App, Const, Term, Var


def smallest(form: Polynomial, known: Known) -> int | None:
    """The smallest value of a polynomial over the box `0 ≤ x < extents[x]`, if that is a number; variables are at least 0.

    >>> smallest(polynomial(Var("n") - Var("i") - 1), Known.of({"i": Var("n")}))
    0
    """
    for _ in range(len(form) + 1):
        for monomial, c in form.items():
            if c < 0 and monomial:
                break
        else:
            return form.get((), 0) if all(_natural(atom, known) for m in form for atom in m) else None
        bound = _largest(monomial, known)
        if bound is None:
            return None
        form = plus(without(form, monomial), bound, c)
    return None


def at_corner(form: Polynomial, known: Known, inside: bool = False) -> bool:
    """Whether a form is at least 0 everywhere: by its smallest value, or because it exceeds a known one.

    `inside` of a term, where every step goes to smaller terms, it must exceed a known one by a number.

    >>> i, m, n = map(Var, "imn")
    >>> at_corner(polynomial(n - i), Known.of({}, frozenset({i < n})))
    True
    >>> at_corner(polynomial(n - i - 1), Known.of({"i": m}, frozenset({m <= n})))
    True
    >>> least = Known.of({}, frozenset({n >= 1}))
    >>> at_corner(polynomial(n - 1), least), at_corner(polynomial(n - 2), least), at_corner(polynomial(i - 1), least)
    (True, False, False)
    """
    low = smallest(form, known)
    if low is not None and low >= 0:
        return True
    if not known.forms:
        return False
    if inside:
        return min(form.values(), default=0) < 0 and any(over(form, fact) for fact in known.forms)
    below = {m for m, c in form.items() if c < 0}
    for name in [atom.name for m in below for atom in m if isinstance(atom, Var) and atom.name in known.extents]:
        below.update(m for m in polynomial(known.extents[name]) if m)
    stuck = _stuck(form, known) if low is None else ()
    # only a fact that is negative where the form is, or becomes as its axes end, can make up for it
    for fact, negative in zip(known.forms, known.negative, strict=True):
        if not below.isdisjoint(negative) and not _leaves(fact, stuck):
            low = smallest(plus(form, fact, -1), known)
            if low is not None and low >= 0:
                return True
    return False


def _stuck(form: Polynomial, known: Known) -> tuple[tuple[Monomial, int], ...]:
    """The monomials of a form up to the first negative one, if nothing bounds that: then no value is the smallest."""
    for number, (monomial, c) in enumerate(form.items()):
        if c < 0 and monomial:
            return tuple(form.items())[: number + 1] if _largest(monomial, known) is None else ()
    return ()


def _leaves(fact: Polynomial, stuck: tuple[tuple[Monomial, int], ...]) -> bool:
    """Whether of a form less a fact the same monomial is the first negative one."""
    if not stuck:
        return False
    *before, (last, least) = stuck
    return fact.get(last, 0) > least and all(fact.get(m, 0) <= c for m, c in before if m)


def _largest(monomial: Monomial, known: Known) -> Polynomial | None:
    """What a monomial is at most: as one of its factors is, where none is negative."""
    for place, atom in enumerate(monomial):
        most = _most(atom, known)
        if most is not None:
            if len(monomial) == 1:
                return most
            others = monomial[:place] + monomial[place + 1 :]
            return times(most, {others: 1}) if all(_natural(other, known) for other in others) else None
    return None


def _most(atom: Term, known: Known) -> Polynomial | None:
    """What an atom is at most, which what is known remembers."""
    if atom not in known.most:
        known.most[atom] = _end(atom, known)
    return known.most[atom]


def _end(atom: Term, known: Known) -> Polynomial | None:
    match atom:
        case Var(name) if name in known.extents:
            return plus(polynomial(known.extents[name]), ONE, -1)
        case App("mod", (_, n)) if _positive(n, known):
            return plus(polynomial(n), ONE, -1)
        case App("floordiv", (a, Const(int(n)))) if n > 0 and (most := smallest(scaled(polynomial(a), -1), known)) is not None:
            return constant(-most // n)
    return None


def _positive(term: Term, known: Known) -> bool:
    return at_corner(plus(polynomial(term), ONE, -1), known, inside=True)


def _natural(atom: Term, known: Known) -> bool:
    """Axes, sizes and their Euclidean quotients and remainders are not negative; anything else might be."""
    if isinstance(atom, Var):
        return True
    if atom not in known.natural:
        known.natural[atom] = _not_negative(atom, known)
    return known.natural[atom]


def _not_negative(atom: Term, known: Known) -> bool:
    match atom:
        case App("mod", (_, n)):
            return _positive(n, known)
        case App("floordiv" | "ceildiv", (a, n)):
            return _positive(n, known) and at_corner(polynomial(a), known, inside=True)
        case App("min" | "max", args):
            return all(at_corner(polynomial(a), known, inside=True) for a in args)
    return False
