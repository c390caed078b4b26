"""Descriptors: 64 bits by which a unit of the hardware finds a tile in shared memory, without any thread.

    rows of W = 32, 64, 128 bytes, pieces of 16 of them exchanged by rows     swizzle(1 | 2 | 3, log2(16 / bytes), 3)
    beside k    eight rows of k after the next eight at 8·W                   ((8, n), 2) : ((W, stride), 16)
    beside i    eight k after the next eight at 8·W, the next W of i at lead  ((W / 16, n), (8, k)) : ((16, lead), (W, stride))

Comes in: an operand of an instruction, and the extents and the layout of the array that its tile is in. Goes out: the descriptor but for where the tile begins, or why there is none.
The one idea: swizzles and panels of arrays are the hardware's own forms, so which one it is, is read off.
"""

from __future__ import annotations

from collections.abc import Sequence

from tinygpu.category.dtype import BYTES
from tinygpu.category.layout import Layout
from tinygpu.category.term import Fold, Var, reads
from tinygpu.model.collective import Instruction, Operand

PIECE = 16  # bytes that stay together
ROWS = 8  # of a pattern
MODES = {128: 1, 64: 2, 32: 3}  # bytes of a row, and what its pattern is called
FIFTH = 1 << 46  # the fifth generation says so in three bits, and what the pattern is called in three, twice that number


def descriptor(one: Instruction, operand: Operand, extents: Sequence[int], layout: Layout) -> int | str:
    """The descriptor of a tile at address 0, or why there is none. Of the array's indices the last one goes along the axis `beside` of the operand.

    >>> from tinygpu.model.instruction import shipped
    >>> one = shipped("wgmma_m64n128k16_n")[0]
    >>> a, b, panels = one.operand("a"), one.operand("b"), Layout(swizzle=(3, 3, 3), panels=64)
    >>> hex(descriptor(one, a, (128, 64), Layout(swizzle=(3, 3, 3)))), hex(descriptor(one, b, (64, 128), panels))
    ('0x4000004000010000', '0x4000004002000000')
    >>> hex(descriptor(shipped("tcgen05_m128n128k16")[0], a, (128, 64), Layout(swizzle=(3, 3, 3))))
    '0x4000404000010000'
    >>> descriptor(one, b, (64, 128), Layout(swizzle=(3, 3, 4)))
    'its rows are 256 bytes'
    """
    size = BYTES[operand.dtype]
    *_, rows, row = (1, *extents)
    width = (layout.panels or row) * size
    if width not in MODES:
        return f"its rows are {width} bytes"
    if layout.swizzle != pattern(width, size):
        return "its rows are exchanged otherwise"
    if rows % ROWS:
        return f"it has {rows} rows"
    if not folded(one, operand) and operand.shape[operand.beside] * size % width:
        return f"a tile is no whole number of pieces of {width} bytes"
    lead = PIECE if folded(one, operand) else rows * width
    fifth = FIFTH if any(o.kind == "tensor" for o in one.operands) else 0
    return MODES[width] << 62 | fifth | (ROWS * width // PIECE) << 32 | (lead // PIECE) << 16


def pattern(width: int, size: int) -> tuple[int, int, int] | None:
    """How rows of so many bytes are exchanged, of elements of that size; none where no unit does.

    >>> pattern(128, 2), pattern(64, 1), pattern(96, 2)
    ((3, 3, 3), (2, 4, 3), None)
    """
    return ((width // PIECE).bit_length() - 1, (PIECE // size).bit_length() - 1, 3) if width in MODES else None


def patterned(row: int, size: int) -> Layout:
    """The layout of rows of so many elements of that size, as a unit leaves them: the longest rows that a pattern has, and longer ones in panels of these.

    >>> patterned(64, 2), patterned(256, 2).panels, patterned(48, 1).swizzle
    (Layout(pad=0, swizzle=(3, 3, 3), panels=0), 64, None)
    """
    width = next((w for w in MODES if row * size % w == 0), 0)
    return Layout(swizzle=pattern(width, size), panels=width // size if width and row * size > width else 0)


def folded(one: Instruction, operand: Operand) -> bool:
    """Whether neighbours in memory are neighbours along the axis that is folded."""
    (equation,) = one.op.equations
    axes = {axis.name for axis in equation.value.axes} if isinstance(equation.value, Fold) else set()
    return any(
        isinstance(i, Var) and i.name in axes
        for r in reads(equation.value)
        if r.tensor == operand.name
        for i in (r.index[operand.beside],)
    )


def starts(one: Instruction, operand: Operand, extents: Sequence[int], layout: Layout) -> tuple[int, int]:
    """What the last two indices of the first element of a tile have to be multiples of, so that it is in one piece of its rows."""
    return ROWS, operand.shape[operand.beside] if folded(one, operand) else layout.panels or extents[-1]
