"""What equality of floats means in a machine's proof.

Comes in: a program. Goes out: a word for each output, and a sentence. The one idea: what is
said of floats follows from what the program does, not from who wrote it. Where nothing rounds, in the equation or in the program, equal over the
reals is equal to the bit; where the stored value is the equation's operation by operation it keeps that order, and may contract; anything else is
equal over the reals alone.
"""

from __future__ import annotations

from z3 import unsat

from tinygpu.category.monoid import Carrier
from tinygpu.category.near import approximate, is_near
from tinygpu.category.operation import KEEPING
from tinygpu.category.region import Region
from tinygpu.category.term import (
    BOOL,
    FALSE,
    FLOATS,
    FUNCTIONS,
    INDEX,
    TRUE,
    App,
    Fold,
    Read,
    Term,
    negation,
    tensors,
    walk,
)
from tinygpu.model.op import Op
from tinygpu.obligations.dataflow import execute
from tinygpu.obligations.named import element, inlined
from tinygpu.obligations.shape import put
from tinygpu.obligations.trace import Store, every_cell
from tinygpu.obligations.values import where_defined
from tinygpu.program.call import Sync
from tinygpu.program.step import Assign, Program
from tinygpu.program.traverse import terms
from tinygpu.proof.kernel import ask, evident
from tinygpu.record import dataclass

EXACT_FUNCTIONS = tuple(f for f in FUNCTIONS if f in KEEPING)
BITWISE, IN_ORDER, OVER_REALS = "bitwise", "in order", "over the reals"
AS_WRITTEN = "every element is evaluated as the equation is written"
CASES = 4  # choices that one value has and the other has not, one inside of the other
STEPS = 1_000_000  # of the solver, to see that there is no such case


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
    outputs = {t.name: OVER_REALS if program.op.via else word(program, t.name) for t in program.op.outputs}
    said, needed = sentence(program, set(outputs.values())), where_defined(program.op)
    if needed:  # else elements such as `log(x[i])` where `x[i] <= 0` would be spoken of
        said += f" The equation has a value where {' and '.join(needed)}; elsewhere anything may be stored."
    return Numerics(outputs, approximated(program.op), atomic(program), said)


def approximated(op: Op) -> tuple[str, ...]:
    """The functions of its equations that libraries approximate."""
    terms = [t for e in op.equations for t in walk(e.value)]
    terms += [t for fold in terms if isinstance(fold, Fold) for part in parts_of(fold.monoid) for t in walk(part)]
    return tuple(sorted({t.op for t in terms if isinstance(t, App) and t.op in FUNCTIONS} - {*EXACT_FUNCTIONS}))


def word(program: Program, tensor: str) -> str:
    """How an output is that of the equation: by what the program does for each of its elements, whoever wrote the program."""
    value = inlined(program.op, program.op.equation(tensor).value)
    induced = {e.target for e in program.op.states if program.op.tensor(e.target).dtype in FLOATS}
    if any(map(rounds_in, walk(value))) or induced & tensors(value) or nearby(program):
        return OVER_REALS
    every = stored(program, tensor)
    if not any(map(rounds, walk(value))):
        return OVER_REALS if any(rounds(t) or rounds_in(t) for ours, _, _ in every for t in walk(ours)) else BITWISE
    return IN_ORDER if all(as_written(*one) for one in every) else OVER_REALS


def nearby(program: Program) -> frozenset[str]:
    """The dtypes of numbers that stand for others next to them."""
    return frozenset(t.dtype for s in program.steps for v in terms(s) if approximate(v) for t in walk(v) if is_near(t))


def stored(program: Program, tensor: str) -> tuple[tuple[Term, Term, Region], ...]:
    """What is stored in an output, over the inputs alone, with what the equation says of that element, and where."""
    trace = execute(program)
    found = [(s.value, s.index, s.point) for s in trace.of(Store) if s.tensor == tensor]
    for cells in (c for c in trace.final if c.local.name == tensor):
        found = [(cells.value, cells.place, every_cell(program, cells))]
    every = [(tensor, *one) for one in found]
    every += [(c.local.name, c.value, c.place, every_cell(program, c)) for c in trace.named]  # which it may be made of
    return tuple(
        (value, element(program.op, name, index, point, (value, *point.guard)), point) for name, value, index, point in every
    )


