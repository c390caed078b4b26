"""Mutants of functions' texts: every number, comparison, operation, call, condition, statement and name changed, one at a time.

Comes in: functions of a module. Goes out: changed copies of them, each with what was changed and in which line.
The one idea: no choice of ours says which mistakes an emitter makes.
"""

from __future__ import annotations

import ast
import copy
import random
from collections.abc import Callable, Iterator

COMPARED = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
COMPUTED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mod, ast.Mod: ast.FloorDiv, ast.Div: ast.Mult}
TWINS = (("min", "max"), ("larger", "smaller"), ("quotient", "remainder"), ("div", "mod"))
CALLED = dict(TWINS) | {other: one for one, other in TWINS}
Mutant = tuple[str, Callable[[], ast.FunctionDef]]


def mutants(function: ast.FunctionDef, chance: random.Random) -> Iterator[Mutant]:
    """`(what is changed where, what makes the changed function)`; docstring and annotations are left alone."""
    nodes = list(ast.walk(function))
    quiet = {id(n) for part in (function.body[0], function.args, function.returns) if part for n in ast.walk(part)}
    names = sorted({n.id for n in nodes if isinstance(n, ast.Name) and id(n) not in quiet})

    def changed(number: int, what: str, change: Callable[[ast.AST], object]) -> Mutant:
        def made() -> ast.FunctionDef:
            copied = copy.deepcopy(function)
            change(list(ast.walk(copied))[number])
            return copied

        return f"line {getattr(nodes[number], 'lineno', 0)}: {what}", made

    for number, node in enumerate(nodes):
        if id(node) not in quiet:
            yield from (changed(number, *one) for one in _changes(node, names, chance))
            for field in ("body", "orelse"):
                body = getattr(node, field, None)
                for place in range(len(body) if isinstance(body, list) and node is not function else 0):
                    for what, edit in _edits(body, place):
                        yield changed(number, f"{what} {place}", lambda n, edit=edit, field=field: edit(getattr(n, field)))


def _changes(node: ast.AST, names: list[str], chance: random.Random) -> Iterator[tuple[str, Callable[[ast.AST], object]]]:
    """Changes of an expression."""
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            for step in (1, -1):
                yield f"{value} + {step}", lambda n, step=step: setattr(n, "value", n.value + step)
        case ast.Compare(ops=[op]) if type(op) in COMPARED:
            yield "comparison", lambda n: setattr(n, "ops", [COMPARED[type(op)]()])
        case ast.BinOp(op=op) if type(op) in COMPUTED:
            yield "operation", lambda n: setattr(n, "op", COMPUTED[type(op)]())
        case ast.BoolOp(op=op, values=values):
            yield "and, or", lambda n: setattr(n, "op", ast.Or() if isinstance(op, ast.And) else ast.And())
            for place in range(len(values)):
                yield "condition dropped", lambda n, place=place: n.values.__setitem__(place, n.values[place - 1])
        case ast.IfExp():
            yield "choice turned", lambda n: (setattr(n, "body", node.orelse), setattr(n, "orelse", node.body))
        case ast.Call(func=ast.Name(id=name), args=[_, *_] as given):
            if name in CALLED:
                yield f"{CALLED[name]} for {name}", lambda n: setattr(n.func, "id", CALLED[name])
            for place in range(len(given) - 1):
                yield "argument twice", lambda n, place=place: n.args.__setitem__(place, n.args[place + 1])
        case ast.Name(id=name, ctx=ast.Load()):
            for other in chance.sample(names, min(2, len(names))):
                if other != name:
                    yield f"{other} for {name}", lambda n, other=other: setattr(n, "id", other)


def _edits(body: list[ast.stmt], place: int) -> Iterator[tuple[str, Callable[[list[ast.stmt]], object]]]:
    """Changes of a statement among its neighbours."""
    stmt = body[place]
    yield "removed", lambda b: b.__setitem__(place, ast.copy_location(ast.Pass(), b[place]))
    if place + 1 < len(body):
        yield "exchanged", lambda b: b.__setitem__(slice(place, place + 2), [b[place + 1], b[place]])
    if isinstance(stmt, ast.If):
        yield "unguarded", lambda b: b.__setitem__(slice(place, place + 1), b[place].body)
    if isinstance(stmt, ast.AugAssign):
        yield "assigned", lambda b: b.__setitem__(place, ast.copy_location(ast.Assign([b[place].target], b[place].value), b[place]))
