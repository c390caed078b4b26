"""A sample of mutants in every run: nothing that is proved misbehaves, and hardly anything is unknown.

Comes in: mutants by chance of a fixed seed. Goes out: their verdicts. The one idea: `python -m tests.mutants` is the whole; this is what
a change of the prover has to pass at once.
"""

from __future__ import annotations

from itertools import islice

import pytest

from tests.conftest import Share
from tests.mutants.__main__ import judged, machines
from tests.mutants.mutate import attempts, is_mutant, mutants
from tests.program.library import shipped
from tinygpu import pipeline
from tinygpu.obligations import wellformed
from tinygpu.proof.check import Refutation, check

SAMPLE = (16, 36)  # with each seed: in every run, and in a night
LONGEST = 64  # steps of a program: mutants of longer ones are judged by the survey
FIRST = 60  # of a program
UNKNOWN = 3  # of them; the survey names them with their reasons


@pytest.mark.parametrize("seed", [3, 4])
def test_no_mutant_is_proved_that_misbehaves(seed: int, night: bool) -> None:
    found = {kind: [] for kind in ("refuted", "equivalent", "unknown", "unsound")}
    for kind, said in judged(SAMPLE[night], seed, LONGEST):
        found[kind].append(said)
    assert not found["unsound"], found["unsound"][0]
    assert len(found["unknown"]) <= UNKNOWN, found["unknown"]
    assert len(found["refuted"]) > sum(map(len, found.values())) * 2 // 3 >= SAMPLE[night] // 2, found


def test_a_guard_that_follows_from_no_other_is_split_once() -> None:
    """Of a scan of affine maps one guard is negated: what it says is not evident to the rules that settle it, in either case."""
    program = shipped("recurrence", "recurrence_warp")
    broken = [m.program for m in attempts(program) if m.done == "in c: guard of total: guard negated" and is_mutant(m, program)]
    assert len(broken) == 5 and all(isinstance(check(one), Refutation) for one in broken)


def test_mutants_are_programs_and_each_another_one(share: Share) -> None:
    for machine in share(machine for _, machine in machines()[::18]):
        program = pipeline.program(machine)
        found = list(islice(mutants(program), FIRST))
        assert found and all(
            not any(wellformed(m.program)) for m in found if m.program.where != program.where
        )  # of others it is asked
        assert all(m.program != program for m in found)
        assert len({(m.program.launches, m.program.where) for m in found}) == len(found)
        order = [m.done for m in attempts(program)]
        assert [m.done for m in attempts(program)] == order and {m.done for m in found} <= {*order}
