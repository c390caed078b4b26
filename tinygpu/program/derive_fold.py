"""Folds in time: accumulators, their units, the loops that fill them, and operands held in registers.

Comes in: a value over factors. Goes out: steps that fold, and the value with each fold replaced by the cell that holds it.
The one idea: with more than one cell a thread, what does not depend on every cell is read once for each turn of the loop, with a
fill outside the tensor; then the accumulation needs no guard, because a junk cell is never stored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product

from tinygpu.category.box import Box
from tinygpu.category.evaluate import evaluate
from tinygpu.category.monoid import MONOIDS
from tinygpu.category.simplify import holds
from tinygpu.category.term import (
    BOOL,
    FLOATS,
    App,
    Axis,
    Const,
    Fold,
    Read,
    Term,
    Var,
    conjunction,
    conjuncts,
    rebuild,
    select,
    variables,
    walk,
)
from tinygpu.diagnostic import Span, TinygpuError
from tinygpu.program.derive_nest import Build, at, cells, loops, own, point, within
from tinygpu.program.step import Assign, Step

TOTAL = ("add", "sub", "mul", "neg", "min", "max", "abs", "select", "cast", "not", "and", "or", "lt", "le", "gt", "ge", "eq", "ne")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value is evaluated: the cells of its output, and the parts of the guard that nothing around it implies."""

    cells: tuple[Axis, ...]
    rest: tuple[Term, ...]
    span: Span


@dataclass(slots=True)
class Operands:
    """Terms held in local cells for one turn of a loop. `output` are the cells of the output, `mine` those of the fold itself."""

    build: Build
    output: tuple[Axis, ...]
    mine: tuple[Axis, ...]
    known: tuple[Term, ...]
    span: Span
    held: dict[tuple[Term, Term], Read] = field(default_factory=dict)

    def hold(self, term: Term) -> Term:
        """The term with every part that reads memory, but not at every output cell, replaced by a read of local cells."""
        if len(within(term, self.output)) < len(self.output) and self.loads(term):
            return self.cell(term)
        match term:
            case App("select", (condition, then, otherwise)):  # a branch is read only where it is taken
                return select(self.hold(condition), then, otherwise)
            case Fold() | Read() | App("and" | "or"):
                return term
        return rebuild(term, self.hold)

    def loads(self, term: Term) -> bool:
        """Whether a term reads memory (a scalar argument is none), and no fold is left in it."""
        found = any(isinstance(t, Read) and t.index and t.tensor in self.build.tensors for t in walk(term))
        return found and not any(isinstance(t, Fold) for t in walk(term))

    def cell(self, term: Term) -> Read:
        """The local cells for a term, declared when they are first asked for. Its guard is what is known without the other cells."""
        axes = self.output + self.mine
        inner = within(term, axes)
        outside = {a.name for a in axes} - {a.name for a in inner}
        key = (conjunction(*(p for p in self.known if not variables(p) & outside)), term)
        if key not in self.held:
            names = {t.tensor for t in walk(term) if isinstance(t, Read) and t.index}
            base = min(names).lower() if len(names) == 1 else "operand"
            name = self.build.fresh(base if base not in self.build.taken else f"{base}_cell")
            self.build.local(name, term.dtype, inner, self.span)
            self.held[key] = Read(name, point(inner), term.dtype)
        return self.held[key]

    def steps(self) -> tuple[Step, ...]:
        """The steps that fill the cells: the term where its guard holds, a fill elsewhere."""
        done: list[Step] = []
        for (guard, term), read in self.held.items():
            inner = tuple(a for a in self.output + self.mine if Var(a.name) in read.index)
            value = select(guard, term, fill(term.dtype))
            done.extend(cells(self.build, inner, (Assign(read.tensor, read.index, value, span=self.span),), self.span))
        return tuple(done)


def fill(dtype: str) -> Const:
    """What stands in a cell outside the tensor: zero, or false."""
    return Const(False, BOOL) if dtype == BOOL else Const(0.0 if dtype in FLOATS else 0, dtype)


def folded(
    build: Build, values: tuple[Term, ...], place: Place, hints: tuple[str, ...]
) -> tuple[tuple[Step, ...], tuple[Term, ...]]:
    """`values → (steps, values)`: after the steps, the values without folds; folds over the same axes share their loop.

    Where a value is one fold and nothing else, its hint, if there is one, names the accumulator.
    """
    found = tuple(dict.fromkeys(f for value in values for f in outermost(value)))
    if not found:
        return (), values
    wanted = {value: hint for value, hint in zip(values, hints, strict=True) if hint and isinstance(value, Fold)}
    names = {f: wanted.get(f) or build.fresh("acc") for f in found}
    for fold, name in names.items():
        build.local(name, fold.dtype, place.cells, fold.span)
    steps: list[Step] = []
    for fold, name in names.items():
        steps.extend(start(build, fold, name, place))
    for axes in dict.fromkeys(f.axes for f in found):
        steps.extend(turn(build, {f: n for f, n in names.items() if f.axes == axes}, place))
    held: dict[Term, Read] = {f: Read(n, point(place.cells), f.dtype) for f, n in names.items()}
    return tuple(steps), tuple(replaced(value, held.get) for value in values)


