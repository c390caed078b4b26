"""What numpy does for the left sides of theorems, in place where it can.

Comes in: the inputs of an op by name, and its outputs. Goes out: the outputs, written. The one idea: as in `benchmarks.peers`, what anybody would write.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Inputs = dict[str, Any]


def attention(i: Inputs, o: Array) -> None:
    np.matmul(_weights(i["q"] @ i["k"].T), i["v"], out=o)


def attention_causal(i: Inputs, o: Array) -> None:
    scores = i["q"] @ i["k"].T
    scores[np.arange(scores.shape[1])[None, :] > np.arange(scores.shape[0])[:, None]] = -np.inf
    np.matmul(_weights(scores), i["v"], out=o)


def attention_masked(i: Inputs, o: Array) -> None:
    np.matmul(_weights(np.where(i["mask"] != 0, i["q"] @ i["k"].T, np.float32(-np.inf))), i["v"], out=o)


def attention_row(i: Inputs, o: Array) -> None:
    np.matmul(_weights(i["k"] @ i["q"]), i["v"], out=o)


def _weights(scores: Array) -> Array:
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    return scores


def rmsnorm_product(i: Inputs, y: Array) -> None:
    x = i["x"]
    np.matmul(x / np.sqrt(np.square(x).mean(axis=1, keepdims=True) + i["eps"]) * i["g"], i["W"], out=y)


def chain(i: Inputs, d: Array) -> None:
    np.matmul(i["A"] @ i["B"], i["C"], out=d)


def linear_attention(i: Inputs, o: Array) -> None:
    np.matmul(i["q"] @ i["k"].T, i["v"], out=o)


def linear_causal(i: Inputs, o: Array) -> None:
    np.matmul(np.tril(i["q"] @ i["k"].T), i["v"], out=o)


def prefixes(i: Inputs, y: Array) -> None:
    np.cumsum(i["x"], out=y)


def blocks(i: Inputs, c: Array) -> None:
    np.einsum("uwip,wvpj->uvij", i["A"], i["B"], out=c, optimize=True)


def product(i: Inputs, c: Array) -> None:
    np.matmul(i["A"], i["B"], out=c)


def conv(i: Inputs, y: Array) -> None:
    x, w, n = i["x"], i["w"], len(y)
    np.multiply(x[:n], w[0], out=y)
    y += x[1 : n + 1] * w[1]
    y += x[2 : n + 2] * w[2]


def loss(i: Inputs, l: Array) -> None:
    x, count = i["x"], i["x"].shape[1]
    logs = x - np.log(np.exp(x).sum(axis=1, keepdims=True))
    np.negative((((1 - i["a"]) * i["label"] + i["a"] / count) * logs).sum(axis=1), out=l)


def loss_of_rows(i: Inputs, l: Array) -> None:
    x = i["x"]
    most = x.max(axis=1, keepdims=True)
    logs = most + np.log(np.exp(x - most).sum(axis=1, keepdims=True))
    np.sum(i["hot"] * (logs - x), axis=1, out=l)


def loss_of_label(i: Inputs, l: Array) -> None:
    x = i["x"]
    np.log(np.exp(x).sum(axis=1), out=l)
    l -= x[np.arange(len(x)), i["label"]]


def layernorm_backward(i: Inputs, dx: Array) -> None:
    x, g = i["x"], i["dy"]
    away = x - x.mean(axis=1, keepdims=True)
    q = 1 / np.sqrt(np.square(away).mean(axis=1, keepdims=True) + i["eps"])
    z = away * q
    np.multiply(q, g - g.mean(axis=1, keepdims=True) - z * (g * z).mean(axis=1, keepdims=True), out=dx)


def attention_backward(i: Inputs, dq: Array, dk: Array, dv: Array) -> None:
    p = _weights(i["q"] @ i["k"].T)
    dz = i["do"] @ i["v"].T
    dz -= (dz * p).sum(axis=1, keepdims=True)
    dz *= p
    np.matmul(dz, i["k"], out=dq)
    np.matmul(dz.T, i["q"], out=dk)
    np.matmul(p.T, i["do"], out=dv)


def softmax_backward(i: Inputs, dx: Array) -> None:
    y = np.exp(i["x"])
    y /= y.sum(axis=1, keepdims=True)
    np.multiply(y, i["dy"] - (y * i["dy"]).sum(axis=1, keepdims=True), out=dx)
