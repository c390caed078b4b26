"""What the manual says that mbarriers and copies of boxes do; nothing here looks at a program.

Comes in: what a kernel calls by name, of each lane. Goes out: whether the lanes go on; memory changed where a box lands. The one idea: a phase is over when as many
have arrived as it expects and no bytes are awaited, and a box lands when nobody can go on without it, or at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

PATTERN = {0: 1, 32: 2, 64: 4, 128: 8}  # pieces of 16 bytes that rows exchange


class Barriers:
    """The barriers of a block, by their address, in its memory; those of all blocks of its cluster, and the boxes that are on their way to this one."""

    def __init__(self, late: bool = True):
        self.late = late
        self.made: dict[int, SimpleNamespace] = {}
        self.boxes: list[tuple[int, np.ndarray, int]] = []
        self.memory = np.zeros(0, np.uint8)
        self.cluster = [self]

    def land(self) -> bool:
        """The oldest box lands; whether there was one."""
        if not self.boxes:
            return False
        first, values, full = self.boxes.pop(0)
        self.memory[first : first + values.nbytes] = values.view(np.uint8)
        self.made[full].bytes -= values.nbytes
        self.over(full)
        return True

    def over(self, at: int) -> None:
        """A phase ends when nothing of it is awaited."""
        one = self.made[at]
        if one.arrivals == 0 and one.bytes == 0:
            one.phase, one.arrivals = one.phase + 1, one.expects

    def arrive(self, at: int) -> None:
        """One has arrived."""
        assert self.made[at].arrivals > 0, "more arrive than are expected"
        self.made[at].arrivals -= 1
        self.over(at)

    def passes(self, at: int, parity: int) -> bool:
        """Whether the phase of that parity is over: the one that goes on has the other."""
        return bool(self.made[at].phase % 2 != parity)

    def call(self, made: tuple[Any, ...], lanes: Sequence[Sequence[Any]]) -> bool:
        """What a warp calls, by how the function was made; whether it goes on."""
        if made[0] == "tensor_copy":
            self.send(lanes[0], *made[1:])
            return True
        _, what, slots, *behind = made
        place, turns = base(lanes[0][0]), {int(given[1]) for given in lanes}
        blocks = {"begin": behind[2:], "fill": behind, "used": behind[1:]}.get(what)
        far = self.cluster if blocks else [self]
        assert not blocks or [*blocks] == [len(far)]
        assert len(turns) == 1
        (turn,) = turns
        if what == "begin":
            self.memory = whole(lanes[0][0])
            for slot in range(2 * slots):
                count = behind[slot // slots] * (len(far) if slot >= slots else 1)
                fresh = SimpleNamespace(phase=0, expects=count, arrivals=count, bytes=0)
                self.made.setdefault(place + 8 * slot, fresh)
            return True
        full, empty = place + 8 * (turn % slots), place + 8 * (slots + turn % slots)
        if what == "fill":
            return self.passes(empty, (turn // slots + 1) % 2)
        if what == "use":
            return self.passes(full, turn // slots % 2)
        if what == "filled":
            self.arrive(full)
        elif turn >= behind[0]:
            for one in far:
                one.arrive(place + 8 * (slots + (turn - behind[0]) % slots))
        return True

    def send(self, given: Sequence[Any], rank: int, slots: int, size: int, mask: int = 0) -> None:
        """A box begins, and is not there; it is on its way to each block of a mask, of which this is one."""
        near, to, tiles, turn, (tensor, extents, pattern), *corner = given
        first, corner = (int(corner[0]), corner[1:]) if mask else (0, corner)
        wanting = [one for n, one in enumerate(self.cluster) if mask << first >> n & 1] if mask else [self]
        assert self in wanting and len(wanting) == max(1, mask.bit_count())
        full = base(tiles) + 8 * (int(turn) % slots)
        assert len(extents) == rank == len(corner)
        places = np.meshgrid(*(int(c) + np.arange(e) for c, e in zip(corner, extents, strict=True)), indexing="ij")
        inside = np.logical_and.reduce([(p >= 0) & (p < n) for p, n in zip(places, tensor.shape, strict=True)])
        values = np.where(inside, tensor[tuple(np.where(inside, p, 0) for p in places)], 0).astype(tensor.dtype).reshape(-1)
        address = np.arange(values.size) * values.itemsize + base(near) + int(to) * values.itemsize
        assert address[0] % (8 * pattern or 128) == 0 and extents[-1] * values.itemsize in (
            pattern or extents[-1] * values.itemsize,
        )
        landed = address ^ (address >> 7 & (PATTERN[pattern] - 1)) << 4
        order = np.empty_like(values)
        order[(landed - address[0]) // values.itemsize] = values
        assert size == values.nbytes * len(wanting)
        self.made[full].bytes += size
        for one in wanting:
            one.memory[address[0] : address[0] + values.nbytes] = 0x5A
            one.boxes.append((int(address[0]), order, full))
            if not one.late:
                one.land()


def whole(pointer: Any) -> np.ndarray:
    """The block's memory that a pointer is in."""
    found: np.ndarray = pointer.elements
    while isinstance(found.base, np.ndarray):
        found = found.base
    return found


def base(pointer: Any) -> int:
    """Where a pointer points to in its block's memory, in bytes."""
    first = pointer.elements.__array_interface__["data"][0] - whole(pointer).__array_interface__["data"][0]
    return int(first + pointer.first * pointer.elements.itemsize)
