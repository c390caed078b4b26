"""The time of a run: when lanes touch what they share, as barriers count it, and as the turns of rings do.

    key = epoch · 2ᵏ + thread · 2ᵐ + moment          epoch: of the block, of the warp, or the turn of a ring; moment: when, in this run

Comes in: the lanes of a group, and the barriers and sections that they pass. Goes out: keys of accesses, and the least that is not ordered before now. The
one idea: whatever orders threads is a number of each lane that grows, and what it was is in the key.
"""

from __future__ import annotations

from bisect import bisect_right

import numpy as np

from tinygpu.category.number import Array, Value
from tinygpu.program.step import WARP
from tinygpu.record import dataclass, field
from tinygpu.simulate.fault import At, SimulationBudget
from tinygpu.simulate.group import Execution, Group
from tinygpu.simulate.landing import Groups
from tinygpu.simulate.rings import Role

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
    rounds: dict[str, Round] = field(default_factory=dict)

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

    def turns(self, mine: Role | None, other: Role | None = None) -> Clock | None:
        """The clock of a ring's turns in whose section lanes are, at which an access in another section counts as before them, or is written down."""
        since = None if self.late is None else self.late.rings.before(other or mine)
        if mine is None or since is None or self.late is None:
            return None
        if mine[0] not in self.rounds:
            scales = tuple(Scale.of(self.group.thread, self.group.threads, EPOCHS, side) for side in (WARP, 1))
            none = np.zeros(self.group.lanes, np.int64)
            self.rounds[mine[0]] = Round(Clock(self.group, self.moments, scales), none)
        return self.rounds[mine[0]].at(self.late.rings.turn, max(0, since))

    def barrier(self, scope: str, mask: Array) -> None:
        """These lanes have passed a barrier of the block or of their warps."""
        (self.block_barrier if scope == "block" else self.warp_barrier)(mask)
        if self.late is not None:
            self.late.barrier(scope, mask)

    def block_barrier(self, mask: Array) -> None:
        """The blocks of these lanes have passed a barrier, and with them their warps, later than all that any warp of the block has counted."""
        for scale in self.scales:
            scale.pass_barrier(mask, self.group.of_blocks(scale.epoch).max(-1)[self.group.block] + 1)
        if mask.all() and not self.rounds:  # nobody will ask about the moments so far
            self.moments.bases.clear()
            self.moments.events.clear()

    def warp_barrier(self, mask: Array) -> None:
        """The warps of these lanes have passed a barrier."""
        for scale in self.scales[1:]:
            scale.pass_barrier(mask, scale.epoch + 1)
        for one in self.rounds.values():
            one.warp_barrier(mask)

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
class Round:
    """The clock of a ring: of other warps its turns count, and within a warp the barriers in them, too. `met`: of each lane the epoch at its warp's last
    barrier; `begun`: of each turn the first epoch, the same for all warps, so that what another one did in an earlier turn is earlier."""

    clock: Clock
    met: Array
    begun: dict[int, int] = field(default_factory=dict)

    def at(self, turn: int, since: int) -> Clock:
        """The clock at a turn, where what was done before another one is ordered."""
        turns, warps = self.clock.scales
        if turn not in self.begun:
            self.begun[turn] = int(warps.epoch.max()) + 1
            warps.pass_barrier(np.ones(len(self.met), np.bool_), np.full(len(self.met), self.begun[turn], np.int64))
        turns.begin(np.full(len(self.met), turn, np.int64))
        first = next((self.begun[t] for t in range(since, turn + 1) if t in self.begun), int(warps.epoch.max()) + 1)
        for scale, least in ((turns, np.full(len(self.met), since, np.int64)), (warps, np.maximum(self.met, first))):
            scale.floor = least << (scale.shift + scale.bits)
        return self.clock

    def warp_barrier(self, mask: Array) -> None:
        """The warps of these lanes have passed a barrier."""
        _, warps = self.clock.scales
        warps.pass_barrier(mask, warps.epoch + 1)
        self.met = np.where(mask, warps.epoch, self.met)
