"""Conversions for CPU kernels, of floats that are their bits in memory and f32 in registers.

Comes in: bits, or numbers of numba. Goes out: the other, rounded once to nearest even, or rounded and still f32: `round_f16`, `round_bf16`. The one idea: the bits of a magnitude count the numbers below it,
so a rounding is an addition of integers; below the smallest number with all its digits, adding and taking away a power of two rounds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinygpu.runtime.arithmetic import inlined


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
def round_tf32(x: Any) -> Any:
    """The nearest f32 of which 10 bits of the fraction are left."""
    bits = np.float32(x).view(np.uint32)
    odd = np.uint32(np.uint32(bits >> np.uint32(13)) & np.uint32(1))
    usual = np.uint32(np.uint32(bits + odd + np.uint32(0xFFF)) & np.uint32(0xFFFFE000))
    nan = np.uint32(bits & np.uint32(0x7FFFFFFF)) > np.uint32(0x7F800000)
    return np.uint32(bits if nan else usual).view(np.float32)


@inlined
def narrow_to_odd(x: Any) -> Any:
    """f64 to f32, towards zero, the last bit set where something was lost: rounding this to 16 bits rounds x once."""
    near = np.float32(x)
    bits = near.view(np.uint32)
    beyond = np.uint32(1) if abs(np.float64(near)) > abs(x) else np.uint32(0)
    inexact = np.uint32(1) if np.float64(near) != x and x == x else np.uint32(0)
    return np.uint32(np.uint32(bits - beyond) | inexact).view(np.float32)


def _of_8_bits(digits: int, normal: int, largest: int, special: int) -> Any:
    """Bits to f32, f32 to bits, and f32 to the nearest such number: `digits` are those of a number of at least 2**normal; `largest` are the bits of the
    largest one, which what is larger becomes; from `special` on there are an infinity, where these are not all bits, and what is no number."""
    shift, below, scale = np.uint32(24 - digits), np.uint32(126 + normal), np.float32(2.0 ** (126 + normal))
    half, least = np.uint32((1 << (23 - digits)) - 1), np.uint32((127 + normal) << 23)
    least_f32 = np.float32(2.0 ** (normal - digits + 24))  # as f32 its last place is that of what is below 2**normal
    least_bits, top, none = least_f32.view(np.uint32), np.uint32(largest), np.uint32(special)

    @inlined
    def to_f32(bits: Any) -> Any:
        magnitude = np.uint32(np.uint32(bits) & np.uint32(0x7F))
        scaled = np.float32(np.uint32(magnitude << shift).view(np.float32) * scale)
        beyond = np.uint32(0x7F800000) if magnitude >= none else np.uint32(0)
        sign = np.uint32(np.uint32(np.uint32(bits) & np.uint32(0x80)) << np.uint32(24))
        return np.uint32(scaled.view(np.uint32) | beyond | sign).view(np.float32)

    @inlined
    def from_f32(x: Any) -> Any:
        bits = np.float32(x).view(np.uint32)
        magnitude = np.uint32(bits & np.uint32(0x7FFFFFFF))
        odd = np.uint32(np.uint32(magnitude >> shift) & np.uint32(1))
        usual = np.uint32(np.uint32(magnitude + odd + half - np.uint32(below << np.uint32(23))) >> shift)
        tiny = np.uint32(np.float32(magnitude.view(np.float32) + least_f32).view(np.uint32) - least_bits)
        rounded = tiny if magnitude < least else usual
        rounded = top if rounded > top else rounded
        rounded = np.uint32(0x7F) if magnitude > np.uint32(0x7F800000) else rounded
        return np.uint8(rounded | np.uint32(np.uint32(bits >> np.uint32(24)) & np.uint32(0x80)))

    @inlined
    def nearest(x: Any) -> Any:
        return to_f32(from_f32(x))

    return to_f32, from_f32, nearest


e4m3_to_f32, f32_to_e4m3, round_e4m3 = _of_8_bits(4, -6, 0x7E, 0x7F)
e5m2_to_f32, f32_to_e5m2, round_e5m2 = _of_8_bits(3, -14, 0x7B, 0x7C)
