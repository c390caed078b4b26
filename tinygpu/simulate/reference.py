"""The equation itself, by brute force: what every engine's result is compared with.

Comes in: an op, its sizes, its inputs. Goes out: its outputs, floats in float64, integers in their own dtype (they wrap).
The one idea: an equation is a term, so its values are `evaluate` over the points of its axes; tensors that it reads and that
are themselves defined by equations are computed first, once, or only at the points where that is less work.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tinygpu.category.number import Array, Value, held, load, zeros
from tinygpu.category.term import Read
from tinygpu.category.to_numpy import Mask, evaluate
from tinygpu.model.op import Equation, Op
from tinygpu.record import dataclass, field
from tinygpu.simulate.box import box_of

POINTS = 1 << 18  # points of an equation that are evaluated at once


@dataclass(frozen=True, slots=True)
class _Values:
    """The inputs, and the tensors computed so far."""

    op: Op
    sizes: dict[str, Value]
    sampled: bool
    undefined: bool | None = None
    arrays: dict[str, Array] = field(default_factory=dict)

    def read(self, node: Read, index: tuple[Value, ...], mask: Mask) -> Value:
        """The elements; raises IndexError where the equation reads outside."""
        shape = box_of(self.op.tensor(node.tensor).shape, self.sizes)
        index = tuple(self._inside(node, axis, i, n, mask) for axis, (i, n) in enumerate(zip(index, shape, strict=True)))
        if node.tensor not in self.arrays:
            points = int(np.prod(np.broadcast_shapes(*map(np.shape, index)), dtype=np.int64))
            if self.sampled and not self.op.equation(node.tensor).along and points < int(np.prod(shape, dtype=np.int64)):
                equation = self.op.equation(node.tensor)
                return self.at(equation, index, mask)
            self.arrays[node.tensor] = self.whole(node.tensor)
        array = self.arrays[node.tensor]
        return array[index] if array.size else zeros(np.broadcast_shapes(*map(np.shape, index)), array.dtype)

    def _inside(self, node: Read, axis: int, index: Value, extent: int, mask: Mask) -> Value:
        out = np.logical_or(np.less(index, 0), np.greater_equal(index, extent))
        if not out.any():
            return index
        if np.logical_and(out, True if mask is None else mask).any():
            raise IndexError(f"the equation reads {node.tensor} outside its shape: axis {axis} has extent {extent}")
        return np.where(out, 0, index)

    def at(self, equation: Equation, index: tuple[Value, ...], mask: Mask = None) -> Value:
        """The equation's values at these points."""
        env = {**self.sizes, **{axis.name: i for axis, i in zip(equation.axes, index, strict=True)}}
        return evaluate(equation.value, env, self.read, mask, exact=True, undefined=self.undefined)

    def whole(self, name: str) -> Array:
        """All elements of a tensor that an equation defines."""
        if self.op.equation(name).along:
            self.induced(name)
            return self.arrays[name]
        out = self.empty(name)
        for box in _boxes(out.shape):
            points = np.ix_(*(np.arange(low, high) for low, high in box))
            out[tuple(slice(low, high) for low, high in box)] = self.at(self.op.equation(name), points)
        return out

    def empty(self, name: str) -> Array:
        """Room for a tensor."""
        tensor = self.op.tensor(name)
        return zeros(box_of(tensor.shape, self.sizes), held(tensor.dtype, exact=True))

    def induced(self, name: str) -> None:
        """A state and those that it goes together with, turn by turn: each value is made of what was there before."""
        together = {one.target: one for one in self.op.together(name)}
        self.arrays.update((each, self.empty(each)) for each in together)
        times = {each: [a.name for a in one.axes].index(one.along) for each, one in together.items()}
        for turn in range(max(self.arrays[each].shape[axis] for each, axis in times.items())):
            for each, one in together.items():
                shape, axis = self.arrays[each].shape, times[each]
                if turn < shape[axis]:
                    points = np.ix_(*(np.arange(turn, turn + 1) if a == axis else np.arange(n) for a, n in enumerate(shape)))
                    self.arrays[each][points] = self.at(one, points)


def whole(
    op: Op, sizes: Mapping[str, int], inputs: Mapping[str, Any], names: list[str], undefined: bool | None
) -> dict[str, Array]:
    """All of some tensors that equations define."""
    values = _Values(op, {name: int(sizes[name]) for name in op.sizes}, False, undefined)
    values.arrays.update((t.name, load(inputs[t.name], t.dtype, exact=True)) for t in op.inputs)
    return {name: values.arrays[name] if name in values.arrays else values.whole(name) for name in names}


def reference(
    op: Op,
    sizes: Mapping[str, int],
    inputs: Mapping[str, Any],
    sample: Mapping[str, tuple[Any, ...]] | None = None,
    undefined: bool | None = None,
) -> dict[str, Array]:
    """The outputs by their equations, at these sizes.

    With `sample` (output name → one index array for each axis), only those outputs, and of them only those elements. `undefined` as in
    `evaluate`.
    Raises IndexError where an equation reads outside a tensor, ZeroDivisionError where it divides an integer by zero.
    """
    values = _Values(op, {name: int(sizes[name]) for name in op.sizes}, sample is not None, undefined)
    values.arrays.update((t.name, load(inputs[t.name], t.dtype, exact=True)) for t in op.inputs)
    if sample is None:
        for tensor in op.outputs:
            if tensor.name not in values.arrays:
                values.arrays[tensor.name] = values.whole(tensor.name)
        return {tensor.name: values.arrays[tensor.name] for tensor in op.outputs}
    return {name: _sampled(values, name, tuple(np.asarray(i, np.int64) for i in index)) for name, index in sorted(sample.items())}


def _sampled(values: _Values, name: str, index: tuple[Array, ...]) -> Array:
    shape = np.broadcast_shapes(*map(np.shape, index))
    dtype = held(values.op.tensor(name).dtype, exact=True)
    if 0 in shape:
        return np.empty(shape, dtype)
    return np.array(np.broadcast_to(values.at(values.op.equation(name), index), shape), dtype)


def _boxes(shape: tuple[int, ...]) -> Iterator[tuple[tuple[int, int], ...]]:
    """The shape cut into boxes of at most POINTS points, the last axes kept whole as long as they fit."""
    if 0 in shape:
        return
    room, steps = POINTS, []
    for extent in reversed(shape):
        steps.append(max(1, min(extent, room)))
        room //= steps[-1]
    cuts = [
        [(low, min(low + step, extent)) for low in range(0, extent, step)]
        for extent, step in zip(shape, reversed(steps), strict=True)
    ]
    yield from itertools.product(*cuts)
