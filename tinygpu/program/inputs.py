"""Inputs to try an op on: random, finite, of order one, the same for the same seed.

Comes in: an op, its sizes, a seed. Goes out: one array for each input. The one idea: the equation says what an input may be —
an index stays inside the axis it addresses, and what is divided by, or goes under a root or a logarithm, is positive.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from tinygpu.category.number import Array, Value, load, outside_dtype
from tinygpu.category.term import FLOATS, Read
from tinygpu.category.to_numpy import evaluate
from tinygpu.model.op import Op, Tensor
from tinygpu.program.fault import SimulationBudget
from tinygpu.program.ranges import LIMITS, index_ranges, positive

MOST = 1 << 27


def random_inputs(op: Op, sizes: Mapping[str, int], seed: int = 0) -> dict[str, Array]:
    """Floats in [-2, 2) (in [0.5, 2) where the equation wants positive ones), integers in [-8, 8] or [0, 8], indices in range.

    Raises SimulationBudget beyond MOST elements, so that a size of millions by millions is an answer and not the end of the memory.
    bf16 arrays have ml_dtypes' bfloat16 where that is installed, else they are float32 with bf16 values.
    """
    env: dict[str, Any] = {name: int(sizes[name]) for name in op.sizes}
    ranges, above = dict(index_ranges(op, env)), set(positive(op))
    drawn = {tensor.name: _random(tensor, env, seed, ranges.get(tensor.name), tensor.name in above) for tensor in op.inputs}
    if op.promises and not promised(op, sizes, drawn):
        for least, below in LIMITS:
            natural = {name: _limited(a, least, below) for name, a in drawn.items()}
            if promised(op, sizes, natural):
                return natural
    return drawn


def _limited(values: Array, least: int, below: int | None) -> Array:
    """Integers in `[least, below)`, the others as they are."""
    if values.dtype.kind not in "iu":
        return values
    natural = np.maximum(np.abs(values), least)
    return np.asarray(natural if below is None else natural % below).astype(values.dtype)


def promised(op: Op, sizes: Mapping[str, int], inputs: Mapping[str, Any]) -> bool:
    """Whether the inputs are as the op's data preconditions want them."""
    arrays = {t.name: load(inputs[t.name], t.dtype, exact=True) for t in op.inputs}

    def read(node: Read, index: tuple[Value, ...], mask: Array | None) -> Value:
        return arrays[node.tensor][index]

    return all(bool(evaluate(promise, {name: int(sizes[name]) for name in op.sizes}, read, exact=True)) for promise in op.promises)


def _random(tensor: Tensor, env: Mapping[str, Any], seed: int, extent: int | None, positive: bool) -> Array:
    shape = tuple(max(0, int(evaluate(e, env))) for e in tensor.shape)
    if math.prod(shape) > MOST:
        raise SimulationBudget(f"{tensor.name} would have {math.prod(shape)} elements")
    # Each tensor has its own stream, so that adding an input leaves the others as they are.
    chance = np.random.default_rng([seed, zlib.crc32(tensor.name.encode())])
    if tensor.dtype in FLOATS:
        values = chance.uniform(0.5 if positive else -2.0, 2.0, shape)
        return load(values, tensor.dtype).astype(outside_dtype(tensor.dtype))
    if tensor.dtype == "bool":
        return np.asarray(chance.integers(0, 2, shape)).astype(np.bool_)
    low, high = (-8, 9) if tensor.dtype.startswith("i") else (0, 9)
    if extent is not None:
        low, high = 0, max(1, extent)
    elif positive:
        low = 1
    return np.asarray(chance.integers(low, high, shape)).astype(outside_dtype(tensor.dtype))
