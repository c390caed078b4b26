"""Expressions of the syntax tree, and the small parts that clauses and statements share.

Comes in: what the parser builds. Goes out: frozen nodes with spans. The one idea: a node says what was written, not what it means:
`(g, t)` is a group, whether it turns out to be factors or a parenthesis.
"""

from __future__ import annotations

from typing import TypeAlias

from tinygpu.diagnostic import NOWHERE, Span
from tinygpu.record import dataclass, field


def spanned() -> Span:
    """The field that every node has, which takes no part in equality."""
    return field(default=NOWHERE, compare=False, repr=False)  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class Number:
    """`12`, `0.5`, `1e-3`: the text as written."""

    text: str
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Name:
    """A name: a size, an index, a factor, a param, `inf`, `true`, `false`."""

    name: str
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Cell:
    """`A[i, k]`, or `x[p + r - 1 | 0]` with a fill outside the tensor."""

    name: str
    index: tuple[Expr, ...]
    fill: Expr | None = None
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Call:
    """`exp(x)`, `f32(x)`, `max(a, b)`, `where(c, a, b)`, `ceil(n / 4)`."""

    function: str
    args: tuple[Expr, ...]
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Unary:
    """`-x`, `not c`."""

    op: str
    operand: Expr
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Binary:
    """`+ - * / // % ^ < <= > >= == != and or`, the operator as written."""

    op: str
    left: Expr
    right: Expr
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class IfElse:
    """`value if condition else otherwise`."""

    value: Expr
    condition: Expr
    otherwise: Expr
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Binder:
    """`k`, `k < 3` or `k <= q`: relation is empty, `<` or `<=`."""

    name: str
    relation: str = ""
    bound: Expr | None = None
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class FoldExpr:
    """`sum[k] A[i, k] * B[k, j]`; `named` for `fold NAME[k] …` of a user's monoid; `prefix` for `scan_sum[k <= i] …`, `scan NAME[k <= i] …`."""

    monoid: str
    binders: tuple[Binder, ...]
    body: Expr
    named: bool = False
    prefix: bool = False
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Sized:
    """`v: 4`, a factor with its extent."""

    name: str
    extent: Expr
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Group:
    """`(g, t, v: 4)`, a list of factors, or `(g*256 + t)`, a parenthesis: elaboration tells them apart. `()` is empty."""

    items: tuple[Expr, ...]
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Field:
    """`p.mean`, a component of a tuple value."""

    value: Expr
    name: str
    span: Span = spanned()


Expr: TypeAlias = (
    Number | Name | Cell | Call | Unary | Binary | IfElse | FoldExpr | Sized | Group | Field
)  # Sized stands only inside a Group


@dataclass(frozen=True, slots=True)
class Level:
    """`grid = (by, bx)`, `block = (t: 256)`."""

    name: str
    factors: Group
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Place:
    """`pad 1`, `swizzle(3, 3, 3)`."""

    kind: str
    args: tuple[Expr, ...]
    span: Span = spanned()
