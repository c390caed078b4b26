"""An extent below 0 is 0: in grids, workspaces and loops, in what is proved, run, launched and counted."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from tinygpu import pipeline
from tinygpu.cost.measure import measure
from tinygpu.pipeline import Proof, load_text
from tinygpu.simulate.inputs import random_inputs
from tinygpu.simulate.simulate import simulate

OP = "op products(x: f32[n], z: f32[m]) -> (y: f32[]) { y[] = sum[i < n - 1, j < m - 1] x[i]*z[j] }\n"
LAST = """launch (grid = (), block = (t: 32)) {
    local v: f32[]
    v[] = 0
    for i < n - 1 { for j < m - 1 { v[] += w[i, j] } }
    y[] = v[] if t == 0
  }"""
PROGRAMS = {
    "updates": """launch (grid = (), block = (t: 32)) { y[] = 0 if t == 0 }
  launch (grid = (a: n - 1, b: m - 1), block = (t: 32)) { atomic y[] += x[a]*z[b] if t == 0 }""",
    "workspace": f"""workspace w: f32[n - 1, m - 1]
  launch (grid = (a: n - 1, b: m - 1), block = (t: 32)) {{ w[a, b] = x[a]*z[b] if t == 0 }}
  {LAST}""",
    "exchange": f"""workspace w: f32[n - 1, m - 1]
  launch (grid = (a: n - 1, b: m - 1), block = (t: 32)) {{
    shared s: f32[32]
    s[t] = x[a]*z[b]
    barrier
    w[a, b] = s[31 - t] if t == 0
  }}
  {LAST}""",
}
SIZES = [(n, m) for n in (0, 1, 2, 3) for m in (0, 1, 2, 5)]


@cache
def proved(name: str) -> Proof:
    (machine,) = load_text(OP + f"machine {name} : products {{ program {{\n  {PROGRAMS[name]}\n}} }}\n").machines
    proof = pipeline.check(machine)
    assert isinstance(proof, Proof)
    return proof


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_runs_where_extents_are_negative(name):
    call = pipeline.build(proved(name))
    for n, m in SIZES:
        x, z = np.arange(1, n + 1, dtype=np.float32), np.arange(1, m + 1, dtype=np.float32)
        assert call(x, z) == x[: max(n - 1, 0)].sum() * z[: max(m - 1, 0)].sum(), (n, m)


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_block_of_two_negative_factors(name):
    """What is launched, counted and simulated, where both factors are -1."""
    program = proved(name).program
    assert next(one.blocks.number for one in measure(program, {"n": 0, "m": 0}).launches if one.launch.grid) == 0
    outcome = simulate(program, {"n": 0, "m": 0}, random_inputs(program.op, {"n": 0, "m": 0}, 0))
    assert not outcome.faults and outcome.outputs["y"] == 0
    text = pipeline.module(name, [pipeline.built(proved(name))])
    assert '"max(n - 1, 0)*max(m - 1, 0)", 32' in text and '"(n - 1)*(m - 1)", 32' not in text


def test_a_launcher_that_multiplies_negative_factors_is_refused():
    built = pipeline.built(proved("updates"))
    text = pipeline.module("updates", [built])
    assert pipeline.validate(text, [built]) == ()
    wrong = text.replace('"max(n - 1, 0)*max(m - 1, 0)", 32', '"(n - 1)*(m - 1)", 32')
    assert [d.code for d in pipeline.validate(wrong, [built])] == ["TG822"]
