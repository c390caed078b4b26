"""The simulator: a program run in numpy, every thread of a group of blocks a lane, one step at a time, with shadow memory.

Comes in: a program, its sizes, its inputs. Goes out: the outputs and every fault on the way (see `program.fault`).
The one idea: nothing of the proof is used here, so what the prover says about a program can be tested against a run of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from tinygpu.category.number import Value, held, load, outside_dtype, unwritten, zeros
from tinygpu.category.term import Term
from tinygpu.category.to_numpy import evaluate
from tinygpu.derive.unpack import unpack
from tinygpu.program.access import accesses
from tinygpu.program.step import Array, Launch, Program, Sync, arrays_in, steps
from tinygpu.simulate.clock import Clock, Moments
from tinygpu.simulate.fault import Fault, Faults, NeverStored, Outcome, SimulationBudget, unflat
from tinygpu.simulate.global_cells import Global
from tinygpu.simulate.group import Group, factors, groups
from tinygpu.simulate.inputs import random_inputs
from tinygpu.simulate.interpret import Memory, Run, run_body
from tinygpu.simulate.local_cells import Cells
from tinygpu.simulate.memory import Input
from tinygpu.simulate.schedule import Schedule
from tinygpu.simulate.shadow import Shadow
from tinygpu.simulate.shared_cells import SharedCells

__all__ = ["Fault", "Outcome", "SimulationBudget", "random_inputs", "simulate"]

BUDGET = 1 << 30
WORK = 1 << 62


def simulate(
    program: Program,
    sizes: Mapping[str, int],
    inputs: Mapping[str, Any],
    *,
    order: int | None = None,
    budget: int = BUDGET,
    work: list[int] | None = None,
    cap: int = 20,
    vectorise: bool = True,
    undefined: bool | None = None,
) -> Outcome:
    """Runs the program at these sizes. Arrays have their tensors' shapes, scalars have rank 0.

    `order` is a seed: blocks and threads run in a permuted order, in groups that do not run in lockstep. `budget` counts lane-steps;
    beyond it SimulationBudget is raised. `work` is what is left for several runs together, in the same unit, with what every step costs
    by itself; it is taken from. `cap` is the most faults that are reported. With `vectorise`, the iterations of a
    nest whose one statement writes distinct cells run at once. `undefined` as in `evaluate`. Raises ValueError for inputs of a wrong shape.
    """
    program = unpack(program)
    env: dict[str, Value] = {name: int(sizes[name]) for name in program.op.sizes}
    written = [(t.name, t.dtype, True, _shape(t.shape, env)) for t in program.op.outputs]
    written += [(w.name, w.dtype, False, _shape(w.extents, env)) for w in program.workspaces]
    elements = sum(math.prod(shape) for _, _, _, shape in written)
    if elements > budget:  # each of them takes a store
        raise SimulationBudget(f"{elements} output elements are more than the budget of {budget} lane-steps")
    memory = {name: _global(name, dtype, output, shape) for name, dtype, output, shape in written}
    arrays: dict[str, Memory] = {**_inputs(program, env, inputs), **memory}
    faults, left = Faults(cap), [budget, work[0] if work else WORK]
    try:
        for number, launch in enumerate(program.launches):
            _launch(number, launch, env, arrays, faults, left, order, vectorise, undefined)
    finally:
        if work:
            work[0] = left[1]
    outputs = [memory[t.name] for t in program.op.outputs]
    for output in outputs:
        for address in np.flatnonzero(np.logical_not(output.written))[: max(0, cap - len(faults.found))]:
            faults.found.append(NeverStored(output.name, unflat(int(address), output.shape)))
    results = {o.name: o.values.reshape(o.shape).astype(outside_dtype(o.dtype)) for o in outputs}
    return Outcome(results, tuple(faults.found))


def _launch(
    number: int,
    launch: Launch,
    env: Mapping[str, Value],
    arrays: Mapping[str, Memory],
    faults: Faults,
    left: list[int],
    order: int | None,
    vectorise: bool,
    undefined: bool | None,
) -> None:
    """All blocks of one launch."""
    grid, block = (_shape(tuple(a.extent for a in axes), env) for axes in (launch.grid, launch.block))
    blocks, threads = math.prod(grid), math.prod(block)
    if blocks * threads > left[0]:
        raise SimulationBudget(f"{blocks * threads} threads are more than the budget of {left[0]} lane-steps")
    inner = tuple(steps(launch.body))
    shared = arrays_in(launch.body, "block")
    cells = sum(math.prod(_shape(s.extents, env)) for s in shared)
    names = tuple(a.name for a in launch.grid + launch.block)
    mixed, moments = _begin(launch, arrays), Moments()
    warp_barriers = any(isinstance(s, Sync) and s.scope == "warp" for s in inner)
    both = frozenset((*(s.name for s in shared), *(a.name for a in mixed)))
    chance = None if order is None or not both else np.random.default_rng([order, number])
    for group in groups(blocks, threads, order, cells):
        clock = Clock.of_block(group, warp_barriers)
        for array in mixed:
            now = Clock.of_launch(group, blocks, moments)
            array.shadow = Shadow(
                array.name, array.shape, array.values.size, array.values.size, now, array.shadow.logs if array.shadow else {}
            )
        own: dict[str, Memory] = {s.name: _local(s, env, group) for s in arrays_in(launch.body, "thread")}
        own.update((s.name, _shared(s, env, group, clock)) for s in shared)
        lanes = factors(launch.grid, grid, launch.block, block, group)
        schedule = None if chance is None else Schedule(chance, both)
        run = Run(number, group, {**env, **lanes}, names, {**arrays, **own}, clock, faults, left, vectorise, schedule, undefined)
        run_body(run, launch.body, run.all())


def _begin(launch: Launch, arrays: Mapping[str, Memory]) -> list[Global]:
    """The launch begins; gives the global arrays that it accesses in more than one way."""
    kinds = accesses(launch)
    mixed = []
    for name, array in arrays.items():
        if isinstance(array, Global):
            array.begin(kinds.get(name, frozenset()))
            if len(kinds.get(name, ())) > 1:
                mixed.append(array)
    return mixed


def _shape(shape: tuple[Term, ...], env: Mapping[str, Value]) -> tuple[int, ...]:
    return tuple(max(0, int(evaluate(extent, env))) for extent in shape)


def _inputs(program: Program, env: Mapping[str, Value], inputs: Mapping[str, Any]) -> dict[str, Input]:
    arrays = {}
    for tensor in program.op.inputs:
        values, shape = load(inputs[tensor.name], tensor.dtype), _shape(tensor.shape, env)
        if values.shape != shape:
            raise ValueError(f"{tensor.name} has shape {values.shape}; at these sizes it is {shape}")
        arrays[tensor.name] = Input(tensor.name, values)
    return arrays


def _global(name: str, dtype: str, output: bool, shape: tuple[int, ...]) -> Global:
    return Global.of(name, dtype, output, shape, unwritten(math.prod(shape), dtype))


def _local(local: Array, env: Mapping[str, Value], group: Group) -> Cells:
    extents = _shape(local.extents, env)
    shape = (math.prod(extents), group.lanes)
    return Cells(local.name, extents, zeros(shape, held(local.dtype)), np.zeros(shape, np.bool_))


def _shared(shared: Array, env: Mapping[str, Value], group: Group, clock: Clock) -> SharedCells:
    extents = _shape(shared.extents, env)
    each = math.prod(extents)
    size = each * len(group.blocks)
    values, written = zeros(size, held(shared.dtype)), np.zeros(size, np.bool_)
    shadow = Shadow(shared.name, extents, size, each, clock)
    return SharedCells(shared.name, extents, values, written, shadow, group.block * each)
