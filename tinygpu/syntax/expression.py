"""Expressions of the syntax tree, and their text with exactly the parentheses that it needs to be read back.

Comes in: what the parser or a Python program builds. Goes out: frozen nodes with spans, which say what was written, not what it means:
`(g, t)` is a group, whether it turns out to be factors or a parenthesis; and one line, in which `BREAK` stands for a space where a line
may be broken. The one idea: every node has the level of the grammar's rule it comes from, and a part is put in parentheses where it is too low.
"""

from __future__ import annotations

from typing import TypeAlias

from tinygpu.syntax.node import Node

BREAK = "\x1f"
PREFIX = "scan_"


class Number(Node, number="text"):
    """`12`, `0.5`, `1e-3`: the text as written."""

    text: str


class Name(Node, name="name"):
    """A name: a size, an index, a factor, a param, `inf`, `true`, `false`."""

    name: str


class Cell(Node, cell="name index", padded="name index fill"):
    """`A[i, k]`, or `x[p + r - 1 | 0]` with a fill outside the tensor."""

    name: str
    index: tuple[Expr, ...]
    fill: Expr | None = None


class Call(Node, call="function args"):
    """`exp(x)`, `f32(x)`, `max(a, b)`, `where(c, a, b)`, `ceil(n / 4)`."""

    function: str
    args: tuple[Expr, ...]


class Unary(Node, unary="op operand"):
    """`-x`, `not c`."""

    op: str
    operand: Expr


class Binary(Node, binary="left op right"):
    """`+ - * / // % ^ < <= > >= == != and or`, the operator as written."""

    op: str
    left: Expr
    right: Expr


class IfElse(Node, conditional="value condition otherwise"):
    """`value if condition else otherwise`."""

    value: Expr
    condition: Expr
    otherwise: Expr


class Binder(Node, binder="name relation bound"):
    """`k`, `k < 3` or `k <= q`: relation is empty, `<` or `<=`."""

    name: str
    relation: str = ""
    bound: Expr | None = None


class FoldExpr(Node, fold_named="monoid binders body named=True", scan_named="monoid binders body named=True prefix=True"):
    """`sum[k] A[i, k] * B[k, j]`; `named` for `fold NAME[k] …` of a user's monoid; `prefix` for `scan_sum[k <= i] …`, `scan NAME[k <= i] …`."""

    monoid: str
    binders: tuple[Binder, ...]
    body: Expr
    named: bool = False
    prefix: bool = False


class Sized(Node, sized="name extent"):
    """`v: 4`, a factor with its extent."""

    name: str
    extent: Expr


class Group(Node, group="items"):
    """`(g, t, v: 4)`, a list of factors, or `(g*256 + t)`, a parenthesis: elaboration tells them apart. `()` is empty."""

    items: tuple[Expr, ...]


class Field(Node, field="value name"):
    """`p.mean`, a component of a tuple value."""

    value: Expr
    name: str


# Sized stands only inside a Group
Expr: TypeAlias = Number | Name | Cell | Call | Unary | Binary | IfElse | FoldExpr | Sized | Group | Field


# ── as text ────────────────────────────────────────────────────────────────────────────────────────────────────────

CONDITIONAL, DISJUNCTION, NEGATION, EXCLUSIVE, TERM, PRODUCT, SIGNED, PRIMARY = 0, 1, 3, 5, 7, 8, 9, 10
# operator: its own level, the levels that its left and its right part must have
LEVELS: dict[str, tuple[int, int, int]] = (
    {"or": (1, 1, 2), "and": (2, 2, 3), "^": (5, 5, 6)}
    | dict.fromkeys(("<", "<=", ">", ">=", "==", "!="), (4, 5, 5))
    | dict.fromkeys(("+", "-"), (6, 6, 7))
    | dict.fromkeys(("*", "/", "//", "%"), (8, 8, 9))
)


def level(expr: Expr) -> int:
    """The level of the grammar's rule that an expression is."""
    match expr:
        case IfElse():
            return CONDITIONAL
        case Unary("not"):
            return NEGATION
        case FoldExpr() | Unary(_, FoldExpr()) | Binary("*" | "/" | "//" | "%", _, FoldExpr()):
            return TERM
        case Binary(op):
            return LEVELS[op][0]
        case Unary():
            return SIGNED
    return PRIMARY


def show(expr: Expr, wanted: int = CONDITIONAL) -> str:
    """The expression as text, in parentheses where its level is below `wanted`; `BREAK` where a line may be broken."""
    text = _show(expr)
    return text if level(expr) >= wanted else f"({text})"


def show_all(expressions: tuple[Expr, ...]) -> str:
    """`a, b, c`."""
    return f",{BREAK}".join(map(show, expressions))


def _show(expr: Expr) -> str:
    match expr:
        case Number(text) | Name(text):
            return text
        case Cell(name, index, fill):
            return f"{name}[{show_all(index)}{'' if fill is None else f' | {show(fill)}'}]"
        case Call(function, args):
            return f"{function}({show_all(args)})"
        case Unary("not", operand):
            return f"not {show(operand, NEGATION)}"
        case Unary(_, operand):
            return f"-{show(operand, TERM if isinstance(operand, FoldExpr) else SIGNED)}"
        case Binary(op, left, right):
            _, before, behind = LEVELS[op]
            a, b = show(left, before), show(right, TERM if level(expr) == TERM else behind)
            return f"{a}*{b}" if op == "*" and _small(left) and _small(right) else f"{a} {op}{BREAK}{b}"
        case IfElse(value, condition, otherwise):
            return f"{show(value, DISJUNCTION)} if{BREAK}{show(condition, DISJUNCTION)} else{BREAK}{show(otherwise)}"
        case FoldExpr(monoid, binders, body, named, prefix):
            word = ("scan " if named else PREFIX) if prefix else "fold " if named else ""
            return f"{word}{monoid}[{f',{BREAK}'.join(map(_binder, binders))}] {show(body, TERM)}"
        case Sized(name, extent):
            return f"{name}: {show(extent)}"
        case Group(items):
            return f"({show_all(items)})"
        case Field(value, name):
            return f"{show(value, PRIMARY)}.{name}"


def _small(expr: Expr) -> bool:
    """Names and numbers, and products of them: `by*64` is read as one thing."""
    match expr:
        case Binary("*", left, right):
            return _small(left) and _small(right)
    return isinstance(expr, Name | Number)


def _binder(binder: Binder) -> str:
    return binder.name if binder.bound is None else f"{binder.name} {binder.relation} {show(binder.bound, EXCLUSIVE)}"
