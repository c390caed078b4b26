"""Accumulators in vector registers, followed along the loops of a program over lanes.

    acc_0 = lanes_load(cells, …);  for k: acc_0 = lanes_add(acc_0, …);  lanes_store(cells, …, acc_0)   ≈   for k, lane: cells[…] += …

Comes in: the statements from the first load on. Goes out: how many of them the loop and its registers are. The one idea: a register is the
cells that it was loaded from, one a lane, as long as nobody else touches these; they are the same cells in every turn.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tinygpu.category.term import App, Axis, Const, Read, Term, Var, conjuncts, reads, text
from tinygpu.program.step import Assign, For
from tinygpu.record import replace
from tinygpu.schedule.nest import substituted
from tinygpu.schedule.tiled import LANES
from tinygpu.validate.cpu_names import Array, Held
from tinygpu.validate.cpu_number import widened
from tinygpu.validate.same import Here, canonical
from tinygpu.validate.typed import Differs, unread

if TYPE_CHECKING:
    from tinygpu.validate.cpu_follow import Due, Follower

OPERATIONS = ("add", "sub", "mul", "div", "min", "max")


def held(follower: Follower, rest: Sequence[ast.stmt], queue: deque[Due], here: Here) -> int:
    """Loads, a loop, and the stores that give back what it has made of them."""
    registers: dict[str, Held] = {}
    values = follower.values
    position = 0
    while position < len(rest) and (found := _loaded(follower, rest[position])) is not None:
        name, register = found
        if name in registers or name in values.names:
            raise unread(rest[position], f"gives {name} another meaning")
        registers[name] = register
        position += 1
    loop, stores = rest[position] if position < len(rest) else rest[-1], rest[position + 1 : position + 1 + len(registers)]
    due = follower.due(queue, here)
    if not isinstance(loop, ast.For) or due is None or not isinstance(due.step, For):
        raise Differs(loop, "is no loop over what was loaded")
    values.names |= registers
    _loop(follower, loop, due, here, registers)
    for name, stmt in zip(registers, stores, strict=False):
        if _stored(follower, stmt) != (name, registers[name]):
            raise Differs(stmt, "does not give back what was loaded", f"{name} is to be stored where it came from")
    if len(stores) < len(registers):
        raise Differs(loop, "changes registers that are not stored behind it")
    values.names = {n: m for n, m in values.names.items() if n not in registers}
    return position + 1 + len(registers)


def _loaded(follower: Follower, stmt: ast.stmt) -> tuple[str, Held] | None:
    match stmt:
        case ast.Assign(
            [ast.Name(name)], ast.Call(ast.Name("lanes_load"), [ast.Name(array), ast.Call(ast.Name("at"), [number])], [])
        ):
            follower.values.called |= {"lanes_load"}
            meaning = follower.values.names.get(array)
            if isinstance(meaning, Array) and not meaning.each:
                return name, Held(meaning.name, canonical(follower.values.index(number)), meaning.dtype)
            raise unread(stmt, f"loads {array}, which is no array of cells")
    return None


def _stored(follower: Follower, stmt: ast.stmt) -> tuple[str, Held] | None:
    match stmt:
        case ast.Expr(ast.Call(ast.Name("lanes_store"), [ast.Name(array), ast.Call(ast.Name("at"), [number]), ast.Name(name)], [])):
            follower.values.called |= {"lanes_store"}
            meaning = follower.values.names.get(array)
            if isinstance(meaning, Array):
                return name, Held(meaning.name, canonical(follower.values.index(number)), meaning.dtype)
    return None


def _loop(follower: Follower, node: ast.For, due: Due, here: Here, registers: dict[str, Held]) -> None:
    """A loop of the program around operations of vectors."""
    match node, due.step:
        case ast.For(ast.Name(name), ast.Call(ast.Name("range"), bounds, []), body, []), For(axis, inner):
            low, high = follower.bounds(bounds)
        case _:
            raise Differs(node, "is no loop of vectors")
    names = dict(follower.values.names)
    follower.values.names[name] = Var(axis.name)
    around, follower.domain = follower.domain, (*follower.domain, axis)
    inside = follower.inside(here, axis, low, high)
    wanted = deque(_vectors(tuple(replace(due, step=s) for s in inner)))
    match body:
        case [ast.If(test, body, [])]:
            follower.values.here = inside
            inside = inside.under(follower.values.condition(test))
    for stmt in body:
        follower.values.here = inside
        one = wanted.popleft() if wanted else None
        if one is None:
            raise Differs(stmt, "is done", "the program is done here")
        if isinstance(stmt, ast.For):
            if not isinstance(one.step, For):
                raise Differs(stmt, "is a loop", "the program has none here")
            _loop(follower, stmt, one, inside, registers)
        else:
            _operation(follower, stmt, one, inside, registers)
    if wanted:
        raise Differs(node, "ends before the program does")
    follower.domain, follower.values.names = around, names


def _vectors(wanted: tuple[Due, ...]) -> Iterator[Due]:
    """Loops over registers turn by turn, and the assignments in loops over lanes, each with the axis of its lanes around it."""
    for due in wanted:
        match due.step:
            case For(axis, body) if axis.sort == "register" and isinstance(axis.extent, Const):
                for turn in range(int(axis.extent.value)):
                    yield from _vectors(tuple(replace(due, step=substituted(s, {axis.name: Const(turn)})) for s in body))
            case For(axis, body) if axis.sort == "vector" and axis.extent == LANES:
                yield from (replace(due, step=s, lane=axis) for s in body if isinstance(s, Assign))
            case For():
                yield due
            case _:
                raise Differs(ast.Pass(lineno=1, col_offset=0), "is no loop of vectors")


def _operation(follower: Follower, stmt: ast.stmt, due: Due, here: Here, registers: dict[str, Held]) -> None:
    """`acc = lanes_add(acc, value)`: every lane of a register."""
    step, lane = due.step, due.lane
    assert isinstance(step, Assign) and lane is not None
    follower.values.shown = {*follower.values.shown, *follower.computed((step,))}
    match stmt:
        case ast.Assign([ast.Name(name)], value) if name in registers:
            register = registers[name]
        case _:
            raise Differs(stmt, "changes no register that was loaded")
    follower.points(stmt, (*due.guards, *conjuncts(step.guard)), here, (lane,))
    there = replace(here, axes=(*here.axes, lane))
    (theirs,) = follower.flat(Read(step.target, step.index, "")).index  # type: ignore[union-attr]
    if register.array != step.target or not there.same(register.first + Var(lane.name), theirs):
        raise Differs(stmt, f"changes {register.array} from {text(register.first)} on", f"the program's element is {text(theirs)}")
    found, wanted = _value(follower, value, lane, there), follower.flat(_combined(step))
    if any(r.tensor in {h.array for h in registers.values()} for r in reads(step.value)) or not there.same(found, wanted):
        raise Differs(value, f"gives {text(found)}", f"the program's value is {text(wanted)}")


def _combined(step: Assign) -> Term:
    from tinygpu.validate.cpu_follow import combined

    return combined(step)


def _value(follower: Follower, node: ast.expr, lane: Axis, here: Here) -> Term:
    """An expression of vectors, as what its lane holds."""
    values = follower.values
    match node:
        case ast.Name(name) if isinstance(register := values.names.get(name), Held):
            return Read(register.array, (register.first + Var(lane.name),), register.dtype)
        case ast.Call(ast.Name("lanes_spread"), [number], []):
            values.called.add("lanes_spread")
            return widened(values.term(number))
        case ast.Call(ast.Name("lanes_load"), [ast.Name(array), ast.Call(ast.Name("at"), [number])], []):
            values.called.add("lanes_load")
            meaning = values.names.get(array)
            if isinstance(meaning, Array) and not meaning.each:
                return Read(meaning.name, (values.index(number) + Var(lane.name),), meaning.dtype)
        case ast.Call(ast.Name(name), [left, right], []) if name.removeprefix("lanes_") in OPERATIONS:
            values.called.add(name)
            a, b = _value(follower, left, lane, here), _value(follower, right, lane, here)
            if a.dtype == b.dtype:
                negative = isinstance(a, Const) and name == "lanes_sub" and str(a.value) == "-0.0"
                return App("neg", (b,), b.dtype) if negative else App(name.removeprefix("lanes_"), (a, b), a.dtype)
    raise unread(node, "is no operation of vectors")
