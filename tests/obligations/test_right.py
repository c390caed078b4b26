"""What is right and was refused, or refuted: each of these machines is proved, and built.

Comes in: the specs of tests/obligations/right, each with a line of what it is about; machines whose folds cross workers and launches. Goes out:
a proof, of some a module that is read back, and none of what their comments make of them. The one idea: a verdict that a machine deserves is kept as a mistake is, by a spec of its own.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.comments import Wrong, wrongs
from tests.conftest import Whole
from tests.program.library import here, left_open, machines
from tinygpu import pipeline
from tinygpu.pipeline import Proof, Refutation
from tinygpu.proof.kernel import prove

RIGHT = sorted((Path(__file__).parent / "right").glob("*.tgpu"))
SLOW = {"chains", "hilbert_curve", "merged_five", "merged_four", "merged_fold"}  # to read back: what they are about is the proof
FOLDS = ("nested_both", "two_warp", "causal_split", "causal_two", "stats_launches", "stats_kept", "placed_again")


@pytest.mark.parametrize("path", RIGHT, ids=lambda path: path.stem)
def test_they_are_proved(path: Path, whole: Whole) -> None:
    spec = pipeline.load(path)
    assert spec.machines
    for machine in spec.machines:
        proof = pipeline.check(machine)
        assert isinstance(proof, Proof), (machine.title, proof)
        if path.stem not in SLOW and whole(path.stem):
            ready = pipeline.built(proof, machine)
            assert pipeline.validate(pipeline.module("right", [ready]), [ready]) == ()


@pytest.mark.parametrize("wrong", [pytest.param(w, id=f"{p.stem}: {w.why}") for p in RIGHT for w in wrongs(p)])
def test_and_not_where_they_are_edited(wrong: Wrong) -> None:
    """The comments of a spec say which machine is edited, and what is not proved of it then."""
    assert left_open(pipeline.program(machines(wrong.text)[wrong.title]), wrong.why)


@pytest.mark.sampled
@pytest.mark.parametrize(
    "wrong", [pytest.param(w, id=f"{p.stem}: {w.title}: {w.why}") for p in RIGHT for w in wrongs(p) if w.kind == "wrong"]
)
def test_what_is_wrong_is_refuted(wrong: Wrong) -> None:
    """A run shows it, at small sizes. What is `loose` goes wrong by rounding alone, beyond 2³¹, in the laws of a monoid, or is right and not proved."""
    verdict = pipeline.check(machines(wrong.text)[wrong.title])
    assert isinstance(verdict, Refutation), verdict


@pytest.mark.parametrize("name", FOLDS)
def test_folds_across_workers_and_launches_are_proved(name: str) -> None:
    """`stats_kept` opens a fold inside another one of the same form, so a binder that took the name of one that is open would make two
    indices one."""
    assert isinstance(prove(pipeline.program(here("hard_folds")[name])), Proof)
