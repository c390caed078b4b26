"""Launchers on the CPU: what they compute, what they refuse, and in which words.

Comes in: modules of `specs_for_launchers`, arrays. Goes out: results against numpy, and the exact messages of errors.
The one idea: everything that a proof assumes has an array here that breaks it.
"""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from tests.emit.specs_for_launchers import module

F = np.float32


def ramp(*shape: int, dtype: type = F) -> np.ndarray:
    return np.arange(np.prod(shape), dtype=np.float64).reshape(shape).astype(dtype)


@pytest.mark.parametrize("n", [0, 1, 3, 4, 63, 64, 65, 257])
def test_it_computes_at_every_size(n):
    x, y = ramp(n), ramp(n) + 1
    got = module("saxpy").saxpy(2.0, x, y)
    assert got.dtype == F and np.array_equal(got, F(2) * x + y)


def test_out_is_written_and_returned():
    x, z = ramp(5), np.full(5, np.nan, F)
    assert module("saxpy").saxpy(1, x, x, out=z) is z and np.array_equal(z, 2 * x)
    assert module("saxpy").saxpy(1, x, y=x, out=(z,)) is z


def test_several_outputs_are_a_tuple():
    x = ramp(5) - 2
    y, m = module("both").both(x)
    assert np.array_equal(y, 2 * x) and np.array_equal(m, (x > 0).astype(np.uint8))
    out = (np.empty(5, F), np.empty(5, np.uint8))
    assert module("both").both(x, out=out)[1] is out[1]


def test_a_fold_over_nothing_writes_its_unit():
    got = module("total").total(np.empty((3, 0), F), out=np.full(3, np.nan, F))
    assert np.array_equal(got, np.zeros(3, F))
    assert module("total").total(np.empty((5, 0), F)[:, ::-1]).tolist() == [0.0] * 5  # strides of nothing mean nothing


def test_sizes_are_solved_from_affine_extents():
    assert np.array_equal(module("odd").odd(ramp(7)), [1, 3, 5])
    assert module("odd").odd(ramp(1)).shape == (0,)
    assert np.array_equal(module("shorter").shorter(ramp(5)), [2, 2, 2])


def test_a_size_that_no_input_tells_is_a_keyword():
    assert np.array_equal(module("spread").spread(ramp(2), n=3), [[0, 1]] * 3)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_a_family_takes_the_dtype_of_its_argument(dtype):
    x = ramp(9, dtype=dtype)
    got = module("scaled").scaled(0.5, x)
    assert got.dtype == np.dtype(dtype) and np.array_equal(got.astype(F), x.astype(F) / 2)


def test_bits_of_bf16():
    x = ramp(3, dtype=ml_dtypes.bfloat16)
    got = module("scaled").scaled_m_bf16(2, x.view(np.uint16), out=np.empty(3, np.uint16))
    assert np.array_equal(got.view(ml_dtypes.bfloat16).astype(F), [0, 2, 4])


def test_names_that_python_or_the_module_has_for_itself():
    x = ramp(3)
    assert np.array_equal(module("names").names(x, x, x), 3 * x)
    assert "quotient_2" in module("names").__all__


def test_numbers_of_every_kind():
    x, call = ramp(2, dtype=np.int32), module("numbers").numbers
    for three in (3, np.uint8(3), np.int64(3), np.array(3)):
        assert np.array_equal(call(three, True, x), x + 3)
    assert np.array_equal(call(3, np.bool_(False), x), x)


def test_read_only_and_subclassed_inputs_are_fine(tmp_path):
    x = ramp(4)
    x.flags.writeable = False
    mapped = np.memmap(tmp_path / "x", F, "w+", shape=4)
    mapped[:] = x
    assert np.array_equal(module("saxpy").saxpy(1.0, x, mapped), 2 * x)


@pytest.mark.parametrize(
    ("H", "K", "P", "S", "D"), [(10, 3, 0, 1, 1), (1, 3, 1, 1, 1), (100, 5, 7, 3, 2), (33, 4, 100, 5, 0), (9, 1, 0, 7, 9)]
)
def test_sizes_that_no_input_tells_are_given_by_name(H, K, P, S, D):
    x, w = ramp(H), ramp(K) + 1
    padded = np.pad(x, P)
    want = [sum(padded[p + r * D] * w[r] for r in range(K)) for p in range(0, len(padded) - D * (K - 1), S)]
    assert np.array_equal(module("strided").strided(x, w, P=P, S=S, D=D), want)


X, M = ramp(6), np.ma.array(ramp(6), mask=[0, 1, 0, 0, 0, 0])
ODD = np.frombuffer(bytes(4 * 6 + 1), np.uint8)[1:].view(F)
READ_ONLY = ramp(6)
READ_ONLY.flags.writeable = False
BIG = np.empty(12, F)


class Far(float):
    """A finite number that f64 has not, as one of 80 bits may be."""

    def __float__(self) -> float:
        return math.inf

    def __repr__(self) -> str:
        return "far"


