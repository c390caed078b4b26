"""One function for each rule of the grammar, each building one node of `tree`.

Comes in: a span and the parts of the rule, in order (words as `Token`, absent parts as None). Goes out: the node.
The one idea: the grammar decides; nothing here looks at anything but its own parts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

from tinygpu.diagnostic import Span, TinygpuError
from tinygpu.syntax import tree
from tinygpu.syntax.lexer import Token
from tinygpu.syntax.tree import Cell, Expr

UPDATES = {"=": "", "+=": "sum", "*=": "prod"}
Words: TypeAlias = tuple[Token, ...]


def _texts(words: Words) -> tuple[str, ...]:
    return tuple(word.text for word in words)


# ── declarations ───────────────────────────────────────────────────────────────────────────────────────────────────


def start(span: Span, *declarations: tree.Declaration) -> tree.File:
    return tree.File(declarations, (), span)


def import_(span: Span, path: Token) -> tree.Import:
    return tree.Import(path.text[1:-1], span)


def param(span: Span, name: Token, value: Expr) -> tree.Param:
    return tree.Param(name.text, value, (), span)


def param_choice(span: Span, name: Token, choices: tuple[Expr, ...]) -> tree.Param:
    return tree.Param(name.text, None, choices, span)


def op(
    span: Span,
    name: Token,
    family: tree.Family | None,
    inputs: tuple[tree.TensorDecl, ...] | None,
    outputs: tuple[tree.TensorDecl, ...],
    where: tree.Where | None,
    *equations: tree.Equation,
) -> tree.Op:
    return tree.Op(name.text, inputs or (), outputs, equations, where.conditions if where else (), family, span)


def family(span: Span, variable: Token, *dtypes: Token) -> tree.Family:
    return tree.Family(variable.text, _texts(dtypes), span)


def tensor(span: Span, name: Token, dtype: Token, shape: tuple[Expr, ...] | None) -> tree.TensorDecl:
    return tree.TensorDecl(name.text, dtype.text, shape, span)


def several(span: Span, *parts: Any) -> tuple[Any, ...]:
    """A list of anything is a tuple."""
    return parts


def shape(span: Span, extents: tuple[Expr, ...] | None) -> tuple[Expr, ...]:
    return extents or ()


def where(span: Span, conditions: tuple[Expr, ...]) -> tree.Where:
    return tree.Where(conditions, span)


def equation(span: Span, target: Cell, value: Expr) -> tree.Equation:
    return tree.Equation((target,), value, span)


def equation_tuple(span: Span, *parts: Any) -> tree.Equation:
    return tree.Equation(parts[:-1], parts[-1], span)


def machine(span: Span, name: Token, *parts: Any) -> tree.Machine:
    *ops, arch, where, clauses = parts
    names = tuple(ops)
    return tree.Machine(name.text, names, clauses, arch.text if arch else None, where.conditions if where else (), span)


def arch(span: Span, name: Token) -> Token:
    return name


# ── clauses ────────────────────────────────────────────────────────────────────────────────────────────────────────


def clauses(span: Span, *parts: tree.Clause) -> tuple[tree.Clause, ...]:
    """Bindings on the lines below a `compute` belong to it."""
    joined: list[tree.Clause] = []
    for part in parts:
        match part, joined:
            case tree.Binding(), [*_, tree.Compute() as last]:
                joined[-1] = replace(last, bindings=(*last.bindings, part), span=last.span.to(part.span))
            case tree.Binding(indices), _:
                name = indices[0]
                title = f"`{name} = …` stands without a clause"
                wanted = f"write `compute {name} = …` for an index, or `work {name} = (…)` for a level, joined by commas to the line above"
                raise TinygpuError.of("TG008", title, part.span, "which clause is this?", wanted)
            case _:
                joined.append(part)
    return tuple(joined)


def work(span: Span, *levels: tree.Level) -> tree.Work:
    return tree.Work(levels, span)


def level(span: Span, name: Token, factors: tree.Group) -> tree.Level:
    return tree.Level(name.text, factors, span)


def compute(span: Span, equation: Token | None, *bindings: tree.Binding) -> tree.Compute:
    return tree.Compute(bindings, equation.text if equation else None, span)


def equation_name(span: Span, name: Token) -> Token:
    return name


def binding(span: Span, name: Token, value: Expr) -> tree.Binding:
    return tree.Binding((name.text,), value, span)


def merged(span: Span, *parts: Any) -> tree.Binding:
    return tree.Binding(_texts(parts[:-1]), parts[-1], span)


def own(span: Span, sort: Token, *factors: tree.Factor) -> tree.Own:
    return tree.Own(sort.text, factors, span)


def factor(span: Span, name: Token, extent: Expr | None) -> tree.Factor:
    return tree.Factor(name.text, extent, span)


def launch(span: Span, name: Token, clauses: tuple[tree.Clause, ...]) -> tree.LaunchClause:
    return tree.LaunchClause(name.text, clauses, span)


def equations(span: Span, *names: Token) -> tree.Equations:
    return tree.Equations(_texts(names), span)


def for_equation(span: Span, name: Token, clauses: tuple[tree.Clause, ...]) -> tree.ForEquation:
    return tree.ForEquation(name.text, clauses, span)


def stage(
    span: Span,
    access: Cell,
    at: Token,
    space: Token,
    ring: Expr | None,
    asynchronous: Token | None,
    by: Token | None,
    clauses: tuple[tree.Clause, ...] | None,
) -> tree.Stage:
    return tree.Stage(access, at.text, space.text, clauses or (), ring, asynchronous is not None, by.text if by else None, span)


def ring(span: Span, slots: Expr) -> Expr:
    return slots


def copier(span: Span, name: Token) -> Token:
    return name


def layout(span: Span, order: tuple[str, ...], place: tree.Place | None) -> tree.Layout:
    return tree.Layout(order, place, span)


def layout_place(span: Span, place: tree.Place) -> tree.Layout:
    return tree.Layout((), place, span)


def order(span: Span, *names: Token) -> tuple[str, ...]:
    return _texts(names)


def pad(span: Span, amount: Expr) -> tree.Place:
    return tree.Place("pad", (amount,), span)


def swizzle(span: Span, args: tuple[Expr, ...] | None) -> tree.Place:
    return tree.Place("swizzle", args or (), span)


def reduce(span: Span, equation: Token, *words: Token) -> tree.Reduce:
    return tree.Reduce(equation.text, _texts(words[:-1]), words[-1].text, span)


def keep(span: Span, tensor: Token, space: Token) -> tree.Keep:
    return tree.Keep(tensor.text, space.text, span)


def program(span: Span, body: tuple[tree.Statement, ...]) -> tree.ProgramClause:
    return tree.ProgramClause(body, span)


# ── steps ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def array(
    span: Span, space: Token, name: Token, dtype: Token, extents: tuple[Expr, ...], order: tuple[str, ...] | None, place: tree.Place | None
) -> tree.Array:
    return tree.Array(space.text, name.text, dtype.text, extents, order or (), place, span)


def assign(span: Span, atomic: Token | None, target: Cell, update: str, value: Expr, guard: Expr | None = None) -> tree.Assign:
    return tree.Assign(target, value, update, guard, atomic is not None, span)


def update(span: Span, word: Token, equals: Token | None = None) -> str:
    return UPDATES.get(word.text, word.text)


def holds(span: Span, target: Cell, value: Expr) -> tree.Holds:
    return tree.Holds(target, value, span)


def for_extent(span: Span, name: Token, extent: Expr, sort: Token | None, body: tuple[tree.Statement, ...]) -> tree.For:
    return tree.For(name.text, extent, body, sort.text if sort else "time", (), span)


def for_values(span: Span, name: Token, values: tree.Group, body: tuple[tree.Statement, ...]) -> tree.For:
    return tree.For(name.text, None, body, "time", values.items, span)


def sort(span: Span, word: Token) -> Token:
    return word


def if_(span: Span, guard: Expr, body: tuple[tree.Statement, ...]) -> tree.If:
    return tree.If(guard, body, span)


def sync(span: Span, *words: Token) -> tree.Sync:
    return tree.Sync(" ".join(_texts(words)), None, span)


def wait(span: Span, count: Expr) -> tree.Sync:
    return tree.Sync("wait", count, span)


def launch_statement(span: Span, *parts: Any) -> tree.LaunchStatement:
    return tree.LaunchStatement(parts[:-1], parts[-1], span)


# ── expressions ────────────────────────────────────────────────────────────────────────────────────────────────────


def conditional(span: Span, value: Expr, condition: Expr, otherwise: Expr) -> tree.IfElse:
    return tree.IfElse(value, condition, otherwise, span)


def binary(span: Span, left: Expr, op: Token, right: Expr) -> tree.Binary:
    return tree.Binary(op.text, left, right, span)


def unary(span: Span, op: Token, operand: Expr) -> tree.Unary:
    return tree.Unary(op.text, operand, span)


def fold(span: Span, monoid: Token, binders: tuple[tree.Binder, ...], body: Expr) -> tree.FoldExpr:
    return tree.FoldExpr(monoid.text, binders, body, False, span)


def fold_named(span: Span, monoid: Token, binders: tuple[tree.Binder, ...], body: Expr) -> tree.FoldExpr:
    return tree.FoldExpr(monoid.text, binders, body, True, span)


def binder(span: Span, name: Token, relation: Token | None, bound: Expr | None) -> tree.Binder:
    return tree.Binder(name.text, relation.text if relation else "", bound, span)


def number(span: Span, word: Token) -> tree.Number:
    return tree.Number(word.text, span)


def name(span: Span, word: Token) -> tree.Name:
    return tree.Name(word.text, span)


def field(span: Span, value: Expr, name: Token) -> tree.Field:
    return tree.Field(value, name.text, span)


def cell(span: Span, name: Token, index: tuple[Expr, ...] | None) -> Cell:
    return Cell(name.text, index or (), None, span)


def padded(span: Span, name: Token, index: tuple[Expr, ...], fill: Expr) -> Cell:
    return Cell(name.text, index, fill, span)


def call(span: Span, function: Token, args: tuple[Expr, ...]) -> tree.Call:
    return tree.Call(function.text, args, span)


def group(span: Span, items: tuple[Expr, ...] | None) -> tree.Group:
    return tree.Group(items or (), span)


def sized(span: Span, name: Token, extent: Expr) -> tree.Sized:
    return tree.Sized(name.text, extent, span)


LISTS = ("tensors", "exprs", "items", "binders", "block")
BUILD: dict[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (
        *(start, import_, param, param_choice, op, family, tensor, shape, where, equation, equation_tuple, machine, arch),
        *(clauses, work, level, compute, equation_name, binding, merged, own, factor, launch, equations, for_equation, stage, ring, copier),
        *(layout, layout_place, order, pad, swizzle, reduce, keep, program, array, assign, update, holds, for_extent, for_values, sort),
        *(if_, sync, wait, launch_statement, conditional, binary, unary, fold, fold_named, binder, number, name, field, cell, padded),
        *(call, group, sized),
    )
} | dict.fromkeys(LISTS, several)
BUILD["assign_guarded"] = assign
