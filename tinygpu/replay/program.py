"""Operations, monoids and programs, over the terms of `ir`.

Comes in: what `read` builds from the syntax tree. Goes out: values for every other file of this folder.
The one idea: a program is launches of steps, and an array lives from its `Fresh` step on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from tinygpu.diagnostic import NOWHERE, Span
from tinygpu.record import dataclass, field
from tinygpu.replay.ir import TRUE, ZERO, Axis, Term, Var, compare

# ── operations ──


@dataclass(frozen=True, slots=True)
class Tensor:
    """An input, an output, an intermediate; `scalar` is an argument without a shape."""

    name: str
    dtype: str
    shape: tuple[Term, ...]
    scalar: bool = False


@dataclass(frozen=True, slots=True)
class Equation:
    """`target[axes] = value`."""

    target: Tensor
    axes: tuple[Axis, ...]
    value: Term
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Monoid:
    """A monoid of tuples. `a` and `b` of `combine` have the variables `a.c` and `b.c` for each component c, the invariant has `c`."""

    name: str
    components: tuple[tuple[str, str], ...]
    invariant: tuple[Term, ...]
    unit: tuple[Term, ...]
    combine: tuple[Term, ...]
    lift: tuple[tuple[str, str], ...]  # the variables of `lifted`, with their dtypes
    lifted: tuple[Term, ...]
    result: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Operation:
    """The sizes, the tensors, and an equation for each output and intermediate. `promises` speak of data: folds `all[…]` over inputs."""

    name: str
    sizes: tuple[str, ...]
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    equations: tuple[Equation, ...]
    where: tuple[Term, ...] = ()
    promises: tuple[Term, ...] = ()

    def equation(self, name: str) -> Equation:
        return next(e for e in self.equations if e.target.name == name)


# ── programs ──


@dataclass(frozen=True, slots=True)
class Array:
    """Cells: `space` is local, shared or workspace; `swizzle` is (bits, base, shift)."""

    space: str
    name: str
    dtype: str
    extents: tuple[Term, ...]
    pad: int = 0
    swizzle: tuple[int, int, int] | None = None
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Assign:
    """`target[index] update= value if guard`; an exchange in the value is an `Op` that begins with `shuffle.`."""

    target: str
    index: tuple[Term, ...]
    value: Term
    update: str = ""
    guard: Term = TRUE
    atomic: bool = False
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Loop:
    """`for axis { body }`; the name of the axis is unique in the launch. `sort` is time, register or vector."""

    axis: Axis
    body: tuple[Step, ...]
    sort: str = "time"
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class If:
    """`if guard { body }`."""

    guard: Term
    body: tuple[Step, ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Barrier:
    """`barrier`, `warp barrier`: the scope is block or warp."""

    scope: str
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Fresh:
    """An array is declared here: its cells have no value until they are written."""

    array: str


@dataclass(frozen=True, slots=True)
class Holds:
    """`target[index] holds value`."""

    target: str
    index: tuple[Term, ...]
    value: Term
    span: Span = field(default=NOWHERE, compare=False)


Step: TypeAlias = Assign | Loop | If | Barrier | Fresh | Holds


@dataclass(frozen=True, slots=True)
class Launch:
    """The work object, the arrays that live in it, and its steps."""

    grid: tuple[Axis, ...]
    block: tuple[Axis, ...]
    arrays: tuple[Array, ...]
    body: tuple[Step, ...]
    number: int = 0


@dataclass(frozen=True, slots=True)
class Machine:
    """A program for an operation. `monoids` has every monoid with components that the text can mean."""

    name: str
    op: Operation
    arch: str
    where: tuple[Term, ...]
    workspaces: tuple[Array, ...]
    launches: tuple[Launch, ...]
    monoids: Mapping[str, Monoid]

    @property
    def facts(self) -> tuple[Term, ...]:
        """What is known of the sizes."""
        return (*(compare("ge", Var(s), ZERO) for s in self.op.sizes), *self.op.where, *self.where)

    def dtype(self, name: str, launch: Launch) -> str:
        """The dtype of an array that a launch sees."""
        arrays: tuple[Array | Tensor, ...] = (*launch.arrays, *self.workspaces, *self.op.inputs, *self.op.outputs)
        return next(a.dtype for a in arrays if a.name == name)
