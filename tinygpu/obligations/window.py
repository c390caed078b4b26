"""Steps of a prefix: the value of a thread and that of one before it, where there is one, as a fold over the two.

    v(t) ⊕ (v(t − d) if t ≥ d else unit)   =   ⊕[e < 2 | t − e·d ≥ 0] v(t − e·d)

    v(t − d) ⊕ v(t) if t ≥ d else v(t)             =   ⊕[e < 2 | t − (1 − e)·d ≥ 0] v(t − (1 − e)·d)      in the order of t
    v(t) ⊕ (v(t + d) if t < n − d else unit)       =   ⊕[e < 2 | t + e·d < n] v(t + e·d)                  in the order of t

Comes in: a resolved value, or a guarded accumulation. Goes out: the fold, or None where the form is another one. The one idea: after the
steps 1, 2, 4, … the fold runs over the digits of a distance, so a scan is a fold over a window and not a tree of all its terms.
"""

from __future__ import annotations

from collections.abc import Mapping

from tinygpu.category.linear import as_written, polynomial
from tinygpu.category.monoid import as_monoid, of_op, unit_of
from tinygpu.category.region import Region
from tinygpu.category.settle import settle
from tinygpu.category.term import INDEX, App, Axis, Const, Fold, Term, Var, conjunction, conjuncts, rebuild, select, substitute
from tinygpu.obligations.made import known_as


def stepped(value: Term, point: Region) -> Term:
    """`v ⊕ w if t >= d else v` as a fold over two, else the value."""
    form = _stepped(value, point)
    return value if form is None else known_as(form, value, point.names)


def prefixed(own: Term, value: Term, guard: Term, update: str, point: Region) -> Term | None:
    """A guarded update of a cell by the value of a thread before, or an assignment of it and the own one in order, as a fold over two."""
    form: Term | None = None
    match value:
        case _ if update:
            form, value = windowed(as_monoid(update).op, own, guard, value, point), as_monoid(update).combine(own, value)
        case App(op, (other, last)) if last == point.under(guard).settled(own):
            form = windowed(op, own, guard, other, point, ordered=True)
    return None if form is None else known_as(form, select(guard, value, own), point.names)


def _stepped(value: Term, point: Region) -> Term | None:
    match value:
        case App("select", (condition, App(op, (own, other)), alone)) if own == alone:
            return windowed(op, own, condition, other, point)
        case App("select", (condition, App(op, (other, own)), alone)) if own == alone:
            return windowed(op, own, condition, other, point, ordered=True)
        case App(op, (own, App("select", (condition, other, Const() as unit)))) if unit == unit_of(op, own.dtype):
            return windowed(op, own, condition, other, point)
    return None


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
    given = frozenset((*point.guard, *parts))
    for part in parts:
        name, move = moved(part, extents)
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


def moved(part: Term, extents: Mapping[str, Term]) -> tuple[str, int]:
    """The axis, and how far along it a point lies that there is just where a condition holds; 0 where it says no such thing.

    >>> t, extents = Var("t"), {"t": Const(32)}
    >>> moved(t >= 8, extents), moved(t < 24, extents)
    (('t', -8), ('t', 8))
    """
    match part:
        case App("ge", (Var(name), Const(int(d)))) | App("le", (Const(int(d)), Var(name))) if name in extents and d > 0:
            return name, -d
        case App("lt", (Var(name), Const(int(end)))) if isinstance(whole := extents.get(name), Const) and whole.value > end:
            return name, int(whole.value) - end
    return "", 0
