"""Replay: a suspected counterexample is run before anybody sees it.

Comes in: a program and sizes, or an open claim with a model. Goes out: what really went wrong, or None.
The one idea: the simulator and plain integer evaluation share nothing with the prover, so a counterexample that both agree on is real.
"""

from __future__ import annotations

from functools import partial
from math import isfinite, prod
from typing import TypeAlias

import numpy as np

from tinygpu.category.evaluate import evaluate
from tinygpu.category.number import Array
from tinygpu.category.real import Beyond
from tinygpu.category.term import INTEGERS, variables
from tinygpu.derive.unpack import array_of
from tinygpu.model.op import Op
from tinygpu.obligations.obligation import Obligation
from tinygpu.program.step import Program
from tinygpu.proof.confirm import confirmed, is_nothing, operands
from tinygpu.record import dataclass, replace
from tinygpu.simulate.exact import SLOWER, enclosed
from tinygpu.simulate.fault import (
    Divergent,
    DivisionByZero,
    DoubleStore,
    Fault,
    HoldsViolated,
    NeverStored,
    OutOfBounds,
    Race,
    SimulationBudget,
    Unfenced,
    Uninitialised,
)
from tinygpu.simulate.inputs import edge_inputs, ends_inputs, random_inputs, rising_inputs
from tinygpu.simulate.promised import promised
from tinygpu.simulate.reference import reference
from tinygpu.simulate.simulate import simulate
from tinygpu.simulate.sizes import admitted, lane_steps
from tinygpu.simulate.tolerance import Mismatch, compare, fold_length, tolerance

SIMULATED = 1 << 24  # lane-steps of one replay
CERTAIN = 1 << 22  # of one on balls
MEETINGS = 1 << 10  # faults of a run that is about races: others must not crowd them out
REFERRED = 1 << 25  # points of the equations' folds; where there are more only some elements are compared
ELEMENTS = 1 << 18  # of all outputs, where only some are compared

ENDLESS = 1 << 28  # lane-steps of one assignment, far more than any run may take: guards may skip some

Misbehaviour: TypeAlias = Fault | Mismatch
Seen: TypeAlias = tuple[Fault, ...] | Mismatch | None  # what one run shows


@dataclass(frozen=True, slots=True)
class Trial:
    """One run: in lockstep for seed 0, else in a permuted order. A `share` of the outputs is compared, of `edge` inputs only what is
    finite. `work` is what is left for this run and others."""

    program: Program
    sizes: dict[str, int]
    seed: int
    edge: bool
    inputs: dict[str, Array]
    share: float
    work: list[int] | None

    def seen(self) -> Seen:
        """The faults, or the first element that is wrong.
        Raises SimulationBudget, and IndexError or ZeroDivisionError where the equation has no value."""
        op = self.program.op
        shapes = {t.name: tuple(max(0, int(evaluate(n, self.sizes))) for n in t.shape) for t in op.outputs}
        sample = None if self.share >= 1 else {name: some(shape, self.share, self.seed) for name, shape in shapes.items()}
        wanted = self._wanted(sample) if self.edge else {}
        # a comparison of what has no value is as IEEE has it, and in every other run false
        undefined = False if self.seed % 2 else None
        outcome = simulate(
            self.program,
            self.sizes,
            self.inputs,
            order=self.seed or None,
            budget=SIMULATED,
            work=self.work,
            undefined=undefined,
        )
        if wanted is None:  # no value, but an access outside an array, or a quotient without a value, is one all the same
            return tuple(f for f in outcome.faults if isinstance(f, OutOfBounds | DivisionByZero))
        if outcome.faults:
            return outcome.faults
        wanted = wanted or reference(op, self.sizes, self.inputs, sample)
        rtol, atol = tolerance(op, self.sizes)
        found = compare(op, outcome.outputs, wanted, sample=sample, rtol=rtol, atol=atol)
        return next((m for m in found if not self.edge or isfinite(m.want)), None)

    def exactly(self, wrong: Seen) -> Seen:
        """What goes wrong where nothing is rounded, of an element or of a fact that is wrong where it is."""
        if not (wrong := self._asked(wrong)):
            return None
        found = confirmed(self.program, self.sizes, self.inputs, self.seed or None, wrong, self.work)
        if (
            isinstance(found, Mismatch)
            and isinstance(wrong, Mismatch)
            and found.index == wrong.index
            and found.tensor == wrong.tensor
        ):
            found = wrong
        return self._made_of(found)

    def certainly(self) -> Seen:
        """What goes wrong as numbers tell that say how far they may be off; nothing where these leave open what is done."""
        try:
            found = enclosed(self.program, self.sizes, self.inputs, self.seed or None, self.work, CERTAIN)
        except Beyond:
            return None
        return self._made_of(self._asked(found))

    def _asked(self, wrong: Seen) -> Seen:
        """The same, but of elements of which the equation says something."""
        nothing = partial(is_nothing, self.program.op, self.sizes, self.inputs)
        if isinstance(wrong, Mismatch):
            return None if nothing(wrong.tensor, wrong.index) else wrong
        return tuple(f for f in wrong or () if not (isinstance(f, NeverStored) and nothing(f.array, f.index)))

    def _made_of(self, found: Seen) -> Seen:
        """A wrong element with what it should be made of."""
        if not isinstance(found, Mismatch):
            return found
        return replace(found, operands=operands(self.program.op, self.sizes, self.inputs, found))

    def _wanted(self, sample: dict[str, tuple[Array, ...]] | None) -> dict[str, Array] | None:
        """The equation's values; None where it reads outside a tensor, or divides an integer by zero."""
        try:
            return reference(self.program.op, self.sizes, self.inputs, sample)
        except (IndexError, ZeroDivisionError):
            return None


