"""The rows of a counterexample: of a run, with what is to be said of two threads that meet, or of a law that numbers break.

Comes in: a program, sizes, and what was seen; or an open claim about a monoid. Goes out: names and values, one or two side by side, in the user's
names. The one idea: both threads stand next to each other, so that a reader sees what tells them apart; and a law is evaluated in plain
floating point, which shares nothing with the solver.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from tinygpu.category.carrier import LAWS, OPERANDS, Values, broken
from tinygpu.category.evaluate import Number, evaluate
from tinygpu.category.monoid import Carrier
from tinygpu.diagnostic import Case, Diagnostic
from tinygpu.obligations.laws import folded_with, title
from tinygpu.obligations.obligation import Obligation
from tinygpu.program.call import COPY
from tinygpu.program.step import WARP, For, Program, Step
from tinygpu.proof.replay import Misbehaviour
from tinygpu.simulate.fault import (
    At,
    Divergent,
    DivisionByZero,
    DoubleStore,
    HoldsViolated,
    NeverStored,
    OutOfBounds,
    Overwritten,
    Race,
    ReadOutput,
    UnderWay,
    Unfenced,
    Uninitialised,
    element,
)
from tinygpu.simulate.tolerance import Mismatch

SHOWN = 60  # characters of a step that has no place in a text


def rows(program: Program, sizes: dict[str, int], seen: Misbehaviour) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The case as rows: sizes, threads, element, values."""
    if sizes:
        yield ", ".join(sizes), (", ".join(str(v) for v in sizes.values()),)
    match seen:
        case OutOfBounds(at, array, index, axis, extent):
            yield from _where(at)
            yield "element", (element(array, index),)
            yield "shape", (f"axis {axis} of {array} has extent {extent}",)
        case DoubleStore(at, array, index, first):
            yield from _where(first, at)
            yield "element", (element(array, index), element(array, index))
        case NeverStored(array, index):
            yield "element", (element(array, index),)
        case Uninitialised(at, array, index) | ReadOutput(at, array, index) | Overwritten(at, array, index):
            yield from _where(at)
            yield "cell" if isinstance(seen, Uninitialised) else "element", (element(array, index),)
        case Race(at, array, index, first):
            yield from _where(first, at)
            lines = (f"{said(program, one)} " if by_hand(program) else "" for one in (first, at))
            yield "step", tuple(f"{line}{verb} {element(array, index)}" for line, verb in zip(lines, seen.verbs, strict=True))
        case UnderWay(at, array, index, first) | Unfenced(at, array, index, first):
            yield from _where(first, at)
            lines = (f"{said(program, one)} " if by_hand(program) else "" for one in (first, at))
            begins = "copies to" if seen.unit == COPY else "begins a product with"
            what = seen.what if isinstance(seen, UnderWay) else begins
            verbs = ("touches" if what == "copies over" or isinstance(seen, Unfenced) else begins, what)
            yield "step", tuple(f"{line}{verb} {element(array, index)}" for line, verb in zip(lines, verbs, strict=True))
        case Divergent(at, missing=missing):
            yield from _where(at) if missing is None else _comes(at, missing)
            yield "step", (said(program, at),)
        case DivisionByZero(at, term):
            yield from _where(at)
            yield "term", (term,)
        case HoldsViolated(at, array, index, got, want):
            yield from _where(at)
            yield "cell", (f"{element(array, index)} is {got:.6g}, said to be {want:.6g}",)
        case Mismatch(tensor, index, got, want, operands):
            yield "element", (element(tensor, index),)
            if operands:
                yield "inputs", (", ".join(f"{name} = {value:.6g}" for name, value in operands),)
            yield "stored", (f"{got:.6g}",)
            yield "equation", (f"{want:.6g}",)


def _comes(at: At, missing: At) -> Iterator[tuple[str, tuple[str, ...]]]:
    for name, (_, values) in zip(("comes", "does not"), (next(_where(one)) for one in (at, missing)), strict=True):
        yield name, values
    yield from list(_where(at))[1:]


def _where(*places: At) -> Iterator[tuple[str, tuple[str, ...]]]:
    lanes = [", ".join(f"{n} {v}" for n, v in at.lane) for at in places]
    if any(lanes):
        yield "thread", tuple(f"({lane})" for lane in lanes)
    loops = [", ".join(f"{n} {v}" for n, v in at.loops) for at in places]
    if any(loops):
        yield "iteration", tuple(f"({loop})" if loop else "none" for loop in loops)


