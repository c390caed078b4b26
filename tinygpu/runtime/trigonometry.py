"""Sine and cosine for kernels, without the local memory that libdevice's need for huge arguments.

Comes in: a name, `sinf cosf sin cos`. Goes out: a numba intrinsic of one argument.
The one idea: take off the nearest multiple of π/2 in f64 with fused multiply-adds, then sum the series on [−π/4, π/4].
"""

from __future__ import annotations

import functools
from typing import Any


@functools.cache
def angle_function(name: str) -> Any:
    """The intrinsic of that name, for f32 (`sinf cosf`) or f64 (`sin cos`).

    For |x| ≤ 2³⁰: f32 to 1.5 units in the last place, f64 to 2⁻⁵² of 1. Beyond that the result is NaN, so it is never silently wrong.
    """
    from numba import types
    from numba.cuda.extending import intrinsic

    kind = types.float32 if name.endswith("f") else types.float64

    def angle(typingctx: Any, x: Any) -> Any:
        if x != kind:
            return None

        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return angle_value(builder, arguments[0], 1 if name.startswith("cos") else 0)

        return kind(x), build

    return intrinsic(angle)


def angle_value(builder: Any, value: Any, turn: int) -> Any:
    """The sine of `value + turn·π/2`."""
    from llvmlite import ir

    terms = 5 if value.type == ir.FloatType() else 9
    rest, quarter = angle_reduced(builder, value)
    square = builder.fmul(rest, rest)
    sine = builder.fma(builder.fmul(square, angle_series(builder, square, 1, terms)), rest, rest)
    cosine = builder.fma(square, angle_series(builder, square, 0, terms + 1), value.type(1.0))
    quarter = builder.add(quarter, ir.IntType(64)(turn))
    result = builder.select(builder.trunc(quarter, ir.IntType(1)), cosine, sine)
    minus = builder.trunc(builder.lshr(quarter, ir.IntType(64)(1)), ir.IntType(1))
    result = builder.select(minus, builder.fsub(value.type(-0.0), result), result)
    above = builder.fcmp_ordered("<=", value, value.type(2.0**30))
    below = builder.fcmp_ordered(">=", value, value.type(-(2.0**30)))
    return builder.select(builder.and_(above, below), result, value.type(float("nan")))


def angle_reduced(builder: Any, value: Any) -> Any:
    """`x − q·π/2` with |.| ≤ π/4, and q as 64 bits. Adding 1.5·2⁵² to a number rounds it, and leaves q in the last bits."""
    from llvmlite import ir

    f64 = ir.DoubleType()
    x = builder.fpext(value, f64) if value.type != f64 else value
    rounder = f64(1.5 * 2.0**52)
    shifted = builder.fma(x, f64(0.6366197723675814), rounder)
    whole = builder.fsub(shifted, rounder)
    minus = builder.fsub(f64(-0.0), whole)
    for part in (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33):  # π/2, and what each rounding lost
        x = builder.fma(minus, f64(part), x)
    rest = builder.fptrunc(x, value.type) if value.type != f64 else x
    return rest, builder.bitcast(shifted, ir.IntType(64))


def angle_series(builder: Any, square: Any, first: int, terms: int) -> Any:
    """`Σ (−1)ᵏ sᵏ⁻¹ / (2k + first)!` for k from 1: of the cosine of √s for first 0, of the sine over √s for first 1."""
    from math import factorial

    total = square.type(0.0)
    for k in reversed(range(1, terms)):
        total = builder.fma(total, square, square.type((-1.0) ** k / factorial(2 * k + first)))
    return total
