"""A sample of mutants in every run: nothing that is proved misbehaves, and hardly anything is unknown.

Comes in: mutants by chance of a fixed seed. Goes out: their verdicts. The one idea: `python -m tests.mutants` is the whole; this is what
a change of the prover has to pass at once.
"""

from __future__ import annotations

from tests.mutants.mutate import mutants
from tests.mutants.survey import programs, sample, table, verdict
from tinygpu.obligations.wellformed import gaps
from tinygpu.program.render import render

SAMPLE = 60
UNKNOWN = 3  # of the sample; the survey names them with their reasons


def test_no_mutant_is_proved_that_misbehaves() -> None:
    results = [verdict(source, mutant) for source, mutant in sample(SAMPLE, 2)]
    unsound = [f"{r.source}, {r.mutant.done}: {r.why}\n{render(r.mutant.program)}" for r in results if r.kind == "unsound"]
    assert not unsound, unsound[0]
    unknown = [f"{r.source}, {r.mutant.done}: {r.why}" for r in results if r.kind == "unknown"]
    assert len(unknown) <= UNKNOWN, unknown
    assert sum(r.kind == "refuted" for r in results) > SAMPLE * 2 // 3, table(results)


def test_mutants_are_programs_and_each_another_one() -> None:
    for _, program in programs()[::9]:
        found = list(mutants(program))
        assert found and all(not any(gaps(m.program)) for m in found)
        assert all(m.program != program for m in found)
        assert len({(m.program.launches, m.program.where) for m in found}) == len(found)
        assert [m.done for m in mutants(program)] == [m.done for m in found]
