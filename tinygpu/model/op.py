"""Operations: the compute object. Tensors over sizes, the equations that define the outputs.

Comes in: a syntax tree, through `model.elaborate_op`. Goes out: names resolved, dtypes checked, every index with its extent. The one idea: an equation is a target
cell over index axes and one term of `category.term`, in which reductions are folds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from tinygpu.category.monoid import Carrier, monoids_on, spine
from tinygpu.category.term import (
    FALSE,
    TRUE,
    App,
    Axis,
    Read,
    Term,
    Var,
    conjunction,
    disjunction,
    memoised,
    negation,
    rebuild,
    substitute,
    tensors,
)
from tinygpu.diagnostic import NOWHERE, Span
from tinygpu.record import dataclass, field, replace
from tinygpu.syntax import tree

if TYPE_CHECKING:
    from tinygpu.model.theorem import Theorem

Declared = tree.Param | tree.Monoid | tree.Instruction | tree.Op | tree.Lemma | tree.Theorem


@dataclass(frozen=True, slots=True)
class Tensor:
    """A named array: `shape` of index terms over the sizes; rank 0 inputs are scalar arguments. `role`: input, output, intermediate. An output may
    lie in the memory of the input that `inplace` names; where a call says how an array lies in memory, it is `strided`, else it lies in rows."""

    name: str
    dtype: str
    shape: tuple[Term, ...]
    role: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    inplace: str = ""
    strided: bool = False


@dataclass(frozen=True, slots=True)
class Equation:
    """`target[axes] = value`: for every point of the axes, one value. The axes are distinct index names with extents over the sizes.

    A state is defined `along` one of its axes by induction: its value reads the state itself, earlier.
    """

    target: str
    axes: tuple[Axis, ...]
    value: Term
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    along: str = ""

    def at(self, index: Iterable[Term]) -> Term:
        """The value at a point of the axes."""
        return substitute(self.value, dict(zip((a.name for a in self.axes), index, strict=True)))

    @property
    def cases(self) -> tuple[tuple[Term, Term], ...]:
        """Of a state when its value is which: the base, and the step."""
        assert isinstance(self.value, App), "a choice by its time"
        first, base, later = self.value.args
        return (first, base), (Var(self.along) > 0, later)


@partial(memoised, few=0)
def put_in(term: Term, equations: Mapping[str, Equation]) -> Term:
    """The term with the values of these equations where they are read."""
    if equations.keys().isdisjoint(tensors(term)):
        return term
    if isinstance(term, Read) and term.tensor in equations:
        return put_in(equations[term.tensor].at([put_in(i, equations) for i in term.index]), equations)
    return rebuild(term, lambda t: put_in(t, equations))


@dataclass(frozen=True, slots=True)
class Op:
    """A compute object. `sizes` in order of first use; `where` are guards over the sizes.

    `promises` are guards over the values of inputs, such as `all[t] 0 <= idx[t]`: assumed, and checked by a call on request.
    `monoids` are those that its file declares. `source` is what it was made of, if it was. `via` is the theorem by which the equations, its right side's,
    are those of the op of this name, its left side.
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
    via: Theorem | None = None

    @property
    def family(self) -> str:
        """The name without the dtype of its family."""
        return self.name.partition("[")[0]

    @property
    def title(self) -> str:
        """As machines have one."""
        return self.family

    @property
    def meant(self) -> Op:
        """The op that callers know it as: itself, or the left side of its theorem."""
        return self.via.left if self.via else self

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """Inputs, then outputs: the arguments of a kernel, in order."""
        return self.inputs + self.outputs

    @property
    def inplace(self) -> dict[str, str]:
        """The outputs that may lie in the memory of an input, each with that."""
        return {t.name: t.inplace for t in self.outputs if t.inplace}

    @property
    def continued(self) -> dict[str, str]:
        """Those of them that begin as the input does: elements of it stay, or are added to."""
        return {t.name: t.inplace for t in self.outputs if t.inplace and goes_on(self.equation(t.name), t.inplace)}

    def tensor(self, name: str) -> Tensor:
        """The tensor of that name, intermediates included."""
        return next(t for t in self.tensors + self.intermediates if t.name == name)

    @property
    def states(self) -> tuple[Equation, ...]:
        """The equations by induction."""
        return tuple(e for e in self.equations if e.along)

    def together(self, state: str) -> tuple[Equation, ...]:
        """A state with those that it reads and that read it: they go on together."""
        mine = self.reached(state)
        return tuple(e for e in self.states if e.target == state or (e.target in mine and state in self.reached(e.target)))

    def reached(self, name: str) -> set[str]:
        """The tensors that an equation reads, and that their equations read."""
        defined = {e.target: e for e in self.equations}
        met: set[str] = set()
        waiting = [name]
        while waiting:
            more = tensors(defined[waiting.pop()].value) - met
            met |= more
            waiting += more & defined.keys()
        return met

    def equation(self, target: str) -> Equation:
        """The equation that defines `target`."""
        return next(e for e in self.equations if e.target == target)


def goes_on(equation: Equation, source: str) -> bool:
    """Whether a value is at some elements that of `source`, or what an update makes of it."""
    old = Read(source, tuple(Var(a.name) for a in equation.axes), equation.value.dtype)
    value = equation.value
    while isinstance(value, App) and value.op == "sub":  # what is taken away from it is added, with its sign changed
        value = value.args[0]
    updated = any(old in spine(monoid.op, value)[: 1 + monoid.commutative] for monoid in monoids_on(old.dtype))
    return updated or kept(equation, source) != FALSE


def kept(equation: Equation, source: str) -> Term:
    """Where a value is the element of `source` at the same place.

    >>> from tinygpu.category.term import select
    >>> i, n = Var("i"), Var("n")
    >>> x = Read("x", (i,), "f32")
    >>> kept(Equation("y", (Axis("i", n),), select(i < 3, x + x, x)), "x") == negation(i < 3)
    True
    """

    def where(value: Term) -> Term:
        match value:
            case App("select", (condition, then, other)):
                sides = (condition, where(then)), (negation(condition), where(other))
                return disjunction(*(conjunction(c, w) for c, w in sides if w != FALSE))
            case Read(name, index) if name == source and index == tuple(Var(a.name) for a in equation.axes):
                return TRUE
        return FALSE

    return where(equation.value)


def without_states(op: Op) -> Op:
    """The op for whom places what it computes: a state is computed where it is read."""
    states = {e.target for e in op.states}
    equations = tuple(e for e in op.equations if e.target not in states)
    return replace(op, equations=equations, intermediates=tuple(t for t in op.intermediates if t.name not in states))
