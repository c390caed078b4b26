"""The simulator's accesses: who reads or writes which element, checked against the array's extents.

Comes in: accesses of many lanes at once, `index` arrays with a mask, at a `Place` (the step and the variables around it).
Goes out: indices that are inside, and faults for those that are not. The one idea: every array watches its own accesses, so the run
itself stays a plain interpreter. The last axis of every array of points is the lane; the axes before it are iterations.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tinygpu.category.number import Array, Value, zeros
from tinygpu.diagnostic import Span
from tinygpu.program.step import Step
from tinygpu.record import dataclass
from tinygpu.simulate.fault import EACH, At, Faults, OutOfBounds, Point
from tinygpu.simulate.group import Group


@dataclass(frozen=True, slots=True)
class Place:
    """One execution of one step by a group of lanes: the variables as arrays, the names of the factors and of the loops."""

    step: Step
    launch: int
    group: Group
    env: dict[str, Value]
    factors: tuple[str, ...]
    loops: tuple[str, ...]

    @property
    def span(self) -> Span:
        """Where the step stands."""
        return self.step.span

    def at(self, shape: tuple[int, ...], position: int) -> At:
        """Who stands at that flat position of an array of points."""
        spot = np.unravel_index(position, shape)
        lane, loops = self._point(self.factors, spot), self._point(self.loops, spot)
        return At(self.span, self.launch, lane, loops, self.step)

    def _point(self, names: tuple[str, ...], spot: tuple[np.intp, ...]) -> Point:
        return tuple((name, pick(self.env[name], spot)) for name in names)


def pick(values: Value, spot: tuple[np.intp, ...]) -> int:
    """The value at one spot of the points that an array broadcasts to."""
    if np.ndim(values) == 0:
        return int(values)
    own = np.shape(values)  # an access that is the same in every turn of a loop has one place there, and any turn will do
    at = (0,) * (len(own) - len(spot)) + tuple(spot)[max(0, len(spot) - len(own)) :]
    return int(values[tuple(0 if n == 1 else s for n, s in zip(own, at, strict=True))])


def offenders(bad: Array, index: tuple[Value, ...], place: Place) -> Iterator[tuple[At, tuple[int, ...], int]]:
    """The first few points where `bad` holds: who, the index there, and the flat position."""
    shape = np.broadcast_shapes(
        bad.shape, (place.group.lanes,), *(np.shape(i) for i in index), *(np.shape(v) for v in place.env.values())
    )
    for position in np.flatnonzero(np.broadcast_to(bad, shape))[:EACH]:
        spot = np.unravel_index(position, shape)
        yield place.at(shape, int(position)), tuple(pick(i, spot) for i in index), int(position)


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
            return zeros(np.broadcast_shapes(*map(np.shape, kept)), self.values.dtype)
        return self.values[kept]
