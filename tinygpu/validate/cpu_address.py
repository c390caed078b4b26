"""Flat numbers of elements as coordinates.

    number = (c₀·n₁ + c₁)·n₂ + c₂        as polynomials over axes and sizes

Comes in: the expression of a number and a shape. Goes out: coordinates with that row-major number, or None. Which ones does not matter to
what is proved: if they are all inside the shape, which is a claim of its own, the element is the one that they name.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from tinygpu.category.affine import linear
from tinygpu.category.linear import divide, plus, polynomial, term_of, times
from tinygpu.category.term import App, Const, Term, rebuild

Read = Callable[[ast.expr], Term]


def same(a: Term, b: Term) -> bool:
    """Whether two index terms are one polynomial.

    >>> from tinygpu.category.term import Var
    >>> i, n = Var("i"), Var("n")
    >>> same((i + 1) * n, i * n + n), same(i * n, i)
    (True, False)
    """
    return a == b or polynomial(a) == polynomial(b)


def coordinates(number: ast.expr, shape: tuple[Term, ...], read: Read) -> tuple[Term, ...] | None:
    """Coordinates of the element, as the number is written where it is written in steps of the shape."""
    whole, shape = read(number), tuple(map(floored, shape))
    if not shape:
        return () if same(whole, Const(0)) else None
    found = _written(number, shape, read)
    return tuple(linear(c).term() for c in found) if _flat(found, shape) == polynomial(whole) else None


def floored(extent: Term) -> Term:
    """An extent as texts have it.

    >>> from tinygpu.category.term import Var, apply, text
    >>> text(floored(apply("ceildiv", Var("n"), 4) * 2))
    '(n + 3) // 4*2'
    """
    match extent:
        case App("ceildiv", (a, by)):
            return linear(floored(a) + by - 1).term() // by
    return rebuild(extent, floored)


Definitions = dict[str, ast.expr]


def factors_of(number: ast.expr, definitions: Definitions) -> list[ast.expr]:
    """What the digits of a number are multiplied with, from the slowest: `((a*3 + b)*8 + c)*4` gives 3, 8, 4.

    >>> [ast.unparse(f) for f in factors_of(ast.parse("((a*3 + b)*8 + c)*4 + d").body[0].value, {})]
    ['3', '8', '4']
    """
    match number:
        case ast.Name(name) if name in definitions:
            return factors_of(definitions[name], definitions)
        case ast.BinOp(left, ast.Add() | ast.Sub(), _):
            return factors_of(left, definitions)
        case ast.BinOp(left, ast.Mult(), right):
            return [*factors_of(left, definitions), right]
        case ast.IfExp(_, then, _):
            return factors_of(then, definitions)
    return []


def numbers_of(name: str, function: ast.AST) -> list[ast.expr]:
    """The numbers of the elements of an array that a function reads or writes."""
    out: list[ast.expr] = []
    for node in ast.walk(function):
        match node:
            case ast.Subscript(ast.Name(array), ast.Call(ast.Name("at"), [number])) if array == name:
                out.append(number)
            case ast.Call(ast.Name("lanes_load" | "lanes_store"), [ast.Name(array), ast.Call(ast.Name("at"), [number]), *_]) if (
                array == name
            ):
                out.append(number)
    return out


def definitions_of(function: ast.AST) -> Definitions:
    """The names that a function gives one value in its text."""
    found: dict[str, list[ast.expr]] = {}
    for node in ast.walk(function):
        match node:
            case ast.Assign([ast.Name(name)], value):
                found.setdefault(name, []).append(value)
            case ast.Name(name, ast.Store()):
                found.setdefault(name, [])
    stored = [n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    return {name: values[0] for name, values in found.items() if len(values) == 1 and stored.count(name) == 1}


class Spelled(ast.NodeTransformer):
    """A number with the names of such values written out."""

    def __init__(self, definitions: Definitions) -> None:
        self.definitions = definitions

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.definitions.get(node.id, node)


def _flat(place: tuple[Term, ...], shape: tuple[Term, ...]) -> dict[tuple[Term, ...], int]:
    out: dict[tuple[Term, ...], int] = {}
    for coordinate, extent in zip(place, shape, strict=True):
        out = plus(times(out, polynomial(extent)), polynomial(coordinate))
    return out


def _written(number: ast.expr, shape: tuple[Term, ...], read: Read) -> tuple[Term, ...]:
    """The coordinates that the text suggests: `x*n + y` with the last extent n is y in the row x."""
    if len(shape) == 1:
        return (read(number),)
    *outer, last = shape
    if last == Const(1):
        return (*_written(number, tuple(outer), read), Const(0))
    parts = _summands(number)
    for position, part in enumerate(parts):
        if (row := _times(part, last, read)) is not None:
            place = linear(_sum(parts[:position] + parts[position + 1 :], read))
            more = place.constant // int(last.value) if isinstance(last, Const) and place.constant >= last.value else 0
            rows = _sum([row], read) + more if len(outer) == 1 else None
            rest = place.plus(linear(last * more), -1).term() if more else _sum(parts[:position] + parts[position + 1 :], read)
            return (rows, rest) if rows is not None else (*_written(row, tuple(outer), read), rest)
    whole = read(number)
    if isinstance(whole, Const) and isinstance(last, Const):
        row_ = ast.Constant(int(whole.value) // int(last.value))
        return (*_written(row_, tuple(outer), read), Const(int(whole.value) % int(last.value)))
    high, low = divide(polynomial(whole), polynomial(last))
    if high and len(outer) == 1:
        return term_of(high), term_of(low)
    return (*(Const(0) for _ in outer), whole)


def _summands(number: ast.expr) -> list[ast.expr]:
    """The terms of a sum, from the left; what is subtracted is negated."""
    match number:
        case ast.BinOp(left, ast.Add(), right):
            return [*_summands(left), right]
        case ast.BinOp(left, ast.Sub(), right):
            return [*_summands(left), ast.UnaryOp(ast.USub(), right)]
    return [number]


def _sum(parts: list[ast.expr], read: Read) -> Term:
    out: Term = Const(0)
    for part in parts:
        match part:
            case ast.UnaryOp(ast.USub(), inner):
                out = out - read(inner)
            case _:
                out = out + read(part)
    return out


def _times(number: ast.expr, extent: Term, read: Read) -> ast.expr | None:
    """`x` of `x*extent`, where the extent may be written as several factors."""
    factors: Term = Const(1)
    while isinstance(number, ast.BinOp) and isinstance(number.op, ast.Mult):
        factors = read(number.right) * factors
        number = number.left
        if same(factors, extent):
            return number
    return None
