"""Bank conflicts: how many turns the shared memory of a block takes for each access of a warp, counted exactly.

Comes in: a program, and numbers for its sizes. Goes out: for every access to a shared array the most turns that any warp takes.
The one idea: a warp's addresses are finite, so nothing is estimated. Memory has 32 banks of 4 bytes; a warp's lanes are served in groups
that together move at most 128 bytes, and a group takes as many turns as one bank has different words to give.

What is counted is what is emitted: a wide access as one, and lane by lane too where the kernel may have to. Where a compiler merges
narrow accesses to neighbours, conflicts go away and none come: `4·f(lane) + c` in different banks for each `c` are pieces of 16 bytes in
different places of 128. Guards that speak of the grid or of sizes leave lanes out at the borders alone, so they leave out none here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod

import numpy as np

from tinygpu.category.dtype import BYTES
from tinygpu.category.evaluate import evaluate as number
from tinygpu.category.region import Region
from tinygpu.category.term import Read, Term, conjunction, reads, variables
from tinygpu.category.to_numpy import evaluate
from tinygpu.derive.unpack import unpack
from tinygpu.derive.wide import Wide, conditional_reads, hoisted, wide_in
from tinygpu.program.layout import address
from tinygpu.program.step import Assign, For, If, Launch, Program, Shared, Step, steps
from tinygpu.record import dataclass, replace

BANKS = 32
WORD_BYTES = 4
GROUP_BYTES = BANKS * WORD_BYTES
WARP = 32
AT_ONCE = 1 << 20  # addresses that are held at once
OUT = -1  # a lane that does not take part


@dataclass(frozen=True, slots=True)
class Conflict:
    """`ways` turns instead of one for an access of `bytes` bytes a lane: 1 is free of conflicts; 0 where nothing is accessed; None where
    it is not known before the program runs: the index is data, or updates wait for each other."""

    array: str
    access: Read | Assign
    stores: bool
    bytes: int
    ways: int | None


@dataclass(frozen=True, slots=True)
class Place:
    """`lanes` elements of a shared array that are accessed at once from `index` on, by the threads that the guard admits."""

    access: Read | Assign
    array: Shared
    index: tuple[Term, ...]
    lanes: int
    here: Region

    @property
    def bytes(self) -> int:
        """What one lane moves."""
        return self.lanes * BYTES[self.array.dtype]


@dataclass(frozen=True, slots=True)
class Around:
    """What stands around a step: loops, guards, and the wide accesses of the vector loop that it is in."""

    program: Program
    number: int
    here: Region = Region()
    wide: tuple[Wide, ...] = ()

    def under(self, guard: Term) -> Around:
        """The same under one more condition."""
        return replace(self, here=self.here.under(guard))

    @property
    def launch(self) -> Launch:
        """The launch it is in."""
        return self.program.launches[self.number]


def conflicts(program: Program, sizes: Mapping[str, int] | None = None) -> tuple[Conflict, ...]:
    """`program → its accesses to shared arrays`, in order, one for each place in the text and each width."""
    program = unpack(program)
    found: dict[tuple[Read | Assign, bool, int], Conflict] = {}
    for launch in range(len(program.launches)):
        around = Around(program, launch)
        for place in _places(around.launch.body, around):
            key = place.access, isinstance(place.access, Assign), place.bytes
            ways = None if isinstance(place.access, Assign) and place.access.atomic else _most(around.launch, place, sizes or {})
            before = found[key].ways if key in found else 0
            most = None if ways is None or before is None else max(ways, before)
            found[key] = Conflict(place.array.name, *key, most)
    return tuple(found.values())


def _places(body: tuple[Step, ...], around: Around) -> Iterator[Place]:
    for step in body:
        match step:
            case For(axis, inner) if axis.sort == "vector":
                axes = (*around.launch.grid, *around.launch.block, *around.here.axes)
                outer, loop = hoisted(step, {a.name for a in axes} | set(around.program.op.sizes))
                wide = tuple(w for w in wide_in(around.program, around.number, loop, axes) if w.shared)
                yield from _places(loop.body, replace(around, here=around.here.inside(axis).under(outer), wide=wide))
            case For(axis, inner):
                yield from _places(inner, replace(around, here=around.here.inside(axis), wide=()))
            case If(condition, inner):
                yield from _accesses((condition,), None, around)
                yield from _places(inner, around.under(condition))
            case Assign(_, index, value, _, condition):
                yield from _accesses((*index, condition), None, around)
                yield from _accesses((value,), step, around.under(condition))


def _accesses(values: Sequence[Term], store: Assign | None, around: Around) -> Iterator[Place]:
    """The reads of shared arrays in values, each with the conditions under which it is made, and the store."""
    shared = {s.name: s for s in steps(around.launch.body) if isinstance(s, Shared)}
    for value in values:
        for read, path in conditional_reads(value, around.here.guard):
            if read.tensor in shared:
                here = around.here if path is None else Region(around.here.axes, path)
                yield from _widths(read, shared[read.tensor], replace(around, here=here))
    if store is not None and store.target in shared:
        yield from _widths(store, shared[store.target], around)


def _widths(access: Read | Assign, array: Shared, around: Around) -> Iterator[Place]:
    """The access as it is emitted: wide where it is promised, element by element where it is not or not always."""
    wide = next((w for w in around.wide if w.access == access and w.stores == isinstance(access, Assign)), None)
    if wide is not None:
        free = tuple(c for c in around.here.guard if wide.axis.name not in variables(c))
        axes = tuple(a for a in around.here.axes if a != wide.axis)
        yield Place(access, array, wide.first, wide.lanes, Region(axes, free).under(wide.condition))
    if wide is None or not wide.always:
        yield Place(access, array, access.index, 1, around.here)


def _most(launch: Launch, place: Place, sizes: Mapping[str, int]) -> int | None:
    """The most turns over all warps of a block and all points of the loops."""
    flat = address(place.array.extents, place.array.layout, place.index)
    near = {a.name for a in (*launch.block, *place.here.axes)}
    guard = conjunction(*(c for c in place.here.guard if not reads(c) and variables(c) <= near))
    wanted = variables(flat) | variables(guard)
    turning = [a for a in (*launch.grid, *place.here.axes) if a.name in wanted]
    if reads(flat) or not wanted <= near | sizes.keys() | {a.name for a in launch.grid}:
        return None
    try:
        extents = [int(number(a.extent, dict(sizes))) for a in (*turning, *launch.block)]
    except KeyError:
        return None
    points, block = extents[: len(turning)], extents[len(turning) :]
    names = [a.name for a in launch.block]
    threads = dict(zip(names, np.indices(block).reshape(len(block), prod(block)), strict=True))
    patterns: set[tuple[int, ...]] = set()
    every = list(product(*map(range, points)))
    step = max(1, AT_ONCE // max(1, prod(block)))
    for first in range(0, len(every), step):
        some = every[first : first + step]
        columns = np.array(some, int).reshape(len(some), len(turning), 1).transpose(1, 0, 2)
        values = {**sizes, **threads, **dict(zip((a.name for a in turning), columns, strict=True))}
        patterns |= _patterns(flat, guard, values, (len(some), prod(block)), BYTES[place.array.dtype])
    return max((turns([None if s == OUT else s for s in warp], place.bytes, place.lanes) for warp in patterns), default=0)


def _patterns(flat: Term, guard: Term, values: Mapping[str, object], shape: tuple[int, int], item: int) -> set[tuple[int, ...]]:
    """The elements that the lanes of each warp start at, up to a shift by whole rows of banks, which changes no bank."""
    starts = np.broadcast_to(np.asarray(evaluate(flat, values)), shape)  # type: ignore[arg-type]
    inside = np.broadcast_to(np.asarray(evaluate(guard, values), bool), shape)  # type: ignore[arg-type]
    points, threads = shape
    lanes = np.full((points, -(-threads // WARP) * WARP), OUT, np.int64)
    lanes[:, :threads] = np.where(inside, starts, OUT)
    warps = lanes.reshape(-1, WARP)
    row = GROUP_BYTES // item
    least = np.where(warps == OUT, np.iinfo(np.int64).max, warps).min(axis=1, keepdims=True) // row * row
    return {tuple(map(int, warp)) for warp in np.unique(np.where(warps == OUT, OUT, warps - least), axis=0)}


def turns(starts: Sequence[int | None], bytes: int, lanes: int = 1) -> int:
    """How many turns a warp takes for `bytes` bytes of each lane, which are `lanes` elements from `starts` on; None takes no part.

    >>> turns(range(32), 4), turns([lane * 32 for lane in range(32)], 4), turns([lane * 33 for lane in range(32)], 4)
    (1, 32, 1)
    >>> turns([0] * 32, 4), turns([lane * 4 for lane in range(32)], 16, 4), turns([lane * 8 for lane in range(32)], 16, 4)
    (1, 1, 2)
    """
    item, together = bytes // lanes, max(1, min(WARP, GROUP_BYTES // bytes))
    most = 0
    for first in range(0, len(starts), together):
        words: dict[int, set[int]] = {}
        for start in starts[first : first + together]:
            if start is not None:
                for word in range(start * item // WORD_BYTES, (start * item + bytes - 1) // WORD_BYTES + 1):
                    words.setdefault(word % BANKS, set()).add(word)
        most = max(most, max(map(len, words.values()), default=0))
    return most
