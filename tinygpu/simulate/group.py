"""Groups: whole blocks whose threads are the lanes of one numpy axis; and places: what a group is at, and who stands where.

Comes in: a launch and its sizes. Goes out: the groups in which its blocks run, what the factors are in each lane, and who stands at a point.
The one idea: lanes are numbered block by block, in any order of the threads, and a group knows that order; a warp is 32 consecutive
threads whatever lanes they have.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tinygpu.category.number import Array, Value
from tinygpu.category.term import Axis
from tinygpu.diagnostic import Span
from tinygpu.program.step import WARP, Step
from tinygpu.record import dataclass
from tinygpu.simulate.fault import EACH, At, Point

LANES = 1 << 15  # lanes that run together
CELLS = 1 << 21  # shared cells of the blocks that run together


@dataclass(frozen=True, slots=True)
class Group:
    """`blocks`: the numbers of its blocks. `order`: the thread of each lane of a block; `place`: the lane of each thread.
    `block`, `thread`: of each lane of the group, its block (counted in the group) and its thread."""

    blocks: Array
    order: Array
    place: Array
    block: Array
    thread: Array

    @classmethod
    def of(cls, blocks: Array, order: Array) -> Group:
        """`numbers of blocks × order of threads → group`."""
        return cls(blocks, order, np.argsort(order), np.repeat(np.arange(len(blocks)), len(order)), np.tile(order, len(blocks)))

    @property
    def lanes(self) -> int:
        """How many."""
        return len(self.thread)

    @property
    def threads(self) -> int:
        """Of a block."""
        return len(self.order)

    @property
    def warps(self) -> int:
        """Of a block; the last may have fewer than 32 lanes."""
        return -(-self.threads // WARP)

    def of_blocks(self, mask: Array) -> Array:
        """`(…, lanes) → (…, blocks, threads)`, threads in their own order."""
        return np.asarray(mask.reshape(*mask.shape[:-1], len(self.blocks), self.threads)[..., self.place])

    def of_warps(self, mask: Array, fill: bool) -> Array:
        """`(…, lanes) → (…, blocks, warps, 32)`; lanes that a last warp does not have are `fill`."""
        threads = self.of_blocks(mask)
        missing = np.full((*threads.shape[:-1], self.warps * WARP - self.threads), fill)
        return np.concatenate((threads, missing), -1).reshape(*threads.shape[:-1], self.warps, WARP)


def groups(blocks: int, threads: int, order: int | None, cells: int) -> Iterator[Group]:
    """All blocks, some at a time: at most LANES lanes, and CELLS shared cells where a block has that many `cells`. `order` is a seed."""
    if blocks * threads == 0:
        return
    order_of_blocks, order_of_threads = np.arange(blocks), np.arange(threads)
    cuts = list(range(0, blocks, max(1, min(LANES // threads, CELLS // max(1, cells)))))
    if order is not None:
        chance = np.random.default_rng(order)
        order_of_blocks, order_of_threads = chance.permutation(blocks), chance.permutation(threads)
        cuts = sorted({*cuts, *(int(c) for c in chance.integers(0, blocks, 3))})
    for low, high in zip(cuts, [*cuts[1:], blocks], strict=True):
        yield Group.of(order_of_blocks[low:high], order_of_threads)


def factors(
    grid: tuple[Axis, ...], box: tuple[int, ...], block: tuple[Axis, ...], threads: tuple[int, ...], group: Group
) -> dict[str, Array]:
    """The value of every factor in each lane."""
    return {**_factors(grid, box, group.blocks[group.block]), **_factors(block, threads, group.thread)}


def _factors(axes: tuple[Axis, ...], box: tuple[int, ...], flat: Array) -> dict[str, Array]:
    return dict(zip((a.name for a in axes), np.unravel_index(flat, box), strict=True)) if axes else {}


@dataclass(frozen=True, slots=True)
class Execution:
    """One execution of one step by a group: the launch's number, the variables as arrays, the names of the factors and of the loops."""

    step: Step
    launch: int
    group: Group
    env: dict[str, Value]
    factors: tuple[str, ...]
    loops: tuple[str, ...]

    @property
    def span(self) -> Span:
        """Where the step stands."""
        return self.step.span

    def at(self, shape: tuple[int, ...], position: int) -> At:
        """Who stands at that flat position of an array of points."""
        spot = np.unravel_index(position, shape)
        lane, loops = self._point(self.factors, spot), self._point(self.loops, spot)
        return At(self.span, self.launch, lane, loops, self.step)

    def _point(self, names: tuple[str, ...], spot: tuple[np.intp, ...]) -> Point:
        return tuple((name, pick(self.env[name], spot)) for name in names)


def pick(values: Value, spot: tuple[np.intp, ...]) -> int:
    """The value at one spot of the points that an array broadcasts to."""
    if np.ndim(values) == 0:
        return int(values)
    own = np.shape(values)  # an access that is the same in every turn of a loop has one place there, and any turn will do
    at = (0,) * (len(own) - len(spot)) + tuple(spot)[max(0, len(spot) - len(own)) :]
    return int(values[tuple(0 if n == 1 else s for n, s in zip(own, at, strict=True))])


def offenders(bad: Array, index: tuple[Value, ...], place: Execution) -> Iterator[tuple[At, tuple[int, ...], int]]:
    """The first few points where `bad` holds: who, the index there, and the flat position."""
    shape = np.broadcast_shapes(
        bad.shape, (place.group.lanes,), *(np.shape(i) for i in index), *(np.shape(v) for v in place.env.values())
    )
    for position in np.flatnonzero(np.broadcast_to(bad, shape))[:EACH]:
        spot = np.unravel_index(position, shape)
        yield place.at(shape, int(position)), tuple(pick(i, spot) for i in index), int(position)
