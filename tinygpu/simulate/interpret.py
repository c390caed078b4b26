"""The interpreter of steps: a group of lanes runs a body, one step at a time.

Comes in: a body and a mask of the lanes that run it. Goes out: the arrays, written, and every fault on the way.
The one idea: a step reads everything before it writes anything, and all lanes of the mask do so at once; what their order may change is
seen by the arrays' shadows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import assert_never

import numpy as np

from tinygpu.category.deadline import look
from tinygpu.category.dtype import EPSILON
from tinygpu.category.number import IDEAL, Array, Value, as_float, combined, quiet, rounded
from tinygpu.category.region import Region
from tinygpu.category.term import FLOATS, TRUE, App, Axis, Const, Read, Term, conjunction, reads, text
from tinygpu.category.to_numpy import evaluate
from tinygpu.program.call import COPY, Call, Sync
from tinygpu.program.rows import touched
from tinygpu.program.space import Space
from tinygpu.program.step import Array as Declared
from tinygpu.program.step import Assign, For, Ghost, If, Step
from tinygpu.program.traverse import terms
from tinygpu.record import dataclass, field
from tinygpu.simulate.clock import Clock
from tinygpu.simulate.exchange import complete_groups, shuffle
from tinygpu.simulate.fault import DivisionByZero, Faults, HoldsViolated, SimulationBudget
from tinygpu.simulate.group import Execution, Group, offenders
from tinygpu.simulate.memory import Memory
from tinygpu.simulate.nest import Nest, at_once, find_nest
from tinygpu.simulate.schedule import Schedule
from tinygpu.simulate.tolerance import fold_length, tolerances

STEP = 1 << 10  # lanes whose share of a step takes as long as what every step takes, however few its lanes


@dataclass(slots=True)
class Run:
    """The state of a group of lanes in one launch."""

    launch: int
    group: Group
    env: dict[str, Value]
    factors: tuple[str, ...]
    arrays: dict[str, Memory]
    clocks: Mapping[Space, Clock]
    faults: Faults
    budget: list[int]
    vectorise: bool
    schedule: Schedule | None = None
    undefined: bool | None = None
    loops: tuple[str, ...] = ()
    now: Execution | None = None
    ghost: bool = False
    nests: dict[int, Nest | None] = field(default_factory=dict)

    def enter(self, step: Step) -> None:
        """From now on this step is at work."""
        self.now = Execution(step, self.launch, self.group, dict(self.env), self.factors, self.loops)

    def place(self) -> Execution:
        """The step at work."""
        assert self.now is not None, "a step is entered before it reads"
        return self.now

    def read(self, node: Read, index: tuple[Value, ...], mask: Array | None) -> Value:
        """The elements that a term reads."""
        array, mask = self.arrays[node.tensor], self.all() if mask is None else mask
        if self.ghost and array.space.owner == "block":  # a ghost may look at anything, and nobody sees it
            return array.peek(index, mask, self.place(), self.faults)[0]
        return array.read(index, mask, self.place(), self.faults)

    def exchange(self, node: App, value: Value, which: Value, mask: Array | None) -> Value:
        """What a shuffle gives to every lane."""
        return shuffle(node.op, value, which, self.all() if mask is None else mask, self.place(), self.faults)

    def zero(self, term: Term, where: Array) -> None:
        """A division without a result."""
        place = self.place()
        for at, _, _ in offenders(where, (), place):
            self.faults.add(DivisionByZero(at, text(term), getattr(term, "op", "") in ("shl", "shr")), place.span)

    def all(self) -> Array:
        """The mask of all lanes."""
        return np.ones(self.group.lanes, np.bool_)

    def value(self, term: Term, mask: Array) -> Value:
        """The term in every lane of the mask."""
        return evaluate(term, self.env, self.read, mask, on_zero=self.zero, exchange=self.exchange, undefined=self.undefined)

    def spend(self, turns: int = 1) -> None:
        """Takes that many steps of all lanes from the budget, and one step from the work that may be done."""
        look()
        self.budget[0] -= turns * self.group.lanes
        self.budget[1] -= turns * self.group.lanes + STEP
        if min(self.budget) < 0:
            raise SimulationBudget("the run takes more lane-steps than its budget allows: use smaller sizes or a larger budget")


def run_body(run: Run, body: tuple[Step, ...], mask: Array) -> None:
    """All steps, in lockstep or in the run's order."""
    schedule = run.schedule
    if schedule is None or schedule.level == "thread":
        run_steps(run, body, mask)
        return
    for piece, free in schedule.pieces(body):
        if not free:
            run_steps(run, piece, mask)
            continue
        run.schedule = inner = schedule.within(piece)
        for part in inner.parts(run.group):
            some = np.logical_and(mask, part)
            if some.any():
                run_body(run, piece, some)
        run.schedule = schedule


