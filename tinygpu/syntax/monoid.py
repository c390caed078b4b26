"""Monoids in the syntax tree, and the typed names that they share with operations.

Comes in: what the parser builds. Goes out: frozen nodes with spans. The one idea: a monoid's parts stand in the order they were
written in, and whether all are there is a question of meaning.
"""

from __future__ import annotations

from tinygpu.diagnostic import Span
from tinygpu.record import dataclass
from tinygpu.syntax.expression import Expr, Group, spanned


@dataclass(frozen=True, slots=True)
class TensorDecl:
    """`x: f32[n, 4]`; `shape` is None for a scalar argument `a: f32`; `f32[]` has the empty shape."""

    name: str
    dtype: str
    shape: tuple[Expr, ...] | None = None
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
    """`monoid lse(m: f32, s: f32) where s >= 0 { unit … lift … combine … }`."""

    name: str
    components: tuple[TensorDecl, ...]
    parts: tuple[MonoidPart, ...]
    where: tuple[Expr, ...] = ()
    span: Span = spanned()
