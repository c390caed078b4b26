"""numpy's way to compute the layers of `specs/transformer.tgpu`, in place, and the cases of them.

Comes in: inputs by name, and the output. Goes out: the output, filled; `TRANSFORMER`. The one idea: a head is a matrix in the middle of an array of three axes, so numpy goes head by head.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.case import Case

Array = np.ndarray[Any, Any]
Inputs = dict[str, Any]
BLOCK = {"T": 512, "H": 12}


def project(i: Inputs, y: Array) -> None:
    np.matmul(i["x"], i["w"].reshape(len(i["w"]), -1), out=y.reshape(len(y), -1))
    np.add(y, i["b"], out=y)


def heads(i: Inputs, o: Array) -> None:
    behind = ~np.tri(len(o), dtype=bool)
    for h in range(o.shape[1]):
        z = i["q"][:, h] @ i["k"][:, h].T * i["a"]
        z[behind] = -np.inf
        np.exp(z - z.max(axis=1, keepdims=True), out=z)
        np.divide(z @ i["v"][:, h], z.sum(axis=1, keepdims=True), out=o[:, h])


def merge(i: Inputs, y: Array) -> None:
    np.matmul(i["o"].reshape(len(y), -1), i["w"].reshape(-1, y.shape[1]), out=y)
    np.add(y, i["b"], out=y)
    np.add(y, i["r"], out=y)


def linear_add(i: Inputs, y: Array) -> None:
    np.matmul(i["x"], i["w"], out=y)
    np.add(y, i["b"], out=y)
    np.add(y, i["r"], out=y)


def linear_gelu(i: Inputs, y: Array) -> None:
    z = i["x"] @ i["w"] + i["b"]
    np.tanh(0.7978845608028654 * (z + 0.044715 * z * z * z), out=y)
    np.multiply(0.5 * z, 1 + y, out=y)


TRANSFORMER = (
    Case("layernorm of a block", "transformer", "layernorm", {"R": 512, "N": 768}, peers.layernorm, "(x - mean) / sqrt(var + eps) * w + b", 2.0,
         draw={"eps": lambda chance, shape, sizes: 1e-5}),
    Case("projection to heads", "transformer", "project", {"T": 512, "D": 768, "H": 12}, project, "x @ w + b", 0.6),
    Case("causal attention of a block", "transformer", "heads", BLOCK, heads, "softmax(masked) @ v, head by head", 0.2),
    Case("projection from heads", "transformer", "merge", {**BLOCK, "E": 64, "D": 768}, merge, "o @ w + b + r", 0.6),
    Case("linear, GELU of a block", "transformer", "linear_gelu", {"M": 512, "K": 768, "N": 3072}, linear_gelu, "gelu(x @ w + b)", 0.6),
    Case("linear, residual", "transformer", "linear_add", {"M": 512, "K": 3072, "N": 768}, linear_add, "x @ w + b + r", 0.6),
)  # fmt: skip
