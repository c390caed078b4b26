"""What equality of floats means for a program: which outputs are the equation's to the bit, and which only over the reals.

Comes in: a program. Goes out: a word for each output, and a sentence. The one idea: where nothing on the way from inputs to an output
rounds, equal over the reals is equal to the bit; where something does, a derived program keeps the order of each element and may
contract, while folds, and whatever a person wrote, need only be equal over the reals.
"""

from __future__ import annotations

from tinygpu.category.monoid import MONOIDS
from tinygpu.category.term import FLOATS, FUNCTIONS, App, Fold, Read, Term, walk
from tinygpu.obligations.equation import where_defined
from tinygpu.program.step import Assign, Program, steps
from tinygpu.record import dataclass, replace

EXACT_FUNCTIONS = ("abs", "floor")
BITWISE, IN_ORDER, OVER_REALS = "bitwise", "in order", "over the reals"
AS_WRITTEN = "every element is evaluated as the equation is written"


@dataclass(frozen=True, slots=True)
class Numerics:
    """`outputs` by name: `bitwise`, `in order` (products and sums contracted at most) or `over the reals`. `functions` are approximated
    by libraries. `atomic`: sums of floats come in another order at every call."""

    outputs: dict[str, str]
    functions: tuple[str, ...]
    atomic: bool
    sentence: str


def numerics_of(program: Program) -> Numerics:
    """`Program → Numerics`."""
    terms = [t for e in program.op.equations for t in walk(e.value)]
    terms += [t for fold in terms if isinstance(fold, Fold) for part in parts_of(fold) for t in walk(part)]
    functions = sorted({t.op for t in terms if isinstance(t, App) and t.op in FUNCTIONS} - {*EXACT_FUNCTIONS})
    outputs = {t.name: word(program, t.name) for t in program.op.outputs}
    said = " ".join((sentence(program, set(outputs.values())), *partly(program)))
    return Numerics(outputs, tuple(functions), atomic(program), said)


def partly(program: Program) -> tuple[str, ...]:
    """What is said of elements that have no value, such as `log(x[i])` where `x[i] <= 0`."""
    needed = where_defined(program.op)
    return (f"The equation has a value where {' and '.join(needed)}; elsewhere anything may be stored.",) if needed else ()


def word(program: Program, tensor: str) -> str:
    """How an output, or an intermediate, is that of the equation."""
    value = program.op.equation(tensor).value
    inside = {t.name for t in program.op.intermediates}
    found = {word(program, t.tensor) for t in walk(value) if isinstance(t, Read) and t.tensor in inside}
    if any(isinstance(t, Fold) and rounds_in(t) for t in walk(value)):
        found.add(OVER_REALS)
    elif any(map(rounds, walk(value))):
        found.add(IN_ORDER if derived(program) else OVER_REALS)
    return next((w for w in (OVER_REALS, IN_ORDER) if w in found), BITWISE)


def derived(program: Program) -> bool:
    """Whether the program was made from a machine, which evaluates each element as the equation is written."""
    return program.machine is not None and program.machine.program is None


def as_derived(program: Program) -> Program:
    """The same, of which is believed that it was derived."""
    return replace(program, machine=replace(program.machine, program=None)) if program.machine else program


def rounds(term: Term) -> bool:
    """Whether an operation rounds what it computes."""
    match term:
        case App(op, _, dtype) if dtype in FLOATS:
            return op in ("add", "sub", "mul", "div") or (op in FUNCTIONS and op not in EXACT_FUNCTIONS)
    return False


def rounds_in(fold: Fold) -> bool:
    """Whether combining rounds, so that the order of a fold's terms matters.

    >>> from tinygpu.category.term import TRUE, Axis, Const
    >>> [rounds_in(Fold(m, (Axis("k", Const(4)),), TRUE, Const(1.0, "f32"), "f32")) for m in ("sum", "max")]
    [True, False]
    """
    if MONOIDS[fold.monoid].definition is None:
        return fold.dtype in FLOATS and fold.monoid in ("sum", "prod")
    return any(rounds(t) for part in parts_of(fold) for t in walk(part))


def parts_of(fold: Fold) -> tuple[Term, ...]:
    """The components of what a fold combines to; none for a fold of numbers."""
    definition = MONOIDS[fold.monoid].definition
    return definition.combine if definition else ()


def atomic(program: Program) -> bool:
    """Whether atomic updates add floats."""
    every = (s for launch in program.launches for s in steps(launch.body) if isinstance(s, Assign))
    return any(s.atomic and s.update in ("sum", "prod") and s.value.dtype in FLOATS for s in every)


def sentence(program: Program, words: set[str]) -> str:
    """What is said beside the verdict."""
    if not any(t.dtype in FLOATS for t in program.op.tensors):
        return "Integers are exact, modulo the width of their type."
    if words <= {BITWISE}:
        return "Nothing is rounded on the way: every output is the equation's to the bit. NaN is outside of the statement."
    ours = [s.value for launch in program.launches for s in steps(launch.body) if isinstance(s, Assign)]
    folds = any(isinstance(t, Fold) and rounds_in(t) for e in program.op.equations for t in walk(e.value))
    order = (
        "folds may be reassociated"
        if folds
        else AS_WRITTEN
        if OVER_REALS not in words
        else "every element is evaluated as the program is written, which over the reals is what the equation says"
    )
    casts = sorted({t.dtype for v in ours for t in walk(v) if isinstance(t, App) and t.op == "cast" and t.dtype in FLOATS})
    rounding = f"; casts to {', '.join(casts)} are those of the equation" if casts else ""
    if atomic(program):
        order += ", and atomic updates come in another order at every call"
    return f"Over the reals: {order}; products and sums may be contracted{rounding}. NaN is outside of the statement."
