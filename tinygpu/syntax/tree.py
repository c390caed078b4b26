"""The syntax tree: one frozen node for each rule of `grammar/tgpu.lark`, each with the span it was read from; declarations stand here.

Comes in: what the parser or a Python program builds. Goes out: what `model` elaborates and `syntax.format` prints.
Spans and comments never take part in equality, so `parse(format(tree)) == tree`.
The one idea: `BUILD` is what each rule of the grammar means, read off the heads of the classes, and the grammar alone decides.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from tinygpu.diagnostic import Span
from tinygpu.record import field
from tinygpu.syntax.clause import *
from tinygpu.syntax.expression import *
from tinygpu.syntax.node import Comment, Kind, Node, Rules, only, row, several
from tinygpu.syntax.step import *


class TensorDecl(Node, tensor="name dtype shape"):
    """`x: f32[n, 4]`; `shape` is None for a scalar argument `a: f32`; `f32[]` has the empty shape."""

    name: str
    dtype: str
    shape: tuple[Expr, ...] | None = None


class Family(Node, family="variable *dtypes"):
    """`[T in {f16, f32}]`."""

    variable: str
    dtypes: tuple[str, ...]


class Equation(Node, equation="*targets value", equation_tuple="*targets value"):
    """`y[j, i] = x[i, j]`; several targets for `(m[r], l[r]) = …`."""

    targets: tuple[Cell, ...]
    value: Expr


class Op(Node, op="name family inputs outputs where *equations"):
    """An operation: tensors, preconditions, equations."""

    name: str
    inputs: tuple[TensorDecl, ...]
    outputs: tuple[TensorDecl, ...]
    equations: tuple[Equation, ...]
    where: tuple[Expr, ...] = ()
    family: Family | None = None


class MonoidPart(Node):
    """`unit (-inf, 0)`, `lift (x) = (x, 1)`, `combine (a, b) = (…)`, `result (m)`: `names` are what stands on the left side."""

    kind: str
    value: Group
    names: Group | None = None


class Monoid(Node, monoid="name components where *parts"):
    """`monoid lse(m: f32, s: f32) where s >= 0 { unit … lift … combine … }`, its parts in the order they were written in."""

    name: str
    components: tuple[TensorDecl, ...]
    parts: tuple[MonoidPart, ...]
    where: tuple[Expr, ...] = ()


class Machine(Node, machine="name *ops arch where clauses"):
    """`machine NAME : OP, … on ARCH where … { clauses }`. `ops` are names with their spans."""

    name: str
    ops: tuple[Name, ...]
    clauses: tuple[Clause, ...]
    arch: str | None = None
    where: tuple[Expr, ...] = ()


class Import(Node):
    """`import "file.tgpu"`."""

    path: str


Declaration: TypeAlias = Op | Machine | Monoid | Param | Import


class File(Node, start="*declarations"):
    """A whole `.tgpu` text."""

    declarations: tuple[Declaration, ...]
    comments: tuple[Comment, ...] = field(default=(), compare=False)


def monoid_part(span: Span, kind: str, *groups: Any) -> MonoidPart:
    """`unit (…)`, `lift (…) = (…)`: the last group is the value."""
    return MonoidPart(kind, groups[-1], groups[0] if len(groups) > 1 else None, span=span)


KINDS = tuple(made for made in vars().values() if isinstance(made, Kind))
BUILD: Rules = {
    **{rule: row(made, rule) for made in KINDS for rule in made.rules},
    **dict.fromkeys(("exprs", "items", "binders", "order", "block", "tensors"), several),
    **dict.fromkeys(("equation_name", "ring", "copier", "sort", "arch"), only),
    "fold": fold,
    "update": update,
    "for_values": for_values,
    "sync": lambda span, *words: Sync(" ".join(words), span=span),
    "clauses": clauses,
    "import_": lambda span, path: Import(path[1:-1], span=span),
    "shape": lambda span, extents: extents or (),
    "monoid_part": monoid_part,
}
