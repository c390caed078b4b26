"""Functions of values for kernels: conversions of 16-bit floats and to integers, what counts bits, sine and cosine.

Comes in: a name, `bf16_bits`, `trunc_i32`, `sinf`. Goes out: a numba intrinsic of one argument.
The one idea: a conversion rounds once, to nearest even, from whatever it is given: where PTX has no instruction it first rounds to odd, which a later
rounding cannot tell from the exact value. An angle loses the nearest multiple of π/2 in f64, and its series are summed on [−π/4, π/4]; libdevice's
functions need local memory for huge arguments, which these refuse.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types

from tinygpu.runtime.kernel import _intrinsic


@_intrinsic
def conversion(name: str) -> Any:
    """The intrinsic of that name: `f16_bits bf16_bits` (a number to bits), `f16_value bf16_value` (bits to f32), `round_f16 round_bf16`
    (a number to the f32 nearest to it that has 16 bits), `trunc_i32 trunc_u32 trunc_i64 trunc_u64` (towards zero, saturating, NaN to 0)."""
    from numba.cuda.core.targetconfig import ConfigStack

    letters = {"float32": "f", "float64": "d", "uint16": "h", "int32": "r", "uint32": "r", "int64": "l", "uint64": "l"}
    result, texts = conversion_text(name)
    kind = getattr(types, result)

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        shape = ir.FunctionType(context.get_data_type(kind), [arguments[0].type])
        capability = getattr(ConfigStack.top_or_none(), "compute_capability", None) or (8, 0)
        given = str(signature.args[0])
        text = conversion_text(name, bool(capability < (8, 0)))[1][given]
        asm = ir.InlineAsm(shape, text, f"={letters[result]},{letters[given]}", False)
        return builder.call(asm, arguments)

    return lambda context, x: (kind(x), build) if str(x) in texts else None


def conversion_text(name: str, old: bool = False) -> tuple[str, dict[str, str]]:
    """The result's type and, for each argument's type, the PTX; `old` architectures, before sm_80, round to bf16 by integers.

    `odd` sets the last bit of an inexact value: rounding to odd.
    """
    odd_f64 = (
        "{ .reg .f32 t; .reg .b32 u, v; .reg .f64 d; .reg .pred p; cvt.rz.f32.f64 t, $1; cvt.f64.f32 d, t;"
        " setp.neu.f64 p, d, $1; mov.b32 u, t; or.b32 v, u, 1; selp.b32 u, v, u, p; mov.b32 t, u; "
    )
    odd_i64 = (
        "{ .reg .f32 t; .reg .b32 u, v; .reg .s64 d; .reg .pred p; cvt.rz.f32.s64 t, $1; cvt.rzi.s64.f32 d, t;"
        " setp.ne.s64 p, d, $1; mov.b32 u, t; or.b32 v, u, 1; selp.b32 u, v, u, p; mov.b32 t, u; "
    )
    odd_u64 = odd_i64.replace("s64", "u64")
    integers = (
        "{{ .reg .b32 w, l; .reg .pred q; mov.b32 w, {0}; shr.u32 l, w, 16; and.b32 l, l, 1; add.u32 w, w, l; add.u32 w, w, 0x7fff;"
        " shr.u32 w, w, 16; setp.nan.f32 q, {0}, {0}; selp.b32 w, 0x7fff, w, q; cvt.u16.u32 $0, w; }}"
    )
    widen = "{ .reg .b16 z; mov.b16 z, 0; mov.b32 $0, {z, $1}; }"
    back = {"f16": "cvt.f32.f16 $0, h; }", "bf16": "mov.b16 z, 0; mov.b32 $0, {z, h}; }"}
    match name:
        case "f16_value":
            return "float32", {"uint16": "cvt.f32.f16 $0, $1;"}
        case "bf16_value":
            return "float32", {"uint16": widen}
        case "f16_bits":
            return "uint16", {
                t: f"cvt.rn.f16.{p} $0, $1;"
                for t, p in (("float32", "f32"), ("float64", "f64"), ("int64", "s64"), ("uint64", "u64"))
            }
        case "bf16_bits":
            once = integers if old else "cvt.rn.bf16.f32 $0, {0};"
            given, odd = once.format("$1"), once.format("t") + " }"
            return "uint16", {"float32": given, "float64": odd_f64 + odd, "int64": odd_i64 + odd, "uint64": odd_u64 + odd}
        case "round_f16" | "round_bf16":
            half = name.removeprefix("round_")
            bits = conversion_text(f"{half}_bits", old)[1]
            return "float32", {t: "{ .reg .b16 h, z; " + text.replace("$0", "h") + " " + back[half] for t, text in bits.items()}
    target = name.removeprefix("trunc_")
    ptx, numba = target.replace("i", "s"), target.replace("i", "int").replace("u", "uint")
    clean = "{{ .reg .pred p; .reg .b{0} t; setp.nan.{1} p, $1, $1; cvt.rzi.{2}.{1} t, $1; selp.b{0} $0, 0, t, p; }}"
    return numba, {t: clean.format(ptx[1:], p, ptx) for t, p in (("float32", "f32"), ("float64", "f64"))}


@_intrinsic
def count(name: str) -> Any:
    """The intrinsic of that name, of an unsigned integer: `popcount`, how many of its bits are 1."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return {"popcount": builder.ctpop}[name](arguments[0])

    return lambda context, x: (x(x), build) if x in types.unsigned_domain else None


@_intrinsic
def angle_function(name: str) -> Any:
    """The intrinsic of that name, for f32 (`sinf cosf`) or f64 (`sin cos`).

    For |x| ≤ 2³⁰: f32 to 1.5 units in the last place, f64 to 2⁻⁵² of 1. Beyond that the result is NaN, so it is never silently wrong.
    """
    kind = types.float32 if name.endswith("f") else types.float64

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return angle_value(builder, arguments[0], 1 if name.startswith("cos") else 0)

    return lambda context, x: (kind(x), build) if x == kind else None


def angle_value(builder: Any, value: Any, turn: int) -> Any:
    """The sine of `value + turn·π/2`."""
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
