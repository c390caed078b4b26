"""Triton's way: the kernels that everybody learns it with, a row a program, and a matrix product in blocks.

Comes in: tensors of torch. Goes out: calls without arguments. The one idea: a program holds its whole row, as the lessons do, and the number of
warps grows with the row, so that nobody is beaten by a kernel that was not meant for the size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import triton
import triton.language as tl

Inputs = Mapping[str, Any]
Form = Callable[[Inputs, Sequence[Any]], Callable[[], Any]]
BLOCK = 1024


@triton.jit
def copy_kernel(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n), mask=at < n)


@triton.jit
def saxpy_kernel(a, x, y, z, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(z + at, a * tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


@triton.jit
def softmax_kernel(x, y, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * columns
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row + at, mask=at < columns, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(y + row + at, powers / tl.sum(powers, axis=0), mask=at < columns)


@triton.jit
def layernorm_kernel(x, weight, bias, y, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * columns
    at = tl.arange(0, BLOCK)
    inside = at < columns
    values = tl.load(x + row + at, mask=inside, other=0.0)
    mean = tl.sum(values, axis=0) / columns
    centred = tl.where(inside, values - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(centred * centred, axis=0) / columns + eps)
    w, b = tl.load(weight + at, mask=inside), tl.load(bias + at, mask=inside)
    tl.store(y + row + at, centred * scale * w + b, mask=inside)


@triton.jit
def rmsnorm_kernel(x, weight, y, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * columns
    at = tl.arange(0, BLOCK)
    inside = at < columns
    values = tl.load(x + row + at, mask=inside, other=0.0)
    scale = 1 / tl.sqrt(tl.sum(values * values, axis=0) / columns + eps)
    tl.store(y + row + at, values * scale * tl.load(weight + at, mask=inside), mask=inside)


@triton.jit
def add_rmsnorm_kernel(x, residual, weight, z, y, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * columns
    at = tl.arange(0, BLOCK)
    inside = at < columns
    values = tl.load(x + row + at, mask=inside, other=0.0) + tl.load(residual + row + at, mask=inside, other=0.0)
    tl.store(z + row + at, values, mask=inside)
    scale = 1 / tl.sqrt(tl.sum(values * values, axis=0) / columns + eps)
    tl.store(y + row + at, values * scale * tl.load(weight + at, mask=inside), mask=inside)


@triton.jit
def matmul_kernel(a, b, c, rows, columns, depth, TILE: tl.constexpr, WIDE: tl.constexpr, DEEP: tl.constexpr):
    i = tl.program_id(0) * TILE + tl.arange(0, TILE)
    j = tl.program_id(1) * WIDE + tl.arange(0, WIDE)
    k = tl.arange(0, DEEP)
    total = tl.zeros((TILE, WIDE), dtype=tl.float32)
    for start in range(0, depth, DEEP):
        left = (i[:, None] < rows) & (start + k[None, :] < depth)
        right = (start + k[:, None] < depth) & (j[None, :] < columns)
        one = tl.load(a + i[:, None] * depth + start + k[None, :], mask=left, other=0.0)
        two = tl.load(b + (start + k[:, None]) * columns + j[None, :], mask=right, other=0.0)
        total += tl.dot(one, two, input_precision="ieee")
    tl.store(c + i[:, None] * columns + j[None, :], total, mask=(i[:, None] < rows) & (j[None, :] < columns))


def warps(block: int) -> int:
    """A warp for 512 elements of a row, 4 to 32.

    >>> warps(1024), warps(8192), warps(65536)
    (4, 16, 32)
    """
    return max(4, min(32, block // 512))


def forms() -> dict[str, Form]:
    """The calls by the name of a case."""

    def line(kernel: Any, names: tuple[str, ...]) -> Form:
        def form(i: Inputs, o: Sequence[Any]) -> Callable[[], Any]:
            n = o[0].numel()
            given = [i[name] for name in names]
            return lambda: kernel[(triton.cdiv(n, BLOCK),)](*given, o[0], n, BLOCK=BLOCK)

        return form

    def rows(kernel: Any, names: tuple[str, ...], *numbers: str) -> Form:
        def form(i: Inputs, o: Sequence[Any]) -> Callable[[], Any]:
            count, columns = o[0].shape
            block = triton.next_power_of_2(columns)
            given = [*(i[name] for name in names), *o, columns, *(i[name] for name in numbers)]
            return lambda: kernel[(count,)](*given, BLOCK=block, num_warps=warps(block))

        return form

    def matmul(i: Inputs, o: Sequence[Any]) -> Callable[[], Any]:
        (m, k), n = i["A"].shape, i["B"].shape[1]
        grid = (triton.cdiv(m, 128), triton.cdiv(n, 128))
        return lambda: matmul_kernel[grid](i["A"], i["B"], o[0], m, n, k, TILE=128, WIDE=128, DEEP=16, num_warps=8)

    return {
        "copy": line(copy_kernel, ("x",)),
        "saxpy": line(saxpy_kernel, ("a", "x", "y")),
        "softmax": rows(softmax_kernel, ("x",)),
        "layernorm": rows(layernorm_kernel, ("x", "weight", "bias"), "eps"),
        "rmsnorm": rows(rmsnorm_kernel, ("x", "weight"), "eps"),
        "add_rmsnorm": rows(add_rmsnorm_kernel, ("x", "residual", "weight"), "eps"),
        "matmul": matmul,
    }
