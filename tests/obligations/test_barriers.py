"""Every barrier that derivation puts into a shipped machine is needed: without it nothing is proved.

Comes in: the machines of `specs/` that are derived. Goes out: each of them without one of its barriers, which has to be open as a race.
The one idea: a barrier too many is slow and says that nobody knows why it stands there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tinygpu import pipeline
from tinygpu.obligations import barriers
from tinygpu.obligations.dataflow import execute
from tinygpu.obligations.obligation import Obligation
from tinygpu.program.step import For, If, Program, Step, Sync
from tinygpu.proof.kernel import Theorem, discharge

SPECS = sorted((Path(__file__).parents[2] / "specs").glob("*.tgpu"))


def without(body: tuple[Step, ...]) -> Iterator[tuple[Step, ...]]:
    """The body without one of its barriers, for each of them."""
    for position, step in enumerate(body):
        before, after = body[:position], body[position + 1 :]
        match step:
            case Sync():
                yield before + after
            case For(_, inner) | If(_, inner):
                yield from ((*before, replace(step, body=less), *after) for less in without(inner))


def lighter(program: Program) -> Iterator[Program]:
    """The program without one of its barriers, for each of them."""
    for position, launch in enumerate(program.launches):
        for body in without(launch.body):
            launches = (*program.launches[:position], replace(launch, body=body), *program.launches[position + 1 :])
            yield replace(program, launches=launches)


def racy(program: Program) -> bool:
    """Whether some claim about the order of accesses is no theorem."""
    claims = barriers.ordered(program, execute(program))
    return any(isinstance(c, Obligation) and not isinstance(discharge(c), Theorem) for c in claims)


@pytest.mark.parametrize("path", SPECS, ids=lambda p: p.stem)
def test_no_barrier_is_there_for_nothing(path: Path) -> None:
    for machine in pipeline.load(path).machines:
        if machine.program is None:
            for less in lighter(pipeline.program(machine)):
                assert racy(less), f"{machine.title} has a barrier that nothing needs"
