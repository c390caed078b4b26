"""The rows of a counterexample, and what is to be said of two threads that meet.

Comes in: a program, sizes, and what was seen. Goes out: names and values, one or two side by side, in the user's names.
The one idea: both threads stand next to each other, so that a reader sees what tells them apart.
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygpu.category.evaluate import evaluate
from tinygpu.program.fault import (
    At,
    Divergent,
    DivisionByZero,
    DoubleStore,
    HoldsViolated,
    NeverStored,
    OutOfBounds,
    Race,
    ReadOutput,
    Uninitialised,
    element,
)
from tinygpu.program.group import WARP
from tinygpu.program.step import Assign, For, If, Program, Step
from tinygpu.program.tolerance import Mismatch
from tinygpu.proof.replay import Misbehaviour

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
        case Uninitialised(at, array, index) | ReadOutput(at, array, index):
            yield from _where(at)
            yield "cell" if isinstance(seen, Uninitialised) else "element", (element(array, index),)
        case Race(at, array, index, first):
            yield from _where(first, at)
            steps = (f"{said(one)} {verb} {element(array, index)}" for one, verb in zip((first, at), seen.verbs, strict=True))
            yield "step", tuple(steps)
        case Divergent(at, missing=missing):
            yield from _where(at) if missing is None else _comes(at, missing)
            yield "step", (said(at),)
        case DivisionByZero(at, term):
            yield from _where(at)
            yield "term", (term,)
        case HoldsViolated(at, array, index, got, want):
            yield from _where(at)
            yield "cell", (f"{element(array, index)} is {got:.6g}, said to be {want:.6g}",)
        case Mismatch(tensor, index, got, want):
            yield "element", (element(tensor, index),)
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


def said(at: At) -> str:
    """`line 7`, or the step itself where it stands in no text (or in none that is known)."""
    return named(at.step) if at.step is not None else f"line {at.span.line}"


def named(step: Step) -> str:
    """A step in a few words."""
    if step.span.line:
        return f"line {step.span.line}"
    match step:
        case For(axis):
            return f"the loop over {axis.name}"
        case Assign() | If():
            from tinygpu.program.render import statement
            from tinygpu.syntax.format import format_statements

            line = format_statements((statement(step),)).split("\n")[0].rstrip(" {")
            return f"`{line if len(line) <= SHOWN else line[: SHOWN - 2] + ' …'}`"
    return type(step).__name__.lower()


def between(program: Program, seen: Race) -> Iterator[str]:
    """What is missing between two threads that meet."""
    one, two = said(seen.first), said(seen.at)
    turns = [
        (name, v, w) for (name, v), (other, w) in zip(seen.first.loops, seen.at.loops, strict=False) if name == other and v != w
    ]
    when = f" when {turns[0][0]} goes from {turns[0][1]} to {turns[0][2]}" if turns else ""
    if seen.scope == "launch":
        yield "the threads of one launch know nothing of each other's writes to global memory; those of a later launch do"
        return
    if seen.first.step is seen.at.step and not when:
        yield f"{one} is one step for both threads: nothing orders what they do in it"
    else:
        yield f"no barrier between {one} and {'its next turn' if one == two and not when else two}{when}"
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
