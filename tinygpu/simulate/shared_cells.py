"""The simulator's shared arrays: one piece for each block of a group, whose threads all read and write it.

Comes in: accesses of many lanes at once. Goes out: values, and faults: cells that nobody has written, races.
The one idea: a cell has one address for all threads of its block, so shadow memory by address sees who meets whom.
"""

from __future__ import annotations

import numpy as np

from tinygpu.category.number import Array, Value, zeros
from tinygpu.program.access import READ, STORE
from tinygpu.record import dataclass
from tinygpu.simulate.fault import Faults, Uninitialised
from tinygpu.simulate.memory import Place, flat, inside, offenders
from tinygpu.simulate.shadow import Access, Shadow
from tinygpu.simulate.update import combine


@dataclass(slots=True)
class SharedCells:
    """A shared array in every block of a group. Where a cell lies in memory (its layout) changes nothing here."""

    name: str
    extents: tuple[int, ...]
    values: Array
    written: Array
    shadow: Shadow
    offset: Array  # of each lane: where its block's cells begin

    def peek(self, index: tuple[Value, ...]) -> Value:
        """The values at an index that is inside, unseen by the shadow."""
        return self.values[flat(index, self.extents) + self.offset] if self.values.size else zeros(1, self.values.dtype)

    def read(self, index: tuple[Value, ...], mask: Array, place: Place, faults: Faults) -> Value:
        """The elements at the index; one that no thread of the block has written is a fault."""
        kept, points = inside(self.name, self.extents, index, mask, place, faults)
        if self.values.size == 0:
            return zeros(1, self.values.dtype)
        address = flat(kept, self.extents) + self.offset
        self._written(address, points, index, place, faults)
        self.shadow.touch(READ, _access(place, address, points), faults)
        return self.values[address]

    def store(self, index: tuple[Value, ...], value: Value, mask: Array, place: Place, faults: Faults) -> None:
        """Writes where the mask holds, in the order of the points."""
        kept, points = inside(self.name, self.extents, index, mask, place, faults)
        if self.values.size == 0:
            return
        access = _access(place, flat(kept, self.extents) + self.offset, points, value)
        self.shadow.touch(STORE, access, faults)
        self.values[access.address] = np.broadcast_to(value, access.shape).reshape(-1)[access.position]
        self.written[access.address] = True

    def update(self, monoid: str, index: tuple[Value, ...], value: Value, mask: Array, place: Place, faults: Faults) -> None:
        """Atomic: points that meet are combined."""
        kept, points = inside(self.name, self.extents, index, mask, place, faults)
        if self.values.size == 0:
            return
        address = flat(kept, self.extents) + self.offset
        self._written(address, points, index, place, faults)
        access = _access(place, address, points, value)
        self.shadow.touch(monoid, access, faults)
        given = np.broadcast_to(value, access.shape).reshape(-1)[access.position]
        combine(monoid, self.values, access.address, given)

    def _written(self, address: Array, points: Array, index: tuple[Value, ...], place: Place, faults: Faults) -> None:
        bad = np.logical_and(points, np.logical_not(self.written[address]))
        if bad.any():
            for at, full, _ in offenders(bad, index, place):
                faults.add(Uninitialised(at, self.name, full, "block"), place.span)


def _access(place: Place, address: Array, points: Array, value: Value = 0) -> Access:
    shape = np.broadcast_shapes(np.shape(address), points.shape, np.shape(value), (place.group.lanes,))
    return Access.of(place, address, points, shape)
