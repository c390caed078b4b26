"""One function for each rule of the grammar that makes a step of a program or an expression.

Comes in: a span and the parts of the rule, in order (words as text, absent parts as None). Goes out: the node.
The one idea: the functions bear the names of the rules, so the module is the table.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from tinygpu.diagnostic import Span
from tinygpu.syntax import tree
from tinygpu.syntax.tree import Cell, Expr

PREFIX = "scan_"
UPDATES = {"=": "", "+=": "sum", "*=": "prod"}


def rules_of(module: str, names: dict[str, Any]) -> dict[str, Callable[..., Any]]:
    """The functions that a module defines, by name."""
    return {name: rule for name, rule in names.items() if isinstance(rule, FunctionType) and rule.__module__ == module}


# ── steps ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def array(
    span: Span,
    space: str,
    name: str,
    dtype: str,
    extents: tuple[Expr, ...],
    order: tuple[str, ...] | None,
    place: tree.Place | None,
) -> tree.Array:
    return tree.Array(space, name, dtype, extents, order or (), place, span)


def assign(span: Span, atomic: str | None, target: Cell, update: str, value: Expr, guard: Expr | None = None) -> tree.Assign:
    return tree.Assign(target, value, update, guard, atomic is not None, span)


def update(span: Span, word: str, equals: str | None = None) -> str:
    return UPDATES.get(word, word)


def holds(span: Span, target: Cell, value: Expr) -> tree.Holds:
    return tree.Holds(target, value, span)


def for_extent(span: Span, name: str, extent: Expr, sort: str | None, body: tuple[tree.Statement, ...]) -> tree.For:
    return tree.For(name, extent, body, sort or "time", (), span)


def for_values(span: Span, name: str, values: tree.Group, body: tuple[tree.Statement, ...]) -> tree.For:
    return tree.For(name, None, body, "time", values.items, span)


def if_(span: Span, guard: Expr, body: tuple[tree.Statement, ...]) -> tree.If:
    return tree.If(guard, body, span)


def sync(span: Span, *words: str) -> tree.Sync:
    return tree.Sync(" ".join(words), None, span)


def wait(span: Span, count: Expr) -> tree.Sync:
    return tree.Sync("wait", count, span)


def launch_statement(span: Span, *parts: Any) -> tree.LaunchStatement:
    return tree.LaunchStatement(parts[:-1], parts[-1], span)


# ── expressions ────────────────────────────────────────────────────────────────────────────────────────────────────


def conditional(span: Span, value: Expr, condition: Expr, otherwise: Expr) -> tree.IfElse:
    return tree.IfElse(value, condition, otherwise, span)


def binary(span: Span, left: Expr, op: str, right: Expr) -> tree.Binary:
    return tree.Binary(op, left, right, span)


def unary(span: Span, op: str, operand: Expr) -> tree.Unary:
    return tree.Unary(op, operand, span)


def fold(span: Span, monoid: str, binders: tuple[tree.Binder, ...], body: Expr) -> tree.FoldExpr:
    prefix, name = monoid.startswith(PREFIX), monoid.removeprefix(PREFIX)
    return tree.FoldExpr(name, binders, body, False, prefix, span)


def fold_named(span: Span, monoid: str, binders: tuple[tree.Binder, ...], body: Expr) -> tree.FoldExpr:
    return tree.FoldExpr(monoid, binders, body, True, False, span)


def scan_named(span: Span, monoid: str, binders: tuple[tree.Binder, ...], body: Expr) -> tree.FoldExpr:
    return tree.FoldExpr(monoid, binders, body, True, True, span)


def binder(span: Span, name: str, relation: str | None, bound: Expr | None) -> tree.Binder:
    return tree.Binder(name, relation or "", bound, span)


def number(span: Span, word: str) -> tree.Number:
    return tree.Number(word, span)


def name(span: Span, word: str) -> tree.Name:
    return tree.Name(word, span)


def field(span: Span, value: Expr, name: str) -> tree.Field:
    return tree.Field(value, name, span)


def cell(span: Span, name: str, index: tuple[Expr, ...] | None) -> Cell:
    return Cell(name, index or (), None, span)


def padded(span: Span, name: str, index: tuple[Expr, ...], fill: Expr) -> Cell:
    return Cell(name, index, fill, span)


def call(span: Span, function: str, args: tuple[Expr, ...]) -> tree.Call:
    return tree.Call(function, args, span)


def group(span: Span, items: tuple[Expr, ...] | None) -> tree.Group:
    return tree.Group(items or (), span)


def sized(span: Span, name: str, extent: Expr) -> tree.Sized:
    return tree.Sized(name, extent, span)


RULES = rules_of(__name__, globals()) | {"assign_guarded": assign}
