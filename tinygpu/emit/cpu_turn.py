"""Nests that read along one axis and write along another: square tiles, turned in a small array.

Comes in: a `Nest` such as `y[j, i] = x[i, j]`. Goes out: the text of its work function, or None where the nest is of another kind. The one idea: what lies side by side along the other axis is first copied as it lies, a tile at a time; so both
memories are walked in runs, and the walk across is done in the cache.
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygpu.category.term import TRUE, App, Axis, Const, Read, Term, Var, rebuild
from tinygpu.schedule.merge import Nest
from tinygpu.emit.cpu_nest import digit_lines
from tinygpu.schedule.polynomial import coefficient, polynomial
from tinygpu.emit.cpu_steps import extent_text, indent, step_lines
from tinygpu.emit.cpu_text import MEMORY, Writer, flat, mangle
from tinygpu.model.op import Tensor
from tinygpu.program.step import Assign
from tinygpu.record import dataclass, replace

SIDE = 64
PITCH = SIDE + 1  # one more than a power of two, so that a column of the tile does not fall into one set of the cache


@dataclass(frozen=True, slots=True)
class Turn:
    """The axis along which is written, the one along which is read, and what is read."""

    nest: Nest
    lane: Axis
    across: Axis
    reads: tuple[Read, ...]


def turn_of(nest: Nest, writer: Writer) -> Turn | None:
    """The reads that are contiguous along another axis than all stores are, if every one of them is made at every point."""
    body = tuple(s for s in nest.body if isinstance(s, Assign) and s.guard == TRUE and s.target in writer.tensors)
    if nest.guards or len(body) != len(nest.body):
        return None
    places = [Read(s.target, s.index, s.value.dtype) for s in body]
    reads = dict.fromkeys(r for s in body for r in _always(s.value) if r.tensor in writer.tensors and r.index)
    for lane in nest.axes:
        if not all(_pace(place, lane, writer) == {(): 1} for place in places):
            continue
        far = [r for r in reads if _pace(r, lane, writer) not in ({}, {(): 1}, {(): -1}, None)]
        for across in nest.axes:
            turned = tuple(r for r in far if _pace(r, across, writer) == {(): 1})
            if turned and across != lane:
                return Turn(nest, lane, across, turned)
    return None


def _pace(read: Read, axis: Axis, writer: Writer) -> object:
    return coefficient(polynomial(flat(read.index, writer.tensors[read.tensor].shape)), axis.name)


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


def turn_count(turn: Turn, writer: Writer) -> str:
    """How many items: tiles times the points of the other axes."""
    outer = [f"({extent_text(writer, a)})" for a in turn.nest.axes if a not in (turn.lane, turn.across)]
    return " * ".join([*outer, *(f"({_tiles(axis, writer)})" for axis in (turn.across, turn.lane))])


def _tiles(axis: Axis, writer: Writer) -> str:
    return f"({extent_text(writer, axis)} + {SIDE - 1}) // {SIDE}"


def turn_lines(turn: Turn, writer: Writer) -> list[str]:
    """The body of `work(first, last, …)`."""
    lane, across = mangle(turn.lane.name), mangle(turn.across.name)
    arrays, fill, places = [], [], {}
    for number, read in enumerate(turn.reads):
        dtype = writer.tensors[read.tensor].dtype
        name = f"tile_{number}"
        writer.tensors["@" + name] = Tensor("@" + name, dtype, (Const(SIDE * PITCH),), "tile")
        arrays.append(f"{name} = np.empty({SIDE} * {PITCH}, {MEMORY[dtype]})")
        fill.append(f"{name}[at(({lane} - start)*{PITCH} + {across} - across)] = {writer.stored(read, dtype)}")
        places[read] = Read(
            "@" + name, ((Var(turn.lane.name) - Var("@start")) * PITCH + Var(turn.across.name) - Var("@across"),), read.dtype
        )
    body = [replace(s, value=_placed(s.value, places)) for s in turn.nest.body if isinstance(s, Assign)]
    digits = [(mangle(a.name), extent_text(writer, a), 1) for a in turn.nest.axes if a not in (turn.lane, turn.across)]
    digits += [("across", _tiles(turn.across, writer), SIDE), ("start", _tiles(turn.lane, writer), SIDE)]
    lines = [
        *digit_lines(digits, writer),
        f"for {lane} in range(start, min(start + {SIDE}, {extent_text(writer, turn.lane)})):",
        *indent([f"for {across} in range(across, min(across + {SIDE}, {extent_text(writer, turn.across)})):", *indent(fill)]),
        f"for {across} in range(across, min(across + {SIDE}, {extent_text(writer, turn.across)})):",
        *indent([f"for {lane} in range(start, min(start + {SIDE}, {extent_text(writer, turn.lane)})):"]),
        *indent(indent(step_lines(tuple(body), writer))),
    ]
    for number in range(len(turn.reads)):
        del writer.tensors[f"@tile_{number}"]
    return [*arrays, "for item in range(first, last):", *indent(lines)]


def _placed(t: Term, places: dict[Read, Read]) -> Term:
    return places[t] if isinstance(t, Read) and t in places else rebuild(t, lambda c: _placed(c, places))
