"""What is timed on a GPU, at which sizes, and what it has to reach.

Goes out: `CASES`, the most important first. The one idea: a goal is a number beside the name of what it is a share of, and a row says whether
it is met; a case without its peer says so and is timed all the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tinygpu.category.evaluate import evaluate
from tinygpu.model.op import Op

LINE = {"n": 1 << 26}  # 2^28 bytes of f32
PLANE = {"M": 8192, "N": 8192}
ROWS, LONG = {"R": 8192, "N": 8192}, {"R": 2048, "N": 32768}
COPY, READ, TRITON, EAGER, CUB, CUBLAS = "copy ceiling", "read ceiling", "Triton", "torch eager", "CUB", "cuBLAS"
FLASH = "FlashAttention"


def heads(name: str, width: int, floats: str = "bf16") -> tuple[str, ...]:
    """The machines of `specs/attention.tgpu` for heads of so many numbers.

    >>> heads("flash", 64)
    ('flash_mma[F=bf16, E=64, N=1]', 'flash_mma[F=bf16, E=64, N=2]', 'flash_wgmma[F=bf16, E=64]')
    """
    each = f"F={floats}, E={width}"
    return (*(f"{name}_mma[{each}, N={n}]" for n in (1, 2)), f"{name}_wgmma[{each}]")


Draw = Callable[[np.random.Generator, int, dict[str, int]], Any]


@dataclass(frozen=True, slots=True)
class Goal:
    """At least `share` of a ceiling's bandwidth, or of a peer's speed."""

    of: str
    share: float

    def __str__(self) -> str:
        """
        >>> str(Goal("Triton", 1.5))
        '≥ 1.50 of Triton'
        """
        return f"≥ {self.share:.2f} of {self.of}"


@dataclass(frozen=True, slots=True)
class GpuCase:
    """An op of a spec at some sizes; `peers` is the name under which peers know it. `machines` are those to time, by title or name; all where
    none is given. `draw` makes elements of inputs, `check` says how a result at these sizes is looked at: `sample` or numpy's own."""

    name: str
    spec: str
    op: str
    sizes: dict[str, int]
    peers: str
    goals: tuple[Goal, ...]
    machines: tuple[str, ...] = ()
    draw: Mapping[str, Draw] = field(default_factory=dict)
    check: str = "sample"

    def takes(self, title: str, op: str) -> bool:
        return op == self.op and (not self.machines or bool({title, title.partition("[")[0]} & {*self.machines}))

    def small(self) -> dict[str, int]:
        """Sizes at which everything is quick, to see that it works."""
        return {
            name: max(1, size if size <= 1024 else size >> (12 if len(self.sizes) == 1 else 6)) for name, size in self.sizes.items()
        }


def moved_bytes(op: Op, sizes: Mapping[str, int], width: Mapping[str, int]) -> int:
    """The bytes of all arrays, each read or written once: what a machine cannot do without. `width` is the bytes of a dtype."""
    return sum(width[t.dtype] * math.prod(int(evaluate(e, dict(sizes))) for e in t.shape) for t in op.tensors if t.shape)


def bins(name: str) -> Draw:
    """Whole numbers below a size."""
    return lambda chance, count, sizes: chance.integers(0, sizes[name], count, dtype=np.int32)


def octets(chance: np.random.Generator, count: int, sizes: dict[str, int]) -> Any:
    return chance.integers(0, 256, count, dtype=np.uint8)


def signs(chance: np.random.Generator, count: int, sizes: dict[str, int]) -> Any:
    """−1, 0 and 1: sums of so many are exact in f32, in any order, so one that is left out is seen."""
    return chance.integers(-1, 2, count).astype(np.float32)


def ceiling(share: float = 0.97) -> tuple[Goal, ...]:
    return (Goal(COPY, share),)


