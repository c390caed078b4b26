"""Replay: a suspected counterexample is run before anybody sees it.

Comes in: a program and sizes, or an open claim with a model. Goes out: what really went wrong, or None.
The one idea: the simulator and plain integer evaluation share nothing with the prover, so a counterexample that both agree on is real.
What is small is run in plain Python, as `large_replay` would run it, because loading numpy takes as long as a proof.
"""

from __future__ import annotations

from contextlib import suppress
from math import isfinite, prod
from typing import TYPE_CHECKING, TypeAlias

from tinygpu.category.evaluate import evaluate
from tinygpu.category.listed import Beyond
from tinygpu.category.term import FLOATS, INTEGERS, variables
from tinygpu.model.op import Op
from tinygpu.obligations.obligation import Obligation
from tinygpu.program import small, small_inputs
from tinygpu.program.fault import (
    Divergent,
    DivisionByZero,
    DoubleStore,
    Fault,
    HoldsViolated,
    NeverStored,
    Race,
    SimulationBudget,
    Uninitialised,
)
from tinygpu.program.step import Program
from tinygpu.program.tolerance import Mismatch, fold_length, tolerance
from tinygpu.program.turns import lane_steps
from tinygpu.program.unpack import array_of
from tinygpu.record import replace

if TYPE_CHECKING:
    from tinygpu.program.meeting import Part
    from tinygpu.proof.confirm import Draw

MEETINGS = 1 << 10  # faults of a run that is about races: others must not crowd them out
FAILED = 1 << 20  # of what is left for small runs, for one that ended beyond them
REFERRED = 1 << 25  # points of the equations' folds; where there are more only some elements are compared
ELEMENTS = 1 << 18  # of all outputs, where only some are compared

ENDLESS = 1 << 28  # lane-steps of one assignment, far more than any run may take: guards may skip some

Misbehaviour: TypeAlias = Fault | Mismatch


def admitted(program: Program, sizes: dict[str, int]) -> bool:
    """Whether sizes satisfy the preconditions."""
    try:
        return all(evaluate(w, sizes) for w in program.where)
    except ZeroDivisionError:
        return False


def replay(
    program: Program, sizes: dict[str, int], seed: int = 0, edge: bool = False, ends: bool = False, work: list[int] | None = None
) -> Misbehaviour | None:
    """The first thing that goes wrong at these sizes, on the inputs of a seed; threads run in lockstep for seed 0, else permuted.

    `edge` are inputs around 0 and at the ends of their types, `ends` those that stand out at the end of an axis. `work` is what is
    left for this run and others, and then what is left for small runs; what this one takes is taken from it.

    Where the equation itself has no value on those inputs, or they are not as promised, nothing is said.
    """
    elements, outputs, points = _points(program.op, sizes)
    few = points > REFERRED
    if few and (elements > ELEMENTS or points - outputs > REFERRED or outputs > REFERRED * elements):
        return None
    if lane_steps(program, sizes) > ENDLESS:
        return None
    if work:
        work[0] -= min(points, REFERRED)
    try:
        if few or (work and len(work) > 1 and work[1] <= 0):
            raise Beyond("so much has been run that numpy is worth loading")
        found = _small(program, sizes, seed, edge, ends, work)
        if (
            seed and isinstance(found, tuple) and found
        ):  # which threads are seen depends on their order; that there are some does not
            raise Beyond("the order is not lockstep")
    except Beyond:
        if work and len(work) > 1:
            work[1] -= FAILED
        found = _large(program, sizes, seed, edge, ends, work, REFERRED / points if few else 1.0)
    except (IndexError, ZeroDivisionError):
        return None  # the equation has no value here
    if isinstance(found, Mismatch) or (found and all(isinstance(fault, HoldsViolated | NeverStored) for fault in found)):
        share = REFERRED / points if few else 1.0
        found = _exactly(program, sizes, seed, edge, ends, work, share, found)
    return (_in_program(program, _telling(found)) if found else None) if isinstance(found, tuple) else found


