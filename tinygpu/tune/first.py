"""A machine for an op that has none, by rules, without a search.

    op × device ↦ machines with the instructions of an architecture, or for the cores of a CPU; then those for the threads of any GPU

Comes in: an op, and a device: none, an architecture, a CPU. Goes out: states, the one that is likely best first. The one idea: nothing is believed of a rule; who asks takes the first machine that is proved.
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygpu.model.op import Op
from tinygpu.tune.boxes import boxes
from tinygpu.tune.cores import cores
from tinygpu.tune.flash import flashes
from tinygpu.tune.scatter import scattered
from tinygpu.tune.state import CPU, State
from tinygpu.tune.threads import threads


def first(op: Op, device: str = "") -> Iterator[State]:
    """States of an op, best first: those of a device before those of any."""
    yield from scattered(op)
    yield from flashes(op) if device == CPU else ()
    yield from cores(op) if device == CPU else boxes(op, device)
    yield from threads(op)