AHEAD = (Goal(TRITON, 1.0), Goal(EAGER, 1.5))
CASES = (
    GpuCase("copy", "copy", "copy[f32]", LINE, "copy", ceiling()),
    GpuCase("sum", "total", "total", {"n": 1 << 28}, "sum", (Goal(READ, 0.96),), draw={"x": signs}, check="sum"),
    GpuCase("softmax", "softmax", "softmax", ROWS, "softmax", AHEAD),
    GpuCase("A @ B, f32", "matmul_shared", "matmul", {"M": 4096, "N": 4096, "K": 4096}, "matmul", (Goal(CUBLAS, 0.85),)),
    GpuCase("transpose", "transpose", "transpose", PLANE, "transpose", (Goal(COPY, 0.93), Goal(EAGER, 1.0))),
    GpuCase("layernorm", "norm", "layernorm", ROWS, "layernorm", AHEAD),
    GpuCase("rmsnorm", "norm", "rmsnorm", ROWS, "rmsnorm", AHEAD),
    GpuCase("add, rmsnorm", "norm", "add_rmsnorm", ROWS, "add_rmsnorm", AHEAD),
    GpuCase("saxpy", "saxpy", "saxpy", LINE, "saxpy", ceiling()),
    GpuCase("gelu, tanh", "gelu", "gelu_tanh", LINE, "gelu_tanh", ceiling()),
    GpuCase("scan", "scan", "scan", LINE, "scan", (Goal(CUB, 0.8),), draw={"x": signs}, check="scan"),
    GpuCase("histogram of bytes", "histogram", "histogram_bytes", {"n": 1 << 28}, "histogram", (Goal(CUB, 0.8),), draw={"x": octets}, check="histogram"),
    GpuCase("bias of rows", "elementwise", "bias_rows", PLANE, "bias_rows", ceiling()),
    GpuCase("bias of columns", "elementwise", "bias_columns", PLANE, "bias_columns", ceiling()),
    GpuCase("f32 to bf16", "cast", "narrow[bf16]", LINE, "to_bf16", ceiling()),
    GpuCase("f32 to f16", "cast", "narrow[f16]", LINE, "to_f16", ceiling()),
    GpuCase("bf16 to f32", "cast", "widen[bf16]", LINE, "from_half", ceiling()),
    GpuCase("f16 to f32", "cast", "widen[f16]", LINE, "from_half", ceiling()),
    GpuCase("gelu, erf", "gelu", "gelu_erf", LINE, "gelu_erf", ceiling()),
    GpuCase("copy, f16", "copy", "copy[f16]", {"n": 1 << 27}, "copy", ceiling()),
    GpuCase("softmax, long rows", "softmax", "softmax", LONG, "softmax", AHEAD),
    GpuCase("layernorm, long rows", "norm", "layernorm", LONG, "layernorm", AHEAD),
    GpuCase("rmsnorm, long rows", "norm", "rmsnorm", LONG, "rmsnorm", AHEAD),
    GpuCase("add, rmsnorm, long rows", "norm", "add_rmsnorm", LONG, "add_rmsnorm", AHEAD),
    GpuCase("A @ B, f32, ring", "matmul_ring", "matmul", {"M": 4096, "N": 4096, "K": 4096}, "matmul", (Goal(CUBLAS, 0.85),)),
    GpuCase("histogram", "histogram", "histogram", {"n": 1 << 26, "B": 256}, "histogram", (Goal(CUB, 0.8),), draw={"x": bins("B")}, check="histogram"),
    GpuCase("A @ B, bf16", "tensor_cores", "matmul_half[bf16]", {"M": 8192, "N": 8192, "K": 8192}, "matmul_half", (Goal(CUBLAS, 0.85),), ("half_ring", "half_wgmma", "half_roles", "half_clusters", "half_tall")),
    GpuCase("A @ B, bf16, 4096", "tensor_cores", "matmul_half[bf16]", {"M": 4096, "N": 4096, "K": 4096}, "matmul_half", (Goal(CUBLAS, 0.85),)),
    GpuCase("A @ B.T, i8", "tensor_cores", "scaled", {"M": 4096, "N": 4096, "K": 4096}, "scaled_bytes", (Goal(CUBLAS, 0.8),)),
    GpuCase("A @ B.T, fp8", "tensor_cores", "scaled_float8", {"M": 8192, "N": 8192, "K": 8192}, "scaled_float8", (Goal(CUBLAS, 0.8),)),
    *(
        GpuCase(f"attention, heads of {d}, {t // 1024}k", "attention", "attention[bf16]", {"B": 16384 // t, "H": 16, "S": t, "T": t, "D": d}, "attention", (Goal(FLASH, 0.75),), heads("flash", d))
        for d in (64, 128) for t in (4096, 16384)
    ),
    *(
        GpuCase(f"attention, causal, heads of {d}, {t // 1024}k", "attention", "attention_causal[bf16]", {"B": 16384 // t, "H": 8, "R": 2, "M": t, "D": d}, "attention_causal", (Goal(FLASH, 0.75),), heads("causal", d))
        for d in (64, 128) for t in (4096, 16384)
    ),
    GpuCase("decode, heads of 64", "decode_groups", "decode_groups[bf16]", {"B": 16, "H": 8, "R": 4, "T": 16384, "D": 64}, "attention", ceiling(0.9), tuple(f"split_mma[F=bf16, E=64, C={c}]" for c in (4, 16))),
    GpuCase("scan of rows", "scan", "scan_rows", ROWS, "scan_rows", ()),
)  # fmt: skip
