"""Binders that a guard fixes: `⊕{ b(c, u) | u = e(c), 0 ≤ u < n }` is `⊕{ b(c, e(c)) | 0 ≤ e(c) < n }`.

Comes in: a fold. Goes out: an equal fold with fewer binders. The one idea: the pairs (c, e(c)) are as many as the c.
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygpu.replay.ir import INDEX, Axis, Fold, Op, Term, Var, both, conjuncts, free, put, within
from tinygpu.replay.judge import Judge, Place
from tinygpu.replay.polynomials import back, plus, polynomial


def narrowed(fold: Fold, place: Place, judge: Judge) -> Fold:
    """A fold without the binders that its guard fixes: `{ (c, u) | u = e(c) }` is `{ c }` with e(c) for u."""
    bound = {b.name: b for b in fold.binders}
    needed = frozenset().union(*(free(b.extent) for b in fold.binders))
    for guard in conjuncts(fold.guard):
        match guard:
            case Op("eq", (a, b)) if a.dtype == INDEX:
                for name, term in ((a, b), (b, a), *solved(a, b, set(bound))):
                    if not isinstance(name, Var) or name.name not in bound or name.name in needed:
                        continue
                    if not free(term) & later(fold, name.name, judge):
                        return without(fold, bound[name.name], term, place, judge)
    return fold


def later(fold: Fold, name: str, judge: Judge) -> set[str]:
    """What may not fix a binder: itself, and where the order counts what comes after it."""
    names = [b.name for b in fold.binders]
    return set(names[names.index(name) :]) if judge.ordered(fold.monoid) else {name}


def solved(a: Term, b: Term, names: set[str]) -> Iterator[tuple[Term, Term]]:
    """`a = b` solved for a binder that stands in it with the factor 1 or -1, and is the only one that stands there as it is.

    Where several do, they are digits of one number, which `inverse` sees if none is put in.
    """
    difference = plus(polynomial(a), polynomial(b), -1)
    plain = [m for m in difference if len(m) == 1 and isinstance(m[0], Var) and m[0].name in names]
    if len(plain) == 1 and abs(difference[plain[0]]) == 1:
        rest = {m: f for m, f in difference.items() if m != plain[0]}
        yield plain[0][0], back(plus({}, rest, -difference[plain[0]]))


def without(fold: Fold, binder: Axis, term: Term, place: Place, judge: Judge) -> Fold:
    """The fold with one binder put in."""
    env = {binder.name: term}
    rest = tuple(x for x in fold.binders if x is not binder)
    inner = place.inside(*rest)
    guard = judge.simplify(inner, both(within(term, binder.extent), put(fold.guard, env)))
    body = judge.simplify(inner.under(guard), put(fold.body, env))
    return narrowed(Fold(fold.monoid, rest, guard, body, fold.dtype), place, judge)
