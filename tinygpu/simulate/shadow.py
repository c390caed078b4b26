"""Shadow memory: who has touched each element of an array that threads share, so that a race is seen when its second access comes.

    a race: two threads, one element, no barrier between, nor an edge of a ring, one of them writing, not both atomic with one monoid

Comes in: the accesses of many lanes at once, with their kind, and their time. Goes out: races, exactly; and second stores of
a launch. The one idea: two accesses of a block have a barrier between them just where their epochs differ, and of all accesses of a kind to an
element it is enough to know the greatest and the least thread of the present epoch: whoever comes next, one of these two is another one.
(Where a warp has barriers too, the same is kept by its epochs. That is about one warp, as two warps meet by the first pair already. What is done in
sections of rings is kept by their turns as well.)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np

from tinygpu.category.number import Array
from tinygpu.program.arrays import COPY, PLAIN_ACCESSES, READ, STORE
from tinygpu.record import dataclass, field
from tinygpu.simulate.box import unflat
from tinygpu.simulate.clock import Access, Clock
from tinygpu.simulate.fault import EACH, DoubleStore, Faults, Race
from tinygpu.simulate.landing import Flights, unit_of
from tinygpu.simulate.rings import Role

Kind: TypeAlias = tuple[str, Role | None]  # of accesses: what they do, and in which section of a ring


@dataclass(slots=True)
class Log:
    """For each element the greatest keys of its accesses of one kind, by each scale: those that rise and those that fall with the thread."""

    pairs: tuple[tuple[Array, Array], ...]

    @classmethod
    def of(cls, size: int, clock: Clock) -> Log:
        """Nobody has been there yet."""
        return cls(tuple((np.full(size, -1, np.int64), np.full(size, -1, np.int64)) for _ in clock.scales))

    def note(self, access: Access, base: int, clock: Clock) -> None:
        """These accesses have happened."""
        moment = access.turn + base
        for pair, scale in zip(self.pairs, clock.scales, strict=True):
            for kept, keys in zip(pair, scale.keys, strict=True):
                np.maximum.at(kept, access.address, keys[access.lane] + moment)

    def others(self, access: Access, clock: Clock) -> tuple[Array, Array] | None:
        """For each point the key of an access that nothing orders before it, by another thread, or -1; and whether it is a falling one."""
        key: Array | None = None
        falls = np.asarray(True)
        for (highest, lowest), scale in zip(self.pairs, clock.scales, strict=True):
            rising = highest[access.address]
            now = rising >= scale.floor[access.lane]
            if key is not None:  # of another warp somebody is known already
                now &= key < 0
            if not now.any():
                break
            falling, mine = lowest[access.address], scale.thread[access.lane] // scale.apart
            first = now & (scale.threads(rising) // scale.apart != mine)
            second = now & (scale.threads(falling, True) // scale.apart != mine)
            key = np.where(first, rising, np.where(second, falling, -1 if key is None else key))
            falls = falls & np.logical_not(first)
        return None if key is None or not (key >= 0).any() else (key, falls)


@dataclass(slots=True)
class Shadow:
    """Of one array: `size` elements in all, of which each block of the group has `each` (in global memory, one piece serves all). `mixed`: it is
    accessed in more than one way; `last`: of each element of global memory the key of its store in this launch."""

    name: str
    extents: tuple[int, ...]
    size: int
    each: int
    clock: Clock
    mixed: bool = True
    logs: dict[Kind, Log] = field(default_factory=dict)
    turns: dict[Kind, Log] = field(default_factory=dict)
    flights: Flights | None = None
    last: Array | None = None

    def touch(self, kind: str, access: Access, faults: Faults) -> None:
        """Notes an access, and as faults those that it makes with earlier ones, or with others of its own."""
        base, late = self.clock.open(access), self.clock.late
        mine = kind, late.rings.role if late is not None and self.clock.per_block else None
        if late is not None:
            self.flights = self.flights or Flights(self.name, self.extents, self.size, max(1, self.each))
            plain = (self.by(other, mine) for other in self.logs if other[0] != COPY)
            self.flights.touch(access, unit_of(access.place.step, kind), kind != READ, self.clock, plain, faults)
        stores = kind in (STORE, COPY)
        for other in self.logs if self.mixed else ():
            if other != mine and (kind != READ or other[0] != READ) and (other[0] != kind or stores):
                self._report(other, mine, access, base, faults)
        if self.mixed or (stores and self.clock.per_block):
            for logs, clock in ((self.logs, self.clock), (self.turns, self.clock.turns(mine[1]))):
                if clock is not None:
                    if mine not in logs:
                        logs[mine] = Log.of(self.size, clock)
                    logs[mine].note(access, base, clock)
        if stores and self.clock.per_block:
            self._report(mine, mine, access, base, faults)
        elif kind == STORE:
            self._store(access, base, faults)

    def by(self, other: Kind, mine: Kind) -> tuple[Log, Clock]:
        """What tells whether accesses of another kind are ordered before those of this one: the turns of their ring, or barriers."""
        turns = self.clock.turns(mine[1], other[1]) if other[1] else None
        return (self.logs[other], self.clock) if turns is None else (self.turns[other], turns)

    def _store(self, access: Access, base: int, faults: Faults) -> None:
        """In one launch an element is stored once, whoever does it."""
        if self.last is None:
            self.last = np.full(self.size, -1, np.int64)
        keys = self.clock.scales[0].keys[0][access.lane] + access.turn + base
        before = self.last[access.address]
        self.last[access.address] = keys
        twice = [(point, before[point]) for point in np.flatnonzero(before >= 0)[:EACH]]
        if (self.last[access.address] != keys).any():  # the last of two points has overwritten the mark of the first
            _, first, element = np.unique(access.address, return_index=True, return_inverse=True)
            again = np.flatnonzero(first[element] != np.arange(len(element)))[:EACH]
            twice += [(point, keys[first[element[point]]]) for point in again]
        for point, key in twice:
            at, index = access.place.at(access.shape, int(access.position[point])), unflat(access.address[point], self.extents)
            faults.add(DoubleStore(at, self.name, index, self.clock.who(int(key), False, 0)), access.place.span)

    def _report(self, before: Kind, now: Kind, access: Access, base: int, faults: Faults) -> None:
        if not faults.room(Race, self.name, access.place.span):
            return
        (other, _), (kind, _), (log, clock) = before, now, self.by(before, now)
        found = log.others(access, clock)
        for point, key, falls in () if found is None else self._pairs(clock, before == now, access, base, *found):
            address = int(access.address[point])
            first = clock.who(key, falls, address // max(1, self.each))
            at = access.place.at(access.shape, int(access.position[point]))
            what = "-".join(READ if k == READ else "write" for k in (other, kind))
            atomic = (other not in PLAIN_ACCESSES, kind not in PLAIN_ACCESSES)
            scope = "block" if self.clock.per_block else "launch"
            index = unflat(address % max(1, self.each), self.extents)
            faults.add(Race(at, self.name, index, first, what, scope, atomic), access.place.span)

    def _pairs(
        self, clock: Clock, same: bool, access: Access, base: int, keys: Array, falls: Array
    ) -> Iterator[tuple[int, int, bool]]:
        """The first few points that meet an earlier access; of two in one access, the later one."""
        scale = clock.scales[0]
        moment = np.broadcast_to(access.turn + base, keys.shape)
        then, there = scale.moment(keys), np.where(falls, scale.threads(keys, True), scale.threads(keys))
        early = then < moment if not same else (then < moment) | ((then == moment) & (there < scale.thread[access.lane]))
        for point in np.flatnonzero((keys >= 0) & early)[:EACH]:
            yield int(point), int(keys[point]), bool(falls[point])