def run_steps(run: Run, body: tuple[Step, ...], mask: Array) -> None:
    """One step after the other."""
    for step in body:
        run.enter(step)
        match step:
            case Declared(name, owner="thread"):
                run.arrays[name].clear(mask)
            case Assign():
                run.spend()
                _assign(run, step, mask)
            case For():
                _for(run, step, mask)
            case If(guard, inner):
                run.spend(0)
                held = np.logical_and(mask, run.value(guard, mask))
                if held.any():
                    run_body(run, inner, held)
            case Call():
                run.spend()
                values = [run.value(term, mask) for term in terms(step)]
                if step.together:
                    there = complete_groups(getattr(step, "word", step.noun), step.together, mask, run.place(), run.faults)
                if isinstance(step, Sync):
                    whole = "block" if step.scope == "block" else "warp"
                    for clock in (clock for space, clock in run.clocks.items() if step.scope in space.ordered):
                        clock.barrier(whole, there)
                    for name, index, here, stores in touched(step, Region()):
                        if not stores:
                            lanes = run.value(conjunction(*here.guard), mask)
                            _named(run, name, index, here.axes[-1], np.logical_and(mask, lanes))
                for late in (clock.late for clock in run.clocks.values() if clock.late is not None):
                    late.call(step, mask, *(int(n) for n in values[:1] if np.ndim(n) == 0))
            case Ghost():
                run.spend()
                _holds(run, step, mask)
            case Declared():
                pass  # its cells are there when the block begins
            case _:
                assert_never(step)


def _named(run: Run, name: str, index: tuple[Term, ...], axis: Axis, mask: Array) -> None:
    """The rows that lanes name are read for them, whoever gets the elements."""
    for place in range(int(axis.extent.value) if isinstance(axis.extent, Const) else 0):
        run.env[axis.name] = place
        run.arrays[name].read(tuple(run.value(i, mask) for i in index), mask, run.place(), run.faults)
    run.env.pop(axis.name)


def _for(run: Run, step: For, mask: Array) -> None:
    if run.vectorise and _vectorised(run, step, mask):
        return
    extent = run.value(step.axis.extent, mask)
    outer, run.loops = run.loops, (*run.loops, step.axis.name)
    for k in range(int(np.max(extent, initial=0))):
        run.spend(0)
        now = mask if np.ndim(extent) == 0 else np.logical_and(mask, k < extent)
        if now.any():
            run.env[step.axis.name] = k
            run_body(run, step.body, now)
    run.env.pop(step.axis.name, None)
    run.loops = outer


def _assign(run: Run, step: Assign, mask: Array, box: tuple[int, ...] = ()) -> None:
    if step.guard != TRUE:
        mask = np.logical_and(mask, run.value(step.guard, mask))
        if not mask.any():
            return
    index = tuple(run.value(i, mask) for i in step.index)
    value = run.value(step.value, mask)
    target, place = run.arrays[step.target], run.place()
    own = target.space.owner == "thread"
    if box and not own:  # every turn counts, also one that nothing in the step tells from another
        mask = np.broadcast_to(mask, (*box, run.group.lanes))
    if step.update and (own or not step.atomic):
        with quiet():
            value = combined(step.update, step.value.dtype, target.read(index, mask, place, run.faults), value, mask)
    together = step.update if step.atomic and not own else ""
    target.store(index, rounded(value, step.value.dtype), mask, place, run.faults, together, step.pending == COPY)


