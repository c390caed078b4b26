"""The simulator's memory: arrays with shadows that know which cells were written, and by whom.

Comes in: accesses of many lanes at once, `index` arrays with a mask, at a `Place` (the step and the variables around it).
Goes out: values, and faults. The one idea: every array watches its own accesses, so the run itself stays a plain interpreter.
The last axis of every array of points is the lane; the axes before it are iterations.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from tinygpu.category.number import Array, Value
from tinygpu.diagnostic import Span
from tinygpu.program.fault import At, DoubleStore, Fault, OutOfBounds, Point, ReadOutput, Uninitialised

EACH = 3  # faults of one kind that one step may report about one array, so that the first mistake does not hide the second


@dataclass(frozen=True, slots=True)
class Place:
    """One execution of one step by a group of lanes: the variables as arrays, the names of the factors and of the loops."""

    span: Span
    launch: int
    lanes: int
    env: dict[str, Value]
    factors: tuple[str, ...]
    loops: tuple[str, ...]

    def at(self, shape: tuple[int, ...], position: int) -> At:
        """Who stands at that flat position of an array of points."""
        spot = np.unravel_index(position, shape)
        return At(self.span, self.launch, self._point(self.factors, shape, spot), self._point(self.loops, shape, spot))

    def _point(self, names: tuple[str, ...], shape: tuple[int, ...], spot: tuple[np.intp, ...]) -> Point:
        return tuple((name, pick(self.env[name], shape, spot)) for name in names)


@dataclass(slots=True)
class Faults:
    """The faults found so far: `cap` at most, and EACH of a kind for one step and array."""

    cap: int
    found: list[Fault] = field(default_factory=list)
    count: dict[tuple[type[Fault], str, Span], int] = field(default_factory=dict)

    def add(self, fault: Fault, span: Span) -> None:
        """Notes the fault, if there is room."""
        key = (type(fault), getattr(fault, "array", ""), span)
        self.count[key] = self.count.get(key, 0) + 1
        if len(self.found) < self.cap and self.count[key] <= EACH:
            self.found.append(fault)


def pick(values: Value, shape: tuple[int, ...], spot: tuple[np.intp, ...]) -> int:
    """The value at one spot of an array that broadcasts to `shape`."""
    return int(values if np.ndim(values) == 0 else np.broadcast_to(values, shape)[spot])


def offenders(bad: Array, index: tuple[Value, ...], place: Place) -> Iterator[tuple[At, tuple[int, ...], int]]:
    """The first few points where `bad` holds: who, the index there, and the flat position."""
    shape = np.broadcast_shapes(
        bad.shape, (place.lanes,), *(np.shape(i) for i in index), *(np.shape(v) for v in place.env.values())
    )
    for position in np.flatnonzero(np.broadcast_to(bad, shape))[:EACH]:
        spot = np.unravel_index(position, shape)
        yield place.at(shape, int(position)), tuple(pick(i, shape, spot) for i in index), int(position)


def inside(
    name: str, extents: tuple[int, ...], index: tuple[Value, ...], mask: Array, place: Place, faults: Faults
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


def flat(index: tuple[Value, ...], extents: tuple[int, ...]) -> Value:
    """The row-major address.

    >>> flat((2, 3), (4, 5))
    13
    """
    address: Value = 0
    for value, extent in zip(index, extents, strict=True):
        address = address * extent + value
    return address


@dataclass(slots=True)
class Input:
    """An input: read only."""

    name: str
    values: Array

    def read(self, index: tuple[Value, ...], mask: Array, place: Place, faults: Faults) -> Value:
        """The elements at the index; 0 where that is outside."""
        kept, _ = inside(self.name, self.values.shape, index, mask, place, faults)
        if self.values.size == 0:
            return np.zeros(np.broadcast_shapes(*map(np.shape, kept)), self.values.dtype)
        return self.values[kept]


@dataclass(slots=True)
class Cells:
    """A local array: one row of all lanes for each cell, and whether it was written."""

    name: str
    extents: tuple[int, ...]
    values: Array
    written: Array

    def clear(self, mask: Array) -> None:
        """The array is declared anew for the lanes of the mask."""
        self.written[:, mask] = False

    def peek(self, index: tuple[Value, ...]) -> tuple[Value, Value]:
        """Values and written flags at an index that is inside; rows where the index is the same for all lanes."""
        address = flat(index, self.extents)
        if np.ndim(address) == 0:
            return self.values[int(address)], self.written[int(address)]
        if np.ndim(address) > 1 and address.shape[-1] == 1:
            return self.values[address[..., 0]], self.written[address[..., 0]]
        lanes = np.arange(self.values.shape[1])
        return self.values[address, lanes], self.written[address, lanes]

    def read(self, index: tuple[Value, ...], mask: Array, place: Place, faults: Faults) -> Value:
        """The lanes' own cells; a cell that is not written yet is a fault."""
        kept, points = inside(self.name, self.extents, index, mask, place, faults)
        if self.values.shape[0] == 0:
            return np.zeros(self.values.shape[1], self.values.dtype)
        values, written = self.peek(kept)
        bad = np.logical_and(points, np.logical_not(written))
        if bad.any():
            for at, full, _ in offenders(bad, index, place):
                faults.add(Uninitialised(at, self.name, full), place.span)
        return values

    def store(self, index: tuple[Value, ...], value: Value, mask: Array, place: Place, faults: Faults) -> None:
        """Writes where the mask holds. The cells of one lane are distinct."""
        kept, points = inside(self.name, self.extents, index, mask, place, faults)
        if self.values.shape[0] == 0:
            return
        address = flat(kept, self.extents)
        if np.ndim(address) == 0:
            points = points.reshape(points.shape[-1:])  # a nest of one iteration has more axes than the cell
            np.copyto(self.values[int(address)], value, where=points)
            self.written[int(address)] |= points
            return
        if address.shape[-1] == 1 and np.ndim(address) > 1:
            self._rows(address[..., 0], value, points)
            return
        lanes = np.arange(self.values.shape[1])
        shape = np.broadcast_shapes(np.shape(address), np.shape(points), np.shape(value), lanes.shape)
        where = np.broadcast_to(points, shape)
        spots = np.broadcast_to(address, shape)[where], np.broadcast_to(lanes, shape)[where]
        self.values[spots] = np.broadcast_to(value, shape)[where]
        self.written[spots] = True

    def _rows(self, rows: Array, value: Value, points: Array) -> None:
        """The same cells in all lanes, distinct ones."""
        if points.all():
            self.values[rows] = value
            self.written[rows] = True
        else:
            self.values[rows] = np.where(points, value, self.values[rows])
            self.written[rows] = self.written[rows] | points  # which may have more axes than rows, of one point


