"""The operations of the gallery: a spec, a machine, sizes, and torch's way to compute the same.

Goes out: `ROWS`. The one idea: an operation is data, so that one command judges all of them; sizes are odd, as none of them may matter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.gallery import chains, convolutions

Given = Mapping[str, Any]
Torch = Callable[[Any, Given], Any]  # torch itself, inputs and sizes by name
Draw = Callable[[np.random.Generator, tuple[int, ...], Mapping[str, int]], Any]
LINE = 4194301


@dataclass(frozen=True, slots=True)
class Row:
    """An operation: what it is called, the spec of `specs/level1` or of another level, its op, its machine, sizes, torch's expression, inputs
    that are not of normal distribution, and why it is slow where it is."""

    name: str
    spec: str
    op: str
    machine: str
    sizes: Mapping[str, int]
    torch: Torch
    draw: Mapping[str, Draw | float] = field(default_factory=dict)
    why: str = ""
    level: int = 1

    def small(self, least: int = 7) -> dict[str, int]:
        """Sizes for which an equation is computed by brute force: none that was large is below the least."""
        return {name: value if value <= 12 else least + value % 5 for name, value in self.sizes.items()}


def positive(chance: np.random.Generator, shape: tuple[int, ...], sizes: Mapping[str, int]) -> Any:
    """Rows of probabilities."""
    drawn = chance.random(shape, dtype=np.float32) + np.float32(0.01)
    return drawn / drawn.sum(-1, keepdims=True)


def classes(chance: np.random.Generator, shape: tuple[int, ...], sizes: Mapping[str, int]) -> Any:
    return chance.integers(0, sizes["V"], shape, dtype=np.int32)


def signs(chance: np.random.Generator, shape: tuple[int, ...], sizes: Mapping[str, int]) -> Any:
    return np.sign(chance.standard_normal(shape, dtype=np.float32))


def bits(chance: np.random.Generator, shape: tuple[int, ...], sizes: Mapping[str, int]) -> Any:
    return chance.integers(0, 2, shape).astype(np.bool_)


def near_one(chance: np.random.Generator, shape: tuple[int, ...], sizes: Mapping[str, int]) -> Any:
    return (1 + 0.01 * chance.standard_normal(shape)).astype(np.float32)


def upper(chance: np.random.Generator, shape: tuple[int, ...], sizes: Mapping[str, int]) -> Any:
    return np.triu(chance.standard_normal(shape, dtype=np.float32))


def lower(chance: np.random.Generator, shape: tuple[int, ...], sizes: Mapping[str, int]) -> Any:
    return np.tril(chance.standard_normal(shape, dtype=np.float32))


def symmetric(chance: np.random.Generator, shape: tuple[int, ...], sizes: Mapping[str, int]) -> Any:
    drawn = chance.standard_normal(shape, dtype=np.float32)
    return drawn + drawn.T


def product(name: str, op: str, machine: str, sizes: Mapping[str, int], torch: Torch, spec: str = "products", **draw: Draw) -> Row:
    return Row(name, spec, op, machine, sizes, torch, draw)


def cube(m: int, n: int, k: int) -> dict[str, int]:
    return {"M": m, "N": n, "K": k}


def _matmul(t: Any, i: Given) -> Any:
    return i["A"] @ i["B"]


PRODUCTS = (
    product("square matrices", "matmul", "tile", cube(701, 701, 701), _matmul),
    product("matrices", "matmul", "tile", cube(613, 811, 707), _matmul),
    product("batched matrices", "batched", "batched_tile", {"S": 9, **cube(257, 263, 251)}, _matmul, "products_batched"),
    product("matrix, vector", "matvec", "row_a_warp", {"M": 2053, "K": 4099}, lambda t, i: i["A"] @ i["x"], "products_special"),
    Row("matrix, scalar", "activations", "scaled", "elements", {"n": LINE}, lambda t, i: i["x"] * i["s"], {"s": 3.14}),
    product("large K", "matmul", "tile", cube(131, 127, 20011), _matmul),
    product("small K", "matmul", "tile", cube(1501, 1499, 33), _matmul),
    product("irregular shapes", "matmul", "tile", cube(821, 297, 593), _matmul),
    product("tall, skinny", "matmul", "tile", cube(4099, 37, 1031), _matmul),
    product("3d tensor, matrix", "tensor_3d", "tile_3d", {"S": 7, **cube(131, 257, 263)}, _matmul, "products_batched"),
    product("4d tensor, matrix", "tensor_4d", "tile_4d", {"R": 3, "S": 5, **cube(67, 257, 263)}, _matmul, "products_batched"),
    product(
        "diagonal, matrix", "diagonal", "rows", {"M": 2053, "N": 2051}, lambda t, i: i["d"][:, None] * i["B"], "products_special"
    ),
    product("symmetric matrices", "matmul", "tile", cube(701, 701, 701), _matmul, A=symmetric, B=symmetric),
    product(
        "upper triangles",
        "upper",
        "triangle",
        {"N": 701},
        lambda t, i: t.triu(i["A"] @ i["B"]),
        "products_special",
        A=upper,
        B=upper,
    ),
    product(
        "lower triangles",
        "lower",
        "triangle",
        {"N": 701},
        lambda t, i: t.tril(i["A"] @ i["B"]),
        "products_special",
        A=lower,
        B=lower,
    ),
    product("A turned", "matmul_tn", "tile_tn", cube(613, 811, 707), lambda t, i: i["A"].T @ i["B"]),
    product("B turned", "matmul_nt", "tile_nt", cube(613, 811, 707), lambda t, i: i["A"] @ i["B"].T),
    product("A and B turned", "matmul_tt", "tile_tt", cube(613, 811, 707), lambda t, i: i["A"].T @ i["B"].T),
)


def element(name: str, op: str, torch: Torch, **numbers: float) -> Row:
    return Row(name, "activations", op, "elements", {"n": LINE}, torch, numbers)


ACTIVATIONS = (
    element("relu", "relu", lambda t, i: t.relu(i["x"])),
    element("leaky relu", "leaky_relu", lambda t, i: t.nn.functional.leaky_relu(i["x"], i["slope"]), slope=0.01),
    element("sigmoid", "sigmoid_of", lambda t, i: t.sigmoid(i["x"])),
    element("tanh", "tanh_of", lambda t, i: t.tanh(i["x"])),
    Row("softmax", "softmax", "softmax", "row_a_block", {"R": 511, "N": 8191}, lambda t, i: t.softmax(i["x"], 1)),
    Row("log softmax", "softmax", "log_softmax", "row_a_block", {"R": 511, "N": 8191}, lambda t, i: t.log_softmax(i["x"], 1)),
    element("swish", "swish", lambda t, i: i["x"] * t.sigmoid(i["x"])),
    element("gelu", "gelu", lambda t, i: t.nn.functional.gelu(i["x"])),
    element("selu", "selu", lambda t, i: t.selu(i["x"])),
    element("hard sigmoid", "hard_sigmoid", lambda t, i: t.nn.functional.hardsigmoid(i["x"])),
    element("softplus", "softplus", lambda t, i: t.nn.functional.softplus(i["x"])),
    element("softsign", "softsign", lambda t, i: t.nn.functional.softsign(i["x"])),
    element("elu", "elu", lambda t, i: t.nn.functional.elu(i["x"], i["alpha"]), alpha=1.0),
    element("hard tanh", "hard_tanh", lambda t, i: t.nn.functional.hardtanh(i["x"], i["low"], i["high"]), low=-1.0, high=1.0),
    element("gelu of MinGPT", "gelu_new", lambda t, i: 0.5 * i["x"] * (1.0 + t.tanh(0.7978845608028654 * (i["x"] + 0.044715 * t.pow(i["x"], 3.0))))),
)  # fmt: skip

EPS = {"eps": 1e-5}
PIXELS = {"B": 7, "C": 63, "N": 4225}


NORMS = (
    Row("batch norm", "norms", "batch_norm", "batch", PIXELS, lambda t, i: t.nn.functional.batch_norm(i["x"], None, None, i["weight"], i["bias"], True, 0.1, i["eps"]), EPS),
    Row("instance norm", "norms", "instance_norm", "instance", PIXELS, lambda t, i: t.nn.functional.instance_norm(i["x"], eps=i["eps"]), EPS),
    Row("group norm", "norms", "group_norm", "group", {"B": 7, "G": 9, "C": 7, "N": 4225}, lambda t, i: t.nn.functional.group_norm(i["x"].flatten(1, 2), i["x"].shape[1], i["weight"].flatten(), i["bias"].flatten(), i["eps"]).view(i["x"].shape), EPS),
    Row("rms norm", "norms", "rms_norm", "pixel_a_thread", PIXELS, lambda t, i: i["x"] / t.sqrt(t.mean(i["x"] ** 2, dim=1, keepdim=True) + i["eps"]), EPS),
    Row("Frobenius norm", "norms", "frobenius_norm", "everything", {"n": LINE}, lambda t, i: i["x"] / t.norm(i["x"], p="fro")),
    Row("L1 norm", "norms", "l1_norm", "row_a_block", {"R": 129, "N": 16411}, lambda t, i: i["x"] / t.sum(t.abs(i["x"]), dim=1, keepdim=True)),
    Row("L2 norm", "norms", "l2_norm", "row_a_block", {"R": 129, "N": 16411}, lambda t, i: i["x"] / t.norm(i["x"], p=2, dim=1, keepdim=True)),
    Row("layer norm", "norms", "layer_norm", "row_a_block", {"R": 15, "N": 262147}, lambda t, i: t.nn.functional.layer_norm(i["x"], i["x"].shape[1:], i["weight"], i["bias"], i["eps"]), EPS),
)  # fmt: skip


def pool(rank: int, kind: str, sizes: Mapping[str, int], window: Mapping[str, int]) -> Row:
    """The pooling of a rank: its window by name."""

    def torch(t: Any, i: Given) -> Any:
        call = getattr(t.nn.functional, f"{'max' if kind == 'max' else 'avg'}_pool{rank}d")
        return call(i["x"], i["K"], i["S"], i["P"], **({"dilation": i["D"]} if kind == "max" else {}))

    name = "largest" if kind == "max" else "mean"
    return Row(f"{name} of windows, {rank}d", "pooling", f"{kind}_pool_{rank}d", f"pool_{rank}d", {**sizes, **window}, torch)


POOLING = (
    pool(1, "max", {"B": 15, "C": 63, "L": 2051}, {"K": 4, "S": 2, "P": 2, "D": 3}),
    pool(2, "max", {"B": 7, "C": 31, "H": 129, "W": 131}, {"K": 3, "S": 2, "P": 1, "D": 1}),
    pool(3, "max", {"B": 3, "C": 15, "T": 33, "H": 35, "W": 37}, {"K": 3, "S": 2, "P": 1, "D": 2}),
    pool(1, "mean", {"B": 15, "C": 63, "L": 2051}, {"K": 4, "S": 1, "P": 2}),
    pool(2, "mean", {"B": 7, "C": 31, "H": 129, "W": 131}, {"K": 3, "S": 3, "P": 0}),
    pool(3, "mean", {"B": 3, "C": 15, "T": 33, "H": 35, "W": 37}, {"K": 3, "S": 2, "P": 1}),
)
CUBE = {"B": 15, "M": 257, "N": 513}


def fold(name: str, op: str, torch: Torch, **draw: Draw) -> Row:
    return Row(name, "reductions", op, "columns", CUBE, torch, draw)


REDUCTIONS = (
    fold("sum over an axis", "sum_over", lambda t, i: i["x"].sum(1)),
    fold("mean over an axis", "mean_over", lambda t, i: i["x"].mean(1)),
    fold("largest over an axis", "max_over", lambda t, i: i["x"].max(1)[0]),
    fold("product over an axis", "product_over", lambda t, i: i["x"].prod(1), x=near_one),
    fold("place of the largest", "argmax_over", lambda t, i: i["x"].argmax(1)),
    fold("place of the smallest", "argmin_over", lambda t, i: i["x"].argmin(1)),
    fold("smallest over an axis", "min_over", lambda t, i: i["x"].min(1)[0]),
)
SCANNED = {"R": 129, "N": 32771}


def scan(name: str, op: str, torch: Torch, machine: str = "row_a_block", **draw: Draw) -> Row:
    return Row(name, "scans", op, machine, SCANNED, torch, draw)


SCANS = (
    scan("prefix sums", "cumsum", lambda t, i: i["x"].cumsum(1)),
    scan("prefix products", "cumprod", lambda t, i: i["x"].cumprod(1), x=near_one),
    scan("sums to the end", "cumsum_reverse", lambda t, i: i["x"].flip(1).cumsum(1).flip(1), "from_the_end"),
    scan("prefix sums, exclusive", "cumsum_exclusive", lambda t, i: t.nn.functional.pad(i["x"], (1, 0))[:, :-1].cumsum(1)),
    scan("prefix sums, masked", "cumsum_masked", lambda t, i: (i["x"] * i["mask"]).cumsum(1), mask=bits),
)
PAIR = {"R": 2047, "N": 1029}


def loss(name: str, op: str, machine: str, torch: Torch, **draw: Draw | float) -> Row:
    return Row(
        name,
        "losses_rows" if machine != "two_launches" else "losses",
        op,
        machine,
        {"n": LINE} if machine == "two_launches" else PAIR,
        torch,
        draw,
    )


LOSSES = (
    loss("mean square", "mse", "two_launches", lambda t, i: t.mean((i["x"] - i["y"]) ** 2)),
    Row("cross entropy", "losses_rows", "cross_entropy", "rows_then_all", {"R": 2047, "V": 1029}, lambda t, i: t.nn.functional.cross_entropy(i["x"], i["target"].long()), {"target": classes}),
    loss("Huber", "huber", "two_launches", lambda t, i: t.nn.functional.smooth_l1_loss(i["x"], i["y"])),
    loss("cosine", "cosine", "angle", lambda t, i: t.mean(1 - t.nn.functional.cosine_similarity(i["x"], i["y"], dim=1))),
    loss("KL divergence", "kl_divergence", "kl", lambda t, i: t.nn.functional.kl_div(t.log(i["p"]), i["q"], reduction="batchmean"), p=positive, q=positive),
    loss("triplet margin", "triplet", "nearer", lambda t, i: t.nn.functional.triplet_margin_loss(i["x"], i["like"], i["other"], i["margin"]), margin=1.0),
    loss("hinge", "hinge", "two_launches", lambda t, i: t.mean(t.clamp(1 - i["x"] * i["y"], min=0)), y=signs),
)  # fmt: skip


def _attention(t: Any, i: Given) -> Any:
    return t.nn.functional.scaled_dot_product_attention(*(i[name][None] for name in "QKV"))[0]


ATTENTION = (
    Row("attention", "attention", "attention", "three_launches", {"B": 9, "M": 255, "N": 257, "D": 63, "E": 65}, _attention),
)
ZEROS = "with a stride of S all but one of S taps of an axis are products with zeros, which torch does not make"
CONVOLUTIONS = tuple(
    Row(*parts, why=ZEROS if "transposed" in parts[0] and "strided" in parts[0] else "") for parts in convolutions.rows()
)
CHAINS = tuple(Row(*parts, level=2) for parts in chains.rows())
ROWS = (*PRODUCTS, *ACTIVATIONS, *NORMS, *POOLING, *REDUCTIONS, *CONVOLUTIONS, *SCANS, *LOSSES, *ATTENTION, *CHAINS)