def _small(
    program: Program, sizes: dict[str, int], seed: int, edge: bool, ends: bool, work: list[int] | None
) -> tuple[Fault, ...] | Mismatch | None:
    """The faults of a run in lockstep, or the first element that is wrong. Raises Beyond where only numpy knows."""
    op = program.op
    inputs = _drawn(edge, ends)(op, sizes, seed)
    if not small_inputs.promised(op, sizes, inputs):
        return None
    outcome = small.simulate(program, sizes, inputs)
    if not outcome.faults and outcome.rough:
        raise Beyond("values of which the last digits are not numpy's")
    wanted = {} if outcome.faults else small_inputs.reference(op, sizes, inputs)
    if work:
        work[:] = [left - outcome.taken for left in work]
    if outcome.faults:
        return outcome.faults
    found = small_inputs.compare(op, sizes, outcome.outputs, wanted, *tolerance(op, sizes))
    return next((explained(op, sizes, inputs, m) for m in found if not edge or isfinite(m.want)), None)


def _exactly(
    program: Program,
    sizes: dict[str, int],
    seed: int,
    edge: bool,
    ends: bool,
    work: list[int] | None,
    share: float,
    wrong: Mismatch | tuple[Fault, ...],
) -> tuple[Fault, ...] | Mismatch | None:
    """What goes wrong where nothing is rounded, of an element or of a fact that is wrong where it is."""
    from tinygpu.program.exact import retyped  # only for values that are wrong
    from tinygpu.proof.confirm import confirmed
    from tinygpu.proof.operands import is_nothing

    with suppress(Beyond):
        inputs = _drawn(edge, ends)(program.op, sizes, seed)
        if isinstance(wrong, Mismatch):
            if is_nothing(program.op, sizes, inputs, wrong.tensor, wrong.index):
                return None
        elif not (
            wrong := tuple(
                f for f in wrong if not (isinstance(f, NeverStored) and is_nothing(program.op, sizes, inputs, f.array, f.index))
            )
        ):
            return None

    def again() -> Mismatch | None:
        import numpy as np

        try:
            with np.errstate(over="raise", invalid="raise", divide="raise"):  # what f64 has no value for says nothing of the reals
                found = _large(program, sizes, seed, edge, ends, work, share, retyped(program, "f64"))
        except FloatingPointError:
            return None
        return found if isinstance(found, Mismatch) else None

    found = confirmed(program, sizes, seed, _drawn(edge, ends), wrong, work, again)
    if not isinstance(found, Mismatch):
        return found
    if isinstance(wrong, Mismatch) and (found.tensor, found.index) == (wrong.tensor, wrong.index):
        return wrong
    return explained(program.op, sizes, dict(_drawn(edge, ends)(program.op, sizes, seed)), found)


def _drawn(edge: bool, ends: bool) -> Draw:
    return small_inputs.edge_inputs if edge else small_inputs.ends_inputs if ends else small_inputs.random_inputs


def explained(op: Op, sizes: dict[str, int], inputs: dict[str, list[float]], wrong: Mismatch) -> Mismatch:
    """The element with what it should be made of."""
    from tinygpu.proof.operands import operands  # only for values that are wrong

    return replace(wrong, operands=operands(op, sizes, inputs, wrong))


def _large(
    program: Program,
    sizes: dict[str, int],
    seed: int,
    edge: bool,
    ends: bool,
    work: list[int] | None,
    share: float,
    run: Program | None = None,
) -> tuple[Fault, ...] | Mismatch | None:
    from tinygpu.proof.large_replay import seen  # numpy is loaded only for what is not small

    try:
        return seen(program, sizes, seed, edge, ends, work, share, run)
    except (SimulationBudget, IndexError, ZeroDivisionError):
        return None  # too large to run, or the equation itself has no value here