def _vectorised(run: Run, step: For, mask: Array) -> bool:
    """Runs a nest of loops around one assignment at once, if its iterations write distinct cells and none reads what another writes."""
    if id(step) not in run.nests:
        run.nests[id(step)] = find_nest(step)
    nest = run.nests[id(step)]
    if nest is None or run.arrays[nest.assign.target].twin is not None:  # one turn may read what another one stores
        return False
    values = [run.value(axis.extent, mask) for axis in nest.axes]
    if any(np.ndim(e) for e in values):
        return False
    box = tuple(max(0, int(e)) for e in values)
    if 0 in box:
        return True
    found = at_once(nest, run.arrays[nest.assign.target], box, mask, run.env)
    if found is None:
        return False
    loops, turns = found
    inside = tuple(n for axis, n in zip(nest.axes, box, strict=True) if axis.name in loops)
    outer, run.loops = run.loops, (*run.loops, *(axis.name for axis in nest.axes))
    run.env.update(loops)
    for turn in np.ndindex(*turns.values()):
        run.env.update(zip(turns, map(int, turn), strict=True))
        run.enter(nest.origin)
        run.spend(math.prod(inside))
        _assign(run, nest.assign, mask, inside)
    for axis in nest.axes:
        del run.env[axis.name]
    run.loops = outer
    return True


def _holds(run: Run, step: Ghost, mask: Array) -> None:
    """A ghost fact: the cell and the value agree, exactly for integers, else up to the rounding of the folds in it."""
    target = run.arrays[step.target]
    dtype, place = step.value.dtype, run.place()
    run.ghost = True
    index = tuple(run.value(i, mask) for i in step.index)
    if target.space.owner == "grid":  # a ghost may look at an output
        got, mask = target.peek(index, mask, place, run.faults)
    else:
        got = run.read(Read(step.target, step.index, dtype), index, mask)
    wide = lambda node, at, where: rounded(run.read(node, at, where), node.dtype, exact=True)  # noqa: E731
    want, *other = (
        evaluate(step.value, run.env, wide, mask, exact=True, on_zero=run.zero, undefined=truth)
        for truth in ((None,) if run.undefined is None else (False, True))
    )  # what is another value where undefined comparisons have the other truth has none
    run.ghost = False
    if dtype in IDEAL:
        differ = IDEAL[dtype].apart(got, want)
    else:
        rtol, atol = tolerances(dtype, fold_length(step.value, run.env))
        if dtype in FLOATS and any(run.arrays[read.tensor].induced for read in reads(step.value)):
            rtol = atol = EPSILON[dtype] ** 0.5  # half of the digits
        differ = np.logical_not(_same(dtype, got, want, rtol, atol) | (np.not_equal(want, *other) if other else False))
    bad = np.logical_and(mask, differ)
    if not bad.any():
        return
    shape = np.broadcast_shapes(bad.shape, (run.group.lanes,))
    for at, full, position in offenders(bad, index, place):
        values = (np.broadcast_to(v, shape).reshape(-1)[position] for v in (got, want))
        run.faults.add(
            HoldsViolated(at, step.target, full, *(as_float(v) if dtype in IDEAL else v.item() for v in values)), place.span
        )


def _same(dtype: str, got: Value, want: Value, rtol: float, atol: float) -> Value:
    """Where two numbers are near, or both are none."""
    with quiet():
        near = np.less_equal(np.abs(rounded(got, dtype, True) - want), atol + rtol * np.abs(want)) if dtype in FLOATS else False
        return near | np.equal(got, want) | (np.not_equal(got, got) & np.not_equal(want, want))
