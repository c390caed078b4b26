"""torch's way on the CPU: for each op the expression that a good user of torch writes, eager, and the same function compiled.

Comes in: inputs by name, as tensors or numbers, and the sizes that no input tells. Goes out: the value, or a tuple of them, which torch makes.
The one idea: torch makes its results, so it is raced against calls of ours that make theirs.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

Inputs = Mapping[str, Any]
Function = Callable[[Inputs], Any]


def functions(torch: Any) -> dict[str, Function]:
    """The value of each op; of recurrences torch has none that is one call."""
    rows, others = _rows(torch), {**_products(torch), **_windows(torch)}
    norm = torch.nn.functional
    return {
        "copy": lambda i: i["x"].clone(),
        "saxpy": lambda i: torch.add(i["y"], i["x"], alpha=i["a"]),
        "bias_rows": lambda i: i["x"] + i["b"][:, None],
        "relu": lambda i: torch.relu(i["x"]),
        "gelu_tanh": lambda i: norm.gelu(i["x"], approximate="tanh"),
        "gelu_erf": lambda i: norm.gelu(i["x"]),
        "silu_mul": lambda i: norm.silu(i["x"]) * i["y"],
        "transpose": lambda i: i["x"].t().contiguous(),
        "total": lambda i: i["x"].sum(),
        "largest": lambda i: i["x"].max(),
        "dot": lambda i: torch.dot(i["x"], i["y"]),
        "scan": lambda i: torch.cumsum(i["x"], 0),
        "scan_rows": lambda i: torch.cumsum(i["x"], 1),
        "histogram": lambda i: torch.bincount(i["x"], minlength=i["B"]),
        "histogram_bytes": lambda i: torch.bincount(i["x"], minlength=256),
        "embedding": lambda i: torch.index_select(i["W"], 0, i["idx"]),
        "scatter_add": lambda i: torch.zeros((i["V"], i["v"].shape[1])).index_add_(0, i["idx"], i["v"]),
        **rows,
        **others,
    }


def _rows(torch: Any) -> dict[str, Function]:
    norm = torch.nn.functional

    def layernorm(i: Inputs) -> Any:
        return norm.layer_norm(i["x"], (i["x"].shape[1],), i["weight"], i["bias"], i["eps"])

    def rms(x: Any, i: Inputs) -> Any:
        if hasattr(norm, "rms_norm"):
            return norm.rms_norm(x, (x.shape[1],), i["weight"], i["eps"])
        return x * torch.rsqrt(x.square().mean(1, keepdim=True) + i["eps"]) * i["weight"]

    def add_rms(i: Inputs) -> Any:
        z = i["x"] + i["residual"]
        return z, rms(z, i)

    def moments(i: Inputs) -> Any:
        variance, mean = torch.var_mean(i["x"], 1, correction=0)
        return mean, variance

    def masked(i: Inputs) -> Any:
        return i["x"].masked_fill(torch.ones(i["x"].shape, dtype=torch.bool).triu(1), -torch.inf)

    soft, logs = (lambda i: torch.softmax(i["x"], 1)), (lambda i: torch.logsumexp(i["x"], 1))
    return {
        **dict.fromkeys(("softmax", "softmax_long", "softmax_online"), soft),
        **dict.fromkeys(("layernorm", "layernorm_one_pass"), layernorm),
        **dict.fromkeys(("mean_variance", "welford_rows"), moments),
        **dict.fromkeys(("log_sum_exp", "log_sum_exp_one_pass"), logs),
        **dict.fromkeys(("row_max", "row_max_i32"), lambda i: i["x"].amax(1)),
        "rmsnorm": lambda i: rms(i["x"], i),
        "add_rmsnorm": add_rms,
        "row_sum": lambda i: i["x"].sum(1),
        "row_any": lambda i: (i["x"] > 0).any(1),
        "argmax_rows": lambda i: tuple(i["x"].max(1)),
        "argmin_rows": lambda i: i["x"].argmin(1),
        "cross_entropy": lambda i: norm.cross_entropy(i["x"], i["target"].long(), reduction="none"),
        "causal_sum": lambda i: i["x"].tril().sum(1),
        "causal_max": lambda i: masked(i).amax(1),
        "causal_argmax": lambda i: masked(i).argmax(1),
        "log_sum_exp_causal": lambda i: torch.logsumexp(masked(i), 1),
    }


def _products(torch: Any) -> dict[str, Function]:
    def attend(i: Inputs) -> Any:
        return torch.softmax(i["score"], 1) @ i["value"]

    def causal(i: Inputs) -> Any:
        later = torch.ones(i["score"].shape, dtype=torch.bool).triu(1)
        return torch.softmax(i["score"].masked_fill(later, -torch.inf), 1) @ i["value"]

    return {
        **dict.fromkeys(("matmul", "batched_matmul"), lambda i: i["A"] @ i["B"]),
        "matmul_tn": lambda i: i["A"].t() @ i["B"],
        "matmul_nt": lambda i: i["A"] @ i["B"].t(),
        "gram": lambda i: i["A"] @ i["A"].t(),
        "matmul_half": lambda i: i["A"].float() @ i["B"].float(),
        "matvec": lambda i: torch.mv(i["A"], i["x"]),
        "mlp": lambda i: torch.relu(i["x"] @ i["V"]) @ i["W"],
        "attend": attend,
        "attend_causal": causal,
    }


def _windows(torch: Any) -> dict[str, Function]:
    norm = torch.nn.functional

    def convolution(i: Inputs) -> Any:
        return norm.conv2d(i["x"].permute(0, 3, 1, 2), i["w"].permute(3, 2, 0, 1), padding=1).permute(0, 2, 3, 1)

    def neighbours(x: Any) -> Any:
        around = norm.pad(x, (1, 1, 1, 1))
        return around[:-2, 1:-1] + around[2:, 1:-1] + around[1:-1, :-2] + around[1:-1, 2:]

    def jacobi(u: Any, f: Any) -> Any:
        return (neighbours(u) - f) * 0.25

    return {
        "conv_nhwc": convolution,
        "max_pool": lambda i: norm.max_pool2d(i["x"][None], 3, stride=2, padding=1)[0],
        "mean_pool": lambda i: norm.avg_pool2d(i["x"][None], 2)[0],
        "mean_pool_same": lambda i: norm.avg_pool2d(i["x"][None], 3, stride=1, padding=1)[0],
        "heat": lambda i: neighbours(i["x"]) * i["a"] + i["x"] * (1 - 4 * i["a"]),
        "jacobi": lambda i: jacobi(i["u"], i["f"]),
        "jacobi_twice": lambda i: jacobi(jacobi(i["u"], i["f"]), i["f"]),
    }


def forms(op: str, inputs: Inputs, sizes: Mapping[str, int]) -> Iterator[tuple[str, Callable[[], Any]]]:
    """torch's calls for an op: eager, and compiled where a compiler is there; nothing where torch is not installed, or has no such call."""
    if importlib.util.find_spec("torch") is None:
        return
    import torch

    torch.set_grad_enabled(False)
    function = functions(torch).get(op)
    if function is None or any(str(getattr(a, "dtype", "")) == "bfloat16" for a in inputs.values()):
        return
    given = {**sizes, **{name: torch.from_numpy(v) if isinstance(v, np.ndarray) and v.shape else v for name, v in inputs.items()}}
    yield "torch", lambda: function(given)
    quick = torch.compile(function, dynamic=False)
    try:
        quick(given)
    except Exception:  # noqa: BLE001  # no C++ compiler, or an op that Inductor does not take: then there is no such row
        return
    yield "compiled", lambda: quick(given)
