"""Shifts, masks and what is made of them, as kernels compute them: against numpy, and against generators and codes written here from their papers.

Comes in: specs of generators and of packed numbers, an op of every function. Goes out: what CPU kernels compute, and the instructions that CUDA kernels
become. The one idea: a reference is Python's integers, which have no width.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from benchmarks.machine_code import compile_ptx
from tests.emit.test_cuda_prelude import needs_cuda
from tests.program.library import proof_of
from tinygpu import pipeline
from tinygpu.run.gate import loaded

WORD = 2**32 - 1


@cache
def kernels(spec: str) -> dict[str, Any]:
    """The functions of a spec's machines."""
    return {m.name: pipeline.build(pipeline.check(m)) for m in pipeline.load(f"specs/{spec}.tgpu").machines}  # type: ignore[arg-type]


def philox(q: int, key: int, stream: int) -> list[int]:
    """Philox4x32-10 (Salmon and others 2011, section 4.3)."""
    a, b, c, d = q & WORD, q >> 32, 0, 0
    for turn in range(10):
        one, two = a * 0xD2511F53, c * 0xCD9E8D57
        b, d = (two >> 32) ^ b ^ (key + turn * 0x9E3779B9) & WORD, (one >> 32) ^ d ^ (stream + turn * 0xBB67AE85) & WORD
        a, b, c, d = b, two & WORD, d, one & WORD
    return [a, b, c, d]


def test_philox_is_that_of_its_paper() -> None:
    assert philox(0, 0, 0) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]  # its known answer
    for key, stream in ((0, 0), (7, WORD)):
        got = kernels("philox")["philox_thread"](np.uint32(key), np.uint32(stream), n=300)
        assert np.stack(got, 1).tolist() == [philox(q, key, stream) for q in range(300)]


def test_dropout_keeps_where_a_word_is_small() -> None:
    x = np.random.default_rng(0).standard_normal(1003, dtype=np.float32)
    words = np.array([w for q in range(251) for w in philox(q, 3, 4)][:1003])
    got = kernels("philox")["dropout_v4"](x, 3, 4, 3 << 30, 4 / 3)
    np.testing.assert_array_equal(got, np.where(words < 3 << 30, x * np.float32(4 / 3), 0))
    assert 0.7 < np.mean(got != 0) < 0.8


def test_four_bits_of_a_word() -> None:
    chance = np.random.default_rng(1)
    rows, groups = 13, 9
    q = chance.integers(0, 16, (rows, 32 * groups), dtype=np.uint32)
    words = sum(q[:, k::8].astype(np.int64) << 4 * k for k in range(8)).astype(np.uint32)  # type: ignore[union-attr]
    s, x = chance.random((rows, groups), np.float32), chance.standard_normal(32 * groups, np.float32)
    np.testing.assert_array_equal(kernels("quantised")["pack_thread"](q[0]), words[0])
    weights = (q.astype(np.float32) - 8) * s.repeat(32, 1)
    np.testing.assert_array_equal(kernels("quantised")["unpack_v8"](words[0], s[0]), weights[0])
    got = kernels("quantised")["matvec4_warp"](words, s, x)
    np.testing.assert_allclose(got, weights.astype(np.float64) @ x, rtol=1e-5, atol=1e-4)


def test_products_of_bytes_are_exact() -> None:
    chance = np.random.default_rng(2)
    a, b = (chance.integers(-128, 128, shape, dtype=np.int8) for shape in ((33, 50), (50, 21)))
    row, column = chance.random(33, np.float32), chance.random(21, np.float32)
    want = (a.astype(int) @ b.astype(int)).astype(np.float32) * row[:, None] * column
    np.testing.assert_array_equal(kernels("quantised")["matmul_i8_shared"](a, b, row, column), want)


OP = """op f(x: u32[n], z: u32[n], w: i32[n], v: f32[n]) -> (ones: u32[n], high: u32[n], signed: i32[n], near: f32[n], up: f32[n], cube: f32[n], power: f32[n]) {
  ones[i]   = popcount(x[i] ^ z[i])
  high[i]   = mulhi(x[i], z[i])
  signed[i] = mulhi(w[i], -7) + (w[i] >> 5)
  near[i]   = round(v[i])
  up[i]     = ceil(v[i])
  cube[i]   = pow(v[i], 3) + pow(v[i], -2)
  power[i]  = pow(abs(v[i]), 1.5)
}
machine m : f {
  work    grid = (g), block = (t: 32)
  compute i = (g, t)
}
"""


def test_every_function() -> None:
    chance = np.random.default_rng(3)
    x, z = (chance.integers(0, 2**32, 500, dtype=np.uint32) for _ in "xz")
    w = chance.integers(-(2**31), 2**31, 500).astype(np.int32)
    v = np.concatenate([np.arange(-5, 5, 0.5), chance.uniform(-9, 9, 480)]).astype(np.float32)
    v[v == 0] = -0.5
    ones, high, signed, near, up, cube, power = pipeline.build(proof_of(OP))(x, z, w, v)
    assert ones.tolist() == [(a ^ b).bit_count() for a, b in zip(x.tolist(), z.tolist(), strict=True)]
    assert high.tolist() == [a * b >> 32 for a, b in zip(x.tolist(), z.tolist(), strict=True)]
    assert signed.tolist() == [(a * -7 >> 32) + (a >> 5) for a in w.tolist()]
    np.testing.assert_array_equal(near, np.rint(v))
    np.testing.assert_array_equal(up, np.ceil(v))
    np.testing.assert_allclose(cube, v**3.0 + v**-2.0, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(power, np.abs(v) ** 1.5, rtol=1e-6)


def test_each_is_one_instruction_of_a_gpu() -> None:
    needs_cuda()
    text = OP.replace(" + pow(v[i], -2)", "")
    (ptx,) = compile_ptx(loaded(proof_of(text).program), proof_of(text).program, 0, [(9, 0)], 32, False)
    for instruction in ("popc.b32", "mul.wide.u32", "shr.s32", "cvt.rni.f32.f32", "cvt.rmi.f32.f32"):
        assert ptx.count(instruction) == 1, instruction
    assert "div." not in ptx and "rem." not in ptx
