"""The second checker: a program and its equation, run on real numbers at small sizes.

    outputs(run(program, sizes, data))  =  values(equation, sizes, data)        wherever the equation has a value, and no fault on the way

Comes in: a program. Goes out: at how many sizes and data it agrees, or where it does not. The one idea: numbers drawn from the reals are free, so
two terms that agree at them are one term, but with chance nought (Schwartz and Zippel). No solver, no closed form, no matching of folds and no
inverse has a part in this, and nothing is taught for a step that the simulator does not know anyway.

Data decides branches, so it is drawn in several ways: dense; with one place that stands out; equal, around 0, at the ends of the dtypes and around
the numbers of the text. A comparison of what has no value is true in every other run, and false in the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

import numpy as np

from tinygpu.category.evaluate import evaluate
from tinygpu.category.number import Array, quiet
from tinygpu.category.term import FLOATS
from tinygpu.model.op import Tensor
from tinygpu.program.step import Program
from tinygpu.recheck import Agreement, Disagreement
from tinygpu.recheck.data import edges, large, nasty_inputs, small
from tinygpu.simulate.exact import retyped
from tinygpu.simulate.fault import Fault, NeverStored, SimulationBudget
from tinygpu.simulate.inputs import ends_inputs, promised, random_inputs
from tinygpu.simulate.reference import reference
from tinygpu.simulate.simulate import simulate
from tinygpu.simulate.tolerance import Mismatch

SIZES = 32  # how many small ones are tried
LONGEST, WORK = 1 << 24, 1 << 26  # lane-steps of one run, and of all of a program
NEAR = 1e-8  # of reals in f64: far above what is rounded, far below what is another number

Inputs = Mapping[str, Array]


def rerun(program: Program, sizes: int = SIZES, work: int = WORK) -> Agreement | Disagreement:
    """`program → agreement or disagreement`."""
    real, runs, tried = retyped(program, "f64"), 0, 0
    for rows, drawn, left in (
        (small(program, sizes), draws, [work]),
        (edges(program), the_end, [4 * work]),
        (large(program, sizes), draws, [work]),
    ):
        for number, row in enumerate(rows):
            if any(prod(max(0, int(evaluate(e, row))) for e in t.shape) > LONGEST for t in program.op.tensors):
                continue  # too large to be drawn
            before = runs
            for turn, inputs in drawn(real, row, number):
                try:
                    seen = _wrong(real, row, inputs, turn, left)
                except SimulationBudget:
                    continue  # too large to run
                if seen is not None:
                    return Disagreement(row, seen)
                runs += 1
            tried += runs > before
            if left[0] <= 0:
                break
    return Agreement(runs, tried)


def draws(program: Program, sizes: dict[str, int], number: int) -> Iterator[tuple[int, Inputs]]:
    """Data that the op's promises admit, each with the number of its run: at each size there are even ones and odd ones, and of each kind of data."""
    yield from (
        (turn, inputs)
        for turn, inputs in (
            (number, random_inputs(program.op, sizes, number)),
            (number + 1, ends_inputs(program.op, sizes, number)),
            (number, nasty_inputs(program, sizes, number)),
            (number, nasty_inputs(program, sizes, number + 1)),
        )
        if promised(program.op, sizes, inputs)
    )


def the_end(program: Program, sizes: dict[str, int], number: int) -> Iterator[tuple[int, Inputs]]:
    """Data of which the end of each axis stands out: what goes beyond a number by one is there."""
    inputs = ends_inputs(program.op, sizes)
    if promised(program.op, sizes, inputs):
        yield number, inputs


def _wrong(program: Program, sizes: dict[str, int], inputs: Inputs, number: int, left: list[int]) -> Fault | Mismatch | str | None:
    """What goes wrong first in one run."""
    with quiet():
        try:
            wanted, other = (reference(program.op, sizes, inputs, undefined=truth) for truth in (False, True))
        except IndexError as error:
            return str(error)
        except ZeroDivisionError:
            return None  # the equation has no value
        asked = {name: np.equal(wanted[name], other[name]) for name in wanted}  # else there is no value
        order = number if number % 2 else None
        try:
            outcome = simulate(program, sizes, inputs, order=order, budget=LONGEST, work=left, undefined=number % 2 == 1)
        except ZeroDivisionError as error:
            return str(error)  # in how many blocks and threads there are
        for fault in outcome.faults:
            if not isinstance(fault, NeverStored) or asked[fault.array][fault.index]:
                return fault
        return next(
            (m for t in program.op.outputs for m in _apart(t, outcome.outputs[t.name], wanted[t.name], asked[t.name])), None
        )


def _apart(tensor: Tensor, got: Array, want: Array, asked: Array) -> Iterator[Mismatch]:
    """The elements that are not what they should be, of those that are asked of."""
    same = np.equal(got, want)
    if tensor.dtype in FLOATS:
        same |= np.isfinite(want) & (np.abs(got - want) <= NEAR * (1 + np.abs(want)))
    for place in np.argwhere(asked & np.logical_not(same)):
        at = tuple(map(int, place))
        yield Mismatch(tensor.name, at, got[at].item(), want[at].item())
