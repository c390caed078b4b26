"""The syntax tree: one frozen node for each rule of `grammar/tgpu.lark`, each with the span it was read from.

Comes in: what the parser or a Python program builds. Goes out: what `model` elaborates and `syntax.format` prints.
Spans and comments never take part in equality, so `parse(format(tree)) == tree`.
"""

from __future__ import annotations

from typing import TypeAlias

from tinygpu.diagnostic import Span
from tinygpu.record import dataclass, field
from tinygpu.syntax.expression import (
    Binary,
    Binder,
    Call,
    Cell,
    Expr,
    Field,
    FoldExpr,
    Group,
    IfElse,
    Level,
    Name,
    Number,
    Place,
    Sized,
    Unary,
    spanned,
)
from tinygpu.syntax.monoid import Monoid, MonoidPart, TensorDecl
from tinygpu.syntax.statement import (
    Array,
    Assign,
    For,
    Holds,
    If,
    LaunchStatement,
    Statement,
    Sync,
)

__all__ = [
    "Array", "Assign", "Binary", "Binder", "Binding", "Call", "Cell", "Clause", "Comment", "Compute", "Declaration",
    "Equation", "Equations", "Expr", "Factor", "Family", "Field", "File", "FoldExpr", "For", "ForEquation", "Group",
    "Holds", "If", "IfElse", "Import", "Keep", "LaunchClause", "LaunchStatement", "Layout", "Level", "Machine",
    "Monoid", "MonoidPart", "Name", "Number", "Op", "Own", "Param", "Place", "ProgramClause", "Reduce", "Sized", "Stage",
    "Statement", "Sync", "TensorDecl", "Unary", "Where", "Work",
]  # fmt: skip

# ── clauses of a machine ──


@dataclass(frozen=True, slots=True)
class Work:
    """`work grid = (g), block = (t: 256)`."""

    levels: tuple[Level, ...]
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Binding:
    """`i = (g, t, v: 4)`, `(i, j) = (g, t)`, `i = g*256 + t`."""

    indices: tuple[str, ...]
    value: Expr
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Compute:
    """`compute i = (g, t), j = (c, v: 4)`; `equation` names the one it is for, or is None."""

    bindings: tuple[Binding, ...]
    equation: str | None = None
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Factor:
    """`v` or `v: 4` in an own clause."""

    name: str
    extent: Expr | None = None
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Own:
    """`time c, k`, `register u: 4`, `vector v`: the thread's own factors."""

    sort: str
    factors: tuple[Factor, ...]
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Param:
    """`param BM = 128`, `param BM in {64, 128}`; also a declaration of a file."""

    name: str
    value: Expr | None = None
    choices: tuple[Expr, ...] = ()
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Where:
    """`where N % 4 == 0, N >= 1`."""

    conditions: tuple[Expr, ...]
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Equations:
    """`equations m, s`: which equations a launch evaluates."""

    names: tuple[str, ...]
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class LaunchClause:
    """`launch partial { work … compute … }`."""

    name: str
    clauses: tuple[Clause, ...]
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class ForEquation:
    """`for s { compute … }`: overrides for one equation."""

    equation: str
    clauses: tuple[Clause, ...]
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Layout:
    """`layout (k, i) pad 4`."""

    order: tuple[str, ...] = ()
    place: Place | None = None
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Stage:
    """`stage A[i, k] at ko in shared { … }`."""

    access: Cell
    at: str
    space: str
    clauses: tuple[Clause, ...] = ()
    ring: Expr | None = None
    asynchronous: bool = False
    by: str | None = None
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Reduce:
    """`reduce s over w by shared`."""

    equation: str
    factors: tuple[str, ...]
    by: str
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Keep:
    """`keep x in register`."""

    tensor: str
    space: str
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class ProgramClause:
    """`program { … }`."""

    body: tuple[Statement, ...]
    span: Span = spanned()


Clause: TypeAlias = (
    Work
    | Compute
    | Own
    | Param
    | Where
    | Equations
    | LaunchClause
    | ForEquation
    | Stage
    | Layout
    | Reduce
    | Keep
    | ProgramClause
    | Binding
)

# ── declarations ──


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
class Comment:
    """`# text`, with the place it stood at; `own_line` when nothing stands before it."""

    text: str
    own_line: bool = True
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class File:
    """A whole `.tgpu` text."""

    declarations: tuple[Declaration, ...]
    comments: tuple[Comment, ...] = field(default=(), compare=False)
    span: Span = spanned()
