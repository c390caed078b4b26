"""Dtypes that values are only kept in: what is proved of a cast to one, and what kernels store.

Comes in: a program of one step for an equation. Goes out: proofs of those that cast as the equation does, and of no other; outputs over all patterns of 8 bits.
The one idea: a cast is a function of which the prover knows that it keeps what both dtypes have.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.emit.ptx import LARGEST, of_8_bits
from tinygpu import pipeline, runtime
from tinygpu.category.encoding import nearest_of
from tinygpu.pipeline import Proof

TEXT = """
op stored(x: f32[n], p: u8[n], q: e5m2[n]) -> (z: f32[n]) {{ z[i] = {equation} + 0 * (f32(p[i]) + f32(q[i]) + x[i]) }}

machine step : stored {{
  work grid = (g: ceil(n / 128)), block = (t: 128)
  program {{
    let i = g*128 + t
    z[i] = {program} + 0 * (f32(p[i]) + f32(q[i]) + x[i]) if i < n
  }}
}}
"""


def proved(equation: str, program: str) -> bool:
    (machine,) = pipeline.load_text(TEXT.format(equation=equation, program=program)).machines
    return isinstance(pipeline.check(machine), Proof)


@pytest.mark.parametrize(
    ("equation", "program"),
    [
        ("f32(tf32(x[i]))", "f32(tf32(x[i]))"),
        ("f32(tf32(x[i] if x[i] > 0 else 0))", "(f32(tf32(x[i])) if x[i] > 0 else 0)"),  # both have 0
        ("f32(e4m3(x[i] if x[i] > 0 else 448))", "f32(e4m3(x[i]) if x[i] > 0 else 448)"),
        ("f32(q[i])", "f32(f16(q[i]))"),  # which has all of them
        ("f32(tf32(q[i]))", "f32(q[i])"),
        ("f32(i4(p[i] & 15))", "f32(i4(p[i]))"),
        ("f32(u4(p[i]))", "f32(p[i] & 15)"),
        ("f32(u4(p[i] >> 4))", "f32(p[i] >> 4)"),
    ],
)
def test_what_is_the_same_is_proved(equation: str, program: str) -> None:
    assert proved(equation, program)


@pytest.mark.parametrize(
    ("equation", "program"),
    [
        ("f32(tf32(x[i]))", "x[i]"),
        ("f32(tf32(x[i]))", "f32(bf16(x[i]))"),
        ("f32(e4m3(x[i]))", "f32(e5m2(x[i]))"),
        ("f32(e4m3(q[i]))", "f32(q[i])"),
        ("f32(e4m3(x[i] if x[i] > 0 else 449))", "f32(e4m3(x[i]) if x[i] > 0 else 448)"),  # which 449 becomes; that is not known
        ("f32(tf32(x[i] if x[i] > 0 else 0.1))", "(f32(tf32(x[i])) if x[i] > 0 else 0.1)"),
        ("f32(i4(p[i]))", "f32(p[i] & 15)"),
        ("f32(i4(p[i]))", "f32(u4(p[i]))"),
        ("f32(u4(p[i]))", "f32(p[i])"),
        ("f32(i4(p[i]))", "f32(i8(p[i]))"),
    ],
)
def test_what_is_another_is_not(equation: str, program: str) -> None:
    assert not proved(equation, program)


SPEC = """
op halves(p: u8[n]) -> (low: i32[n], high: i32[n], whole: u8[n]) {
  a[i]     = i4(p[i])
  b[i]     = u4(p[i] >> 4)
  low[i]   = i32(a[i])
  high[i]  = i32(b[i])
  whole[i] = u8(u4(f32(p[i]) - 8))
}

op kept[T in {e4m3, e5m2}](q: T[n], x: f64[n]) -> (value: f32[n], same: T[n], made: T[n], tens: f32[n]) {
  value[i] = f32(q[i])
  same[i]  = q[i]
  made[i]  = T(x[i])
  tens[i]  = f32(tf32(x[i]))
}

machine each : halves, kept {
  work    grid = (g), block = (t: 128)
  compute i = (g, t, v: 4)
  vector  v
}
"""


def called(variant: str) -> Any:
    """The function of a machine."""
    machine = next(m for m in pipeline.load_text(SPEC).machines if variant in m.title)
    proof = pipeline.check(machine)
    assert isinstance(proof, Proof), proof
    return pipeline.build(proof)


@pytest.mark.parametrize(("dtype", "kind"), [("e4m3", ml_dtypes.float8_e4m3fn), ("e5m2", ml_dtypes.float8_e5m2)])
def test_kernels_keep_all_patterns_of_8_bits(dtype: str, kind: Any) -> None:
    bits = np.arange(256, dtype=np.uint8)
    x = np.random.default_rng(1).normal(size=256) * 200
    value, same, made, tens = called(f"T={dtype}")(bits, x)
    table = np.array([of_8_bits(b, dtype) for b in range(256)], np.float32)
    assert np.array_equal(value, table, equal_nan=True)
    numbers = ~np.isnan(table)
    assert np.array_equal(same.view(np.uint8)[numbers], bits[numbers])
    largest, _ = LARGEST[dtype]
    assert np.array_equal(made.astype(np.float32), np.clip(x, -largest, largest).astype(kind).astype(np.float32))
    assert (np.abs(tens - x) <= np.abs(x) * 2.0**-11).all() and not (tens.view(np.uint32) & 0x1FFF).any()
    with pytest.raises(TypeError, match="may be e4m3 or e5m2"):
        runtime.loaded().by_dtype("each", "q", bits, {"e4m3": None, "e5m2": None})


def test_kernels_keep_all_patterns_of_4_bits() -> None:
    p = np.arange(256, dtype=np.uint8)
    low, high, whole = called("halves")(p)
    assert np.array_equal(low, (p & 15).astype(np.int32) - 16 * (p & 8 > 0)) and np.array_equal(high, p >> 4)
    assert np.array_equal(whole, np.clip(p.astype(int) - 8, 0, 15))


WORKSPACES = """
op two(x: f32[n], p: u8[n]) -> (z: f32[n]) { z[i] = f32(tf32(x[i])) + f32(i4(p[i])) + f32(e4m3(x[i])) }

machine by_hand : two {
  program {
    workspace t: tf32[n], h: i4[n], e: e4m3[n]
    launch (grid = (g: ceil(n / 128)), block = (l: 128)) {
      t[g*128 + l] = tf32(x[g*128 + l]) if g*128 + l < n
      h[g*128 + l] = i4(p[g*128 + l]) if g*128 + l < n
      e[g*128 + l] = e4m3(x[g*128 + l]) if g*128 + l < n
    }
    launch (grid = (g: ceil(n / 128)), block = (l: 128)) {
      z[g*128 + l] = f32(t[g*128 + l]) + f32(h[g*128 + l]) + f32(e[g*128 + l]) if g*128 + l < n
    }
  }
}
"""


def test_launches_keep_them_for_later_ones() -> None:
    proof = pipeline.check(pipeline.load_text(WORKSPACES).machines[0])
    assert isinstance(proof, Proof)
    x, p = np.random.default_rng(2).normal(size=177).astype(np.float32), np.arange(177, dtype=np.uint8)
    nibbles = (p & 15).astype(np.float32) - 16 * (p & 8 > 0)
    assert np.array_equal(pipeline.build(proof)(x, p), nearest_of(x, "tf32") + nibbles.astype(np.float32) + nearest_of(x, "e4m3"))
