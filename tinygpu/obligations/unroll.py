"""Bodies of loops as they stand: what they assign, and one iteration of them by its number.

Comes in: steps. Goes out: names, or the steps with a number for the loop's axis. The one idea: a loop over a few numbers that has no
closed form is a sequence of its iterations.
"""

from __future__ import annotations

from tinygpu.category.term import Axis, Const, substitute
from tinygpu.program.step import Assign, Barrier, For, Holds, If, Local, Shared, Step
from tinygpu.record import replace


def assigned_in(body: tuple[Step, ...]) -> set[str]:
    """The arrays that a body writes or declares facts of."""
    out: set[str] = set()
    for step in body:
        match step:
            case Assign(target) | Holds(target):
                out.add(target)
            case For(_, inner) | If(_, inner):
                out |= assigned_in(inner)
    return out


def bound(step: Step, name: str, value: int) -> Step:
    """A step of an unrolled loop: its axis replaced by a number. All that the loop reads is still read: `x[index(z[i]) * 0]` reads z."""
    put = {name: Const(value)}
    match step:
        case Assign(_, index, term, _, guard):
            index = tuple(substitute(i, put, written=True) for i in index)
            return replace(step, index=index, value=substitute(term, put, written=True), guard=substitute(guard, put, written=True))
        case For(axis, inner, span):
            axis = Axis(axis.name, substitute(axis.extent, put, written=True), axis.sort, axis.span)
            return For(axis, tuple(bound(s, name, value) for s in inner), span)
        case If(guard, inner, span):
            return If(substitute(guard, put, written=True), tuple(bound(s, name, value) for s in inner), span)
        case Holds(target, index, term, span):
            return Holds(target, tuple(substitute(i, put, written=True) for i in index), substitute(term, put, written=True), span)
        case Local() | Shared() | Barrier():
            return step
