"""What somebody writes with numpy for gradients, for attention that comes with its own, and for sorting.

Comes in: inputs by name and the outputs to write, of any one float dtype. Goes out: nothing; the outputs are written. The one idea: each is the formula
of the spec on whole arrays, as it stands in a textbook.
"""

from __future__ import annotations

import numpy as np

from benchmarks.peers import Inputs
from tinygpu.category.number import Array


def log_softmax(i: Inputs, y: Array) -> None:
    away = i["x"] - i["x"].max(axis=1, keepdims=True)
    np.subtract(away, np.log(np.exp(away).sum(axis=1, keepdims=True)), out=y)


def rmsnorm(i: Inputs, y: Array) -> None:
    np.multiply(i["x"] / np.sqrt(np.square(i["x"]).mean(axis=1, keepdims=True) + i["eps"]), i["w"], out=y)


def layernorm(i: Inputs, y: Array, mean: Array, q: Array) -> None:
    np.mean(i["x"], axis=1, out=mean)
    away = i["x"] - mean[:, None]
    q[...] = 1 / np.sqrt(np.square(away).mean(axis=1) + i["eps"])
    np.add(away * q[:, None] * i["w"], i["b"], out=y)


def softmax_grad(i: Inputs, dx: Array) -> None:
    np.multiply(i["y"], i["dy"] - (i["y"] * i["dy"]).sum(axis=1, keepdims=True), out=dx)


def log_softmax_grad(i: Inputs, dx: Array) -> None:
    np.subtract(i["dy"], np.exp(i["y"]) * i["dy"].sum(axis=1, keepdims=True), out=dx)


def rmsnorm_grad(i: Inputs, dx: Array) -> None:
    x, g = i["x"], i["dy"] * i["w"]
    q = 1 / np.sqrt(np.square(x).mean(axis=1, keepdims=True) + i["eps"])
    np.multiply(q, g - x * q * q * (g * x).mean(axis=1, keepdims=True), out=dx)


def layernorm_grad(i: Inputs, dx: Array) -> None:
    away, g = i["x"] - i["x"].mean(axis=1, keepdims=True), i["dy"] * i["w"]
    q = 1 / np.sqrt(np.square(away).mean(axis=1, keepdims=True) + i["eps"])
    z = away * q
    np.multiply(q, g - g.mean(axis=1, keepdims=True) - z * (g * z).mean(axis=1, keepdims=True), out=dx)


def norm_weight_grad(i: Inputs, dw: Array, db: Array) -> None:
    z = (i["x"] - i["mean"][:, None]) * i["q"][:, None]
    np.sum(i["dy"] * z, axis=0, out=dw)
    np.sum(i["dy"], axis=0, out=db)


def cross_entropy_grad(i: Inputs, dx: Array) -> None:
    e = np.exp(i["x"] - i["x"].max(axis=1, keepdims=True))
    np.divide(e, e.sum(axis=1, keepdims=True), out=dx)
    dx[np.arange(len(dx)), i["target"]] -= 1
    np.multiply(dx, i["dy"][:, None], out=dx)


def flash(i: Inputs, o: Array, logs: Array) -> None:
    scores = _scores(i)
    most = scores.max(axis=2, keepdims=True)
    weights = np.exp(scores - most)
    total = weights.sum(axis=2, keepdims=True)
    np.matmul(weights / total, i["V"], out=o)
    logs[...] = (most + np.log(total))[:, :, 0]


def attention(i: Inputs, o: Array) -> None:
    _attended(i["Q"].astype(o.dtype), i["K"].astype(o.dtype), i["V"].astype(o.dtype), i["a"], o)


def attention_causal(i: Inputs, o: Array) -> None:
    keys, values = (i[name].astype(o.dtype)[:, :, None] for name in "KV")
    _attended(i["Q"].astype(o.dtype), keys, values, i["a"], o, causal=True)


def _attended(queries: Array, keys: Array, values: Array, scale: Array, o: Array, causal: bool = False) -> None:
    """Rows of softmax(a·Q·Kᵀ)·V, for each head."""
    scores = scale * (queries @ keys.swapaxes(-1, -2))
    if causal:
        scores[..., np.triu(np.ones(scores.shape[-2:], bool), 1)] = -np.inf
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    np.matmul(weights / weights.sum(axis=-1, keepdims=True), values, out=o)


def flash_grad(i: Inputs, dq: Array) -> None:
    weights = np.exp(_scores(i) - i["L"][:, :, None])
    ds = weights * (i["G"] @ i["V"].transpose(0, 2, 1) - i["delta"][:, :, None])
    np.multiply(i["a"], ds @ i["K"], out=dq)


def flash_delta(i: Inputs, delta: Array) -> None:
    np.sum(i["o"] * i["do"], axis=2, out=delta)


def flash_grad_keys(i: Inputs, dk: Array, dv: Array) -> None:
    weights = np.exp(_scores(i) - i["L"][:, :, None])
    ds = weights * (i["G"] @ i["V"].transpose(0, 2, 1) - i["delta"][:, :, None])
    np.multiply(i["a"], ds.transpose(0, 2, 1) @ i["Q"], out=dk)
    np.matmul(weights.transpose(0, 2, 1), i["G"], out=dv)


def decode(i: Inputs, o: Array) -> None:
    scores = 0.125 * (i["k"] @ i["q"][:, :, None])[:, :, 0]
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    o[...] = (weights[:, None, :] @ i["v"])[:, 0]


def _scores(i: Inputs) -> Array:
    """Of each query with the keys up to its own."""
    scores = i["a"] * (i["Q"] @ i["K"].transpose(0, 2, 1))
    scores[:, np.triu(np.ones(scores.shape[1:], bool), 1)] = -np.inf
    return scores  # type: ignore[no-any-return]


def sort_rows(i: Inputs, y: Array) -> None:
    y[...] = np.sort(i["x"], axis=1)


def digits(i: Inputs, h: Array) -> None:
    blocks = h.shape[1]
    digit = (i["key"] >> np.uint32(i["shift"]) & 15) * blocks + np.repeat(np.arange(blocks), 1024)
    h[...] = np.bincount(digit, minlength=h.size).reshape(h.shape)
