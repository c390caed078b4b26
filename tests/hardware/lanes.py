"""What the manual says that an instruction does to the cells of 32 lanes; nothing here looks at a declaration.

Comes in: the text of an instruction and, lane by lane, what a kernel calls it with: cells and the first of them, or a pointer and an offset. Goes out: the
cells changed. The one idea: fragments of products are the manual's figures, and rows of `ldmatrix` and `stmatrix` are its sentences.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.hardware.test_instructions import FIGURES, KIND

Figure = Callable[[int, int, int, int], tuple[int, int]]
WORDS = {"s8": "i8", "s4": "i4"}
SMALL = {"e4m3": (3, 7), "e5m2": (2, 15)}  # bits behind the point, and what is added to the exponent


def perform(text: str, lanes: Sequence[Sequence[Any]]) -> None:
    """One instruction of a warp: `lanes` are its arguments, of each lane."""
    if text.startswith(("ldmatrix", "stmatrix")):
        move(text, lanes)
    else:
        multiply(text, lanes)


def multiply(text: str, lanes: Sequence[Sequence[Any]]) -> None:
    """`mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {c}, {a}, {b}, {c};`: c += a·b."""
    operation = text.split()[0]
    m, n, k = map(int, re.search(r"\.m(\d+)n(\d+)k(\d+)\.", operation).groups())  # type: ignore[union-attr]
    _, a_type, b_type, _ = operation.split(".")[-4:]
    figures = FIGURES[f"mma_m{m}n{n}k{k}", KIND[WORDS.get(a_type, a_type)]]
    a, b = gathered(lanes, 1, figures["a"], (m, k), a_type), gathered(lanes, 2, figures["b"], (k, n), b_type)
    product = a.astype(np.float64) @ b.astype(np.float64)
    for lane, given in enumerate(lanes):
        cells, first = given[0], int(given[1])
        for cell in range(m * n // 32):
            old = cells[first + cell]
            assert cells.dtype in (np.float32, np.float64, np.int32)
            cells[first + cell] = cells.dtype.type(old + cells.dtype.type(product[figures["c"](lane >> 2, lane % 4, 0, cell)]))


def gathered(lanes: Sequence[Sequence[Any]], operand: int, figure: Figure, shape: tuple[int, int], kind: str) -> np.ndarray:
    """An operand of a product as a matrix, out of the lanes' cells."""
    found = np.full(shape, np.nan)
    for lane, given in enumerate(lanes):
        cells, first = given[2 * operand], int(given[2 * operand + 1])
        for cell in range(shape[0] * shape[1] // 32):
            found[figure(lane >> 2, lane % 4, 0, cell)] = number(cells[first + cell], kind)
    return found


def number(cell: Any, kind: str) -> float:
    """The number that a cell's bits are."""
    if kind == "bf16":
        return float((np.uint32(cell) << np.uint32(16)).view(np.float32))
    if kind in SMALL:
        digits, bias = SMALL[kind]
        sign, rest = -1.0 if int(cell) & 128 else 1.0, int(cell) & 127
        exponent, fraction = rest >> digits, (rest & ((1 << digits) - 1)) / (1 << digits)
        return sign * (fraction * 2.0 ** (1 - bias) if exponent == 0 else (1 + fraction) * 2.0 ** (exponent - bias))
    if kind in ("s4", "u4"):
        return float((int(cell) & 15) - 16 * (kind == "s4" and bool(int(cell) & 8)))
    return float(cell.view(np.float16) if kind == "f16" else cell)


def move(text: str, lanes: Sequence[Sequence[Any]]) -> None:
    """Lane 8·m + r names row r of matrix m, 16 bytes; lane t has in register m the 32 bits at number t % 4 of row t / 4, or, `.trans`, the elements of
    16 bits at the same place of the matrix transposed."""
    loads, count, trans = text.startswith("ld"), int(re.search(r"\.x(\d)", text)[1]), ".trans" in text  # type: ignore[index]
    held, rows = (0, 2) if loads else (2, 0)
    matrices = np.zeros((count, 8, 8), np.uint16)
    places = []
    for lane in range(8 * count):
        pointer, offset = lanes[lane][rows : rows + 2]
        each = 16 // pointer.elements.itemsize
        start = pointer.place(offset)
        assert start * pointer.elements.itemsize % 16 == 0, f"row {lane} begins at byte {start * pointer.elements.itemsize}"
        pointer.place(int(offset) + each - 1)
        places.append(pointer.elements[start : start + each].view(np.uint16))
        matrices[lane // 8, lane % 8] = places[-1]
    if not loads:
        matrices[...] = 0
    for lane in range(32):
        cells, first = lanes[lane][held], int(lanes[lane][held + 1])
        mine = cells[first : first + count * 4 // cells.itemsize].view(np.uint16)
        for m in range(count):
            for half in range(2):
                row, column = lane // 4, lane % 4 * 2 + half
                row, column = (column, row) if trans else (row, column)
                if loads:
                    mine[2 * m + half] = matrices[m, row, column]
                else:
                    matrices[m, row, column] = mine[2 * m + half]
    for lane, place in enumerate(places if not loads else []):
        place[:] = matrices[lane // 8, lane % 8]
