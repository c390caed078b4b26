"""The part of an array that a picture shows: a block and a rim of its neighbours.

    array of any rank  ⊇  two of its axes, from where to where, at one index of the others

Comes in: the owners of an array. Goes out: a `Window`, which takes that part of any numbers of its elements. The one idea: the axes along which one block has most are those that show how it is cut.
"""

from __future__ import annotations

import numpy as np

from tinygpu.pictures.owners import NONE, Owners
from tinygpu.pictures.paper import Numbers
from tinygpu.record import dataclass

SHOWN, FEWER = 64, 32  # cells along an axis that are drawn, at most, beside those of neighbours; and rows of what is read
RIM = 4  # of neighbours
FOLD = 64  # elements of a row, of an array that has one axis


@dataclass(frozen=True, slots=True)
class Window:
    """What is drawn of an array: two of its axes, from where to where, and at which index of the others. Of one axis the rows are pieces of it."""

    rows: int
    columns: int
    low: tuple[int, int]
    high: tuple[int, int]
    fixed: tuple[int, ...]
    whole: tuple[int, int]

    def of(self, values: Numbers) -> Numbers:
        """That part of values in the shape of the array, as rows and columns."""
        if values.ndim == 1:
            many = -(-len(values) // FOLD)
            flat = np.full(many * FOLD, NONE, np.int64)
            flat[: len(values)] = values
            plane = flat.reshape(many, FOLD)
        else:
            place = tuple(slice(None) if at in (self.rows, self.columns) else f for at, f in enumerate(self.fixed))
            plane = values[place] if self.rows < self.columns else values[place].T
        return plane[self.low[0] : self.high[0], self.low[1] : self.high[1]]


def window(one: Owners) -> Window:
    """The first block's elements and a rim of its neighbours', along the two axes of which it has most."""
    first = one.block[one.block != NONE].min(initial=0)
    limits = (SHOWN if one.stores else FEWER, SHOWN)
    spots = np.argwhere(one.block == first) if (one.block == first).any() else np.zeros((1, len(one.shape)), np.int64)
    low, high = spots.min(0), spots.max(0) + 1
    if len(one.shape) == 1:
        rows = -(-one.shape[0] // FOLD)
        end = min(rows, -(-int(high[0]) // FOLD) + RIM, limits[0])
        return Window(0, 0, (0, 0), (end, min(FOLD, one.shape[0])), (0,), (rows, FOLD))
    most = sorted(range(len(one.shape)), key=lambda at: (-(high[at] - low[at]), -at))[:2]
    rows, columns = sorted(most)
    ends = tuple(
        int(min(one.shape[at], high[at] + RIM, low[at] + limit + RIM * (high[at] - low[at] <= limit)))
        for at, limit in zip((rows, columns), limits, strict=True)
    )
    starts = tuple(int(max(0, min(low[at], end - 1))) for at, end in zip((rows, columns), ends, strict=True))
    return Window(rows, columns, starts, ends, tuple(int(v) for v in low), (one.shape[rows], one.shape[columns]))  # type: ignore[arg-type]
