"""Inputs of a small run, the same as `inputs` draws them, and what the equation makes of them, in plain Python.

Comes in: an op and its sizes. Goes out: a flat list for each input; the outputs as the equations have them, and the elements that differ.
The one idea: the ranges come from the op, and the numbers from the same stream, so that a small run and a large one speak of one case.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from math import isfinite, prod

from tinygpu.category.listed import RANGES, Beyond, Listed, Number, mapped, rounded
from tinygpu.category.points import Points, constants
from tinygpu.category.term import BOOL, FLOATS, INTEGERS, App, Read, Term
from tinygpu.category.to_lists import evaluate
from tinygpu.model.op import Op, Tensor
from tinygpu.program.chance import Chance
from tinygpu.program.fault import unflat
from tinygpu.program.ranges import LIMITS, index_ranges, indices, positive
from tinygpu.program.small import Lists
from tinygpu.program.small_run import WORK
from tinygpu.program.tolerance import Mismatch
from tinygpu.record import dataclass, field

MOST = 1 << 12  # elements of an input, and of an output


def random_inputs(op: Op, sizes: Mapping[str, int], seed: int = 0) -> dict[str, list[Number]]:
    """Those of `inputs.random_inputs`, flat. Raises Beyond for large ones."""
    ranges, above = dict(index_ranges(op, sizes)), set(positive(op))
    drawn = {t.name: _random(t, sizes, seed, ranges.get(t.name), t.name in above) for t in op.inputs}
    if op.promises and not promised(op, sizes, drawn):
        for least, below in LIMITS:
            natural = {t.name: _limited(drawn[t.name], t.dtype, least, below) for t in op.inputs}
            if promised(op, sizes, natural):
                return natural
    return drawn


def ends_inputs(op: Op, sizes: Mapping[str, int], seed: int = 0) -> dict[str, list[Number]]:
    """Those of `large_replay.ends_inputs`: one place of each last axis stands out of what is no index, for seed 0 the end."""
    inputs, used = random_inputs(op, sizes, seed), indices(op)
    for tensor in op.inputs:
        values, shape = inputs[tensor.name], shape_of(tensor, sizes)
        if tensor.name in used or not shape or not shape[-1]:
            continue
        least, count = min(values, default=0), shape[-1]
        hot = count - 1 if seed == 0 else Chance(seed, 2).integers(0, count, 1)[0]
        if tensor.dtype == BOOL:
            grown: list[Number] = [place == hot for place in range(count)]
        elif tensor.dtype in INTEGERS:
            grown = [max(9 - abs(hot - place), min(least, 0)) for place in range(count)]
        else:
            others = -1.0 if least < 0 else 0.5
            grown = [outstanding(count, seed, least < 0) if place == hot else others for place in range(count)]
        inputs[tensor.name] = rounded(grown, tensor.dtype) * (len(values) // len(grown))
    return inputs


def outstanding(count: int, seed: int = 0, negative: bool = True) -> float:
    """What stands out among so many: also of the sum of their exponentials, which many small ones would drown; for seed 1, of what may be
    negative, without anything positive beside it.

    >>> outstanding(33), outstanding(4096), outstanding(33, 1)
    (2.0, 8.0, -0.5)
    """
    return -0.5 if seed == 1 and negative else 2.0 if count <= 64 else 8.0


def edge_inputs(op: Op, sizes: Mapping[str, int], seed: int = 0) -> dict[str, list[Number]]:
    """Those of `large_replay.edge_inputs`: around 0, and for even seeds integers also at the ends of their types."""
    inputs, chance = random_inputs(op, sizes, seed), Chance(seed, 1)
    for tensor in (t for t in op.inputs if t.dtype != BOOL):
        values = [0, 1, 2, 3] if tensor.dtype.startswith("u") else [-2, -1, 0, 1, 2, 3]
        if seed % 2 == 0 and tensor.dtype in INTEGERS:
            values += [*RANGES[tensor.dtype]] * 2
        picks = chance.integers(0, len(values), len(inputs[tensor.name]))
        inputs[tensor.name] = rounded([values[pick] for pick in picks], tensor.dtype)
    return inputs


def _random(tensor: Tensor, sizes: Mapping[str, int], seed: int, extent: int | None, above: bool) -> list[Number]:
    count = prod(shape_of(tensor, sizes))
    if count > MOST:
        raise Beyond(f"{tensor.name} is large")
    chance = Chance(seed, zlib.crc32(tensor.name.encode()))
    if tensor.dtype in FLOATS:
        drawn: list[Number] = rounded(chance.uniform(0.5 if above else -2.0, 2.0, count), tensor.dtype)
        return drawn
    if tensor.dtype == BOOL:
        return list(map(bool, chance.integers(0, 2, count)))
    low, high = (-8, 9) if tensor.dtype.startswith("i") else (0, 9)
    return chance.integers(*((0, max(1, extent)) if extent is not None else (1, high) if above else (low, high)), count)


def _limited(values: list[Number], dtype: str, least: int, below: int | None) -> list[Number]:
    """Integers in `[least, below)`, the others as they are."""
    if dtype not in RANGES:
        return values
    natural = [max(abs(v), least) for v in values]
    return natural if below is None else [v % below for v in natural]


@dataclass(slots=True, eq=False, repr=False)
class Equations:
    """The context of equations: tensors are read, and computed where they are first read. Floats are not rounded."""

    op: Op
    sizes: Mapping[str, int]
    values: dict[str, list[Number]]
    exact: bool = True
    left: int = WORK
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def read(self, node: Read, index: list[Listed], at: Points) -> Listed:
        """The elements; raises IndexError where the equation reads outside."""
        name = node.tensor
        if name not in self.shapes:
            self.shapes[name] = shape_of(self.op.tensor(name), self.sizes)
        address: Listed = 0
        for axis, (value, extent) in enumerate(zip(index, self.shapes[name], strict=True)):
            if any(not 0 <= v < extent for v in (value if isinstance(value, list) else (value,))):
                raise IndexError(f"the equation reads {name} outside: axis {axis} has extent {extent}")
            address = mapped(lambda a, v, n=extent: a * n + v, address, value)
        if name not in self.values:
            self.values[name] = self.whole(name)
        return mapped(self.values[name].__getitem__, address)

    def whole(self, name: str) -> list[Number]:
        """All elements of a tensor that an equation defines."""
        equation, shape = self.op.equation(name), shape_of(self.op.tensor(name), self.sizes)
        if prod(shape) > MOST:
            raise Beyond(f"{name} is large")
        if not prod(shape):
            return []
        points = constants(self.sizes).times([axis.name for axis in equation.axes], shape)
        out = evaluate(equation.value, points, self)
        return list(out) if isinstance(out, list) else [out] * points.size

    def zero(self, term: Term, at: Points, bad: list[int]) -> None:
        """Raises ZeroDivisionError."""
        raise ZeroDivisionError(f"an integer is divided by zero at {len(bad)} points")

    def exchange(self, node: App, value: Listed, which: Listed, at: Points) -> Listed:
        """An equation has no lanes."""
        raise KeyError(node.op)

    def rough(self) -> None:
        """What is compared is far from the last digits, but what is shown is not."""
        raise Beyond("a function of which the last digits are not numpy's")

    def spend(self, points: int) -> None:
        """Raises Beyond where it is too much."""
        self.left -= points
        if self.left < 0:
            raise Beyond("the equation has many points")


def promised(op: Op, sizes: Mapping[str, int], inputs: Lists) -> bool:
    """Whether the inputs are as the op's data preconditions want them."""
    context, one = Equations(op, sizes, dict(inputs)), constants(sizes)
    found = (evaluate(promise, one, context) for promise in op.promises)
    return all(all(f) if isinstance(f, list) else f for f in found)


def reference(op: Op, sizes: Mapping[str, int], inputs: Lists) -> dict[str, list[Number]]:
    """The outputs by their equations, floats in f64. Raises IndexError and ZeroDivisionError where the equation has no value."""
    context = Equations(op, sizes, dict(inputs))
    return {t.name: context.values.get(t.name) or context.whole(t.name) for t in op.outputs}


def compare(op: Op, sizes: Mapping[str, int], got: Lists, want: Lists, rtol: float, atol: float) -> Iterator[Mismatch]:
    """The elements that differ: floats beyond the tolerance, the others at all. NaN equals NaN."""
    for tensor in op.outputs:
        shape = shape_of(tensor, sizes)
        for address, (a, b) in enumerate(zip(got[tensor.name], want[tensor.name], strict=True)):
            near = tensor.dtype in FLOATS and isfinite(b) and abs(a - b) <= atol + rtol * abs(b)
            if a == b or (a != a and b != b) or near:
                continue
            yield Mismatch(tensor.name, unflat(address, shape), a, b)


def shape_of(tensor: Tensor, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """The shape at these sizes."""
    return tuple(max(0, evaluate(extent, constants(sizes))) for extent in tensor.shape)
