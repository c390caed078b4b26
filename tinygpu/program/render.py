"""Programs as text: what `show --program` prints, and what a person may copy, change and have proved again.

Comes in: a program. Goes out: the statements of the syntax tree, and through the formatter their text.
The one idea: the text is the program, so `read` of what is printed here gives an equal program back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from tinygpu.category.term import COMPARISONS, SYMBOL, App, Axis, Const, Fold, Read, Term, Var
from tinygpu.program.step import Assign, For, Holds, If, Launch, Local, Program, Step
from tinygpu.syntax import tree

OPERATORS: Mapping[str, str] = {op: symbol.strip() for op, (symbol, _) in SYMBOL.items()}
EXACT = 2**53  # integers up to here are floats without loss, and are written without a point


def render(program: Program) -> str:
    """`program → text`: the `program { … }` clause. It parses, and reads back to an equal program."""
    from tinygpu.syntax.format import format_statements

    body = format_statements(to_statements(program)).rstrip("\n")
    inner = "\n".join(f"  {line}" if line else "" for line in body.split("\n")) if body else ""
    return f"program {{\n{inner}\n}}\n" if inner else "program {}\n"


def to_tree(program: Program) -> tree.ProgramClause:
    """`program → program { … }`. One launch is its body, several are `launch` statements with their work objects."""
    return tree.ProgramClause(to_statements(program), program.span)


def to_machine(program: Program) -> tree.Machine:
    """`program → machine NAME : OP { work … program { … } }`: an explicit machine with the same program."""
    name = "".join(c if c.isalnum() else "_" for c in program.name).strip("_")
    where = tuple(expression(guard) for guard in program.where if guard not in program.op.where)
    work = (tree.Work(levels(program.launches[0])),) if len(program.launches) == 1 else ()
    return tree.Machine(name, (tree.Name(program.op.name),), (*work, to_tree(program)), program.arch or None, where, program.span)


def to_statements(program: Program) -> tuple[tree.Statement, ...]:
    """`program → statements`: what stands between the braces."""
    if len(program.launches) == 1:
        return tuple(map(statement, program.launches[0].body))
    return tuple(tree.LaunchStatement(levels(one), tuple(map(statement, one.body)), one.span) for one in program.launches)


def levels(launch: Launch) -> tuple[tree.Level, ...]:
    """`launch → grid = (…), block = (…)`."""
    return (tree.Level("grid", group(launch.grid)), tree.Level("block", group(launch.block)))


def group(axes: tuple[Axis, ...]) -> tree.Group:
    """`(by: ceil(M / 64), bx: 4)`, the factors of one level with their extents."""
    return tree.Group(tuple(tree.Sized(axis.name, expression(axis.extent)) for axis in axes))


def statement(step: Step) -> tree.Statement:
    """`step → statement`."""
    match step:
        case Local(name, dtype, extents, span):
            return tree.Array("local", name, dtype, tuple(map(expression, extents)), span=span)
        case Assign(target, index, value, update, guard, span):
            condition = None if guard == Const(True, "bool") else expression(guard)
            return tree.Assign(cell(target, index), expression(value), update, condition, span=span)
        case For(axis, body, span):
            return tree.For(axis.name, expression(axis.extent), tuple(map(statement, body)), axis.sort, span=span)
        case If(guard, body, span):
            return tree.If(expression(guard), tuple(map(statement, body)), span)
        case Holds(target, index, value, span):
            return tree.Holds(cell(target, index), expression(value), span)
    assert_never(step)


def cell(name: str, index: tuple[Term, ...]) -> tree.Cell:
    """`name[index]`."""
    return tree.Cell(name, tuple(map(expression, index)))


def expression(term: Term) -> tree.Expr:
    """`term → expression`, without parentheses: the formatter puts them where they are needed."""
    match term:
        case Const(value):
            return constant(value)
        case Var(name):
            return tree.Name(name)
        case Read(tensor, index):
            return cell(tensor, index)
        case App(op, args, dtype):
            return application(op, tuple(map(expression, args)), dtype)
        case Fold(monoid, axes, guard, body):
            binders = tuple(tree.Binder(axis.name, "<", expression(axis.extent)) for axis in axes)
            if guard != Const(True, "bool"):
                raise NotImplementedError("a fold with a guard has no text yet")
            return tree.FoldExpr(monoid, binders, expression(body))
    assert_never(term)


def application(op: str, args: tuple[tree.Expr, ...], dtype: str) -> tree.Expr:
    """`op(args)` as it is written: an operator, a conditional, a cast or a call."""
    match op, args:
        case "select", (condition, then, otherwise):
            return tree.IfElse(then, condition, otherwise)
        case "cast", _:
            return tree.Call(dtype, args)
        case "ceildiv", (a, b):
            return tree.Call("ceil", (tree.Binary("/", a, b),))
        case ("neg" | "not"), (a,):
            return tree.Unary(OPERATORS[op], a)
        case _ if op in OPERATORS and (op not in COMPARISONS or len(args) == 2):
            result = args[0]
            for arg in args[1:]:
                result = tree.Binary(OPERATORS[op], result, arg)
            return result
    return tree.Call(op, args)


def constant(value: int | float | bool) -> tree.Expr:
    """A literal: `true`, `inf`, `3`, `0.5`, and what is negative with its sign before it."""
    if isinstance(value, bool):
        return tree.Name("true" if value else "false")
    if value < 0 or (value == 0 and str(value).startswith("-")):
        return tree.Unary("-", constant(-value))
    if value == float("inf"):
        return tree.Name("inf")
    whole = isinstance(value, int) or (value.is_integer() and value < EXACT)
    return tree.Number(str(int(value)) if whole else repr(value))
