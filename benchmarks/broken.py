"""Programs that are wrong by one statement, and the same programs whole.

Comes in: shipped machines. Goes out: pairs of specs. The one idea: a derived program is text too, so a barrier is a line to leave out.
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
    """The machine of a spec without its barrier of that number."""

    name: str
    spec: str
    machine: str
    barrier: int


VARIANTS = (
    Variant("staged product, no barrier after the copies", "matmul_shared", "matmul_16x16", 0),
    Variant("scan of a row, no barrier at the end", "scan", "scan_block", -1),
    Variant("histogram, no barrier before the sums", "histogram", "histogram_shared", -1),
)


def texts(variant: Variant) -> tuple[str, str]:
    """`variant → spec whose machine is whole, spec whose machine is not`: the op, and the program of the machine."""
    loaded = pipeline.load(SPECS / f"{variant.spec}.tgpu")
    program = pipeline.program(getattr(loaded, variant.machine))
    (op,) = (d for d in loaded.tree.declarations if isinstance(d, tree.Op) and d.name == program.op.name)
    whole = format_file(tree.File((op, to_machine(program))))
    return whole, without(whole, variant.barrier)


def without(text: str, number: int) -> str:
    """The text without its barrier of that number, counted from the front or from the back.

    >>> without("a\\n  barrier\\nb\\nbarrier\\n", 0), without("a\\n  barrier\\nb\\nbarrier\\n", -1)
    ('a\\nb\\nbarrier\\n', 'a\\n  barrier\\nb\\n')
    """
    found = list(re.finditer(r"(?m)^ *barrier\n", text))[number]
    return text[: found.start()] + text[found.end() :]