WRONG = [  # spec, how it is called, error, message
    ("saxpy", lambda f: f(1.0, [1.0], X), TypeError, "TG801 saxpy_v4: x must be a float32 array of shape [n], of numpy or on a GPU; it is a list"),
    ("saxpy", lambda f: f(1.0, None, X), TypeError, "TG801 saxpy_v4: x must be a float32 array of shape [n], of numpy or on a GPU; it is a NoneType"),
    ("saxpy", lambda f: f(1.0, M, X), TypeError, "TG801 saxpy_v4: x must be a float32 array of shape [n]; it is a masked array, whose mask would be lost. Pass x.filled(…)"),
    ("saxpy", lambda f: f(1.0, X, X.astype("f8")), TypeError, "TG802 saxpy_v4: y must be a float32 array of shape [n]; its dtype is float64. Convert it, for example with y.astype('float32')"),
    ("saxpy", lambda f: f(1.0, X.astype(">f4"), X), TypeError, "TG802 saxpy_v4: x must be a float32 array of shape [n]; its dtype is >f4. Convert it, for example with x.astype('float32')"),
    ("saxpy", lambda f: f(1.0, X.reshape(2, 3), X), ValueError, "TG803 saxpy_v4: x must be a float32 array of shape [n]; its shape is (2, 3), of rank 2 instead of 1"),
    ("saxpy", lambda f: f(1.0, X, X[:5]), ValueError, "TG804 saxpy_v4: y has shape (5,); [n] has to be (6,), with n = 6"),
    ("odd", lambda f: f(X), ValueError, "TG804 odd_m: x has shape (6,); [2*n + 1] has to be (5,), with n = 2"),
    ("odd", lambda f: f(X[:0]), ValueError, "TG804 odd_m: x has shape (0,), which is too small for [2*n + 1]: no size fits it"),
    ("shorter", lambda f: f(X[:1]), ValueError, "TG808 shorter_m: proved only where n - 2 >= 0; here n = 1"),
    ("spread", lambda f: f(X, n=-1), ValueError, "TG804 spread_m: n is -1; a size is at least 0"),
    ("spread", lambda f: f(X, n=2.0), TypeError, "TG804 spread_m: no input's shape tells n: give it as n=…, a whole number"),
    ("spread", lambda f: f(X, n=np.array([2])), TypeError, "TG804 spread_m: no input's shape tells n: give it as n=…, a whole number"),
    ("spread", lambda f: f(X, n=True), TypeError, "TG804 spread_m: no input's shape tells n: give it as n=…, a whole number"),
    ("spread", lambda f: f(X, n=10**30), ValueError, f"TG810 spread_m: too large: y would be an array of shape ({10**30}, 6)"),
    ("spread", lambda f: f(X, n=10**18), ValueError, f"TG810 spread_m: too large: y would be an array of shape ({10**18}, 6)"),
    ("strided", lambda f: f(X, X, P=1, S=0, D=1), ValueError, "TG808 strided_m: proved only where S >= 1; here H = 6, K = 6, P = 1, D = 1, S = 0"),
    ("strided", lambda f: f(X, X, P=1, S=1, D=2), ValueError, "TG808 strided_m: proved only where H + 2*P >= D*(K - 1) + 1; here H = 6, K = 6, P = 1, D = 2, S = 1"),
    ("saxpy", lambda f: f(1.0, X, X, out=X.astype("f8")), TypeError, "TG802 saxpy_v4: out must be a float32 array of shape [n]; its dtype is float64. Make it with dtype='float32'"),
    ("saxpy", lambda f: f(1.0, X, X, out=ramp(12)[::2]), ValueError, "TG805 saxpy_v4: out must be a float32 array of shape [n], C-contiguous; its strides are not. Pass a contiguous array, and copy from it, or say f32[n] strided in the op"),
    ("saxpy", lambda f: f(1.0, X, ramp(12)[::2]), ValueError, "TG805 saxpy_v4: y must be a float32 array of shape [n], C-contiguous; its strides are not. Pass ascontiguousarray(y), or say f32[n] strided in the op"),
    ("total", lambda f: f(ramp(3, 2).T), ValueError, "TG805 total_m: x must be a float32 array of shape [R, K], C-contiguous; its strides are not. Pass ascontiguousarray(x), or say f32[R, K] strided in the op"),
    ("saxpy", lambda f: f(1.0, X, X, out=READ_ONLY), ValueError, "TG806 saxpy_v4: out is read-only, and the kernel writes it"),
    ("saxpy", lambda f: f(1.0, BIG[:6], X, out=BIG[5:11]), ValueError, "TG807 saxpy_v4: out shares memory with x; outputs need memory of their own"),
    ("both", lambda f: f(X, out=(BIG[:6], BIG.view(np.uint8)[:6])), ValueError, "TG807 both_m: out[1] shares memory with out[0]; outputs need memory of their own"),
    ("fours", lambda f: f(X), ValueError, "TG808 fours_m: proved only where n % 4 == 0; here n = 6"),
    ("both", lambda f: f(X, out=X), TypeError, "TG811 both_m: out must be a tuple of 2 arrays, not one"),
    ("saxpy", lambda f: f(1.0, X, X, out=(X, X)), TypeError, "TG811 saxpy_v4: out must be an array, not a tuple of 2"),
    ("saxpy", lambda f: f(1.0, X, X, out=np.empty(7, F)), ValueError, "TG804 saxpy_v4: out has shape (7,); [n] has to be (6,), with n = 6"),
    ("saxpy", lambda f: f(X, X, X), TypeError, "TG812 saxpy_v4: a must be one number (f32), not an ndarray"),
    ("saxpy", lambda f: f("1", X, X), TypeError, "TG812 saxpy_v4: a must be one number (f32), not a str"),
    ("saxpy", lambda f: f(1j, X, X), TypeError, "TG812 saxpy_v4: a must be one number (f32), not a complex"),
    ("saxpy", lambda f: f(True, X, X), TypeError, "TG812 saxpy_v4: a must be a real number (f32), not True"),
    ("saxpy", lambda f: f(1e39, X, X), ValueError, "TG812 saxpy_v4: a must be within the range of f32; it is 1e+39"),
    ("saxpy", lambda f: f(10**400, X, X), ValueError, "TG812 saxpy_v4: a must be within the range of f32; it is beyond 2**1328"),
    ("saxpy", lambda f: f(Far(), X, X), ValueError, "TG812 saxpy_v4: a must be within the range of f32; it is far"),
    ("scaled", lambda f: f(65520, X.astype("f2")), ValueError, "TG812 scaled_m_f16: a must be within the range of f16; it is 65520"),
    ("numbers", lambda f: f(256, True, X.astype("i4")), ValueError, "TG812 numbers_m: k must be within 0 to 255 (u8); it is 256"),
    ("numbers", lambda f: f(1.0, True, X.astype("i4")), TypeError, "TG812 numbers_m: k must be an integer (u8), not 1.0"),
    ("numbers", lambda f: f(1, 1, X.astype("i4")), TypeError, "TG812 numbers_m: b must be True or False, not 1"),
    ("saxpy", lambda f: f(1.0, ODD, X), ValueError, "TG813 saxpy_v4: x must be a float32 array of shape [n]; its memory is not aligned to the 4 bytes of an element"),
    ("saxpy", lambda f: f(1.0, X, X, stream=1), TypeError, "TG816 saxpy_v4: stream is for arrays on a GPU; these are on the CPU, where a call returns when it is done"),
    ("scaled", lambda f: f(1.0, X.astype("f8")), TypeError, "TG802 scaled_m: x has dtype float64; there are kernels for float32, float16, bfloat16"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "call", "error", "message"), WRONG, ids=lambda v: v[:40] if isinstance(v, str) else None)
