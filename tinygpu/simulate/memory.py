"""The simulator's memory: an array of any space, which watches its accesses.

Comes in: accesses of many lanes at once, `index` arrays with a mask, at a `Place` (the step and the variables around it).
Goes out: values, and faults. The one idea: a space is a policy: where the element of a lane lies, who must have written it, and who may meet
there; so there is one read, one store and one update. The last axis of every array of points is the lane; the axes before it are iterations.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinygpu.category.number import Array, Value, accumulate, zeros
from tinygpu.program.arrays import COPY, READ, STORE
from tinygpu.program.space import INPUT, OUTPUT, Space
from tinygpu.record import dataclass
from tinygpu.simulate.box import flat
from tinygpu.simulate.clock import Access
from tinygpu.simulate.fault import Faults, OutOfBounds, ReadOutput, Uninitialised
from tinygpu.simulate.group import Execution, offenders
from tinygpu.simulate.shadow import Shadow
from tinygpu.simulate.twin import Twin


@dataclass(slots=True)
class Memory:
    """The elements in a row; a thread's cells as one row of all lanes for each cell, since most indices are the same for all lanes.

    `written`: by anybody so far; `ready`: what may be read, of an output what earlier launches left, of an input all, else what is written. `offset`: of each lane, where its block's cells begin. The shadow is there where threads may meet, the twin where an output may lie in an input's memory.
    `induced`: a state, whose errors grow from turn to turn.
    """

    name: str
    space: Space
    extents: tuple[int, ...]
    values: Array
    written: Array
    ready: Array | None = None
    offset: Array | int = 0
    shadow: Shadow | None = None
    twin: Twin | None = None
    induced: bool = False

    @classmethod
    def of(cls, name: str, space: Space, extents: tuple[int, ...], values: Array, offset: Array | int = 0) -> Memory:
        """Nothing is written."""
        written = np.zeros(values.shape, np.bool_)
        return cls(name, space, extents, values, written, written.copy() if space is OUTPUT else written, offset)

    def clear(self, mask: Array) -> None:
        """A thread's array is declared anew for the lanes of the mask."""
        self.written[:, mask] = False

    def peek(self, index: tuple[Value, ...], mask: Array, place: Execution, faults: Faults) -> tuple[Value, Array]:
        """The elements at an index, unseen, and the points that are inside."""
        spot, points = self._find(index, mask, place, faults)
        return self._at(spot, index), points

    def read(self, index: tuple[Value, ...], mask: Array, place: Execution, faults: Faults) -> Value:
        """The elements at an index; one that is not ready is a fault, and the run goes on with what is there."""
        spot, points = self._find(index, mask, place, faults)
        if self.ready is not None and self.values.size:
            self._check(self.ready, spot, points, index, place, faults)
            if self.shadow is not None:
                self.shadow.touch(READ, Access.of(place, spot, points), faults)
        if self.twin is not None and self.space is INPUT and self.values.size:
            self.twin.read(Access.of(place, spot, points), faults)
        return self._at(spot, index)

    def store(
        self,
        index: tuple[Value, ...],
        value: Value,
        mask: Array,
        place: Execution,
        faults: Faults,
        monoid: str = "",
        pending: bool = False,
    ) -> None:
        """Writes where the mask holds, in the order of the points; the cells of one lane are distinct. With a monoid, points that meet are
        combined with each other and with what is there, in any order."""
        spot, points = self._find(index, mask, place, faults)
        if not self.values.size:
            return
        if self.space.owner == "thread":
            self._store_own(spot, value, points)
            return
        if monoid:
            self._check(self.written, spot, points, index, place, faults)
        access = Access.of(place, spot, points, np.shape(value))
        if self.shadow is not None:
            self.shadow.touch(monoid or (COPY if pending else STORE), access, faults)
        if self.twin is not None:
            self.twin.store(access, faults)
        given = access.spread(value)
        if not monoid:
            self.values[access.address], self.written[access.address] = given, True
        else:
            accumulate(monoid, self.values, access.address, given)

    def _find(self, index: tuple[Value, ...], mask: Array, place: Execution, faults: Faults) -> tuple[Any, Array]:
        """Where the elements are among the values, and the points that are inside."""
        kept, points = inside(self.name, self.extents, index, mask, place, faults)
        address = flat(kept, self.extents)
        if self.space.owner != "thread":
            return address + self.offset, points
        if np.ndim(address) == 0:
            return int(address), points
        if np.ndim(address) > 1 and address.shape[-1] == 1:
            return address[..., 0], points
        return (address, np.arange(self.values.shape[-1])), points

    def _at(self, spot: Any, index: tuple[Value, ...]) -> Value:
        if self.values.size:
            return self.values[spot]
        return zeros(np.broadcast_shapes((1,), *map(np.shape, index)), self.values.dtype)

    def _check(self, there: Array, spot: Any, points: Array, index: tuple[Value, ...], place: Execution, faults: Faults) -> None:
        """A fault for each point at which nothing is there."""
        bad = np.logical_and(points, np.logical_not(there[spot]))
        if bad.any():
            for at, full, _ in offenders(bad, index, place):
                none = Uninitialised(at, self.name, full, self.space.owner)
                faults.add(ReadOutput(at, self.name, full) if self.space is OUTPUT and there is self.ready else none, place.span)

    def _store_own(self, spot: Any, value: Value, points: Array) -> None:
        """Into cells of the lanes' own: rows of all lanes, or one cell here and one there."""
        held: Value = True
        if isinstance(spot, tuple):
            shape = np.broadcast_shapes(*map(np.shape, (*spot, points, value)))
            where = np.broadcast_to(points, shape)
            spot = tuple(np.broadcast_to(s, shape)[where] for s in spot)
            value = np.broadcast_to(value, shape)[where]
        elif not points.all():
            value, held = np.where(points, value, self.values[spot]), self.written[spot] | points
        self.values[spot], self.written[spot] = value, held


def inside(
    name: str, extents: tuple[int, ...], index: tuple[Value, ...], mask: Array, place: Execution, faults: Faults
) -> tuple[tuple[Value, ...], Array]:
    """Bounds, axis by axis: the index with 0 for what is outside, and the mask of the points that are inside."""
    kept, points = [], mask
    for axis, (value, extent) in enumerate(zip(index, extents, strict=True)):
        if not isinstance(value, int):
            value = np.asarray(value, np.int64)
        fits = 0 <= value < extent if isinstance(value, int) else value.size == 0 or (value.min() >= 0 and value.max() < extent)
        if fits:
            kept.append(value)
            continue
        out = np.logical_or(np.less(value, 0), np.greater_equal(value, extent))
        bad = np.logical_and(out, mask)
        if bad.any():
            for at, full, _ in offenders(bad, index, place):
                faults.add(OutOfBounds(at, name, full, axis, extent), place.span)
        points = np.logical_and(points, np.logical_not(out))
        kept.append(np.where(out, 0, value))
    return tuple(kept), points
