"""Calls in a CPU kernel as terms: conversions, Python's functions, helpers of the module.

Comes in: a call and what names stand for. Goes out: its term. The one idea: a helper is an operation of terms, since its text is known; what
is not in the list is unread.
"""

from __future__ import annotations

import ast

from tinygpu.category.bounds import natural
from tinygpu.category.dtype import HALVES
from tinygpu.category.operation import FUNCTION
from tinygpu.category.term import (
    BOOL,
    FLOATS,
    INDEX,
    INTEGERS,
    App,
    Const,
    Term,
    Var,
    apply,
)
from tinygpu.validate.cpu_names import Digits
from tinygpu.validate.cpu_number import fits, literal, narrow, widened
from tinygpu.validate.cpu_value import DTYPE, Expressions
from tinygpu.validate.typed import unread

MATH = tuple(row.name for row in FUNCTION.values() if not row.cpu)  # each a function of the module
WRAPS = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
}  # modulo 2⁶⁴ the same of unsigned numbers; of int64 numba leaves it undefined


class Values(Expressions):
    """Expressions, calls included."""

    def call(self, node: ast.Call) -> Term:
        if node.keywords:
            raise unread(node, "keywords")
        match node.func, node.args:
            case ast.Attribute(ast.Name("np"), name), [arg] if name in DTYPE:
                return self.conversion(node, DTYPE[name], arg)
            case ast.Attribute(ast.Name("np"), name), [arg] if name in FUNCTION and FUNCTION[name].cpu == f"np.{name}":
                return self.function(node, name, arg, "")
            case ast.Name("abs"), [arg]:
                return self.function(node, "abs", arg, "")
            case ast.Name("min" | "max" as name), [first, *rest] if rest:
                out = self.index(first)
                for other in rest:
                    out = apply(name, out, self.index(other))
                return out
            case ast.Name(name), args if name not in self.names:
                self.called.add(name)
                return self.helper(node, name, args)
        raise unread(node, f"{ast.unparse(node)} is no call that kernels make")

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
        raise unread(node, f"{ast.unparse(node)} is no call that kernels make")

    def digits(self, node: ast.expr) -> Digits | None:
        """The leading digits of a number, where an expression is that."""
        match node:
            case ast.Call(ast.Name("quotient"), [ast.Name(name), divisor], []) if isinstance(found := self.names.get(name), Digits):
                if found.axes and self.here.same(natural(found.axes[-1].extent), self.index(divisor)):
                    self.called.add("quotient")
                    return Digits(found.axes[:-1]) if len(found.axes) > 2 else None
            case ast.Name(name) if isinstance(found := self.names.get(name), Digits):
                return found if len(found.axes) > 1 else None
        return None

    def division(self, node: ast.Call, name: str, left: ast.expr, right: ast.expr) -> Term:
        """Euclidean division of natural numbers: of digits it is a digit."""
        a = self.names.get(left.id) if isinstance(left, ast.Name) else None
        b = self.term(right)
        if isinstance(a, Digits) and a.axes and self.here.same(natural(a.axes[-1].extent), b):
            rest = Digits(a.axes[:-1])
            return Var(a.axes[-1].name) if name == "remainder" else rest.term()
        x = self.term(left)
        if x.dtype == INDEX and not self.here.holds(x >= 0):
            raise unread(node, "the quotient of what may be negative")
        op = "floordiv" if name == "quotient" else "mod"
        return self.arithmetic(node, op, x, b)

    def function(self, node: ast.expr, op: str, arg: ast.expr, dtype: str) -> Term:
        value = self.term(arg)
        value = value if op == "abs" else widened(value)
        if value.dtype not in FLOATS or (dtype and value.dtype != dtype):
            raise unread(node, f"{op} of {value.dtype}")
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
            case ast.BinOp(
                ast.Call(ast.Attribute(ast.Name("np"), "uint64"), [left]),
                op,
                ast.Call(ast.Attribute(ast.Name("np"), "uint64"), [right]),
            ) if dtype == "i64" and type(op) in WRAPS:
                a, b = self.term(left), self.term(right)
                if a.dtype == b.dtype == dtype:
                    return App(WRAPS[type(op)], (a, b), dtype)
            case ast.BinOp() if dtype in INTEGERS:
                made = self.binary(arg)
                if made.dtype in (dtype, INDEX):
                    return made if made.dtype == dtype else App("cast", (made,), dtype)
                raise unread(node, f"an operation on {made.dtype} in {dtype}")
            case ast.UnaryOp(ast.USub(), operand) if dtype in INTEGERS:
                value = self.term(operand)
                if value.dtype == dtype:
                    return App("neg", (value,), dtype)
            case ast.Call(ast.Name("abs"), [operand]) if dtype in INTEGERS:
                value = self.term(operand)
                if value.dtype == dtype:
                    return App("abs", (value,), dtype)
        value = self.term(arg)
        if value.dtype == dtype or (value.dtype in HALVES and dtype == "f32"):
            return value
        if value.dtype in FLOATS and dtype in INTEGERS:
            raise unread(node, "a float that is cut without its range being looked at")
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
