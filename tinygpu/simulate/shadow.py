"""Shadow memory: who has touched each element of an array that threads share, so that a race is seen when its second access comes.

    a race: two threads, one element, no barrier between, one of them writing, not both atomic with one monoid

Comes in: the accesses of many lanes at once, with their kind. Goes out: races, exactly. The one idea: of all accesses of a kind to an
element it is enough to know the greatest and the least thread of the present epoch: whoever comes next, one of these two is another one.
(Where a warp has barriers too, the same is kept by its epochs. That is about one warp, as two warps meet by the first pair already.)
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tinygpu.category.number import Array
from tinygpu.program.access import READ, STORE
from tinygpu.program.step import WARP
from tinygpu.record import dataclass, field
from tinygpu.simulate.clock import Clock
from tinygpu.simulate.fault import EACH, Faults, Race, unflat
from tinygpu.simulate.memory import Place


@dataclass(frozen=True, slots=True)
class Access:
    """The points of one access: `address[p]` of the array by lane `lane[p]` at moment `base + turn[p]`."""

    place: Place
    shape: tuple[int, ...]
    position: Array
    address: Array
    lane: Array
    turn: Array

    @classmethod
    def of(cls, place: Place, address: Array, points: Array, shape: tuple[int, ...]) -> Access:
        """The points of the mask; everything broadcasts to `shape`, whose last axis is the lanes'."""
        everywhere = np.broadcast_to(address, shape).reshape(-1)
        if points.all():
            position = np.arange(everywhere.size)
        else:
            position = np.flatnonzero(np.broadcast_to(points, shape))
            everywhere = everywhere[position]
        if all(extent == 1 for extent in shape[:-1]):
            return cls(place, shape, position, everywhere, position, np.zeros(1, np.int64))
        turn, lane = np.divmod(position, shape[-1])
        return cls(place, shape, position, everywhere, lane, turn)


@dataclass(slots=True)
class Log:
    """For each element the greatest keys of its accesses of one kind: those that rise and those that fall with the thread."""

    blocks: tuple[Array, Array]
    warps: tuple[Array, Array] | None

    @classmethod
    def of(cls, size: int, clock: Clock) -> Log:
        """Nobody has been there yet."""
        pairs = [(np.full(size, -1, np.int64), np.full(size, -1, np.int64)) for _ in range(1 if clock.warps is None else 2)]
        return cls(pairs[0], None if clock.warps is None else pairs[1])

    def note(self, access: Access, base: int, clock: Clock) -> None:
        """These accesses have happened."""
        by_block, by_warp = clock.keys()
        moment = access.turn + base
        for kept, keys in zip(self.blocks, by_block, strict=True):
            np.maximum.at(kept, access.address, keys[access.lane] + moment)
        if self.warps is not None and by_warp is not None:
            for kept, keys in zip(self.warps, by_warp, strict=True):
                np.maximum.at(kept, access.address, keys[access.lane] + moment)

    def others(self, access: Access, clock: Clock) -> tuple[Array, Array] | None:
        """For each point the key of an access that nothing orders before it, by another thread, or -1; and whether it is a falling one."""
        rising = self.blocks[0][access.address]
        now = rising >= clock.blocks.floor[access.lane]
        if not now.any():
            return None
        falling, mine = self.blocks[1][access.address], clock.blocks.thread[access.lane]
        first, second = clock.blocks.threads(rising), clock.blocks.threads(falling, True)
        if clock.warps is None or self.warps is None:
            return _choose(rising, now & (first != mine), falling, now & (second != mine))
        warp = mine // WARP
        key, falls = _choose(rising, now & (first // WARP != warp), falling, now & (second // WARP != warp))
        rising, falling = (kept[access.address] for kept in self.warps)
        first, second = clock.warps.threads(rising), clock.warps.threads(falling, True)
        now &= (key < 0) & (rising >= clock.warps.floor[access.lane])
        inner, inner_falls = _choose(rising, now & (first != mine), falling, now & (second != mine))
        return np.where(inner < 0, key, inner), np.where(inner < 0, falls, inner_falls)


def _choose(rising: Array, rises: Array, falling: Array, falls: Array) -> tuple[Array, Array]:
    return np.where(rises, rising, np.where(falls, falling, -1)), np.logical_not(rises)


@dataclass(slots=True)
class Shadow:
    """Of one array: `size` elements in all, of which each block of the group has `each` (in global memory, one piece serves all)."""

    name: str
    extents: tuple[int, ...]
    size: int
    each: int
    clock: Clock
    logs: dict[str, Log] = field(default_factory=dict)

    def touch(self, kind: str, access: Access, faults: Faults) -> None:
        """Notes an access, and as races those that it makes with earlier ones, or with others of its own."""
        base = self.clock.open(access.place, access.shape)
        for other, log in self.logs.items():
            if other != kind and (kind != READ or other != READ):
                self._report(other, kind, log, access, base, faults)
        if kind not in self.logs:
            self.logs[kind] = Log.of(self.size, self.clock)
        self.logs[kind].note(access, base, self.clock)
        if kind == STORE and self.clock.per_block:  # two stores in one launch are seen by the array itself
            self._report(kind, kind, self.logs[kind], access, base, faults)

    def _report(self, other: str, kind: str, log: Log, access: Access, base: int, faults: Faults) -> None:
        found = log.others(access, self.clock)
        if found is None or not (found[0] >= 0).any():
            return
        for point, key, falls in self._pairs(kind == other, access, base, *found):
            address = int(access.address[point])
            first = self.clock.who(key, falls, address // max(1, self.each))
            at = access.place.at(access.shape, int(access.position[point]))
            what = "-".join(READ if k == READ else "write" for k in (other, kind))
            atomic = (other not in (READ, STORE), kind not in (READ, STORE))
            scope = "block" if self.clock.per_block else "launch"
            index = unflat(address % max(1, self.each), self.extents)
            faults.add(Race(at, self.name, index, first, what, scope, atomic), access.place.span)

    def _pairs(self, same: bool, access: Access, base: int, keys: Array, falls: Array) -> Iterator[tuple[int, int, bool]]:
        """The first few points that meet an earlier access; of two in one access, the later one."""
        scale = self.clock.blocks
        moment = np.broadcast_to(access.turn + base, keys.shape)
        then = keys & ((1 << scale.shift) - 1)
        there = np.where(falls, scale.threads(keys, True), scale.threads(keys))
        early = then < moment if not same else (then < moment) | ((then == moment) & (there < scale.thread[access.lane]))
        for point in np.flatnonzero((keys >= 0) & early)[:EACH]:
            yield int(point), int(keys[point]), bool(falls[point])
