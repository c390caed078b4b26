"""The cases of `benchmarks.cpu`: which op, at which sizes, against what, and how fast it has to be.

Goes out: `CASES`, and `WHY`: for each machine that is below a fifth of numpy, what it does there.
The one idea: a goal is data in a table, and so is the reason where one is not met.
"""

from __future__ import annotations

import numpy as np

from benchmarks import peers, peers_gradients, peers_layers, peers_theorems, plain
from benchmarks.case import Array, Case, Draw
from benchmarks.peers_transformer import TRANSFORMER

SIZE = 1 << 24
SIDE = 1 << 12
LINE, PLANE, ROWS = {"n": SIZE}, {"M": SIDE, "N": SIDE}, {"R": SIDE, "N": SIDE}
CUBE = {"M": 1024, "N": 1024, "K": 1024}
CAUSAL = {"Q": SIDE, "K": SIDE}
IMAGES = {"B": 8, "H": 56, "W": 56, "C": 64, "F": 64}
POOLED = {"C": 64, "P": 128, "Q": 128}
SMALL_EPS: dict[str, Draw] = {"eps": lambda chance, shape, sizes: 1e-5}
DECAY: dict[str, Draw] = {
    "a": lambda chance, shape, sizes: chance.uniform(0, 1, shape).astype(np.float32)
}  # what was before is forgotten


def below(size: str) -> Draw:
    """Integers from 0 to a size, without it."""
    return lambda chance, shape, sizes: chance.integers(0, sizes[size], shape, dtype=np.int32)


def small(chance: np.random.Generator, shape: tuple[int, ...], sizes: dict[str, int]) -> Array:
    return chance.integers(-1000, 1000, shape, dtype=np.int32)


def steady(chance: np.random.Generator, shape: tuple[int, ...], sizes: dict[str, int]) -> Array:
    """Steps that heat goes, or ways."""
    return chance.uniform(0.05, 0.25, shape).astype(np.float32)


def dominant(chance: np.random.Generator, shape: tuple[int, ...], sizes: dict[str, int]) -> Array:
    """A matrix that is mostly its diagonal."""
    return (chance.standard_normal(shape) / shape[0] + 2 * np.eye(shape[0])).astype(np.float32)


def slight(chance: np.random.Generator, shape: tuple[int, ...], sizes: dict[str, int]) -> Array:
    """Weights of a net that forgets."""
    return (chance.standard_normal(shape) / 16).astype(np.float32)


def bounds(size: str) -> Draw:
    """Where the parts of a size begin and end, none of them empty: it has at least as many elements as there are parts."""

    def drawn(chance: np.random.Generator, shape: tuple[int, ...], sizes: dict[str, int]) -> Array:
        inner = chance.choice(np.arange(1, sizes[size]), shape[0] - 2, replace=False)
        return np.array([0, *np.sort(inner), sizes[size]], np.int32)

    return drawn


