"""A ghost fact is a fact: what `cell holds expr` says is what the cell holds.

    value(cell) = expr        by induction over the loops around it, since a fact stated last in a loop is the next round's start

Comes in: the trace. Goes out: the formulas of `body.same` for each ghost.
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygpu.diagnostic import Label
from tinygpu.obligations.body import same
from tinygpu.obligations.obligation import Claim, Obligation
from tinygpu.obligations.trace import Trace
from tinygpu.program.step import Program
from tinygpu.record import replace


def state(program: Program, trace: Trace) -> Iterator[Claim]:
    """The claims of this property."""
    for ghost in trace.ghosts:
        for claim in same(ghost.value, ghost.claim, ghost.point, (Label(ghost.span, "said here"),)):
            match claim:
                case Obligation():
                    yield replace(claim, kind="holds", code="TG509", title="the cell does not hold what is said")
                case _:
                    yield claim
