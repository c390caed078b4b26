"""What the simulator does with memory, written down: who touches which element, in which turn of the loops.

Comes in: a program, sizes. Goes out: a row for each access of a lane. The one idea: pictures evaluate the program's terms, and the simulator runs it; both are to say the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from tinygpu.program.step import Program
from tinygpu.record import dataclass
from tinygpu.simulate.clock import Access
from tinygpu.simulate.fault import HoldsViolated
from tinygpu.simulate.group import pick
from tinygpu.simulate.inputs import random_inputs
from tinygpu.simulate.memory import Memory
from tinygpu.simulate.simulate import simulate


@dataclass(frozen=True, slots=True)
class Touch:
    """One lane at one element: `each` elements are a block's."""

    array: str
    stores: bool
    element: int
    block: int
    thread: int
    turn: Mapping[str, int]


def watched(program: Program, sizes: Mapping[str, int], arrays: set[str]) -> list[Touch]:
    """Every access to some arrays, in order."""
    found: list[Touch] = []
    read, store = Memory.read, Memory.store

    def note(memory: Memory, index: Any, mask: Any, place: Any, faults: Any, stores: bool) -> None:
        if memory.name not in arrays:
            return
        spot, points = memory._find(index, mask, place, faults)
        access = Access.of(place, spot, points)
        each = int(np.prod(memory.extents, dtype=np.int64))
        for address, lane, position in zip(access.address, access.lane, access.position, strict=True):
            at = np.unravel_index(int(position), access.shape)
            turn = {name: pick(place.env[name], at) for name in place.loops}
            block, thread = int(place.group.blocks[place.group.block[lane]]), int(place.group.thread[lane])
            found.append(Touch(memory.name, stores, int(address) % each, block, thread, turn))

    def reading(self: Memory, index: Any, mask: Any, place: Any, faults: Any) -> Any:
        note(self, index, mask, place, faults, False)
        return read(self, index, mask, place, faults)

    def storing(self: Memory, index: Any, value: Any, mask: Any, place: Any, faults: Any, *more: Any) -> Any:
        note(self, index, mask, place, faults, True)
        return store(self, index, value, mask, place, faults, *more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Memory, "read", reading)
        patch.setattr(Memory, "store", storing)
        outcome = simulate(program, sizes, random_inputs(program.op, sizes), vectorise=False)
    assert all(isinstance(fault, HoldsViolated) for fault in outcome.faults)  # a fact of halves, which rounding breaks
    return found
