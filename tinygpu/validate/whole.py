"""A launcher's arithmetic: Python's whole numbers, which have no largest, and the tests it makes of them, as terms.

    -(-n // 256)  ↦  ⌈n / 256⌉        x.shape[0]  ↦  an unknown that is not negative        x.shape != (n,)  ↦  x.shape[0] ≠ n

Comes in: expressions of a launcher. Goes out: index terms and guards. The one idea: nothing wraps here, so text and term are the same
number, but a divisor that may be 0 or less.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from tinygpu.category.term import BOOL, App, Const, Read, Term, Var, apply, ceildiv, conjunction, equal, negation
from tinygpu.record import dataclass, field
from tinygpu.validate.expression import OPERATORS
from tinygpu.validate.typed import unread

EXTREMES = ("min", "max")


@dataclass(slots=True)
class Whole:
    """`ranks` are the views of arrays with their ranks, `numbers` the names of whole numbers, `scalars` those of the call's integers."""

    ranks: Mapping[str, int]
    numbers: set[str] = field(default_factory=set)
    scalars: dict[str, Read] = field(default_factory=dict)

    def number(self, node: ast.expr) -> Term:
        """An expression as a whole number."""
        match node:
            case ast.Constant(value=int(value)) if not isinstance(value, bool):
                return Const(value)
            case ast.Name(id=name) if name in self.numbers:
                return Var(name)
            case ast.Subscript(value=ast.Attribute(value=ast.Name(id=view), attr="shape"), slice=ast.Constant(value=int(axis))):
                if view in self.ranks and 0 <= axis < self.ranks[view]:
                    return extent(view, axis)
            case ast.UnaryOp(op=ast.USub(), operand=ast.BinOp(ast.UnaryOp(op=ast.USub(), operand=a), ast.FloorDiv(), b)):
                return ceildiv(self.number(a), self._divisor(b))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return Const(0) - self.number(operand)
            case ast.BinOp(left=a, op=ast.FloorDiv() | ast.Mod() as op, right=b):
                return apply(OPERATORS[type(op)], self.number(a), self._divisor(b))
            case ast.BinOp(left=a, op=ast.Add() | ast.Sub() | ast.Mult() as op, right=b):
                return apply(OPERATORS[type(op)], self.number(a), self.number(b))
            case ast.Call(func=ast.Name(id="int"), args=[ast.Name(id=name)], keywords=[]) if name in self.scalars:
                return App("cast", (self.scalars[name],))
            case ast.Call(func=ast.Name(id=name), args=[a, b], keywords=[]) if name in EXTREMES:
                return apply(name, self.number(a), self.number(b))
        raise unread(node, f"{ast.unparse(node)} is no whole number of a launcher")

    def _divisor(self, node: ast.expr) -> Term:
        """A divisor; Python's quotients are those of terms where it is not negative, and it raises where it is 0: a number is neither."""
        term = self.number(node)
        if isinstance(term, Const) and int(term.value) < 1:
            raise unread(node, f"divides by {ast.unparse(node)}")
        return term

    def test(self, node: ast.expr) -> Term:
        """An expression as a guard."""
        match node:
            case ast.BoolOp(op=op, values=values):
                parts = [self.test(v) for v in values]
                return conjunction(*parts) if isinstance(op, ast.And) else App("or", tuple(parts), BOOL)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return negation(self.test(operand))
            case ast.Compare(left=ast.Attribute(value=ast.Name(id=view), attr="shape"), ops=[ast.NotEq()], comparators=[shape]):
                return negation(conjunction(*(equal(extent(view, n), e) for n, e in enumerate(self.shape(view, shape)))))
            case ast.Compare(left=a, ops=[op], comparators=[b]) if type(op) in OPERATORS:
                return App(OPERATORS[type(op)], (self.number(a), self.number(b)), BOOL)
            case ast.Constant(value=bool(value)):
                return Const(value, BOOL)
        raise unread(node, f"{ast.unparse(node)} is no test of a launcher")

    def shape(self, view: str, node: ast.expr) -> list[Term]:
        """A tuple of as many extents as the view has."""
        if isinstance(node, ast.Tuple) and len(node.elts) == self.ranks.get(view):
            return [self.number(e) for e in node.elts]
        raise unread(node, f"{ast.unparse(node)} is no shape of {view}")


def extent(view: str, axis: int) -> Term:
    """An extent of an array that a caller gave, or that was made."""
    return Var(f"{view}.shape[{axis}]")


def refusal(tests: Term) -> Term:
    """What is known after `if tests: raise`."""
    match tests:
        case App("or", parts):
            return conjunction(*map(refusal, parts))
        case App("ne", args):
            return App("eq", args, BOOL)
        case App("gt", (a, b)):
            return App("le", (a, b), BOOL)
        case App("lt", (a, b)):
            return App("ge", (a, b), BOOL)
        case App("eq", args):
            return App("ne", args, BOOL)
    return negation(tests)
