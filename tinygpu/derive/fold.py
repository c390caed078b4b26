"""Folds: accumulators, their units, the loops that fill them, and what combines those of several threads.

Comes in: values over factors. Goes out: steps that fold, and the values with each fold replaced by the cell that holds it.
The one idea: with more than one cell a thread, what does not depend on every cell is held in operands; a junk cell is never stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

from tinygpu.category.monoid import neutral
from tinygpu.category.term import (
    App,
    Axis,
    Fold,
    Read,
    Term,
    conjunction,
    conjuncts,
    exchange,
    outermost_folds,
    reads,
    variables,
    walk,
)
from tinygpu.derive.ends import ends, told
from tinygpu.derive.nest import Build, cells, guarded, loops, own, point
from tinygpu.derive.operand import TOTAL, Operands
from tinygpu.derive.reduce import Meeting
from tinygpu.derive.tile import needed, placed
from tinygpu.diagnostic import Span
from tinygpu.program.step import Assign, Step
from tinygpu.record import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value is evaluated: the cells of its output, and the parts of the guard that nothing around it implies.

    `ways` are the user's words on how factors are combined; `looped` says that a loop stands around.
    """

    cells: tuple[Axis, ...]
    rest: tuple[Term, ...]
    span: Span
    ways: Mapping[str, str] = field(default_factory=dict)
    looped: bool = False


def folded(
    build: Build, values: tuple[Term, ...], place: Place, hints: tuple[str, ...], begun: bool = False
) -> tuple[tuple[Step, ...], tuple[Term, ...]]:
    """`values → (steps, values)`: after the steps, the values without folds; folds over the same axes share their loop.

    Where a value is one fold and nothing else, its hint, if there is one, names the accumulator. What is `begun` goes on with what is there.
    """
    folds = tuple(dict.fromkeys(f for value in values for f in outermost_folds(value)))
    if not folds:
        return (), values
    steps: list[Step] = []
    found = {fold: told(build, fold, place.cells, place.rest, steps) for fold in folds}
    values = tuple(exchange(value, found) for value in values)
    wanted = {value: hint for value, hint in zip(values, hints, strict=True) if hint and isinstance(value, Fold)}
    names = {f: wanted.get(f) or build.fresh("acc") for f in dict.fromkeys(found.values())}
    for fold, name in names.items():
        build.local(name, fold.dtype, place.cells, fold.span)
    for fold, name in () if begun else names.items():
        steps.extend(start(build, fold, name, place))
    for run in dict.fromkeys((f.axes, ends(build, f)) for f in names):
        alike = {f: n for f, n in names.items() if (f.axes, ends(build, f)) == run}
        steps.extend(turn(build, alike, place))
        steps.extend(Meeting(build, alike, place.cells, place.ways, place.looped, place.span).steps())
    held: dict[Term, Term] = {f: Read(n, point(place.cells), f.dtype) for f, n in names.items()}
    return tuple(steps), tuple(exchange(value, held) for value in values)


def start(build: Build, fold: Fold, name: str, place: Place) -> tuple[Step, ...]:
    """The accumulator before its loop: the unit of the monoid."""
    unit = neutral(fold.monoid, fold.dtype)
    return cells(build, place.cells, (Assign(name, point(place.cells), unit, span=fold.span),), fold.span)


def turn(build: Build, names: dict[Fold, str], place: Place) -> tuple[Step, ...]:
    """One loop nest for folds over the same axes: in it the operands, then the accumulations."""
    axes = next(iter(names)).axes
    mine, inner_cells = own(axes), own(place.cells)
    turns = tuple(a for a in place.cells if a not in inner_cells)
    between = ends(build, next(iter(names)))
    inside: list[Step] = []
    assigns: list[Assign] = []
    for fold, name in names.items():
        fold = replace(fold, guard=conjunction(*(p for p in conjuncts(fold.guard) if p not in between)))
        known = (*place.rest, *conjuncts(fold.guard))
        inner = Place(inner_cells + mine, known, fold.span, place.ways, place.looped or bool(build.ordered(axes)))
        steps, (body,) = folded(build, (fold.body,), inner, ("",))
        asked = needed(fold, body, build.tiles, build.axes)
        operands = Operands(build, inner_cells, mine, known, fold.span)
        body = operands.hold(body)
        inside.extend(steps + operands.steps())
        held = {r.tensor for r in operands.held.values()} | set(build.tiles)
        rest = about(place.rest, asked, build) if total(body, held) else place.rest
        guard = conjunction(*rest, *asked)
        assigns.append(Assign(name, point(place.cells), body, fold.monoid, guard, fold.span))
    inside.extend(cells(build, mine + inner_cells, tuple(assigns), place.span))
    steps = tuple(inside)
    for axis in reversed(build.ordered((*axes, *turns))):
        if any(axis.name in variables(part) for part in between):
            steps, between = guarded(between, steps, place.span), ()
        steps = loops((axis,), placed(build.tiles, build.copies, axis.name, steps, turns=True), place.span)
    return steps


def about(rest: tuple[Term, ...], asked: tuple[Term, ...], build: Build) -> tuple[Term, ...]:
    """The parts of what is known of a cell that elements want to be read in what is asked: a condition may be data of a row that a junk cell has not."""
    read = (r for part in asked for r in reads(part) if r.tensor not in build.tiles)
    found = {a.name for a in build.axes}.intersection(chain.from_iterable(map(variables, read)))
    return tuple(p for p in rest if variables(p) & found)


def total(body: Term, held: set[str]) -> bool:
    """Whether a body may be evaluated in a junk cell too: it reads only the operands held, and is defined for every value of them."""
    for term in walk(body):
        match term:
            case App(op) if op not in TOTAL:
                return False
            case Read(tensor, (_, *_)) if tensor not in held:
                return False
    return True
