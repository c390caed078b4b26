"""The syntax tree: one frozen node for each rule of `grammar/tgpu.lark`, each with the span it was read from.

Comes in: what the parser or a Python program builds. Goes out: what `model` elaborates and `syntax.format` prints.
Spans and comments never take part in equality, so `parse(format(tree)) == tree`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from tinygpu.diagnostic import NOWHERE, Span


def _span() -> Span:
    return field(default=NOWHERE, compare=False, repr=False)  # type: ignore[no-any-return]


# ── expressions ────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Number:
    """`12`, `0.5`, `1e-3`: the text as written."""

    text: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Name:
    """A name: a size, an index, a factor, a param, `inf`, `true`, `false`."""

    name: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Cell:
    """`A[i, k]`, or `x[p + r - 1 | 0]` with a fill outside the tensor."""

    name: str
    index: tuple[Expr, ...]
    fill: Expr | None = None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Call:
    """`exp(x)`, `f32(x)`, `max(a, b)`, `where(c, a, b)`, `ceil(n / 4)`."""

    function: str
    args: tuple[Expr, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Unary:
    """`-x`, `not c`."""

    op: str
    operand: Expr
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Binary:
    """`+ - * / // % ^ < <= > >= == != and or`, the operator as written."""

    op: str
    left: Expr
    right: Expr
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class IfElse:
    """`value if condition else otherwise`."""

    value: Expr
    condition: Expr
    otherwise: Expr
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Binder:
    """`k`, `k < 3` or `k <= q`: relation is empty, `<` or `<=`."""

    name: str
    relation: str = ""
    bound: Expr | None = None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class FoldExpr:
    """`sum[k] A[i, k] * B[k, j]`; `named` for `fold NAME[k] …` of a user's monoid."""

    monoid: str
    binders: tuple[Binder, ...]
    body: Expr
    named: bool = False
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Sized:
    """`v: 4`, a factor with its extent."""

    name: str
    extent: Expr
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Group:
    """`(g, t, v: 4)`, a list of factors, or `(g*256 + t)`, a parenthesis: elaboration tells them apart. `()` is empty."""

    items: tuple[Expr, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Field:
    """`p.mean`, a component of a tuple value."""

    value: Expr
    name: str
    span: Span = _span()


Expr: TypeAlias = (
    Number | Name | Cell | Call | Unary | Binary | IfElse | FoldExpr | Sized | Group | Field
)  # Sized stands only inside a Group

# ── clauses of a machine ───────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Level:
    """`grid = (by, bx)`, `block = (t: 256)`."""

    name: str
    factors: Group
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Work:
    """`work grid = (g), block = (t: 256)`."""

    levels: tuple[Level, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Binding:
    """`i = (g, t, v: 4)`, `(i, j) = (g, t)`, `i = g*256 + t`."""

    indices: tuple[str, ...]
    value: Expr
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Compute:
    """`compute i = (g, t), j = (c, v: 4)`; `equation` names the one it is for, or is None."""

    bindings: tuple[Binding, ...]
    equation: str | None = None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Factor:
    """`v` or `v: 4` in an own clause."""

    name: str
    extent: Expr | None = None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Own:
    """`time c, k`, `register u: 4`, `vector v`: the thread's own factors."""

    sort: str
    factors: tuple[Factor, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Param:
    """`param BM = 128`, `param BM in {64, 128}`; also a declaration of a file."""

    name: str
    value: Expr | None = None
    choices: tuple[Expr, ...] = ()
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Where:
    """`where N % 4 == 0, N >= 1`."""

    conditions: tuple[Expr, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Equations:
    """`equations m, s`: which equations a launch evaluates."""

    names: tuple[str, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class LaunchClause:
    """`launch partial { work … compute … }`."""

    name: str
    clauses: tuple[Clause, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class ForEquation:
    """`for s { compute … }`: overrides for one equation."""

    equation: str
    clauses: tuple[Clause, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Place:
    """`pad 1`, `swizzle(3, 3, 3)`."""

    kind: str
    args: tuple[Expr, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Layout:
    """`layout (k, i) pad 4`."""

    order: tuple[str, ...] = ()
    place: Place | None = None
    span: Span = _span()


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
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Reduce:
    """`reduce s over w by shared`."""

    equation: str
    factors: tuple[str, ...]
    by: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Keep:
    """`keep x in register`."""

    tensor: str
    space: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class ProgramClause:
    """`program { … }`."""

    body: tuple[Statement, ...]
    span: Span = _span()


Clause: TypeAlias = (
    Work | Compute | Own | Param | Where | Equations | LaunchClause | ForEquation | Stage | Layout | Reduce | Keep | ProgramClause | Binding
)

# ── statements of a program ────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Array:
    """`local acc: f32[8, 8]`, `shared s: f32[32, 32] pad 1`."""

    space: str
    name: str
    dtype: str
    extents: tuple[Expr, ...]
    order: tuple[str, ...] = ()
    place: Place | None = None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Assign:
    """`C[i, j] = e`, `acc[] += e if g`; `update` is empty for `=`, else the monoid (`sum` for `+=`, `prod` for `*=`, `max`, …)."""

    target: Cell
    value: Expr
    update: str = ""
    guard: Expr | None = None
    atomic: bool = False
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class For:
    """`for k < K { … }`, `for v < 4 in vector { … }`; `values` for `for d in (16, 8, 4) { … }`, then extent is None."""

    name: str
    extent: Expr | None
    body: tuple[Statement, ...]
    sort: str = "time"
    values: tuple[Expr, ...] = ()
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class If:
    """`if guard { … }`."""

    guard: Expr
    body: tuple[Statement, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Holds:
    """`acc[] holds e`: a ghost fact."""

    target: Cell
    value: Expr
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Sync:
    """`barrier`, `warp barrier`, `commit`, `wait 1`."""

    kind: str
    count: Expr | None = None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class LaunchStatement:
    """`launch (grid = (g: 4), block = (t: 256)) { … }`."""

    levels: tuple[Level, ...]
    body: tuple[Statement, ...]
    span: Span = _span()


Statement: TypeAlias = Array | Assign | For | If | Holds | Sync | LaunchStatement

# ── declarations ───────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class TensorDecl:
    """`x: f32[n, 4]`; `shape` is None for a scalar argument `a: f32`; `f32[]` has the empty shape."""

    name: str
    dtype: str
    shape: tuple[Expr, ...] | None = None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Family:
    """`[T in {f16, f32}]`."""

    variable: str
    dtypes: tuple[str, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Equation:
    """`y[j, i] = x[i, j]`; several targets for `(m[r], l[r]) = …`."""

    targets: tuple[Cell, ...]
    value: Expr
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Op:
    """An operation: tensors, preconditions, equations."""

    name: str
    inputs: tuple[TensorDecl, ...]
    outputs: tuple[TensorDecl, ...]
    equations: tuple[Equation, ...]
    where: tuple[Expr, ...] = ()
    family: Family | None = None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Machine:
    """`machine NAME : OP, … on ARCH where … { clauses }`. `ops` are names with their spans."""

    name: str
    ops: tuple[Name, ...]
    clauses: tuple[Clause, ...]
    arch: str | None = None
    where: tuple[Expr, ...] = ()
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Import:
    """`import "file.tgpu"`."""

    path: str
    span: Span = _span()


Declaration: TypeAlias = Op | Machine | Param | Import


@dataclass(frozen=True, slots=True)
class Comment:
    """`# text`, with the place it stood at; `own_line` when nothing stands before it."""

    text: str
    own_line: bool = True
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class File:
    """A whole `.tgpu` text."""

    declarations: tuple[Declaration, ...]
    comments: tuple[Comment, ...] = field(default=(), compare=False)
    span: Span = _span()