@dataclass(slots=True)
class Output:
    """An output: flat values, and for each element which event stored it and at which point of that event."""

    name: str
    shape: tuple[int, ...]
    values: Array
    event: Array
    position: Array
    events: list[tuple[Place, tuple[int, ...]]] = field(default_factory=list)

    def peek(self, index: tuple[Value, ...]) -> Value:
        """The values at an index that is inside."""
        if self.values.size == 0:
            return np.zeros(np.broadcast_shapes(*map(np.shape, index)), self.values.dtype)
        return self.values[flat(index, self.shape)]

    def read(self, index: tuple[Value, ...], mask: Array, place: Place, faults: Faults) -> Value:
        """A fault wherever it happens; the run goes on with what is there."""
        kept, points = inside(self.name, self.shape, index, mask, place, faults)
        for at, full, _ in offenders(points, index, place):
            faults.add(ReadOutput(at, self.name, full), place.span)
        return self.peek(kept)

    def store(self, index: tuple[Value, ...], value: Value, mask: Array, place: Place, faults: Faults) -> None:
        """Stores where the mask holds, in the order of the points; a second store of an element is a fault."""
        kept, points = inside(self.name, self.shape, index, mask, place, faults)
        address = flat(kept, self.shape)
        shape = np.broadcast_shapes(points.shape, np.shape(value), np.shape(address), (place.lanes,))
        positions = np.flatnonzero(np.broadcast_to(points, shape))
        where = np.broadcast_to(address, shape).reshape(-1)[positions]
        self.events.append((place, shape))
        again = np.flatnonzero(self.event[where] >= 0)[:EACH]
        for spot in again:
            self._twice(where[spot], place, shape, positions[spot], faults)
        self.event[where] = len(self.events) - 1
        self.position[where] = positions
        self.values[where] = np.broadcast_to(value, shape).reshape(-1)[positions]
        # Two points of this event with one address: all but the last have lost their mark.
        for spot in np.flatnonzero(self.position[where] != positions)[:EACH]:
            winner = self.position[where[spot]]
            self._twice(where[spot], place, shape, winner, faults, earlier=place.at(shape, int(positions[spot])))

    def _twice(
        self, address: int, place: Place, shape: tuple[int, ...], position: int, faults: Faults, earlier: At | None = None
    ) -> None:
        if earlier is None:
            before, points = self.events[self.event[address]]
            earlier = before.at(points, int(self.position[address]))
        index = tuple(int(i) for i in np.unravel_index(address, self.shape))
        faults.add(DoubleStore(place.at(shape, int(position)), self.name, index, earlier), place.span)
