"""Expressions of a CPU kernel as terms.

Comes in: a Python expression and what its names stand for. Goes out: the term of its value: an index, a condition, or a number with the
dtype that numba gives it. The one idea: the reading is strict. A wrapped sum of integers is integer addition, a bare one is unread;
a 16-bit float is a number that was widened, or an operation in f32 that was rounded.
"""

from __future__ import annotations

import ast
import struct
from collections.abc import Mapping
from dataclasses import replace

from tinygpu.category.term import (
    BOOL,
    FLOATS,
    INDEX,
    INTEGERS,
    App,
    Const,
    Read,
    Term,
    Var,
    apply,
    conjunction,
    negation,
    part,
    select,
)
from tinygpu.diagnostic import Span
from tinygpu.validate.cpu_address import coordinates, same
from tinygpu.validate.cpu_names import Cell, Cells, Component, Digits, Global, Lost, Meaning, Number, Unread
from tinygpu.validate.module import Module

HALVES = ("f16", "bf16")
DTYPE = {
    "float64": "f64", "float32": "f32", "int64": "i64", "int32": "i32", "uint32": "u32", "uint8": "u8", "int8": "i8", "bool_": "bool",
}  # fmt: skip
BINARY = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.BitXor: "xor",
}
COMPARE = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne"}
MATH = ("exp", "exp2", "log", "sqrt", "rsqrt", "tanh", "sigmoid", "erf", "sin", "cos")
EXACT = ("neg", "abs", "min", "max")  # operations whose result a 16-bit float has where its operands do


