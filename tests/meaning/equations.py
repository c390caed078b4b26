"""The equation of an op, by its letters: what every element of every tensor is, at given sizes and data.

Comes in: an op, sizes, inputs. Goes out: for each tensor that an equation defines, its elements, some of them undefined; or `OpFault`,
where an equation reads outside of a tensor, whatever is made of it. The one idea: an equation is a partial function of its indices.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any, TypeAlias

from tests.meaning.certain import Value, is_undefined, undefined_like
from tests.meaning.terms import Env, evaluate
from tests.meaning.values import UNDEFINED, Number
from tinygpu.category.monoid import Carrier, components
from tinygpu.category.node import App, Read, Term
from tinygpu.model.op import Op

Cells: TypeAlias = dict[tuple[int, ...], Value]


class OpFault(Exception):
    """An equation that is none."""


def shape_of(extents: tuple[Term, ...], sizes: Mapping[str, int]) -> tuple[int, ...]:
    """Extents at these sizes; below 0 is 0. Raises OpFault where one is divided by less than 1, or from less than 0."""
    found = [evaluate(extent, sizes, Plain())[0] for extent in extents]
    if any(extent is UNDEFINED for extent in found):
        raise OpFault("an extent has no value")
    return tuple(max(0, extent) for extent in found)


class Plain:
    """The world of index terms and preconditions: what has no value is undefined, and there are no arrays. Every other world is one like it.

    `euclidean`: an index that is negative has a quotient and a remainder, as in mathematics.
    """

    euclidean = False

    def read(self, read: Read, index: tuple[Value, ...], env: Env) -> Value:
        """What an array holds."""
        raise KeyError(read.tensor)

    def exchange(self, term: App, env: Env) -> Value:
        """A shuffle."""
        raise KeyError(term.op)

    def choice(self, term: App, condition: Value, env: Env) -> Value:
        """The branch of a choice whose condition is undefined, or is decided by rounding."""
        if condition[0] is not UNDEFINED:
            return evaluate(term.args[1 if condition[0] else 2], env, self)
        return undefined_like(evaluate(term.args[1], env, self))

    def divided(self, index: bool, what: str) -> Number:
        """An integer is divided where it must not be."""
        return UNDEFINED

    def integer(self, dtype: str) -> Number:
        """The integer that an undefined float becomes."""
        return UNDEFINED

    def packed(self, components: tuple[Value, ...]) -> Value:
        """A value of several components."""
        return components, True

    def outside(self, carrier: str) -> None:
        """A component is an infinity that the carrier does not have."""
        raise OpFault(f"what is put together is no value of {carrier}")

    def fits(self, index: int) -> None:
        """An index was computed."""

    def undefined(self) -> None:
        """An operation on defined values has none."""

    def leans(self) -> None:
        """A rounded value is compared with itself."""


class Equations(Plain):
    """The world of an op's equations and promises: tensors are inputs, or what their equations say."""

    euclidean = True

    def __init__(self, op: Op, sizes: Mapping[str, int], inputs: Mapping[str, Cells]):
        self.op, self.sizes = op, sizes
        self.cells: dict[str, Cells] = dict(inputs)
        self.states: dict[str, dict[tuple[int, ...], Value | None]] = {e.target: {} for e in op.equations if e.along}
        self.shapes = {t.name: shape_of(t.shape, sizes) for t in (*op.tensors, *op.intermediates)}

    def read(self, read: Read, index: tuple[Value, ...], env: Env) -> Value:
        place = tuple(i for i, _ in index)
        if any(i is UNDEFINED for i in place):
            return UNDEFINED, True
        shape = self.shapes[read.tensor]
        if not all(0 <= i < n for i, n in zip(place, shape, strict=True)):
            raise OpFault(f"the equation reads {read.tensor}{list(place)}, which has the shape {list(shape)}")
        return self.element(read.tensor, place) if read.tensor in self.states else self.tensor(read.tensor)[place]

    def element(self, name: str, place: tuple[int, ...]) -> Value:
        """An element of a state, which is made of others, but not of itself."""
        cells = self.states[name]
        if place not in cells:
            cells[place] = None
            equation = self.op.equation(name)
            env: dict[str, Any] = {**self.sizes, **dict(zip((a.name for a in equation.axes), place, strict=True))}
            cells[place] = evaluate(equation.value, env, self)
        found = cells[place]
        if found is None:
            raise OpFault(f"{name}{list(place)} is made of itself")
        return found

    def divided(self, index: bool, what: str) -> Number:
        if index:
            raise OpFault(f"the equation has a {what}")
        return UNDEFINED

    def choice(self, term: App, condition: Value, env: Env) -> Value:
        if condition[0] is not UNDEFINED:
            return evaluate(term.args[1 if condition[0] else 2], env, self)
        return nothing(term)

    def packed(self, components: tuple[Value, ...]) -> Value:
        return undefined_like((components, True)) if any(map(is_undefined, components)) else (components, True)

    def tensor(self, name: str) -> Cells:
        """All elements of a tensor."""
        if name not in self.cells:
            equation = self.op.equation(name)
            found: Cells = {}
            for point in itertools.product(*(range(extent) for extent in self.shapes[name])):
                env: dict[str, Any] = {**self.sizes, **dict(zip((a.name for a in equation.axes), point, strict=True))}
                found[point] = self.element(name, point) if equation.along else evaluate(equation.value, env, self)
            self.cells[name] = found
        return self.cells[name]

    def outputs(self) -> dict[str, Cells]:
        """What the outputs have to hold. All equations are looked at, also those that nobody needs."""
        for equation in self.op.equations:
            self.tensor(equation.target)
        return {tensor.name: self.tensor(tensor.name) for tensor in self.op.outputs}


def nothing(term: App) -> Value:
    """Undefined, in the shape of a term's dtype."""

    if isinstance(term.dtype, Carrier):
        return tuple((UNDEFINED, True) for _ in components(term.dtype)), True
    return UNDEFINED, True


def admitted(op_where: tuple[Term, ...], world: Plain, sizes: Mapping[str, int]) -> bool:
    """Whether all of these conditions hold, and have a value."""
    try:
        return all(evaluate(guard, sizes, world)[0] is True for guard in op_where)
    except OpFault:
        return False
