"""One function for each rule of the grammar, each building one node of `tree`: declarations and clauses, and the table of all.

Comes in: a span and the parts of the rule, in order (words as `Token`, absent parts as None). Goes out: the node.
The one idea: the grammar decides; nothing here looks at anything but its own parts.
"""

from __future__ import annotations

from typing import Any

from tinygpu.diagnostic import Span, TinygpuError
from tinygpu.record import replace
from tinygpu.syntax import program_rules, tree
from tinygpu.syntax.lexer import Token
from tinygpu.syntax.program_rules import rules_of, texts
from tinygpu.syntax.tree import Cell, Expr

# Every function below is the rule of its name.


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


def monoid(
    span: Span, name: Token, components: tuple[tree.TensorDecl, ...], where: tree.Where | None, *parts: tree.MonoidPart
) -> tree.Monoid:
    return tree.Monoid(name.text, components, parts, where.conditions if where else (), span)


def monoid_part(span: Span, kind: Token, *parts: Any) -> tree.MonoidPart:
    return tree.MonoidPart(kind.text, parts[-1], parts[0] if len(parts) > 1 else None, span)


def family(span: Span, variable: Token, *dtypes: Token) -> tree.Family:
    return tree.Family(variable.text, texts(dtypes), span)


def tensor(span: Span, name: Token, dtype: Token, shape: tuple[Expr, ...] | None) -> tree.TensorDecl:
    return tree.TensorDecl(name.text, dtype.text, shape, span)


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


def machine(span: Span, name: Token, *parts: Any) -> tree.Machine:
    *ops, arch, where, clauses = parts
    names = tuple(ops)
    return tree.Machine(name.text, names, clauses, arch.text if arch else None, where.conditions if where else (), span)


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


def binding(span: Span, name: Token, value: Expr) -> tree.Binding:
    return tree.Binding((name.text,), value, span)


def merged(span: Span, *parts: Any) -> tree.Binding:
    return tree.Binding(texts(parts[:-1]), parts[-1], span)


def own(span: Span, sort: Token, *factors: tree.Factor) -> tree.Own:
    return tree.Own(sort.text, factors, span)


def factor(span: Span, name: Token, extent: Expr | None) -> tree.Factor:
    return tree.Factor(name.text, extent, span)


def launch(span: Span, name: Token, clauses: tuple[tree.Clause, ...]) -> tree.LaunchClause:
    return tree.LaunchClause(name.text, clauses, span)


def equations(span: Span, *names: Token) -> tree.Equations:
    return tree.Equations(texts(names), span)


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


def layout(span: Span, order: tuple[str, ...], place: tree.Place | None) -> tree.Layout:
    return tree.Layout(order, place, span)


def layout_place(span: Span, place: tree.Place) -> tree.Layout:
    return tree.Layout((), place, span)


def order(span: Span, *names: Token) -> tuple[str, ...]:
    return texts(names)


def pad(span: Span, amount: Expr) -> tree.Place:
    return tree.Place("pad", (amount,), span)


def swizzle(span: Span, args: tuple[Expr, ...] | None) -> tree.Place:
    return tree.Place("swizzle", args or (), span)


def reduce(span: Span, equation: Token, *words: Token) -> tree.Reduce:
    return tree.Reduce(equation.text, texts(words[:-1]), words[-1].text, span)


def keep(span: Span, tensor: Token, space: Token) -> tree.Keep:
    return tree.Keep(tensor.text, space.text, span)


def program(span: Span, body: tuple[tree.Statement, ...]) -> tree.ProgramClause:
    return tree.ProgramClause(body, span)


LISTS = ("tensors", "exprs", "items", "binders", "block")  # rules that are the tuple of their parts
ONLY = ("arch", "equation_name", "ring", "copier", "sort")  # rules that are their only part
BUILD = program_rules.RULES | rules_of(__name__, globals()) | dict.fromkeys(LISTS, several) | dict.fromkeys(ONLY, only)
