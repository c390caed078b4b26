"""Sine and cosine for kernels, without the local memory that libdevice's need for huge arguments.

Comes in: a name, `sinf cosf sin cos`. Goes out: a numba intrinsic of one argument.
The one idea: take off the nearest multiple of π/2 in f64 with fused multiply-adds, then sum the series on [−π/4, π/4].
This file is pasted into emitted modules.
"""

from __future__ import annotations

import functools
from typing import Any


@functools.cache
def angle_function(name: str) -> Any:
    """The intrinsic of that name, for f32 (`sinf cosf`) or f64 (`sin cos`).

    For |x| ≤ 2³⁰: f32 to 2 units in the last place, f64 to 2⁻⁵² of 1. Beyond that the result is NaN, so it is never silently wrong.
    """
    from llvmlite import ir
    from numba import types
    from numba.cuda.extending import intrinsic

    single = name.endswith("f")
    kind = types.float32 if single else types.float64
    turn = ir.IntType(64)(1 if name.startswith("cos") else 0)

    @intrinsic
    def angle(typingctx: Any, x: Any) -> Any:
        if x != kind:
            return None

        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            value = arguments[0]
            rest, quarter = angle_reduced(builder, value)
            square = builder.fmul(rest, rest)
            sine = builder.fmul(rest, angle_series(builder, square, 1, 5 if single else 9))
            cosine = angle_series(builder, square, 0, 6 if single else 10)
            quarter = builder.add(quarter, turn)
            result = builder.select(builder.trunc(quarter, ir.IntType(1)), cosine, sine)
            minus = builder.trunc(builder.lshr(quarter, ir.IntType(64)(1)), ir.IntType(1))
            result = builder.select(minus, builder.fsub(value.type(-0.0), result), result)
            limit = value.type(2.0**30)
            above, below = builder.fcmp_ordered("<=", value, limit), builder.fcmp_ordered(">=", value, value.type(-(2.0**30)))
            return builder.select(builder.and_(above, below), result, value.type(float("nan")))

        return kind(x), build

    return angle


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
    """`Σ (−1)ᵏ sᵏ / (2k + first)!`: the cosine of √s for first 0, the sine over √s for first 1."""
    from math import factorial

    total = square.type(0.0)
    for k in reversed(range(terms)):
        total = builder.fma(total, square, square.type((-1.0) ** k / factorial(2 * k + first)))
    return total
