"""Mutants of the library: what the second checker proves of them, a run of them says too.

Comes in: programs one mistake away from the shipped ones. Goes out: a failure with a proof that a run refutes.
The one idea: a checker that proves a wrong program is worse than none, and the simulator shares nothing with it.
"""

from __future__ import annotations

import random

import pytest

from tests.mutants.mutate import mutants
from tests.mutants.survey import disagreement
from tests.replay.library import explicit, library
from tests.replay.test_wrong import unproved
from tinygpu import pipeline

FILES = ("saxpy", "rows", "row_sum", "transpose", "causal", "argmax", "total", "reverse", "stencil")
ORDERED = ("recurrence", "scan")
SEED = 4


@pytest.mark.parametrize(("files", "count"), [(FILES, 30), (ORDERED, 4)], ids=["sets", "ordered"])
def test_no_mutant_is_proved_that_misbehaves(files: tuple[str, ...], count: int) -> None:
    chance = random.Random(SEED)
    machines = list(library(*files))
    seen = {"proved": 0, "not": 0}
    for _ in range(count):
        title, path, machine = chance.choice(machines)
        mutant = chance.choice(list(mutants(pipeline.program(machine))))
        if unproved(explicit(path, machine, mutant.program)):
            seen["not"] += 1
            continue
        seen["proved"] += 1
        wrong = disagreement(mutant.program)
        assert not wrong, f"{title}, {mutant.done}: {wrong}"
    assert seen["not"] > count // 2


def test_what_grows_without_end_is_left_open() -> None:
    """A guard the wrong way round, and each launch's values are choices between all those of the launch before."""
    (_, path, machine), *_ = (m for m in library("recurrence") if m[2].name == "recurrence_three")
    wrong = next(m for m in mutants(pipeline.program(machine)) if m.done == "in c: guard of h_before: operands swapped")
    assert unproved(explicit(path, machine, wrong.program))
