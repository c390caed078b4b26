"""Folds whose order counts: a value is the equation's fold if its terms are that fold's terms, in that order.

    p(d) < q(e)  ⊢  φ(d) < ψ(e)          for all terms d, e of all pieces, at the positions p, q, with the arrows φ, ψ into the equation's fold

Comes in: the pieces of a value, each with its arrow. Goes out: whether they are in order, with the claims that say so. The one idea: a
position is where a term stands in the value (the turns around it, and which operand it is in), so an arrow that keeps the order puts every
operand of every combine into an interval of its own, left of the next; `folds` shows that no term is missing between them.
"""

from __future__ import annotations

from typing import TypeAlias

from tinygpu.replay.ir import Env, Fold, Num, Term, Var, both, compare, either, put
from tinygpu.replay.judge import Judge, Place

# Binders, and numbers of operands, from the outside in: all pieces of a value agree up to where they part.
Position: TypeAlias = tuple[Term, ...]
Part: TypeAlias = tuple[Fold, Env, Position]  # a piece, its arrow, where it stands


def in_order(parts: list[Part], target: Fold, place: Place, judge: Judge) -> bool:
    """Whether all terms come in the order of the target."""
    kind = judge.kind, judge.code, judge.sentence
    judge.about("fold", "TG508", f"{target.monoid} combines its parts in order; {judge.sentence}")
    found = all(before(one, two, target, place, judge) for n, one in enumerate(parts) for two in parts[n:])
    judge.kind, judge.code, judge.sentence = kind
    return found


def before(one: Part, two: Part, target: Fold, place: Place, judge: Judge) -> bool:
    """Whether of any two terms, of two pieces or of one, the one that stands first is first in the target."""
    (first, here, at), (second, there, other) = one, renamed(two, judge)
    both_places = place.inside(*first.binders, *second.binders).under(first.guard, second.guard)
    sides = ((at, here, other, there), (other, there, at, here))
    for p, from_p, q, from_q in sides[:1] if one is two else sides:
        for level in range(min(len(p), len(q))):
            outer = both(*(compare("eq", a, b) for a, b in zip(p[:level], q[:level], strict=True)))
            stands = both(outer, compare("lt", p[level], q[level]))
            if not judge.decide(both_places.under(stands), smaller(from_p, from_q, target)):
                return False
            if isinstance(p[level], Num) and p[level] != q[level]:
                break
    return True


def renamed(part: Part, judge: Judge) -> Part:
    """The same piece at another term."""
    fold, arrow, position = part
    other = judge.names.apart(fold)
    env: Env = {a.name: Var(b.name) for a, b in zip(fold.binders, other.binders, strict=True)}
    return other, {k: put(t, env) for k, t in arrow.items()}, tuple(put(t, env) for t in position)


def smaller(one: Env, two: Env, target: Fold) -> Term:
    """That a term of the target comes before another one: the first binder in which they differ says so."""
    names = [b.name for b in target.binders]
    ways = []
    for level, name in enumerate(names):
        outer = (compare("eq", one[n], two[n]) for n in names[:level])
        ways.append(both(*outer, compare("lt", one[name], two[name])))
    return either(*ways)
