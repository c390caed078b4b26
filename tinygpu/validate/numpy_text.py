"""Conditions over arrays of indices, as numpy evaluates them, as terms of one point.

    (0 <= x[t]) & (x[t] < _cast(V, np.int32))      ↦      0 <= x[t] and x[t] < i32(V)

Comes in: an expression, and what its names are. Goes out: its term. The one idea: numpy compares integers of any dtypes as the numbers they
are, so they are compared as indices; what it computes in a width is read where it cannot wrap, or in that width. An element outside is the
nearest one, which is what an input of a check is made to give.
"""

from __future__ import annotations

import ast
import struct
from collections.abc import Callable, Mapping

from tinygpu.category.dtype import HALVES, RANGE
from tinygpu.category.term import BOOL, FLOATS, INDEX, INTEGERS, App, Const, Read, Term, Var, apply, conjunction, reads, select
from tinygpu.model.op import Tensor
from tinygpu.record import dataclass
from tinygpu.validate.cpu_number import fits
from tinygpu.validate.typed import unread

WORDS = {"int8": "i8", "int32": "i32", "int64": INDEX, "uint8": "u8", "uint32": "u32"}
COMPARE = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne"}
BINARY = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.BitXor: "xor"}
MEMORY = 2**40  # no size, and no index of an array that is somewhere, is larger


@dataclass(frozen=True, slots=True)
class Numpy:
    """`binders` are index arrays, `inputs` data by the names they have here, `size` reads a name that is neither; `inside` says
    whether an index is always below an extent, and not negative."""

    binders: Mapping[str, Term]
    inputs: Mapping[str, Tensor]
    size: Callable[[ast.expr], Term]
    inside: Callable[[Term, Term], bool]

    def condition(self, node: ast.expr) -> Term:
        """An expression that is a condition. Raises Differs."""
        match node:
            case ast.BinOp(left, ast.BitAnd(), right):
                return conjunction(self.condition(left), self.condition(right))
            case ast.BinOp(left, ast.BitOr(), right):
                return App("or", (self.condition(left), self.condition(right)), BOOL)
            case ast.Call(ast.Attribute(ast.Name("np"), "logical_not"), [inner], []):
                found = self.condition(inner)
                if any(r.dtype in FLOATS for r in reads(found)):
                    raise unread(node, "the opposite of a comparison of floats, which may be no numbers")
                return App("not", (found,), BOOL)
            case ast.Constant(bool(value)):
                return Const(value, BOOL)
            case ast.Compare(left, [op], [right]) if type(op) in COMPARE:
                return self.compared(node, COMPARE[type(op)], self.value(left), self.value(right))
            case ast.Subscript() if (found := self.value(node)).dtype == BOOL:
                return found
        raise unread(node, f"{ast.unparse(node)} is no condition of a check of data")

    def compared(self, node: ast.expr, op: str, a: Term, b: Term) -> Term:
        """A comparison of what two values are."""
        if a.dtype != b.dtype:
            a, b = like(a, b.dtype), like(b, a.dtype)
        if a.dtype != b.dtype and {a.dtype, b.dtype} <= {INDEX, *INTEGERS}:
            a, b = as_index(a), as_index(b)
        if a.dtype != b.dtype or a.dtype == BOOL:
            raise unread(node, f"{a.dtype} is compared with {b.dtype}")
        return apply(op, a, b) if a.dtype == INDEX else App(op, (a, b), BOOL)

    def value(self, node: ast.expr) -> Term:
        """An expression that is a number, or an element. Raises Differs."""
        match node:
            case ast.Name(name) if name in self.binders:
                return self.binders[name]
            case ast.Constant(int(value)) if not isinstance(value, bool):
                return Const(value)
            case ast.Constant(float(value)):
                return Const(value, "f64")
            case ast.UnaryOp(ast.USub(), ast.Constant(int() | float() as value)):
                return Const(-value, "f64" if isinstance(value, float) else INDEX)
            case ast.Call(ast.Attribute(ast.Name("np"), word), [ast.Constant(int(value))], []) if word in WORDS:
                return Const(value, WORDS[word])
            case ast.Subscript(ast.Name(name), place) if name in self.inputs:
                return self.element(self.inputs[name], place)
            case ast.Call(ast.Name("_cast"), [inner, ast.Attribute(ast.Name("np"), word)], []) if word in WORDS:
                found = self.value(inner)
                return found if found.dtype == WORDS[word] else self.cast(node, found, WORDS[word])
            case ast.Call(ast.Name("_cast"), [inner, ast.Name("object")], []):
                return as_index(self.value(inner))
            case ast.Call(ast.Attribute(ast.Name("np"), "where"), [test, then, otherwise], []):
                yes, no = self.alike(node, self.value(then), self.value(otherwise))
                return select(self.condition(test), yes, no)
            case ast.Call(ast.Attribute(ast.Name("np"), "minimum" | "maximum" as word), [left, right], []):
                a, b = self.alike(node, self.value(left), self.value(right))
                return apply(word[:3], a, b) if a.dtype == INDEX else App(word[:3], (a, b), a.dtype)
            case ast.BinOp(left, op, right) if type(op) in BINARY:
                a, b = self.alike(node, self.value(left), self.value(right))
                return self.number(
                    node, apply(BINARY[type(op)], a, b) if a.dtype == INDEX else App(BINARY[type(op)], (a, b), a.dtype)
                )
            case ast.BinOp(left, ast.FloorDiv() | ast.Mod() as op, right):
                return self.division(node, "floordiv" if isinstance(op, ast.FloorDiv) else "mod", self.value(left), right)
        return self.size(node)

    def element(self, tensor: Tensor, place: ast.expr) -> Term:
        """An element of an input, the nearest one where its place is outside."""
        nodes = place.elts if isinstance(place, ast.Tuple) else [place]
        if len(nodes) != len(tensor.shape):
            raise unread(place, f"{tensor.name} has {len(tensor.shape)} axes")
        index = [as_index(self.value(n)) for n in nodes]
        near = [
            i if self.inside(i, n) else apply("min", apply("max", i, 0), n - 1) for i, n in zip(index, tensor.shape, strict=True)
        ]
        return Read(tensor.name, tuple(near), tensor.dtype)

    def division(self, node: ast.expr, op: str, a: Term, right: ast.expr) -> Term:
        """A division by a positive number, or by what is taken as 1 where it is not."""
        match right:
            case ast.Call(ast.Attribute(ast.Name("np"), "maximum"), [inner, ast.Constant(1)], []):
                a, b = self.alike(node, a, self.value(inner))
                positive: Term = App("gt", (b, Const(0, b.dtype)), BOOL)
            case _:
                a, b = self.alike(node, a, self.value(right))
                positive = Const(True, BOOL) if isinstance(b, Const) and b.value > 0 else Const(False, BOOL)
        if positive == Const(False, BOOL):
            raise unread(node, "a division by what may not be positive")
        alone = a if op == "floordiv" else Const(0, a.dtype)
        return select(positive, apply(op, a, b) if a.dtype == INDEX else App(op, (a, b), a.dtype), alone)

    def alike(self, node: ast.expr, a: Term, b: Term) -> tuple[Term, Term]:
        a, b = like(a, b.dtype), like(b, a.dtype)
        if a.dtype != b.dtype:
            raise unread(node, f"{a.dtype} meets {b.dtype}")
        return a, b

    def cast(self, node: ast.expr, value: Term, dtype: str) -> Term:
        if value.dtype not in (INDEX, *INTEGERS):
            raise unread(node, f"{value.dtype} is cast")
        return App("cast", (value,), dtype)

    def number(self, node: ast.expr, term: Term) -> Term:
        """An index that was computed: in 64 bits, which have to hold it; Python's own numbers have no largest."""
        wide = any(isinstance(n, ast.Name) and n.id == "object" for n in ast.walk(node))
        if term.dtype == INDEX and reads(term) and not wide and largest(term) >= 2**63:
            raise unread(node, "a number that may wrap")
        return term


