"""The simulator's locals: cells that every lane has for itself, and whether it has written them.

Comes in: accesses of many lanes at once. Goes out: values, and a fault for a cell that is read before it is written.
The one idea: one row of all lanes for each cell, so that an index that is the same for all lanes is one row.
"""

from __future__ import annotations

import numpy as np

from tinygpu.category.number import Array, Value, zeros
from tinygpu.record import dataclass
from tinygpu.simulate.fault import Faults, Uninitialised
from tinygpu.simulate.memory import Place, flat, inside, offenders


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
            return zeros(self.values.shape[1], self.values.dtype)
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
