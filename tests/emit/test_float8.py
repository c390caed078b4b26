"""Floats of 8 bits as they are used: `specs/float8.tgpu` built for the CPU, and numpy with ml_dtypes, at odd sizes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tinygpu import pipeline
from tinygpu.pipeline import Proof

KINDS = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}
SIZES = [(1, 1, 1), (7, 13, 5), (33, 129, 65), (3, 257, 2)]


@cache
def called(title: str) -> Callable[..., Any]:
    """The function of a machine."""
    proof = pipeline.check(next(m for m in pipeline.load("specs/float8.tgpu").machines if m.title == title))
    assert isinstance(proof, Proof)
    return pipeline.build(proof)


@pytest.mark.parametrize(("m", "k", "n"), SIZES)
def test_quantised_by_rows(m: int, k: int, n: int) -> None:
    x = (np.random.default_rng(m).normal(size=(m, k)) * 10).astype(np.float32)
    x[-1] *= m == 1  # a row of nothing
    q, scale = called("quantise_rows")(x)
    unit = np.maximum(np.abs(x).max(1), np.float32(1e-30)) / np.float32(448)
    assert np.array_equal(scale, unit)
    want = np.clip(x / unit[:, None], -448, 448).astype(KINDS["e4m3"])
    assert np.array_equal(q.view(np.uint8), want.view(np.uint8))
    back = called("dequantise_rows[T=e4m3]")(q, scale)
    assert np.array_equal(back, want.astype(np.float32) * scale[:, None])
    assert (np.abs(back - x) <= np.abs(x) / 16 + unit[:, None] * 2.0**-10).all()


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize(("m", "k", "n"), SIZES)
def test_products_with_scales(m: int, k: int, n: int, dtype: str) -> None:
    chance = np.random.default_rng(k)
    bits = [chance.integers(0, 256, shape).astype(np.uint8) for shape in ((m, k), (n, k))]
    for one in bits:
        one[~np.isfinite(one.view(KINDS[dtype]).astype(np.float32))] = 0
    sa, sb = (chance.uniform(0.5, 2, size).astype(np.float32) for size in (m, n))
    a, b = (one.view(KINDS[dtype]).astype(np.float64) for one in bits)
    for given in (bits, [one.view(KINDS[dtype]) for one in bits]):  # as bits, and as ml_dtypes has them
        found = called(f"product_tile[T={dtype}]")(*given, sa, sb)
        near = (np.abs(a) @ np.abs(b).T) * sa[:, None] * sb * 2.0**-20
        assert (np.abs(found - (a @ b.T) * sa[:, None] * sb) <= near).all()
