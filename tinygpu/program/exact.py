"""A run in exact arithmetic: the program and its equation at given sizes and inputs, with floats that are real numbers.

Comes in: a program, sizes, inputs as flat lists. Goes out: what goes wrong even so: faults, or the first element that is another value.
The one idea: the small run takes any numbers that Python adds, so the program with `real` for every dtype of floats is run as it is; with
`f64` for them, what is too large for that is run in numpy at twice the bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from tinygpu.category.carrier import CARRIERS
from tinygpu.category.listed import REAL, Undefined
from tinygpu.category.monoid import MONOIDS
from tinygpu.category.real import Real, of, stored
from tinygpu.category.term import FLOATS, App, Axis, Const, Fold, Read, Term, Var, walk
from tinygpu.model.op import Op
from tinygpu.program import small, small_inputs
from tinygpu.program.fault import Fault, NeverStored, unflat
from tinygpu.program.small import Lists
from tinygpu.program.step import Assign, For, Holds, If, Local, Program, Shared, Step, steps
from tinygpu.program.tolerance import Mismatch
from tinygpu.program.unpack import unpack
from tinygpu.record import replace

POINTS = 1 << 20  # of an exact run, in points of all operations: some seconds
COST = 1 << 5  # lane-steps that take as long as one of them


def run(
    program: Program, sizes: Mapping[str, int], inputs: Lists, points: int = POINTS
) -> tuple[tuple[Fault, ...] | Mismatch | None, int]:
    """What goes wrong in a run in lockstep on real numbers, and the lane-steps that it took. Raises Beyond for what takes more than so
    many points, or where bounds leave it open; IndexError and ZeroDivisionError where the equation has no value."""
    made = retyped(program, REAL)
    given = {t.name: [*map(stored, inputs[t.name])] if t.dtype in FLOATS else inputs[t.name] for t in program.op.inputs}
    try:
        wanted = small_inputs.reference(made.op, sizes, given)
    except Undefined:
        raise ZeroDivisionError("the equation has no value") from None
    outcome = small.simulate(made, sizes, given, work=points)
    faults = tuple(f for f in outcome.faults if not (isinstance(f, NeverStored) and _nothing(made.op, sizes, f, wanted)))
    if faults:
        return faults, outcome.taken
    if outcome.faults:
        return None, outcome.taken
    differing = (wrong for t in made.op.outputs for wrong in _differing(made.op, sizes, t.name, outcome.outputs, wanted))
    return next(differing, None), outcome.taken


def _nothing(op: Op, sizes: Mapping[str, int], fault: NeverStored, wanted: Lists) -> bool:
    """Whether the equation has no value there: then nothing need be stored."""
    address = 0
    for place, extent in zip(fault.index, small_inputs.shape_of(op.tensor(fault.array), sizes), strict=True):
        address = address * extent + place
    value = wanted[fault.array][address]
    return isinstance(value, Real) and value.undefined


def _differing(op: Op, sizes: Mapping[str, int], name: str, got: Lists, want: Lists) -> list[Mismatch]:
    """The first element that is another value, where the equation has one."""
    for address, (a, b) in enumerate(zip(got[name], want[name], strict=True)):
        a, b = (v if isinstance(v, Real) else of(v) for v in (a, b))
        if not b.undefined and a.apart(b):
            return [Mismatch(name, unflat(address, small_inputs.shape_of(op.tensor(name), sizes)), float(a), float(b))]
    return []


def retyped(program: Program, dtype: str) -> Program:
    """The program, without carriers, with one dtype for all floats."""
    program = unpack(program)
    of_term = partial(with_floats, dtype=dtype)

    def of_step(step: Step) -> Step:
        match step:
            case Assign():
                return replace(step, index=tuple(map(of_term, step.index)), value=of_term(step.value), guard=of_term(step.guard))
            case For():
                return replace(step, body=tuple(map(of_step, step.body)))
            case If():
                return replace(step, guard=of_term(step.guard), body=tuple(map(of_step, step.body)))
            case Holds():
                return replace(step, index=tuple(map(of_term, step.index)), value=of_term(step.value))
            case Local() | Shared():
                return replace(step, dtype=_float(step.dtype, dtype))
        return step

    launches = tuple(replace(launch, body=tuple(map(of_step, launch.body))) for launch in program.launches)
    workspaces = tuple(replace(w, dtype=_float(w.dtype, dtype)) for w in program.workspaces)
    return replace(program, op=_op(program.op, dtype), launches=launches, workspaces=workspaces)


def _op(op: Op, dtype: str) -> Op:
    """The op with one dtype for all floats, also of its equations; those on real numbers have carriers of such."""
    inputs, outputs, intermediates = (
        tuple(replace(t, dtype=_float(t.dtype, dtype)) for t in some) for some in (op.inputs, op.outputs, op.intermediates)
    )
    for monoid in {t.monoid for e in op.equations for t in walk(e.value) if isinstance(t, Fold)} if dtype == REAL else ():
        _known(monoid)
    equations = tuple(replace(e, value=with_floats(e.value, dtype)) for e in op.equations)
    return replace(op, inputs=inputs, outputs=outputs, intermediates=intermediates, equations=equations)


def with_floats(term: Term, dtype: str) -> Term:
    """The term with one dtype for all floats.

    >>> with_floats(App("exp", (Const(0.5, "f16"),), "f16"), "f64")
    App(op='exp', args=(Const(value=0.5, dtype='f64'),), dtype='f64')
    """
    change, own = partial(with_floats, dtype=dtype), _float(term.dtype, dtype)
    match term:
        case Const() | Var():
            return term if own == term.dtype else replace(term, dtype=own)
        case App(op, args):
            return App(_float(op, dtype), tuple(map(change, args)), own)
        case Read(tensor, index, _, span):
            return Read(tensor, tuple(map(change, index)), own, span)
        case Fold(monoid, axes, guard, body, _, span):
            axes = tuple(Axis(a.name, change(a.extent), a.sort, a.span) for a in axes)
            return Fold(_float(monoid, dtype), axes, change(guard), change(body), own, span)


def _float(old: str, dtype: str) -> str:
    """The dtype for another; of a carrier on numbers that are not rounded, its name."""
    if old in CARRIERS and dtype == REAL:
        return f"{REAL} {old}"
    return dtype if old in FLOATS else old


def _known(monoid: str) -> None:
    """Makes the monoid of a carrier known on numbers that are not rounded."""
    law, name = MONOIDS[monoid], _float(monoid, REAL)
    if law.definition is None:
        return
    change = partial(with_floats, dtype=REAL)
    components = tuple((part, _float(dtype, REAL)) for part, dtype in law.definition.carrier.components)
    carrier = CARRIERS[name] = replace(law.definition.carrier, name=name, components=components)
    d = law.definition
    unit = tuple(replace(one, dtype=_float(one.dtype, REAL)) for one in d.unit)
    made = replace(d, carrier=carrier, unit=unit, combine=tuple(map(change, d.combine)))
    MONOIDS[name] = replace(law, name=name, op=name, definition=made)


def with_fractions(program: Program) -> bool:
    """Whether anything that a program or its op computes is a float: integers and truth values are exact in every run."""
    dtypes = {t.dtype for t in (*program.op.tensors, *program.op.intermediates)}
    dtypes |= {w.dtype for w in program.workspaces}
    dtypes |= {s.dtype for launch in program.launches for s in steps(launch.body) if isinstance(s, Local | Shared)}
    if any(dtype in FLOATS or dtype in CARRIERS for dtype in dtypes):
        return True
    terms = (t for launch in program.launches for s in steps(launch.body) if isinstance(s, Assign) for t in (s.value, s.guard))
    return any(part.dtype in FLOATS for term in (*terms, *(e.value for e in program.op.equations)) for part in walk(term))
