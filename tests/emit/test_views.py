"""Strided tensors: views of every kind against numpy, and what no kernel is given.

Comes in: an op whose input and output are strided, views of arrays. Goes out: results, errors, and what a launch on a GPU is handed. The one idea:
an element is where its strides say, so a call has to say where it is, and to be refused where two elements of an output would be one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided, sliding_window_view

from tests.emit import interpreter
from tests.emit.fake_torch import Tensor, Torch
from tests.emit.specs_for_launchers import module
from tests.emit.test_cuda_call import OnGpu
from tests.program.library import library, machine, proof_of
from tinygpu import pipeline
from tinygpu.hardware.arch import CPU
from tinygpu.simulate.inputs import random_inputs
from tinygpu.simulate.reference import reference

F = np.float32
M, N = 5, 6
B = np.arange(N, dtype=F)


def ramp(*shape: int) -> np.ndarray:
    return np.arange(np.prod(shape), dtype=F).reshape(shape)


VIEWS: dict[str, Callable[[], np.ndarray]] = {  # of five rows and six columns, or fewer
    "rows": lambda: ramp(M, N),
    "a transposed matrix": lambda: ramp(N, M).T,
    "every other column": lambda: ramp(M, 2 * N)[:, ::2],
    "every other row, backwards": lambda: ramp(2 * M, N)[::-2],
    "backwards both ways": lambda: ramp(M, N)[::-1, ::-1],
    "a head of a packed array": lambda: ramp(M, 3, 2, N)[:, 1, 1],
    "columns of a larger matrix": lambda: ramp(M, 40)[:, 7:13],
    "a plane of a tensor": lambda: ramp(N, 4, M)[:, 2].T,
    "one column": lambda: ramp(M, N)[:, 3:4],
    "one row": lambda: ramp(2 * M, N)[3:4, ::-1],
    "nothing": lambda: ramp(M, N)[:, :0],
    "a field of records": lambda: np.zeros((M, N), [("a", "i4"), ("x", "f4")])["x"],
}
INPUTS = {  # an output has two elements nowhere
    "one row for all": lambda: np.broadcast_to(ramp(N), (M, N)),
    "one number for all": lambda: np.broadcast_to(F(3), (M, N)),
    "windows": lambda: sliding_window_view(ramp(M + N - 1), N),
}


@pytest.mark.parametrize("name", [*VIEWS, *INPUTS])
def test_a_view_is_taken_as_it_lies(name):
    affine = module("views").affine
    x = (VIEWS | INPUTS)[name]()
    b, before = B[: x.shape[1]], x.copy()
    want = 2 * before + b
    np.testing.assert_array_equal(affine(x, b), want)
    if name in VIEWS:
        out, twin = VIEWS[name](), VIEWS[name]()
        around = out if out.base is None else out.base
        kept = around.copy()
        assert affine(x, b, out=out) is out
        np.testing.assert_array_equal(out, want)
        np.testing.assert_array_equal(affine(twin, b, out=twin), want)  # in place
        twin[...] = before
        np.testing.assert_array_equal(twin.base if twin.base is not None else twin, kept)  # nothing beside it was touched
    np.testing.assert_array_equal(x, before)


def test_columns_of_one_matrix_are_apart():
    both = ramp(M, 2 * N)
    x, y = both[:, ::2], both[:, 1::2]
    want = 2 * x + B
    module("views").affine(x, B, out=y)
    np.testing.assert_array_equal(y, want)
    np.testing.assert_array_equal(x, ramp(M, 2 * N)[:, ::2])


X = ramp(M, N)
LONG = ramp(400)
WRONG: list[tuple[Callable, str]] = [
    (lambda f: f(X, B, out=np.broadcast_to(X[0], X.shape)), "TG806 affine_m: out is read-only, and the kernel writes it"),
    (lambda f: f(X, B, out=as_strided(LONG, (M, N), (0, 4))), "TG807 affine_m: out may have two elements at one place, with strides (0, 1); each has to be larger than the smaller ones reach"),
    (lambda f: f(X, B, out=as_strided(LONG, (M, N), (20, 4))), "TG807 affine_m: out may have two elements at one place, with strides (5, 1); each has to be larger than the smaller ones reach"),
    (lambda f: f(X, B, out=as_strided(LONG[200:], (M, N), (-20, 4))), "TG807 affine_m: out may have two elements at one place, with strides (-5, 1); each has to be larger than the smaller ones reach"),
    (lambda f: f(LONG[1:31].reshape(M, N), B, out=LONG[:30].reshape(M, N)), "TG807 affine_m: out shares memory with x; outputs need memory of their own"),
    (lambda f: f(LONG[:60].reshape(M, 12)[:, ::2], B, out=LONG[:30].reshape(M, N)), "TG807 affine_m: out shares memory with x; outputs need memory of their own"),
    (lambda f: f(LONG[:60].reshape(M, 12)[:, ::2], B, out=LONG[:60].reshape(N, 10)[:, ::2].T), "TG807 affine_m: out shares memory with x; outputs need memory of their own"),
    (lambda f: f(LONG[20:50].reshape(M, N), B, out=LONG[59:29:-1].reshape(M, N)), "TG807 affine_m: out shares memory with x; outputs need memory of their own"),
    (lambda f: f(X[:, ::-1], B, out=X), "TG807 affine_m: out shares memory with x; outputs need memory of their own"),
    (lambda f: f(as_strided(LONG, (M, N), (2**61, 4)), B), f"TG810 affine_m: too large: x has strides ({2**59}, 1), and kernels count its bytes with 64 bits"),
    (lambda f: f(as_strided(LONG, (M, N), (42, 4)), B), "TG813 affine_m: x must be a float32 array of shape [M, N]; its memory is not aligned to the 4 bytes of an element"),
    (lambda f: f(X, LONG[: 2 * N : 2]), "TG805 affine_m: b must be a float32 array of shape [N], C-contiguous; its strides are not. Pass ascontiguousarray(b), or say f32[N] strided in the op"),
    (lambda f: f(X.T, B[:M], out=X), "TG804 affine_m: out has shape (5, 6); [M, N] has to be (6, 5), with M = 6, N = 5"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), WRONG)
def test_a_view_that_no_kernel_is_given(call, message):
    with pytest.raises(ValueError, match="TG8") as caught:
        call(module("views").affine)
    assert str(caught.value) == message
    assert np.array_equal(X, ramp(M, N)) and np.array_equal(LONG, ramp(400))


# ── on a GPU, as far as it goes without one ────────────────────────────────────────────────────────────────────────


@pytest.fixture
def handed(monkeypatch):
    """What launches are handed behind their sizes."""
    made, seen = module("views"), []
    monkeypatch.setattr(made.runtime, "_device_of", lambda pointer: 0)
    monkeypatch.setattr(made.runtime._Cuda, "__call__", lambda _, *given: seen.append(given[-4:]))
    return seen


@pytest.mark.parametrize(
    ("strides", "steps"), [(None, (N, 1)), ((4 * N, 4), (N, 1)), ((4, 4 * M), (1, M)), ((0, 4), (0, 1)), ((-48, -8), (-12, -2))]
)
def test_strides_are_numbers_of_the_launch(handed, strides, steps):
    for _ in range(2):  # looked at in full, then in short
        x, out = OnGpu((M, N), 2**20, strides=strides), OnGpu((M, N), 2**30, strides=(4, 4 * M))
        module("views").affine(x, OnGpu((N,), 2**25), out=out)
    assert handed == [(*steps, 1, M)] * 2 and all(type(step) is np.int64 for step in handed[0])


def test_those_of_torch_too(handed, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", Torch())
    module("views").affine(Tensor(ramp(N, M).T), Tensor(B), out=Tensor(ramp(M, 2 * N)[:, ::2]))
    assert handed == [(1, M, 2 * N, 2)]


def test_arrays_on_a_gpu_are_asked_too(handed):
    x, b = OnGpu((M, N), 2**20), OnGpu((N,), 2**25)
    for strides in ((0, 4), (20, 4)):
        with pytest.raises(ValueError, match="TG807 affine_m: out may have two elements at one place"):
            module("views").affine(x, b, out=OnGpu((M, N), 2**30, strides=strides))
    with pytest.raises(ValueError, match="TG807 affine_m: out shares memory with x"):
        module("views").affine(x, b, out=OnGpu((M, N), 2**20 + 4, strides=(-4, 4 * M)))
    with pytest.raises(ValueError, match="TG810 affine_m: too large: x has strides"):
        module("views").affine(OnGpu((M, N), 2**20, strides=(2**61, 4)), b, out=OnGpu((M, N), 2**30))
    assert not handed


@pytest.mark.sampled(3)
@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("title", [m.title for m in library("views") if m.arch != CPU])
def test_the_text_of_a_kernel_of_cuda_goes_by_strides(title, bits):
    program = pipeline.program(machine("views", title))
    for size in (1, 3, 18):
        sizes = {name: size if at else 2 for at, name in enumerate(program.op.sizes)}
        inputs = random_inputs(program.op, sizes, 0)
        found, want = interpreter.run(program, sizes, inputs, bits, wide=False), reference(program.op, sizes, inputs)
        for name, array in found.items():
            np.testing.assert_allclose(array.astype("f8"), want[name], rtol=2e-3, atol=1e-5)


def test_heads_of_a_packed_array():
    """A proved machine, where a view is what people have: no copy is made of q and k."""
    scores = pipeline.build(proof_of(machine("views", "scores_tile")))
    qkv = np.random.default_rng(0).standard_normal((2, 19, 3, 2, 7)).astype(F)
    q, k, _ = np.moveaxis(qkv, 2, 0)
    np.testing.assert_allclose(scores(q, k), np.einsum("bihd,bjhd->bhij", q, k), rtol=1e-4, atol=1e-5)
