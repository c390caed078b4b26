"""Expressions: from the tree of a formula to a term of `category.term`, names resolved and dtypes checked.

Comes in: a tree expression and the scope it stands in. Goes out: one term; what is wrong becomes a term of dtype `?`.
The one idea: one recursive function over the closed union of expressions; each kind of node has its rule, and all rules share `meet`.
"""

from __future__ import annotations

from typing import assert_never

from tinygpu.category.dtype import contains
from tinygpu.category.monoid import Carrier
from tinygpu.category.operation import ARITHMETICAL, COMPARING, COMPARISONS, SHUFFLES
from tinygpu.category.term import (
    BOOL,
    DTYPES,
    FLOATS,
    INDEX,
    INTEGERS,
    App,
    Const,
    Read,
    Term,
    apply,
    ceildiv,
    conjunction,
    folds,
    negation,
    select,
)
from tinygpu.model.bits import MASKS, SHIFTS, bitwise, flipped
from tinygpu.model.bulk import flat
from tinygpu.model.call import called, component, may_call
from tinygpu.model.dtype import LITERAL, meet, not_offered, offered, settle, to_index
from tinygpu.model.folds import fold, truth
from tinygpu.model.problems import UNKNOWN, WRONG
from tinygpu.model.scope import Scope
from tinygpu.syntax import tree

BINARY = {row.symbol.strip(): row.name for row in (*ARITHMETICAL, *COMPARING) if row.symbol and row.name != "neg"}


def value(expr: tree.Expr, scope: Scope) -> Term:
    """`Expr × Scope → Term`. The dtype may still be open (`literal`, `index`); `settle` closes it."""
    match expr:
        case tree.Number():
            return _number(expr, scope)
        case tree.Name():
            return scope.indexed(scope.name(expr.name, expr.span))
        case tree.Cell():
            return _cell(expr, scope)
        case tree.Call():
            return _call(expr, scope)
        case tree.Unary():
            if expr.op == "~":
                return flipped(value(expr.operand, scope), expr.span, scope)
            return negation(condition(expr.operand, scope)) if expr.op == "not" else _negative(expr, scope)
        case tree.Binary(op, left, right):
            if op == "and":
                return conjunction(condition(left, scope), condition(right, scope))
            if op == "or":
                return App("or", (condition(left, scope), condition(right, scope)), BOOL)
            return _compare(expr, scope) if BINARY[op] in COMPARISONS else _arithmetic(expr, scope)
        case tree.IfElse(a, c, b):
            return _choose(c, a, b, scope)
        case tree.FoldExpr():
            return fold(expr, scope.at("in a fold"), value)[0]
        case tree.Group((tree.Sized(),)) | tree.Group(()) | tree.Sized():
            return scope.problems.say("TG127.factors", expr.span)
        case tree.Group((inner,)):
            return value(inner, scope)
        case tree.Group():
            return scope.problems.say("TG127.list", expr.span)
        case tree.Field():
            return component(value(expr.value, scope), expr, scope)
    assert_never(expr)


def index(expr: tree.Expr, scope: Scope) -> Term:
    """An index term: integers read from tensors are cast, floats are refused."""
    return to_index(value(expr, scope.inside_brackets()), expr.span, scope.problems)


def condition(expr: tree.Expr, scope: Scope) -> Term:
    """A guard: a term of dtype bool."""
    return truth(value(expr, scope.at("in a condition")), expr.span, scope.problems)


def _number(expr: tree.Number, scope: Scope) -> Term:
    text = expr.text
    if expr.value == float("inf"):
        number = text if len(text) <= 40 else f"{text[:8]}… of {len(text)} digits"
        return scope.problems.say("TG124.large", expr.span, number=number)
    return Const(expr.value, LITERAL)


def _cell(expr: tree.Cell, scope: Scope) -> Term:
    tensor = scope.tensor(expr.name, expr.span)
    inside = tuple(index(e, scope) for e in expr.index)
    if tensor is None or WRONG in inside:
        return WRONG
    if len(inside) != len(tensor.shape):
        return scope.wrong_rank(tensor, len(inside), expr.span)
    read = Read(tensor.name, inside, tensor.dtype, expr.span)
    if expr.fill is None:
        return scope.indexed(read)
    guards: list[Term] = []
    for term, extent in zip(inside, tensor.shape, strict=True):
        guards += () if _within(term, extent, scope) else (apply("ge", term, 0), apply("lt", term, extent))
    fill = value(expr.fill, scope.at("in a fill"))
    _, filled, dtype = meet(read, fill, (expr.span, expr.fill.span), scope.problems)
    return WRONG if dtype == UNKNOWN else scope.indexed(select(conjunction(*guards), read, filled))


def _within(term: Term, extent: Term, scope: Scope) -> bool:
    """Whether a bare index runs over exactly this extent, so that a padded read cannot leave it."""
    return scope.indices.get(getattr(term, "name", "")) == extent


