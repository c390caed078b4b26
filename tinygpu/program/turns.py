"""How long a run would take, from the program alone: whoever runs it need not find out.

Comes in: a program and sizes. Goes out: lane-steps. The one idea: an assignment is made once for each turn of the loops around it, by every
thread, whether or not a guard holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

from tinygpu.category.evaluate import evaluate
from tinygpu.category.term import Term, variables
from tinygpu.program.step import Assign, For, If, Launch, Program, Step


def lane_steps(program: Program, sizes: Mapping[str, int]) -> int:
    """The lane-steps of the assignment that is made most often; a loop whose extent is no number at these sizes counts once."""
    return max((_extents(launch, sizes) * most for launch in program.launches for most in _turns(launch.body, sizes)), default=0)


def _extents(launch: Launch, sizes: Mapping[str, int]) -> int:
    return prod(_extent(axis.extent, sizes) for axis in launch.grid + launch.block)


def _turns(body: tuple[Step, ...], sizes: Mapping[str, int]) -> Iterator[int]:
    for step in body:
        match step:
            case Assign():
                yield 1
            case If(_, inner):
                yield from _turns(inner, sizes)
            case For(axis, inner):
                yield _extent(axis.extent, sizes) * max(_turns(inner, sizes), default=0)


def _extent(extent: Term, sizes: Mapping[str, int]) -> int:
    return max(0, int(evaluate(extent, dict(sizes)))) if variables(extent) <= sizes.keys() else 1
