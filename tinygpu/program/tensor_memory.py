"""Arrays in tensor memory, 128 lanes of 512 columns of 32 bits, for a program's text: what may be one, and which operands are tiles of it.

    tensor acc: f32[128, 256]     row i in lane i, column j in column j          tensor acc: f32[2, 64, 128]     row i in lane i // 16 * 32 + i % 16, column 128 more for the second

Comes in: extents and dtypes; operands of instructions. Goes out: messages, and how many columns a block takes. The one idea: the number of rows says in which
lanes they lie, so an operand is a tile of an array where its digits say the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from tinygpu.category.term import Const, Term
from tinygpu.model.collective import ALONG, Operand, beside_of
from tinygpu.program.space import TENSORS
from tinygpu.program.tiles import has
from tinygpu.syntax import tree
from tinygpu.syntax.target import ARCHITECTURES

if TYPE_CHECKING:
    from tinygpu.program.read import Reader

LANES = {
    128: ((1, 128, 1),),
    64: ((1, 16, 1), (16, 4, 32)),
}  # of so many rows: what a digit counts, its extent, and what it counts in lanes
FEWEST = 32  # columns that a block takes
NEEDED = ("sm_100a", "sm_103a")
DTYPES = ("f32", "i32")


def columns(extents: Sequence[Term]) -> int:
    """How many columns a block takes for an array: a power of 2, and 32 or more.

    >>> [columns(tuple(map(Const, extents))) for extents in ((128, 8), (2, 128, 96), (64, 512))]
    [32, 256, 512]
    """
    *tiles, _, last = (int(e.value) for e in extents if isinstance(e, Const))
    return max(FEWEST, 1 << (prod(tiles) * last - 1).bit_length())


def declared_there(reader: Reader, one: tree.Array, dtype: str, extents: tuple[Term, ...]) -> None:
    """Says why an array cannot be in tensor memory."""
    say, arch = reader.problems.say, reader.machine.arch or ARCHITECTURES[1]
    numbers = [int(e.value) for e in extents if isinstance(e, Const)]
    if not any(has(arch, needed) for needed in NEEDED):
        say("TG182.arch", one.span, name="tensor memory", arch=arch, known=NEEDED)
    elif dtype not in DTYPES or len(numbers) < max(2, len(extents)) or numbers[-2] not in LANES or min(numbers) < 1:
        say("TG182.tensor", one.span, name=one.name, rows=" or ".join(map(str, LANES)), known=DTYPES)
    elif prod(numbers) // numbers[-2] > ALONG:
        say("TG182.columns", one.span, name=one.name, count=prod(numbers) // numbers[-2], most=ALONG)
    elif other := next((n for n, a in reader.arrays.items() if a.role == TENSORS.name and n != one.name), None):
        say("TG182.one", one.span, reader.declared[other], name=one.name, other=other)


def is_tile(operand: Operand, extents: Sequence[int]) -> bool:
    """Whether an operand is a tile of an array with these extents: the same rows, which lie in the same lanes, and columns side by side."""
    rows, last = extents[-2:] if len(extents) > 1 else (0, 0)
    if rows not in LANES or operand.shape[0] != rows or last % operand.shape[1] or len(operand.shape) != 2:
        return False
    lanes, cells = (dict(beside_of(digits)) for digits in (operand.across, operand.cells))
    lies = [
        sum((i // beside % d.extent) * lanes[d] for d, beside in beside_of(operand.places[0]) if d in lanes) for i in range(rows)
    ]
    wanted = [sum(i // beside % extent * lane for beside, extent, lane in LANES[rows]) for i in range(rows)]
    along = all(d in cells and cells[d] == beside for d, beside in beside_of(operand.places[1]))
    return along and lies == wanted
