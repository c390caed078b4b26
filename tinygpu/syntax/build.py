"""One function for each rule of the grammar, each building one node of `tree`: declarations and clauses, and the table of all.

Comes in: a span and the parts of the rule, in order (words as text, absent parts as None). Goes out: the node.
The one idea: the grammar decides; nothing here looks at anything but its own parts.
"""

from __future__ import annotations

from typing import Any

from tinygpu.diagnostic import Span, TinygpuError
from tinygpu.record import replace
from tinygpu.syntax import program_rules, tree
from tinygpu.syntax.program_rules import rules_of
from tinygpu.syntax.tree import Cell, Expr

# Every function below is the rule of its name.


# ── declarations ───────────────────────────────────────────────────────────────────────────────────────────────────


def start(span: Span, *declarations: tree.Declaration) -> tree.File:
    return tree.File(declarations, (), span)


def import_(span: Span, path: str) -> tree.Import:
    return tree.Import(path[1:-1], span)


def param(span: Span, name: str, value: Expr) -> tree.Param:
    return tree.Param(name, value, (), span)


def param_choice(span: Span, name: str, choices: tuple[Expr, ...]) -> tree.Param:
    return tree.Param(name, None, choices, span)


def op(
    span: Span,
    name: str,
    family: tree.Family | None,
    inputs: tuple[tree.TensorDecl, ...] | None,
    outputs: tuple[tree.TensorDecl, ...],
    where: tree.Where | None,
    *equations: tree.Equation,
) -> tree.Op:
    return tree.Op(name, inputs or (), outputs, equations, where.conditions if where else (), family, span)


def monoid(
    span: Span, name: str, components: tuple[tree.TensorDecl, ...], where: tree.Where | None, *parts: tree.MonoidPart
) -> tree.Monoid:
    return tree.Monoid(name, components, parts, where.conditions if where else (), span)


def monoid_part(span: Span, kind: str, *parts: Any) -> tree.MonoidPart:
    return tree.MonoidPart(kind, parts[-1], parts[0] if len(parts) > 1 else None, span)


def family(span: Span, variable: str, *dtypes: str) -> tree.Family:
    return tree.Family(variable, dtypes, span)


def tensor(span: Span, name: str, dtype: str, shape: tuple[Expr, ...] | None) -> tree.TensorDecl:
    return tree.TensorDecl(name, dtype, shape, span)


def several(span: Span, *parts: Any) -> tuple[Any, ...]:
    """A list of anything is a tuple."""
    return parts


def only(span: Span, part: Any) -> Any:
    """A rule that is there to be told apart is its part."""
    return part


def shape(span: Span, extents: tuple[Expr, ...] | None) -> tuple[Expr, ...]:
    return extents or ()


def where(span: Span, conditions: tuple[Expr, ...]) -> tree.Where:
    return tree.Where(conditions, span)


def equation(span: Span, target: Cell, value: Expr) -> tree.Equation:
    return tree.Equation((target,), value, span)


def equation_tuple(span: Span, *parts: Any) -> tree.Equation:
    return tree.Equation(parts[:-1], parts[-1], span)


def machine(span: Span, name: str, *parts: Any) -> tree.Machine:
    *ops, arch, where, clauses = parts
    names = tuple(ops)
    return tree.Machine(name, names, clauses, arch, where.conditions if where else (), span)


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


def level(span: Span, name: str, factors: tree.Group) -> tree.Level:
    return tree.Level(name, factors, span)


def compute(span: Span, equation: str | None, *bindings: tree.Binding) -> tree.Compute:
    return tree.Compute(bindings, equation, span)


def binding(span: Span, name: str, value: Expr) -> tree.Binding:
    return tree.Binding((name,), value, span)


def merged(span: Span, *parts: Any) -> tree.Binding:
    return tree.Binding(parts[:-1], parts[-1], span)


def own(span: Span, sort: str, *factors: tree.Factor) -> tree.Own:
    return tree.Own(sort, factors, span)


def factor(span: Span, name: str, extent: Expr | None) -> tree.Factor:
    return tree.Factor(name, extent, span)


def launch(span: Span, name: str, clauses: tuple[tree.Clause, ...]) -> tree.LaunchClause:
    return tree.LaunchClause(name, clauses, span)


def equations(span: Span, *names: str) -> tree.Equations:
    return tree.Equations(names, span)


def for_equation(span: Span, name: str, clauses: tuple[tree.Clause, ...]) -> tree.ForEquation:
    return tree.ForEquation(name, clauses, span)


def stage(
    span: Span,
    access: Cell,
    at: str,
    space: str,
    ring: Expr | None,
    asynchronous: str | None,
    by: str | None,
    clauses: tuple[tree.Clause, ...] | None,
) -> tree.Stage:
    return tree.Stage(access, at, space, clauses or (), ring, asynchronous is not None, by, span)


def layout(span: Span, order: tuple[str, ...], place: tree.Place | None) -> tree.Layout:
    return tree.Layout(order, place, span)


def layout_place(span: Span, place: tree.Place) -> tree.Layout:
    return tree.Layout((), place, span)


def order(span: Span, *names: str) -> tuple[str, ...]:
    return names


def pad(span: Span, amount: Expr) -> tree.Place:
    return tree.Place("pad", (amount,), span)


def swizzle(span: Span, args: tuple[Expr, ...] | None) -> tree.Place:
    return tree.Place("swizzle", args or (), span)


def reduce(span: Span, equation: str, *words: str) -> tree.Reduce:
    return tree.Reduce(equation, words[:-1], words[-1], span)


def keep(span: Span, tensor: str, space: str) -> tree.Keep:
    return tree.Keep(tensor, space, span)


def program(span: Span, body: tuple[tree.Statement, ...]) -> tree.ProgramClause:
    return tree.ProgramClause(body, span)


LISTS = ("tensors", "exprs", "items", "binders", "block")  # rules that are the tuple of their parts
ONLY = ("arch", "equation_name", "ring", "copier", "sort")  # rules that are their only part
BUILD = program_rules.RULES | rules_of(__name__, globals()) | dict.fromkeys(LISTS, several) | dict.fromkeys(ONLY, only)
