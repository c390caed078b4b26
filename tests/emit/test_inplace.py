"""Outputs that lie where inputs do: what a call does to them, and which arrays a call refuses to take for one.

Comes in: the optimisers of `specs/`. Goes out: the comparison with numpy, and errors. The one idea: what may be one array is said by the op, and asked of
the memory that a call is given.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.program.library import machine, proof_of
from tinygpu import pipeline
from tinygpu.emit.module import kernel_texts


@pytest.fixture(scope="module")
def sgd():
    return pipeline.build(proof_of(machine("optimisers", "optimiser_v4")))


def given(n: int) -> list[np.ndarray]:
    chance = np.random.default_rng(n)
    return [chance.standard_normal(n).astype(np.float32) for _ in range(3)]


@pytest.mark.parametrize("n", [0, 1, 7, 1025])
def test_parameters_are_changed_where_they_lie(sgd, n):
    w, m, g = given(n)
    moved = 0.9 * m + g
    wanted = w - 0.1 * moved
    lr, mu = np.float32(0.1), np.float32(0.9)
    elsewhere = sgd(w, m, g, lr, mu)
    found = sgd(w, m, g, lr, mu, out=(w, m))
    for one, other, right in zip(found, elsewhere, (wanted, moved), strict=True):
        np.testing.assert_allclose(one, right, atol=1e-6)
        np.testing.assert_array_equal(one, other)
    assert np.shares_memory(found[0], w) or not n


@pytest.mark.parametrize("crossed", [lambda w, m, g: (m, w), lambda w, m, g: (g, m), lambda w, m, g: (w, w)])
def test_no_other_array_is_taken(sgd, crossed):
    w, m, g = given(8)
    with pytest.raises(ValueError, match="TG807"):
        sgd(w, m, g, np.float32(0.1), np.float32(0.9), out=crossed(w, m, g))


def test_nor_a_part_of_one(sgd):
    whole = np.zeros(9, np.float32)
    _, m, g = given(8)
    with pytest.raises(ValueError, match="TG807"):
        sgd(whole[1:], m, g, np.float32(0.1), np.float32(0.9), out=(whole[:8], m))


def test_what_is_written_under_another_name_is_no_constant():
    one = machine("optimisers", "optimiser_v4")
    text = dict(kernel_texts(pipeline.built(proof_of(one), one)))["cuda"]
    assert "names.void(pointer(f32), pointer(f32), constant(f32)," in text


@pytest.mark.parametrize("given", ["nothing", "the input", "another array"])
def test_what_nobody_stores_is_the_inputs(given):
    append = pipeline.build(proof_of(machine("append", "append_row")))
    chance = np.random.default_rng(3)
    k, cache, length = chance.random((3, 5), np.float32), chance.random((3, 7, 5), np.float32), np.array([0, 6, 3], np.int32)
    before, wanted = cache.copy(), cache.copy()
    wanted[np.arange(3), length] = k
    out = {"nothing": None, "the input": cache, "another array": np.full_like(cache, 9)}[given]
    made = append(k, cache, length, out=out)
    np.testing.assert_array_equal(made, wanted)
    np.testing.assert_array_equal(cache, wanted if given == "the input" else before)


def test_rows_are_added_to_where_they_lie():
    add = pipeline.build(proof_of(machine("append", "add_rows_atomic")))
    chance = np.random.default_rng(4)
    x, rows, v = chance.random((6, 5), np.float32), np.array([1, 1, 5, 0], np.int32), chance.random((4, 5), np.float32)
    wanted = x.copy()
    np.add.at(wanted, rows, v)
    np.testing.assert_allclose(add(x, rows, v), wanted, atol=1e-6)
    np.testing.assert_allclose(add(x, rows, v, out=x), wanted, atol=1e-6)
    np.testing.assert_allclose(x, wanted, atol=1e-6)
