"""Steps of a prefix: the value of a thread and that of one before it, where there is one, as a fold over the two.

    v(t) ⊕ (v(t − d) if t ≥ d else unit)   =   ⊕[e < 2 | t − e·d ≥ 0] v(t − e·d)

Comes in: a resolved value, or a guarded accumulation. Goes out: the fold, or None where the form is another one. The one idea: after the
steps 1, 2, 4, … the fold runs over the digits of a distance, so a scan is a fold over a window and not a tree of all its terms.
"""

from __future__ import annotations

from tinygpu.category.monoid import MONOIDS
from tinygpu.category.settle import settle
from tinygpu.category.term import App, Axis, Const, Fold, Term, Var, conjunction, conjuncts, substitute
from tinygpu.obligations.obligation import Point


def stepped(value: Term, point: Point) -> Term | None:
    """`v ⊕ w if t >= d else v` as a fold over two."""
    match value:
        case App("select", (condition, App(op, (own, other)), alone)) if own == alone:
            return windowed(op, own, condition, other, point)
        case App(op, (own, App("select", (condition, other, Const() as unit)))) if unit in units(op, own.dtype):
            return windowed(op, own, condition, other, point)
    return None


def units(op: str, dtype: str) -> tuple[Term | None, ...]:
    """The unit of the monoid with that operation."""
    return tuple(m.unit(dtype) for m in MONOIDS.values() if m.op == op)


def windowed(op: str, own: Term, condition: Term, other: Term, point: Point) -> Term | None:
    """`own ⊕ (other if condition)` as a fold over two, where `other` is `own` of an axis's point `d` before."""
    monoid = next((m for m in MONOIDS.values() if m.op == op), None)
    extents = point.extents
    for part in conjuncts(condition):
        match part:
            case App("ge", (Var(name), Const(int(d)))) | App("le", (Const(int(d)), Var(name))) if (
                monoid is not None and monoid.commutative and d > 0
            ):
                given = frozenset((*point.guard, *conjuncts(condition)))
                before = settle(substitute(own, {name: Var(name) - d}), extents, given)
                if name not in extents or before != settle(other, extents, given):
                    continue
                e = Var(f"{name}-{d}")
                there = Var(name) - e * d
                rest = [App("or", (e < 1, c), "bool") for c in conjuncts(condition) if c != part]
                return Fold(
                    monoid.name,
                    (Axis(e.name, Const(2), "block"),),
                    conjunction(there >= 0, *rest),
                    substitute(own, {name: there}),
                    own.dtype,
                )
    return None
