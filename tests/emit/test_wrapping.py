"""Integers wrap at their width, at every width and on both targets: what compilers may take for impossible is computed all the same.

Comes in: ops whose value shows the wrap. Goes out: what their CPU kernels compute at the ends of the types, what the text of their CUDA
kernels computes, and that no compiler left the question out. The one idea: `x + 1 > x` is false for one number of each type, and is
true for all where a sum that wraps is undefined.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from benchmarks.machine_code import compile_ptx
from tests.emit import interpreter
from tests.emit.test_cuda_prelude import needs_cuda
from tests.program.library import proof_of
from tinygpu import pipeline
from tinygpu.pipeline import Proof
from tinygpu.run.gate import loaded

KINDS = {f"{letter}{bits}": np.dtype(f"{letter}{bits // 8}").type for letter in "iu" for bits in (8, 16, 32, 64)}
OP = """op f(x: DT[n], z: DT[n], r: DT[n, k]) -> (more: DT[n], less: DT[n], all_: DT[n], minus: DT[n], size: DT[n], s: DT[n], p: DT[n], bits: DT[n]) {
  more[i] = 1 if x[i] + 1 > x[i] else 0
  less[i] = 1 if x[i] - z[i] < x[i] else 0
  all_[i] = (x[i] + 1) * z[i] - x[i] ^ z[i]
  minus[i] = -x[i]
  size[i] = abs(x[i])
  s[i] = sum[j] r[i, j]
  p[i] = prod[j] r[i, j]
  bits[i] = ((x[i] << 3 | z[i] & 15) ^ ~z[i] >> 2) + (x[i] & z[i] | 5) + (x[i] >> (z[i] & 7))
}
machine m : f {
  work grid = (g), block = (t: 32)
  compute i = (g, t)
  time j
}
"""


def inputs(kind: type) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The ends of the type against each other, and rows whose sums and products leave it."""
    info = np.iinfo(kind)
    ends = np.array([info.min, info.min + 1, 0, 1, 3, info.max // 3, info.max - 1, info.max], kind)
    x, z = (a.ravel().copy() for a in np.meshgrid(ends, ends))
    return x, z, np.stack([x, z, x[::-1], x], 1)


def wanted(kind: type, x: np.ndarray, z: np.ndarray, r: np.ndarray) -> list[np.ndarray]:
    """By integers without a width, cut to the width at the end of each operation."""
    info = np.iinfo(kind)

    def cut(number: int) -> int:
        return (number - int(info.min)) % (1 << info.bits) + int(info.min)

    rows = [(int(a), int(b), [int(c) for c in row]) for a, b, row in zip(x, z, r, strict=True)]
    columns = [
        [int(cut(a + 1) > a) for a, _, _ in rows],
        [int(cut(a - b) < a) for a, b, _ in rows],
        [cut(cut(cut(cut(a + 1) * b) - a) ^ b) for a, b, _ in rows],
        [cut(-a) for a, _, _ in rows],
        [cut(abs(a)) for a, _, _ in rows],
        [cut(sum(c)) for _, _, c in rows],
        [cut(c[0] * c[1] * c[2] * c[3]) for _, _, c in rows],
        [cut(((a << 3 | b & 15) ^ cut(~b) >> 2) + (a & b | 5) + (a >> (b & 7))) for a, b, _ in rows],
    ]
    return [np.array(c, kind) for c in columns]


@cache
def proved(dtype: str, text: str = OP) -> Proof:
    return proof_of(text.replace("DT", dtype))


@pytest.mark.parametrize("dtype", KINDS)
def test_what_the_cpu_computes_at_the_ends_of_a_type(dtype):
    given = inputs(KINDS[dtype])
    for got, want in zip(pipeline.build(proved(dtype))(*given), wanted(KINDS[dtype], *given), strict=True):
        np.testing.assert_array_equal(got, want)


def test_the_text_of_a_cuda_kernel_at_the_ends_of_i64():
    """The text as Python reads it, where a sum of two int64 that does not fit is an error."""
    given = inputs(np.int64)
    program = proved("i64").program
    sizes = {"n": len(given[0]), "k": 4}
    got = interpreter.run(program, sizes, dict(zip("xzr", given, strict=True)), 32, False)
    for tensor, want in zip(program.op.outputs, wanted(np.int64, *given), strict=True):
        np.testing.assert_array_equal(got[tensor.name], want)


ASKS = """op f(x: DT[n]) -> (y: DT[n]) { y[i] = 1 if x[i] + 1 > x[i] else 0 }
machine m : f {
  work grid = (g), block = (t: 32)
  compute i = (g, t)
}
"""


@pytest.mark.parametrize("dtype", ["i64", "i8"])
def test_the_machine_code_asks_the_memory(dtype):
    needs_cuda()
    program = proved(dtype, ASKS).program
    (ptx,) = compile_ptx(loaded(program), program, 0, [(9, 0)], 32, False)
    assert "ld.global" in ptx


def test_a_plain_sum_of_i64_is_refused():
    built = pipeline.built(proved("i64", ASKS))
    text = pipeline.module("f", [built])
    assert pipeline.validate(text, [built]) == () == pipeline.validate_cpu(text, [built])
    cuda = text.replace("i64(u64(x[i]) + u64(i64(1))) >", "i64(x[i] + i64(1)) >")
    assert cuda != text and [d.code for d in pipeline.validate(cuda, [built])] == ["TG820"]
    cpu = text.replace("np.int64(np.uint64(x[at(i)]) + np.uint64(np.int64(1))) >", "np.int64(x[at(i)] + np.int64(1)) >")
    assert cpu != text and [d.code for d in pipeline.validate_cpu(cpu, [built])] == ["TG820"]
