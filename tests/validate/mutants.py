"""Mutants of a kernel's text: every number, comparison, operation, condition, statement and name changed, one at a time.

Comes in: the function that makes a kernel. Goes out: changed copies of it, each with what was changed and where.
The one idea: no choice of ours says which mistakes an emitter makes.
"""

from __future__ import annotations

import ast
import copy
import random
from collections.abc import Callable, Iterator

COMPARED = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
COMPUTED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mod, ast.Mod: ast.FloorDiv, ast.Div: ast.Mult}
Mutant = tuple[str, ast.AST, ast.FunctionDef]


def mutants(function: ast.FunctionDef) -> Iterator[Mutant]:
    """`(what was changed, the node, the changed function)`; docstring and annotations are left alone."""
    nodes = list(ast.walk(function))
    quiet = {id(n) for part in (function.body[0], function.args, function.returns) if part for n in ast.walk(part)}
    names = sorted({n.id for n in nodes if isinstance(n, ast.Name) and id(n) not in quiet})
    chance = random.Random(1)
    for number, node in enumerate(nodes):
        if id(node) in quiet:
            continue
        for what, change in _changes(node, names, chance):
            copied = copy.deepcopy(function)
            change(list(ast.walk(copied))[number])
            yield what, node, copied
        for field in ("body", "orelse"):
            body = getattr(node, field, None)
            for place in range(len(body) if isinstance(body, list) and node is not function else 0):
                for what, edit in _edits(body, place):
                    copied = copy.deepcopy(function)
                    edit(getattr(list(ast.walk(copied))[number], field))
                    yield what, body[place], copied


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
        case ast.Name(id=name, ctx=ast.Load()):
            for other in chance.sample(names, min(2, len(names))):
                if other != name:
                    yield f"{name} for {other}", lambda n, other=other: setattr(n, "id", other)


def _edits(body: list[ast.stmt], place: int) -> Iterator[tuple[str, Callable[[list[ast.stmt]], object]]]:
    """Changes of a statement among its neighbours."""
    stmt = body[place]
    yield "removed", lambda b: b.__setitem__(place, ast.copy_location(ast.Pass(), b[place]))
    if place + 1 < len(body):
        yield "exchanged", lambda b: b.__setitem__(slice(place, place + 2), [b[place + 1], b[place]])
    if isinstance(stmt, ast.If):
        yield "unguarded", lambda b: b.__setitem__(slice(place, place + 1), b[place].body)
    if isinstance(stmt, ast.AugAssign):
        yield (
            "assigned",
            lambda b: b.__setitem__(
                place, ast.copy_location(ast.Assign(targets=[b[place].target], value=b[place].value), b[place])
            ),
        )
