"""Points that read along one axis and write along another: square tiles, turned in a small array.

    y[j, i] = x[i, j]   ↦   for i, j in a square: t[i, j] = x[i, j];   for j, i in it: y[j, i] = t[i, j]

Comes in: a nest. Goes out: a launch over squares, or None where the nest is of another kind. The one idea: what lies side by side along the
other axis is first copied as it lies; so both memories are walked in runs, and the walk across is done in the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod

from tinygpu.category.term import TRUE, App, Axis, Const, Read, Term, Var, ceildiv, conjunction, exchange, substitute, variables
from tinygpu.model.op import Op
from tinygpu.program.space import LOCAL
from tinygpu.program.step import Array, Assign, For, If, Launch, Step
from tinygpu.program.traverse import map_terms
from tinygpu.record import dataclass
from tinygpu.schedule.nest import BACKWARDS, SIDE_BY_SIDE, Nest, Shapes, known_turns, memory_reads, pace, sites

SIDE = 64
CELLS = 1 << 17  # of a square that a core keeps


@dataclass(frozen=True, slots=True)
class Turn:
    """The axis along which is written, the one along which is read, and what is read."""

    lane: Axis
    across: Axis
    reads: tuple[Read, ...]


def turn_of(nest: Nest, shapes: Shapes) -> Turn | None:
    """The reads that are contiguous along another axis than all stores are, if every one of them is made at every point."""
    body = tuple(s for s in nest.body if isinstance(s, Assign) and s.guard == TRUE and s.target in shapes)
    if nest.guards or len(body) != len(nest.body):
        return None
    places = [Read(s.target, s.index, s.value.dtype) for s in body]
    read = memory_reads((r for s in body for r in _always(s.value)), shapes)
    for lane in nest.axes:
        if not all(pace(place, lane.name, shapes) == SIDE_BY_SIDE for place in places):
            continue
        far = [r for r in read if pace(r, lane.name, shapes) not in ({}, SIDE_BY_SIDE, BACKWARDS, None)]
        for across in nest.axes:
            turned = tuple(r for r in far if pace(r, across.name, shapes) == SIDE_BY_SIDE)
            if turned and across != lane:
                return Turn(lane, across, turned)
    return None


def _always(t: Term) -> Iterator[Read]:
    """The reads that are made whatever the values are: those in a branch are not."""
    match t:
        case Read():
            yield t
        case App("select", (condition, _, _)):
            yield from _always(condition)
        case App("and" | "or", args):
            yield from _always(args[0])
        case App(_, args):
            for arg in args:
                yield from _always(arg)


def sides_of(turn: Turn, op: Op, launch: Launch | None) -> tuple[int, int]:
    """How far a square goes along the axis that is read and along the one that is written: as a launch of a program on cpu says, with what a core does of them in a row."""
    names = turn.across.name, turn.lane.name
    if launch is None:
        return SIDE, SIDE
    for equation in op.equations:
        found = next((s for s in sites(launch.body) if s.step.target == equation.target), None)
        own = dict(zip((a.name for a in equation.axes), found.step.index, strict=True)) if found else {}
        if found and own.keys() >= {*names}:
            said = [known_turns(loop.axis for loop in found.loops if loop.axis.name in variables(own[name])) for name in names]
            if min(said) > 1 and prod(said) <= CELLS:
                return said[0], said[1]
    return SIDE, SIDE


def turned(nest: Nest, turn: Turn, fresh: Callable[[str], str], extents: tuple[int, int]) -> Launch:
    """The launch over squares. A row is one longer than it need be, so that a column of the square does not fall into one set of the cache."""
    far = dict(zip((turn.across, turn.lane), extents, strict=True))
    sides = [(axis, Axis(fresh(f"{axis.name}_tile"), ceildiv(axis.extent, far[axis]), "grid")) for axis in far]
    runs = [Axis(fresh(f"{axis.name}_in"), Const(far[axis]), "time") for axis, _ in sides]
    own = {axis.name: Var(square.name) * far[axis] + Var(run.name) for (axis, square), run in zip(sides, runs, strict=True)}
    inside = conjunction(*(own[axis.name] < axis.extent for axis, _ in sides))
    across, lane = runs
    arrays: list[Array] = []
    copies: list[Step] = []
    places: dict[Term, Term] = {}
    place = Var(lane.name), Var(across.name)
    for number, read in enumerate(turn.reads):
        arrays.append(Array(fresh(f"square_{number}"), read.dtype, (lane.extent, Const(extents[0] + 1)), LOCAL))
        places[read] = Read(arrays[-1].name, place, read.dtype)
        copies.append(Assign(arrays[-1].name, place, substitute(read, own), "", inside))
    copy = For(lane, (For(across, tuple(copies)),))
    body = tuple(map_terms(s, lambda t: substitute(exchange(t, places), own)) for s in nest.body)
    grid = tuple(a for a in nest.axes if a not in (turn.lane, turn.across)) + tuple(square for _, square in sides)
    use = For(across, (For(lane, (If(inside, body),)),))
    return Launch(grid, (), (*arrays, copy, use))
