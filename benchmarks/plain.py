"""numpy's plain expressions: as anybody writes them, every call making its result and what is between.

Comes in: inputs by name. Goes out: the result. The one idea: what a kernel replaces is a line like one of these.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Inputs = dict[str, Any]


def transpose(i: Inputs) -> Array:
    return np.ascontiguousarray(i["x"].T)


def softmax(i: Inputs) -> Array:
    e = np.exp(i["x"] - i["x"].max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def layernorm(i: Inputs) -> Array:
    x = i["x"]
    return (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + i["eps"]) * i["weight"] + i["bias"]


def rmsnorm(i: Inputs) -> Array:
    return i["x"] / np.sqrt((i["x"] * i["x"]).mean(axis=1, keepdims=True) + i["eps"]) * i["weight"]


def add_rmsnorm(i: Inputs) -> tuple[Array, Array]:
    z = i["x"] + i["residual"]
    return z, z / np.sqrt((z * z).mean(axis=1, keepdims=True) + i["eps"]) * i["weight"]
