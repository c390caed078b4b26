"""The simulator: a program run in numpy, every thread of a group of blocks a lane, one step at a time, with shadow memory.

Comes in: a program, its sizes, its inputs. Goes out: the outputs and every fault on the way (see `fault.py`).
The one idea: nothing of the proof is used here, so what the prover says about a program can be tested against a run of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from tinygpu.category.number import Array as Values
from tinygpu.category.number import Value, held, load, outside, quiet, unwritten, zeros
from tinygpu.category.term import FALSE
from tinygpu.derive.unpack import unpack
from tinygpu.model.op import Op, kept
from tinygpu.program.arrays import READ, STORE, accesses
from tinygpu.program.call import COPY, TENSOR, Sync
from tinygpu.program.ring import sections
from tinygpu.program.space import FRAGMENT, INPUT, OUTPUT, WORKSPACE, Space
from tinygpu.program.step import Array, Assign, Ghost, Launch, Numbered, Program, arrays_in, loops_around, steps
from tinygpu.record import dataclass, replace
from tinygpu.simulate.box import box_of, unflat
from tinygpu.simulate.clock import Clock, Moments
from tinygpu.simulate.fault import Faults, NeverStored, Outcome, SimulationBudget
from tinygpu.simulate.group import Group, factors, groups
from tinygpu.simulate.interpret import Run, run_body
from tinygpu.simulate.landing import Groups
from tinygpu.simulate.memory import Memory
from tinygpu.simulate.reference import whole
from tinygpu.simulate.schedule import Schedule
from tinygpu.simulate.shadow import Shadow
from tinygpu.simulate.twin import Twin

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
    written = [(t.name, t.dtype, OUTPUT, box_of(t.shape, env)) for t in program.op.outputs]
    written += [(w.name, w.dtype, WORKSPACE, box_of(w.extents, env)) for w in program.workspaces]
    elements = sum(math.prod(shape) for _, _, _, shape in written)
    if elements > budget:  # each of them takes a store
        raise SimulationBudget(f"{elements} output elements are more than the budget of {budget} lane-steps")
    arrays = _inputs(program.op, env, inputs)
    arrays |= _states(program.op, env, inputs, undefined) if any(isinstance(s, Ghost) for s in program.steps) else {}
    arrays |= {name: Memory.of(name, space, shape, unwritten(math.prod(shape), dtype)) for name, dtype, space, shape in written}
    for name, source in program.op.continued.items():
        array, before = arrays[name], arrays[source].values
        array.values[...], array.written[...] = before, True
    twins = tuple((name, program.op.inplace[name]) for name in program.op.inplace)
    run = Simulation(env, arrays, Faults(cap), [budget, work[0] if work else WORK], order, vectorise, undefined, twins)
    try:
        with quiet():
            run.launches(tuple(enumerate(program.launches)))
    finally:
        if work:
            work[0] = run.left[1]
    results, faults = {}, run.faults.found
    for tensor in program.op.outputs:
        output = arrays[tensor.name]
        for address in np.flatnonzero(_missing(program.op, output, env, inputs))[: max(0, cap - len(faults))]:
            faults.append(NeverStored(output.name, unflat(address, output.extents)))
        results[tensor.name] = outside(output.values.reshape(output.extents), tensor.dtype)
    return Outcome(results, tuple(faults))


@dataclass(frozen=True, slots=True)
class Simulation:
    """What the launches of a run have in common: sizes, global memory, faults, the budgets that are left, and how it is run."""

    env: Mapping[str, Value]
    arrays: Mapping[str, Memory]
    faults: Faults
    left: list[int]
    order: int | None
    vectorise: bool
    undefined: bool | None
    twins: tuple[tuple[str, str], ...] = ()

    def launches(self, every: tuple[Numbered, ...], depth: int = 0) -> None:
        """Launches in order, those of a loop once a turn."""
        for axis, run in loops_around(every, depth):
            if axis is None:
                self.launch(*run[0])
            else:
                for turn in range(*box_of((axis.extent,), self.env)):
                    replace(self, env={**self.env, axis.name: turn}).launches(run, depth + 1)

    def launch(self, number: int, launch: Launch) -> None:
        """All blocks of one launch."""
        grid, block = (box_of((a.extent for a in axes), self.env) for axes in (launch.grid, launch.block))
        blocks, threads = math.prod(grid), math.prod(block)
        if blocks * threads > self.left[0]:
            raise SimulationBudget(f"{blocks * threads} threads are more than the budget of {self.left[0]} lane-steps")
        declared = [(array, box_of(array.extents, self.env)) for array in arrays_in(launch.body)]
        cells = sum(math.prod(shape) for array, shape in declared if array.owner == "block")
        warp_barriers = any(isinstance(s, Sync) and s.scope != "block" for s in steps(launch.body))
        spaces = {array.space for array, _ in declared if array.owner == "block"}
        watched, moments, units = (
            self._begin(launch),
            Moments(),
            {s.pending for s in steps(launch.body) if isinstance(s, Assign)} - {""},
        )
        both = frozenset((*(a.name for a, _ in declared if a.owner == "block"), *(a.name for a, mixed in watched if mixed)))
        chance = None if self.order is None or not both else np.random.default_rng([self.order, number])
        roles = {(s.enter.ring, s.enter.way): s for s in sections(launch.body)}
        for group in groups(blocks, threads, self.order, cells):
            whole = Clock.of_launch(group, blocks, moments)
            late = {
                space: Groups.of(group, space, roles)
                for space in spaces
                if (units or roles) and (space != FRAGMENT or units - {COPY, TENSOR})
            }
            clocks = {space: Clock.of_block(group, warp_barriers, late.get(space)) for space in spaces}
            for array, mixed in watched:
                fresh = Shadow(array.name, array.extents, array.values.size, array.values.size, whole, mixed)
                array.shadow = replace(array.shadow, clock=whole) if array.shadow else fresh
            own = {a.name: _own(a, shape, group, clocks) for a, shape in declared}
            lanes = factors(launch.grid, grid, launch.block, block, group)
            lanes |= {a.name: np.full(group.thread.shape, self.env[a.name]) for a in launch.turns}
            schedule = None if chance is None else Schedule(chance, both)
            env, arrays = {**self.env, **lanes}, {**self.arrays, **own}
            run = Run(
                number, group, env, tuple(lanes), arrays, clocks, self.faults, self.left, self.vectorise, schedule, self.undefined
            )
            run_body(run, launch.body, run.all())

    def _begin(self, launch: Launch) -> list[tuple[Memory, bool]]:
        """The launch begins; gives the global arrays that its threads may meet in, and whether they do more than one thing there."""
        found, watched = accesses(launch), []
        for output, source in self.twins:
            one, two = self.arrays[output], self.arrays[source]
            one.twin = two.twin = Twin.of(source, two.extents, one.twin.stored if one.twin else np.zeros(one.values.size, np.bool_))
        for name, array in self.arrays.items():
            kinds = found.get(name, frozenset())
            array.shadow = None
            if array.space is not INPUT and (len(kinds) > 1 or STORE in kinds):
                watched.append((array, len(kinds) > 1))
            if array.space is OUTPUT and READ in kinds:
                array.ready = array.written.copy()
        return watched


def _inputs(op: Op, env: Mapping[str, Value], inputs: Mapping[str, Any]) -> dict[str, Memory]:
    arrays = {}
    for tensor in op.inputs:
        values, shape = load(inputs[tensor.name], tensor.dtype), box_of(tensor.shape, env)
        if values.shape != shape:
            raise ValueError(f"{tensor.name} has shape {values.shape}; at these sizes it is {shape}")
        arrays[tensor.name] = Memory(tensor.name, INPUT, shape, values.reshape(-1), np.broadcast_to(np.True_, values.size))
    return arrays


def _missing(op: Op, output: Memory, env: Mapping[str, Value], inputs: Mapping[str, Any]) -> Values:
    """Which elements of an output nobody stored; in place, of those that do not stay what they are."""
    source = op.continued.get(output.name)
    if source is None:
        return np.logical_not(output.written)
    equation = op.equation(output.name)
    stays, stored = kept(equation, source), output.twin.stored if output.twin else False
    if stays == FALSE or np.all(stored):
        return np.zeros(output.values.size, np.bool_)
    asked = replace(op, equations=tuple(replace(e, value=stays) if e is equation else e for e in op.equations))
    return np.logical_not(stored) & (whole(asked, env, inputs, [output.name], None)[output.name].reshape(-1) == 0)


def _states(op: Op, env: Mapping[str, Value], inputs: Mapping[str, Any], undefined: bool | None) -> dict[str, Memory]:
    """What ghost facts may speak of beside inputs and cells."""
    found = whole(op, env, inputs, [e.target for e in op.states], undefined)
    return {n: Memory(n, INPUT, v.shape, v.reshape(-1), np.broadcast_to(np.True_, v.size), induced=True) for n, v in found.items()}


def _own(array: Array, extents: tuple[int, ...], group: Group, clocks: Mapping[Space, Clock]) -> Memory:
    """The cells of each thread, or of each block of a group."""
    each = math.prod(extents)
    if array.owner == "thread":
        return Memory.of(array.name, array.space, extents, zeros((each, group.lanes), held(array.dtype)))
    size = each * len(group.blocks)
    memory = Memory.of(array.name, array.space, extents, zeros(size, held(array.dtype)), group.block * each)
    memory.shadow = Shadow(array.name, extents, size, each, clocks[array.space])
    return memory
