"""Clocks: which of a group's accesses nothing orders, as numbers that can be compared.

    key = epoch · 2ᵏ + thread · 2ᵐ + moment          epoch: of the block, or of the warp; moment: when, in this run

Comes in: barriers that threads pass. Goes out: for every lane the keys of its next access, the least key that still meets it, and for a
key who that was. The one idea: two accesses of a block have a barrier between them just where their epochs differ, so the largest key of
an element tells whether anything is there that nothing orders.
"""

from __future__ import annotations

from bisect import bisect_right

import numpy as np

from tinygpu.category.number import Array
from tinygpu.record import dataclass, field
from tinygpu.simulate.fault import At, SimulationBudget
from tinygpu.simulate.group import Group
from tinygpu.simulate.memory import Place

BITS = 62
EPOCHS = 20  # bits of an epoch, where there are barriers


@dataclass(slots=True)
class Moments:
    """The moments of a run, one for each iteration of each access, and what happened at them."""

    next: int = 0
    bases: list[int] = field(default_factory=list)
    events: list[tuple[Place, tuple[int, ...]]] = field(default_factory=list)

    def open(self, place: Place, shape: tuple[int, ...]) -> int:
        """The first moment of an access at points of that shape."""
        base = self.next
        self.bases.append(base)
        self.events.append((place, shape))
        self.next += int(np.prod(shape[:-1], dtype=np.int64))
        return base

    def forget(self) -> None:
        """Nobody will ask about the moments so far."""
        self.bases.clear()
        self.events.clear()

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

    `thread` and `epoch` are those of each lane, `bits` those of a thread's number, `shift` those of a moment.
    """

    thread: Array
    epoch: Array
    bits: int
    shift: int

    @classmethod
    def of(cls, thread: Array, threads: int, epochs: int) -> Scale:
        """At the first epoch of 2 to the `epochs`."""
        bits = (threads - 1).bit_length()
        return cls(thread, np.zeros(len(thread), np.int64), bits, BITS - bits - epochs)

    @property
    def floor(self) -> Array:
        """The least key of each lane's present epoch."""
        return self.epoch << (self.shift + self.bits)

    def keys(self) -> tuple[Array, Array]:
        """Keys that grow with the thread, and keys that fall with it; the moment is to be added."""
        floor, last = self.floor, (1 << self.bits) - 1
        return floor + (self.thread << self.shift), floor + ((last - self.thread) << self.shift)

    def threads(self, key: Array, falling: bool = False) -> Array:
        """The threads of keys."""
        last = (1 << self.bits) - 1
        thread = (key >> self.shift) & last
        return np.asarray(last - thread if falling else thread)

    def moment(self, key: int) -> int:
        """The moment of a key."""
        return key & ((1 << self.shift) - 1)


@dataclass(slots=True)
class Clock:
    """The time of a group of blocks. `warps` is there where warps have barriers of their own. Keys are kept until a barrier is passed."""

    group: Group
    moments: Moments
    blocks: Scale
    warps: Scale | None
    per_block: bool = True
    kept: tuple[tuple[Array, Array], tuple[Array, Array] | None] | None = None

    @classmethod
    def of_block(cls, group: Group, warp_barriers: bool) -> Clock:
        """The clock of shared memory: barriers order the threads of a block."""
        blocks, warps = (Scale.of(group.thread, group.threads, EPOCHS) for _ in range(2))
        return cls(group, Moments(), blocks, warps if warp_barriers else None)

    @classmethod
    def of_launch(cls, group: Group, blocks: int, moments: Moments) -> Clock:
        """The clock of global memory: nothing orders two threads of a launch."""
        thread = group.blocks[group.block] * group.threads + group.thread
        return cls(group, moments, Scale.of(thread, blocks * group.threads, 0), None, False)

    def block_barrier(self, mask: Array) -> None:
        """The blocks of these lanes have passed a barrier, and with them their warps."""
        self.kept = None
        self._check(self.blocks.epoch + 1)
        self.blocks.epoch = np.where(mask, self.blocks.epoch + 1, self.blocks.epoch)
        if self.warps is not None:  # later than all that any warp of the block has counted
            latest = self.group.of_blocks(self.warps.epoch).max(-1)[self.group.block] + 1
            self._check(latest)
            self.warps.epoch = np.where(mask, latest, self.warps.epoch)
        if mask.all():
            self.moments.forget()

    def warp_barrier(self, mask: Array) -> None:
        """The warps of these lanes have passed a barrier."""
        self.kept = None
        if self.warps is not None:
            self._check(self.warps.epoch + 1)
            self.warps.epoch = np.where(mask, self.warps.epoch + 1, self.warps.epoch)

    def keys(self) -> tuple[tuple[Array, Array], tuple[Array, Array] | None]:
        """The keys of the lanes now, by block and by warp."""
        if self.kept is None:
            self.kept = self.blocks.keys(), None if self.warps is None else self.warps.keys()
        return self.kept

    def open(self, place: Place, shape: tuple[int, ...]) -> int:
        """The first moment of an access at points of that shape."""
        base = self.moments.open(place, shape)
        if self.moments.next >> self.blocks.shift:
            raise SimulationBudget("the run has more accesses than can be told apart: use smaller sizes")
        return base

    def who(self, key: int, falling: bool, block: int) -> At:
        """Who made the access with that key, at an element of that block of the group (in a launch: wherever)."""
        thread, moment = int(self.blocks.threads(np.asarray(key), falling)), self.blocks.moment(key)
        number, own = (int(self.group.blocks[block]), thread) if self.per_block else divmod(thread, self.group.threads)
        return self.moments.who(moment, number, own)

    def _check(self, epochs: Array) -> None:
        if int(epochs.max(initial=0)) >> EPOCHS:
            raise SimulationBudget("the run passes more barriers than can be counted: use smaller sizes")
