"""What rounding may do: a machine that is right is never called wrong, however large its numbers are, and one that leaves out a term is.

Comes in: ops in f32, f16 and bf16, on numbers of many magnitudes. Goes out: elements beyond their bounds. The one idea: the simulator rounds every operation
as a machine does, so a proved machine is run in it, and then with one term less.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.conftest import ROOT
from tinygpu import pipeline
from tinygpu.simulate.bounded import bounded, chain
from tinygpu.simulate.fault import Outcome
from tinygpu.simulate.inputs import random_inputs
from tinygpu.simulate.simulate import simulate
from tinygpu.simulate.tolerance import Mismatch, compare

LONG = {"f32": 200, "f16": 12, "bf16": 6}  # terms of which one is more than what rounding does to all of them
DOT = """op dot(A: T[M, K], B: T[M, K]) -> (y: T[M]) { y[i] = sum[k] A[i, k] * B[i, k] }
machine m : dot {
  work grid = (g), block = (t: 8)
  compute i = (g, t)
  time k
}"""
OPS = {
    "a quotient of sums": "s[i] = sum[k] A[i, k]\n  y[i] = s[i] / (sum[k] abs(B[i, k]))",
    "a choice by what is computed": "s[i] = sum[k] A[i, k]\n  y[i] = s[i] if s[i] > B[i, 0] else 0",
    "functions": "s[i] = sum[k] A[i, k]\n  y[i] = tanh(s[i]) * sigmoid(s[i]) + sqrt(abs(s[i])) + log(abs(B[i, 0]) + 1) + sin(s[i])",
    "softmax": "m[i] = max[k] A[i, k]\n  y[i] = (sum[k] exp(A[i, k] - m[i]) * B[i, k]) / (sum[k] exp(A[i, k] - m[i]))",
    "a product": "y[i] = prod[k] (A[i, k] + B[i, k])",
    "a variance": "s[i] = sum[k] A[i, k]\n  y[i] = sum[k] (A[i, k] * B[i, k] - s[i]) * (A[i, k] - s[i])",
}


def text(equations: str, dtype: str) -> str:
    """A machine for these equations."""
    op = f"op f(A: {dtype}[M, K], B: {dtype}[M, K]) -> (y: {dtype}[M]) where K >= 1 {{\n  {equations}\n}}\n"
    return op + "machine m : f {\n  work grid = (g), block = (t: 8)\n  compute i = (g, t)\n  time k\n}"


def found(source: str, scale: float, without: bool = False, length: int = 5) -> list[Mismatch]:
    """The elements that a run gets wrong, on inputs of a magnitude; it may be one of the same with a term less."""
    (machine,) = pipeline.load_text(source).machines
    program, sizes = pipeline.program(machine), {"M": 40, "K": length}
    inputs = {n: (a.astype(np.float64) * scale).astype(a.dtype) for n, a in random_inputs(machine.op, sizes).items()}
    less = {n: a[:, :-1] for n, a in inputs.items()} if without else inputs
    outcome: Outcome = simulate(program, {**sizes, "K": length - without}, less)
    want, most = bounded(machine.op, sizes, inputs, {"y": (np.arange(40),)}, chain((program,), sizes))
    assert np.isfinite(want["y"]).all()
    return compare(machine.op, outcome.outputs, want, sample={"y": (np.arange(40),)}, bounds=most, cap=40)


@pytest.mark.parametrize("scale", [1.0, 2.0**-6, 30.0])
@pytest.mark.parametrize("dtype", LONG)
def test_a_sum_is_right_and_without_a_term_it_is_wrong(dtype: str, scale: float) -> None:
    source = DOT.replace("T[", f"{dtype}[")
    assert not found(source, scale, length=LONG[dtype])
    assert len(found(source, scale, without=True, length=LONG[dtype])) > 20


@pytest.mark.parametrize("dtype", LONG)
@pytest.mark.parametrize("equations", OPS.values(), ids=OPS)
def test_what_rounds_at_every_step_is_not_called_wrong(equations: str, dtype: str) -> None:
    for scale in (1.0, 8.0, 0.01):
        assert not found(text(equations, dtype), scale)


def test_what_is_moved_is_compared_to_the_bit() -> None:
    source = "op copy(x: f32[n]) -> (y: f32[n]) { y[i] = x[i] }\nmachine m : copy {\n  work grid = (g), block = (t: 32)\n  compute i = (g, t)\n}"
    (machine,) = pipeline.load_text(source).machines
    inputs = random_inputs(machine.op, {"n": 10})
    want, most = bounded(machine.op, {"n": 10}, inputs, {"y": (np.arange(10),)})
    assert max(most["y"]) < 1e-30 and (want["y"] == inputs["x"]).all()


@pytest.mark.parametrize(("spec", "name"), [("softmax", "softmax_block"), ("welford", "welford_block"), ("online_softmax", None), ("argmax", None)])  # fmt: skip
def test_machines_of_several_components(spec: str, name: str | None) -> None:
    machine = next(m for m in pipeline.load(ROOT / "specs" / f"{spec}.tgpu").machines if name in (None, m.name))
    sizes = dict.fromkeys(machine.op.sizes, 37)
    inputs = random_inputs(machine.op, sizes)
    outcome = simulate(pipeline.program(machine), sizes, inputs)
    sample = {n: tuple(np.indices(a.shape).reshape(a.ndim, -1)) for n, a in outcome.outputs.items()}
    want, most = bounded(machine.op, sizes, inputs, sample)
    assert not compare(machine.op, outcome.outputs, want, sample=sample, bounds=most)
    worse = {
        n: a + np.asarray(0.02 * (1 + np.abs(a)), a.dtype) if a.dtype.kind == "f" else a + 1 for n, a in outcome.outputs.items()
    }
    assert compare(machine.op, worse, want, sample=sample, bounds=most)
