"""Floats that are rounded to fewer digits, and as their bits: of all dtypes that numpy does not compute with.

Comes in: numbers, or bits. Goes out: the nearest numbers of a dtype, or bits. The one idea: a number is a whole number of units in its last place,
and both follow from the dtype's row; the bits of a magnitude count all numbers below it.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from tinygpu.category.dtype import DTYPE

Array: TypeAlias = np.ndarray[Any, Any]


def nearest_of(values: Any, dtype: str) -> Any:
    """The nearest numbers of the dtype, ties to even, as float32; too large ones are infinite, or the largest where the dtype saturates.

    >>> nearest_of([1.005859375, 1.00390625, np.nan], "bf16").tolist(), nearest_of([0.3, -1e9, 2.0**-10, np.inf], "e4m3").tolist()
    ([1.0078125, 1.0, nan], [0.3125, -448.0, 0.0, 448.0])
    """
    row, wide = DTYPE[dtype], np.asarray(values, np.float64)
    units, place = _units(wide, dtype)
    near = np.where(np.isfinite(wide), np.ldexp(np.rint(units), place), wide)
    if row.saturates:
        near = np.clip(near, -row.largest, row.largest)
    with np.errstate(over="ignore"):
        return near.astype(np.float32)[()]


def _units(wide: Array, dtype: str) -> tuple[Array, Array]:
    """Numbers in units of their last place in the dtype, and the exponents of these."""
    row = DTYPE[dtype]
    exponent = np.where(wide == 0, row.normal, np.frexp(wide)[1] - 1)
    place = np.maximum(exponent, row.normal) - (row.digits - 1)
    return np.ldexp(wide, -place), place


def bits_of(values: Any, dtype: str) -> Array:
    """The bits of numbers that are rounded to the dtype first, as unsigned integers of its width.

    >>> [f"{b:x}" for b in bits_of([1.0, -0.0, 448.0, 2.0**-9, np.nan], "e4m3")], [f"{b:x}" for b in bits_of([1.5, -np.inf], "bf16")]
    (['38', '80', '7e', '1', '7f'], ['3fc0', 'ff80'])
    """
    row, kind = DTYPE[dtype], np.dtype(f"uint{DTYPE[dtype].bits}")
    near = np.asarray(nearest_of(values, dtype), np.float64)
    fraction = 1 << (row.digits - 1)
    units, place = _units(np.where(np.isfinite(near), np.abs(near), 0.0), dtype)
    magnitude = units.astype(np.int64) + (place + (row.digits - 1) - row.normal) * fraction
    top = (1 << (row.bits - 1)) - fraction  # all of the exponent's bits
    magnitude = np.where(
        np.isinf(near), top, np.where(np.isnan(near), top + (fraction >> 1 if row.infinite else fraction - 1), magnitude)
    )
    return (magnitude + np.where(np.signbit(near), 1 << (row.bits - 1), 0)).astype(kind)


def of_bits(bits: Any, dtype: str) -> Array:
    """The numbers that bits hold, as float32.

    >>> of_bits(np.array([0x38, 0xFE, 0x01, 0x7F], np.uint8), "e4m3").tolist(), of_bits(np.array([0x7B, 0xFC], np.uint8), "e5m2").tolist()
    ([1.0, -448.0, 0.001953125, nan], [57344.0, -inf])
    """
    row, given = DTYPE[dtype], np.asarray(bits).astype(np.int64)
    fraction = 1 << (row.digits - 1)
    sign, magnitude = given >> (row.bits - 1), given & ((1 << (row.bits - 1)) - 1)
    exponent = magnitude // fraction
    units = magnitude % fraction + np.where(exponent > 0, fraction, 0)
    number = np.ldexp(units.astype(np.float64), np.maximum(exponent, 1) - 1 + row.normal - (row.digits - 1))
    top = (1 << (row.bits - 1)) - fraction
    special = np.where(magnitude == top, np.inf, np.nan) if row.infinite else np.full(np.shape(given), np.nan)
    number = np.where(magnitude >= top if row.infinite else magnitude == top + fraction - 1, special, number)
    return np.asarray(np.where(sign > 0, -number, number), np.float32)
