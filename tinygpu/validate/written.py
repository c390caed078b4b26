"""What a statement of a kernel's text writes: one cell, in place or atomically.

Comes in: a statement, and what its names are. Goes out: array, place, type and value. The one idea: what a loop writes to the cells of a wide store
behind it is written to memory.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from tinygpu.category.term import Term
from tinygpu.record import dataclass
from tinygpu.validate.expression import Reader
from tinygpu.validate.moves import Sink
from tinygpu.validate.scope import Scope
from tinygpu.validate.typed import OPERATORS, Atom, Cells, Differs, Number, Pointer, unread

Sinks = Mapping[str, tuple[Sink, Term, Sequence[ast.stmt]]]  # by cells: the store, the variable of the loop, its body


@dataclass(frozen=True, slots=True)
class Written:
    """`where` is the part of the text that says the place; `update` combines the cell with the value, in place or atomically."""

    array: str
    place: tuple[Term, ...]
    where: ast.AST
    item: str
    update: str
    value: ast.expr
    atomic: bool = False


def written(scope: Scope, stmt: ast.stmt, reader: Reader, sinks: Sinks) -> Written:
    """What a statement writes. Raises Differs."""
    match stmt:
        case ast.Assign(targets=[target], value=value):
            return Written(*_cell(scope, stmt, target, reader, sinks), "", value)
        case ast.AugAssign(target=target, op=op, value=value) if type(op) in OPERATORS:
            cell = _cell(scope, stmt, target, reader, sinks)
            if cell[3] not in ("f32", "f64"):
                raise unread(stmt, f"an update in place of {cell[3]}, which numba makes wider")
            return Written(*cell, OPERATORS[type(op)], value)
        case ast.Expr(value=ast.Call(func=ast.Name(id=function), args=[ast.Name(id=name), offset, value], keywords=[])):
            atom, found = scope.names.get(function), scope.names.get(name)
            if isinstance(atom, Atom) and atom.what == "atomic" and isinstance(found, Pointer):
                if atom.shared != found.shared or found.array in scope.inputs:
                    raise Differs(stmt, f"{function} is not for this memory")
                return Written(found.array, (reader.index(offset),), offset, found.item, atom.name, value, True)
    raise unread(stmt, f"{ast.unparse(stmt).splitlines()[0]} is no statement of a kernel")


def _cell(
    scope: Scope, stmt: ast.stmt, target: ast.expr, reader: Reader, sinks: Sinks
) -> tuple[str, tuple[Term, ...], ast.AST, str]:
    """Array, place, the node that says it, and type of the cell of a target."""
    match target:
        case ast.Name(id=name) if isinstance(found := scope.names.get(name), Number):
            return found.array, (), target, found.item
        case ast.Subscript(value=ast.Name(id=name), slice=place):
            match scope.names.get(name):
                case Pointer(array, item) if array not in scope.inputs:
                    return array, (reader.index(place),), place, item
                case Cells(array, item, shape) if array:
                    index = place.elts if isinstance(place, ast.Tuple) else [place]
                    if len(index) == len(shape):
                        return array, tuple(map(reader.index, index)), place, item
                case Cells(_, item) if name in sinks:
                    sink, turn, body = sinks[name]
                    if stmt not in body or reader.index(place) != turn:
                        raise Differs(place, "is not the cell of this turn")
                    return sink.pointer.array, (sink.offset + turn,), sink.node, item
    raise unread(stmt, f"{ast.unparse(target)} is nothing that a kernel writes here")