def by_hand(program: Program) -> bool:
    """Whether the steps stand in a text; those of a derived program have the places of what they come from, equations among it."""
    every = [step.span for step in program.steps]
    home = program.span
    return all(span.file == home.file and home.start <= span.start and span.end <= home.end and span.line for span in every)


def said(program: Program, at: At) -> str:
    """`line 7`, or the step itself where it stands in no text."""
    return named(program, at.step) if at.step is not None else f"line {at.span.line}"


def named(program: Program, step: Step) -> str:
    """A step in a few words."""
    if by_hand(program):
        return f"line {step.span.line}"
    if isinstance(step, For):
        return f"the loop over {step.axis.name}"
    from tinygpu.program.statement import line

    text = line(step, frozenset(t.name for t in program.op.inputs if not t.shape))
    return f"`{text if len(text) <= SHOWN else text[: SHOWN - 2].rstrip() + ' …'}`"


def between(program: Program, seen: Race) -> Iterator[str]:
    """What is missing between two threads that meet."""
    one, two = said(program, seen.first), said(program, seen.at)
    if seen.scope == "launch":
        yield "the threads of one launch know nothing of each other's writes to global memory; those of a later launch do"
        return
    turns = [
        (name, v, w) for (name, v), (other, w) in zip(seen.first.loops, seen.at.loops, strict=False) if name == other and v != w
    ]
    when = f" when {turns[0][0]} goes from {turns[0][1]} to {turns[0][2]}" if turns else ""
    if seen.first.step is seen.at.step and not when:
        yield f"{one} is one step for both threads: nothing orders what they do in it"
    elif by_hand(program):
        yield f"no barrier between {one} and {'its next turn' if one == two and not when else two}{when}"
    else:
        yield f"no barrier between\n{one} and\n{two}{when}"
    numbers = [_thread(program, at) for at in (seen.first, seen.at)]
    if numbers[0] is not None and numbers[1] is not None and numbers[0] // WARP == numbers[1] // WARP:
        yield "the two are lanes of one warp; lanes do not run in step either"


def _thread(program: Program, at: At) -> int | None:
    """The flat number of a thread in its block."""
    values = dict(at.lane)
    number = 0
    for axis in program.launches[at.launch].block:
        try:
            number = number * int(evaluate(axis.extent, {})) + values[axis.name]
        except (KeyError, ZeroDivisionError):
            return None  # an extent over sizes
    return number


def refuted(claim: Obligation, program: Program) -> Diagnostic | None:
    """The diagnostic of a law that some numbers break."""
    for carrier, law in product(sorted(folded_with(program)), LAWS):
        found = broken(carrier, law) if title(carrier, law) == claim.title else None
        if found:
            case = Case(tuple((row, (text,)) for row, text in rows_of_law(carrier, law, found)))
            return Diagnostic(claim.code, claim.title, claim.labels, "refuted", case, helps=(claim.help,) if claim.help else ())
    return None


def rows_of_law(d: Carrier, law: str, found: tuple[Values, ...]) -> list[tuple[str, str]]:
    """What is carried of a law: its operands, and its sides."""
    name = str(d)
    if law == "lift":
        given = [(n, digits(v)) for (n, _), v in zip(d.parameters, found[0], strict=True)]
        return [*given, (f"lift({', '.join(n for n, _ in d.parameters)})", carried(d, found[1]))]
    sides = {
        "associative": (f"{name}({name}(a, b), c)", f"{name}(a, {name}(b, c))"),
        "commutative": (f"{name}(a, b)", f"{name}(b, a)"),
        "idempotent": (f"{name}(a, a)", "wanted"),
        "invariant": (f"{name}(a, b)",),
        "unit": ("with the unit", "wanted"),
    }[law]
    return [(row, carried(d, value)) for row, value in zip((*OPERANDS[law], *sides), found, strict=True)]


def carried(d: Carrier, value: Values) -> str:
    """A value of the carrier.

    >>> from tinygpu.model.monoid import built_in
    >>> carried(built_in("argmax", "f32"), (0.5, 3))
    '(v = 0.5, k = 3)'
    """
    return f"({', '.join(f'{n} = {digits(v)}' for (n, _), v in zip(d.components, value, strict=True))})"


def digits(value: Number) -> str:
    """A number in few digits."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
