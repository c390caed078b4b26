"""What notes are about, and where they are said.

Comes in: a cost, and what is known of a device. Goes out: places in the text, and which accesses are worth a word. The one idea: what moves little is no note.
"""

from __future__ import annotations

from collections.abc import Sequence

from tinygpu.cost.measure import Cost, Line
from tinygpu.cost.on_device import Filled
from tinygpu.diagnostic import Span
from tinygpu.hardware.arch import Device
from tinygpu.model.problems import Problems
from tinygpu.record import dataclass, field

MATTERS = 0.02  # of all bytes moved: less is no note


@dataclass(frozen=True, slots=True)
class Seen:
    """What the notes are about, and what is said."""

    cost: Cost
    device: Device | None
    on: Sequence[Filled]
    problems: Problems = field(default_factory=Problems)

    def place(self, launch: int) -> Span:
        """Where a launch stands."""
        program = self.cost.program
        here = program.launches[launch].span
        machine = program.machine.span if program.machine else program.span
        return next((s for s in (here, program.span, machine) if s.line), here)


def matters(seen: Seen, line: Line) -> bool:
    """Whether an access moves enough to be said of, and it is known where."""
    total = seen.cost.moved
    return not line.access.array.strided and line.moved is not None and (total is None or line.moved >= MATTERS * total)
