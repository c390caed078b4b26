"""Programs that are wrong by one statement, and the same programs whole.

Comes in: shipped machines. Goes out: pairs of specs. The one idea: a derived program is text too, so a barrier is a line to leave out
and a guard a few words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tinygpu import pipeline
from tinygpu.program.render import to_machine
from tinygpu.syntax import tree
from tinygpu.syntax.format import format_file

SPECS = Path(__file__).resolve().parent.parent / "specs"


@dataclass(frozen=True, slots=True)
class Variant:
    """The machine of a spec with its `number`th text of that pattern (counted from the front or from the back) written as `new`."""

    name: str
    spec: str
    machine: str
    pattern: str
    new: str = ""
    number: int = 0


BARRIER = r"(?m)^ *barrier\n"
VARIANTS = (
    Variant("staged product, no barrier after the copies", "matmul_shared", "matmul_16x16", BARRIER),
    Variant("scan of a row, no barrier at the end", "scan", "scan_block", BARRIER, number=-1),
    Variant("histogram, no barrier before the sums", "histogram", "histogram_shared", BARRIER, number=-1),
    Variant("transpose, no barrier", "transpose", "transpose_tiled", BARRIER),
    Variant("saxpy, the tail is not guarded", "saxpy", "saxpy_scalar", r"\s+if g\*256 \+ t < n"),
    Variant("saxpy, the last element is not stored", "saxpy", "saxpy_scalar", "if g.256 . t < n", "if g*256 + t + 1 < n"),
    Variant("staged product, the tail of K is read", "matmul_shared", "matmul_16x16", r"and\s+ko\*16 \+ tx[^<]*< K"),
    Variant("heat, half of the halo is not copied", "stencil_shared", "heat_shared", "copy < 2", "copy < 1"),
    Variant(
        "transpose, the tile is read as it was written",
        "transpose",
        "transpose_tiled",
        r"x_tile\[tx, u\*8 \+ ty\]",
        "x_tile[u*8 + ty, tx]",
    ),
    Variant("row sum, one shuffle is missing", "row_sum", "rows_warp", r"(?m)^ *acc\[\] \+= shuffle_xor\(acc\[\], 16\)\n"),
    Variant("pooling, 0 as the fill of a maximum", "pooling", "pool_scalar", r"else\s+-inf", "else 0"),
)


def texts(variant: Variant) -> tuple[str, str]:
    """`variant → spec whose machine is whole, spec whose machine is not`: the op, and the program of the machine."""
    loaded = pipeline.load(SPECS / f"{variant.spec}.tgpu")
    program = pipeline.program(next(m for m in loaded.machines if m.name == variant.machine))
    (op,) = (d for d in loaded.tree.declarations if isinstance(d, tree.Op) and d.name == program.op.name)
    whole = format_file(tree.File((op, to_machine(program))))
    return whole, changed(whole, variant.pattern, variant.new, variant.number)


def changed(text: str, pattern: str, new: str, number: int) -> str:
    """The text with that place of the pattern written anew; IndexError if it has none.

    >>> changed("a\\n  barrier\\nb\\nbarrier\\n", BARRIER, "", -1), changed("a < 1, b < 1", r"(\\w) < 1", r"\\1 < 2", 0)
    ('a\\n  barrier\\nb\\n', 'a < 2, b < 1')
    """
    found = list(re.finditer(pattern, text))[number]
    return text[: found.start()] + found.expand(new) + text[found.end() :]
