"""A wrong element, looked at: whether it is wrong in exact arithmetic, what it should have been made of, and whether terms are missing in it.

Comes in: a program, sizes, the inputs of a run, and the element that it got wrong. Goes out: what goes wrong on real numbers, or None where
nothing does or nobody knows; the elements of the inputs that its equation reads, where they are few; the codes of the explanations, most fitting
first. The one idea: rounding makes no counterexample, and neither does a number that a dtype has no room for: it is run again on doubles that say how
far they may be off, and where these do not tell on fractions. On inputs that are all 1 every term counts the same, so the result says how many
terms there were.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tinygpu.category.number import Array, Value, load
from tinygpu.category.real import REAL, Beyond, Undecided
from tinygpu.category.term import FLOATS, Read
from tinygpu.category.to_numpy import Mask, evaluate
from tinygpu.model.op import Op
from tinygpu.obligations.named import inlined
from tinygpu.program.step import Program
from tinygpu.proof.unstored import unstored
from tinygpu.record import dataclass, field
from tinygpu.simulate import exact
from tinygpu.simulate.fault import Fault, SimulationBudget, element
from tinygpu.simulate.inputs import random_inputs
from tinygpu.simulate.reference import reference
from tinygpu.simulate.simulate import simulate
from tinygpu.simulate.tolerance import Mismatch, fold_length

FEW = 6  # elements that are shown
MOST = 1 << 20  # points of the folds of one element
BUDGET = 1 << 22  # lane-steps of the run that counts terms
MORE, FEWER = ("TG504", "TG506"), ("TG505",)


def confirmed(
    program: Program,
    sizes: dict[str, int],
    inputs: Mapping[str, Array],
    order: int | None,
    found: tuple[Fault, ...] | Mismatch,
    work: list[int] | None,
) -> exact.Wrong:
    """What is wrong on real numbers, in that order of the threads."""
    if exact.retyped(program, REAL) == program:  # integers and truth values are exact in every run
        return found
    try:
        wrong = _enclosed(program, sizes, inputs, order, work) or _exactly(program, sizes, inputs, order, work)
    except (IndexError, ZeroDivisionError):
        return None  # the equation has no value
    except Undecided:
        return None  # nobody knows
    return wrong or unstored(program, sizes, inputs, found)


def _enclosed(
    program: Program, sizes: dict[str, int], inputs: Mapping[str, Array], order: int | None, work: list[int] | None
) -> exact.Wrong:
    try:
        return exact.enclosed(program, sizes, inputs, order, work)
    except Beyond:
        return None


def _exactly(
    program: Program, sizes: dict[str, int], inputs: Mapping[str, Array], order: int | None, work: list[int] | None
) -> exact.Wrong:
    limit = min(exact.POINTS, max(1, (work[0] if work else exact.POINTS * exact.COST) // exact.COST))
    wrong, taken = None, limit // 4
    try:
        wrong, taken = exact.run(program, sizes, inputs, order, limit)
    except Undecided:
        raise
    except Beyond:
        pass
    if work:
        work[0] -= taken * exact.COST
    return wrong


@dataclass(frozen=True, slots=True)
class Noted:
    """The inputs, and the places of each that were read."""

    arrays: dict[str, Array]
    places: dict[str, set[tuple[int, ...]]] = field(default_factory=dict)

    def read(self, node: Read, index: tuple[Value, ...], mask: Mask) -> Value:
        """The elements; raises IndexError where the equation reads outside."""
        array = self.arrays[node.tensor]
        shape = np.broadcast_shapes(*map(np.shape, index), () if mask is None else mask.shape)
        where = np.broadcast_to(True if mask is None else mask, shape)
        if not where.any():
            return np.zeros(shape, array.dtype)
        inside = tuple(np.where(where, i, 0) for i in index)
        if any((i < 0).any() for i in inside):
            raise IndexError(node.tensor)
        found = array[inside]
        self.places.setdefault(node.tensor, set()).update(zip(*(i[where].tolist() for i in inside), strict=True) if index else [()])
        return found


def evaluated(
    op: Op, sizes: Mapping[str, int], inputs: Mapping[str, Array], tensor: str, index: tuple[int, ...], exact: bool
) -> Noted:
    """What the equation reads for an element. Raises IndexError and ZeroDivisionError where it has no value."""
    equation = op.equation(tensor)
    value = inlined(op, equation.value)
    env = {**sizes, **dict(zip((axis.name for axis in equation.axes), index, strict=True))}
    noted = Noted({t.name: load(inputs[t.name], t.dtype, exact) for t in op.inputs})
    if op.states or fold_length(value, env) > MOST:
        raise IndexError("too many to be looked at")
    evaluate(value, env, noted.read, exact=exact)
    return noted


def is_nothing(op: Op, sizes: Mapping[str, int], inputs: Mapping[str, Array], tensor: str, index: tuple[int, ...]) -> bool:
    """Whether the equation has no value there, since an integer in it is divided where something is negative, or by 0."""
    try:
        evaluated(op, sizes, inputs, tensor, index, exact=False)
    except (ZeroDivisionError, IndexError) as error:
        return isinstance(error, ZeroDivisionError)
    return False


def operands(op: Op, sizes: Mapping[str, int], inputs: Mapping[str, Array], wrong: Mismatch) -> tuple[tuple[str, float], ...]:
    """The elements of the inputs that the element is made of and their values, in the order of the inputs; none where there are many."""
    try:
        noted = evaluated(op, sizes, inputs, wrong.tensor, wrong.index, exact=True)
    except IndexError:
        return ()
    if sum(map(len, noted.places.values())) > FEW:
        return ()
    return tuple(
        (element(t.name, place) if t.shape else t.name, noted.arrays[t.name][place].item())
        for t in op.inputs
        for place in sorted(noted.places.get(t.name, ()))
    )


def fitting(program: Program, sizes: dict[str, int], seen: Mismatch, codes: tuple[str, ...]) -> tuple[str, ...]:
    """The codes, those first that speak of too many or of too few terms where that is what the element shows when all floats are 1."""
    one = {seen.tensor: tuple(np.asarray([i]) for i in seen.index)}
    try:
        inputs = random_inputs(program.op, sizes)
        inputs |= {t.name: np.ones_like(inputs[t.name]) for t in program.op.inputs if t.dtype in FLOATS}
        got = simulate(program, sizes, inputs, budget=BUDGET).outputs[seen.tensor][seen.index]
        want = reference(program.op, sizes, inputs, one)[seen.tensor].flat[0]
    except (SimulationBudget, IndexError, ZeroDivisionError):
        return codes
    first = MORE if got > want else FEWER if got < want else ()
    return (*(c for c in codes if c in first), *(c for c in codes if c not in first))
