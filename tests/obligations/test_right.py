"""What is right and was refused, or refuted: each of these machines is proved, and built.

Comes in: the specs of tests/obligations/right, each with a line of what it is about. Goes out: a proof. The one idea: a verdict that a
machine deserves is kept as a mistake is, by a spec of its own.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tinygpu import pipeline
from tinygpu.pipeline import Proof

RIGHT = sorted((Path(__file__).parent / "right").glob("*.tgpu"))
SLOW = {"hilbert_curve", "merged_five", "merged_four", "merged_fold"}  # to read back: what they are about is the proof


@pytest.mark.parametrize("path", RIGHT, ids=lambda path: path.stem)
def test_they_are_proved(path: Path) -> None:
    spec = pipeline.load(path)
    assert spec.machines
    for machine in spec.machines:
        proof = pipeline.check(machine)
        assert isinstance(proof, Proof), (machine.title, proof)
        if path.stem not in SLOW:
            ready = pipeline.built(proof, machine)
            assert pipeline.validate(pipeline.module("right", [ready]), [ready]) == ()
