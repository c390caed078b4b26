"""Which loops the simulator may run at once: nests around one assignment whose iterations do not depend on each other.

Comes in: a loop. Goes out: its axes and the one assignment, or None. The one idea: if no iteration reads what another writes and
all write distinct cells, their order does not matter, and they may be done in one step.
"""

from __future__ import annotations

from tinygpu.category.term import App, Axis, Const, Read, Term, conjunction, reads, variables, walk
from tinygpu.program.step import Assign, For, If, Step
from tinygpu.record import dataclass, replace


@dataclass(frozen=True, slots=True)
class Nest:
    """The axes, outermost first, the assignment with the guards between them, and the assignment as it stands in the program."""

    axes: tuple[Axis, ...]
    assign: Assign
    origin: Assign


def find_nest(step: For) -> Nest | None:
    """The nest that the loop opens, if it has this form; an output is stored plainly, a local is not read by the iterations."""
    axes: list[Axis] = []
    guards: list[Term] = []
    inner: Step = step
    while isinstance(inner, For | If):
        if isinstance(inner, For):
            if variables(inner.axis.extent) & {a.name for a in axes} or (axes and not _plain(inner.axis.extent)):
                return None
            axes.append(inner.axis)
        else:
            guards.append(inner.guard)
        if len(inner.body) != 1:
            return None
        inner = inner.body[0]
    if not isinstance(inner, Assign):
        return None
    touched: tuple[Read, ...] = sum((reads(t) for t in (*guards, inner.guard, inner.value, *inner.index)), ())
    if any(read.tensor == inner.target for read in touched):
        return None
    return Nest(tuple(axes), replace(inner, guard=conjunction(*guards, inner.guard)), inner)


def _plain(extent: Term) -> bool:
    """Whether an extent may be evaluated before the loops and guards around it: it reads nothing and divides by constants only."""
    for node in walk(extent):
        match node:
            case Read():
                return False
            case App("floordiv" | "mod" | "ceildiv", (_, divisor)) if not isinstance(divisor, Const):
                return False
    return True