def replay(
    program: Program,
    sizes: dict[str, int],
    seed: int = 0,
    edge: bool = False,
    ends: bool = False,
    work: list[int] | None = None,
    rising: bool = False,
) -> Misbehaviour | None:
    """The first thing that goes wrong at these sizes, on the inputs of a seed; threads run in lockstep for seed 0, else permuted.

    `edge` are inputs around 0 and at the ends of their types, `ends` those that stand out at the end of an axis, and on those that are
    `rising` it is run so that nothing has to be confirmed. `work` is what is left for this run and others; what it takes is taken from it.

    Where the equation itself has no value on those inputs, or they are not as promised, nothing is said.
    """
    elements, outputs, points = _points(program.op, sizes)
    few = points > REFERRED
    if few and (rising or elements > ELEMENTS or points - outputs > REFERRED or outputs > REFERRED * elements):
        return None
    if lane_steps(program, sizes) > ENDLESS:
        return None
    if work:
        work[0] -= min(points, REFERRED)
    left = work[0] if work else 0
    try:
        drawn = edge_inputs if edge else ends_inputs if ends else rising_inputs if rising else random_inputs
        inputs = drawn(program.op, sizes, seed)
        if not promised(program.op, sizes, inputs):
            return None
        trial = Trial(program, sizes, seed, edge, inputs, REFERRED / points if few else 1.0, work)
        found = trial.certainly() if rising else trial.seen()
    except (SimulationBudget, IndexError, ZeroDivisionError):
        return None  # too large to run, or the equation itself has no value here
    if not rising and (
        isinstance(found, Mismatch) or (found and all(isinstance(fault, HoldsViolated | NeverStored) for fault in found))
    ):
        if work:  # what was seen is confirmed, also where less is left than such a run takes
            work[0] = max(work[0], SLOWER * (left - work[0] + 1))
        found = trial.exactly(found)
    return (_in_program(program, _telling(found)) if found else None) if isinstance(found, tuple) else found


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


def meetings(program: Program, sizes: dict[str, int], budget: int) -> tuple[Race | Divergent, ...]:
    """The races and the collectives that some threads miss, of one run in lockstep. Raises SimulationBudget, IndexError, ZeroDivisionError."""
    inputs = random_inputs(program.op, sizes)
    if not promised(program.op, sizes, inputs):
        return ()
    every = (_in_program(program, f) for f in simulate(program, sizes, inputs, budget=budget, cap=MEETINGS).faults)
    return tuple(f for f in every if isinstance(f, Race | Divergent))


def _in_program(program: Program, fault: Fault) -> Fault:
    """The fault with the name that the array has in the program: a value of several components has a cell for each when it is run."""
    if isinstance(fault, Divergent | DivisionByZero):
        return fault
    return replace(fault, array=array_of(program, fault.array))


def misbehaviour(program: Program, sizes: dict[str, int], ends: int = 4, work: list[int] | None = None) -> Misbehaviour | None:
    """The first thing that goes wrong at these sizes, in lockstep, in permuted orders, and on other inputs; `ends` of them stand out."""
    integers = any(t.dtype in INTEGERS for t in program.op.inputs)
    for seed in range(5 if integers else 4):
        seen = replay(program, sizes, seed, edge=seed > 2, work=work)
        if seed < ends:  # one place that stands out, which chance alone may not make the one that is missed
            seen = seen or replay(program, sizes, seed, ends=True, work=work)
        if seed == 0:
            seen = seen or replay(program, sizes, rising=True, work=work)
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
    """The first fault; but a cell that somebody reads too early is what a race looks like where the threads are not in step, what
    two threads update in global memory they store twice, and of a fence nobody is told where no barrier is between."""
    match faults[0]:
        case Unfenced(array=array):
            return next((f for f in faults if isinstance(f, Race) and f.array == array), faults[0])
        case Uninitialised(owner="block" | "grid"):
            return next((f for f in faults if isinstance(f, Race | Divergent)), faults[0])
        case Race(scope="launch", at=at, first=first) if at.step is first.step:  # an update that is not atomic
            return next((f for f in faults if isinstance(f, DoubleStore)), faults[0])
    return faults[0]


def read_outside(program: Program, title: str, sizes: dict[str, int]) -> bool:
    """Whether the equation itself reads outside a tensor, as the title says, on inputs that are as promised."""
    if not admitted(program, sizes) or _points(program.op, sizes)[2] > REFERRED:
        return False
    for seed in range(3):
        try:
            inputs = random_inputs(program.op, sizes, seed)
            if promised(program.op, sizes, inputs):
                reference(program.op, sizes, inputs)
        except (SimulationBudget, ZeroDivisionError):
            continue
        except IndexError as error:
            return title in str(error)
    return False


def evaluates_false(claim: Obligation, model: dict[str, int]) -> bool:
    """Whether plain integers confirm a model: every hypothesis true, the goal false. Claims about tensors are not for this."""
    terms = (*claim.hypotheses, claim.goal)
    env = {name: 0 for term in terms for name in variables(term)} | model
    try:
        return all(evaluate(h, env) for h in claim.hypotheses) and not evaluate(claim.goal, env)
    except (ZeroDivisionError, ValueError):
        return False