class Values:
    """Expressions at one place: `names` is what stands there, `called` grows with every function of the module that is used."""

    def __init__(self, module: Module, names: Mapping[str, Meaning]) -> None:
        self.module, self.names, self.called = module, dict(names), set[str]()

    # ── names and literals ─────────────────────────────────────────────────────────────────────────────────────

    def term(self, node: ast.expr) -> Term:
        """The value of an expression. Raises Unread."""
        match node:
            case ast.Constant(bool(value)):
                return Const(value, BOOL)
            case ast.Constant(int(value)):
                return Const(value)
            case ast.Name(name):
                return self.name(node, name)
            case ast.Subscript(ast.Name(), _):
                return self.element(node)
            case ast.Subscript(ast.Tuple(items), place):
                return self.table(node, items, self.index(place))
            case ast.IfExp(test, then, otherwise):
                return self.choice(node, test, then, otherwise)
            case ast.BoolOp(op, operands):
                parts = [self.condition(o) for o in operands]
                return conjunction(*parts) if isinstance(op, ast.And) else App("or", tuple(parts), BOOL)
            case ast.Compare(left, [op], [right]):
                return self.compare(node, op, left, right)
            case ast.UnaryOp():
                return self.unary(node)
            case ast.BinOp():
                made = self.binary(node)
                if made.dtype in INTEGERS:
                    raise Unread(node, "integers that are not wrapped to their width")
                return made
            case ast.Call():
                return self.call(node)
        raise Unread(node, f"{ast.unparse(node)} is none of the expressions that kernels are made of")

    def name(self, node: ast.expr, name: str) -> Term:
        match self.names.get(name):
            case Cell(cell, dtype):
                return Read(cell, (), dtype, self.span(node))
            case Component(Cell(cell, carrier), place, dtype):
                return part(Read(cell, (), carrier, self.span(node)), place, dtype)
            case Number(term):
                return term
            case Digits() as digits:
                return digits.term()
            case Const() | Var() | App() | Read() as term:
                return term
            case Lost(reason):
                raise Unread(node, reason)
        raise Unread(node, f"{name} is not a number here")

    def span(self, node: ast.AST) -> Span:
        return self.module.span(node)

    def index(self, node: ast.expr) -> Term:
        """An expression that is an index, as int64."""
        match node:
            case ast.Call(ast.Attribute(ast.Name("np"), "int64"), [inner]):
                value = self.term(inner)
                return value if value.dtype == INDEX else App("cast", (value,), INDEX)
            case ast.IfExp(test, then, otherwise):
                return select(self.condition(test), self.index(then), self.index(otherwise))
            case ast.BinOp(left, op, right) if type(op) in BINARY:
                return self.arithmetic(node, BINARY[type(op)], self.index(left), self.index(right))
            case ast.Call(ast.Name("min" | "max" | "quotient" | "remainder")):
                return self.call(node)
        value = self.term(node)
        if value.dtype != INDEX:
            raise Unread(node, f"{ast.unparse(node)} is no index")
        return value

    def condition(self, node: ast.expr) -> Term:
        """An expression that is a condition."""
        value = self.term(node)
        if value.dtype != BOOL:
            raise Unread(node, f"{ast.unparse(node)} is no condition")
        return value

    # ── memory ─────────────────────────────────────────────────────────────────────────────────────────────────

    def element(self, node: ast.Subscript, bits: bool = False) -> Term:
        """`array[at(number)]`. 16-bit floats lie in memory as `bits`."""
        assert isinstance(node.value, ast.Name)
        match node.slice, self.names.get(node.value.id):
            case ast.Call(ast.Name("at"), [number]), Global(tensor):
                if (tensor.dtype in HALVES) != bits:
                    raise Unread(node, "the bits of a 16-bit float are not its number")
                return Read(tensor.name, self.place(number, tensor.shape), tensor.dtype, self.span(node))
            case ast.Call(ast.Name("at"), [number]), Cells(name, dtype, shape) if not bits:
                return Read(name, self.place(number, shape), dtype, self.span(node))
            case ast.Call(ast.Name("at"), [number]), Component(Cells(name, carrier, shape), place, dtype) if not bits:
                return part(Read(name, self.place(number, shape), carrier, self.span(node)), place, dtype)
        raise Unread(node, f"{ast.unparse(node)} is no element of an array")

    def place(self, number: ast.expr, shape: tuple[Term, ...]) -> tuple[Term, ...]:
        """The coordinates of an element from its number."""
        found = coordinates(number, shape, self.index)
        if found is None:
            raise Unread(number, f"{ast.unparse(number)} could not be taken apart into coordinates")
        return found

    # ── operations ─────────────────────────────────────────────────────────────────────────────────────────────

    def table(self, node: ast.expr, items: list[ast.expr], place: Term) -> Term:
        entries = tuple(self.term(i) for i in items)
        if len({e.dtype for e in entries}) != 1:
            raise Unread(node, "a table of several dtypes")
        return App("table", (place, *entries), entries[0].dtype)

    def choice(self, node: ast.expr, test: ast.expr, then: ast.expr, otherwise: ast.expr) -> Term:
        yes, no = self.agreed(node, self.term(then), self.term(otherwise))
        return select(self.condition(test), yes, no)

    def compare(self, node: ast.expr, op: ast.cmpop, left: ast.expr, right: ast.expr) -> Term:
        a, b = self.agreed(node, self.term(left), self.term(right))
        if type(op) not in COMPARE:
            raise Unread(node, "a comparison that kernels do not make")
        return apply(COMPARE[type(op)], a, b) if a.dtype == INDEX else App(COMPARE[type(op)], (a, b), BOOL)

    def unary(self, node: ast.UnaryOp) -> Term:
        if isinstance(node.op, ast.Not):
            return negation(self.condition(node.operand))
        value = self.term(node.operand)
        if not isinstance(node.op, ast.USub) or value.dtype in (BOOL, *INTEGERS):
            raise Unread(node, "a sign on what is no float and no index")
        if isinstance(value, Const):
            return replace(value, value=-value.value)
        return 0 - value if value.dtype == INDEX else App("neg", (value,), value.dtype)

    def binary(self, node: ast.BinOp) -> Term:
        """An operation, integers not wrapped yet."""
        if type(node.op) not in BINARY:
            raise Unread(node, "an operator that kernels do not use")
        return self.arithmetic(node, BINARY[type(node.op)], self.term(node.left), self.term(node.right))

    def arithmetic(self, node: ast.expr, op: str, a: Term, b: Term) -> Term:
        a, b = self.agreed(node, a, b)
        if a.dtype == INDEX and op != "div":
            return apply(op, a, b)
        if a.dtype in FLOATS and op in ("add", "sub", "mul", "div"):
            a, b = widened(a), widened(b)
            return App(op, (a, b), a.dtype)
        if a.dtype in INTEGERS and op != "div":
            return App(op, (a, b), a.dtype)
        raise Unread(node, f"{op} of {a.dtype}")

    def agreed(self, node: ast.expr, a: Term, b: Term) -> tuple[Term, Term]:
        """Both values in one dtype: 16-bit floats are f32 numbers in their registers, and nothing else changes by itself."""
        if a.dtype == b.dtype:
            return a, b
        if isinstance(b, Const) and a.dtype in HALVES and b.dtype == "f32" and fits(b, a.dtype):
            return a, Const(b.value, a.dtype)
        if isinstance(a, Const) and b.dtype in HALVES and a.dtype == "f32" and fits(a, b.dtype):
            return Const(a.value, b.dtype), b
        a, b = widened(a), widened(b)
        if a.dtype == b.dtype:
            return a, b
        raise Unread(node, f"{a.dtype} meets {b.dtype} in {ast.unparse(node)}")

    # ── calls ──────────────────────────────────────────────────────────────────────────────────────────────────

    def call(self, node: ast.Call) -> Term:
        if node.keywords:
            raise Unread(node, "keywords")
        match node.func, node.args:
            case ast.Attribute(ast.Name("np"), name), [arg] if name in DTYPE:
                return self.conversion(node, DTYPE[name], arg)
            case ast.Attribute(ast.Name("np"), "sqrt" | "floor" as name), [arg]:
                return self.function(node, name, arg, "")
            case ast.Name("abs"), [arg]:
                return self.function(node, "abs", arg, "")
            case ast.Name("min" | "max" as name), [first, *rest] if rest:
                out = self.index(first)
                for other in rest:
                    out = self.least(node, name, out, self.index(other))
                return out
            case ast.Name(name), args if name not in self.names:
                self.called.add(name)
                return self.helper(node, name, args)
        raise Unread(node, f"{ast.unparse(node)} is no call that kernels make")

    def least(self, node: ast.expr, name: str, a: Term, b: Term) -> Term:
        return apply(name, a, b)

    def helper(self, node: ast.Call, name: str, args: list[ast.expr]) -> Term:
        """A function of the module, whose text is known."""
        kind, _, dtype = name.rpartition("_")
        match name, args:
            case "larger" | "smaller", [a, b]:
                x, y = self.agreed(node, self.term(a), self.term(b))
                return App("max" if name == "larger" else "min", (x, y), x.dtype)
            case "quotient" | "remainder", [a, b]:
                return self.division(node, name, a, b)
            case "f16_to_f32" | "bf16_to_f32", [ast.Subscript() as read]:
                found = self.element(read, True)
                if found.dtype == name.split("_")[0]:
                    return found
            case "f32_to_f16" | "f32_to_bf16", [arg]:
                return self.narrowed(self.term(arg), name.split("_")[2])
            case "round_f16" | "round_bf16", [arg]:
                return self.rounded(arg, dtype)
            case _, [ast.Call(ast.Attribute(ast.Name("np"), "float64"), [arg])] if kind == "to" and dtype in INTEGERS:
                value = self.term(arg)
                if value.dtype in FLOATS:
                    return App("cast", (value,), dtype)
            case _, [arg] if kind in MATH and dtype in ("f32", "f64"):
                return self.function(node, kind, arg, dtype)
        raise Unread(node, f"{ast.unparse(node)} is no call that kernels make")

    def division(self, node: ast.Call, name: str, left: ast.expr, right: ast.expr) -> Term:
        """Euclidean division of natural numbers: of digits it is a digit."""
        a = self.names.get(left.id) if isinstance(left, ast.Name) else None
        b = self.term(right)
        if isinstance(a, Digits) and a.axes and same(a.axes[-1].extent, b):
            rest = Digits(a.axes[:-1])
            return Var(a.axes[-1].name) if name == "remainder" else rest.term()
        x = self.term(left)
        op = "floordiv" if name == "quotient" else "mod"
        return self.arithmetic(node, op, x, b)

    def function(self, node: ast.expr, op: str, arg: ast.expr, dtype: str) -> Term:
        value = self.term(arg)
        value = value if op == "abs" else widened(value)
        if value.dtype not in FLOATS or (dtype and value.dtype != dtype):
            raise Unread(node, f"{op} of {value.dtype}")
        return App(op, (value,), value.dtype)

    def conversion(self, node: ast.Call, dtype: str, arg: ast.expr) -> Term:
        """`np.float32(x)`: a literal, the width of an operation on integers, or a cast."""
        match arg:
            case ast.Constant(int() | float() as number) if dtype != BOOL:
                return literal(number, dtype)
            case ast.UnaryOp(ast.USub(), ast.Constant(int() | float() as number)):
                return literal(-number, dtype)
            case ast.Attribute(ast.Name("np"), "inf"):
                return Const(float("inf"), dtype)
            case ast.UnaryOp(ast.USub(), ast.Attribute(ast.Name("np"), "inf")):
                return Const(float("-inf"), dtype)
            case ast.BinOp() if dtype in INTEGERS:
                made = self.binary(arg)
                if made.dtype in (dtype, INDEX):
                    return made if made.dtype == dtype else App("cast", (made,), dtype)
                raise Unread(node, f"an operation on {made.dtype} in {dtype}")
            case ast.UnaryOp(ast.USub(), operand) if dtype in INTEGERS:
                value = self.term(operand)
                if value.dtype == dtype:
                    return App("neg", (value,), dtype)
        value = self.term(arg)
        if value.dtype == dtype or (value.dtype in HALVES and dtype == "f32"):
            return value
        if value.dtype in FLOATS and dtype in INTEGERS:
            raise Unread(node, "a float that is cut without its range being looked at")
        return App("cast", (value,), dtype)

    def rounded(self, arg: ast.expr, dtype: str) -> Term:
        """`round_f16(x)`: an operation of that dtype, which is done in f32, or a cast to it."""
        match arg:
            case ast.Call(ast.Name("narrow_to_odd"), [ast.Call(ast.Attribute(ast.Name("np"), "float64"), [inner])]):
                self.called.add("narrow_to_odd")
                return App("cast", (self.term(inner),), dtype)
        value = self.term(arg)
        match value:
            case App(op, args, "f32") if op not in ("select", "table", "cast"):
                exact = tuple(n for a in args if (n := narrow(a, dtype)) is not None)
                if len(exact) == len(args):
                    return App(op, exact, dtype)
        return value if value.dtype == dtype else App("cast", (value,), dtype)

    def narrowed(self, value: Term, dtype: str) -> Term:
        """A number as it is stored in 16 bits."""
        if value.dtype == dtype:
            return value
        if isinstance(value, Const) and fits(value, dtype):
            return Const(value.value, dtype)
        return App("cast", (value,), dtype)


def literal(number: int | float, dtype: str) -> Const:
    """A number as a literal of a dtype."""
    return Const(float(number) if dtype in FLOATS else int(number), dtype)


def widened(value: Term) -> Term:
    """A 16-bit float as the f32 number that it is."""
    if value.dtype not in HALVES:
        return value
    return Const(value.value, "f32") if isinstance(value, Const) else App("cast", (value,), "f32")


def narrow(value: Term, dtype: str) -> Term | None:
    """The 16-bit float that was widened to this number, if it is one."""
    match value:
        case App("cast", (inner,), "f32") if inner.dtype == dtype:
            return inner
        case Const() if value.dtype == "f32" and fits(value, dtype):
            return Const(value.value, dtype)
    return value if value.dtype == dtype else None


def fits(value: Const, dtype: str) -> bool:
    """Whether a 16-bit float has this number."""
    number = float(value.value)
    if number in (float("inf"), float("-inf")):
        return True
    try:
        if dtype == "f16":
            return bool(struct.unpack("e", struct.pack("e", number))[0] == number)
        bits: bytes = struct.pack("<f", number)
    except OverflowError:
        return False
    return bits[:2] == bytes(2) and struct.unpack("<f", bits)[0] == number
