"""A run in exact arithmetic: the program and its equation at given sizes and inputs, with floats that are real numbers.

Comes in: a program, sizes, inputs. Goes out: what goes wrong even so: faults, or the first element that is certainly another value.
The one idea: `real` is one more dtype, so the program with it for every dtype of floats is run as it is; and so is `ball`, doubles that say how far
they may be off, which are as fast as floats, and do not tell apart what differs in the last digits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np

from tinygpu.category import reals
from tinygpu.category.balls import BALL
from tinygpu.category.monoid import Carrier
from tinygpu.category.number import IDEAL, Array, Value, as_float, load
from tinygpu.category.real import REAL, Beyond, Real, Undefined
from tinygpu.category.term import FLOATS, App, Fold, Term, memoised, rebuild
from tinygpu.derive.unpack import unpack
from tinygpu.model.op import Op
from tinygpu.program.step import Array as Declared
from tinygpu.program.step import Program, Step
from tinygpu.program.traverse import map_steps, map_terms
from tinygpu.record import replace
from tinygpu.simulate.fault import Fault, NeverStored, SimulationBudget
from tinygpu.simulate.reference import reference
from tinygpu.simulate.simulate import BUDGET, simulate
from tinygpu.simulate.tolerance import Mismatch

POINTS = 1 << 18  # of an exact run, in points of all operations: a second or two
MOST = 1 << 12  # elements of an input
COST = 1 << 7  # lane-steps that take as long as one of them
SLOWER = 2  # so many of floats take as long as one of balls, of most programs


Wrong: TypeAlias = tuple[Fault, ...] | Mismatch | None


def run(
    program: Program, sizes: Mapping[str, int], inputs: Mapping[str, Array], order: int | None = None, points: int = POINTS
) -> tuple[Wrong, int]:
    """What goes wrong in a run on real numbers, and how many points it took. Raises Beyond for what takes more than so many, or where
    bounds leave it open; IndexError and ZeroDivisionError where the equation has no value."""
    work = [points * COST]
    with reals.limited(points) as left:
        if any(np.size(values) > MOST for values in inputs.values()):
            raise Beyond("an input is large")
        found = _wrong(program, REAL, sizes, inputs, order, work)
    return found, points - left[0] + (points * COST - work[0]) // COST


def enclosed(
    program: Program,
    sizes: Mapping[str, int],
    inputs: Mapping[str, Array],
    order: int | None = None,
    work: list[int] | None = None,
    budget: int = BUDGET,
) -> Wrong:
    """What certainly goes wrong, as far as doubles tell. Raises Beyond where they leave open what is done; IndexError and ZeroDivisionError where the
    equation has no value."""
    left = [work[0] // SLOWER] if work else None
    try:
        return _wrong(program, BALL, sizes, inputs, order, left, budget)
    finally:
        if work and left:
            work[0] = left[0] * SLOWER


def _wrong(
    program: Program,
    dtype: str,
    sizes: Mapping[str, int],
    inputs: Mapping[str, Array],
    order: int | None,
    work: list[int] | None,
    budget: int = BUDGET,
) -> Wrong:
    made, numbers = retyped(program, dtype), IDEAL[dtype]
    given = {t.name: load(inputs[t.name], t.dtype, exact=True) for t in program.op.inputs}
    given |= {t.name: numbers.held(given[t.name]) for t in program.op.inputs if t.dtype in FLOATS}
    try:
        wanted = reference(made.op, sizes, given)
    except Undefined:
        raise ZeroDivisionError("the equation has no value") from None
    try:
        outcome = simulate(made, sizes, given, order=order, work=work, budget=budget)
    except SimulationBudget as error:
        raise Beyond(str(error)) from None
    faults = tuple(f for f in outcome.faults if not (isinstance(f, NeverStored) and _nothing(wanted[f.array][f.index])))
    if faults or outcome.faults:
        return faults or None
    for tensor in made.op.outputs:
        got, want = outcome.outputs[tensor.name], wanted[tensor.name]
        for spot in np.argwhere(numbers.apart(got, want)):
            at = tuple(map(int, spot))
            return Mismatch(tensor.name, at, as_float(got[at]), as_float(want[at]))
    return None


def _nothing(value: Value) -> bool:
    """Whether the equation has no value there: then nothing need be stored."""
    return value.undefined if isinstance(value, Real) else bool(value != value)


def retyped(program: Program, dtype: str) -> Program:
    """The program, without carriers, with one dtype for all floats."""
    program = unpack(program)

    def of_term(term: Term) -> Term:
        return with_floats(term, dtype)

    def of_step(step: Step) -> tuple[Step, ...]:
        return (replace(step, dtype=_float(step.dtype, dtype)) if isinstance(step, Declared) else map_terms(step, of_term),)

    launches = tuple(replace(launch, body=map_steps(launch.body, of_step)) for launch in program.launches)
    workspaces = tuple(replace(w, dtype=_float(w.dtype, dtype)) for w in program.workspaces)
    return replace(program, op=_op(program.op, dtype), launches=launches, workspaces=workspaces)


def _op(op: Op, dtype: str) -> Op:
    """The op with one dtype for all floats, also of its equations; those on real numbers have carriers of such."""
    inputs, outputs, intermediates = (
        tuple(replace(t, dtype=_float(t.dtype, dtype)) for t in some) for some in (op.inputs, op.outputs, op.intermediates)
    )
    equations = tuple(replace(e, value=with_floats(e.value, dtype)) for e in op.equations)
    return replace(op, inputs=inputs, outputs=outputs, intermediates=intermediates, equations=equations)


@memoised
def with_floats(term: Term, dtype: str) -> Term:
    """The term with one dtype for all floats.

    >>> from tinygpu.category.term import Const
    >>> with_floats(App("exp", (Const(0.5, "f16"),), "f16"), "f64")
    App(op='exp', args=(Const(value=0.5, dtype='f64'),), dtype='f64')
    """
    inside, own = rebuild(term, lambda t: with_floats(t, dtype), written=True), _float(term.dtype, dtype)
    match inside:
        case App(op):
            return replace(inside, op=_float(op, dtype), dtype=own)
        case Fold(monoid):
            return replace(inside, monoid=_float(monoid, dtype), dtype=own)
    return inside if own == inside.dtype else replace(inside, dtype=own)


def _float(old: str, dtype: str) -> str:
    """The dtype for another; of a carrier, the one on numbers that are not rounded."""
    if isinstance(old, Carrier) and dtype in IDEAL:
        components = tuple((part, _float(inner, dtype)) for part, inner in old.components)
        identity = tuple(replace(one, dtype=_float(one.dtype, dtype)) for one in old.identity)
        return replace(
            old, components=components, identity=identity, combination=tuple(with_floats(t, dtype) for t in old.combination)
        )
    return dtype if old in FLOATS else old
