"""A replay in numpy, for what is too large for a small run: other orders of the threads, other inputs, 16-bit floats.

Comes in: a program, sizes, a seed. Goes out: what went wrong, or None. The one idea: it is the same replay, and what both can run
they judge alike.
"""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np

from tinygpu.category.number import Array, load, outside_dtype
from tinygpu.category.term import BOOL, FLOATS, INTEGERS
from tinygpu.model.op import Op
from tinygpu.program.fault import Fault, OutOfBounds
from tinygpu.program.inputs import promised, random_inputs
from tinygpu.program.ranges import indices
from tinygpu.program.reference import reference
from tinygpu.program.simulate import simulate
from tinygpu.program.small_inputs import outstanding, shape_of
from tinygpu.program.step import Program
from tinygpu.program.tolerance import Mismatch, compare, tolerance
from tinygpu.proof.operands import operands
from tinygpu.record import replace

SIMULATED = 1 << 24  # lane-steps of one replay


def edge_inputs(op: Op, sizes: dict[str, int], seed: int = 0) -> dict[str, Array]:
    """Random inputs around 0, for even seeds integers also at the ends of their types, whatever the equation does with them: no index
    need be in range, no divisor positive."""
    inputs = random_inputs(op, sizes, seed)
    chance = np.random.default_rng([seed, 1])
    for tensor in (t for t in op.inputs if t.dtype != BOOL):
        dtype = outside_dtype(tensor.dtype)
        values = [0, 1, 2, 3] if tensor.dtype.startswith("u") else [-2, -1, 0, 1, 2, 3]
        if seed % 2 == 0 and tensor.dtype in INTEGERS:
            values += [np.iinfo(dtype).min, np.iinfo(dtype).max] * 2
        inputs[tensor.name] = np.asarray(chance.choice(values, inputs[tensor.name].shape)).astype(dtype)
    return inputs


def ends_inputs(op: Op, sizes: dict[str, int], seed: int = 0) -> dict[str, Array]:
    """Random inputs, but one place of each last axis stands out of what is no index: a fold that leaves it out is another one.

    For seed 0 it is the end, and integers grow towards it; for other seeds it is anywhere.
    """
    inputs = random_inputs(op, sizes, seed)
    used = indices(op)
    for tensor in op.inputs:
        values = inputs[tensor.name]
        if tensor.name in used or not values.ndim or not values.shape[-1]:
            continue
        ramp = np.arange(values.shape[-1])
        hot = len(ramp) - 1 if seed == 0 else np.random.default_rng([seed, 2]).integers(len(ramp))
        if tensor.dtype == BOOL:
            grown = ramp == hot
        elif tensor.dtype in INTEGERS:
            grown = np.maximum(9 - np.abs(hot - ramp), values.min(initial=0))
        else:
            negative = bool(values.min(initial=0) < 0)
            grown = np.where(ramp == hot, outstanding(len(ramp), seed, negative), -1.0 if negative else 0.5)
        inputs[tensor.name] = np.broadcast_to(grown, values.shape).astype(values.dtype)
    return inputs


def seen(
    program: Program,
    sizes: dict[str, int],
    seed: int,
    edge: bool,
    ends: bool,
    work: list[int] | None,
    share: float = 1.0,
    run: Program | None = None,
) -> tuple[Fault, ...] | Mismatch | None:
    """The faults of one run, or the first element that is wrong, of a `share` of them; `run` is what is run instead of the program, with
    the program's tolerance. Raises SimulationBudget, and IndexError or ZeroDivisionError where the equation has no value."""
    inputs = (edge_inputs if edge else ends_inputs if ends else random_inputs)(program.op, sizes, seed)
    if not promised(program.op, sizes, inputs):
        return None
    sample = None if share >= 1 else {t.name: some(shape_of(t, sizes), share, seed) for t in program.op.outputs}
    wanted = _wanted(program, sizes, inputs, sample) if edge else {}
    outcome = simulate(run or program, sizes, inputs, order=seed or None, budget=SIMULATED, work=work)
    if wanted is None:  # no value, but an access outside an array is one all the same
        return tuple(f for f in outcome.faults if isinstance(f, OutOfBounds))
    if outcome.faults:
        return outcome.faults
    wanted = wanted or reference(program.op, sizes, inputs, sample)
    rtol, atol = tolerance(program.op, sizes)
    found = compare(program.op, outcome.outputs, wanted, sample=sample, rtol=rtol, atol=atol)
    wrong = next((m for m in found if not edge or isfinite(m.want)), None)
    lists = {t.name: load(inputs[t.name], t.dtype, exact=True).ravel().tolist() for t in program.op.inputs} if wrong else {}
    return wrong and replace(wrong, operands=operands(program.op, sizes, lists, wrong))


def some(shape: tuple[int, ...], share: float, seed: int) -> tuple[Array, ...]:
    """A share of an array's elements, at least one: half of them its last, where smallest counterexamples are, the others by chance.

    >>> [axis.tolist() for axis in some((2, 3), 0.5, 0)]
    [[1, 1, 1], [0, 1, 2]]
    """
    every = int(np.prod(shape))
    count = min(every, max(2, int(every * share)))
    last = np.arange(every - (count + 1) // 2, every)
    flat = np.union1d(last, np.random.default_rng([seed, 3]).integers(0, max(1, every), count // 2))[:every]
    return np.unravel_index(flat, shape) if shape else ()


def _wanted(
    program: Program, sizes: dict[str, int], inputs: dict[str, Any], sample: dict[str, tuple[Array, ...]] | None
) -> dict[str, Any] | None:
    """The equation's values; None where it reads outside a tensor."""
    try:
        return reference(program.op, sizes, inputs, sample)
    except IndexError:
        return None


def count(program: Program, sizes: dict[str, int], seen: Mismatch, budget: int) -> tuple[float, float]:
    """What the element is, and what it should be, where all floats of the inputs are 1."""
    inputs = random_inputs(program.op, sizes)
    inputs |= {t.name: np.ones_like(inputs[t.name]) for t in program.op.inputs if t.dtype in FLOATS}
    got = simulate(program, sizes, inputs, budget=budget).outputs[seen.tensor][seen.index]
    one = {seen.tensor: tuple(np.asarray([i]) for i in seen.index)}
    return got, reference(program.op, sizes, inputs, one)[seen.tensor].flat[0]


def faults(program: Program, sizes: dict[str, int], budget: int) -> tuple[Fault, ...]:
    """The faults of one run in lockstep on random inputs."""
    inputs = random_inputs(program.op, sizes)
    return simulate(program, sizes, inputs, budget=budget).faults if promised(program.op, sizes, inputs) else ()