def _negative(expr: tree.Unary, scope: Scope) -> Term:
    term = value(expr.operand, scope)
    if isinstance(term, Const) and term.dtype == LITERAL and repr(term.value) != "0.0":  # -0.0 equals 0.0, and is another number
        return Const(-term.value, LITERAL)
    if term.dtype == UNKNOWN:
        return WRONG
    if term.dtype == BOOL:
        return not_offered("sub", BOOL, expr.span, scope.problems)
    return apply("sub", 0, term) if term.dtype == INDEX else App("neg", (term,), term.dtype)


def _pair(a: tree.Expr, b: tree.Expr, scope: Scope) -> tuple[Term, Term, str]:
    return meet(value(a, scope), value(b, scope), (a.span, b.span), scope.problems)


def _arithmetic(expr: tree.Binary, scope: Scope) -> Term:
    op = BINARY[expr.op]
    if op in SHIFTS + MASKS:
        return bitwise(op, value(expr.left, scope), value(expr.right, scope), (expr.left.span, expr.right.span), scope)
    left, right, dtype = _pair(expr.left, expr.right, scope)
    if dtype == UNKNOWN:
        return WRONG
    if op in ("floordiv", "mod") and dtype not in FLOATS and isinstance(right, Const) and right.value <= 0:
        return scope.problems.say("TG128.divisor", expr.right.span)
    if not offered(op, dtype):
        return not_offered(op, dtype, expr.span, scope.problems)
    return flat(apply(op, left, right), expr.span, scope.problems) if dtype == INDEX else App(op, (left, right), dtype)


def _compare(expr: tree.Binary, scope: Scope) -> Term:
    op, spans = BINARY[expr.op], (expr.left.span, expr.right.span)
    left, right, dtype = meet(*_integers(value(expr.left, scope), value(expr.right, scope)), spans, scope.problems)
    if dtype == UNKNOWN:
        return WRONG
    if isinstance(dtype, Carrier):
        return not_offered(expr.op, dtype, expr.span, scope.problems)
    if dtype == BOOL and op not in ("eq", "ne"):
        return scope.problems.say("TG122.truth", expr.span, sign=expr.op)
    if dtype == LITERAL:  # two numbers: indices, if they are whole
        left, right = settle(left, INDEX, expr.left.span, scope.problems), settle(right, INDEX, expr.right.span, scope.problems)
        dtype = INDEX
    return apply(op, left, right) if dtype == INDEX else App(op, (left, right), BOOL)


def _integers(left: Term, right: Term) -> tuple[Term, Term]:
    """An integer and an index as the integers that they are, where neither wraps: every index holds an i32, and an i64 every index."""
    for data, other in ((left, right), (right, left)):
        if contains("i64", data.dtype) and data.dtype in INTEGERS and other.dtype == INDEX and not folds(other):
            held = INDEX if contains("i32", data.dtype) else "i64"
            return tuple(t if t.dtype == held else App("cast", (t,), held) for t in (left, right))  # type: ignore[return-value]
    return left, right


def _choose(c: tree.Expr, a: tree.Expr, b: tree.Expr, scope: Scope) -> Term:
    guard = condition(c, scope)
    then, otherwise, dtype = _pair(a, b, scope.at("in a branch"))
    if UNKNOWN in (dtype, guard.dtype):
        return WRONG
    return select(guard, then, otherwise)


def _call(expr: tree.Call, scope: Scope) -> Term:
    name = expr.function if expr.function in SHUFFLES else scope.function(expr.function)
    if not may_call(name, expr, scope):
        return WRONG
    match name, expr.args:
        case "where", (guard, then, otherwise):
            return _choose(guard, then, otherwise, scope)
        case "ceil", (inner,):
            return _ceiling(expr, inner, scope)
        case _ if name == INDEX:
            return index(expr.args[0], scope)
        case _ if name in SHUFFLES:
            given: tuple[Term, ...] = value(expr.args[0], scope), index(expr.args[1], scope)
        case _ if name in DTYPES:
            given = (value(expr.args[0], scope.outside_brackets()),)
        case _:
            given = tuple(value(arg, scope) for arg in expr.args)
    return WRONG if any(term.dtype == UNKNOWN for term in given) else called(name, given, expr, scope)


def _ceiling(expr: tree.Call, inner: tree.Expr, scope: Scope) -> Term:
    """`⌈a / b⌉` of sizes; of a float what is the same: `-floor(-x)`."""
    match inner:
        case tree.Binary("/", a, b) if not any(value(side, scope).dtype in FLOATS for side in (a, b)):
            return _rounded_up(a, b, scope)
    term = value(inner, scope)
    if term.dtype not in FLOATS:
        return WRONG if term.dtype == UNKNOWN else scope.problems.say("TG122.ceil", expr.span)
    down = App("floor", (App("neg", (term,), term.dtype),), term.dtype)
    return App("neg", (down,), term.dtype)


def _rounded_up(a: tree.Expr, b: tree.Expr, scope: Scope) -> Term:
    top, bottom = index(a, scope), index(b, scope)
    if WRONG in (top, bottom):
        return WRONG
    if isinstance(bottom, Const) and bottom.value <= 0:
        return scope.problems.say("TG128.ceil", b.span)
    return ceildiv(top, bottom)
