"""A machine for an op that has none, by rules, without a search.

    op × device ↦ machines with the instructions of an architecture, or for the cores of a CPU; then those for the threads of any GPU

Comes in: an op, and a device: none, an architecture, a CPU. Goes out: states, the one that is likely best first. The one idea: nothing is believed of a rule; who asks takes the first machine that is proved.
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygpu.model.op import Op
from tinygpu.record import replace
from tinygpu.tune.boxes import boxes
from tinygpu.tune.cores import cores
from tinygpu.tune.flash import flashes
from tinygpu.tune.scatter import scattered
from tinygpu.tune.sides import side, with_inverses
from tinygpu.tune.state import CPU, State
from tinygpu.tune.threads import threads


def first(op: Op, device: str = "") -> Iterator[State]:
    """States of an op, best first: those of a device before those of any."""
    yield from scattered(op, device)
    yield from flashes(op) if device == CPU else ()
    yield from cores(op) if device == CPU else boxes(op, device)
    yield from threads(op)
    yield from by_inverses(op, device)


def by_inverses(op: Op, device: str) -> Iterator[State]:
    """Those of an op that multiplies where this one divides each element of a row by the same."""
    beside = with_inverses(op) if op.via is None else None
    if beside is not None:
        via = beside[-1].name  # type: ignore[union-attr]
        other = side(op, beside, via)
        for state in (*(cores(other) if device == CPU else ()), *threads(other)):
            yield replace(state, op=op.family, via=via, beside=beside)
