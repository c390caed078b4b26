"""Points that read along one axis and write along another: square tiles, turned in a small array.

    y[j, i] = x[i, j]   ↦   for i, j in a square: t[i, j] = x[i, j];   for j, i in it: y[j, i] = t[i, j]

Comes in: a nest. Goes out: a launch over squares, or None where the nest is of another kind. The one idea: what lies side by side along the
other axis is first copied as it lies; so both memories are walked in runs, and the walk across is done in the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tinygpu.category.term import TRUE, App, Axis, Const, Read, Term, Var, ceildiv, conjunction, exchange, substitute
from tinygpu.program.space import LOCAL
from tinygpu.program.step import Array, Assign, For, If, Launch, Step
from tinygpu.program.traverse import map_terms
from tinygpu.record import dataclass
from tinygpu.schedule.nest import BACKWARDS, SIDE_BY_SIDE, Nest, Shapes, memory_reads, pace

SIDE = 64
PITCH = SIDE + 1  # one more than a power of two, so that a column of the tile does not fall into one set of the cache


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


def turned(nest: Nest, turn: Turn, fresh: Callable[[str], str]) -> Launch:
    """The launch over squares."""
    sides = [(axis, Axis(fresh(f"{axis.name}_tile"), ceildiv(axis.extent, SIDE), "grid")) for axis in (turn.across, turn.lane)]
    runs = [Axis(fresh(f"{axis.name}_in"), Const(SIDE), "time") for axis, _ in sides]
    own = {axis.name: Var(square.name) * SIDE + Var(run.name) for (axis, square), run in zip(sides, runs, strict=True)}
    inside = conjunction(*(own[axis.name] < axis.extent for axis, _ in sides))
    across, lane = runs
    arrays: list[Array] = []
    copies: list[Step] = []
    places: dict[Term, Term] = {}
    place = Var(lane.name), Var(across.name)
    for number, read in enumerate(turn.reads):
        arrays.append(Array(fresh(f"square_{number}"), read.dtype, (Const(SIDE), Const(PITCH)), LOCAL))
        places[read] = Read(arrays[-1].name, place, read.dtype)
        copies.append(Assign(arrays[-1].name, place, substitute(read, own), "", inside))
    copy = For(lane, (For(across, tuple(copies)),))
    body = tuple(map_terms(s, lambda t: substitute(exchange(t, places), own)) for s in nest.body)
    grid = tuple(a for a in nest.axes if a not in (turn.lane, turn.across)) + tuple(square for _, square in sides)
    use = For(across, (For(lane, (If(inside, body),)),))
    return Launch(grid, (), (*arrays, copy, use))
