"""What the manual says that a warpgroup's products do, which land late: each warp's quarter at the last wait that may leave it under way; nothing here looks
at a declaration.

Comes in: the text of `wgmma` and what makes it, and of each lane what a kernel calls it with. Goes out: cells changed, memory read where and when the unit
reads it. The one idea: a descriptor is 64 bits, and of these and an element's place in its matrix the manual gives an address.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.hardware.lanes import number

WARP, ROWS = 32, 16  # of a warp, in its quarter
WIDTH = {1: 128, 2: 64, 3: 32}  # bytes of a row, by the two highest bits
POISON = 0x7FC00BAD  # a number of no calculation


class Group:
    """The products of one warp that are under way: groups of them, the last of which is open."""

    def __init__(self) -> None:
        self.groups: list[list[Any]] = [[]]
        self.real: dict[tuple[int, int], np.ndarray] = {}

    def begin(self, text: str, lanes: Sequence[Sequence[Any]], warp: int) -> None:
        """A product begins: nobody may look at its accumulator."""
        self.groups[-1].append((text, lanes, warp))
        for given in lanes:
            cells, first, count = given[0], int(given[1]), int(re.search(r"c:rw:(\d+)", text)[1])  # type: ignore[index]
            self.real.setdefault((id(cells), first), cells[first : first + count].copy())
            cells[first : first + count].view(np.uint32)[:] = POISON

    def wait(self, most: int) -> None:
        """All groups but so many have landed."""
        while len(self.groups) > most + 1:
            for text, lanes, warp in self.groups.pop(0):
                self.land(text, lanes, warp)
        if not any(self.groups):
            self.real.clear()

    def land(self, text: str, lanes: Sequence[Sequence[Any]], warp: int) -> None:
        """A warp's quarter of a product is done."""
        m, n, k = map(int, re.search(r"\.m(\d+)n(\d+)k(\d+)\.", text).groups())  # type: ignore[union-attr]
        kind_a, kind_b = text.split()[0].split(".")[-2:]
        flags = re.search(r"\{b\}, ([\d, ]*);", text)[1].split(", ")  # type: ignore[index]
        forms = {name: rest for name, *rest in (one.split(":") for one in text.split("|")[1].split())}
        turned = {"b": flags[-1] == "1" and len(flags) > 3, "a": forms["a"][0] == "tile" and len(flags) == 5 and flags[3] == "1"}
        if forms["a"][0] == "tile":
            a = tile(lanes[0][2:4], forms["a"][1], (m, k), kind_a, turned["a"])[warp * ROWS : (warp + 1) * ROWS]
        else:
            a = np.zeros((ROWS, k))
            for lane, given in enumerate(lanes):
                for cell in range(ROWS * k // WARP):
                    place = lane // 4 + cell // 2 % 2 * 8, cell // 4 * 8 + lane % 4 * 2 + cell % 2
                    a[place] = number(given[2][int(given[3]) + cell], kind_a)
        b = tile(lanes[0][4:6], forms["b"][1], (n, k), kind_b, turned["b"])
        product = a @ b.T
        for lane, given in enumerate(lanes):
            cells, first = given[0], int(given[1])
            real = self.real[id(cells), first]
            for cell in range(ROWS * n // WARP):
                real[cell] += cells.dtype.type(product[lane // 4 + cell // 2 % 2 * 8, cell // 4 * 8 + lane % 4 * 2 + cell % 2])
            later = [
                1 for group in self.groups for _, others, _ in group if others[lane][0] is cells and int(others[lane][1]) == first
            ]
            if not later:
                cells[first : first + len(real)] = real


def tile(operand: Sequence[Any], constant: str, shape: tuple[int, int], kind: str, turned: bool) -> np.ndarray:
    """A matrix of so many rows, and so many along the sum, as its descriptor says; `turned`: rows lie side by side, and not what is summed."""
    pointer, offset = operand
    whole = pointer.elements
    while isinstance(whole.base, np.ndarray):
        whole = whole.base
    size, begin = pointer.elements.itemsize, pointer.elements.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
    bits = int(constant) | (begin >> 4) + int(offset)
    start, lead, stride = ((bits >> at & 0x3FFF) << 4 for at in (0, 16, 32))
    width = WIDTH[bits >> 62]
    assert begin % 1024 == 0 and bits >> 49 & 7 == 0
    rows, along = np.indices(shape)
    if turned:
        pieces = width // size
        address = start + rows // pieces * lead + rows % pieces * size + along // 8 * stride + along % 8 * width
    else:
        address = start + rows // 8 * stride + rows % 8 * width + along * size
    address ^= (address >> 7 & (width // 16 - 1)) << 4
    elements = whole.view(pointer.elements.dtype)
    return np.array([[number(elements[place // size], kind) for place in row] for row in address])
