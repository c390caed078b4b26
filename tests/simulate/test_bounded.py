"""What rounding may do: a machine that is right is never called wrong, however large its numbers are, and one that leaves out a term is.

Comes in: ops in f32, f16 and bf16, on numbers of many magnitudes. Goes out: elements beyond their bounds. The one idea: the simulator rounds every operation
as a machine does, so a proved machine is run in it, and then with one term less.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.program.library import loaded
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
    machine = next(m for m in loaded(spec).machines if name in (None, m.name))
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


# ── what leaves the range on the way ───────────────────────────────────────────────────────────────────────────────

MONOID = """monoid affine(a: f32, b: f32) {
  unit (1, 0)
  lift (p, q) = (p, q)
  combine (f, g) = (f.a * g.a, g.a * f.b + g.b)
}
"""
REACHING = {
    "the first ones": ("y[i] = prod[k] (A[i, k] * B[i, k])", lambda k: 1e25 if k < 3 else 1e-25),
    "every second one": ("y[i] = prod[k] (A[i, k] * B[i, k])", lambda k: (1e25, 1e-25)[k % 2]),
    "the smallest": ("y[i] = prod[k] (A[i, k] * B[i, k])", lambda k: (1e-25, 1e25)[k // 3 % 2]),
    "a recurrence": ("y[i] = (fold affine[k] (A[i, k], B[i, k])).b", lambda k: 1e25 if k in (2, 3) else 1e-25),
}


@pytest.mark.parametrize(("equation", "number"), REACHING.values(), ids=REACHING)
def test_what_some_order_brings_out_of_range_has_no_bound(equation, number) -> None:
    """Rows of which the first stays in range in every order, and the others do not."""
    (machine,) = pipeline.load_text(MONOID * ("affine" in equation) + text(equation, "f32")).machines
    sizes = {"M": 8, "K": 6}
    inputs = random_inputs(machine.op, sizes)
    inputs["B"][1:] = 1
    inputs["A"][1:] = [number(k) for k in range(6)]
    outcome = simulate(pipeline.program(machine), sizes, inputs)
    want, most = bounded(machine.op, sizes, inputs, {"y": (np.arange(8),)})
    assert not compare(machine.op, outcome.outputs, want, sample={"y": (np.arange(8),)}, bounds=most)
    assert most["y"][0] < 1e-3 and not (most["y"][1:] < np.abs(want["y"][1:])).any()


def test_orders_of_a_recurrence_are_near_and_a_wrong_one_is_not() -> None:
    (machine,) = [m for m in loaded("recurrence").machines if m.name == "recurrence_block"]
    sizes = dict(zip(machine.op.sizes, (5, 300), strict=True))
    inputs = random_inputs(machine.op, sizes)
    outcome = simulate(pipeline.program(machine), sizes, inputs)
    (name, values), *_ = outcome.outputs.items()
    sample = {name: tuple(np.indices(values.shape).reshape(values.ndim, -1))}
    want, most = bounded(machine.op, sizes, inputs, sample)
    assert not compare(machine.op, outcome.outputs, want, sample=sample, bounds=most)
    near = most[name] < 1e-2 * np.abs(want[name])
    assert near.sum() > 30
    worse = compare(machine.op, {name: values * np.float32(1.05)}, want, sample=sample, bounds=most, cap=2000)
    assert len(worse) >= near.sum()


def test_the_place_of_a_computed_extreme_is_sure_where_no_other_is_near() -> None:
    (machine,) = pipeline.load_text(text("p[i] = argmax[k] (A[i, k] * B[i, k])\n  y[i] = f32(p[i])", "f32")).machines  # fmt: skip
    sizes = {"M": 40, "K": 50}
    inputs = random_inputs(machine.op, sizes)
    inputs["A"][0], inputs["B"][0] = 1.0, 1.0  # ties, one of them off by less than a product rounds
    inputs["A"][0, 7] = np.float32(1 + 2.0**-23)
    _, most = bounded(machine.op, sizes, inputs, {"y": (np.arange(40),)})
    assert most["y"][0] > 1 and (most["y"][1:] < 1e-3).sum() >= 36


def test_large_scores_of_a_softmax_have_a_bound() -> None:
    (machine,) = pipeline.load_text(text("z[i] = logsumexp[k] (100 * A[i, k])\n  y[i] = sum[k] exp(100 * A[i, k] - z[i]) * B[i, k]", "f32")).machines  # fmt: skip
    sizes = {"M": 40, "K": 50}
    inputs = random_inputs(machine.op, sizes)
    outcome = simulate(pipeline.program(machine), sizes, inputs)
    want, most = bounded(machine.op, sizes, inputs, {"y": (np.arange(40),)})
    assert not compare(machine.op, outcome.outputs, want, sample={"y": (np.arange(40),)}, bounds=most)
    assert (most["y"] < 0.1).all()
