"""Statements of a program in the syntax tree.

Comes in: what the parser builds. Goes out: frozen nodes with spans, one for each statement of `program { … }`.
The one idea: the program of a machine is text like the rest, so what is proved can be read.
"""

from __future__ import annotations

from typing import TypeAlias

from tinygpu.diagnostic import Span
from tinygpu.record import dataclass
from tinygpu.syntax.expression import Cell, Expr, Level, Place, spanned


@dataclass(frozen=True, slots=True)
class Array:
    """`local acc: f32[8, 8]`, `shared s: f32[32, 32] pad 1`."""

    space: str
    name: str
    dtype: str
    extents: tuple[Expr, ...]
    order: tuple[str, ...] = ()
    place: Place | None = None
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Assign:
    """`C[i, j] = e`, `acc[] += e if g`; `update` is empty for `=`, else the monoid (`sum` for `+=`, `prod` for `*=`, `max`, …)."""

    target: Cell
    value: Expr
    update: str = ""
    guard: Expr | None = None
    atomic: bool = False
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class For:
    """`for k < K { … }`, `for v < 4 in vector { … }`; `values` for `for d in (16, 8, 4) { … }`, then extent is None."""

    name: str
    extent: Expr | None
    body: tuple[Statement, ...]
    sort: str = "time"
    values: tuple[Expr, ...] = ()
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class If:
    """`if guard { … }`."""

    guard: Expr
    body: tuple[Statement, ...]
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Holds:
    """`acc[] holds e`: a ghost fact."""

    target: Cell
    value: Expr
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class Sync:
    """`barrier`, `warp barrier`, `commit`, `wait 1`."""

    kind: str
    count: Expr | None = None
    span: Span = spanned()


@dataclass(frozen=True, slots=True)
class LaunchStatement:
    """`launch (grid = (g: 4), block = (t: 256)) { … }`."""

    levels: tuple[Level, ...]
    body: tuple[Statement, ...]
    span: Span = spanned()


Statement: TypeAlias = Array | Assign | For | If | Holds | Sync | LaunchStatement
