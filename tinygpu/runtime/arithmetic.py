"""What CPU kernels call to divide, to choose, to cut off and to count, and functions.

Comes in: numbers of numba. Goes out: numbers of numba, of a function within the error that is stated. The one idea: each is a few instructions without a
branch, which LLVM puts in where it is called and makes vectors of. A function of f32 reduces its argument exactly, evaluates a minimax polynomial (fitted by
us), and puts exponent and sign back by integers; one of f64 is libm's.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from numba import njit

at = np.uintp  # the number of an element: unsigned, so that numba makes no test for negative indices
inlined = njit(error_model="numpy", fastmath={"contract"}, forceinline=True)


@inlined
def quotient(a: Any, b: Any) -> Any:
    """a // b of natural numbers."""
    return np.int64(np.uint64(a) // np.uint64(b))


@inlined
def remainder(a: Any, b: Any) -> Any:
    """a % b of natural numbers."""
    return np.int64(np.uint64(a) % np.uint64(b))


@inlined
def smaller(a: Any, b: Any) -> Any:
    return a if a < b else b


@inlined
def larger(a: Any, b: Any) -> Any:
    return a if a > b else b


@inlined
def popcount(x: Any) -> Any:
    """How many bits of an unsigned number are 1: of pairs, of fours, of bytes, and their sum; LLVM has one instruction for this."""
    pairs = np.uint64(np.uint64(x) - np.uint64(np.uint64(np.uint64(x) >> np.uint64(1)) & np.uint64(0x5555555555555555)))
    fours = np.uint64(
        np.uint64(pairs & np.uint64(0x3333333333333333))
        + np.uint64(np.uint64(pairs >> np.uint64(2)) & np.uint64(0x3333333333333333))
    )
    bytes_ = np.uint64(np.uint64(fours + np.uint64(fours >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F))
    return np.uint64(np.uint64(bytes_ * np.uint64(0x0101010101010101)) >> np.uint64(56))


def _saturating(kind: Any) -> Any:
    """f64 to an integer: towards zero; the end of the range beyond it; NaN to 0."""
    low, high, nought = kind(np.iinfo(kind).min), kind(np.iinfo(kind).max), kind(0)
    below, above = float(int(low)) - 1.0, float(int(high) + 1)

    @inlined
    def to_integer(x: Any) -> Any:
        return kind(x) if x > below and x < above else (high if x > 0.0 else (low if x < 0.0 else nought))

    return to_integer


to_u8, to_u16, to_u32, to_u64 = map(_saturating, (np.uint8, np.uint16, np.uint32, np.uint64))
to_i8, to_i16, to_i32, to_i64 = map(_saturating, (np.int8, np.int16, np.int32, np.int64))


# ── functions ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _polynomial(*coefficients: float) -> Any:
    """A polynomial of f32 by Horner's rule, the highest power first, as one expression: nothing of it is left to be unrolled."""
    scope = {f"c{n}": np.float32(c) for n, c in enumerate(coefficients)}
    exec(f"def polynomial(x):\n    return {functools.reduce('({}) * x + {}'.format, scope)}", scope)
    return inlined(scope["polynomial"])


_sine = _polynomial(2.7180477e-06, -0.00019839304, 0.008333329, -0.16666667)
_cosine = _polynomial(2.4432413e-05, -0.0013887309, 0.041666646)
_exp = _polynomial(0.0013813142, 0.0083694188, 0.041668456, 0.16666515, 0.49999994)
_exp2 = _polynomial(0.00015352316, 0.001340017, 0.00961845, 0.055503294, 0.24022648, 0.6931472)
_log = _polynomial(0.0870036, -0.14267476, 0.14914787, -0.16577587, 0.19963062, -0.25001338, 0.3333391)
_tanh = _polynomial(-0.005704991, 0.02063909, -0.053739715, 0.13331442, -0.3333328)
_erf = _polynomial(8.185231e-05, -0.00080977444, 0.005196957, -0.026857708, 0.112836644, -0.37612632, 0.12837917)
_erf_far = _polynomial(1.0433115e-05, -0.0003148581, 0.003610342, -0.023694566, 0.10615905, 0.63519806, 1.1286371)


@inlined
def scale_f32(x: Any, n: Any) -> Any:
    """x * 2**n for -252 <= n <= 254, rounded once."""
    half = np.int32(n >> np.int32(1))
    first = np.int32(np.int32(half + np.int32(127)) << np.int32(23)).view(np.float32)
    second = np.int32(np.int32(np.int32(n - half) + np.int32(127)) << np.int32(23)).view(np.float32)
    return np.float32(np.float32(x * first) * second)


@inlined
def turned_f32(x: Any, quarter: Any) -> Any:
    """The sine of x + quarter*pi/2; NaN beyond 2**27. The argument is reduced in f64 by three parts of pi/2."""
    wide = np.float64(x)
    shifted = np.float64(wide * 0.6366197723675814 + 6755399441055744.0)
    n = shifted - 6755399441055744.0
    r = np.float32(((wide - n * 1.570796251296997) - n * 7.549789415861596e-08) - n * 5.390302858158119e-15)
    turn = np.int64(shifted.view(np.int64) + quarter)
    s = r * r
    sine = r * s * _sine(s) + r
    cosine = (_cosine(s) * s - np.float32(0.5)) * s + np.float32(1.0)
    y = cosine if np.int64(turn & 1) != 0 else sine
    y = -y if np.int64(turn & 2) != 0 else y
    return y if abs(x) <= np.float32(134217728.0) else np.float32(np.nan)


@inlined
def exp_f32(x: Any) -> Any:
    """e**x, error at most 1.5 ulp; 0 and infinity where f32 ends."""
    x = np.float32(89.0) if x > np.float32(89.0) else x
    x = np.float32(-104.0) if x < np.float32(-104.0) else x
    shifted = np.float32(x * np.float32(1.44269504) + np.float32(12582912.0))
    n = np.float32(shifted - np.float32(12582912.0))
    r = np.float32(np.float32(x - n * np.float32(0.693145752)) - n * np.float32(1.42860677e-06))
    return scale_f32(r * r * _exp(r) + r + np.float32(1.0), np.int32(shifted.view(np.int32) - np.int32(0x4B400000)))


@inlined
def exp2_f32(x: Any) -> Any:
    """2**x, error at most 1.5 ulp; 0 and infinity where f32 ends."""
    x = np.float32(129.0) if x > np.float32(129.0) else x
    x = np.float32(-150.0) if x < np.float32(-150.0) else x
    shifted = np.float32(x + np.float32(12582912.0))
    r = np.float32(x - np.float32(shifted - np.float32(12582912.0)))
    return scale_f32(_exp2(r) * r + np.float32(1.0), np.int32(shifted.view(np.int32) - np.int32(0x4B400000)))


@inlined
def log_f32(x: Any) -> Any:
    """The natural logarithm, error at most 1.5 ulp; -infinity at 0, NaN below."""
    tiny = x < np.float32(1.17549435e-38)
    scaled = np.float32(x * (np.float32(8388608.0) if tiny else np.float32(1.0)))
    bits = np.int32(scaled.view(np.int32) - np.int32(0x3F3504F3))
    n = np.float32(np.int32(bits >> np.int32(23))) - (np.float32(23.0) if tiny else np.float32(0.0))
    fraction = np.int32(np.int32(bits & np.int32(0x7FFFFF)) + np.int32(0x3F3504F3))
    f = np.float32(fraction.view(np.float32) - np.float32(1.0))
    tail = n * np.float32(1.42860677e-06) + (_log(f) * f - np.float32(0.5)) * (f * f)
    y = np.float32(n * np.float32(0.693145752) + (f + tail))
    y = x if x > np.float32(3.4028235e38) else y
    y = np.float32(-np.inf) if x == np.float32(0.0) else y
    return y if x >= np.float32(0.0) else np.float32(np.nan)


@inlined
def tanh_f32(x: Any) -> Any:
    """The hyperbolic tangent, error at most 2.0 ulp."""
    a = abs(x)
    s = x * x
    near = x * s * _tanh(s) + x
    far = np.float32(1.0) - np.float32(2.0) / (exp_f32(a + a) + np.float32(1.0))
    return near if a < np.float32(0.625) else (-far if x < np.float32(0.0) else far)


@inlined
def sigmoid_f32(x: Any) -> Any:
    """1 / (1 + e**-x), error at most 2.5 ulp."""
    e = exp_f32(-abs(x))
    return (e if x < np.float32(0.0) else np.float32(1.0)) / (np.float32(1.0) + e)


@inlined
def erf_f32(x: Any) -> Any:
    """The error function, error at most 1.5 ulp."""
    a = abs(x)
    s = x * x
    near = x * _erf(s) + x
    b = np.float32(4.0) if a > np.float32(4.0) else a
    far = np.float32(1.0) - exp_f32(-(b * _erf_far(b)))
    return near if a < np.float32(0.92) else (-far if x < np.float32(0.0) else far)


@inlined
def sin_f32(x: Any) -> Any:
    """The sine, error at most 1.75 ulp up to 2**27; NaN beyond."""
    return turned_f32(x, 0)


@inlined
def cos_f32(x: Any) -> Any:
    """The cosine, error at most 1.75 ulp up to 2**27; NaN beyond."""
    return turned_f32(x, 1)


@inlined
def rsqrt_f32(x: Any) -> Any:
    """1 / sqrt(x), error at most 1.5 ulp."""
    return np.float32(1.0) / np.sqrt(x)


def _libm(function: Any) -> Any:
    """A function of numpy, of f64."""

    @inlined
    def of_libm(x: Any) -> Any:
        return function(x)

    return of_libm


exp_f64, exp2_f64, log_f64, tanh_f64, sin_f64, cos_f64 = map(_libm, (np.exp, np.exp2, np.log, np.tanh, np.sin, np.cos))
erf_f64 = _libm(math.erf)


@inlined
def sigmoid_f64(x: Any) -> Any:
    """1 / (1 + e**-x)."""
    return 1.0 / (1.0 + np.exp(-x))


@inlined
def rsqrt_f64(x: Any) -> Any:
    """1 / sqrt(x)."""
    return 1.0 / np.sqrt(x)
