"""Two binders that are the digits of one number become that number, which is what makes an interval of many parts.

    ⊕{ b(s·u + w) | u < n, w < s, g(u, w) }  =  ⊕{ b(j) | j < n·s, h(j) }                      g(u, w)  ⊣⊢  h(s·u + w)

Comes in: a fold, as the steps of a tree or the turns of a loop made it. Goes out: an equal fold with fewer binders, in the same order. The one
idea: (u, w) ↦ s·u + w is one-to-one and keeps the order, so what has to be claimed is that the guards say the same.
"""

from __future__ import annotations

from itertools import pairwise, permutations

from tinygpu.record import replace
from tinygpu.replay.ir import INDEX, ONE, ZERO, Axis, Fold, Num, Op, Term, Var, both, compare, conjuncts, free, put
from tinygpu.replay.judge import Judge, Place
from tinygpu.replay.monoids import unit
from tinygpu.replay.polynomials import back, opposite, plus, polynomial

MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}  # the comparison seen from the other side


def merged(fold: Fold, place: Place, judge: Judge) -> Fold:
    """The fold with every two binders merged that can be."""
    fold = flat(fold, judge)
    ordered = judge.ordered(fold.monoid)
    while True:
        pairs = pairwise(fold.binders) if ordered else permutations(fold.binders, 2)
        found = (joined(fold, slow, fast, place, judge) for slow, fast in pairs if digits(fold, slow, fast))
        fewer = next((f for f in found if f is not None), None)
        if fewer is None:
            return fold
        fold = fewer


def flat(fold: Fold, judge: Judge) -> Fold:
    """A fold of a fold as one, without units: a choice between a value and the unit is a guard."""
    neutral = unit(fold.monoid, fold.dtype, judge.machine.monoids)
    match fold.body:
        case Fold(monoid, binders, guard, body) if monoid == fold.monoid:
            return flat(replace(fold, binders=fold.binders + binders, guard=both(fold.guard, guard), body=body), judge)
        case Op(op, (a, b)) if op == f"join.{fold.monoid}" and neutral in (a, b):
            return flat(replace(fold, body=b if a == neutral else a), judge)
        case Op("select", (condition, a, b)) if b == neutral:
            return flat(replace(fold, guard=both(fold.guard, condition), body=a), judge)
        case Op("select", (condition, a, b)) if a == neutral:
            return flat(replace(fold, guard=both(fold.guard, opposite(condition)), body=b), judge)
    return fold


def digits(fold: Fold, slow: Axis, fast: Axis) -> bool:
    """Whether two binders may be digits: both are spoken of, and no extent depends on a binder."""
    names = {b.name for b in fold.binders}
    return {slow.name, fast.name} <= free(fold.body) and not any(free(b.extent) & names for b in fold.binders)


def joined(fold: Fold, slow: Axis, fast: Axis, place: Place, judge: Judge) -> Fold | None:
    """The fold with one number for two binders; None where the body or the guard speaks of one of them alone."""
    name, size = judge.names.fresh(slow.name), fast.extent
    number = Axis(name, judge.simplify(place, times(slow.extent, size)))
    others = tuple(b for b in fold.binders if b is not fast)
    inner = place.inside(*others, number)
    whole = Op("add", (times(size, Var(slow.name)), Var(fast.name)), INDEX)  # what the number is
    rest = {fast.name: Op("sub", (Var(name), times(size, Var(slow.name))), INDEX)}
    body = judge.simplify(inner, put(fold.body, rest))
    if slow.name in free(body):
        return None
    mark, around = judge.mark(), place.inside(*fold.binders)
    kept: dict[Term, Term] = {}
    for part in conjuncts(fold.guard):
        same = beside(judge.simplify(inner, put(part, rest)), Var(name))
        if slow.name not in free(same):
            kept[part] = same
        elif (instead := of_number(part, slow, fast, Var(name))) is not None:
            said = put(instead, {name: whole})
            if judge.decide(around.under(part), said) and judge.decide(around.under(said), part):
                kept[part] = beside(judge.simplify(inner, instead), Var(name))
    known = around.under(*kept)
    sizes = both(*(compare("ge", e, ZERO) for e in (slow.extent, size)))
    if judge.decide(place, sizes) and all(judge.decide(known, part) for part in conjuncts(fold.guard) if part not in kept):
        binders = tuple(number if b is slow else b for b in others)
        return replace(fold, binders=binders, guard=both(*kept.values()), body=body)
    judge.back(mark)
    return None


def beside(part: Term, number: Var) -> Term:
    """A comparison of indices with a number alone on its left, so that what stands on both sides is gone.

    >>> u, j = Var("u"), Var("j")
    >>> beside(compare("lt", Op("sub", (j, u), INDEX), Op("sub", (Num(7), u), INDEX)), j) == compare("lt", j, Num(7))
    True
    """
    match part:
        case Op("lt" | "le" | "gt" | "ge" as op, (a, b)) if a.dtype == INDEX == b.dtype:
            poly = plus(polynomial(a), polynomial(b), -1)
            factor = poly.get((number,), 0)
            if abs(factor) == 1:
                rest = back(plus({}, {m: f for m, f in poly.items() if m != (number,)}, -factor))
                return compare(op if factor > 0 else MIRRORED[op], number, rest)
    return part


def of_number(part: Term, slow: Axis, fast: Axis, number: Term) -> Term | None:
    """`u < e` as `j < s·e`, `u ≥ e` as `j ≥ s·e`; None where a condition has another form.

    >>> u, w = Axis("u", Num(8)), Axis("w", Num(4))
    >>> of_number(compare("lt", Var("u"), Var("t")), u, w, Var("j")) == compare("lt", Var("j"), times(Num(4), Var("t")))
    True
    """
    match part:
        case Op(op, (a, b)) if op in MIRRORED and a.dtype == INDEX == b.dtype:
            poly = plus(polynomial(a), polynomial(b), -1)
        case _:
            return None
    factor = poly.get((Var(slow.name),), 0)
    bound = back(plus({}, {m: f for m, f in poly.items() if m != (Var(slow.name),)}, -factor))
    if abs(factor) != 1 or free(bound) & {slow.name, fast.name}:
        return None
    if factor < 0:  # e ≥ u for u ≤ e
        op = MIRRORED[op]
    if op in ("le", "gt"):  # of integers
        op, bound = {"le": "lt", "gt": "ge"}[op], back(plus(polynomial(bound), {(): 1}))
    return compare(op, number, times(fast.extent, bound))


def times(a: Term, b: Term) -> Term:
    """The product of two indices."""
    if isinstance(a, Num) and isinstance(b, Num):
        return Num(int(a.value) * int(b.value))
    return b if a == ONE else a if b == ONE else Op("mul", (a, b), INDEX)
