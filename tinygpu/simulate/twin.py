"""An input and the output that may lie in its memory, watched together: who reads an element that another thread stores, or that is stored already.

Comes in: the reads of the input and the stores of the output, as they are made. Goes out: faults. The one idea: of an element it is enough to know the
greatest and the least thread of the launch that has read it, and whether it is stored.
"""

from __future__ import annotations

import numpy as np

from tinygpu.category.number import Array
from tinygpu.record import dataclass
from tinygpu.simulate.box import unflat
from tinygpu.simulate.clock import Access
from tinygpu.simulate.fault import EACH, Faults, Overwritten

NOBODY = np.iinfo(np.int64).max


@dataclass(slots=True)
class Twin:
    """Of one input: which threads of the launch have read each element, and which elements are stored (of the output, by whoever)."""

    name: str
    extents: tuple[int, ...]
    least: Array
    most: Array
    stored: Array

    @classmethod
    def of(cls, name: str, extents: tuple[int, ...], stored: Array) -> Twin:
        """A launch begins."""
        return cls(name, extents, np.full(stored.size, NOBODY), np.full(stored.size, -1, np.int64), stored)

    def read(self, access: Access, faults: Faults) -> None:
        """These elements are read."""
        self._say(access, self.stored[access.address], False, faults)
        thread = threads(access)
        np.minimum.at(self.least, access.address, thread)
        np.maximum.at(self.most, access.address, thread)

    def store(self, access: Access, faults: Faults) -> None:
        """These elements are stored."""
        thread, least, most = threads(access), self.least[access.address], self.most[access.address]
        self._say(access, (most >= 0) & ((least != thread) | (most != thread)), True, faults)
        self.stored[access.address] = True

    def _say(self, access: Access, wrong: Array, stores: bool, faults: Faults) -> None:
        for point in np.flatnonzero(wrong)[:EACH]:
            at = access.place.at(access.shape, int(access.position[point]))
            faults.add(Overwritten(at, self.name, unflat(access.address[point], self.extents), stores), access.place.span)


def threads(access: Access) -> Array:
    """The thread of each point, by its number in the launch."""
    group = access.place.group
    return np.asarray((group.blocks[group.block] * group.threads + group.thread)[access.lane])