def as_written(value: Term, claim: Term, point: Region, depth: int = CASES) -> bool:
    """Whether two values are the same operations in the same order, of elements that bounds show to be the same.

    >>> from tinygpu.category.term import Axis, Const, Var
    >>> i, one, point = Var("i"), Const(1.0, "f32"), Region((Axis("i", Const(4)),))
    >>> x, y = Read("x", (i,), "f32"), Read("x", (i * 2 - i,), "f32")
    >>> [as_written(App("add", ours, "f32"), App("add", (x, one), "f32"), point) for ours in ((y, one), (one, y))]
    [True, False]
    """
    if value == claim:
        return True
    if value.dtype != claim.dtype:
        return False
    if value.dtype in (INDEX, BOOL) and evident(point.facts, App("eq", (value, claim), BOOL)):
        return True
    match value, claim:
        case App(op, ours), App(other, theirs) if op == other and len(ours) == len(theirs):
            if all(as_written(a, b, point, depth) for a, b in zip(ours, theirs, strict=True)):
                return True
        case Read(tensor, ours), Read(other, theirs):
            return tensor == other and all(as_written(a, b, point, depth) for a, b in zip(ours, theirs, strict=True))
    choice = next((t for t in (value, claim) if isinstance(t, App) and t.op == "select"), None)
    return choice is not None and depth > 0 and in_cases(choice.args[0], value, claim, point, depth - 1)


def in_cases(condition: Term, value: Term, claim: Term, point: Region, depth: int) -> bool:
    """The same of a choice that one of them has: where its condition holds, and where it does not."""
    for case, truth in ((condition, TRUE), (negation(condition), FALSE)):
        there = point.under(case)
        ours, theirs = (there.settled(put(t, condition, truth)) for t in (value, claim))
        if not as_written(ours, theirs, there, depth) and ask(there.facts, FALSE, STEPS)[0] != unsat:
            return False  # and there is such a case
    return True


def rounds(term: Term) -> bool:
    """Whether an operation rounds what it computes."""
    match term:
        case App(op, _, dtype) if dtype in FLOATS:
            return op in ("add", "sub", "mul", "div") or (op in FUNCTIONS and op not in EXACT_FUNCTIONS)
    return False


def rounds_in(term: Term) -> bool:
    """Whether a term is a fold whose combining rounds, so that the order of its terms matters.

    >>> from tinygpu.category.term import Axis, Const
    >>> [rounds_in(Fold(m, (Axis("k", Const(4)),), TRUE, Const(1.0, "f32"), "f32")) for m in ("sum", "max")]
    [True, False]
    """
    return isinstance(term, Fold) and combining_rounds(term.monoid, term.dtype)


def combining_rounds(monoid: str, dtype: str) -> bool:
    """Whether two values of a dtype, combined, are rounded."""
    if not isinstance(monoid, Carrier):
        return dtype in FLOATS and monoid in ("sum", "prod")
    return any(rounds(t) for part in parts_of(monoid) for t in walk(part))


def parts_of(monoid: str) -> tuple[Term, ...]:
    """The components of what a monoid combines to; none for one of numbers."""
    return monoid.combination if isinstance(monoid, Carrier) else ()


def atomic(program: Program) -> bool:
    """Whether atomic updates add floats."""
    every = (s for s in program.steps if isinstance(s, Assign))
    return any(s.atomic and s.update in ("sum", "prod") and s.value.dtype in FLOATS for s in every)


def sentence(program: Program, words: set[str]) -> str:
    """What is said beside the verdict."""
    if not any(t.dtype in FLOATS for t in program.op.tensors):
        return "Integers are exact, modulo the width of their type."
    if words <= {BITWISE}:
        return "Nothing is rounded on the way: every output is the equation's to the bit. NaN is outside of the statement."
    ours = [s.value for s in program.steps if isinstance(s, Assign)]
    folds = any(rounds_in(t) for e in program.op.equations for t in walk(e.value))
    order = (
        "folds may be reassociated"
        if folds
        else AS_WRITTEN
        if OVER_REALS not in words
        else "every element is evaluated as the program is written, which over the reals is what the equation says"
    )
    casts = sorted({t.dtype for v in ours for t in walk(v) if isinstance(t, App) and t.op == "cast" and t.dtype in FLOATS})
    rounding = f"; casts to {', '.join(casts)} are those of the equation" if casts else ""
    if any(isinstance(s, Sync) and s.applied for s in program.steps):
        order += ", and sums of instructions are rounded as the hardware does"
    if near := nearby(program):
        order += f", and numbers are rounded to {' and '.join(sorted(near))} on their way, which the equation does not"
    if atomic(program):
        order += ", and atomic updates come in another order at every call"
    return f"Over the reals: {order}; products and sums may be contracted{rounding}. NaN is outside of the statement."
