"""Binders that a guard fixes: `⊕{ b(c, u) | u = e(c), 0 ≤ u < n }` is `⊕{ b(c, e(c)) | 0 ≤ e(c) < n }`.

Comes in: a fold. Goes out: an equal fold with fewer binders. The one idea: the pairs (c, e(c)) are as many as the c.
"""

from __future__ import annotations

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
                difference = plus(polynomial(a), polynomial(b), -1)
                for monomial, factor in difference.items():
                    rest = {m: f for m, f in difference.items() if m != monomial}
                    match monomial:
                        case (Var(name),) if name in bound and abs(factor) == 1:
                            term = back(plus({}, rest, -factor))
                            if name not in free(term) | needed:
                                return without(fold, bound[name], term, place, judge)
    return fold


def without(fold: Fold, binder: Axis, term: Term, place: Place, judge: Judge) -> Fold:
    """The fold with one binder put in."""
    env = {binder.name: term}
    rest = tuple(x for x in fold.binders if x is not binder)
    inner = place.inside(*rest)
    guard = judge.simplify(inner, both(within(term, binder.extent), put(fold.guard, env)))
    body = judge.simplify(inner.under(guard), put(fold.body, env))
    return narrowed(Fold(fold.monoid, rest, guard, body, fold.dtype), place, judge)
