"""Mutants: programs that differ from a program by one small mistake, as people make them.

Comes in: a program. Goes out: every mutant of it, with a sentence of what was done. The one idea: a mutation is a list of the ways in
which one node may be wrong, and everything around the node is put together again as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from tinygpu.category.layout import PLAIN
from tinygpu.category.monoid import NUMBERS, monoids_on
from tinygpu.category.term import (
    BOOL,
    FALSE,
    FLOATS,
    FOLDED,
    INDEX,
    TRUE,
    App,
    Axis,
    Const,
    Fold,
    Read,
    Term,
    Var,
    apply,
    conjunction,
    negation,
    text,
)
from tinygpu.obligations import wellformed
from tinygpu.program.step import Array, Assign, For, Ghost, If, Launch, Program, Step, Sync
from tinygpu.record import dataclass, replace

T = TypeVar("T")
Body = tuple[Step, ...]
OTHERWISE = {"lt": "le", "le": "lt", "gt": "ge", "ge": "gt", "eq": "le", "ne": "lt", "add": "sub", "sub": "add", "mul": "add"}
OTHERWISE |= {"min": "max", "max": "min", "floordiv": "ceildiv", "ceildiv": "floordiv", "mod": "floordiv", "and": "or", "or": "and"}
OTHERWISE |= {
    "shuffle_xor": "shuffle_down",
    "shuffle_down": "shuffle_xor",
    "shuffle_up": "shuffle_down",
    "shuffle_idx": "shuffle_xor",
}
COMMUTE = ("add", "mul", "min", "max", "and", "or", "eq", "ne")


@dataclass(frozen=True, slots=True)
class Mutant:
    """A program, and what was done to the one it was made from."""

    done: str
    program: Program


def mutants(program: Program) -> Iterator[Mutant]:
    """Every well-formed program one mistake away, each once, in a fixed order."""
    seen = {program.launches}
    for mutant in attempts(program):
        if mutant.program.where != program.where:
            yield mutant
        elif mutant.program.launches not in seen and not any(wellformed(mutant.program)):
            seen.add(mutant.program.launches)
            yield mutant


def attempts(program: Program) -> Iterator[Mutant]:
    """Every program one mistake away, some of them not well-formed, or the same."""
    for done, launches in _one_of(program.launches, _launch):
        yield Mutant(done, replace(program, launches=launches))
    for position, where in enumerate(program.where):
        if where not in program.op.where:
            yield Mutant(f"precondition {text(where)} dropped", replace(program, where=_without(program.where, position)))


def _one_of(items: tuple[T, ...], ways: Callable[[T], Iterator[tuple[str, T]]]) -> Iterator[tuple[str, tuple[T, ...]]]:
    """The tuple with one of its items changed in one way."""
    for position, item in enumerate(items):
        for done, new in ways(item):
            yield done, items[:position] + (new,) + items[position + 1 :]


def _without(items: tuple[T, ...], position: int) -> tuple[T, ...]:
    return items[:position] + items[position + 1 :]


def _launch(launch: Launch) -> Iterator[tuple[str, Launch]]:
    for done, grid in _one_of(launch.grid, _axis):
        yield f"grid: {done}", replace(launch, grid=grid)
    for done, block in _one_of(launch.block, _axis):
        yield f"block: {done}", replace(launch, block=block)
    if len(launch.block) > 1:
        first, second, *rest = launch.block
        swapped = (replace(first, name=second.name), replace(second, name=first.name), *rest)
        yield "factors of the block swapped", replace(launch, block=swapped)
    for done, body in _body(launch.body):
        yield done, replace(launch, body=body)


def _axis(axis: Axis) -> Iterator[tuple[str, Axis]]:
    for done, extent in _term(axis.extent):
        if not isinstance(extent, Const) or extent.value >= 1:
            yield f"extent of {axis.name}, {done}", replace(axis, extent=extent)


def _body(body: Body) -> Iterator[tuple[str, Body]]:
    for position, step in enumerate(body):
        if not isinstance(step, Array):
            yield f"dropped: {_name(step)}", _without(body, position)
            yield f"twice: {_name(step)}", body[: position + 1] + body[position:]
        if position + 1 < len(body):
            other = body[position + 1]
            yield f"swapped: {_name(step)} and {_name(other)}", body[:position] + (other, step) + body[position + 2 :]
    yield from _one_of(body, _step)


def _name(step: Step) -> str:
    match step:
        case Array(name):
            return f"array {name}"
        case Sync(scope):
            return f"barrier of the {scope}"
        case Assign(target, _, _, update):
            return f"{target} {update}=" if update else f"{target} ="
        case For(axis):
            return f"for {axis.name}"
        case If(guard):
            return f"if {text(guard)}"
        case Ghost(target):
            return f"{target} holds"


def _step(step: Step) -> Iterator[tuple[str, Step]]:
    match step:
        case Array(owner="thread"):
            for done, extents in _one_of(step.extents, _term):
                yield f"cells of {step.name}, {done}", replace(step, extents=extents)
        case Array(owner="block"):
            for done, extents in _one_of(step.extents, _term):
                yield f"cells of {step.name}, {done}", replace(step, extents=extents)
            if step.layout != PLAIN:
                yield f"layout of {step.name} plain", replace(step, layout=PLAIN)
        case Sync(scope):
            yield "barrier of the other scope", replace(step, scope="warp" if scope == "block" else "block")
        case Assign():
            yield from _assign(step)
        case For(axis, body):
            for done, other in _axis(axis):
                yield f"for {axis.name}: {done}", replace(step, axis=other)
            for sort in sorted({"time", "register", "vector"} - {axis.sort}) if isinstance(axis.extent, Const) else ():
                yield f"for {axis.name} in {sort}", replace(step, axis=replace(axis, sort=sort))
            for done, inner in _body(body):
                yield f"in {axis.name}: {done}", replace(step, body=inner)
        case If(guard, body):
            for done, condition in _guard(guard):
                yield f"if: {done}", replace(step, guard=condition)
            for done, inner in _body(body):
                yield done, replace(step, body=inner)
        case Ghost():
            for done, value in _term(step.value):
                yield f"holds: {done}", replace(step, value=value)


def _assign(step: Assign) -> Iterator[tuple[str, Step]]:
    for done, value in _term(step.value):
        yield f"value of {step.target}: {done}", replace(step, value=value)
    for done, guard in _guard(step.guard):
        yield f"guard of {step.target}: {done}", replace(step, guard=guard)
    for done, index in _one_of(step.index, _term):
        yield f"index of {step.target}: {done}", replace(step, index=index)
    if step.atomic:
        yield f"update of {step.target} not atomic", replace(step, atomic=False)
    if len(step.index) == 2:
        yield f"indices of {step.target} swapped", replace(step, index=step.index[::-1])
    for update in ("", *(m for m in monoids_on(step.value.dtype) if m.accepts(step.value.dtype))):
        if update != step.update:
            yield f"{step.target} updated by {update or 'nothing'}", replace(step, update=update)


def _guard(guard: Term) -> Iterator[tuple[str, Term]]:
    if guard != TRUE:
        yield "no guard", TRUE
        yield "never", FALSE
        yield "guard negated", negation(guard)
        yield from ((done, g) for done, g in _term(guard) if g.dtype == BOOL)


def _term(term: Term) -> Iterator[tuple[str, Term]]:
    """Every term with one node wrong, dtypes kept."""
    match term:
        case Const(value, dtype):
            yield from _constant(value, dtype)
        case Var(name):
            yield f"{name} + 1", term + 1
            yield f"{name} is 0", Const(0)
        case Read():
            yield from _read(term)
        case Fold(_, axes, guard):
            yield from ((f"fold: {done}", replace(term, axes=new)) for done, new in _one_of(axes, _axis))
            yield from ((f"fold: {done}", replace(term, guard=new)) for done, new in _guard(guard))
            yield from ((f"fold: {done}", replace(term, body=new)) for done, new in _term(term.body))
        case App():
            yield from _operation(term)


def _constant(value: int | float | bool, dtype: str) -> Iterator[tuple[str, Term]]:
    if dtype == BOOL:
        yield f"{value} negated", Const(not value, BOOL)
        return
    for other in (value - 1, value + 1, 2 * value, 0):
        other = float(other) if dtype in FLOATS else int(other)
        if other != value:
            yield f"{value} is {other}", Const(other, dtype)


def _read(read: Read) -> Iterator[tuple[str, Term]]:
    if len(read.index) >= 2:
        first, second, *rest = read.index
        yield f"{read.tensor} transposed", replace(read, index=(second, first, *rest))
    for done, index in _one_of(read.index, _term):
        yield f"{read.tensor}[{done}]", replace(read, index=index)
    if read.dtype in NUMBERS:
        yield f"{read.tensor} is 0", Const(0.0 if read.dtype in FLOATS else 0, read.dtype)


def _operation(term: App) -> Iterator[tuple[str, Term]]:
    op, args, dtype = term.op, term.args, term.dtype
    if op in OTHERWISE and (op not in ("floordiv", "ceildiv", "mod") or dtype == INDEX):
        yield f"{op} is {OTHERWISE[op]}", _made(OTHERWISE[op], args, dtype)
    if op in ("and", "or"):
        for position in range(len(args)):
            rest = _without(args, position)
            yield f"without {text(args[position])}", conjunction(*rest) if op == "and" or len(rest) == 1 else App(op, rest, dtype)
    if op == "select":
        yield "always the first branch", args[1]
        yield "always the second branch", args[2]
        yield "branches swapped", App(op, (args[0], args[2], args[1]), dtype)
    if len(args) == 2 and args[0].dtype == args[1].dtype and op not in COMMUTE:
        yield "operands swapped", _made(op, args[::-1], dtype)
    if op in ("add", "sub", "mul", "floordiv") and args[0].dtype == dtype:
        yield f"only the left of {op}", args[0]
    for done, new in _one_of(args, _term):
        if op in ("floordiv", "ceildiv", "mod") and isinstance(new[1], Const) and new[1].value < 1:
            continue  # nobody divides by a literal zero
        yield done, _made(op, new, dtype)


def _made(op: str, args: tuple[Term, ...], dtype: str) -> Term:
    """The operation as it is read from a text: of indices constants are folded."""
    if op == "and":
        return conjunction(*args)
    return apply(op, *args) if op in FOLDED and all(a.dtype == INDEX for a in args) else App(op, args, dtype)
