"""Expressions: from the tree of a formula to a term of `category.term`, names resolved and dtypes checked.

Comes in: a tree expression and the scope it stands in. Goes out: one term; what is wrong becomes a term of dtype `?`.
The one idea: one recursive function over the closed union of expressions; each kind of node has its rule, and all rules share `meet`.
"""

from __future__ import annotations

from typing import assert_never

from tinygpu.category.monoid import SCALARS, Carrier
from tinygpu.category.operation import ARITHMETICAL, COMPARING
from tinygpu.category.term import (
    BOOL,
    COMPARISONS,
    DTYPES,
    FLOATS,
    FUNCTIONS,
    INDEX,
    INTEGERS,
    SHUFFLES,
    App,
    Const,
    Read,
    Term,
    apply,
    ceildiv,
    conjunction,
    negation,
    select,
)
from tinygpu.diagnostic import Span
from tinygpu.model.builtin import monoid_of
from tinygpu.model.bulk import flat
from tinygpu.model.carried import component, made
from tinygpu.model.dtype import LITERAL, meet, not_offered, offered, settle, to_index
from tinygpu.model.folds import fold
from tinygpu.model.problems import UNKNOWN, WRONG, listing, suggestion
from tinygpu.model.scope import Scope
from tinygpu.model.shuffle import shuffle
from tinygpu.syntax import tree

DIGITS = 300  # of a whole number; longer ones no dtype can hold
BINARY = {row.symbol.strip(): row.name for row in (*ARITHMETICAL, *COMPARING) if row.symbol and row.name != "neg"}
CALLS = (*FUNCTIONS, "min", "max", "where", "ceil", INDEX, *DTYPES)


def value(expr: tree.Expr, scope: Scope) -> Term:
    """`Expr × Scope → Term`. The dtype may still be open (`literal`, `index`); `settle` closes it."""
    match expr:
        case tree.Number():
            return _number(expr, scope)
        case tree.Name():
            return _named(expr, scope)
        case tree.Cell():
            return _cell(expr, scope)
        case tree.Call():
            return _call(expr, scope)
        case tree.Unary():
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
            return fold(expr, scope.at("in a fold"), value)
        case tree.Group((tree.Sized() | tree.Group(),)) | tree.Group(()) | tree.Sized():
            return scope.problems.add("TG127", "a list of factors is no value", expr.span, "a value is needed here")
        case tree.Group((inner,)):
            return value(inner, scope)
        case tree.Group():
            return scope.problems.add("TG127", "a list is no value", expr.span, "one value is needed here")
        case tree.Field():
            return _as_index(component(expr, scope, value), scope)
    assert_never(expr)


def index(expr: tree.Expr, scope: Scope) -> Term:
    """An index term: integers read from tensors are cast, floats are refused."""
    return to_index(value(expr, scope.inside_brackets()), expr.span, scope.problems)


def condition(expr: tree.Expr, scope: Scope) -> Term:
    """A guard: a term of dtype bool."""
    term = value(expr, scope.at("in a condition"))
    if term.dtype in (BOOL, UNKNOWN):
        return term
    return scope.problems.add(
        "TG123", "a number stands where a condition is needed", expr.span, f"this is {_kind(term.dtype)}", help="compare it: … != 0"
    )


def _kind(dtype: str) -> str:
    return {LITERAL: "a number", INDEX: "an index"}.get(dtype, dtype)


def _number(expr: tree.Number, scope: Scope) -> Term:
    text = expr.text.replace("_", "")
    if text.isdigit() and len(text) <= DIGITS:
        return Const(int(text), LITERAL)
    if float(text) == float("inf"):
        return scope.problems.add(
            "TG124", f"no dtype can hold {_shown(expr.text)}", expr.span, "too large", help="the infinity is written inf"
        )
    return Const(float(text), LITERAL)


def _shown(digits: str) -> str:
    return digits if len(digits) <= 40 else f"{digits[:8]}… of {len(digits)} digits"


def _named(expr: tree.Name, scope: Scope) -> Term:
    term = scope.name(expr.name, expr.span)
    return _as_index(term, scope)


def _as_index(term: Term, scope: Scope) -> Term:
    return App("cast", (term,), INDEX) if scope.as_index and term.dtype in INTEGERS else term


def _cell(expr: tree.Cell, scope: Scope) -> Term:
    tensor = scope.tensor(expr.name, expr.span)
    inside = tuple(index(e, scope) for e in expr.index)
    if tensor is None or WRONG in inside:
        return WRONG
    if len(inside) != len(tensor.shape):
        return scope.wrong_rank(tensor, len(inside), expr.span)
    read = Read(expr.name, inside, tensor.dtype, expr.span)
    if expr.fill is None:
        return _as_index(read, scope)
    guards: list[Term] = []
    for term, extent in zip(inside, tensor.shape, strict=True):
        guards += () if _within(term, extent, scope) else (apply("ge", term, 0), apply("lt", term, extent))
    fill = value(expr.fill, scope.at("in a fill"))
    _, filled, dtype = meet(read, fill, (expr.span, expr.fill.span), scope.problems)
    return WRONG if dtype == UNKNOWN else _as_index(select(conjunction(*guards), read, filled), scope)


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
    left, right, dtype = _pair(expr.left, expr.right, scope)
    if dtype == UNKNOWN:
        return WRONG
    if op in ("floordiv", "mod") and dtype not in FLOATS and isinstance(right, Const) and right.value <= 0:
        return scope.problems.add("TG128", "a divisor must be positive", expr.right.span, "// and % take a divisor of at least 1")
    if not offered(op, dtype):
        return not_offered(op, dtype, expr.span, scope.problems)
    return flat(apply(op, left, right), expr.span, scope.problems) if dtype == INDEX else App(op, (left, right), dtype)


