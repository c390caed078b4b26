"""Mutants: programs that differ from a program by one small mistake, as people make them.

Comes in: a program. Goes out: every mutant of it, with a sentence of what was done. The one idea: a mutation is a list of the ways in
which one node may be wrong, and everything around the node is put together again as it was: by a table of the parts of each kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

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
from tinygpu.program.call import Commit, Fence, Sync, Wait
from tinygpu.program.step import Array, Assign, For, Ghost, If, Launch, Program, Step
from tinygpu.record import dataclass, replace

Ways = Iterator[tuple[str, Any]]  # what is done, and what comes of it
Body = tuple[Step, ...]
PARTS: dict[type, dict[str, str]] = {  # of each kind what may be wrong in it, and how that is called
    Launch: {"grid": "grid: ", "block": "block: ", "body": ""},
    Axis: {"extent": "extent of {0.name}, "},
    Array: {"extents": "cells of {0.name}, "},
    Assign: {"value": "value of {0.target}: ", "guard": "guard of {0.target}: ", "index": "index of {0.target}: "},
    For: {"axis": "for {0.axis.name}: ", "body": "in {0.axis.name}: "},
    If: {"guard": "if: ", "body": ""},
    Ghost: {"value": "holds: "},
    Read: {"index": "index of {0.tensor}: "},
    Fold: {"axes": "fold: ", "guard": "fold: ", "body": "fold: "},
    App: {"args": ""},
}
NAMES: dict[type, str] = {  # of steps
    Array: "array {0.name}", Sync: "barrier of the {0.scope}", Assign: "{0.target} {0.update}=", For: "for {0.axis.name}", If: "if", Ghost: "{0.target} holds", Commit: "commit {0.unit}", Wait: "wait {0.unit} {0.count}", Fence: "fence {0.unit}",
}  # fmt: skip
OTHERWISE = {"lt": "le", "le": "lt", "gt": "ge", "ge": "gt", "eq": "le", "ne": "lt", "add": "sub", "sub": "add", "mul": "add"}
OTHERWISE |= {"min": "max", "max": "min", "floordiv": "ceildiv", "ceildiv": "floordiv", "mod": "floordiv", "and": "or", "or": "and"}
OTHERWISE |= {
    "shuffle_xor": "shuffle_down",
    "shuffle_down": "shuffle_xor",
    "shuffle_up": "shuffle_down",
    "shuffle_idx": "shuffle_xor",
}
OTHERWISE |= {"bitand": "bitor", "bitor": "xor", "xor": "bitor", "shl": "shr", "shr": "shl", "mulhi": "mul"}
COMMUTE = ("add", "mul", "min", "max", "and", "or", "eq", "ne")
DIVIDE = ("floordiv", "ceildiv", "mod")


@dataclass(frozen=True, slots=True)
class Mutant:
    """A program, and what was done to the one it was made from."""

    done: str
    program: Program


def mutants(program: Program) -> Iterator[Mutant]:
    """Every well-formed program one mistake away, each once, in a fixed order."""
    seen = set[tuple[Launch, ...]]()
    for mutant in attempts(program):
        launches = mutant.program.launches
        if mutant.program.where != program.where:
            yield mutant
        elif launches not in seen and is_mutant(mutant, program):
            seen.add(launches)
            yield mutant


def is_mutant(attempt: Mutant, program: Program) -> bool:
    """Whether an attempt is another program, and well-formed."""
    if attempt.program.where != program.where:
        return True
    return attempt.program.launches != program.launches and not any(wellformed(attempt.program))


def attempts(program: Program) -> Iterator[Mutant]:
    """Every program one mistake away, some of them not well-formed, or the same."""
    for done, launches in _one_of(program.launches, _others):
        yield Mutant(done, replace(program, launches=launches))
    for axis in dict.fromkeys(a for launch in program.launches for a in launch.turns):
        for done, new in _others(axis):
            turned = (replace(one, turns=tuple(new if a == axis else a for a in one.turns)) for one in program.launches)
            yield Mutant(f"around launches: {done}", replace(program, launches=tuple(turned)))
    for position, where in enumerate(program.where):
        if where not in program.op.where:
            yield Mutant(f"precondition {text(where)} dropped", replace(program, where=_without(program.where, position)))


def _others(node: Any) -> Ways:
    """Every node of that kind with one mistake: one of its own, or one in a part of it. Dtypes are kept."""
    yield from _own(node)
    for name, called in PARTS.get(type(node), {}).items():
        part = getattr(node, name)
        for done, new in _guard(part) if name == "guard" else _within(part):
            if _sensible(node, new):
                made = _made(node.op, new, node.dtype) if isinstance(node, App) else replace(node, **{name: new})
                yield called.format(node) + done, made


def _within(part: Any) -> Ways:
    """A part with one mistake in it; of a body also in the order of its steps."""
    if not isinstance(part, tuple):
        yield from _others(part)
        return
    if part and type(part[0]) in NAMES:
        yield from _order(part)
    yield from _one_of(part, _others)


def _one_of(items: tuple[Any, ...], ways: Callable[[Any], Ways]) -> Ways:
    """The tuple with one of its items changed in one way."""
    for position, item in enumerate(items):
        for done, new in ways(item):
            yield done, items[:position] + (new,) + items[position + 1 :]


def _without(items: tuple[Any, ...], position: int) -> tuple[Any, ...]:
    return items[:position] + items[position + 1 :]


def _order(body: Body) -> Ways:
    names = [NAMES[type(step)].format(step) for step in body]
    for position, (step, name) in enumerate(zip(body, names, strict=True)):
        if not isinstance(step, Array):
            yield f"dropped: {name}", _without(body, position)
            yield f"twice: {name}", body[: position + 1] + body[position:]
        if position + 1 < len(body):
            yield f"swapped: {name} and {names[position + 1]}", (*body[:position], body[position + 1], step, *body[position + 2 :])


def _guard(guard: Term) -> Ways:
    if guard != TRUE:
        yield from (("no guard", TRUE), ("never", FALSE), ("guard negated", negation(guard)))
        yield from ((done, g) for done, g in _others(guard) if g.dtype == BOOL)


def _sensible(node: Any, new: Any) -> bool:
    """Whether somebody writes this part: no literal extent of nothing, no division by a literal zero."""
    number = new if isinstance(node, Axis) else new[1] if isinstance(node, App) and node.op in DIVIDE else None
    return not isinstance(number, Const) or number.value >= 1


def _made(op: str, args: tuple[Term, ...], dtype: str) -> Term:
    """The operation as it is read from a text: of indices constants are folded."""
    if op == "and":
        return conjunction(*args)
    return apply(op, *args) if op in FOLDED and all(a.dtype == INDEX for a in args) else App(op, args, dtype)


def _own(node: Any) -> Ways:
    """The mistakes of a node itself."""
    match node:
        case Launch(block=(first, second, *rest)):
            swapped = (replace(first, name=second.name), replace(second, name=first.name), *rest)
            yield "factors of the block swapped", replace(node, block=swapped)
        case Array(name) if node.layout != PLAIN:
            yield f"layout of {name} plain", replace(node, layout=PLAIN)
        case Sync(scope):
            yield "barrier of the other scope", replace(node, scope="warp" if scope == "block" else "block")
        case Wait(count):
            yield "waits later", replace(node, count=count + 1)
        case Assign():
            yield from _assign(node)
        case For(axis) if isinstance(axis.extent, Const):
            for sort in sorted({"time", "register", "vector"} - {axis.sort}):
                yield f"for {axis.name} in {sort}", replace(node, axis=replace(axis, sort=sort))
        case Const(value, dtype):
            yield from _constant(value, dtype)
        case Var(name):
            yield from ((f"{name} + 1", node + 1), (f"{name} is 0", Const(0)))
        case Read(tensor, index, dtype):
            if len(index) >= 2:
                yield f"{tensor} transposed", replace(node, index=(index[1], index[0], *index[2:]))
            if dtype in NUMBERS:
                yield f"{tensor} is 0", Const(0.0 if dtype in FLOATS else 0, dtype)
        case App():
            yield from _operation(node)
        case Fold(monoid, dtype=dtype):
            yield from (
                (f"{monoid} is {m}", replace(node, monoid=m)) for m in monoids_on(dtype) if m != monoid and m.accepts(dtype)
            )


def _assign(step: Assign) -> Ways:
    if step.atomic:
        yield f"update of {step.target} not atomic", replace(step, atomic=False)
    if len(step.index) == 2:
        yield f"indices of {step.target} swapped", replace(step, index=step.index[::-1])
    for update in ("", *(m for m in monoids_on(step.value.dtype) if m.accepts(step.value.dtype))):
        if update != step.update:
            yield f"{step.target} updated by {update or 'nothing'}", replace(step, update=update)


def _constant(value: int | float | bool, dtype: str) -> Ways:
    if dtype == BOOL:
        yield f"{value} negated", Const(not value, BOOL)
        return
    for other in (value - 1, value + 1, 2 * value, 0):
        other = float(other) if dtype in FLOATS else int(other)
        if other != value:
            yield f"{value} is {other}", Const(other, dtype)


def _operation(term: App) -> Ways:
    op, args, dtype = term.op, term.args, term.dtype
    if op in OTHERWISE and (op not in DIVIDE or dtype == INDEX):
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
