"""What a machine's proof takes for granted: about hardware and functions, each with the page that says so, and what equality of floats means.

Comes in: a program. Goes out: the names of the assumptions it makes; a word for each output, and a sentence. The one idea: the meaning of a
barrier, a shuffle or an atomic update in the symbolic execution is an axiom, and an axiom that is listed can be compared with its source; what is
said of floats follows from what the program does, not from who wrote it. Where nothing rounds, in the equation or in the program, equal over the
reals is equal to the bit; where the stored value is the equation's operation by operation it keeps that order, and may contract; anything else is
equal over the reals alone.
"""

from __future__ import annotations

from collections.abc import Mapping

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
    shuffled,
    tensors,
    walk,
)
from tinygpu.obligations.dataflow import execute
from tinygpu.obligations.named import element, inlined
from tinygpu.obligations.shape import put
from tinygpu.obligations.trace import Store, every_cell
from tinygpu.obligations.values import where_defined
from tinygpu.program.call import COPY, Fence, Sync
from tinygpu.program.step import Array, Assign, Program
from tinygpu.program.traverse import terms
from tinygpu.proof.kernel import ask, evident
from tinygpu.record import dataclass

PTX, GUIDE = "PTX ISA", "CUDA C++ Programming Guide"


@dataclass(frozen=True, slots=True)
class Axiom:
    """A sentence that is believed, and where it stands."""

    sentence: str
    source: str


AXIOMS: Mapping[str, Axiom] = {
    "launches in order": Axiom(
        "a kernel of a stream begins when the one before has ended, and sees all that it wrote",
        f'{GUIDE}, "Streams"; {PTX}, "Memory Consistency Model"',
    ),
    "barrier": Axiom(
        "nobody of the block passes before all have come; what was written before is seen by all of the block after",
        f'{PTX}, "bar, barrier"; {PTX}, "Memory Consistency Model"',
    ),
    "warp barrier": Axiom("the same for the 32 lanes of a warp, if all of them are named in the mask", f'{PTX}, "bar.warp.sync"'),
    "instruction barrier": Axiom(
        "an instruction is run by the lanes of a warp together, and does what its declaration says to their registers and to rows of shared memory; the "
        "order and the rounding of its sums are the hardware's",
        f'{PTX}, "Warp Level Matrix Instructions"',
    ),
    "shuffle": Axiom(
        "every lane of the mask gets the value of the lane that is named, as it is at that step; a lane out of range gives the own value",
        f'{PTX}, "shfl.sync"',
    ),
    "atomic update": Axiom(
        "an update is indivisible; updates of one element come one after the other, in any order", f'{PTX}, "red"'
    ),
    "asynchronous copy": Axiom(
        "a copy reads what is there while nobody writes it, and has landed for its thread after a wait that leaves fewer groups under way than were ended"
        " since; then a barrier tells the others",
        f'{PTX}, "cp.async"; {PTX}, "cp.async.wait_group"',
    ),
    "asynchronous product": Axiom(
        "a product that a warpgroup begins is over before a wait of the warp passes that leaves fewer groups under way than were ended since; products of one "
        "shape on one accumulator are done in order, behind what was done with registers before a fence for them",
        f'{PTX}, "wgmma.mma_async"; {PTX}, "wgmma.wait_group"; {PTX}, "wgmma.fence"',
    ),
    "proxy fence": Axiom(
        "what a thread wrote to shared memory before a fence, and has told, is read by descriptors, whose layouts are swizzles of 32, 64 and 128 bytes",
        f'{PTX}, "fence.proxy.async"; {PTX}, "Asynchronous Warpgroup Level Matrix Shared Memory Layout"',
    ),
    "shared memory": Axiom(
        "a block's shared memory is its own, and has its declared size and alignment", f'{PTX}, "State Spaces: .shared"'
    ),
    "wide access": Axiom("an access of 8 or 16 bytes that is aligned is the accesses of its elements", f'{PTX}, "ld"; {PTX}, "st"'),
    "lanes": Axiom("32 consecutive threads of a block, row by row, are the lanes of a warp", f'{GUIDE}, "SIMT Architecture"'),
    "powers": Axiom(
        "exp(u − v) = exp(u) / exp(v), exp > 0, exp(−∞) = 0; the same of exp2", "real analysis; obligations/extended.py"
    ),
    "limits of functions": Axiom(
        "the values at −∞ and +∞ of the functions in a monoid's laws", "real analysis; obligations/extended.py, LIMITS"
    ),
}


def axioms(program: Program) -> tuple[str, ...]:
    """The names of the assumptions that a program makes, in the order of the table."""
    found = {"launches in order"} if len(program.launches) > 1 else set()
    for step in program.steps:
        match step:
            case Sync():
                found |= {step.word} | ({"asynchronous product"} if step.begins and step.begins.instruction.unit else set())
            case Fence("async"):
                found.add("proxy fence")
            case Array(owner="block", held=None):
                found.add("shared memory")
            case Assign(value=value):
                found |= {"atomic update"} if step.atomic else set()
                found |= {"asynchronous copy"} if step.pending == COPY else set()
                found |= {"shuffle"} if shuffled(value) else set()
    if found & {"shuffle", "warp barrier", "instruction barrier"}:
        found.add("lanes")
    if wide(program):
        found.add("wide access")
    return tuple(name for name in AXIOMS if name in found | _of_laws(program))


def wide(program: Program) -> bool:
    """Whether a loop permits wide accesses."""
    return any(getattr(getattr(s, "axis", None), "sort", "") == "vector" for s in program.steps)


def _of_laws(program: Program) -> set[str]:
    """What the laws of the monoids with components need."""
    folds = {t.monoid for e in program.op.equations for t in walk(e.value) if isinstance(t, Fold)}
    found: set[str] = set()
    for carrier in (name for name in folds if isinstance(name, Carrier)):
        operations = {t.op for part in carrier.combination for t in walk(part) if isinstance(t, App)}
        found |= {"powers"} if operations & {"exp", "exp2"} else set()
        found |= {"limits of functions"} if operations & {*FUNCTIONS} else set()
    return found


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
    terms = [t for e in program.op.equations for t in walk(e.value)]
    terms += [t for fold in terms if isinstance(fold, Fold) for part in parts_of(fold.monoid) for t in walk(part)]
    functions = sorted({t.op for t in terms if isinstance(t, App) and t.op in FUNCTIONS} - {*EXACT_FUNCTIONS})
    outputs = {t.name: word(program, t.name) for t in program.op.outputs}
    said, needed = sentence(program, set(outputs.values())), where_defined(program.op)
    if needed:  # else elements such as `log(x[i])` where `x[i] <= 0` would be spoken of
        said += f" The equation has a value where {' and '.join(needed)}; elsewhere anything may be stored."
    return Numerics(outputs, tuple(functions), atomic(program), said)


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
    if any(isinstance(s, Sync) and s.scope == "instruction" for s in program.steps):
        order += ", and sums of instructions are rounded as the hardware does"
    if near := nearby(program):
        order += f", and numbers are rounded to {' and '.join(sorted(near))} on their way, which the equation does not"
    if atomic(program):
        order += ", and atomic updates come in another order at every call"
    return f"Over the reals: {order}; products and sums may be contracted{rounding}. NaN is outside of the statement."
