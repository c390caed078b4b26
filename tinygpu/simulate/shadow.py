"""Shadow memory: who has touched each element of an array that threads share, so that a race is seen when its second access comes.

    a race: two threads, one element, no barrier between, one of them writing, not both atomic with one monoid
    key = epoch · 2ᵏ + thread · 2ᵐ + moment          epoch: of the block, or of the warp; moment: when, in this run

Comes in: the accesses of many lanes at once, with their kind, and the barriers that threads pass. Goes out: races, exactly; and second stores of
a launch. The one idea: two accesses of a block have a barrier between them just where their epochs differ, and of all accesses of a kind to an
element it is enough to know the greatest and the least thread of the present epoch: whoever comes next, one of these two is another one.
(Where a warp has barriers too, the same is kept by its epochs. That is about one warp, as two warps meet by the first pair already.)
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

import numpy as np

from tinygpu.category.number import Array, Value
from tinygpu.program.arrays import COPY, PLAIN_ACCESSES, READ, STORE
from tinygpu.program.step import WARP
from tinygpu.record import dataclass, field
from tinygpu.simulate.box import unflat
from tinygpu.simulate.fault import EACH, At, DoubleStore, Faults, Race, SimulationBudget
from tinygpu.simulate.group import Execution, Group
from tinygpu.simulate.landing import Flights, Groups, unit_of

BITS = 62
EPOCHS = 20  # bits of an epoch, where there are barriers


@dataclass(frozen=True, slots=True)
class Access:
    """The points of one access: `address[p]` of the array by lane `lane[p]` in iteration `turn[p]`."""

    place: Execution
    shape: tuple[int, ...]
    position: Array
    address: Array
    lane: Array
    turn: Array

    @classmethod
    def of(cls, place: Execution, address: Value, points: Array, more: tuple[int, ...] = ()) -> Access:
        """The points of the mask; the last axis is the lanes'."""
        shape = np.broadcast_shapes(np.shape(address), points.shape, more, (place.group.lanes,))
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

    def spread(self, value: Value) -> Array:
        """A value of each point."""
        return np.broadcast_to(value, self.shape).reshape(-1)[self.position]


@dataclass(slots=True)
class Moments:
    """The moments of a run, one for each iteration of each access, and what happened at them."""

    next: int = 0
    bases: list[int] = field(default_factory=list)
    events: list[tuple[Execution, tuple[int, ...]]] = field(default_factory=list)

    def open(self, place: Execution, shape: tuple[int, ...]) -> int:
        """The first moment of an access at points of that shape."""
        base = self.next
        self.bases.append(base)
        self.events.append((place, shape))
        self.next += int(np.prod(shape[:-1], dtype=np.int64))
        return base

    def who(self, moment: int, block: int, thread: int) -> At:
        """What that thread of that block (of the launch) did at that moment."""
        number = bisect_right(self.bases, moment) - 1
        place, shape = self.events[number]
        group = place.group
        lane = int(np.flatnonzero(group.blocks == block)[0]) * group.threads + int(group.place[thread])
        return place.at(shape, (moment - self.bases[number]) * shape[-1] + lane)


@dataclass(slots=True)
class Scale:
    """Keys of accesses whose order is counted in epochs of some kind: of blocks, of warps, or in one only (a launch).

    `thread` and `epoch` are those of each lane; who has the same number of `apart` threads is one: a thread, or a warp where those have
    a scale of their own. `bits` are those of a thread's number, `shift` those of a moment. `floor` is the least key of each lane's epoch,
    `keys` are those that grow with the thread, and those that fall with it; the moment is to be added.
    """

    thread: Array
    bits: int
    shift: int
    apart: int
    epoch: Array
    floor: Array
    keys: tuple[Array, Array]

    @classmethod
    def of(cls, thread: Array, threads: int, epochs: int, apart: int = 1) -> Scale:
        """At the first epoch of 2 to the `epochs`."""
        bits, start = (threads - 1).bit_length(), np.zeros(len(thread), np.int64)
        scale = cls(thread, bits, BITS - bits - epochs, apart, start, start, (start, start))
        scale.begin(start)
        return scale

    def begin(self, epoch: Array) -> None:
        """The lanes are at that epoch."""
        last = (1 << self.bits) - 1
        self.epoch, self.floor = epoch, epoch << (self.shift + self.bits)
        self.keys = self.floor + (self.thread << self.shift), self.floor + ((last - self.thread) << self.shift)

    def threads(self, key: Array, falling: bool = False) -> Array:
        """The threads of keys."""
        last = (1 << self.bits) - 1
        thread = (key >> self.shift) & last
        return np.asarray(last - thread if falling else thread)

    def moment(self, key: Value) -> Value:
        """The moment of a key."""
        return key & ((1 << self.shift) - 1)

    def pass_barrier(self, mask: Array, epoch: Array) -> None:
        """The lanes of the mask are at that epoch."""
        if int(epoch.max(initial=0)) >> EPOCHS:
            raise SimulationBudget("the run passes more barriers than can be counted: use smaller sizes")
        self.begin(np.where(mask, epoch, self.epoch))


