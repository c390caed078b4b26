"""Every access is inside its array, axis by axis, and integers are divided only where everybody agrees what that is.

    guards, conditions around it  ⊢  0 ≤ index < extent            a // b, a % b of integers:  a ≥ 0 and b ≥ 1

Comes in: a machine's execution. Goes out: claims. The one idea: what is asked is asked where the expression is evaluated: a branch under
its condition, the right side of `and` where the left side is true.
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygpu.diagnostic import Span
from tinygpu.replay.cells import Path, Text
from tinygpu.replay.equal import agree
from tinygpu.replay.execute import Execution
from tinygpu.replay.ir import INDEX, RANGES, TRUE, Fold, Num, Op, Read, Term, Var, both, children, compare, walk, within
from tinygpu.replay.judge import Judge, Place
from tinygpu.replay.polynomials import opposite
from tinygpu.replay.program import Assign, Holds, If, Loop, Step


def accesses(run: Execution, judge: Judge) -> None:
    """The claims about all accesses and integer divisions."""
    for text in run.texts:
        for path, step in steps(text.launch.body):
            judge.about("bounds", "TG203", "every access is inside its array", getattr(step, "span", None))
            judge.attempt(lambda text=text, path=path, step=step: inside(run, text, path, step, judge))  # type: ignore[misc]


def steps(body: tuple[Step, ...], path: Path = ()) -> Iterator[tuple[Path, Step]]:
    """All steps, with their paths."""
    for number, step in enumerate(body):
        yield (*path, number), step
        if isinstance(step, Loop | If):
            yield from steps(step.body, (*path, number))


def inside(run: Execution, text: Text, path: Path, step: Step, judge: Judge) -> None:
    """The claims about one step."""
    axes = text.around(path)
    plain = {a.name: Var(a.name) for a in axes}
    outer = [text.cells(guard, p, plain) for p, guard in text.guards(path)]
    place = Place(axes)
    place = place.under(run.resolve(both(*outer), place))
    match step:
        case If(guard, _, span):
            evaluated(run, text, path, guard, place, judge, span)
        case Assign(target, index, value, _, guard, _, span):
            if any(isinstance(t, Fold) for term in (guard, value, *index) for t in walk(term)):
                judge.open("a fold stands in a step")
            evaluated(run, text, path, guard, place, judge, span)
            place = place.under(run.resolve(text.cells(guard, path, plain), place))
            for term in (*index, value):
                evaluated(run, text, path, term, place, judge, span)
            within_array(run, text, path, target, index, place, judge, span)
        case Holds(target, index, value, span):
            judge.about("holds", "TG509", f"{target} holds what is said of it", span)
            place_of_cell = tuple(text.cells(i, path, plain) for i in index)
            cell = text.at(target, path, place_of_cell, plain, value.dtype)
            agree(run.resolve(cell, place), run.resolve(text.cells(value, path, plain), place), place, judge)


def evaluated(run: Execution, text: Text, path: Path, term: Term, place: Place, judge: Judge, span: Span) -> None:
    """The claims about an expression, and what is inside of it, where it is evaluated."""
    plain = {a.name: Var(a.name) for a in text.around(path)}

    def known(condition: Term) -> Term:
        return run.resolve(text.cells(condition, path, plain), place)

    match term:
        case Op("select", (condition, then, otherwise)):
            evaluated(run, text, path, condition, place, judge, span)
            evaluated(run, text, path, then, place.under(known(condition)), judge, span)
            evaluated(run, text, path, otherwise, place.under(opposite(known(condition))), judge, span)
            return
        case Op("and" | "or" as op, args):
            for arg in args:
                evaluated(run, text, path, arg, place, judge, span)
                place = place.under(known(arg) if op == "and" else opposite(known(arg)))
            return
        case Read(array, index) if index:
            within_array(run, text, path, array, index, place, judge, span)
        case Op("floordiv" | "mod", (a, b), dtype) if dtype == INDEX or dtype in RANGES:
            if dtype in RANGES or not (isinstance(b, Num) and b.value > 0):
                judge.about("defined", "TG404", "nothing negative is divided, and by 1 or more", span)
                low = compare("ge", a, Num(0, a.dtype)) if dtype in RANGES else TRUE
                judge.state(place, run.resolve(text.cells(both(low, compare("ge", b, Num(1, b.dtype))), path, plain), place))
    for child in children(term):
        evaluated(run, text, path, child, place, judge, span)


def within_array(
    run: Execution, text: Text, path: Path, array: str, index: tuple[Term, ...], place: Place, judge: Judge, span: Span
) -> None:
    """Every index is inside of its axis."""
    plain = {a.name: Var(a.name) for a in text.around(path)}
    judge.about("bounds", "TG203", f"{array} is accessed inside its shape", span)
    for term, extent in zip(index, shape(run, text, array), strict=True):
        judge.state(place, within(run.resolve(text.cells(term, path, plain), place), extent))


def shape(run: Execution, text: Text, array: str) -> tuple[Term, ...]:
    """The extents of an array that a launch sees."""
    machine = run.judge.machine
    shapes = {t.name: t.shape for t in (*machine.op.inputs, *machine.op.outputs)}
    shapes |= {a.name: a.extents for a in (*machine.workspaces, *text.launch.arrays)}
    return shapes[array]
