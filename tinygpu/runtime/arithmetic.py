"""What CPU kernels call to divide, to choose, to convert and to count: 16-bit floats are their bits in memory and f32 in registers.

Comes in: numbers of numba. Goes out: numbers of numba. The one idea: each is a few instructions without a branch, which LLVM puts in where it is
called and makes vectors of.
"""

from __future__ import annotations

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
def f16_to_f32(bits: Any) -> Any:
    """The number that 16 bits hold (1 sign, 5 exponent, 10 fraction)."""
    magnitude = np.uint32(np.uint32(bits) & np.uint32(0x7FFF))
    shifted = np.uint32(magnitude << np.uint32(13))
    scaled = shifted.view(np.float32) * np.float32(2.0**112)
    special = np.uint32(0x7F800000) if magnitude >= np.uint32(0x7C00) else np.uint32(0)
    sign = np.uint32(np.uint32(np.uint32(bits) & np.uint32(0x8000)) << np.uint32(16))
    return np.uint32(np.float32(scaled).view(np.uint32) | special | sign).view(np.float32)


@inlined
def f32_to_f16(x: Any) -> Any:
    """The bits of the nearest f16, ties to even; beyond 65520 infinity."""
    bits = np.float32(x).view(np.uint32)
    magnitude = np.uint32(bits & np.uint32(0x7FFFFFFF))
    odd = np.uint32(np.uint32(magnitude >> np.uint32(13)) & np.uint32(1))
    usual = np.uint32(np.uint32(magnitude + odd + np.uint32(0xC8000FFF)) >> np.uint32(13))
    tiny = np.uint32(np.float32(magnitude.view(np.float32) + np.float32(0.5)).view(np.uint32) - np.uint32(0x3F000000))
    rounded = tiny if magnitude < np.uint32(0x38800000) else usual
    rounded = np.uint32(0x7C00) if magnitude >= np.uint32(0x47800000) else rounded
    rounded = np.uint32(0x7E00) if magnitude > np.uint32(0x7F800000) else rounded
    return np.uint16(rounded | np.uint32(np.uint32(bits >> np.uint32(16)) & np.uint32(0x8000)))


@inlined
def bf16_to_f32(bits: Any) -> Any:
    """The number that 16 bits hold (1 sign, 8 exponent, 7 fraction)."""
    return np.uint32(np.uint32(bits) << np.uint32(16)).view(np.float32)


@inlined
def f32_to_bf16(x: Any) -> Any:
    """The bits of the nearest bf16, ties to even."""
    bits = np.float32(x).view(np.uint32)
    odd = np.uint32(np.uint32(bits >> np.uint32(16)) & np.uint32(1))
    usual = np.uint32(np.uint32(bits + odd + np.uint32(0x7FFF)) >> np.uint32(16))
    nan = np.uint32(bits & np.uint32(0x7FFFFFFF)) > np.uint32(0x7F800000)
    return np.uint16(np.uint32(np.uint32(bits >> np.uint32(16)) | np.uint32(0x40)) if nan else usual)


@inlined
def round_f16(x: Any) -> Any:
    """The nearest f16, as f32."""
    return f16_to_f32(f32_to_f16(x))


@inlined
def round_bf16(x: Any) -> Any:
    """The nearest bf16, as f32."""
    return bf16_to_f32(f32_to_bf16(x))


@inlined
def narrow_to_odd(x: Any) -> Any:
    """f64 to f32, towards zero, the last bit set where something was lost: rounding this to 16 bits rounds x once."""
    near = np.float32(x)
    bits = near.view(np.uint32)
    beyond = np.uint32(1) if abs(np.float64(near)) > abs(x) else np.uint32(0)
    inexact = np.uint32(1) if np.float64(near) != x and x == x else np.uint32(0)
    return np.uint32(np.uint32(bits - beyond) | inexact).view(np.float32)


def _saturating(kind: Any) -> Any:
    """f64 to an integer: towards zero; the end of the range beyond it; NaN to 0."""
    low, high, nought = kind(np.iinfo(kind).min), kind(np.iinfo(kind).max), kind(0)
    below, above = float(int(low)) - 1.0, float(int(high) + 1)

    @inlined
    def to_integer(x: Any) -> Any:
        return kind(x) if x > below and x < above else (high if x > 0.0 else (low if x < 0.0 else nought))

    return to_integer


to_u8, to_i8, to_u32, to_i32, to_i64 = map(_saturating, (np.uint8, np.int8, np.uint32, np.int32, np.int64))
