"""The syntax tree: one frozen node for each rule of `grammar/tgpu.lark`, each with the span it was read from; declarations stand here.

Comes in: what the parser or a Python program builds. Goes out: what `model` elaborates and `syntax.format` prints.
Spans and comments never take part in equality, so `parse(format(tree)) == tree`.
The one idea: `BUILD` is what each rule of the grammar means, row by row, and the grammar alone decides.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from tinygpu.diagnostic import Span
from tinygpu.record import dataclass, field
from tinygpu.syntax import clause, expression, step
from tinygpu.syntax.clause import *  # noqa: F403  # a tree's nodes are `tree.NAME`, wherever they stand
from tinygpu.syntax.clause import Clause, Param, Where
from tinygpu.syntax.expression import *  # noqa: F403
from tinygpu.syntax.expression import Cell, Expr, Group, Name
from tinygpu.syntax.node import Build, Comment, Rules, only, row, several, spanned
from tinygpu.syntax.step import *  # noqa: F403


@dataclass(frozen=True, slots=True)
class TensorDecl:
    """`x: f32[n, 4]`; `shape` is None for a scalar argument `a: f32`; `f32[]` has the empty shape."""

    name: str
    dtype: str
    shape: tuple[Expr, ...] | None = None
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Family:
    """`[T in {f16, f32}]`."""

    variable: str
    dtypes: tuple[str, ...]
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Equation:
    """`y[j, i] = x[i, j]`; several targets for `(m[r], l[r]) = …`."""

    targets: tuple[Cell, ...]
    value: Expr
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Op:
    """An operation: tensors, preconditions, equations."""

    name: str
    inputs: tuple[TensorDecl, ...]
    outputs: tuple[TensorDecl, ...]
    equations: tuple[Equation, ...]
    where: tuple[Expr, ...] = ()
    family: Family | None = None
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class MonoidPart:
    """`unit (-inf, 0)`, `lift (x) = (x, 1)`, `combine (a, b) = (…)`, `result (m)`: `names` are what stands on the left side."""

    kind: str
    value: Group
    names: Group | None = None
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Monoid:
    """`monoid lse(m: f32, s: f32) where s >= 0 { unit … lift … combine … }`, its parts in the order they were written in."""

    name: str
    components: tuple[TensorDecl, ...]
    parts: tuple[MonoidPart, ...]
    where: tuple[Expr, ...] = ()
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Machine:
    """`machine NAME : OP, … on ARCH where … { clauses }`. `ops` are names with their spans."""

    name: str
    ops: tuple[Name, ...]
    clauses: tuple[Clause, ...]
    arch: str | None = None
    where: tuple[Expr, ...] = ()
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Import:
    """`import "file.tgpu"`."""

    path: str
    span: Span = spanned()


Declaration: TypeAlias = Op | Machine | Monoid | Param | Import


@dataclass(frozen=True, slots=True)
class File:
    """A whole `.tgpu` text."""

    declarations: tuple[Declaration, ...]
    comments: tuple[Comment, ...] = field(default=(), compare=False)
    span: Span = spanned()


def headed(made: type[Op | Machine | Monoid], names: str) -> Build:
    """A declaration with a head, in which `where …` is a list of conditions, and no clause."""
    build = row(made, names)
    return lambda span, *parts: build(span, *(p.conditions if isinstance(p, Where) else p for p in parts))


def monoid_part(span: Span, kind: str, *groups: Any) -> MonoidPart:
    """`unit (…)`, `lift (…) = (…)`: the last group is the value."""
    return MonoidPart(kind, groups[-1], groups[0] if len(groups) > 1 else None, span)


DECLARATIONS: Rules = {
    "start": row(File, "*declarations"),
    "import_": lambda span, path: Import(path[1:-1], span),
    "op": headed(Op, "name family inputs outputs where *equations"),
    "family": row(Family, "variable *dtypes"),
    "tensors": several,
    "tensor": row(TensorDecl, "name dtype shape"),
    "shape": lambda span, extents: extents or (),
    "equation": row(Equation, "*targets value"),
    "equation_tuple": row(Equation, "*targets value"),
    "monoid": headed(Monoid, "name components where *parts"),
    "monoid_part": monoid_part,
    "machine": headed(Machine, "name *ops arch where clauses"),
    "arch": only,
}
BUILD: Rules = {**expression.RULES, **step.RULES, **clause.RULES, **DECLARATIONS}