def like(term: Term, dtype: str) -> Term:
    """A literal in another dtype, where that has it."""
    match term:
        case Const(int(value), "index") if dtype in RANGE and RANGE[dtype][0] <= value <= RANGE[dtype][1]:
            return Const(value, dtype)
        case Const(value, "f64") if dtype in HALVES and fits(term, dtype):
            return Const(value, dtype)
        case Const(float(value), "f64") if dtype == "f32" and struct.unpack("f", struct.pack("f", value))[0] == value:
            return Const(value, dtype)
    return term


def as_index(term: Term) -> Term:
    """An integer as the number that it is."""
    return term if term.dtype == INDEX else App("cast", (term,), INDEX)


def largest(term: Term) -> int:
    """No index computed from data is larger, with either sign."""
    match term:
        case Const(int(value)):
            return abs(value)
        case App("cast", (inner,), "index") if inner.dtype in RANGE:
            return max(-RANGE[inner.dtype][0], RANGE[inner.dtype][1] + 1)
        case App("mul", (a, b)):
            return largest(a) * largest(b)
        case App("select", (_, *args)) | App("min" | "max" | "floordiv" | "mod", args):
            return max(map(largest, args))
        case App("add" | "sub" | "neg", args):
            return sum(map(largest, args))
        case Var():
            return MEMORY
    return 2**63