def count(program: Program, sizes: dict[str, int], seen: Mismatch, budget: int) -> tuple[float, float]:
    """What the element is, and what it should be, where all floats of the inputs are 1. Raises SimulationBudget, and IndexError or
    ZeroDivisionError where the equation has no value."""
    op = program.op
    try:
        inputs = small_inputs.random_inputs(op, sizes)
        inputs |= {t.name: [1.0] * len(inputs[t.name]) for t in op.inputs if t.dtype in FLOATS}
        got = small.simulate(program, sizes, inputs)
        if got.rough:
            raise Beyond("values of which the last digits are not numpy's")
        place, shape = 0, small_inputs.shape_of(op.tensor(seen.tensor), sizes)
        for at, extent in zip(seen.index, shape, strict=True):
            place = place * extent + at
        return got.outputs[seen.tensor][place], small_inputs.reference(op, sizes, inputs)[seen.tensor][place]
    except Beyond:
        from tinygpu.proof import large_replay

        return large_replay.count(program, sizes, seen, budget)


def meetings(program: Program, sizes: dict[str, int], budget: int) -> tuple[Race | Divergent, ...]:
    """The races and the collectives that some threads miss, of one run in lockstep. Raises SimulationBudget, IndexError, ZeroDivisionError."""
    from tinygpu.program.meeting import meeting  # only for races

    part = meeting(program)
    if part is not None:
        with suppress(Beyond):
            seen = small.simulate(part.program, sizes, {}, MEETINGS).faults
            return tuple(_of_origin(f, part) for f in seen if isinstance(f, Race | Divergent))
    every = (_in_program(program, f) for f in _faults(program, sizes, budget))
    return tuple(f for f in every if isinstance(f, Race | Divergent))


def _in_program(program: Program, fault: Fault) -> Fault:
    """The fault with the name that the array has in the program: a value of several components has a cell for each when it is run."""
    if isinstance(fault, Divergent | DivisionByZero):
        return fault
    return replace(fault, array=array_of(program, fault.array))


def _of_origin(fault: Race | Divergent, part: Part) -> Race | Divergent:
    """The fault, of the steps as they stand in the program."""
    at = part.of_origin(fault.at)
    return replace(fault, at=at) if isinstance(fault, Divergent) else replace(fault, at=at, first=part.of_origin(fault.first))


def _faults(program: Program, sizes: dict[str, int], budget: int) -> tuple[Fault, ...]:
    try:
        inputs = small_inputs.random_inputs(program.op, sizes)
        if not small_inputs.promised(program.op, sizes, inputs):
            return ()
        return small.simulate(program, sizes, inputs).faults
    except Beyond:
        from tinygpu.proof import large_replay

        return large_replay.faults(program, sizes, budget)


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


def _points(op: Op, sizes: dict[str, int]) -> tuple[int, int, int]:
    """How many elements the outputs have, and how many points the folds of their equations and of all equations."""
    names, elements, outputs, points = {t.name for t in op.outputs}, 0, 0, 0
    for e in op.equations:
        here = prod(max(0, int(evaluate(n, sizes))) for n in op.tensor(e.target).shape)
        long = here * fold_length(e.value, sizes)
        points += long
        if e.target in names:
            elements, outputs = elements + here, outputs + long
    return elements, outputs, points


def _telling(faults: tuple[Fault, ...]) -> Fault:
    """The first fault; but a cell that somebody reads too early is what a race looks like where the threads are not in step, and what
    two threads update in global memory they store twice."""
    match faults[0]:
        case Uninitialised(owner="block" | "launch"):
            return next((f for f in faults if isinstance(f, Race | Divergent)), faults[0])
        case Race(scope="launch", at=at, first=first) if at.step is first.step:  # an update that is not atomic
            return next((f for f in faults if isinstance(f, DoubleStore)), faults[0])
    return faults[0]


def evaluates_false(claim: Obligation, model: dict[str, int]) -> bool:
    """Whether plain integers confirm a model: every hypothesis true, the goal false. Claims about tensors are not for this."""
    terms = (*claim.hypotheses, claim.goal)
    env = {name: 0 for term in terms for name in variables(term)} | model
    try:
        return all(evaluate(h, env) for h in claim.hypotheses) and not evaluate(claim.goal, env)
    except (ZeroDivisionError, ValueError):
        return False
