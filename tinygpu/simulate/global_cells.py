"""The simulator's global arrays that launches write: outputs and workspaces.

Comes in: accesses of many lanes at once, and what the launch at hand does with the array at all. Goes out: values, and faults: an element
that nobody has written, two stores, a read of what the launch writes, a store among atomic updates.
The one idea: what earlier launches wrote is there; threads of one launch know nothing of each other.
"""

from __future__ import annotations

import numpy as np

from tinygpu.category.number import Array, Value, zeros
from tinygpu.program.access import READ, STORE
from tinygpu.record import dataclass, field
from tinygpu.simulate.fault import EACH, At, DoubleStore, Faults, ReadOutput, Uninitialised, unflat
from tinygpu.simulate.memory import Place, flat, inside, offenders
from tinygpu.simulate.shadow import Access, Shadow
from tinygpu.simulate.update import combine


@dataclass(slots=True)
class Global:
    """`written`: by anybody so far; `ready`: by earlier launches. `event`, `position`: who stored an element in this launch.

    The shadow is there where this launch accesses the array in more than one way.
    """

    name: str
    dtype: str
    output: bool
    shape: tuple[int, ...]
    values: Array
    written: Array
    ready: Array
    event: Array
    position: Array
    shadow: Shadow | None = None
    events: list[tuple[Place, tuple[int, ...]]] = field(default_factory=list)

    @classmethod
    def of(cls, name: str, dtype: str, output: bool, shape: tuple[int, ...], values: Array) -> Global:
        """Nothing is written."""
        nothing = np.zeros(values.size, np.bool_)
        none = np.zeros(0, np.int64)
        return cls(name, dtype, output, shape, values, nothing, nothing, none, none)

    def begin(self, kinds: frozenset[str]) -> None:
        """A launch begins that does this with the array."""
        self.shadow = None
        self.events.clear()
        self.ready = self.written if kinds <= {READ} else self.written.copy()
        if STORE in kinds:
            self.event, self.position = np.full(self.values.size, -1, np.int32), np.full(self.values.size, -1, np.int64)

    def peek(self, index: tuple[Value, ...]) -> Value:
        """The values at an index that is inside."""
        if self.values.size == 0:
            return zeros(np.broadcast_shapes(*map(np.shape, index)), self.values.dtype)
        return self.values[flat(index, self.shape)]

    def read(self, index: tuple[Value, ...], mask: Array, place: Place, faults: Faults) -> Value:
        """The elements that an earlier launch has written; the run goes on with what is there."""
        kept, points = inside(self.name, self.shape, index, mask, place, faults)
        if self.values.size == 0:
            return self.peek(kept)
        address = np.asarray(flat(kept, self.shape))
        # a thread may read back what it has left in a workspace itself; an output it may not
        good = (self.ready if self.output else self.written)[address]
        bad = np.logical_and(points, np.logical_not(good))
        if bad.any():
            for at, full, _ in offenders(bad, index, place):
                none = ReadOutput(at, self.name, full) if self.output else Uninitialised(at, self.name, full, "launch")
                faults.add(none, place.span)
        self._touch(READ, address, points, place, faults)
        return self.values[address]

    def update(self, monoid: str, index: tuple[Value, ...], value: Value, mask: Array, place: Place, faults: Faults) -> None:
        """Atomic: points that meet are combined, with what an earlier launch left."""
        kept, points = inside(self.name, self.shape, index, mask, place, faults)
        address = np.asarray(flat(kept, self.shape))
        if self.values.size:
            bad = np.logical_and(points, np.logical_not(self.written[address]))
            if bad.any():
                for at, full, _ in offenders(bad, index, place):
                    faults.add(Uninitialised(at, self.name, full, "launch"), place.span)
        self._touch(monoid, address, points, place, faults)
        shape = np.broadcast_shapes(points.shape, np.shape(value), address.shape, (place.group.lanes,))
        access = Access.of(place, address, points, shape)
        given = np.broadcast_to(value, access.shape).reshape(-1)[access.position]
        combine(monoid, self.values, access.address, given)

    def store(self, index: tuple[Value, ...], value: Value, mask: Array, place: Place, faults: Faults) -> None:
        """Stores where the mask holds, in the order of the points; a second store of an element in one launch is a fault."""
        kept, points = inside(self.name, self.shape, index, mask, place, faults)
        address = np.asarray(flat(kept, self.shape))
        self._touch(STORE, address, points, place, faults)
        shape = np.broadcast_shapes(points.shape, np.shape(value), address.shape, (place.group.lanes,))
        positions = np.flatnonzero(np.broadcast_to(points, shape))
        where = np.broadcast_to(address, shape).reshape(-1)[positions]
        self.events.append((place, shape))
        again = np.flatnonzero(self.event[where] >= 0)[:EACH]
        for spot in again:
            self._twice(where[spot], place, shape, positions[spot], faults)
        self.event[where] = len(self.events) - 1
        self.position[where] = positions
        self.written[where] = True
        self.values[where] = np.broadcast_to(value, shape).reshape(-1)[positions]
        # Two points of this event with one address: the last has overwritten the mark of the first.
        if (self.position[where] != positions).any():
            _, first, address = np.unique(where, return_index=True, return_inverse=True)
            for spot in np.flatnonzero(first[address] != np.arange(len(where)))[:EACH]:
                one = place.at(shape, int(positions[first[address[spot]]]))
                self._twice(where[spot], place, shape, positions[spot], faults, earlier=one)

    def _touch(self, kind: str, address: Array, points: Array, place: Place, faults: Faults) -> None:
        if self.shadow is not None and self.values.size:
            shape = np.broadcast_shapes(points.shape, address.shape, (place.group.lanes,))
            self.shadow.touch(kind, Access.of(place, address, points, shape), faults)

    def _twice(
        self, address: int, place: Place, shape: tuple[int, ...], position: int, faults: Faults, earlier: At | None = None
    ) -> None:
        if earlier is None:
            before, points = self.events[self.event[address]]
            earlier = before.at(points, int(self.position[address]))
        faults.add(DoubleStore(place.at(shape, int(position)), self.name, unflat(address, self.shape), earlier), place.span)
