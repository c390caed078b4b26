"""Expressions as text, with exactly the parentheses that they need to be read back.

Comes in: an expression of `tree`. Goes out: one line, in which `BREAK` stands for a space where a line may be broken.
The one idea: every node has the level of the grammar's rule it comes from, and a part is put in parentheses where it is too low.
"""

from __future__ import annotations

from tinygpu.syntax.tree import Binary, Binder, Call, Cell, Expr, Field, FoldExpr, Group, IfElse, Name, Number, Sized, Unary

BREAK = "\x1f"
CONDITIONAL, DISJUNCTION, NEGATION, TERM, PRODUCT, SIGNED, PRIMARY = 0, 1, 3, 7, 8, 9, 10
# operator: its own level, the levels that its left and its right part must have
LEVELS: dict[str, tuple[int, int, int]] = (
    {"or": (1, 1, 2), "and": (2, 2, 3), "^": (5, 5, 6)}
    | dict.fromkeys(("<", "<=", ">", ">=", "==", "!="), (4, 5, 5))
    | dict.fromkeys(("+", "-"), (6, 6, 7))
    | dict.fromkeys(("*", "/", "//", "%"), (8, 8, 9))
)


def level(expr: Expr) -> int:
    """The level of the grammar's rule that an expression is.

    >>> level(Name("x")), level(Binary("+", Name("x"), Name("y")))
    (10, 6)
    """
    match expr:
        case IfElse():
            return CONDITIONAL
        case Unary("not"):
            return NEGATION
        case Binary(op, _, right):
            own = LEVELS[op][0]
            return TERM if own == PRODUCT and isinstance(right, FoldExpr) else own
        case FoldExpr():
            return TERM
        case Unary(_, operand):
            return TERM if isinstance(operand, FoldExpr) else SIGNED
    return PRIMARY


def show(expr: Expr, wanted: int = 0) -> str:
    """The expression as text, in parentheses where its level is below `wanted`; `BREAK` where a line may be broken."""
    text = _show(expr)
    return text if level(expr) >= wanted else f"({text})"


def _show(expr: Expr) -> str:
    match expr:
        case Number(text):
            return text
        case Name(name):
            return name
        case Cell(name, index, fill):
            return f"{name}[{show_all(index)}{'' if fill is None else f' | {show(fill)}'}]"
        case Call(function, args):
            return f"{function}({show_all(args)})"
        case Unary(op, FoldExpr() as operand) if op == "-":
            return f"-{show(operand)}"
        case Unary(op, operand):
            return f"not {show(operand, NEGATION)}" if op == "not" else f"-{show(operand, SIGNED)}"
        case Binary():
            return _binary(expr)
        case IfElse(value, condition, otherwise):
            return f"{show(value, DISJUNCTION)} if{BREAK}{show(condition, DISJUNCTION)} else{BREAK}{show(otherwise)}"
        case FoldExpr(monoid, binders, body, named, prefix):
            word = ("scan " if named else "scan_") if prefix else "fold " if named else ""
            return f"{word}{monoid}[{f',{BREAK}'.join(map(_binder, binders))}] {show(body, TERM)}"
        case Sized(name, extent):
            return f"{name}: {show(extent)}"
        case Group(items):
            return f"({show_all(items)})"
        case Field(value, name):
            return f"{show(value, PRIMARY)}.{name}"


def show_all(expressions: tuple[Expr, ...]) -> str:
    """`a, b, c`."""
    return f",{BREAK}".join(map(show, expressions))


def _binary(expr: Binary) -> str:
    own, left, right = LEVELS[expr.op]
    if own == PRODUCT and isinstance(expr.right, FoldExpr):
        right = TERM
    a, b = show(expr.left, left), show(expr.right, right)
    tight = expr.op == "*" and _small(expr.left) and _small(expr.right)
    return f"{a}*{b}" if tight else f"{a} {expr.op}{BREAK}{b}"


def _small(expr: Expr) -> bool:
    """Names and numbers, and products of them: `by*64` is read as one thing."""
    match expr:
        case Binary("*", left, right):
            return _small(left) and _small(right)
    return isinstance(expr, Name | Number)


def _binder(binder: Binder) -> str:
    if binder.bound is None:
        return binder.name
    return f"{binder.name} {binder.relation} {show(binder.bound, 5)}"
