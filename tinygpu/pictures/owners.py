"""Owners: which thread of which block, with which register and in which turn, touches each element of an array.

    element x  ↦  the first (block, thread, turn, register) with  index(block, thread, turn, register) = x  under its guard

Comes in: a program at sizes, the name of an array, whether it is stored or read. Goes out: numbers for each element. The one idea: the places of the program that is proved are
the sites that cost counts, and their index terms are evaluated at all points; no owner is derived here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from tinygpu.category.evaluate import evaluate as number
from tinygpu.category.term import Axis, Term, conjuncts, reads, variables
from tinygpu.category.to_numpy import evaluate
from tinygpu.cost.parts import Numbers, Unclear, enumerated, extents_of, nobody, permissive
from tinygpu.cost.sites import Access, sites
from tinygpu.program.arrays import arrays
from tinygpu.program.step import Array, Launch, Program
from tinygpu.record import dataclass

POINTS = 1 << 22  # of the axes of one place that are looked at together
NONE = -1


@dataclass(frozen=True, slots=True)
class Owners:
    """Of each element, in the shape of the array, who touches it first: -1 is nobody. `place` is which of the accesses; `blocks` how many blocks touch it there and `threads` how
    many threads of all blocks do. `exact` is false where a guard is data, and `left` are accesses whose index is."""

    array: Array
    stores: bool
    shape: tuple[int, ...]
    accesses: tuple[Access, ...]
    left: tuple[Access, ...]
    exact: bool
    place: Numbers
    block: Numbers
    thread: Numbers
    register: Numbers
    time: Numbers
    blocks: Numbers
    threads: Numbers


def owners(program: Program, sizes: Mapping[str, int], name: str, stores: bool) -> Owners:
    """Who stores, or reads, each element of an array. Raises Unclear where there is too much to look at."""
    array = arrays(program)[name]
    shape = tuple(max(0, int(number(e, sizes))) for e in array.extents)
    mine = [s for s in sites(program) if isinstance(s, Access) and s.array.name == name and s.stores == stores]
    told = [s for s in mine if not any(map(reads, s.index))]
    if prod(shape) > POINTS:
        raise Unclear
    held = [np.full(prod(shape), NONE, np.int64) for _ in range(5)]
    counted = [np.zeros(prod(shape), np.int64) for _ in range(2)]
    for place, access in enumerate(told):
        points, much = seen(program, access, sizes)
        cell = _flat(points.index, shape)
        kept = np.flatnonzero(cell >= 0)
        spots, first = np.unique(cell[kept], return_index=True)  # points are in order: by block, by thread, by turn
        new = held[0][spots] == NONE
        one = kept[first[new]]
        columns = (np.full(len(cell), place), points.block, points.thread, points.register, points.time)
        for into, column in zip(held, columns, strict=True):
            into[cell[one]] = column[one]
        fresh = kept[new[np.searchsorted(spots, cell[kept])]]
        everyone = points.block * (int(points.thread.max(initial=0)) + 1) + points.thread
        for into, numbers, extra in zip(counted, (points.block, everyone), much, strict=True):
            many = int(numbers.max(initial=0)) + 1
            pairs = distinct(cell[fresh] * many + numbers[fresh])
            into += extra * np.bincount(pairs // many, minlength=len(into))
    left = tuple(s for s in mine if s not in told)
    exact = not any(reads(s.where.guard) for s in told)
    whose, block, thread, register, time, blocks, each = (h.reshape(shape) for h in (*held, *counted))
    return Owners(array, stores, shape, tuple(told), left, exact, whose, block, thread, register, time, blocks, each)


def distinct(numbers: Numbers) -> Numbers:
    """Each number once, in order: what `np.unique` gives, which hashes and takes ten times as long.

    >>> distinct(np.array([3, 1, 3])).tolist()
    [1, 3]
    """
    ordered = np.sort(numbers)
    return ordered[np.diff(ordered, prepend=ordered[:1] - 1) != 0]


@dataclass(frozen=True, slots=True)
class Points:
    """The points of an access at which it is made: its index there, and the numbers of who is there."""

    index: tuple[Numbers, ...]
    block: Numbers
    thread: Numbers
    register: Numbers
    time: Numbers


def seen(program: Program, access: Access, sizes: Mapping[str, int]) -> tuple[Points, tuple[int, int]]:
    """All points of an access, and how many blocks, and how many threads, do the same at each. Raises Unclear."""
    launch = program.launches[access.where.launch]
    around = (*launch.turns, *access.where.axes[len(launch.turns) :])
    every = (*launch.grid, *launch.block, *around)
    extents, guards = extents_of(every, sizes)
    guards = [*guards, permissive(access.where.guard, True)]
    used = frozenset[str]().union(*map(variables, (*access.index, *guards)))
    used |= {
        a.name for a in every if variables(a.extent) & extents.keys() or not extents[a.name]
    }  # of an empty axis nobody is there
    box = {a.name: extents[a.name] if a.name in used else 1 for a in every}
    points = product(launch, box, guards)
    values = {**sizes, **points}
    mask = np.ones(next((p.shape for p in points.values()), (1,)), np.bool_)
    for guard in guards:
        mask &= np.asarray(evaluate(guard, values, mask=mask, on_zero=nobody), np.bool_)
    here = {name: v[mask] if isinstance(v, np.ndarray) else v for name, v in values.items()}
    index = tuple(np.broadcast_to(np.asarray(evaluate(i, here, on_zero=nobody)), mask.sum()) for i in access.index)
    numbers = [numbered(axes, extents, here) for axes in (launch.grid, launch.block, registers(around), turns(around))]
    idle = [prod(extents[a.name] for a in axes if a.name not in used) for axes in (launch.grid, launch.block)]
    block, thread, register, time = (np.broadcast_to(n, mask.sum()) for n in numbers)
    return Points(index, block, thread, register, time), (idle[0], idle[0] * idle[1])


def product(launch: Launch, box: Mapping[str, int], guards: Sequence[Term]) -> dict[str, Numbers]:
    """All points of a box in order, without the threads for which a guard of the block's factors alone does not hold. Raises Unclear where they are too many."""
    block = {a.name: box[a.name] for a in launch.block}
    threads = enumerated(block)
    mine = [g for guard in guards for g in conjuncts(guard) if variables(g) and variables(g) <= block.keys()]
    there = np.ones(prod(block.values()), np.bool_)
    for guard in mine:
        there &= np.asarray(evaluate(guard, threads), np.bool_)
    threads = {name: values[there] for name, values in threads.items()}
    grid = {a.name: box[a.name] for a in launch.grid}
    inner = {name: extent for name, extent in box.items() if name not in block and name not in grid}
    outside, many, inside = prod(grid.values()), int(there.sum()), prod(inner.values())
    if outside * many * inside > POINTS:
        raise Unclear
    found = {name: np.repeat(values, many * inside) for name, values in enumerated(grid).items()}
    found |= {name: np.tile(np.repeat(values, inside), outside) for name, values in threads.items()}
    return found | {name: np.tile(values, outside * many) for name, values in enumerated(inner).items()}


def registers(axes: Sequence[Axis]) -> tuple[Axis, ...]:
    """Those that number what one thread has at one time."""
    return tuple(a for a in axes if a.sort in ("register", "vector"))


def turns(axes: Sequence[Axis]) -> tuple[Axis, ...]:
    """Those that are loops in time."""
    return tuple(a for a in axes if a.sort not in ("register", "vector"))


def numbered(axes: Sequence[Axis], extents: Mapping[str, int], values: Mapping[str, Any]) -> Numbers:
    """The number whose digits the axes are, slowest first."""
    total = np.zeros((), np.int64)
    for axis in axes:
        total = total * extents[axis.name] + values[axis.name]
    return np.asarray(total)


def _flat(index: Sequence[Numbers], shape: tuple[int, ...]) -> Numbers:
    """Row-major; -1 outside."""
    flat, inside = np.zeros(np.shape(index[0]) if index else (1,), np.int64), np.asarray(True)
    for coordinate, extent in zip(index, shape, strict=True):
        inside = inside & (coordinate >= 0) & (coordinate < extent)
        flat = flat * extent + coordinate
    return np.where(inside, flat, NONE)
