"""What the manual says that tensor memory is and what multiplies into it, which lands late: at the last commit or wait that may leave it under way. Nothing here looks at a declaration.

Comes in: what a kernel calls by name, of each lane. Goes out: cells of tensor memory and of lanes changed. The one idea: 128 lanes of 512 columns of 32 bits; the instruction descriptor says
what is multiplied, descriptors where it lies, and the number of rows in which lanes the sums are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.hardware.products import POISON, tile

ACROSS = {128: [*range(128)], 64: [32 * (row // 16) + row % 16 for row in range(64)]}  # the lanes of so many rows, layouts D and F
KINDS = {"f16": {0: "f16", 1: "bf16"}, "tf32": {2: "tf32"}, "f8f6f4": {0: "e4m3", 1: "e5m2"}, "i8": {0: "u8", 1: "s8"}}
DEPTH = {"f16": 16, "tf32": 8, "f8f6f4": 32, "i8": 32}
FIRST = 96  # the column at which the block's begin: not the first one, and no power of 2


class Tensor:
    """The tensor memory of a block, and the products of each warp that are under way: groups of them, the last of which is open."""

    def __init__(self) -> None:
        self.cells = np.full((128, 512), POISON, np.uint32)
        self.columns = 0
        self.groups: dict[int, list[list[Any]]] = {}
        self.real: dict[tuple[int, int, int], np.ndarray] = {}

    def call(self, made: tuple[Any, ...], warp: int) -> None:
        """A step of the block, or of a warp."""
        _, what, *numbers = made
        mine = self.groups.setdefault(warp, [[]])
        if what == "begin":
            assert numbers[0] in (32, 64, 128, 256, 512) and self.columns in (0, numbers[0])
            self.columns = numbers[0]
        elif what == "commit":
            self.land(warp)  # the one before has landed when a group ends
            mine.append([])
        elif what == "wait" and not numbers[0]:
            self.land(warp)
        elif what == "end":
            mine.append([])
            self.land(warp)
            self.columns = 0

    def column(self, form: Sequence[str], offset: Any) -> int:
        """Where a tile begins, of which an array of so many rows and columns has the first element at that number."""
        rows, columns = map(int, form[1:3])
        which, inside = divmod(int(offset), rows * columns)
        assert inside < columns, "a tile begins in the first row"
        found = which * columns + inside
        assert found < self.columns, "the block has taken it"
        return (FIRST + found) % 512

    def run(self, text: str, lanes: Sequence[Sequence[Any]], warp: int) -> None:
        """An instruction of a warp."""
        forms = {name: rest for name, *rest in (one.split(":") for one in text.split("|")[1].split())}
        if text.startswith("tcgen05.mma."):
            self.groups.setdefault(warp, [[]])[-1].append(self.begun(text, forms, lanes[0]))
            return
        loads, names = text.startswith("tcgen05.ld."), [*forms]
        f, s = 2 * names.index("f"), 2 * names.index("s")
        assert f"tcgen05.wait::{'ld' if loads else 'st'}" in text
        shape, count = re.search(r"aligned\.(\w+)\.x(\d+)\.b32", text).groups()  # type: ignore[union-attr]
        each = {"32x32b": 1, "16x256b": 4}[shape]
        for lane, given in enumerate(lanes):
            held, first, begin = given[f], int(given[f + 1]), self.column(forms["s"], given[s + 1])
            for number in range(int(count) * each):
                if shape == "32x32b":
                    row, column = lane, number
                else:
                    row, column = lane // 4 + number // 2 % 2 * 8, number // 4 * 8 + lane % 4 * 2 + number % 2
                there = 32 * (warp % 4) + row, (begin + column) % 512
                if loads:
                    held[first + number] = self.cells[there].view(held.dtype)
                else:
                    self.cells[there] = held[first + number].view(np.uint32)

    def begun(self, text: str, forms: dict[str, list[str]], given: Sequence[Any]) -> tuple[Any, ...]:
        """A product begins: nobody may look at its sums."""
        kind, word = re.search(r"kind::(\w+) .*, 0x([0-9a-f]+), 1;", text).groups()  # type: ignore[union-attr]
        bits = int(word, 16)
        m, n, column = (bits >> 24 & 31) * 16, (bits >> 17 & 63) * 8, self.column(forms["c"], given[1])
        assert column + n <= FIRST + self.columns
        place = m, n, column
        here = np.ix_(ACROSS[m], [c % 512 for c in range(column, column + n)])
        self.real.setdefault(place, self.cells[here].copy())
        self.cells[here] = POISON
        return place, here, kind, bits, forms, given

    def land(self, warp: int) -> None:
        """The groups of a warp that have ended have landed."""
        mine = self.groups[warp]
        while len(mine) > 1:
            while mine[0]:
                self.done(*mine[0].pop(0))
            mine.pop(0)

    def done(
        self, place: tuple[int, int, int], here: Any, kind: str, bits: int, forms: dict[str, list[str]], given: Sequence[Any]
    ) -> None:
        """A product is done."""
        m, n, _ = place
        factors = []
        for name, at, rows, code, turned in (
            ("a", 2, m, bits >> 7 & 7, bits >> 15 & 1),
            ("b", 4, n, bits >> 10 & 7, bits >> 16 & 1),
        ):
            constant = int(forms[name][1])
            assert constant >> 46 & 7 == 1 and constant >> 61 in (2, 4, 6)
            factors.append(tile(given[at : at + 2], str(constant), (rows, DEPTH[kind]), KINDS[kind][code], bool(turned)))
        real = self.real[place].view({1: np.float32, 2: np.int32}[bits >> 4 & 3])
        real += (factors[0] @ factors[1].T).astype(real.dtype)
        if not any(other[0] == place for groups in self.groups.values() for group in groups for other in group):
            self.cells[here] = self.real.pop(place)


def together(made: Any) -> bool:
    """Whether a barrier of the block is in a step."""
    return made[:1] == ("tensor",) and made[1] in ("begin", "barrier", "end")