def _compare(expr: tree.Binary, scope: Scope) -> Term:
    op = BINARY[expr.op]
    left, right, dtype = _pair(expr.left, expr.right, scope)
    if dtype == UNKNOWN:
        return WRONG
    if isinstance(dtype, Carrier):
        return not_offered(expr.op, dtype, expr.span, scope.problems)
    if dtype == BOOL and op not in ("eq", "ne"):
        fix = "truth values are only equal or not: use == and !=, and, or, not"
        return scope.problems.add("TG122", f"{expr.op} is not defined for bool", expr.span, "two conditions", help=fix)
    if dtype == LITERAL:  # two numbers: indices, if they are whole
        left, right = settle(left, INDEX, expr.left.span, scope.problems), settle(right, INDEX, expr.right.span, scope.problems)
        dtype = INDEX
    return apply(op, left, right) if dtype == INDEX else App(op, (left, right), BOOL)


def _choose(c: tree.Expr, a: tree.Expr, b: tree.Expr, scope: Scope) -> Term:
    guard = condition(c, scope)
    then, otherwise, dtype = _pair(a, b, scope.at("in a branch"))
    if UNKNOWN in (dtype, guard.dtype):
        return WRONG
    return select(guard, then, otherwise)


def _call(expr: tree.Call, scope: Scope) -> Term:
    if expr.function in SHUFFLES:
        return shuffle(expr, scope, value)
    name = scope.dtypes.get(expr.function, expr.function)
    if name not in CALLS and (monoid := monoid_of(name, scope.monoids)) is not None:
        return made(monoid, expr, scope, value)
    if name not in CALLS:
        known = CALLS if scope.place == "outside a program" else (*CALLS, *SHUFFLES)
        fix = (
            f"{name} is a tensor: write {name}[…]"
            if name in scope.tensors
            else suggestion(name, (*known, *SCALARS, *scope.monoids))
        )
        fix = fix or f"the functions are {listing((*FUNCTIONS, 'min', 'max', 'where'))}"
        return scope.problems.add("TG107", f"unknown function {name}", expr.span, "no function has this name", help=fix)
    least, most = {"where": (3, 3), "min": (2, 99), "max": (2, 99)}.get(name, (1, 1))
    if not least <= len(expr.args) <= most:
        needed = f"{least} arguments" if least > 1 else "1 argument"
        fold_fix = {"where": "write where(condition, a, b)"}.get(
            name, f"to fold over an index, write {name}[k] …" if most > 3 else ""
        )
        return scope.problems.add(
            "TG125", f"{name} takes {needed}{' or more' if most > 3 else ''}", expr.span, f"{len(expr.args)} given", help=fold_fix
        )
    if name == "where":
        return _choose(expr.args[0], expr.args[1], expr.args[2], scope)
    if name in ("min", "max"):
        return _extremum(name, expr.args, scope)
    if name in ("ceil", INDEX):
        return _ceiling(expr, scope) if name == "ceil" else index(expr.args[0], scope)
    argument = value(expr.args[0], scope)
    if argument.dtype == UNKNOWN:
        return WRONG
    return cast(argument, name, expr.span, scope) if name in DTYPES else _function(name, argument, expr, scope)


def cast(term: Term, dtype: str, span: Span, scope: Scope) -> Term:
    """`dtype(term)`, nothing where the term has the dtype already."""
    scope.used.add(dtype)
    if dtype == BOOL and term.dtype != BOOL:
        return scope.problems.add("TG122", "a number is not cast to bool", span, "a cast to bool", help="compare it: … != 0")
    if isinstance(term.dtype, Carrier):
        return not_offered(dtype, term.dtype, span, scope.problems)
    settled = settle(term, dtype, span, scope.problems)
    if settled.dtype in (dtype, UNKNOWN):
        return _as_index(settled, scope)
    return _as_index(App("cast", (settled,), dtype), scope)


def _function(name: str, argument: Term, expr: tree.Call, scope: Scope) -> Term:
    if argument.dtype == INDEX:
        if name == "abs":
            return apply("max", argument, apply("sub", 0, argument))
        argument = App("cast", (argument,), LITERAL)  # takes the dtype of what it meets
    if not offered(name, argument.dtype):
        return not_offered(name, argument.dtype, expr.span, scope.problems)
    return App(name, (argument,), argument.dtype)


def _extremum(name: str, args: tuple[tree.Expr, ...], scope: Scope) -> Term:
    left, span = value(args[0], scope), args[0].span
    for arg in args[1:]:
        a, b, dtype = meet(left, value(arg, scope), (span, arg.span), scope.problems)
        if dtype == UNKNOWN:
            return WRONG
        if dtype == BOOL or isinstance(dtype, Carrier):
            return not_offered(name, dtype, arg.span, scope.problems)
        left = apply(name, a, b) if dtype == INDEX else App(name, (a, b), dtype)
    return left


def _ceiling(expr: tree.Call, scope: Scope) -> Term:
    match expr.args:
        case (tree.Binary("/", a, b),):
            top, bottom = index(a, scope), index(b, scope)
            if WRONG in (top, bottom):
                return WRONG
            if isinstance(bottom, Const) and bottom.value <= 0:
                return scope.problems.add("TG128", "a divisor must be positive", b.span, "ceil takes a divisor of at least 1")
            return ceildiv(top, bottom)
    return scope.problems.add(
        "TG122", "ceil is for a quotient of sizes", expr.span, "not of the form ceil(a / b)", help="for values write -floor(-x)"
    )
