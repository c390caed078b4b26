"""How long a run would take, from the program alone: whoever runs it need not find out.

Comes in: a program and sizes. Goes out: lane-steps. The one idea: an assignment is made once for each turn of the loops around it, by every
thread, whether or not a guard holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from tinygpu.category.evaluate import evaluate
from tinygpu.category.region import Region
from tinygpu.category.term import Term, variables
from tinygpu.program.step import Assign, Program
from tinygpu.program.traverse import walk_steps


def lane_steps(program: Program, sizes: Mapping[str, int]) -> int:
    """The lane-steps of the assignment that is made most often; a loop whose extent is no number at these sizes counts once."""
    every = (
        prod(_extent(axis.extent, sizes) for axis in here.axes)
        for launch in program.launches
        for step, here, _ in walk_steps(launch.body, Region(launch.grid + launch.block))
        if isinstance(step, Assign)
    )
    return max(every, default=0)


def _extent(extent: Term, sizes: Mapping[str, int]) -> int:
    return max(0, int(evaluate(extent, dict(sizes)))) if variables(extent) <= sizes.keys() else 1
