"""Loops that data begin and end: what kernels of sparse rows, segments and pages compute, and that no loop walks along all there is.

Comes in: specs whose folds end at data. Goes out: the comparison with numpy, at odd sizes, with empty rows. The one idea: where a row begins and ends is
in the text of the loop itself.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from tests.program.library import library, machine, proof_of
from tinygpu import pipeline
from tinygpu.emit.module import kernel_texts

SIZES = ((0, 3), (1, 1), (5, 7), (37, 65))


def built(spec: str, name: str):
    return pipeline.build(proof_of(machine(spec, name)))


def offsets(rows: int, chance: np.random.Generator, least: int = 0) -> np.ndarray:
    """Rows of up to nine entries, a third of them empty."""
    lengths = chance.integers(0, 9, rows) * (chance.random(rows) > 1 / 3) + least
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)


def test_sparse_rows():
    chance, kernels = np.random.default_rng(1), [built("csr", name) for name in ("csr_thread", "csr_warp", "csr_dense_rows")]
    for rows, columns in SIZES:
        off = offsets(rows, chance)
        count = int(off[-1])
        col, val = chance.integers(0, columns, count).astype(np.int32), chance.standard_normal(count).astype(np.float32)
        dense = np.zeros((rows, columns))
        np.add.at(dense, (np.repeat(np.arange(rows), np.diff(off)), col), val)
        x = chance.standard_normal((columns, 5)).astype(np.float32)
        for kernel in kernels[:2]:
            np.testing.assert_allclose(kernel(val, col, off, x[:, 0].copy(), check_data=True), dense @ x[:, 0], atol=1e-4)
        np.testing.assert_allclose(kernels[2](val, col, off, x), dense @ x, atol=1e-4)
    with pytest.raises(ValueError, match=r"off\[2\] = .*off\[3\]"):
        off[3] = off[2] - 1
        kernels[0](val, col, off, x[:, 0].copy(), check_data=True)


def test_segments():
    chance, mean = np.random.default_rng(2), built("segments", "segment_mean_warp")
    for rows, _ in SIZES:
        off = offsets(rows, chance, least=1)
        x = chance.standard_normal(int(off[-1])).astype(np.float32)
        wanted = [x[a:b].mean() for a, b in pairwise(off)]
        np.testing.assert_allclose(mean(x, off), wanted, atol=1e-5)


def test_what_is_in_no_order_is_nothing():
    """Without a promise every array is an array of offsets."""
    kernel, x = built("segments", "segment_columns"), np.ones((3, 2), np.float32)
    found = kernel(x, np.array([2, 0, -5, 9, 1], np.int32))
    np.testing.assert_array_equal(found, np.array([[0, 0], [0, 0], [3, 3], [0, 0]]))


def test_pages():
    chance, kernel = np.random.default_rng(3), built("paged", "paged_warp")
    for batch, heads, pages, size, most in ((1, 1, 1, 1, 1), (3, 2, 9, 4, 5)):
        keys, values = (chance.standard_normal((pages, size, heads, 64)).astype(np.float32) for _ in "KV")
        q = chance.standard_normal((batch, heads, 64)).astype(np.float32)
        table = chance.integers(0, pages, (batch, most)).astype(np.int32)
        length = chance.integers(1, most * size + 1, batch).astype(np.int32)
        found = kernel(q, keys, values, table, length, np.float32(0.125), check_data=True)
        for b in range(batch):
            k, v = (t[table[b]].reshape(-1, heads, 64)[: length[b]] for t in (keys, values))
            weight = np.exp(0.125 * np.einsum("thd,hd->th", k, q[b]))
            np.testing.assert_allclose(found[b], np.einsum("th,thd->hd", weight / weight.sum(0), v), atol=1e-4)


@pytest.mark.parametrize("spec", ["csr", "segments", "varlen", "paged"])
def test_no_loop_walks_along_all_there_is(spec):
    """Every loop over entries ends at cells that hold its ends."""
    for one in library(spec):
        text = dict(kernel_texts(pipeline.built(proof_of(one), one)))["cuda"]
        loops = [line for line in text.splitlines() if " in upto(" in line or " in between(" in line]
        entries = [line for line in loops if "upto(ix(" not in line or "min(" in line]
        assert entries and all("end" in line or "begin" in line for line in entries), entries
