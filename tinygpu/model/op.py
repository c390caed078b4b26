"""Operations: the compute object. Tensors over sizes, and the equations that define the outputs.

Comes in: a syntax tree, through `model.elaborate_op`. Goes out: names resolved, dtypes checked, every index with its extent.
The one idea: an equation is a target cell over index axes and one term of `category.term`, in which reductions are folds.
"""

from __future__ import annotations

from collections.abc import Iterable

from tinygpu.category.monoid import Carrier
from tinygpu.category.term import Axis, Term, substitute
from tinygpu.diagnostic import NOWHERE, Span
from tinygpu.model.source import Declared
from tinygpu.record import dataclass, field


@dataclass(frozen=True, slots=True)
class Tensor:
    """A named array: `shape` of index terms over the sizes; rank 0 inputs are scalar arguments. `role`: input, output, intermediate."""

    name: str
    dtype: str
    shape: tuple[Term, ...]
    role: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Equation:
    """`target[axes] = value`: for every point of the axes, one value. The axes are distinct index names with extents over the sizes."""

    target: str
    axes: tuple[Axis, ...]
    value: Term
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    def at(self, index: Iterable[Term]) -> Term:
        """The value at a point of the axes."""
        return substitute(self.value, dict(zip((a.name for a in self.axes), index, strict=True)))


@dataclass(frozen=True, slots=True)
class Op:
    """A compute object. `sizes` in order of first use; `where` are guards over the sizes.

    `promises` are guards over the values of inputs, such as `all[t] 0 <= idx[t]`: assumed, and checked by a call on request.
    `monoids` are those that its file declares. `source` is what it was made of, if it was.
    """

    name: str
    sizes: tuple[str, ...]
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    intermediates: tuple[Tensor, ...]
    equations: tuple[Equation, ...]
    where: tuple[Term, ...] = ()
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    promises: tuple[Term, ...] = ()
    monoids: tuple[Carrier, ...] = ()
    source: tuple[Declared, ...] = field(default=(), compare=False, repr=False)

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """Inputs, then outputs: the arguments of a kernel, in order."""
        return self.inputs + self.outputs

    def tensor(self, name: str) -> Tensor:
        """The tensor of that name, intermediates included."""
        return next(t for t in self.tensors + self.intermediates if t.name == name)

    def equation(self, target: str) -> Equation:
        """The equation that defines `target`."""
        return next(e for e in self.equations if e.target == target)
