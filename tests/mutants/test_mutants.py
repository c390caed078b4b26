"""A sample of mutants in every run: nothing that is proved misbehaves, and hardly anything is unknown.

Comes in: mutants by chance of a fixed seed. Goes out: their verdicts. The one idea: `python -m tests.mutants` is the whole; this is what
a change of the prover has to pass at once.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.mutants.__main__ import run
from tests.mutants.kinds import kind
from tests.mutants.mutate import mutants
from tests.mutants.survey import LAYERS, by_layers, every, programs, sample, table, verdict
from tinygpu.obligations.wellformed import gaps
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
        assert found and all(not any(gaps(m.program)) for m in found)
        assert all(m.program != program for m in found)
        assert len({(m.program.launches, m.program.where) for m in found}) == len(found)
        assert [m.done for m in mutants(program)] == [m.done for m in found]


def test_every_beginning_of_the_survey_is_spread() -> None:
    """One of each class of a layer comes before a second of any class of it, as far as the layers before it leave that open."""
    whole = every(programs()[::30])
    order = list(by_layers(whole, 0))
    assert len(order) == len(whole) and {id(one) for one in order} == {id(one) for one in whole}
    assert [one.mutant.done for one in by_layers(whole, 0)] == [one.mutant.done for one in order]
    start = 0
    for layer in LAYERS.values():
        classes = set(map(layer, whole))
        met = set(map(layer, order[:start]))
        fresh = order[start : start + len(classes - met)]
        assert {*map(layer, fresh)} == classes - met
        start += len(fresh)


def test_a_kind_has_no_name_of_its_machine() -> None:
    assert kind("in ko: in v: guard of sA: A[without by*8 + ty < M]") == "guard: in a read: without a part"
    assert kind("swapped: if a < b and c < d and if e < f") == "swapped: if and if"
    for unknown in ("mangled: x", "dropped: this and that", "swapped: x", "swapped: x and y", "value of x: gone"):
        with pytest.raises(ValueError, match="known of"):
            kind(unknown)


def test_a_survey_that_is_cut_goes_on_where_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = every([found for found in programs() if found[0] == "saxpy"][:1])
    path = tmp_path / "result.json"
    run(whole, 3, 0, path)
    capsys.readouterr()
    in_two = run(whole, 6, 0, path).kept()
    at_once = run(whole, 6, 0, None).kept()
    assert in_two["looked at"] == 6 and in_two == at_once | {"seconds": in_two["seconds"]}
    assert json.loads(path.read_text()) == json.loads(json.dumps(in_two))
    with pytest.raises(SystemExit, match="another seed"):
        run(whole, 6, 1, path)
