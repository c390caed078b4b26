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
from tinygpu.category.term import Axis, reads, variables
from tinygpu.category.to_numpy import evaluate
from tinygpu.cost.parts import Numbers, Unclear, enumerated, extents_of, nobody, permissive
from tinygpu.cost.sites import Access, sites
from tinygpu.program.arrays import arrays
from tinygpu.program.step import Array, Launch, Program
from tinygpu.record import dataclass

POINTS = 1 << 23  # of the axes of one place that are looked at together
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
        order = kept[np.lexsort([column[kept] for column in (points.register, points.time, points.thread, points.block)])]
        _, first = np.unique(cell[order], return_index=True)
        one = order[first][held[0][cell[order[first]]] == NONE]
        columns = (np.full(len(cell), place), points.block, points.thread, points.register, points.time)
        for into, column in zip(held, columns, strict=True):
            into[cell[one]] = column[one]
        for into, many, extra in zip(counted, (points.block, points.block * (1 << 31) + points.thread), much, strict=True):
            pairs = np.unique(np.stack([cell[kept], many[kept]], 1), axis=0)
            new = np.isin(pairs[:, 0], cell[one])
            np.add.at(into, pairs[new, 0], extra)
    left = tuple(s for s in mine if s not in told)
    exact = not any(reads(s.where.guard) for s in told)
    columns = [h.reshape(shape) for h in (*held, *counted)]
    return Owners(array, stores, shape, tuple(told), left, exact, *columns)


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
    used |= {a.name for a in every if variables(a.extent) & extents.keys()}
    box = {a.name: extents[a.name] if a.name in used else 1 for a in every}
    if prod(box.values()) > POINTS:
        raise Unclear
    values = {**sizes, **enumerated(box)}
    mask = np.ones(prod(box.values()), np.bool_)
    for guard in guards:
        mask &= np.asarray(evaluate(guard, values, mask=mask, on_zero=nobody), np.bool_)
    here = {name: v[mask] if isinstance(v, np.ndarray) else v for name, v in values.items()}
    index = tuple(np.broadcast_to(np.asarray(evaluate(i, here, on_zero=nobody)), mask.sum()) for i in access.index)
    numbers = [numbered(axes, extents, here) for axes in (launch.grid, launch.block, registers(around), turns(around))]
    idle = [prod(extents[a.name] for a in axes if a.name not in used) for axes in (launch.grid, launch.block)]
    block, thread, register, time = (np.broadcast_to(n, mask.sum()) for n in numbers)
    return Points(index, block, thread, register, time), (idle[0], idle[0] * idle[1])


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


def threads_of(launch: Launch, sizes: Mapping[str, int]) -> int:
    """Of a block."""
    return prod(int(number(a.extent, sizes)) for a in launch.block)
