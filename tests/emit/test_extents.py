"""An extent below 0 is 0: in grids, workspaces and loops, in what is proved, run, launched and counted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.program.library import proof_of
from tinygpu import pipeline
from tinygpu.cost.measure import measure
from tinygpu.pipeline import Proof
from tinygpu.simulate.inputs import random_inputs
from tinygpu.simulate.simulate import simulate

MACHINES = {m.name: m for m in pipeline.load(Path(__file__).parent / "extents.tgpu").machines}
NONE = {"n": 0, "m": 0}


@pytest.fixture(params=MACHINES)
def proof(request) -> Proof:
    return proof_of(MACHINES[request.param])


def test_what_runs_where_extents_are_negative(proof):
    call = pipeline.build(proof)
    for n, m in [(n, m) for n in (0, 1, 2, 3) for m in (0, 1, 2, 5)]:
        x, z = np.arange(1, n + 1, dtype=np.float32), np.arange(1, m + 1, dtype=np.float32)
        assert call(x, z) == x[: max(n - 1, 0)].sum() * z[: max(m - 1, 0)].sum(), (n, m)


def test_no_block_of_two_negative_factors(proof):
    """What is launched, counted and simulated, where both factors are -1; a launcher that multiplies them is refused."""
    program = proof.program
    assert next(one.blocks.number for one in measure(program, NONE).launches if one.launch.grid) == 0
    outcome = simulate(program, NONE, random_inputs(program.op, NONE, 0))
    assert not outcome.faults and outcome.outputs["y"] == 0
    built = pipeline.built(proof)
    text, right = pipeline.module(program.name, [built]), '"max(n - 1, 0)*max(m - 1, 0)", 32'
    assert right in text and pipeline.validate(text, [built]) == ()
    assert [d.code for d in pipeline.validate(text.replace(right, '"(n - 1)*(m - 1)", 32'), [built])] == ["TG822"]
