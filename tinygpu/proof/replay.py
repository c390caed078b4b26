"""Replay: a suspected counterexample is run before anybody sees it.

Comes in: a program and sizes, or an open claim with a model. Goes out: what really went wrong, or None.
The one idea: the simulator and plain integer evaluation share nothing with the prover, so a counterexample that both agree on is real.
"""

from __future__ import annotations

from math import isfinite, prod
from typing import Any, TypeAlias

import numpy as np

from tinygpu.category.evaluate import evaluate
from tinygpu.category.number import Array, outside_dtype
from tinygpu.category.term import BOOL, INTEGERS, Read, reads, variables, walk
from tinygpu.model.op import Op
from tinygpu.obligations.obligation import Obligation
from tinygpu.program.fault import Divergent, DoubleStore, Fault, OutOfBounds, Race, SimulationBudget, Uninitialised
from tinygpu.program.inputs import promised, random_inputs
from tinygpu.program.reference import reference
from tinygpu.program.simulate import simulate
from tinygpu.program.step import Program
from tinygpu.program.tolerance import Mismatch, compare, fold_length, tolerance

SIMULATED = 1 << 24  # lane-steps of one replay
REFERRED = 1 << 25  # points of the equations' folds

Misbehaviour: TypeAlias = Fault | Mismatch


def admitted(program: Program, sizes: dict[str, int]) -> bool:
    """Whether sizes satisfy the preconditions."""
    try:
        return all(evaluate(w, sizes) for w in program.where)
    except ZeroDivisionError:
        return False


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
    indices = {
        inner.tensor for e in op.equations for t in walk(e.value) if isinstance(t, Read) for i in t.index for inner in reads(i)
    }
    for tensor in op.inputs:
        values = inputs[tensor.name]
        if tensor.name in indices or not values.ndim or not values.shape[-1]:
            continue
        ramp = np.arange(values.shape[-1])
        hot = len(ramp) - 1 if seed == 0 else np.random.default_rng([seed, 2]).integers(len(ramp))
        if tensor.dtype == BOOL:
            grown = ramp == hot
        elif tensor.dtype in INTEGERS:
            grown = np.maximum(9 - np.abs(hot - ramp), values.min(initial=0))
        else:
            grown = np.where(ramp == hot, 2.0, np.where(values.min(initial=0) < 0, -1.0, 0.5).item())
        inputs[tensor.name] = np.broadcast_to(grown, values.shape).astype(values.dtype)
    return inputs


def replay(
    program: Program, sizes: dict[str, int], seed: int = 0, edge: bool = False, ends: bool = False, work: list[int] | None = None
) -> Misbehaviour | None:
    """The first thing that goes wrong at these sizes, on the inputs of a seed; threads run in lockstep for seed 0, else permuted.

    `edge` are inputs around 0 and at the ends of their types, `ends` those that stand out at the end of an axis. `work` is what is
    left for this run and others; what this one takes is taken from it.

    Where the equation itself has no value on those inputs, or they are not as promised, nothing is said.
    """
    points = _points(program.op, sizes)
    if points > REFERRED:
        return None
    if work:
        work[0] -= points
    try:
        inputs = (edge_inputs if edge else ends_inputs if ends else random_inputs)(program.op, sizes, seed)
        if not promised(program.op, sizes, inputs):
            return None
        wanted = _wanted(program, sizes, inputs) if edge else {}
        outcome = simulate(program, sizes, inputs, order=seed or None, budget=SIMULATED, work=work)
        if wanted is None:  # no value, but an access outside an array is one all the same
            return next((f for f in outcome.faults if isinstance(f, OutOfBounds)), None)
        if outcome.faults:
            return _telling(outcome.faults)
        wanted = wanted or reference(program.op, sizes, inputs)
    except (SimulationBudget, IndexError, ZeroDivisionError):
        return None  # too large to run, or the equation itself has no value here
    rtol, atol = tolerance(program.op, sizes)
    found = [m for m in compare(program.op, outcome.outputs, wanted, rtol=rtol, atol=atol) if not edge or isfinite(m.want)]
    return found[0] if found else None


def misbehaviour(program: Program, sizes: dict[str, int], ends: int = 4, work: list[int] | None = None) -> Misbehaviour | None:
    """The first thing that goes wrong at these sizes, in lockstep, in permuted orders, and on other inputs; `ends` of them stand out."""
    integers = any(t.dtype in INTEGERS for t in program.op.inputs)
    for seed in range(5 if integers else 4):
        seen = replay(program, sizes, seed, edge=seed > 2, work=work)
        if seed < ends:  # one place that stands out, which chance alone may not make the one that is missed
            seen = seen or replay(program, sizes, seed, ends=True, work=work)
        if seen is not None:
            return seen
    return None


def _points(op: Op, sizes: dict[str, int]) -> int:
    """How many points the equations' folds have in all."""
    shapes = ((e, op.tensor(e.target).shape) for e in op.equations)
    return sum(prod(max(0, int(evaluate(n, sizes))) for n in shape) * fold_length(e.value, sizes) for e, shape in shapes)


def _telling(faults: tuple[Fault, ...]) -> Fault:
    """The first fault; but a cell that somebody reads too early is what a race looks like where the threads are not in step, and what
    two threads update in global memory they store twice."""
    match faults[0]:
        case Uninitialised(owner="block" | "launch"):
            return next((f for f in faults if isinstance(f, Race | Divergent)), faults[0])
        case Race(scope="launch", at=at, first=first) if at.step is first.step:  # an update that is not atomic
            return next((f for f in faults if isinstance(f, DoubleStore)), faults[0])
    return faults[0]


def _wanted(program: Program, sizes: dict[str, int], inputs: dict[str, Any]) -> dict[str, Any] | None:
    """The equation's values; None where it reads outside a tensor."""
    try:
        return reference(program.op, sizes, inputs)
    except IndexError:
        return None


def evaluates_false(claim: Obligation, model: dict[str, int]) -> bool:
    """Whether plain integers confirm a model: every hypothesis true, the goal false. Claims about tensors are not for this."""
    terms = (*claim.hypotheses, claim.goal)
    env = {name: 0 for term in terms for name in variables(term)} | model
    try:
        return all(evaluate(h, env) for h in claim.hypotheses) and not evaluate(claim.goal, env)
    except (ZeroDivisionError, ValueError):
        return False
