"""Inputs to try an op on: random, finite, of order one, the same for the same seed; and such that stand out at an end, or at a limit, or that rise.

Comes in: an op, its sizes, a seed. Goes out: one array for each input. The one idea: the equation says what an input may be —
an index stays inside the axis it addresses, and what is divided by, or goes under a root or a logarithm, is positive.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tinygpu.category.number import Array, load, outside, outside_dtype
from tinygpu.category.term import BOOL, FLOATS, INTEGERS, App, Read, Term, reads, walk
from tinygpu.category.to_numpy import evaluate
from tinygpu.model.op import Op, Tensor
from tinygpu.simulate.box import box_of
from tinygpu.simulate.fault import SimulationBudget
from tinygpu.simulate.promised import as_promised, longest

MOST = 1 << 27
POSITIVE = ("log", "sqrt", "rsqrt")


def random_inputs(op: Op, sizes: Mapping[str, int], seed: int = 0, wide: bool = False) -> dict[str, Array]:
    """Floats in [-2, 2) (in [0.5, 2) where the equation wants positive ones), integers in [-8, 8] or [0, 8], indices in range, and all
    as the op's promises want it; what they are about is small, or with `wide` anything that it may be.

    Raises SimulationBudget beyond MOST elements, so that a size of millions by millions is an answer and not the end of the memory.
    bf16 arrays have ml_dtypes' bfloat16 where that is installed, else they are the bits; numbers of bf16 that are passed by value are float32.
    """
    env: dict[str, Any] = {name: int(sizes[name]) for name in op.sizes}
    ranges, above = index_ranges(op, env), set(positive(op))
    drawn = {tensor.name: _random(tensor, env, seed, ranges.get(tensor.name), tensor.name in above) for tensor in op.inputs}
    return as_promised(op, sizes, drawn, seed, wide)


def edge_inputs(op: Op, sizes: Mapping[str, int], seed: int = 0) -> dict[str, Array]:
    """Random inputs around 0, for even seeds integers also at the ends of their types, whatever the equation does with them: no index
    need be in range, no divisor positive."""
    inputs = random_inputs(op, sizes, seed)
    chance = np.random.default_rng([seed, 1])
    for tensor in (t for t in op.inputs if t.dtype != BOOL):
        dtype = outside_dtype(tensor.dtype)
        values = [0, 1, 2, 3] if tensor.dtype.startswith("u") else [-2, -1, 0, 1, 2, 3]
        if seed % 2 == 0 and tensor.dtype in INTEGERS:
            values += [np.iinfo(dtype).min, np.iinfo(dtype).max] * 2
        inputs[tensor.name] = _handed(tensor, chance.choice(values, inputs[tensor.name].shape))
    return inputs


def ends_inputs(op: Op, sizes: Mapping[str, int], seed: int = 0) -> dict[str, Array]:
    """Random inputs, but one place of each last axis stands out of what is no index: a fold that leaves it out is another one.

    For seed 0 it is the end, and integers grow towards it; for other seeds it is anywhere.
    """
    inputs, used = random_inputs(op, sizes, seed), index_ranges(op, sizes)
    for tensor in op.inputs:
        values = load(inputs[tensor.name], tensor.dtype)
        if tensor.name in used or not values.ndim or not values.shape[-1]:
            continue
        ramp = np.arange(values.shape[-1])
        hot = len(ramp) - 1 if seed == 0 else np.random.default_rng([seed, 2]).integers(len(ramp))
        if tensor.dtype == BOOL:
            grown = ramp == hot
        elif tensor.dtype in INTEGERS:
            grown = np.maximum(9 - np.abs(hot - ramp), values.min(initial=0))
        else:
            negative = bool(values.min(initial=0) < 0)
            # it stands out also of the sum of the exponentials; for seed 1 without anything positive beside it
            most = -0.5 if seed == 1 and negative else 2.0 if len(ramp) <= 64 else 8.0
            grown = np.where(ramp == hot, most, -1.0 if negative else 0.5)
        inputs[tensor.name] = _handed(tensor, np.broadcast_to(grown, values.shape))
    return inputs


def rising_inputs(op: Op, sizes: Mapping[str, int], seed: int = 0) -> dict[str, Array]:
    """Random inputs, but floats are positive, small, and a little larger with each step along an axis: what grows from term to term grows up to the last
    one, and no term is nothing beside another. Integers that say how long something is are as large as they may be.

    >>> from tinygpu.pipeline import load_text
    >>> op = load_text("op f(x: f32[M, K]) -> (y: f32[M]) { y[i] = max[k] x[i, k] }").spec.ops[0]
    >>> x = rising_inputs(op, {"M": 3, "K": 40})["x"]
    >>> bool((np.diff(x) > 0).all() and (np.diff(x, axis=0) > 0).all() and 0.2 < x.min() < x.max() < 0.8)
    True
    """
    drawn = random_inputs(op, sizes, seed)
    chance = np.random.default_rng([seed, 5])
    for tensor in (t for t in op.inputs if t.dtype in FLOATS):
        shape = drawn[tensor.name].shape
        ramp = sum((place / max(1, n) for place, n in zip(np.indices(shape), shape, strict=True)), np.ones(shape))
        drawn[tensor.name] = _handed(tensor, load(ramp * (1 + chance.random(shape) / 64) / 4, tensor.dtype))
    return longest(op, sizes, as_promised(op, sizes, drawn, seed))


def _handed(tensor: Tensor, values: Any) -> Array:
    """Values as a call takes them: an array of the outside, or a number."""
    return outside(values, tensor.dtype) if tensor.shape or outside_dtype(tensor.dtype) != np.uint16 else load(values, tensor.dtype)


def _random(tensor: Tensor, env: Mapping[str, Any], seed: int, extent: int | None, positive: bool) -> Array:
    if math.prod(shape := box_of(tensor.shape, env)) > MOST:
        raise SimulationBudget(f"{tensor.name} would have {math.prod(shape)} elements")
    # Each tensor has its own stream, so that adding an input leaves the others as they are.
    chance = np.random.default_rng([seed, zlib.crc32(tensor.name.encode())])
    if tensor.dtype in FLOATS:
        values = chance.uniform(0.5 if positive else -2.0, 2.0, shape)
        return _handed(tensor, load(values, tensor.dtype))
    if tensor.dtype == BOOL:
        return np.asarray(chance.integers(0, 2, shape)).astype(np.bool_)
    low, high = (-8, 9) if tensor.dtype.startswith("i") else (0, 9)
    if extent is not None:
        low, high = 0, max(1, extent)
    elif positive:
        low = 1
    return np.asarray(chance.integers(low, high, shape)).astype(outside_dtype(tensor.dtype))


# ── what an equation wants of its inputs, as far as its form says it ───────────────────────────────────────────────


def _terms(op: Op) -> Iterator[Term]:
    for equation in op.equations:
        yield from walk(equation.value)


def index_ranges(op: Op, env: Mapping[str, Any]) -> dict[str, int]:
    """For each input read inside an index: the smallest extent it addresses."""
    least: dict[str, int] = {}
    for read in (term for term in _terms(op) if isinstance(term, Read)):
        for place, extent in zip(read.index, op.tensor(read.tensor).shape, strict=True):
            for inner in reads(place):
                size = int(evaluate(extent, env))
                least[inner.tensor] = min(size, least.get(inner.tensor, size))
    return least


def positive(op: Op) -> Iterator[str]:
    """The inputs under a root or a logarithm, or that are divided by."""
    for term in _terms(op):
        match term:
            case App(name, (argument,)) if name in POSITIVE:
                yield from (read.tensor for read in reads(argument))
            case App("div" | "floordiv" | "mod", (_, argument), dtype) if dtype != "index":
                yield from (read.tensor for read in reads(argument))