def test_wrong_arguments(name, call, error, message):
    with pytest.raises(error) as caught:
        call(getattr(module(name), name))
    assert str(caught.value) == message and type(caught.value) is error


def test_scalars_near_the_edge_of_their_range():
    call, x = module("saxpy").saxpy, np.ones(1, F)
    assert call(3.4028235e38, x, 0 * x)[0] == np.finfo(F).max
    assert call(float("inf"), x, x)[0] == np.inf and np.isnan(call(float("nan"), x, x)[0])


def test_nothing_is_written_when_something_is_wrong():
    z = np.full(6, 7, F)
    with pytest.raises(ValueError, match="TG804"):
        module("saxpy").saxpy(1.0, X, X[:5], out=z)
    assert (z == 7).all()


SPACES = [
    (lambda f, x, w: f(x, w, workspace=np.empty(2, F)), "TG811 halves_m: workspace must be a tuple of 2 arrays, not one"),
    (lambda f, x, w: f(x, w, workspace=(np.empty(3, F), np.empty((4, 4), F))), "TG804 halves_m: workspace[0] has shape (3,); [n // 4] has to be (2,), with n = 8, m = 3"),
    (lambda f, x, w: f(x, w, workspace=(np.empty(2, F), np.empty((4, 4)))), "TG802 halves_m: workspace[1] must be a float32 array of shape [m + 1, 4]; its dtype is float64. Make it with dtype='float32'"),
    (lambda f, x, w: f(x, w, workspace=(x[:2], np.empty((4, 4), F))), "TG807 halves_m: workspace[0] shares memory with x; outputs need memory of their own"),
]  # fmt: skip


def test_a_workspace_is_made_or_given():
    """Three launches, two arrays between them; those given are used, and hold what the launches left."""
    call, x, w = module("halves").halves, ramp(8), ramp(3, 4) + 1
    assert call(x, w) == 28 and call(np.empty(0, F), w) == 0
    part, whole = np.empty(2, F), np.empty((4, 4), F)
    assert call(x, w, workspace=(part, whole)) == 28
    assert np.array_equal(part, [6, 22]) and np.array_equal(whole[3], [1, 2, 3, 4])


@pytest.mark.parametrize(("call", "message"), SPACES)
def test_wrong_workspaces(call, message):
    with pytest.raises((TypeError, ValueError)) as caught:
        call(module("halves").halves, ramp(8), ramp(3, 4))
    assert str(caught.value) == message
