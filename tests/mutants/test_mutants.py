"""A sample of mutants in every run: nothing that is proved misbehaves, and hardly anything is unknown.

Comes in: mutants by chance of a fixed seed. Goes out: their verdicts. The one idea: `python -m tests.mutants` is the whole; this is what
a change of the prover has to pass at once.
"""

from __future__ import annotations

from tests.mutants.mutate import mutants
from tests.mutants.survey import programs, sample, table, verdict
from tinygpu.obligations import wellformed
from tinygpu.program.render import render
from tinygpu.proof.check import Refutation, check

SAMPLE = 36
UNKNOWN = 3  # of the sample; the survey names them with their reasons


def test_no_mutant_is_proved_that_misbehaves() -> None:
    results = [verdict(source, mutant) for source, mutant in sample(SAMPLE, 2)]
    unsound = [f"{r.source}, {r.mutant.done}: {r.why}\n{render(r.mutant.program)}" for r in results if r.kind == "unsound"]
    assert not unsound, unsound[0]
    unknown = [f"{r.source}, {r.mutant.done}: {r.why}" for r in results if r.kind == "unknown"]
    assert len(unknown) <= UNKNOWN, unknown
    assert sum(r.kind == "refuted" for r in results) > SAMPLE * 2 // 3, table(results)


def test_a_guard_that_follows_from_no_other_is_split_once() -> None:
    """Of a scan of affine maps one guard is negated: what it says is not evident to the rules that settle it, in either case."""
    program = next(p for _, p in programs() if p.name == "recurrence_warp")
    broken = [m.program for m in mutants(program) if m.done == "in c: guard of total: guard negated"]
    assert len(broken) == 5 and all(isinstance(check(one), Refutation) for one in broken)


def test_mutants_are_programs_and_each_another_one() -> None:
    for _, program in programs()[::36]:
        found = list(mutants(program))
        assert found and all(not any(wellformed(m.program)) for m in found)
        assert all(m.program != program for m in found)
        assert len({(m.program.launches, m.program.where) for m in found}) == len(found)
        assert [m.done for m in mutants(program)] == [m.done for m in found]
