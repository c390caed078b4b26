"""Loops of a program's text: where each begins and ends.

    for z in off[r] .. off[r + 1] { … }   ↦   z_begin[] = off[r];  z_end[] = off[r + 1];  for z < Z { if z_begin[] <= z and z < z_end[] { … } }

Comes in: the tree of a loop, and the reader that has come to it. Goes out: steps. The one idea: a loop goes as far as any thread and turn may go, and
does nothing outside of its own ends; kernels begin and end it there. What ends are read from memory is held in cells, read once before the loop.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from tinygpu.category.bounds import upper
from tinygpu.category.dtype import contains
from tinygpu.category.region import Region, operands
from tinygpu.category.term import (
    TRUE,
    App,
    Axis,
    Const,
    Read,
    Term,
    Var,
    conjunction,
    disjunction,
    exchange,
    reads,
    text,
    variables,
)
from tinygpu.model.clauses import names_in
from tinygpu.model.problems import WRONG
from tinygpu.model.ranges import inferred, occurrences
from tinygpu.model.scope import Scope
from tinygpu.model.value import index, value
from tinygpu.program.space import LOCAL
from tinygpu.program.step import Array, Assign, For, If, Step
from tinygpu.syntax import tree
from tinygpu.syntax.node import nodes
from tinygpu.syntax.target import CPU

if TYPE_CHECKING:
    from tinygpu.program.read import Reader


def loop(reader: Reader, statement: tree.For, axes: tuple[Axis, ...]) -> tuple[Step, ...]:
    """`for k < K { … }`, also `in register` and `in vector`; `for z in a .. b { … }`. Where it ends elsewhere for each thread or turn it goes as far
    as any of them, and does nothing beyond its end: for q < Q, `for k < q + 1 { … }` is `for k < Q { if k < q + 1 { … } }`."""
    name, span, expr, scope = statement.name, statement.span, statement.extent, reader.scope(axes)
    assert expr is not None
    scope.hides(name, span, "the loop")
    constant = statement.sort in ("register", "vector") and reader.machine.arch != CPU  # who unrolls it has to know how often
    if constant or (statement.start is None and not _varies(expr, scope)):
        axis = Axis(name, reader.extent(expr, name, constant, axes), statement.sort, span)
        return (For(axis, reader.inner(statement.body, (*axes, axis)), span),)
    start, end = (Const(0) if e is None else index(e, scope) for e in (statement.start, expr))
    axis = Axis(name, _farthest(statement, end, scope, reader, axes), statement.sort, span)
    held, (start, end) = _held(reader, statement, (start, end))
    above = (begin <= Var(name) for begin in _each("max", start) if begin != Const(0))
    own = conjunction(*above, *(Var(name) < stop for stop in _each("min", end) if stop != axis.extent))
    body = reader.inner(statement.body, (*axes, axis))
    return (*held, For(axis, body if own == TRUE else (If(own, body, span),), span))


def of_sizes(statement: tree.For, sizes: Collection[str]) -> bool:
    """Whether a loop around launches goes as far as the sizes say."""
    ends = statement.values if statement.extent is None else (statement.start or tree.Number("0"), statement.extent)
    return any(set(names_in(expr)) & {*sizes} for expr in ends)


def listed(reader: Reader, statement: tree.For) -> Iterator[int]:
    """What a loop goes through whose turns are known: the values that it lists, or of one around launches all up to its end, a number too."""
    values = statement.extent is None
    ends = statement.values if statement.extent is None else (statement.start or tree.Number("0"), statement.extent)
    numbers: list[int] = []
    for expr in ends:
        value = index(expr, reader.constants())
        if not isinstance(value, Const):
            return  # said: only numbers and params are known there
        if values:
            yield int(value.value)
        numbers.append(int(value.value))
    yield from () if values else range(*numbers)


def _each(op: str, end: Term) -> tuple[Term, ...]:
    """What all has to be below, or above: the parts of a `min`, or of a `max`."""
    return tuple(part for arg in end.args for part in _each(op, arg)) if isinstance(end, App) and end.op == op else (end,)


def _varies(end: tree.Expr, scope: Scope) -> bool:
    """Whether an end of a loop is over more than sizes: workers, loops or data."""
    scalars = {name for name, tensor in scope.tensors.items() if not tensor.shape}
    return any(isinstance(one, tree.Cell) for one in nodes(end)) or not set(names_in(end)).isdisjoint({*scope.indices, *scalars})


def _farthest(statement: tree.For, end: Term, scope: Scope, reader: Reader, axes: tuple[Axis, ...]) -> Term:
    """The largest value that the end of a loop has, over the sizes: of one that data tell, that of the axes at which the loop's index stands."""
    name, expr = statement.name, statement.extent
    assert expr is not None
    if end == WRONG:
        return WRONG
    tops = [top for part in _each("min", end) if (top := upper(part, Region(axes))) is not None and not reads(part)]
    if reads(end) and not tops:
        if not any(occurrences(statement.body, name, scope)):
            return reader.problems.say("TG154.data", expr.span, name=name, end=text(end))
        return inferred(name, statement.span, tree.Group(statement.body), scope, value) or WRONG  # type: ignore[arg-type]
    top = upper(tops[0] if reads(end) else end, Region(axes))
    if top is None or not variables(top) <= set(reader.op.sizes):
        return reader.problems.say("TG154.loop", expr.span, end=text(end))
    if isinstance(top, Const) and top.value < 1:
        return reader.problems.say("TG128.extent", expr.span, extent=top)
    return top


def _held(reader: Reader, statement: tree.For, ends: tuple[Term, Term]) -> tuple[tuple[Step, ...], tuple[Term, ...]]:
    """The ends of a loop over cells that hold the numbers that are read for them, and the steps that read them, each where an end needs it."""
    steps: list[Step] = []
    needed: dict[Term, tuple[str, list[Term]]] = {}
    held: dict[Term, Term] = {}
    for end, word in zip(ends, ("begin", "end"), strict=True):
        for number, guard in _converted(end, Region()):
            needed.setdefault(number, (word, []))[1].append(guard)
    for number, (word, guards) in needed.items():
        (first, *_) = reads(number)
        if not contains("i32", number.dtype):
            reader.problems.say("TG154.wide", first.span, name=text(number), dtype=number.dtype)
        cell, guard = reader.fresh(f"{statement.name}_{word}"), disjunction(*guards)
        steps += [Array(cell, number.dtype, (), LOCAL, span=first.span), Assign(cell, (), number, guard=guard, span=first.span)]
        held[number] = Read(cell, (), number.dtype, first.span)
    return tuple(steps), tuple(exchange(end, held) for end in ends)


def _converted(term: Term, here: Region) -> Iterator[tuple[Term, Term]]:
    """The numbers of memory that are converted in a term, outside of folds and of other reads, with where they are evaluated."""
    if not isinstance(term, App):
        return
    if term.op == "cast" and reads(term):
        yield term.args[0], conjunction(*here.guard)
    for part, where in operands(term, here):
        yield from _converted(part, where)
