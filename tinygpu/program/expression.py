"""Terms as expressions of the syntax tree, which the formatter prints.

Comes in: a term, and which tensors are scalars. Goes out: an expression without parentheses. The one idea: an expression that is read again
is the same term.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from tinygpu.category.monoid import WORDS, component
from tinygpu.category.term import BOOL, COMPARISONS, INDEX, SYMBOL, App, Axis, Const, Fold, Read, Term, Var
from tinygpu.record import replace
from tinygpu.syntax import tree

OPERATORS: Mapping[str, str] = {op: symbol.strip() for op, (symbol, _) in SYMBOL.items()}
EXACT = 2**53  # integers up to here are floats without loss, and are written without a point
Scalars = frozenset[str]  # the arguments of rank 0, which are read by their bare name


def cell(name: str, index: tuple[Term, ...], scalars: Scalars) -> tree.Cell:
    """`name[index]`."""
    return tree.Cell(name, tuple(expression(i, scalars, inside=True) for i in index))


def expression(term: Term, scalars: Scalars = frozenset(), inside: bool = False) -> tree.Expr:
    """`term → expression`, without parentheses: the formatter puts them where they are needed. `inside` brackets an integer is an index without a word.

    >>> expression(Read("a", (), "f32"), frozenset("a")), expression(Const(-1.0, "f32"))
    (Name(name='a'), Unary(op='-', operand=Number(text='1')))
    """
    match term:
        case Const(value):
            return constant(value)
        case Var(name):
            return tree.Name(name)
        case Read(tensor, ()) if tensor in scalars:
            return tree.Name(tensor)
        case Read(tensor, index):
            return cell(tensor, index, scalars)
        case App("neg", (Const(_, dtype) as inner,)):  # `-2` is a literal, this is an operation
            return tree.Unary("-", tree.Call(dtype, (expression(inner),)))
        case App("part", (value, Const(int(place)))):
            return tree.Field(expression(value, scalars), component(value.dtype, place))
        case App("cast", (inner,), "index"):
            number = integer(inner, scalars)
            return number if inside else tree.Call(INDEX, (number,))
        case App(op, (a, b), dtype) if op in COMPARISONS and a.dtype not in (BOOL, INDEX) and unsaid(a) and unsaid(b):
            return application(op, (tree.Call(a.dtype, (expression(a, scalars),)), expression(b, scalars)), dtype)
        case App(op, args, dtype):
            return application(op, tuple(expression(a, scalars, inside and op != "cast") for a in args), dtype)
        case Fold(monoid, axes, guard, body, dtype):
            return replace(folded(monoid, axes, guard, expression(body, scalars), scalars), named=monoid not in WORDS)
    assert_never(term)


def unsaid(term: Term) -> bool:
    """Whether nothing in a number says its dtype.

    >>> flag = App("select", (Var("c", BOOL), Const(1, "i32"), Const(0, "i32")), "i32")
    >>> unsaid(flag), expression(App("ne", (flag, Const(0, "i32")), BOOL)).left.function
    (True, 'i32')
    """
    match term:
        case App("select", (_, *parts)):
            return all(map(unsaid, parts))
        case App(op, args):
            return op not in ("cast", "pack", "part") and all(map(unsaid, args))
    return isinstance(term, Const)


def integer(term: Term, scalars: Scalars) -> tree.Expr:
    """An integer that is an index here: what was computed of it before, in its own dtype, stands in a word for that.

    >>> key = Read("key", (), "u32")
    >>> integer(key, frozenset(["key"])), integer(App("mod", (key, Const(16, "u32")), "u32"), frozenset(["key"]))
    (Name(name='key'), Call(function='u32', args=(Binary(op='%', left=Name(name='key'), right=Number(text='16')),)))
    """
    if isinstance(term, App) and term.op not in ("cast", "part"):
        return tree.Call(term.dtype, (expression(term, scalars),))
    return expression(term, scalars, inside=True)


def folded(monoid: str, axes: tuple[Axis, ...], guard: Term, body: tree.Expr, scalars: Scalars) -> tree.FoldExpr:
    """`sum[k < K] body`; a guard of the last binder, `k < e` or `k <= e`, stands as its bound where its range is a size, which the body gives, any other one
    behind the binders: `sum[k < K : 2 <= k]`."""
    ranges = {axis.name: axis.extent for axis in axes}
    bounds = {axis.name: ("<", expression(axis.extent, scalars)) for axis in axes}
    condition: tree.Expr | None = None
    match guard:
        case Const(True):
            pass
        case App(("lt" | "le") as op, (Var(name), bound)) if isinstance(ranges.get(name), Var | Const):
            bounds[name] = ("<" if op == "lt" else "<=", expression(bound, scalars))
        case _:
            condition = expression(guard, scalars)
    return tree.FoldExpr(monoid, tuple(tree.Binder(name, *bound) for name, bound in bounds.items()), body, guard=condition)


def application(op: str, args: tuple[tree.Expr, ...], dtype: str) -> tree.Expr:
    """`op(args)` as it is written: an operator, a conditional, a cast or a call."""
    match op, args:
        case "select", (condition, then, otherwise):
            return tree.IfElse(then, condition, otherwise)
        case (("cast" | "pack"), _):
            return tree.Call(dtype, args)
        case "ceildiv", (a, b):
            return tree.Call("ceil", (tree.Binary("/", a, b),))
        case (("neg" | "not"), (a,)):
            return tree.Unary(OPERATORS[op], a)
        case _ if op in OPERATORS and (op not in COMPARISONS or len(args) == 2):
            result = args[0]
            for arg in args[1:]:
                result = tree.Binary(OPERATORS[op], result, arg)
            return result
    return tree.Call(op, args)


def constant(value: int | float | bool) -> tree.Expr:
    """A literal: `true`, `inf`, `3`, `0.5`, and what is negative with its sign before it.

    >>> constant(True), constant(-0.0), constant(1e300)
    (Name(name='true'), Unary(op='-', operand=Number(text='0.0')), Number(text='1e+300'))
    """
    if isinstance(value, bool):
        return tree.Name("true" if value else "false")
    if value < 0:
        return tree.Unary("-", constant(-value))
    if value == 0 and str(value) == "-0.0":
        return tree.Unary("-", tree.Number("0.0"))
    if value == float("inf"):
        return tree.Name("inf")
    whole = isinstance(value, int) or (value.is_integer() and value < EXACT)
    return tree.Number(str(int(value)) if whole else repr(value))
