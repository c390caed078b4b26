"""The simulator: a program run in numpy, every thread of a group of blocks a lane, one step at a time, with shadow memory.

Comes in: a program, its sizes, its inputs. Goes out: the outputs and every fault on the way (see `program.fault`).
The one idea: nothing of the proof is used here, so what the prover says about a program can be tested against a run of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tinygpu.category.number import Array, Value, held, load, outside_dtype, rounded
from tinygpu.category.term import FLOATS, TRUE, Axis, Read, Term, text
from tinygpu.category.to_numpy import UFUNC, evaluate
from tinygpu.program.fault import DivisionByZero, Fault, HoldsViolated, NeverStored, Outcome, SimulationBudget
from tinygpu.program.inputs import random_inputs
from tinygpu.program.memory import Cells, Faults, Input, Output, Place, inside, offenders
from tinygpu.program.nest import Nest, find_nest
from tinygpu.program.step import Assign, For, Holds, If, Launch, Local, Program, Step, steps
from tinygpu.program.tolerance import fold_length, tolerances

__all__ = ["Fault", "Outcome", "SimulationBudget", "random_inputs", "simulate"]

BUDGET = 1 << 30
GROUP = 1 << 15  # lanes that run together
WIDE = 1 << 21  # points of one vectorised nest


@dataclass(slots=True)
class _Run:
    """The state of a group of lanes in one launch."""

    launch: int
    lanes: int
    env: dict[str, Value]
    factors: tuple[str, ...]
    arrays: dict[str, Input | Output | Cells]
    faults: Faults
    budget: list[int]
    vectorise: bool
    loops: tuple[str, ...] = ()
    now: Place | None = None
    nests: dict[int, Nest | None] = field(default_factory=dict)

    def enter(self, step: Step) -> None:
        self.now = Place(step.span, self.launch, self.lanes, dict(self.env), self.factors, self.loops)

    def place(self) -> Place:
        assert self.now is not None, "a step is entered before it reads"
        return self.now

    def read(self, node: Read, index: tuple[Value, ...], mask: Array | None) -> Value:
        return self.arrays[node.tensor].read(index, self.all() if mask is None else mask, self.place(), self.faults)

    def zero(self, term: Term, where: Array) -> None:
        place = self.place()
        for at, _, _ in offenders(where, (), place):
            self.faults.add(DivisionByZero(at, text(term)), place.span)

    def all(self) -> Array:
        return np.ones(self.lanes, np.bool_)

    def value(self, term: Term, mask: Array) -> Value:
        return evaluate(term, self.env, self.read, mask, on_zero=self.zero)

    def spend(self, points: int) -> None:
        self.budget[0] -= points
        if self.budget[0] < 0:
            raise SimulationBudget("the run takes more lane-steps than its budget allows: use smaller sizes or a larger budget")


def simulate(
    program: Program,
    sizes: Mapping[str, int],
    inputs: Mapping[str, Any],
    *,
    order: int | None = None,
    budget: int = BUDGET,
    cap: int = 20,
    vectorise: bool = True,
) -> Outcome:
    """Runs the program at these sizes. Arrays have their tensors' shapes, scalars have rank 0.

    `order` is a seed: blocks and threads run in a permuted order, in groups that do not run in lockstep. `budget` counts lane-steps;
    beyond it SimulationBudget is raised. `cap` is the most faults that are reported. With `vectorise`, the iterations of a
    nest whose one statement writes distinct cells run at once. Raises ValueError for inputs of a wrong shape.
    """
    env: dict[str, Value] = {name: int(sizes[name]) for name in program.op.sizes}
    elements = sum(math.prod(_shape(t.shape, env)) for t in program.op.outputs)
    if elements > budget:  # each of them takes a store
        raise SimulationBudget(f"{elements} output elements are more than the budget of {budget} lane-steps")
    outputs = {t.name: _output(t.name, t.dtype, _shape(t.shape, env)) for t in program.op.outputs}
    arrays: dict[str, Input | Output | Cells] = {**_inputs(program, env, inputs), **outputs}
    faults, left = Faults(cap), [budget]
    for number, launch in enumerate(program.launches):
        locals_ = [s for s in steps(launch.body) if isinstance(s, Local)]
        for lanes, factors in _groups(launch, env, order, left[0]):
            cells = {s.name: _cells(s, env, lanes) for s in locals_}
            names = tuple(a.name for a in launch.grid + launch.block)
            run = _Run(number, lanes, {**env, **factors}, names, {**arrays, **cells}, faults, left, vectorise)
            _body(run, launch.body, run.all())
    for output in outputs.values():
        for address in np.flatnonzero(output.event < 0)[: max(0, cap - len(faults.found))]:
            faults.found.append(NeverStored(output.name, tuple(int(i) for i in np.unravel_index(address, output.shape))))
    results = {
        t.name: outputs[t.name].values.reshape(outputs[t.name].shape).astype(outside_dtype(t.dtype)) for t in program.op.outputs
    }
    return Outcome(results, tuple(faults.found))


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


def _output(name: str, dtype: str, shape: tuple[int, ...]) -> Output:
    size = int(np.prod(shape, dtype=np.int64))
    values = np.full(size, np.nan if dtype in FLOATS else 0, held(dtype))
    return Output(name, shape, values, np.full(size, -1, np.int32), np.full(size, -1, np.int64))


def _cells(local: Local, env: Mapping[str, Value], lanes: int) -> Cells:
    extents = _shape(local.extents, env)
    shape = (int(np.prod(extents, dtype=np.int64)), lanes)
    return Cells(local.name, extents, np.zeros(shape, held(local.dtype)), np.zeros(shape, np.bool_))


def _groups(launch: Launch, env: Mapping[str, Value], order: int | None, budget: int) -> Iterator[tuple[int, dict[str, Array]]]:
    """Whole blocks, GROUP lanes at a time, and the value of every factor in each lane."""
    grid, block = (_shape(tuple(a.extent for a in axes), env) for axes in (launch.grid, launch.block))
    blocks, threads = (int(np.prod(box, dtype=np.int64)) for box in (grid, block))
    if blocks * threads > budget:
        raise SimulationBudget(f"{blocks * threads} threads are more than the budget of {budget} lane-steps")
    if blocks * threads == 0:
        return
    order_of_blocks, order_of_threads = np.arange(blocks), np.arange(threads)
    cuts = list(range(0, blocks, max(1, GROUP // threads)))
    if order is not None:
        chance = np.random.default_rng(order)
        order_of_blocks, order_of_threads = chance.permutation(blocks), chance.permutation(threads)
        cuts = sorted({*cuts, *(int(c) for c in chance.integers(0, blocks, 3))})
    for low, high in zip(cuts, [*cuts[1:], blocks], strict=True):
        of_block, of_thread = np.repeat(order_of_blocks[low:high], threads), np.tile(order_of_threads, high - low)
        yield len(of_block), {**_factors(launch.grid, grid, of_block), **_factors(launch.block, block, of_thread)}


def _factors(axes: tuple[Axis, ...], box: tuple[int, ...], flat: Array) -> dict[str, Array]:
    return dict(zip((a.name for a in axes), np.unravel_index(flat, box), strict=True)) if axes else {}


def _body(run: _Run, body: tuple[Step, ...], mask: Array) -> None:
    for step in body:
        run.enter(step)
        match step:
            case Local(name):
                run.arrays[name].clear(mask)  # type: ignore[union-attr]
            case Assign():
                run.spend(run.lanes)
                _assign(run, step, mask)
            case For():
                _for(run, step, mask)
            case If(guard, inner):
                held_ = np.logical_and(mask, run.value(guard, mask))
                if held_.any():
                    _body(run, inner, held_)
            case Holds():
                run.spend(run.lanes)
                _holds(run, step, mask)


def _for(run: _Run, step: For, mask: Array) -> None:
    if run.vectorise and _vectorised(run, step, mask):
        return
    extent = run.value(step.axis.extent, mask)
    outer, run.loops = run.loops, (*run.loops, step.axis.name)
    for k in range(int(np.max(extent, initial=0))):
        now = mask if np.ndim(extent) == 0 else np.logical_and(mask, k < extent)
        if now.any():
            run.env[step.axis.name] = k
            _body(run, step.body, now)
    run.env.pop(step.axis.name, None)
    run.loops = outer


def _assign(run: _Run, step: Assign, mask: Array) -> None:
    if step.guard != TRUE:
        mask = np.logical_and(mask, run.value(step.guard, mask))
        if not mask.any():
            return
    index = tuple(run.value(i, mask) for i in step.index)
    value = run.value(step.value, mask)
    target = run.arrays[step.target]
    assert not isinstance(target, Input), f"{step.target} is an input"
    place = run.place()
    if step.update:
        with np.errstate(all="ignore"):
            value = UFUNC[step.update](target.read(index, mask, place, run.faults), value)
    value = rounded(value, step.value.dtype)
    target.store(index, value, mask, place, run.faults)


def _vectorised(run: _Run, step: For, mask: Array) -> bool:
    """Runs a nest of loops around one assignment at once, if its iterations write distinct cells and none reads what another writes."""
    if id(step) not in run.nests:
        run.nests[id(step)] = find_nest(step)
    nest = run.nests[id(step)]
    if nest is None:
        return False
    values = [run.value(axis.extent, mask) for axis in nest.axes]
    if any(np.ndim(e) for e in values):
        return False
    box = tuple(max(0, int(e)) for e in values)
    if 0 in box:
        return True
    if run.lanes * math.prod(box) > WIDE:
        return False
    loops = {
        axis.name: np.arange(extent).reshape((-1,) + (1,) * (len(box) - n))
        for n, (axis, extent) in enumerate(zip(nest.axes, box, strict=True))
    }
    target = run.arrays[nest.assign.target]
    if isinstance(target, Output) and nest.assign.update:
        return False
    if isinstance(target, Cells) and not nest.distinct({**run.env, **loops}, target.extents, box):
        return False
    outer, run.loops = run.loops, (*run.loops, *loops)
    run.env.update(loops)
    run.enter(nest.assign)
    run.spend(run.lanes * math.prod(box))
    _assign(run, nest.assign, mask)
    for name in loops:
        del run.env[name]
    run.loops = outer
    return True


def _holds(run: _Run, step: Holds, mask: Array) -> None:
    """A ghost fact: the cell and the value agree, exactly for integers, else up to the rounding of the folds in it."""
    target = run.arrays[step.target]
    dtype = step.value.dtype
    place = run.place()
    index = tuple(run.value(i, mask) for i in step.index)
    if isinstance(target, Output):  # a ghost may look at an output
        kept, mask = inside(target.name, target.shape, index, mask, place, run.faults)
        got = target.peek(kept)
    else:
        got = target.read(index, mask, place, run.faults)
    wide = lambda node, at, where: rounded(run.read(node, at, where), node.dtype, exact=True)  # noqa: E731
    want = evaluate(step.value, run.env, wide, mask, exact=True, on_zero=run.zero)
    with np.errstate(all="ignore"):
        rtol, atol = tolerances(dtype, fold_length(step.value, run.env))
        near = np.less_equal(np.abs(rounded(got, dtype, True) - want), atol + rtol * np.abs(want)) if dtype in FLOATS else False
        same = near | np.equal(got, want) | (np.not_equal(got, got) & np.not_equal(want, want))
    bad = np.logical_and(mask, np.logical_not(same))
    if not bad.any():
        return
    shape = np.broadcast_shapes(bad.shape, (run.lanes,))
    for at, full, position in offenders(bad, index, place):
        values = (np.broadcast_to(v, shape).reshape(-1)[position].item() for v in (got, want))
        run.faults.add(HoldsViolated(at, step.target, full, *values), place.span)
