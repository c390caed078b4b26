"""Bank conflicts: how many turns the shared memory of a block takes for each access of a warp, counted exactly.

Comes in: a program, and numbers for its sizes. Goes out: for every access to a shared array the most turns that any warp takes.
The one idea: a warp's addresses are finite, so nothing is estimated. Memory has 32 banks of 4 bytes; a warp's lanes are served in groups
that together move at most 128 bytes, and a group takes as many turns as one bank has different words to give.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from tinygpu.category.evaluate import evaluate
from tinygpu.category.term import TRUE, Axis, Read, Term, conjunction, conjuncts, reads, variables
from tinygpu.program.lanes import ITEM_BYTES
from tinygpu.program.layout import address
from tinygpu.program.step import Assign, For, If, Launch, Program, Shared, Step, steps
from tinygpu.program.unpack import unpack
from tinygpu.program.wide import conditional_reads, wide_accesses

BANKS = 32
WORD_BYTES = 4
GROUP_BYTES = BANKS * WORD_BYTES
WARP = 32
MOST_POINTS = 256  # of the loops around an access


@dataclass(frozen=True, slots=True)
class Conflict:
    """`ways` turns instead of one for an access of `bytes` bytes a lane: 1 is free of conflicts; 0 where nothing is accessed."""

    array: str
    access: Read | Assign
    stores: bool
    bytes: int
    ways: int


@dataclass(frozen=True, slots=True)
class Place:
    """An access of a shared array with what stands around it."""

    access: Read | Assign
    array: Shared
    axes: tuple[Axis, ...]
    guard: tuple[Term, ...]


def conflicts(program: Program, sizes: Mapping[str, int] | None = None) -> tuple[Conflict, ...]:
    """`program → its accesses to shared arrays`, in order, one for each place in the text. Where an index depends on data, or on a size
    that is not given, it is left out."""
    program = unpack(program)
    wide = {(w.access, w.stores): w for w in wide_accesses(program) if w.shared}
    found: dict[tuple[Read | Assign, bool], int] = {}
    known: dict[tuple[Read | Assign, bool], Conflict] = {}
    for launch in program.launches:
        for place in _places(launch, launch.body, (), (), {s.name: s for s in steps(launch.body) if isinstance(s, Shared)}):
            key = place.access, isinstance(place.access, Assign)
            move = wide.get(key)
            lanes = move.lanes if move else 1
            axes = tuple(a for a in place.axes if move is None or a != move.axis)
            index = move.first if move else place.access.index
            worst = _worst(launch, place, axes, index, lanes, dict(sizes or {}))
            if worst is not None:
                found[key] = max(worst, found.get(key, 0))
                known[key] = Conflict(place.array.name, *key, lanes * ITEM_BYTES[place.array.dtype], found[key])
    return tuple(known.values())


def _places(
    launch: Launch, body: tuple[Step, ...], axes: tuple[Axis, ...], guard: tuple[Term, ...], shared: Mapping[str, Shared]
) -> Iterator[Place]:
    for step in body:
        match step:
            case For(axis, inner):
                yield from _places(launch, inner, (*axes, axis), guard, shared)
            case If(condition, inner):
                yield from _places(launch, inner, axes, (*guard, *conjuncts(condition)), shared)
            case Assign(target, _, value, _, condition):
                here = (*guard, *conjuncts(condition))
                for read, path in conditional_reads(value, here):
                    if read.tensor in shared:
                        yield Place(read, shared[read.tensor], axes, here if path is None else path)
                if target in shared:
                    yield Place(step, shared[target], axes, here)


def _worst(
    launch: Launch, place: Place, axes: tuple[Axis, ...], index: tuple[Term, ...], lanes: int, values: dict[str, int]
) -> int | None:
    """The most turns over all warps of a block and points of the loops; the axes of the grid, which move nothing, are 0."""
    values |= {a.name: 0 for a in launch.grid}
    flat = address(place.array.extents, place.array.layout, index)
    guard = conjunction(*(c for c in place.guard if not reads(c)))
    wanted = variables(flat) | variables(guard)
    turning = [a for a in axes if a.name in wanted]
    if reads(flat) or not wanted <= values.keys() | {a.name for a in (*launch.block, *turning)}:
        return None
    try:
        extents = [int(evaluate(a.extent, values)) for a in (*turning, *launch.block)]
    except (KeyError, ValueError):
        return None
    ranges = [range(e) for e in extents]
    names = [a.name for a in (*turning, *launch.block)]
    worst = 0
    for number, point in enumerate(product(*ranges[: len(turning)])):
        if number == MOST_POINTS:
            break
        threads = list(product(*ranges[len(turning) :]))
        for first in range(0, len(threads), WARP):
            warp = [values | dict(zip(names, (*point, *t), strict=True)) for t in threads[first : first + WARP]]
            worst = max(worst, turns(_starts(flat, guard, warp), lanes * ITEM_BYTES[place.array.dtype], lanes))
    return worst


def _starts(flat: Term, guard: Term, warp: list[dict[str, int]]) -> list[int | None]:
    """The element that each lane starts at; None for a lane that does not take part."""
    return [int(evaluate(flat, lane)) if guard == TRUE or evaluate(guard, lane) else None for lane in warp]


def turns(starts: list[int | None], bytes: int, lanes: int = 1) -> int:
    """How many turns a warp takes for `bytes` bytes of each lane, which are `lanes` elements from `starts` on.

    >>> turns(list(range(32)), 4), turns([lane * 32 for lane in range(32)], 4), turns([lane * 33 for lane in range(32)], 4)
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
