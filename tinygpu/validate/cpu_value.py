"""Expressions of a CPU kernel as terms.

Comes in: a Python expression and what its names stand for. Goes out: the term of its value: an index, a condition, or a number with the
dtype that numba gives it. The one idea: the reading is strict. A wrapped sum of integers is integer addition, a bare one is unread;
a 16-bit float is a number that was widened, or an operation in f32 that was rounded.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping

from tinygpu.category.dtype import HALVES, NUMPY
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
    select,
    text,
)
from tinygpu.record import replace
from tinygpu.validate.cpu_names import Array, Cell, Digits, Global, Mask, Meaning, Number
from tinygpu.validate.cpu_number import fits, widened
from tinygpu.validate.module import Module
from tinygpu.validate.same import Here, canonical
from tinygpu.validate.typed import Differs, unread
from tinygpu.validate.width import Width

DTYPE = {text.removeprefix("np."): name for name, text in NUMPY.items() if name not in HALVES}
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


class Expressions:
    """Expressions at one place: `names` is what stands there, `called` grows with every function of the module that is used."""

    def __init__(self, module: Module, names: Mapping[str, Meaning], width: Width) -> None:
        self.module, self.names, self.called, self.width = module, dict(names), set[str](), width
        self.shown: Collection[Term] = ()  # index terms that the proof of the program has shown to fit
        self.here = Here()  # what is known where an expression stands

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
                    raise unread(node, "integers that are not wrapped to their width")
                return made
            case ast.Call():
                return self.call(node)
        raise unread(node, f"{ast.unparse(node)} is none of the expressions that kernels are made of")

    def name(self, node: ast.expr, name: str) -> Term:
        match self.names.get(name):
            case Cell(cell, dtype):
                return Read(cell, (), dtype)
            case Number(term) | Mask(term):
                return term
            case Digits() as digits:
                return digits.term()
            case Const() | Var() | App() | Read() as term:
                return term
        raise unread(node, f"{name} is not a number here")

    def index(self, node: ast.expr) -> Term:
        """An expression that is an index, as int64."""
        match node:
            case ast.Call(ast.Attribute(ast.Name("np"), "int64"), [inner]):
                value = self.term(inner)
                if value.dtype not in (INDEX, *INTEGERS):
                    raise unread(node, f"an index that is {value.dtype}")
                return value if value.dtype == INDEX else App("cast", (value,), INDEX)
            case ast.IfExp(test, then, otherwise):
                condition = self.condition(test)
                return select(condition, self.under(condition, then, True), self.under(negation(condition), otherwise, True))
            case ast.BinOp(left, op, right) if type(op) in BINARY:
                return self.arithmetic(node, BINARY[type(op)], self.index(left), self.index(right))
            case ast.Call(ast.Name("min" | "max" | "quotient" | "remainder")):
                return self.call(node)
        value = self.term(node)
        if value.dtype != INDEX:
            raise unread(node, f"{ast.unparse(node)} is no index")
        return value

    def condition(self, node: ast.expr) -> Term:
        """An expression that is a condition."""
        value = self.term(node)
        if value.dtype != BOOL:
            raise unread(node, f"{ast.unparse(node)} is no condition")
        return value

    # ── memory ─────────────────────────────────────────────────────────────────────────────────────────────────

    def element(self, node: ast.Subscript, bits: bool = False) -> Term:
        """`array[at(number)]`. 16-bit floats lie in memory as `bits`."""
        assert isinstance(node.value, ast.Name)
        match node.slice, self.names.get(node.value.id):
            case ast.Call(ast.Name("at"), [number]), Global(tensor):
                if (tensor.dtype in HALVES) != bits:
                    raise unread(node, "the bits of a 16-bit float are not its number")
                return Read(tensor.name, (self.index(number),), tensor.dtype)
            case ast.Call(ast.Name("at"), [number]), Array(name, dtype) if not bits:
                return Read(name, (self.index(number),), dtype)
            case ast.Call(ast.Name("at"), [_]), Mask(term):
                return term
        raise unread(node, f"{ast.unparse(node)} is no element of an array")

    def stored(self, node: ast.expr, dtype: str, memory: bool) -> Term:
        """An expression as what is put into a cell or an element of that dtype; in memory 16-bit floats are bits."""
        match node:
            case _ if dtype not in HALVES or not memory:
                value = self.term(node)
                value = widened(value) if dtype == "f32" else value
                if value.dtype != dtype and not (dtype in HALVES and value.dtype == "f32"):
                    raise unread(node, f"{value.dtype} is put where {dtype} is held")
                return value if value.dtype == dtype else App("cast", (value,), dtype)
            case ast.Subscript():
                return self.element(node, True)
            case ast.Call(ast.Name(name)) if name == f"f32_to_{dtype}":
                return self.term(node)
        raise unread(node, f"bits of {dtype} are held, and a number is put in")

    # ── operations ─────────────────────────────────────────────────────────────────────────────────────────────

    def table(self, node: ast.expr, items: list[ast.expr], place: Term) -> Term:
        entries = tuple(self.term(i) for i in items)
        if len({e.dtype for e in entries}) != 1:
            raise unread(node, "a table of several dtypes")
        return App("table", (place, *entries), entries[0].dtype)

    def choice(self, node: ast.expr, test: ast.expr, then: ast.expr, otherwise: ast.expr) -> Term:
        condition = self.condition(test)
        yes, no = self.agreed(node, self.under(condition, then), self.under(negation(condition), otherwise))
        return select(condition, yes, no)

    def under(self, condition: Term, node: ast.expr, index: bool = False) -> Term:
        """An expression that is evaluated where a condition holds."""
        around, self.here = self.here, self.here.under(condition)
        try:
            return self.index(node) if index else self.term(node)
        finally:
            self.here = around

    def compare(self, node: ast.expr, op: ast.cmpop, left: ast.expr, right: ast.expr) -> Term:
        a, b = self.agreed(node, *self.sides(left, right))
        if type(op) not in COMPARE:
            raise unread(node, "a comparison that kernels do not make")
        return apply(COMPARE[type(op)], a, b) if a.dtype == INDEX else App(COMPARE[type(op)], (a, b), BOOL)

    def unary(self, node: ast.UnaryOp) -> Term:
        if isinstance(node.op, ast.Not):
            return negation(self.condition(node.operand))
        value = self.term(node.operand)
        if not isinstance(node.op, ast.USub) or value.dtype in (BOOL, *INTEGERS):
            raise unread(node, "a sign on what is no float and no index")
        if isinstance(value, Const):
            return replace(value, value=-value.value)
        return 0 - value if value.dtype == INDEX else App("neg", (value,), value.dtype)

    def binary(self, node: ast.BinOp) -> Term:
        """An operation, integers not wrapped yet."""
        if type(node.op) not in BINARY:
            raise unread(node, "an operator that kernels do not use")
        return self.arithmetic(node, BINARY[type(node.op)], *self.sides(node.left, node.right))

    def sides(self, left: ast.expr, right: ast.expr) -> tuple[Term, Term]:
        """Two operands: beside an index `np.int64(…)` makes an index."""
        a, b = self.term(left), self.term(right)
        if a.dtype == "i64" and b.dtype == INDEX:
            a = self.index(left)
        if b.dtype == "i64" and a.dtype == INDEX:
            b = self.index(right)
        return a, b

    def arithmetic(self, node: ast.expr, op: str, a: Term, b: Term) -> Term:
        a, b = self.agreed(node, a, b)
        if a.dtype == INDEX and op != "div":
            if op in ("floordiv", "mod") and not self.here.holds(b >= 1):
                raise unread(node, "a division by what may be less than 1")
            made = apply(op, a, b)
            if canonical(made) not in self.shown and not self.width.fits(made, "cpu", self.here):
                raise Differs(node, f"{text(made)} is computed here, and may not fit 64 bits", "every index fits", open_=True)
            return made
        if a.dtype in FLOATS and op in ("add", "sub", "mul", "div"):
            a, b = widened(a), widened(b)
            return App(op, (a, b), a.dtype)
        if a.dtype in INTEGERS and op != "div" and not (a.dtype == "i64" and op in ("add", "sub", "mul")):
            return App(op, (a, b), a.dtype)
        raise unread(node, f"{op} of {a.dtype}")

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
        raise unread(node, f"{a.dtype} meets {b.dtype} in {ast.unparse(node)}")

    def call(self, node: ast.Call) -> Term:
        """The value of a call: see `cpu_call`."""
        raise unread(node, "a call")
