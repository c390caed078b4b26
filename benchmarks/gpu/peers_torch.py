"""torch's way: for each case the call that a good user of torch makes, eager, and the same function compiled.

Comes in: torch, inputs by name and outputs. Goes out: calls without arguments. The one idea: where torch has a call for the whole op, that
call, with `out=` where it takes one, so that nobody is timed for memory that the other has for nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks.peers_torch import functions as of_cpu

Inputs = Mapping[str, Any]
Outputs = Sequence[Any]
Form = Callable[[Inputs, Outputs], Callable[[], Any]]
AS_ON_A_CPU = (
    "saxpy",
    "transpose",
    "gelu_tanh",
    "gelu_erf",
    "bias_rows",
    "softmax",
    "layernorm",
    "rmsnorm",
    "add_rmsnorm",
    "scan",
    "scan_rows",
    "matmul",
)


def functions(torch: Any) -> dict[str, Callable[[Inputs], Any]]:
    """The value of each case, as a function of its inputs: what the CPU's benchmark has, and what only a GPU is timed at."""
    known = of_cpu(torch)
    return {
        **{name: known[name] for name in AS_ON_A_CPU},
        "sum": known["total"],
        "bias_columns": lambda i: i["x"] + i["b"],
        "to_bf16": lambda i: i["x"].to(torch.bfloat16),
        "to_f16": lambda i: i["x"].to(torch.float16),
        "from_half": lambda i: i["x"].to(torch.float32),
        "matmul_half": lambda i: i["A"] @ i["B"],
        "attention": lambda i: torch.nn.functional.scaled_dot_product_attention(i["Q"], i["K"], i["V"], scale=float(i["a"])),
        "attention_causal": lambda i: torch.nn.functional.scaled_dot_product_attention(
            i["Q"].flatten(1, 2), i["K"], i["V"], is_causal=True, scale=float(i["a"]), enable_gqa=True
        ).reshape(i["Q"].shape),
        "scaled_bytes": lambda i: torch._int_mm(i["A"], i["B"].t()).to(torch.float32) * i["sa"][:, None] * i["sb"],
    }


def forms(torch: Any) -> dict[str, Form]:
    """The eager calls, into the outputs where torch can."""
    plain: dict[str, Form] = {name: (lambda i, o, f=function: lambda: f(i)) for name, function in functions(torch).items()}  # type: ignore[misc]
    into: dict[str, Form] = {
        "copy": lambda i, o: lambda: o[0].copy_(i["x"]),
        "transpose": lambda i, o: lambda: o[0].copy_(i["x"].t()),
        "saxpy": lambda i, o: lambda: torch.add(i["y"], i["x"], alpha=i["a"], out=o[0]),
        "bias_rows": lambda i, o: lambda: torch.add(i["x"], i["b"][:, None], out=o[0]),
        "bias_columns": lambda i, o: lambda: torch.add(i["x"], i["b"], out=o[0]),
        "to_bf16": lambda i, o: lambda: o[0].copy_(i["x"]),
        "to_f16": lambda i, o: lambda: o[0].copy_(i["x"]),
        "from_half": lambda i, o: lambda: o[0].copy_(i["x"]),
        "scan": lambda i, o: lambda: torch.cumsum(i["x"], 0, out=o[0]),
        "scan_rows": lambda i, o: lambda: torch.cumsum(i["x"], 1, out=o[0]),
        "matmul": lambda i, o: lambda: torch.mm(i["A"], i["B"], out=o[0]),
    }
    return plain | into


COMPILED = ("softmax", "layernorm", "rmsnorm", "add_rmsnorm", "gelu_tanh", "transpose", "saxpy", "sum")


def compiled(torch: Any) -> dict[str, Form]:
    """The functions through torch.compile, each compiled when it is first called."""
    known = functions(torch)

    def form(name: str) -> Form:
        function = torch.compile(known[name], dynamic=False)
        return lambda i, o: lambda: function(dict(i))

    return {name: form(name) for name in COMPILED}