def outermost(term: Term) -> tuple[Fold, ...]:
    """The folds of a term that stand in no other fold, each once."""
    if isinstance(term, Fold):
        return (term,)
    if isinstance(term, App):
        return tuple(dict.fromkeys(f for arg in term.args for f in outermost(arg)))
    return ()


def replaced(term: Term, change: Callable[[Term], Term | None]) -> Term:
    """The term with every part for which `change` has an answer replaced by it, outermost first."""
    new = change(term)
    return new if new is not None else rebuild(term, lambda t: replaced(t, change))


def start(build: Build, fold: Fold, name: str, place: Place) -> tuple[Step, ...]:
    """The accumulator before its loop: the unit of the monoid, or the first element where there is no unit."""
    unit = MONOIDS[fold.monoid].unit(fold.dtype)
    if unit is not None:
        return cells(build, place.cells, (Assign(name, point(place.cells), unit, span=fold.span),), fold.span)
    if not MONOIDS[fold.monoid].idempotent or outermost(fold.body):
        title = f"{fold.monoid} over {fold.dtype} has no unit to start from"
        raise TinygpuError.of(
            "TG535", title, fold.span, f"no {fold.dtype} value leaves every other unchanged", "cast the body to f32 or f64"
        )
    # Taking the first element twice is harmless: the monoid is idempotent.
    zeros: dict[str, Term] = {a.name: Const(0) for a in fold.axes}
    asked = (*conjuncts(at(fold.guard, zeros)), *(Const(0) < a.extent for a in fold.axes))
    for part in asked:
        check_some(build, part, fold)
    guard = conjunction(*place.rest, *(p for p in asked if holds(p, Box((), conjunction(*build.where))) is not True))
    first = Assign(name, point(place.cells), at(fold.body, zeros), guard=guard, span=fold.span)
    return cells(build, place.cells, (first,), fold.span)


def check_some(build: Build, part: Term, fold: Fold) -> None:
    """No small sizes that the preconditions allow leave the fold without its first element. Raises TG535."""
    sizes = sorted({n for term in (part, *build.where) for n in variables(term)})
    if len(sizes) > 6 or not variables(part) <= build.sizes:
        return  # the proof will say
    for values in product(range(3), repeat=len(sizes)):
        case = dict(zip(sizes, values, strict=True))
        if all(evaluate(guard, case) for guard in build.where) and not evaluate(part, case):
            title = f"{fold.monoid} over {fold.dtype} has no unit, so it needs an element to start from"
            found = ", ".join(f"{n} = {v}" for n, v in case.items())
            names = ", ".join(f"{n} >= 1" for n in sizes if n in variables(part))
            raise TinygpuError.of("TG535", title, fold.span, f"there is none for {found}", f"add to the op: where {names}")


def turn(build: Build, names: dict[Fold, str], place: Place) -> tuple[Step, ...]:
    """One loop nest for folds over the same axes: in it the operands, then the accumulations."""
    axes = next(iter(names)).axes
    mine = own(axes)
    inside: list[Step] = []
    assigns: list[Assign] = []
    for fold, name in names.items():
        known = (*place.rest, *conjuncts(fold.guard))
        steps, (body,) = folded(build, (fold.body,), Place(place.cells + mine, known, fold.span), ("",))
        operands = Operands(build, place.cells, mine, known, fold.span)
        body = operands.hold(body)
        inside.extend(steps + operands.steps())
        bare = total(body, {r.tensor for r in operands.held.values()}) and MONOIDS[fold.monoid].unit(fold.dtype) is not None
        guard = conjunction(*(() if bare else place.rest), *conjuncts(fold.guard))
        assigns.append(Assign(name, point(place.cells), body, fold.monoid, guard, fold.span))
    inside.extend(cells(build, mine + place.cells, tuple(assigns), place.span))
    return loops(build.ordered(axes), tuple(inside), place.span)


def total(body: Term, held: set[str]) -> bool:
    """Whether a body may be evaluated in a junk cell too: it reads only the operands held, and is defined for every value of them."""
    for term in walk(body):
        match term:
            case App(op) if op not in TOTAL:
                return False
            case Read(tensor, (_, *_)) if tensor not in held:
                return False
    return True
