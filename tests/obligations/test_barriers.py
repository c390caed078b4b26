"""Every barrier that derivation puts into a shipped machine is needed: without it nothing is proved.

Comes in: the machines of `specs/` that are derived. Goes out: each of them without one of its barriers, which has to be open as a race.
The one idea: a barrier too many is slow and says that nobody knows why it stands there.
"""

from __future__ import annotations

import pytest

from tests.mutants.mutate import attempts
from tests.program.library import STEMS, library
from tinygpu import pipeline
from tinygpu.obligations import barriers
from tinygpu.obligations.dataflow import execute
from tinygpu.obligations.obligation import Obligation
from tinygpu.program.step import Program
from tinygpu.proof.kernel import Theorem, discharge


def racy(program: Program) -> bool:
    """Whether some claim about the order of accesses is no theorem."""
    claims = barriers.ordered(program, execute(program))
    return any(isinstance(c, Obligation) and not isinstance(discharge(c), Theorem) for c in claims)


@pytest.mark.sampled
@pytest.mark.parametrize("spec", STEMS)
def test_no_barrier_is_there_for_nothing(spec: str) -> None:
    for machine in library(spec):
        if machine.program is None:
            for mutant in attempts(pipeline.program(machine)):
                if "dropped: barrier" in mutant.done and "instruction" not in mutant.done:  # where that begins and ends
                    assert racy(mutant.program), f"{machine.title} has a barrier that nothing needs"
