"""Where loops and ranges end: a loop that does nothing from somewhere on ends there, and what a point is below is at least 1.

    for x < n { if x < e { … } }   =   for x < e { … }     where 0 <= e <= n          0 <= x < min(m, n)   ⊢   m >= 1, n >= 1

Comes in: a loop with its body, or a point. Goes out: an axis, or terms. The one idea: an end that is a term over workers is an extent as any other.
"""

from __future__ import annotations

from tinygpu.category.region import Region
from tinygpu.category.term import TRUE, App, Axis, Const, Term, Var, conjunction, conjuncts, variables, whole
from tinygpu.program.step import If, Launch, Step
from tinygpu.record import replace


def cut_short(launch: Launch, axis: Axis, body: tuple[Step, ...], point: Region) -> Axis:
    """The axis of a loop as far as it does something: `for x < n { if x < e { … } }` ends at `e`, where that is one end for all of a block, and none beyond `n`.

    >>> x, axes, body = Axis("x", Var("N")), (Axis("e", Var("N") + 1),), (If(Var("x") < Var("e"), ()),)
    >>> cut_short(Launch(axes, (), ()), x, body, Region(axes)).extent, cut_short(Launch((), axes, ()), x, body, Region(axes)).extent
    (Var(name='e', dtype='index'), Var(name='N', dtype='index'))
    """
    inside = {a.name for a in point.axes} - {a.name for a in launch.grid}
    match body:
        case (If(guard),):  # what stands behind the end in its condition is not looked at beyond it
            match conjuncts(guard)[:1]:
                case (App("lt", (Var(axis.name), end)),) if whole(end) and variables(end).isdisjoint({*inside, axis.name}):
                    if point.settled(conjunction(end >= 0, end <= axis.extent)) == TRUE:
                        return replace(axis, extent=end)
    return axis


def ends_of(point: Region) -> tuple[Term, ...]:
    """What the axes of a point are below, so that it is at least 1: there is a point.

    >>> from tinygpu.category.term import Axis, apply
    >>> k, m, n = map(Var, "kmn")
    >>> ends_of(Region((Axis("k", n),), (k < apply("min", m, n),))) == (n, m)
    True
    """
    names = {a.name for a in point.axes}
    said = (
        g.args[1]
        for g in point.guard
        if isinstance(g, App) and g.op == "lt" and isinstance(g.args[0], Var) and g.args[0].name in names
    )
    every = (end for e in (*(a.extent for a in point.axes), *said) for end in smallest(e))
    return tuple(end for end in dict.fromkeys(every) if not isinstance(end, Const))


def smallest(end: Term) -> tuple[Term, ...]:
    """The operands of a minimum."""
    return tuple(one for a in end.args for one in smallest(a)) if isinstance(end, App) and end.op == "min" else (end,)
