"""Copies that are under way: which groups of copies have landed, as each thread knows it, and who touches a cell before.

    the group of a copy is the number of commits of its thread before it;  `wait n` after c commits: the groups below c − n have landed

Comes in: commits, waits and barriers of lanes; copies and accesses of one array. Goes out: faults. The one idea: absolute numbers. A thread knows of its own
groups what its waits have told; others know of them what it knew at the last barrier that both have passed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from tinygpu.category.number import Array
from tinygpu.program.step import WARP
from tinygpu.record import dataclass, field
from tinygpu.simulate.box import unflat
from tinygpu.simulate.fault import EACH, At, Faults, UnderWay
from tinygpu.simulate.group import Execution, Group

if TYPE_CHECKING:
    from tinygpu.simulate.shadow import Access, Clock, Log


@dataclass(slots=True)
class Groups:
    """Of each lane: the groups that it has ended; the number below which they have landed, as it knows, as its warp does, and as its block does."""

    lanes: Group
    ended: Array
    own: Array
    warp: Array
    block: Array

    @classmethod
    def of(cls, lanes: Group) -> Groups:
        """Nothing is under way."""
        return cls(lanes, *(np.zeros(lanes.lanes, np.int64) for _ in range(4)))

    def commit(self, mask: Array) -> None:
        """The lanes of the mask end a group."""
        self.ended = self.ended + mask

    def wait(self, count: int, mask: Array) -> None:
        """They wait until that many are under way."""
        self.own = np.where(mask, np.maximum(self.own, self.ended - count), self.own)

    def barrier(self, scope: str, mask: Array) -> None:
        """They tell each other."""
        self.warp = np.where(mask, self.own, self.warp)
        self.block = np.where(mask, self.own, self.block) if scope == "block" else self.block

    def landed(self, group: Array, copier: Array, lane: Array) -> Array:
        """Whether those lanes know that these groups of those copiers have landed."""
        near = self.lanes.thread[copier] // WARP == self.lanes.thread[lane] // WARP
        known = np.where(copier == lane, self.own[copier], np.where(near, self.warp[copier], self.block[copier]))
        return np.asarray(group < known)


@dataclass(slots=True)
class Flights:
    """Of one array: of each cell the last copy to it, by its group and its lane, and where it began. `each` as in `Shadow`."""

    name: str
    extents: tuple[int, ...]
    each: int
    group: Array
    copier: Array
    begun: Array
    point: Array
    places: list[tuple[Execution, tuple[int, ...]]] = field(default_factory=list)

    @classmethod
    def of(cls, name: str, extents: tuple[int, ...], size: int, each: int) -> Flights:
        """Nobody copies."""
        return cls(
            name,
            extents,
            each,
            np.full(size, -1, np.int64),
            np.zeros(size, np.int64),
            np.zeros(size, np.int64),
            np.zeros(size, np.int64),
        )

    def begin(self, access: Access, clock: Clock, plain: Iterable[Log], faults: Faults) -> None:
        """Copies begin; faults where the same thread has touched the cell before, as the logs of other accesses say, with no barrier since."""
        scale, groups = clock.scales[-1], clock.copies
        for highest, lowest in (log.pairs[-1] for log in plain):
            rising, falling, mine = highest[access.address], lowest[access.address], scale.thread[access.lane]
            first = scale.threads(rising) == mine
            both = (rising >= scale.floor[access.lane]) & (first | (scale.threads(falling, True) == mine))
            for point in np.flatnonzero(both)[:EACH]:
                key = int((rising if first[point] else falling)[point])
                at = clock.who(key, not first[point], int(access.address[point]) // self.each)
                self.say(access, int(point), at, "copies over", faults)
        assert groups is not None, "where something is copied groups are counted"
        self.group[access.address], self.copier[access.address] = groups.ended[access.lane], access.lane
        self.begun[access.address], self.point[access.address] = len(self.places), access.position
        self.places.append((access.place, access.shape))

    def meet(self, access: Access, groups: Groups, what: str, faults: Faults) -> None:
        """Faults for accesses of cells to which copies are under way."""
        group = self.group[access.address]
        bad = group >= 0
        if bad.any():
            bad &= np.logical_not(groups.landed(group, self.copier[access.address], access.lane))
        for point in np.flatnonzero(bad)[:EACH]:
            address = access.address[point]
            before, shape = self.places[int(self.begun[address])]
            self.say(access, int(point), before.at(shape, int(self.point[address])), what, faults)

    def say(self, access: Access, point: int, first: At, what: str, faults: Faults) -> None:
        """The fault at a point of an access."""
        at, index = (
            access.place.at(access.shape, int(access.position[point])),
            unflat(access.address[point] % self.each, self.extents),
        )
        faults.add(UnderWay(at, self.name, index, first, what), access.place.span)