@dataclass(slots=True)
class Clock:
    """The time of a group of blocks, by block and, where warps have barriers of their own, by warp; and of what lands later, where something does."""

    group: Group
    moments: Moments
    scales: tuple[Scale, ...]
    per_block: bool = True
    late: Groups | None = None

    @classmethod
    def of_block(cls, group: Group, warp_barriers: bool, late: Groups | None = None) -> Clock:
        """The clock of shared memory: barriers order the threads of a block."""
        sides = (WARP, 1) if warp_barriers else (1,)
        return cls(group, Moments(), tuple(Scale.of(group.thread, group.threads, EPOCHS, side) for side in sides), late=late)

    @classmethod
    def of_launch(cls, group: Group, blocks: int, moments: Moments) -> Clock:
        """The clock of global memory: nothing orders two threads of a launch."""
        thread = group.blocks[group.block] * group.threads + group.thread
        return cls(group, moments, (Scale.of(thread, blocks * group.threads, 0),), False)

    def barrier(self, scope: str, mask: Array) -> None:
        """These lanes have passed a barrier of the block or of their warps."""
        (self.block_barrier if scope == "block" else self.warp_barrier)(mask)
        if self.late is not None:
            self.late.barrier(scope, mask)

    def block_barrier(self, mask: Array) -> None:
        """The blocks of these lanes have passed a barrier, and with them their warps, later than all that any warp of the block has counted."""
        for scale in self.scales:
            scale.pass_barrier(mask, self.group.of_blocks(scale.epoch).max(-1)[self.group.block] + 1)
        if mask.all():  # nobody will ask about the moments so far
            self.moments.bases.clear()
            self.moments.events.clear()

    def warp_barrier(self, mask: Array) -> None:
        """The warps of these lanes have passed a barrier."""
        for scale in self.scales[1:]:
            scale.pass_barrier(mask, scale.epoch + 1)

    def open(self, access: Access) -> int:
        """The first moment of an access."""
        base = self.moments.open(access.place, access.shape)
        if self.moments.next >> self.scales[0].shift:
            raise SimulationBudget("the run has more accesses than can be told apart: use smaller sizes")
        return base

    def who(self, key: int, falling: bool, block: int) -> At:
        """Who made the access with that key, at an element of that block of the group (in a launch: wherever)."""
        scale = self.scales[0]
        thread = int(scale.threads(np.asarray(key), falling))
        number, own = (int(self.group.blocks[block]), thread) if self.per_block else divmod(thread, self.group.threads)
        return self.moments.who(scale.moment(key), number, own)


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
    logs: dict[str, Log] = field(default_factory=dict)
    flights: Flights | None = None
    last: Array | None = None

    def touch(self, kind: str, access: Access, faults: Faults) -> None:
        """Notes an access, and as faults those that it makes with earlier ones, or with others of its own."""
        base = self.clock.open(access)
        if self.clock.late is not None:
            self.flights = self.flights or Flights(self.name, self.extents, self.size, max(1, self.each))
            unit, plain = unit_of(access.place.step, kind), (log for other, log in self.logs.items() if other != COPY)
            self.flights.touch(access, unit, kind != READ, self.clock, plain, faults)
        if self.mixed:
            for other, log in self.logs.items():
                if other != kind and (kind != READ or other != READ):
                    self._report(other, kind, log, access, base, faults)
            if kind not in self.logs:
                self.logs[kind] = Log.of(self.size, self.clock)
            self.logs[kind].note(access, base, self.clock)
        if kind in (STORE, COPY) and self.clock.per_block:
            self._report(kind, kind, self.logs[kind], access, base, faults)
        elif kind == STORE:
            self._store(access, base, faults)

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

    def _report(self, other: str, kind: str, log: Log, access: Access, base: int, faults: Faults) -> None:
        found = log.others(access, self.clock)
        for point, key, falls in () if found is None else self._pairs(kind == other, access, base, *found):
            address = int(access.address[point])
            first = self.clock.who(key, falls, address // max(1, self.each))
            at = access.place.at(access.shape, int(access.position[point]))
            what = "-".join(READ if k == READ else "write" for k in (other, kind))
            atomic = (other not in PLAIN_ACCESSES, kind not in PLAIN_ACCESSES)
            scope = "block" if self.clock.per_block else "launch"
            index = unflat(address % max(1, self.each), self.extents)
            faults.add(Race(at, self.name, index, first, what, scope, atomic), access.place.span)

    def _pairs(self, same: bool, access: Access, base: int, keys: Array, falls: Array) -> Iterator[tuple[int, int, bool]]:
        """The first few points that meet an earlier access; of two in one access, the later one."""
        scale = self.clock.scales[0]
        moment = np.broadcast_to(access.turn + base, keys.shape)
        then, there = scale.moment(keys), np.where(falls, scale.threads(keys, True), scale.threads(keys))
        early = then < moment if not same else (then < moment) | ((then == moment) & (there < scale.thread[access.lane]))
        for point in np.flatnonzero((keys >= 0) & early)[:EACH]:
            yield int(point), int(keys[point]), bool(falls[point])
