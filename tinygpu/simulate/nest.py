"""Which loops the simulator runs at once: nests around one assignment whose iterations do not depend on each other.

Comes in: a loop, and the state of a run. Goes out: its axes and the one assignment, and the points at which that is run, or None. The one idea:
if no iteration reads what another writes and all write distinct cells, their order does not matter, and they may be done in one step.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TypeAlias

import numpy as np

from tinygpu.category.number import Array, Value
from tinygpu.category.term import App, Axis, Const, Read, Term, conjunction, reads, variables, walk
from tinygpu.category.to_numpy import evaluate
from tinygpu.program.step import Assign, For, If, Step
from tinygpu.program.traverse import reads_of
from tinygpu.record import dataclass, replace
from tinygpu.simulate.box import flat
from tinygpu.simulate.memory import Memory

WIDE = 1 << 21  # points of one vectorised nest


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
    if any(read.tensor == inner.target for read in (*reads_of(inner), *(r for g in guards for r in reads(g)))):
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


Turns: TypeAlias = tuple[dict[str, Value], dict[str, int]]


def at_once(nest: Nest, target: Memory, box: tuple[int, ...], mask: Array, env: Mapping[str, Value]) -> Turns | None:
    """The axes of a nest as arrays over all points of its box, where they may be taken together, and the extents of those that are gone through in order:
    not too many points, and of cells of a thread, or of those that are updated, different ones in all lanes that are there."""
    named, assign = frozenset[str]().union(*map(variables, nest.assign.index)), nest.assign
    shared = target.space.owner != "thread"
    turned = [shared and bool(assign.update) and not assign.atomic and axis.name not in named for axis in nest.axes]
    inside = tuple(n for n, alone in zip(box, turned, strict=True) if not alone)
    if mask.size * math.prod(inside) > WIDE or not inside:
        return None
    names = [axis.name for axis, alone in zip(nest.axes, turned, strict=True) if not alone]
    loops = {
        name: np.arange(n).reshape((-1,) + (1,) * (len(inside) - k)) for k, (name, n) in enumerate(zip(names, inside, strict=True))
    }
    turns = {axis.name: n for axis, n, alone in zip(nest.axes, box, turned, strict=True) if alone}
    if shared and (assign.atomic or not assign.update):
        return loops, turns
    there = mask if shared else np.ones(1, np.bool_)
    return (loops, turns) if _distinct(assign.index, {**env, **loops}, target, inside, there) else None


def _distinct(index: tuple[Term, ...], env: Mapping[str, Value], target: Memory, box: tuple[int, ...], mask: Array) -> bool:
    """Whether the iterations write different cells that exist: of a thread the same ones in every lane, else also those of two lanes that are there."""
    if any(map(reads, index)):
        return False
    values = tuple(evaluate(i, env) for i in index)
    cells = flat(values, target.extents) + target.offset
    if any(np.ndim(v) and np.shape(v)[-1] not in (1, mask.size) for v in (*values, cells)):
        return False

    def there(value: Value) -> Array:
        return np.broadcast_to(value, (*box, mask.size))[..., mask]

    if any((i < 0).any() or (i >= n).any() for i, n in zip(map(there, values), target.extents, strict=True)):
        return False
    return len(np.unique(there(cells))) == math.prod(box) * int(mask.sum())