def lengths(chance: np.random.Generator, shape: tuple[int, ...], sizes: dict[str, int]) -> Array:
    """Tokens of sequences, which fill at least half of their pages."""
    most = sizes["L"] * sizes["S"]
    return chance.integers(most // 2, most, shape, dtype=np.int32) + 1


def shuffled(chance: np.random.Generator, shape: tuple[int, ...], sizes: dict[str, int]) -> Array:
    """A permutation, the same each time."""
    return np.random.default_rng(1).permutation(shape[0]).astype(np.int32)


def shuffled_back(chance: np.random.Generator, shape: tuple[int, ...], sizes: dict[str, int]) -> Array:
    """Its inverse."""
    return np.argsort(shuffled(chance, shape, sizes)).astype(np.int32)


def turned(chance: np.random.Generator, shape: tuple[int, ...], sizes: dict[str, int]) -> Array:
    """A matrix by columns."""
    return chance.standard_normal(shape[::-1], dtype=np.float32).T


def packed(chance: np.random.Generator, shape: tuple[int, ...], sizes: dict[str, int]) -> Array:
    """One of three that lie in one array."""
    return chance.standard_normal((*shape[:2], 3, *shape[2:]), dtype=np.float32)[:, :, 1]


def octets(chance: np.random.Generator, shape: tuple[int, ...], sizes: dict[str, int]) -> Array:
    return chance.integers(0, 256, shape, dtype=np.uint8)


def words(chance: np.random.Generator, shape: tuple[int, ...], sizes: dict[str, int]) -> Array:
    return chance.integers(0, 1 << 32, shape, dtype=np.uint32)


def signed(chance: np.random.Generator, shape: tuple[int, ...], sizes: dict[str, int]) -> Array:
    return chance.integers(-128, 128, shape, dtype=np.int8)


ELEMENTS = (
    Case("copy", "copy", "copy", LINE, lambda i, y: np.copyto(y, i["x"]), "copyto(y, x)", 0.95, ("copy_v4[T=f32]",)),
    Case("saxpy", "saxpy", "saxpy", LINE, peers.saxpy, "multiply, add", 0.95, ("saxpy_v4",)),
    Case("bias", "elementwise", "bias_rows", PLANE, lambda i, y: np.add(i["x"], i["b"][:, None], out=y), "x + b[:, None]", 0.95, ("rows_v4",)),
    Case("relu", "relu", "relu", LINE, lambda i, y: np.maximum(i["x"], 0, out=y), "maximum(x, 0)", 0.95, ("relu_v4[op=relu, T=f32]",)),
    Case("gelu, tanh", "gelu", "gelu_tanh", LINE, peers.gelu_tanh, "nine calls, one of them tanh", 2.0, ("gelu_v4",)),
    Case("gelu, erf", "gelu", "gelu_erf", LINE, peers.gelu_erf, "a rational form with exp", 2.0, ("gelu_v4",), note="numpy has no erf"),
    Case("silu * y", "silu_mul", "silu_mul", LINE, peers.silu_mul, "negative, exp, add, divide, multiply", 2.0, ("silu_mul_v4",)),
    Case("transpose", "transpose", "transpose", PLANE, lambda i, y: np.copyto(y, i["x"].T), "copyto(y, x.T)", 5.0, plain=plain.transpose),
)  # fmt: skip

NORMS = (
    Case("softmax", "softmax", "softmax", ROWS, peers.softmax, "exp(x - max) / sum", 2.0, plain=plain.softmax),
    Case("softmax, on cpu", "softmax_cpu", "softmax", ROWS, peers.softmax, "exp(x - max) / sum", 4.0, plain=plain.softmax),
    Case("layernorm, on cpu", "norm_cpu", "layernorm", ROWS, peers.layernorm, "(x - mean) / sqrt(var + eps) * w + b", 4.0, draw=SMALL_EPS, plain=plain.layernorm),
    Case("rmsnorm, on cpu", "norm_cpu", "rmsnorm", ROWS, peers.rmsnorm, "x / sqrt(mean(x*x) + eps) * w", 4.0, draw=SMALL_EPS, plain=plain.rmsnorm),
    Case("mean, variance, on cpu", "norm_cpu", "mean_variance", ROWS, peers.mean_variance, "x.mean(1), x.var(1)", 4.0),
    Case("softmax of long rows", "softmax", "softmax_long", {"R": 16, "N": 1 << 20}, peers.softmax, "exp(x - max) / sum"),
    Case("online softmax", "online_softmax", "softmax_online", ROWS, peers.softmax, "exp(x - max) / sum", plain=plain.softmax),
    Case("layernorm", "norm", "layernorm", ROWS, peers.layernorm, "(x - mean) / sqrt(var + eps) * w + b", 2.0, draw=SMALL_EPS, plain=plain.layernorm),
    Case("rmsnorm", "norm", "rmsnorm", ROWS, peers.rmsnorm, "x / sqrt(mean(x*x) + eps) * w", 2.0, draw=SMALL_EPS, plain=plain.rmsnorm),
    Case("add, rmsnorm", "norm", "add_rmsnorm", ROWS, peers.add_rmsnorm, "the same of x + residual", 2.0, draw=SMALL_EPS, plain=plain.add_rmsnorm),
    Case("mean, variance", "norm", "mean_variance", ROWS, peers.mean_variance, "x.mean(1), x.var(1)", 2.0),
    Case("layernorm, Welford", "welford", "layernorm_one_pass", ROWS, peers.layernorm, "as layernorm", draw=SMALL_EPS),
    Case("Welford", "welford", "welford_rows", ROWS, peers.mean_variance, "x.mean(1), x.var(1)"),
)  # fmt: skip

FOLDS = (
    Case("sum", "total", "total", LINE, lambda i, s: np.sum(i["x"], out=s), "x.sum()", 1.5),
    Case("largest", "total", "largest", LINE, lambda i, s: np.max(i["x"], out=s), "x.max()"),
    Case("dot", "dot", "dot", LINE, lambda i, s: s.fill(np.dot(i["x"], i["y"])), "x @ y"),
    Case("row sum, a thread", "rows", "row_sum", ROWS, lambda i, s: np.sum(i["x"], axis=1, out=s), "x.sum(1)", machines=("rows_thread_v4",)),
    Case("row max, a thread", "rows", "row_max", ROWS, lambda i, s: np.max(i["x"], axis=1, out=s), "x.max(1)", machines=("rows_thread_v4",)),
    Case("to 8 bits, by rows", "float8", "quantise", {"M": SIDE, "K": SIDE}, peers.quantise, "scale = abs(x).max(1) / 448, x / scale"),
    Case("row sum", "row_sum", "row_sum", ROWS, lambda i, s: np.sum(i["x"], axis=1, out=s), "x.sum(1)"),
    Case("row max", "row_sum", "row_max", ROWS, lambda i, s: np.max(i["x"], axis=1, out=s), "x.max(1)"),
    Case("row max, integers", "row_sum", "row_max_i32", ROWS, lambda i, s: np.max(i["x"], axis=1, out=s), "x.max(1)", draw={"x": small}),
    Case("any of a row", "row_sum", "row_any", ROWS, lambda i, s: np.any(i["x"] > 0, axis=1, out=s), "(x > 0).any(1)"),
    Case("matrix times vector", "matvec", "matvec", PLANE, lambda i, y: np.matmul(i["A"], i["x"], out=y), "A @ x"),
    Case("argmax", "argmax", "argmax_rows", ROWS, peers.argmax, "x.argmax(1), x[rows, place]"),
    Case("argmin", "argmax", "argmin_rows", ROWS, peers.argmin, "x.argmin(1)"),
    Case("logsumexp", "logsumexp", "log_sum_exp", ROWS, peers.logsumexp, "max + log(exp(x - max).sum(1))"),
    Case("logsumexp, one pass", "logsumexp_one_pass", "log_sum_exp_one_pass", ROWS, peers.logsumexp, "the same"),
    Case("cross entropy", "cross_entropy", "cross_entropy", {"R": SIDE, "V": SIDE}, peers.cross_entropy, "logsumexp - x[rows, target]", draw={"target": below("V")}),
    Case("causal sum", "causal", "causal_sum", CAUSAL, peers.causal_sum, "x[q, :q + 1].sum() of each row"),
    Case("causal max", "causal", "causal_max", CAUSAL, peers.causal_max, "x[q, :q + 1].max() of each row"),
    Case("causal argmax", "causal", "causal_argmax", CAUSAL, peers.causal_argmax, "x[q, :q + 1].argmax() of each row"),
    Case("causal logsumexp", "logsumexp_one_pass", "log_sum_exp_causal", ROWS, peers.causal_logsumexp, "logsumexp of each x[r, :r + 1]"),
)  # fmt: skip

HEADS = {"B": 2, "H": 4, "Q": 512, "D": 64, "K": 512, "E": 64}
PRODUCTS = (
    Case("A @ B, no tiles", "matmul", "matmul", CUBE, peers.product, "A @ B", 0.4, ("matmul_tile",)),
    Case("A @ B", "matmul_shared", "matmul", CUBE, peers.product, "A @ B", 0.4),
    Case("A @ B, on cpu", "matmul_cpu", "matmul", CUBE, peers.product, "A @ B", 0.6, note="1.5 with --blas Haswell"),
    Case("A @ B, ring", "matmul_ring", "matmul", CUBE, peers.product, "A @ B", 0.4),
    Case("A @ B, by hand", "by_hand", "matmul", CUBE, peers.product, "A @ B", 0.4),
    Case("A.T @ B", "matmul_transposed", "matmul_tn", CUBE, peers.transposed_left, "A.T @ B", 0.4),
    Case("A @ B.T", "matmul_transposed", "matmul_nt", CUBE, peers.transposed_right, "A @ B.T", 0.4),
    Case("attention of heads", "heads", "heads", HEADS, peers_layers.by_heads(peers_theorems.attention), "softmax(scale * q @ k.swapaxes(2, 3)) @ v", draw={"q": packed, "k": packed}),
    Case("causal attention of heads", "heads", "heads_causal", HEADS, peers_layers.by_heads(peers_theorems.attention_causal), "the same of what is not masked", draw={"q": packed, "k": packed}),
    Case("linear, plain", "layers", "linear_plain", CUBE, peers_layers.linear_plain, "x @ w.T", 0.6),
    Case("linear", "layers", "linear", CUBE, peers_layers.linear, "x @ w.T + b", 0.6),
    Case("linear, ReLU", "layers", "linear_relu", CUBE, peers_layers.followed(peers_layers.relu), "max(x @ w.T + b, 0)", 0.6),
    Case("linear, GELU", "layers", "linear_gelu", CUBE, peers_layers.followed(peers.gelu_erf), "gelu(x @ w.T + b)", 0.6),
    Case("linear, GELU by tanh", "layers", "linear_gelu_tanh", CUBE, peers_layers.followed(peers.gelu_tanh), "gelu(x @ w.T + b)", 0.6),
    Case("linear, SiLU", "layers", "linear_silu", CUBE, peers_layers.followed(peers.silu_mul), "silu(x @ w.T + b)", 0.6),
    Case("A @ B of a view", "views", "product", CUBE, peers.product, "A @ B, where A is X.T", 0.4, draw={"A": turned}),
    Case("scores of heads", "views", "scores", {"B": 2, "L": 512, "H": 8, "D": 64}, lambda i, s: np.matmul(i["q"].swapaxes(1, 2), i["k"].transpose(0, 2, 3, 1), out=s),
         "q @ k.swapaxes(2, 3), of a packed array", draw={"q": packed, "k": packed}),
    Case("A @ A.T", "matmul_transposed", "gram", {"M": 1024, "K": 1024}, lambda i, c: np.matmul(i["A"], i["A"].T, out=c), "A @ A.T", 0.4,
         note="numpy computes half of it, the other half is its mirror image"),
    Case("A @ B of halves", "matmul_half", "matmul_half", CUBE, peers.half_product, "A.astype(f32) @ B.astype(f32)", 0.4),
    Case("A @ B of halves, tensor cores", "tensor_cores", "matmul_half", CUBE, peers.half_product, "A.astype(f32) @ B.astype(f32)", 0.4),
    Case("A @ B of halves, as halves", "half_output", "product", CUBE, peers.rounded_product, "A.astype(f32) @ B.astype(f32)", 0.4),
    Case("layer of halves, tensor cores", "tensor_cores", "layer", CUBE, peers.layer, "gelu(x.astype(f32) @ W.T.astype(f32) + bias)"),
    Case("A @ B.T, tensor cores", "tensor_cores", "nt", CUBE, lambda i, c: np.matmul(i["A"].astype(c.dtype), i["B"].astype(c.dtype).T, out=c), "A @ B.T", 0.4),
    Case("A.T @ B, tensor cores", "tensor_cores", "tn", CUBE, lambda i, c: np.matmul(i["A"].astype(c.dtype).T, i["B"].astype(c.dtype), out=c), "A.T @ B", 0.4),
    Case("A.T @ B.T, tensor cores", "tensor_cores", "tt", CUBE, lambda i, c: np.matmul(i["A"].astype(c.dtype).T, i["B"].astype(c.dtype).T, out=c), "A.T @ B.T", 0.4),
    Case("batched, tensor cores", "tensor_cores", "batched", {"H": 8, "M": 512, "N": 512, "K": 512}, peers.half_product, "A @ B of each", 0.4),
    Case("bytes with scales, tensor cores", "tensor_cores", "scaled", {"M": 512, "N": 512, "K": 512}, peers.scaled_bytes, "A.astype(i32) @ B.T.astype(i32) * scales", draw={"A": signed, "B": signed}),
    Case("bytes in groups of 128", "dequantised", "bytes_of_128", {"M": 512, "N": 512, "G": 4}, peers.bytes_of_groups, "the sum of each group, scaled", draw={"A": signed, "B": signed}),
    Case("bytes in groups", "dequantised", "bytes_in_groups", {"M": 512, "N": 512, "G": 4, "L": 4}, peers.bytes_of_groups, "the sum of each group, scaled", draw={"A": signed, "B": signed}),
    Case("floats of 8 bits, a scale each", "dequantised", "float8_of_tensors", CUBE, peers.scaled_tensors, "(A.astype(f32) @ B.T.astype(f32)) * sa * sb", 0.4),
    Case("A @ B in tf32, tensor cores", "tensor_cores", "matmul_tf32", CUBE, peers.product, "A @ B", 0.4),
    Case("A @ B of doubles, tensor cores", "tensor_cores", "matmul_f64", CUBE, peers.product, "A @ B", 0.6),
    Case("convolution of channels, tensor cores", "convolution_mma", "convolution_nhwc", {"N": 4, "H": 28, "W": 28, "C": 64, "F": 64, "R": 3, "S": 3}, peers.channels, "windows(pad(x)) times w"),
    Case("floats of 8 bits, tensor cores", "tensor_cores", "scaled_float8", CUBE, peers.scaled_product, "(A.astype(f32) @ B.T.astype(f32)) * sa * sb", 0.4),
    Case("A @ B.T of floats of 8 bits", "float8", "product", CUBE, peers.scaled_product, "(A.astype(f32) @ B.T.astype(f32)) * sa * sb", 0.4),
    Case("A @ B of bytes", "quantised", "matmul_i8", {"M": 512, "N": 512, "K": 512}, peers.product_of_bytes, "A.astype(i32) @ B.astype(i32)", draw={"A": signed, "B": signed}),
    Case("matrix of nibbles times vector", "quantised", "matvec4", {"M": SIDE, "G": 128}, peers.matvec_of_nibbles, "unpacked, then A @ x", draw={"w": words}),
    Case("A @ B, batched", "matmul_shared", "batched_matmul", {"G": 8, "M": 512, "N": 512, "K": 512}, peers.product, "A @ B", 0.4),
    Case("two layers", "mlp", "mlp", {"M": 512, "K": 512, "H": 256, "N": 512}, peers.mlp, "maximum(x @ V, 0) @ W"),
    Case("attention", "online_softmax", "attend", {"Q": 1024, "K": 1024, "D": 64}, peers.attend, "softmax(score) @ value"),
    Case("causal attention", "online_softmax", "attend_causal", {"Q": 1024, "K": 1024, "D": 64}, peers.attend_causal, "softmax(masked) @ value"),
)  # fmt: skip

WINDOWS = (
    Case("convolution", "convolution_shared", "conv_nhwc", IMAGES, peers.convolution, "im2col, then a product", 1.0),
    Case("max pooling", "pooling", "max_pool", POOLED, peers.max_pool, "maximum of nine slices"),
    Case("mean pooling", "pooling", "mean_pool", POOLED, peers.mean_pool, "sum of four slices"),
    Case("mean of windows", "pooling", "mean_pool_same", {"C": 64, "H": 256, "W": 256}, peers.mean_pool_same, "sum of three rows, of three columns"),
    Case("heat, no tiles", "stencil", "heat", PLANE, peers.heat, "slices, in place"),
    Case("heat", "stencil_shared", "heat", PLANE, peers.heat, "slices, in place"),
    Case("Jacobi", "stencil_shared", "jacobi", PLANE, peers.jacobi, "slices, in place"),
    Case("Jacobi, two steps", "stencil_shared", "jacobi_twice", PLANE, peers.jacobi_twice, "slices, in place, twice"),
)  # fmt: skip

DATA = (
    Case("scan of rows", "scan", "scan_rows", ROWS, lambda i, y: np.cumsum(i["x"], axis=1, out=y), "cumsum(x, axis=1)"),
    Case("scan", "scan", "scan", LINE, lambda i, y: np.cumsum(i["x"], out=y), "cumsum(x)"),
    Case("recurrence of rows", "recurrence", "recurrence", ROWS, peers.recurrence, "h = a[:, i]*h + b[:, i], column by column", draw=DECAY),
    Case("recurrence", "recurrence", "recurrence_long", LINE, peers.recurrence_long, "doubling: 2 log n passes", draw=DECAY),
    Case("last state", "recurrence", "last_state", ROWS, peers.last_state, "h = a[:, i]*h + b[:, i], column by column", draw=DECAY),
    Case("steps of heat", "steps", "heat_steps", {"n": 1024, "T": 1024}, peers.heat_steps, "step by step, slices in place", draw={"a": steady}),
    Case("softmax, a row a block", "gradients", "softmax", ROWS, peers.softmax, "exp(x - max) / sum", plain=plain.softmax),
    Case("log softmax", "gradients", "log_softmax", ROWS, peers_gradients.log_softmax, "x - max - log(sum(exp(x - max)))"),
    Case("rmsnorm, a row a block", "gradients", "rmsnorm", ROWS, peers_gradients.rmsnorm, "its formula", draw=SMALL_EPS),
    Case("layernorm with its mean", "gradients", "layernorm", ROWS, peers_gradients.layernorm, "its formula", draw=SMALL_EPS),
    Case("cross entropy, a row a block", "gradients", "cross_entropy", ROWS, peers.cross_entropy, "logsumexp - x[rows, target]", draw={"target": below("N")}),
    Case("softmax, gradient", "gradients", "softmax_grad", ROWS, peers_gradients.softmax_grad, "y * (dy - (y*dy).sum())"),
    Case("log softmax, gradient", "gradients", "log_softmax_grad", ROWS, peers_gradients.log_softmax_grad, "dy - exp(y) * dy.sum()"),
    Case("rmsnorm, gradient", "gradients", "rmsnorm_grad", ROWS, peers_gradients.rmsnorm_grad, "its formula", draw=SMALL_EPS),
    Case("layernorm, gradient", "gradients", "layernorm_grad", ROWS, peers_gradients.layernorm_grad, "its formula", draw=SMALL_EPS),
    Case("weight of a norm, gradient", "gradients", "norm_weight_grad", ROWS, peers_gradients.norm_weight_grad, "its formula"),
    Case("cross entropy, gradient", "gradients", "cross_entropy_grad", ROWS, peers_gradients.cross_entropy_grad, "softmax, dx[arange(R), target] -= 1", draw={"target": below("N")}),
    Case("flash attention", "flash", "flash", {"B": 8, "M": 512}, peers_gradients.flash, "softmax(masked) @ V, for each b"),
    *(Case(f"attention of heads of {d}, tensor cores", "attention", "attention", {"B": 2, "H": 4, "S": 512, "T": 512, "D": d}, peers_gradients.attention, "softmax(a * Q @ K.T) @ V, for each head",
           machines=tuple(f"flash_{how}" for f in ("f16", "bf16") for how in (f"mma[F={f}, E={d}, N=1]", f"mma[F={f}, E={d}, N=2]", f"wgmma[F={f}, E={d}]")), whole=("D",)) for d in (32, 64, 128)),
    *(Case(f"causal attention of heads of {d}, tensor cores", "attention", "attention_causal", {"B": 2, "H": 2, "R": 2, "M": 512, "D": d}, peers_gradients.attention_causal, "softmax(masked) @ V, for each head",
           machines=tuple(f"causal_{how}" for f in ("f16", "bf16") for how in (f"mma[F={f}, E={d}, N=1]", f"mma[F={f}, E={d}, N=2]", f"wgmma[F={f}, E={d}]")), whole=("D",)) for d in (32, 64, 128)),
    *(Case(f"decoding of groups of heads of {d}, tensor cores", "decode_groups", "decode_groups", {"B": 4, "H": 4, "R": 4, "T": 2048, "D": d}, peers_gradients.attention, "softmax(a * Q @ K.T) @ V, for each head",
           machines=tuple(f"split_mma[F={f}, E={d}, C={c}]" for f in ("f16", "bf16") for c in (4, 16)), whole=("D",)) for d in (32, 64)),
    Case("flash attention, delta", "flash", "flash_delta", {"B": 8, "M": 512}, peers_gradients.flash_delta, "(o * do).sum(axis=2)"),
    Case("flash attention, gradient", "flash", "flash_grad", {"B": 8, "M": 512}, peers_gradients.flash_grad, "(exp(masked - L) * (G @ V.T - delta)) @ K"),
    Case("flash attention, gradient of keys", "flash", "flash_grad_keys", {"B": 8, "M": 512}, peers_gradients.flash_grad_keys, "exp(masked - L), its transpose times Q and G"),
    Case("decoding, split keys", "decode", "decode", {"B": 16, "N": 4096}, peers_gradients.decode, "softmax(q @ K.T) @ V, for each b"),
    Case("sort of short rows", "sorting", "sort_rows", {"R": 1 << 16}, peers_gradients.sort_rows, "sort(x, axis=1)"),
    Case("digits of blocks", "sorting", "radix_counts", {"B": 4096}, peers_gradients.digits, "bincount of digit * B + block", draw={"key": words, "shift": lambda chance, shape, sizes: 8}),
    Case("four steps of heat", "launches", "heat_far", {"T": 2, **LINE}, peers.heat_steps, "step by step, slices in place", draw={"a": steady}),
    Case("shortest ways across blocks", "launches", "ways", {"n": 512}, peers.shortest, "minimum of all ways over k, for each k", draw={"w": steady}),
    Case("edit distance", "launches", "edits", {"n": 1024, "m": 1024}, peers.edits, "row by row, minimum.accumulate"),
    Case("shortest ways", "steps", "shortest", {"n": 32}, peers.shortest, "minimum of all ways over k, for each k", draw={"w": steady}),
    Case("substitution", "steps", "solve", {"n": 256}, peers.substitution, "row by row, L[i, :i] @ x[:i]", draw={"L": dominant}),
    Case("LSTM", "steps", "lstm", {"T": 256, "D": 64}, peers.lstm, "U @ h, V @ x.T, the gates", draw={"U": slight, "V": slight}),
    Case("histogram", "histogram", "histogram", {"n": SIZE, "B": 256}, peers.histogram, "bincount(x, minlength=B)", draw={"x": below("B")}),
    Case("histogram of bytes", "histogram", "histogram_bytes", LINE, peers.histogram, "bincount(x, minlength=256)", draw={"x": octets}),
    Case("embedding", "embedding", "embedding", {"V": 32768, "D": 1024, "T": 8192}, peers.embedding, "take(W, idx, axis=0, out=y)", draw={"idx": below("V")}),
    Case("keys of one more token", "append", "append", {"B": 32, "L": 2048, "D": 128}, peers.append, "copy, out[arange(B), len] = k", draw={"len": below("L")}),
    Case("rows added to", "append", "add_rows", {"V": 32768, "D": 256, "T": 8192}, peers.add_rows, "copy, add.at(y, idx, v)", draw={"idx": below("V")}),
    Case("sparse matrix times vector", "csr", "csr", {"Z": 1 << 22, "R": 1 << 16, "N": 1 << 16}, peers.csr, "take, multiply, add.reduceat", draw={"off": bounds("Z"), "col": below("N")}),
    Case("mean of segments", "segments", "segment_mean", {"T": SIZE, "S": 1 << 14}, peers.segment_mean, "add.reduceat, divide", draw={"off": bounds("T")}),
    Case("products of groups", "grouped", "grouped", {"M": 1024, "K": 512, "N": 512, "G": 8, "B": 16}, peers.grouped, "x[block] @ w[group], block by block", draw={"group": below("G")}),
    Case("products of groups, tensor cores", "tensor_cores", "grouped_half", {"M": 1024, "K": 512, "N": 512, "G": 8, "B": 16}, peers.grouped, "x[block].astype(f32) @ w[group].astype(f32), block by block", draw={"group": below("G")}),
    Case("paged attention", "paged", "paged", {"B": 16, "H": 16, "P": 1024, "S": 16, "L": 64}, peers.paged, "K[table], a product, softmax, a product, for each b",
         draw={"table": below("P"), "len": lengths, "a": lambda chance, shape, sizes: 0.125}),
    Case("product, rows permuted", "parts", "scattered", CUBE, peers.scattered, "A @ B, * scale, out[to] = …", 0.4, draw={"to": shuffled, "from": shuffled_back}),
    Case("rows of experts to their tokens", "parts", "combined", {"E": 2048, "T": 1024, "K": 256, "N": 256}, peers.combined, "x @ w, * gate, add.at(y, token, …)", draw={"token": below("T")}),
    Case("starts of sorted bytes", "parts", "starts", LINE, peers.starts, "bincount, cumsum", draw={"x": octets}),
    Case("windows of 32", "parts", "windows", LINE, peers.windows, "32 passes of multiply, add"),
    Case("scatter-add", "embedding", "scatter_add", {"V": 4096, "D": 256, "T": 16384}, peers.scatter_add, "add.at(y, idx, v)", draw={"idx": below("V")}),
)  # fmt: skip

SMALL_ROWS, HEADS = {"R": 1024, "N": 1024}, {"Q": 256, "D": 64, "K": 256, "E": 64}
SQUARE_HEADS = {"Q": 1024, "D": 64, "K": 1024, "E": 64}
THEOREMS = (  # machines via a theorem against the side that they serve
    Case("softmax, via one pass", "theorems", "softmax", SMALL_ROWS, peers.softmax, "exp(x - max) / sum"),
    Case("layernorm, via one pass", "theorems", "layernorm", SMALL_ROWS, peers.layernorm, "(x - mean) / sqrt(var + eps) * w + b", draw=SMALL_EPS),
    Case("attention, via one fold", "theorems", "attention", HEADS, peers_theorems.attention, "softmax(q @ k.T) @ v"),
    Case("attention as one fold, by its meaning", "theorems", "attention_flash", HEADS, peers_theorems.attention, "softmax(q @ k.T) @ v"),
    Case("causal attention, via one fold", "theorems", "attention_causal", HEADS, peers_theorems.attention_causal, "softmax(masked) @ v"),
    Case("attention of some keys, via one fold", "theorems", "attention_masked", HEADS, peers_theorems.attention_masked, "softmax(where(mask, q @ k.T, -inf)) @ v",
         draw={"mask": lambda chance, shape, sizes: (chance.random(shape) < 0.9).astype(np.uint8)}),
    Case("softmax, online", "online", "softmax", SMALL_ROWS, peers.softmax, "exp(x - max), over its sum"),
    Case("attention, online", "online", "attention", HEADS, peers_theorems.attention, "softmax(q @ k.T) @ v"),
    Case("causal attention, online", "online", "attention_causal", HEADS, peers_theorems.attention_causal, "softmax(masked) @ v"),
    Case("attention on cores", "attention_cpu", "attention", SQUARE_HEADS, peers_theorems.attention, "softmax(q @ k.T) @ v", 1.0),
    Case("causal attention on cores", "attention_cpu", "attention_causal", SQUARE_HEADS, peers_theorems.attention_causal, "softmax(masked) @ v", 1.0),
    Case("a row of attention, via halves", "theorems", "attention_row", {"D": 64, "K": 4096, "E": 64}, peers_theorems.attention_row, "softmax(k @ q) @ v"),
    Case("rmsnorm into a product", "theorems", "rmsnorm_product", {"R": 256, "N": 256, "M": 256}, peers_theorems.rmsnorm_product, "(x / rms * g) @ W", draw=SMALL_EPS),
    Case("a chain, via the other order", "theorems", "chain_left", {"M": 512, "K": 32, "L": 512, "N": 32}, peers_theorems.chain, "(A @ B) @ C"),
    Case("linear attention, via keys first", "theorems", "linear_attention", {"Q": 512, "D": 64, "K": 512, "E": 64}, peers_theorems.linear_attention, "(q @ k.T) @ v"),
    Case("causal linear attention, via chunks", "theorems", "linear_causal", {"Q": 512, "D": 64, "E": 64}, peers_theorems.linear_causal, "tril(q @ k.T) @ v"),
    Case("prefix sums, via chunks", "theorems", "prefixes", {"N": 1 << 20}, peers_theorems.prefixes, "cumsum"),
    Case("blocks, via Strassen", "theorems", "blocks", {"m": 256, "k": 256, "n": 256}, peers_theorems.blocks, "einsum of the blocks"),
    Case("product, via Strassen", "strassen", "product", {"m": 2048, "k": 2048, "n": 2048}, peers_theorems.product, "matmul(A, B, out=C)", 1.0, machines=("strassen_core",)),
    Case("product, for Strassen", "strassen", "product", {"m": 2048, "k": 2048, "n": 2048}, peers_theorems.product, "matmul(A, B, out=C)", 0.9, machines=("product_core",)),
    Case("convolution, via Winograd", "theorems", "conv", {"n": 1 << 20}, peers_theorems.conv, "three slices in place"),
    Case("convolution, via Winograd by four", "theorems", "conv_long", {"n": 1 << 19}, peers_theorems.conv, "three slices in place"),
    Case("smoothed loss, via its logarithm", "theorems", "loss", SMALL_ROWS, peers_theorems.loss, "-(t * (x - log sum exp)).sum(1)", draw={"a": lambda chance, shape, sizes: 0.1}),
    Case("loss of rows, via sums", "theorems", "loss_of_rows", SMALL_ROWS, peers_theorems.loss_of_rows, "(hot * (logs - x)).sum(1)"),
    Case("loss of labels, via their places", "theorems", "loss_of_hot", SMALL_ROWS, peers_theorems.loss_of_label, "logs - x[arange(R), label]", draw={"label": below("N")}),
    Case("loss of some labels, via their places", "theorems", "loss_of_some", SMALL_ROWS, peers_theorems.loss_of_label, "logs - x[arange(R), label]", draw={"label": below("N")}),
    Case("layernorm backward, via its sums", "theorems", "layernorm_jacobian", SMALL_ROWS, peers_theorems.layernorm_backward, "its formula", draw=SMALL_EPS),
    Case("attention backward, via its rows", "theorems", "attention_jacobian", HEADS, peers_theorems.attention_backward, "p.T @ do, p * (do @ v.T - c), its products"),
    Case("softmax backward, via its product", "theorems", "softmax_jacobian", SMALL_ROWS, peers_theorems.softmax_backward, "y * (dy - (y*dy).sum())"),
)  # fmt: skip

CASES = (*ELEMENTS, *NORMS, *FOLDS, *PRODUCTS, *WINDOWS, *DATA, *THEOREMS, *TRANSFORMER)

EACH_COLUMN = (
    "a thread owns a column of the values, so the exponentials of a row of scores are computed once for each of them, not once"
)
WHY: dict[str, str] = {
    "heads_tiles": "threads that work together are run one after the other; for arrays of a CPU there is heads_core",
    **{f"attend_{who}[op={op}]": EACH_COLUMN for who in ("thread", "split") for op in ("attend", "attend_causal")},
}
