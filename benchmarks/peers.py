"""numpy's way: for each op the plain expression, written so that it makes as few arrays as it can.

Comes in: inputs by name and the outputs to write, of any one float dtype: in float64 the same text says what is exact.
The one idea: a peer is what a good numpy programmer writes; where numpy has a call for the whole op, that call.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Inputs = dict[str, Any]
SPARE: dict[tuple[str, tuple[int, ...], str], Array] = {}  # arrays that a peer may write, so that no call pays for fresh memory


def spare(name: str, shape: tuple[int, ...], dtype: Any) -> Array:
    """The same array at every call."""
    key = name, shape, np.dtype(dtype).str
    if key not in SPARE:
        SPARE[key] = np.zeros(shape, dtype)
    return SPARE[key]


# element by element


def saxpy(i: Inputs, z: Array) -> None:
    np.multiply(i["x"], i["a"], out=z)
    np.add(z, i["y"], out=z)


def gelu_tanh(i: Inputs, y: Array) -> None:
    x = i["x"]
    np.multiply(x, x, out=y)
    np.multiply(y, 0.044715, out=y)
    np.add(y, 1, out=y)
    np.multiply(y, x, out=y)
    np.multiply(y, 0.7978845608028654, out=y)
    np.tanh(y, out=y)
    np.add(y, 1, out=y)
    np.multiply(y, x, out=y)
    np.multiply(y, 0.5, out=y)


def gelu_erf(i: Inputs, y: Array) -> None:
    """numpy has no erf: the rational form 7.1.26 of Abramowitz and Stegun (1.5e-7), in place."""
    x = i["x"]
    t, e = spare("t", x.shape, x.dtype), spare("e", x.shape, x.dtype)
    np.abs(x, out=t)
    np.multiply(t, 0.3275911 * 0.7071067811865476, out=t)
    np.add(t, 1, out=t)
    np.divide(1, t, out=t)
    np.multiply(x, x, out=e)
    np.multiply(e, -0.5, out=e)
    np.exp(e, out=e)
    np.multiply(t, 1.061405429, out=y)
    for coefficient in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        np.add(y, coefficient, out=y)
        np.multiply(y, t, out=y)
    np.multiply(y, e, out=y)
    np.subtract(1, y, out=y)
    np.copysign(y, x, out=y)
    np.add(y, 1, out=y)
    np.multiply(y, x, out=y)
    np.multiply(y, 0.5, out=y)


def silu_mul(i: Inputs, z: Array) -> None:
    np.negative(i["x"], out=z)
    np.exp(z, out=z)
    np.add(z, 1, out=z)
    np.divide(i["x"], z, out=z)
    np.multiply(z, i["y"], out=z)


# rows


def softmax(i: Inputs, y: Array) -> None:
    np.subtract(i["x"], i["x"].max(axis=1, keepdims=True), out=y)
    np.exp(y, out=y)
    np.divide(y, y.sum(axis=1, keepdims=True), out=y)


def recurrence(i: Inputs, h: Array) -> None:
    state = np.zeros(h.shape[0], h.dtype)
    for column in range(h.shape[1]):
        state = i["a"][:, column] * state + i["b"][:, column]
        h[:, column] = state


def last_state(i: Inputs, h: Array) -> None:
    h[:] = 0
    for column in range(i["a"].shape[1]):
        np.multiply(i["a"][:, column], h, out=h)
        np.add(h, i["b"][:, column], out=h)


def recurrence_long(i: Inputs, h: Array) -> None:
    a = i["a"].copy()
    h[:] = i["b"]
    step = 1
    while step < len(h):
        h[step:] = a[step:] * h[:-step] + h[step:]
        a[step:] = a[step:] * a[:-step]
        step *= 2


def heat_steps(i: Inputs, y: Array) -> None:
    u, change = np.zeros(len(y) + 2, y.dtype), np.empty_like(y)
    u[1:-1] = i["x"]
    for a in i["a"]:
        np.add(u[:-2], u[2:], out=change)
        change -= 2 * u[1:-1]
        change *= a
        u[1:-1] += change
    y[:] = u[1:-1]


def edits(i: Inputs, y: Array) -> None:
    places = np.arange(len(i["b"]) + 1)
    row = places.copy()
    for number, letter in enumerate(i["a"]):
        above = np.minimum(row[1:] + 1, row[:-1] + (i["b"] != letter))
        row = np.minimum.accumulate(np.concatenate(([number + 1], above)) - places) + places
    y[...] = row[-1]


def shortest(i: Inputs, y: Array) -> None:
    y[:] = i["w"]
    for k in range(len(y)):
        np.minimum(y, y[:, k : k + 1] + y[k], out=y)


def substitution(i: Inputs, y: Array) -> None:
    for row, others in enumerate(i["L"]):
        y[row] = (i["b"][row] - others[:row] @ y[:row]) / others[row]


def lstm(i: Inputs, y: Array) -> None:
    h, c = i["h0"], i["c0"]
    inputs = np.einsum("gjd,td->tgj", i["V"], i["x"]) + i["b"]
    for t, given in enumerate(inputs):
        z = i["U"] @ h + given
        gates = 1 / (1 + np.exp(-z))
        c = gates[1] * c + gates[0] * np.tanh(z[2])
        h = gates[3] * np.tanh(c)
        y[t] = h


def mean_variance(i: Inputs, mean: Array, variance: Array) -> None:
    np.mean(i["x"], axis=1, out=mean)
    np.var(i["x"], axis=1, out=variance)


def layernorm(i: Inputs, y: Array) -> None:
    np.subtract(i["x"], i["x"].mean(axis=1, keepdims=True), out=y)
    square = np.square(y, out=spare("square", y.shape, y.dtype))
    np.divide(y, np.sqrt(square.mean(axis=1, keepdims=True) + i["eps"]), out=y)
    np.multiply(y, i["weight"], out=y)
    np.add(y, i["bias"], out=y)


def rmsnorm(i: Inputs, y: Array) -> None:
    _scaled(i, i["x"], y)


def add_rmsnorm(i: Inputs, z: Array, y: Array) -> None:
    np.add(i["x"], i["residual"], out=z)
    _scaled(i, z, y)


def _scaled(i: Inputs, x: Array, y: Array) -> None:
    np.square(x, out=y)
    root = np.sqrt(y.mean(axis=1, keepdims=True) + i["eps"])
    np.divide(x, root, out=y)
    np.multiply(y, i["weight"], out=y)


def logsumexp(i: Inputs, y: Array) -> None:
    largest = i["x"].max(axis=1)
    e = np.subtract(i["x"], largest[:, None], out=spare("e", i["x"].shape, i["x"].dtype))
    np.exp(e, out=e)
    np.sum(e, axis=1, out=y)
    np.log(y, out=y)
    np.add(y, largest, out=y)


def cross_entropy(i: Inputs, loss: Array) -> None:
    logsumexp(i, loss)
    loss -= i["x"][np.arange(len(loss)), i["target"]]


def argmax(i: Inputs, value: Array, place: Array) -> None:
    place[...] = i["x"].argmax(axis=1)
    value[...] = i["x"][np.arange(len(place)), place]


def argmin(i: Inputs, place: Array) -> None:
    place[...] = i["x"].argmin(axis=1)


def _up_to_the_diagonal(x: Array) -> Iterator[tuple[int, Array]]:
    """A loop over rows of different lengths: half the work of a mask."""
    for q in range(len(x)):
        yield q, x[q, : q + 1]


def causal_sum(i: Inputs, y: Array) -> None:
    for q, row in _up_to_the_diagonal(i["x"]):
        y[q] = row.sum()


def causal_max(i: Inputs, y: Array) -> None:
    for q, row in _up_to_the_diagonal(i["x"]):
        y[q] = row.max()


def causal_argmax(i: Inputs, place: Array) -> None:
    for q, row in _up_to_the_diagonal(i["x"]):
        place[q] = row.argmax()


def causal_logsumexp(i: Inputs, y: Array) -> None:
    for r, row in _up_to_the_diagonal(i["x"]):
        largest = row.max()
        y[r] = largest + np.log(np.exp(row - largest).sum())


# products


def transposed_left(i: Inputs, c: Array) -> None:
    np.matmul(i["A"].T, i["B"], out=c)


def transposed_right(i: Inputs, c: Array) -> None:
    np.matmul(i["A"], i["B"].T, out=c)


def product(i: Inputs, c: Array) -> None:
    np.matmul(i["A"], i["B"], out=c)


def matvec_of_nibbles(i: Inputs, y: Array) -> None:
    q = (i["w"][:, :, None] >> np.arange(0, 32, 4, dtype=np.uint32) & 15).reshape(len(i["w"]), -1)
    np.matmul((q.astype(i["x"].dtype) - 8) * np.repeat(i["s"], 32, axis=1), i["x"], out=y)


def product_of_bytes(i: Inputs, c: Array) -> None:
    c[...] = np.matmul(i["A"].astype(np.int32), i["B"].astype(np.int32)) * i["a"][:, None] * i["b"]


def half_product(i: Inputs, c: Array) -> None:
    np.matmul(i["A"].astype(c.dtype), i["B"].astype(c.dtype), out=c)


def rounded_product(i: Inputs, c: Array) -> None:
    c[...] = i["A"].astype(np.float32) @ i["B"].astype(np.float32)


def layer(i: Inputs, y: Array) -> None:
    t = i["x"].astype(np.float32) @ i["W"].astype(np.float32).T + i["bias"]
    y[...] = 0.5 * t * (1 + np.tanh(0.7978846 * (t + 0.044715 * t**3)))


def channels(i: Inputs, y: Array) -> None:
    edges = [(n // 2, n - 1 - n // 2) for n in i["w"].shape[:2]]
    padded = np.pad(i["x"].astype(y.dtype), ((0, 0), *edges, (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, i["w"].shape[:2], axis=(1, 2))
    y[...] = np.tensordot(windows, i["w"].astype(y.dtype), axes=((4, 5, 3), (0, 1, 2)))


def scaled_bytes(i: Inputs, c: Array) -> None:
    c[...] = (i["A"].astype(np.int32) @ i["B"].astype(np.int32).T) * i["sa"][:, None] * i["sb"]


def bytes_of_groups(i: Inputs, c: Array) -> None:
    """A group at a time: a product of whole numbers, scaled."""
    groups = i["sb"].shape[0]
    left, right = (i[name].astype(np.int32).reshape(i[name].shape[0], groups, -1) for name in "AB")
    c[...] = 0
    for g in range(groups):
        c += (left[:, g] @ right[:, g].T) * i["sa"][:, g, None] * i["sb"][g]


def scaled_tensors(i: Inputs, c: Array) -> None:
    c[...] = (i["A"].astype(np.float32) @ i["B"].astype(np.float32).T) * (i["sa"] * i["sb"])


def scaled_product(i: Inputs, c: Array) -> None:
    np.matmul(i["A"].astype(c.dtype), i["B"].astype(c.dtype).T, out=c)
    c *= i["sa"][:, None] * i["sb"]


def quantise(i: Inputs, q: Array, scale: Array) -> None:
    np.divide(np.maximum(np.abs(i["x"]).max(1), 1e-30), 448, out=scale)
    q[...] = (i["x"] / scale[:, None]).astype(q.dtype)


def mlp(i: Inputs, y: Array) -> None:
    h = np.matmul(i["x"], i["V"], out=spare("h", (len(y), i["V"].shape[1]), y.dtype))
    np.maximum(h, 0, out=h)
    np.matmul(h, i["W"], out=y)


def attend(i: Inputs, y: Array) -> None:
    weights = spare("weights", i["score"].shape, y.dtype)
    softmax({"x": i["score"]}, weights)
    np.matmul(weights, i["value"], out=y)


def attend_causal(i: Inputs, y: Array) -> None:
    scores = spare("scores", i["score"].shape, y.dtype)
    np.copyto(scores, i["score"])
    scores[np.triu(np.ones(scores.shape, bool), 1)] = -np.inf
    attend({"score": scores, "value": i["value"]}, y)


# windows


def convolution(i: Inputs, y: Array) -> None:
    """im2col: the nine pixels of each window side by side, then one product of matrices."""
    x, w = i["x"], i["w"]
    b, h, v, c = x.shape
    around = spare("around", (b, h + 2, v + 2, c), x.dtype)  # zeros at the border, which nobody writes
    around[:, 1:-1, 1:-1] = x
    columns = spare("columns", (b, h, v, 3, 3, c), x.dtype)
    for r in range(3):
        for s in range(3):
            columns[:, :, :, r, s] = around[:, r : r + h, s : s + v]
    np.matmul(columns.reshape(-1, 9 * c), w.reshape(9 * c, -1), out=y.reshape(-1, w.shape[3]))


def max_pool(i: Inputs, y: Array) -> None:
    c, p, q = y.shape
    around = spare("around", (c, 2 * p + 1, 2 * q + 1), y.dtype)
    around.fill(-np.inf)
    around[:, 1:, 1:] = i["x"]
    y[...] = around[:, 0 : 2 * p : 2, 0 : 2 * q : 2]
    for r in range(3):
        for s in range(3):
            np.maximum(y, around[:, r : r + 2 * p : 2, s : s + 2 * q : 2], out=y)


def mean_pool(i: Inputs, y: Array) -> None:
    x = i["x"]
    np.add(x[:, ::2, ::2], x[:, ::2, 1::2], out=y)
    np.add(y, x[:, 1::2, ::2], out=y)
    np.add(y, x[:, 1::2, 1::2], out=y)
    np.multiply(y, 0.25, out=y)


def mean_pool_same(i: Inputs, y: Array) -> None:
    """Three rows are added, then three columns."""
    c, h, w = y.shape
    rows = spare("rows", (c, h, w + 2), y.dtype)
    inner = rows[:, :, 1:-1]
    inner[...] = i["x"]
    inner[:, 1:] += i["x"][:, :-1]
    inner[:, :-1] += i["x"][:, 1:]
    np.add(rows[:, :, :-2], rows[:, :, 1:-1], out=y)
    np.add(y, rows[:, :, 2:], out=y)
    np.divide(y, 9, out=y)


def _neighbours(x: Array, y: Array) -> None:
    """The sum of the four neighbours; what lies outside counts as 0."""
    y[0], y[1:] = 0, x[:-1]
    y[:-1] += x[1:]
    y[:, 1:] += x[:, :-1]
    y[:, :-1] += x[:, 1:]


def heat(i: Inputs, y: Array) -> None:
    x = i["x"]
    _neighbours(x, y)
    np.multiply(y, i["a"], out=y)
    np.add(y, np.multiply(x, 1 - 4 * i["a"], out=spare("own", x.shape, x.dtype)), out=y)


def jacobi(i: Inputs, v: Array) -> None:
    _neighbours(i["u"], v)
    np.subtract(v, i["f"], out=v)
    np.multiply(v, 0.25, out=v)


def jacobi_twice(i: Inputs, v: Array) -> None:
    between = spare("between", v.shape, v.dtype)
    jacobi(i, between)
    jacobi({"f": i["f"], "u": between}, v)


# data


def embedding(i: Inputs, y: Array) -> None:
    np.take(i["W"], i["idx"], axis=0, out=y, mode="clip")  # the mode in which numpy writes into `out` itself


def scatter_add(i: Inputs, y: Array) -> None:
    y.fill(0)
    np.add.at(y, i["idx"], i["v"])


def histogram(i: Inputs, h: Array) -> None:
    h[...] = np.bincount(i["x"], minlength=len(h))


def append(i: Inputs, out: Array) -> None:
    out[...] = i["cache"]
    out[np.arange(len(out)), i["len"]] = i["k"]


def add_rows(i: Inputs, y: Array) -> None:
    y[...] = i["x"]
    np.add.at(y, i["idx"], i["v"])


def csr(i: Inputs, y: Array) -> None:
    products = np.take(i["x"], i["col"], mode="clip", out=spare("products", i["val"].shape, y.dtype))
    np.multiply(products, i["val"], out=products)
    _segment_sums(products, i["off"], y)


def segment_mean(i: Inputs, y: Array) -> None:
    _segment_sums(i["x"], i["off"], y)
    np.divide(y, np.diff(i["off"]), out=y)


def _segment_sums(x: Array, off: Array, y: Array) -> None:
    """reduceat takes an empty segment for one element: those are left out."""
    full = off[:-1] < off[1:]
    y.fill(0)
    y[full] = np.add.reduceat(x[: off[-1]], off[:-1][full])


def scattered(i: Inputs, out: Array) -> None:
    made = i["A"] @ i["B"]
    made *= i["scale"]
    out[i["to"]] = made


def combined(i: Inputs, y: Array) -> None:
    made = i["x"] @ i["w"]
    made *= i["gate"][:, None]
    y.fill(0)
    np.add.at(y, i["token"], made)


def starts(i: Inputs, first: Array) -> None:
    first[0] = 0
    np.cumsum(np.bincount(i["x"], minlength=256)[:-1], out=first[1:])


def windows(i: Inputs, y: Array) -> None:
    part = np.empty_like(y)
    y.fill(0)
    for r, w in enumerate(i["w"]):
        np.multiply(i["x"][r : r + len(y)], w, out=part)
        y += part


def grouped(i: Inputs, y: Array) -> None:
    for block, g in enumerate(i["group"]):
        rows = slice(64 * block, 64 * block + 64)
        np.matmul(i["x"][rows].astype(y.dtype), i["w"][g].astype(y.dtype), out=y[rows])


def paged(i: Inputs, o: Array) -> None:
    """A sequence at a time: its pages side by side, then attention of all heads."""
    heads, width = i["q"].shape[1:]
    for b, tokens in enumerate(i["len"]):
        pages = i["table"][b, : -(-tokens // i["K"].shape[1])]
        keys, values = (i[name][pages].reshape(-1, heads, width)[:tokens].transpose(1, 0, 2) for name in ("K", "V"))
        weights = np.matmul(keys, i["q"][b, :, :, None])[:, :, 0] * i["a"]
        softmax({"x": weights}, weights)
        np.matmul(weights[:, None], values, out=o[b, :, None])
