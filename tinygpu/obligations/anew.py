"""Cells that each turn of a loop makes anew: before a turn is there what the turn before has made, whatever was there before the loop.

    v(x)                              →  v(x − 1) if x > 0 else old            v(x − 1) where v(−1) is old
    v(x) if x + 1 < n else …          →  the same before each turn, since all turns but the last make v

Comes in: the value of a cell at the end of a turn, and before the loop. Goes out: its value before a turn, and after the loop. The one idea: a state is a
function of its time, so one that is held from the beginning needs no case for it; and where cells are made of each other, those that are told by
their turns alone break the circle.
"""

from __future__ import annotations

from collections.abc import Iterable, Set

from tinygpu.category.region import Region
from tinygpu.category.term import TRUE, App, Axis, Const, Term, Var, select, substitute, tensors, variables
from tinygpu.obligations.made import is_made, made, moved, number_of, single, value_of


def before(axis: Axis, value: Term, old: Term) -> Term:
    """What is there before a turn, where each makes a new value.

    >>> from tinygpu.category.term import Read, text
    >>> x, t = Axis("t", Var("n")), Var("t")
    >>> text(before(x, Read("s", (t + 1,), "f32"), Read("s", (Const(0),), "f32")))
    's[t]'
    """
    return _left(axis, value, old, Var(axis.name), _within(axis))


def after(axis: Axis, value: Term, old: Term) -> Term:
    """What is there after the loop, also if it has no turn."""
    return _left(axis, value, old, axis.extent, Region(()))


def _within(axis: Axis) -> Region:
    """Inside of the loop, which then has a turn."""
    return Region((axis,), (axis.extent > 0,))


def _left(axis: Axis, value: Term, old: Term, now: Term, there: Region) -> Term:
    first, last, start = (there.settled(t) for t in (moved(value, axis.name, Const(-1)), moved(value, axis.name, now - 1), old))
    if value_of(first) != value_of(start) or not all(single(t) or is_made(t) for t in (last, start)):
        return select(now > 0, moved(value, axis.name, now - 1), old)
    return last if single(last) and single(start) else made(value_of(last), select(now > 0, number_of(last), number_of(start)))


def partly(axis: Axis, value: Term, old: Term, previous: Set[str], unknown: tuple[Term, Term]) -> tuple[Term, Term]:
    """What is there before a turn, and after the loop, in the cells of which a condition that no turn changes says that each turn makes them anew, of nothing
    that is `previous`; of the others that is `unknown`.

    >>> from tinygpu.category.term import Read, text
    >>> t, s = Axis("t", Var("n")), Read("s", (Var("i"),), "f32")
    >>> value = select(Var("i") < 8, Read("x", (Var("t") + 1,), "f32"), s)
    >>> [text(form) for form in partly(t, value, Read("x", (Const(0),), "f32"), {"s"}, (s, s))]
    ['x[t] if i < 8 else s[i]', 'x[n] if i < 8 else s[i]']
    """
    match value:
        case App("select", (condition, new, _)) if axis.name not in variables(condition) and previous.isdisjoint(
            tensors(condition)
        ):
            made = (before(axis, new, old), after(axis, new, old))
            first, last = made if previous.isdisjoint(tensors(new)) else partly(axis, new, old, previous, unknown)
            return select(condition, first, unknown[0]), select(condition, last, unknown[1])
    return unknown


def renewed(axis: Axis, value: Term, old: Term, previous: Iterable[str]) -> Term | None:
    """What is there before a turn, where all turns but the last make a value of nothing that is `previous`, as where `x + 1 < n` guards it."""
    match value:
        case App("select", (condition, new, App() as rest)) if not tensors(rest).isdisjoint(names := frozenset(previous)):
            later = Region((axis,), (Var(axis.name) > 0,)).settled(substitute(condition, {axis.name: Var(axis.name) - 1}))
            if later == TRUE and names.isdisjoint(tensors(condition) | tensors(new)):
                return before(axis, new, old)
    return None
