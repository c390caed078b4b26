"""Small sizes at which a picture shows a whole block and some of its neighbours.

Comes in: a program, the sizes that are given. Goes out: a number for each size. The one idea: half a tile more than the least size at which every axis of the grid, and every loop that a
size makes, goes twice; so the tail is seen too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

from tinygpu.category.evaluate import evaluate
from tinygpu.category.term import Axis, reads, variables
from tinygpu.program.step import For, Program
from tinygpu.program.traverse import walk_steps
from tinygpu.simulate.usual import usual_sizes

LARGEST = 13  # bits of a size
FEW = 8  # of a size of which no axis speaks
USUAL, MOST = (8, 16, 32, 64, 128), 1 << 16  # the largest of those that are chosen otherwise, and elements of an array


def picture_sizes(program: Program, given: Mapping[str, int]) -> dict[str, int]:
    """The sizes given, and for the others small ones at which the preconditions hold."""
    op, found = program.op, dict(given)
    free = [s for s in op.sizes if s not in given]
    axes = [*_axes(program)]
    for size in free:
        found[size] = FEW
    for size in (*free, *free):  # what was chosen late is known the second time
        mine = [a for a in axes if size in variables(a.extent)]
        found[size] = _small(mine, found, size) if mine else FEW
    conditions = [w for w in (*op.where, *program.where) if not reads(w)]
    if all(_holds(w, found) for w in conditions):
        return found
    broken = frozenset[str]().union(*(variables(w) for w in conditions if not _holds(w, found)))
    for kept, usual in product(({s: n for s, n in found.items() if s not in broken or s in given}, given), USUAL):
        sizes = usual_sizes(op, kept, usual, MOST, program.where)
        if sizes and all(_holds(w, sizes) for w in conditions):
            return sizes
    return found


def _axes(program: Program) -> Iterator[Axis]:
    """The axes of grids, and the loops in time."""
    for launch in program.launches:
        yield from launch.grid
        yield from (s.axis for s, _, _ in walk_steps(launch.body) if isinstance(s, For) and s.axis.sort == "time")


def _small(axes: list[Axis], sizes: Mapping[str, int], size: str) -> int:
    """Half a tile more than what all axes have in one turn; few, where no number makes them go twice."""
    most = next((1 << n for n in range(LARGEST) if all(_twice(a, {**sizes, size: 1 << n}) for a in axes)), 0)
    low, high = most // 2, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if all(_twice(a, {**sizes, size: middle}) for a in axes) else (middle, high)
    return high - 1 + max(1, (high - 1) // 2) if most else FEW


def _twice(axis: Axis, sizes: Mapping[str, int]) -> bool:
    try:
        return int(evaluate(axis.extent, sizes)) >= 2
    except (KeyError, ZeroDivisionError):
        return True  # of another axis, or of data


def _holds(condition: object, sizes: Mapping[str, int]) -> bool:
    try:
        return bool(evaluate(condition, sizes))  # type: ignore[arg-type]
    except (KeyError, ZeroDivisionError):
        return False
