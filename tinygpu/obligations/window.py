"""Steps of a prefix: the value of a thread and that of another one as a fold over the two.

    v(t) ⊕ (v(t − d) if t ≥ d else unit)           =   ⊕[e < 2 | t − e·d ≥ 0] v(t − e·d)
    v(t − d) ⊕ v(t) if t ≥ d else v(t)             =   ⊕[e < 2 | t − (1 − e)·d ≥ 0] v(t − (1 − e)·d)      in the order of t
    v(t) ⊕ (v(t + d) if t < n − d else unit)       =   ⊕[e < 2 | t + e·d < n] v(t + e·d)                  in the order of t

Comes in: a value, or a guarded accumulation, at a point. Goes out: the fold, or None where the form is another one. The one idea: after the steps
1, 2, 4, … a fold runs over the digits of a distance, so a scan is a fold over a window and no tree, whether lanes or shared cells hand it on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tinygpu.category.known import nonnegatives
from tinygpu.category.linear import as_written, polynomial
from tinygpu.category.monoid import as_monoid, of_op, unit_of
from tinygpu.category.region import Region
from tinygpu.category.settle import settle
from tinygpu.category.term import (
    INDEX,
    TRUE,
    App,
    Axis,
    Const,
    Fold,
    Term,
    Var,
    conjunction,
    conjuncts,
    memoised,
    negation,
    rebuild,
    select,
    substitute,
)
from tinygpu.obligations.made import known_as


def stepped(value: Term, point: Region) -> Term:
    """`v ⊕ w if t >= d else v` as a fold over two, whichever way round its choice is written, else the value."""
    forms = (_stepped(way, point) for way in (value, turned(value)))
    form = next((form for form in forms if form is not None), None)
    return value if form is None else known_as(form, value, point.names)


def shown(written: Term, value: Term, point: Region, resolve: Callable[[Term, Region], Term]) -> Term:
    """`stepped`, where the text says what a thread keeps that does not take the step, `v + w if t >= d else v`: there its value is no longer `v`."""
    for way in (written, turned(written)):
        match way:
            case App("select", (condition, App(op, (a, b)), alone)) if alone in (a, b):
                when = resolve(condition, point)
                other = resolve(b if alone == a else a, point.under(when))
                form = windowed(op, resolve(alone, point), when, other, point, ordered=alone == b)
                if form is not None:
                    return known_as(form, value, point.names)
    return stepped(value, point)


def turned(value: Term) -> Term:
    """The value with its choice, or that of its second operand, the other way round."""
    match value:
        case App("select", (condition, then, otherwise), dtype):
            return App("select", (negation(condition), otherwise, then), dtype)
        case App(op, (own, App("select") as choice), dtype):
            return App(op, (own, turned(choice)), dtype)
    return value


def _stepped(value: Term, point: Region) -> Term | None:
    match value:
        case App("select", (condition, App(op, (a, b)), own)) if here := {own, point.under(condition).settled(own)} & {a, b}:
            return windowed(op, own, condition, b if a in here else a, point, ordered=a not in here)
        case App(op, (own, App("select", (condition, other, Const() as unit)))) if unit == unit_of(op, own.dtype):
            return windowed(op, own, condition, other, point)
    return None


def prefixed(own: Term, value: Term, guard: Term, update: str, point: Region) -> Term | None:
    """A guarded update of a cell by the value of a thread before, or an assignment of it and the own one in order, as a fold over two."""
    form: Term | None = None
    match value:
        case _ if update:
            law, unit = as_monoid(update), as_monoid(update).unit(value.dtype)
            ways = (w.args for w in (value, turned(value)) if isinstance(w, App) and w.op == "select" and w.args[2] == unit)
            for condition, other in ((guard, value), *((conjunction(guard, when), other) for when, other, _ in ways)):
                form = form or windowed(law.op, own, condition, other, point)
            value = law.combine(own, value)
        case App(op, (other, last)) if last == point.under(guard).settled(own):
            form = windowed(op, own, guard, other, point, ordered=True)
    return None if form is None else known_as(form, select(guard, value, own), point.names)


def all_step(own: Callable[[Region], Term], value: Term, guard: Term, update: str, point: Region) -> tuple[Region, Term] | None:
    """Where all threads are that take a step of a scan or keep what is their `own`, and what each of them holds then."""
    last = Region(point.axes, point.guard[:-1])
    for here, condition in ((point, guard), (last, conjunction(*point.guard[-1:], guard))):
        if update and (both := prefixed(own(here), value, condition, update, here)) is not None:
            return here, both
    return None


@memoised
def straight(term: Term) -> Term:
    """The term with its sums of indices in one form.

    >>> a, b = Var("a"), Var("b")
    >>> straight(a * 8 + (b - 1)) == straight(a * 8 + b - 1)
    True
    """
    if isinstance(term, App) and term.op in ("add", "sub") and term.dtype == INDEX:
        return as_written(polynomial(term))
    return rebuild(term, straight)


def windowed(op: str, own: Term, condition: Term, other: Term, point: Region, ordered: bool = False) -> Term | None:
    """`own ⊕ (other if condition)` as a fold over two, where `other` is `own` of an axis's point before, or after.

    `ordered`: it is `other ⊕ own`, so that `other` comes first. Where the monoid does not commute, the first one is the earlier point.
    """
    monoid = of_op(op)
    extents, parts = point.extents, conjuncts(condition)
    other = other.body if isinstance(other, Fold) and not other.axes and other.guard == TRUE else other
    given = frozenset((*point.guard, *parts))
    for part in parts:
        name, move = shift(part, extents)
        if monoid is None or not move or not (monoid.commutative or ordered == (move < 0)):
            continue
        there = settle(substitute(own, {name: Var(name) + move}), extents, given)
        if straight(there) != straight(settle(other, extents, given)):
            continue
        e = Var(f"{name}{'+' if move > 0 else '-'}{abs(move)}")
        place, alone = (Var(name) + move - e * move, e >= 1) if ordered else (Var(name) + e * move, e < 1)
        inside = place >= 0 if move < 0 else place < extents[name]
        rest = [App("or", (alone, c), "bool") for c in parts if c != part]
        body = substitute(own, {name: place})
        return Fold(monoid, (Axis(e.name, Const(2), "block"),), conjunction(inside, *rest), body, own.dtype)
    return None


def shift(part: Term, extents: Mapping[str, Term]) -> tuple[str, int]:
    """The axis, and how far along it a point lies that there is just where a condition holds; 0 where it says no such thing.

    >>> t, extents = Var("t"), {"t": Const(32)}
    >>> shift(t >= 8, extents), shift(t < 24, extents), shift(App("not", (t - 7 < 1,), "bool"), extents)
    (('t', -8), ('t', 8), ('t', -8))
    """
    forms = nonnegatives(part)
    axes = [(atom.name, c) for m, c in forms[0].items() for atom in m if isinstance(atom, Var)] if len(forms) == 1 else []
    name, way = axes[0] if len(axes) == 1 else ("", 0)
    if name not in extents or not all(m in ((), (Var(name),)) for m in forms[0]):
        return "", 0
    beyond, whole = forms[0].get((), 0), extents[name]
    if way == 1 and beyond < 0:
        return name, beyond
    if way == -1 and isinstance(whole, Const) and whole.value > beyond + 1 > 0:
        return name, int(whole.value) - beyond - 1
    return "", 0
