"""Functions of values for kernels: conversions of floats that are rounded, and to integers, what counts bits, sine and cosine.

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
    """The intrinsic of that name, for F of f16, bf16, e4m3, e5m2: `F_bits` (a number to bits), `F_value` (bits to f32), `round_F` and `round_tf32`
    (a number to the f32 nearest to it that F has), `trunc_i32 trunc_u32 trunc_i64 trunc_u64` (towards zero, saturating, NaN to 0)."""
    from numba.cuda.core.targetconfig import ConfigStack

    letters = {
        "float32": "f",
        "float64": "d",
        "uint16": "h",
        "int32": "r",
        "uint32": "r",
        "int64": "l",
        "uint64": "l",
        "uint8": "h",
    }
    result, texts = conversion_text(name)
    kind, half = getattr(types, result), ir.IntType(16)
    since = _SINCE.get(name.replace("round_", "").partition("_")[0], (0, 0))

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        (number,), made = arguments, context.get_data_type(kind)
        given, byte = str(signature.args[0]), ir.IntType(8)
        number = builder.zext(number, half) if number.type == byte else number  # PTX has no registers of 8 bits
        capability = getattr(ConfigStack.top_or_none(), "compute_capability", None) or (8, 0)
        text = conversion_text(name, bool(capability < since))[1][given]
        shape = ir.FunctionType(half if made == byte else made, [number.type])
        found = builder.call(ir.InlineAsm(shape, text, f"={letters[result]},{letters[given]}", False), [number])
        return builder.trunc(found, byte) if made == byte else found

    return lambda context, x: (kind(x), build) if str(x) in texts else None


_SINCE = {"bf16": (8, 0), "e4m3": (8, 9), "e5m2": (8, 9)}  # architectures that have the instruction
# f64 and 64-bit integers to f32, rounded to odd: towards zero, and the last bit is set of what is inexact
_ODD_F64 = (
    "{ .reg .f32 t; .reg .b32 u, v; .reg .f64 d; .reg .pred p; cvt.rz.f32.f64 t, $1; cvt.f64.f32 d, t;"
    " setp.neu.f64 p, d, $1; mov.b32 u, t; or.b32 v, u, 1; selp.b32 u, v, u, p; mov.b32 t, u; "
)
_ODD_I64 = (
    "{ .reg .f32 t; .reg .b32 u, v; .reg .s64 d; .reg .pred p; cvt.rz.f32.s64 t, $1; cvt.rzi.s64.f32 d, t;"
    " setp.ne.s64 p, d, $1; mov.b32 u, t; or.b32 v, u, 1; selp.b32 u, v, u, p; mov.b32 t, u; "
)
_ODD = {"float64": _ODD_F64, "int64": _ODD_I64, "uint64": _ODD_I64.replace("s64", "u64")}
# by integers: what is dropped is rounded to even, and what was no number is none
_BF16 = (
    "{{ .reg .b32 w, l; .reg .pred q; mov.b32 w, {0}; shr.u32 l, w, 16; and.b32 l, l, 1; add.u32 w, w, l; add.u32 w, w, 0x7fff;"
    " shr.u32 w, w, 16; setp.nan.f32 q, {0}, {0}; selp.b32 w, 0x7fff, w, q; cvt.u16.u32 $0, w; }}"
)
_TF32 = (
    "{{ .reg .b32 w, l; .reg .pred q; mov.b32 w, {0}; shr.u32 l, w, 13; and.b32 l, l, 1; add.u32 w, w, l; add.u32 w, w, 0xfff;"
    " and.b32 w, w, 0xffffe000; setp.nan.f32 q, {0}, {0}; selp.b32 w, 0x7fffffff, w, q; mov.b32 $0, w; }}"
)
# of the magnitude m: l what is usual, k what is below the numbers that have all their digits, where adding a power of two rounds
_TO_8_BITS = (
    "{{{{ .reg .b32 w, m, l, k; .reg .f32 f; .reg .pred q; mov.b32 w, {{0}}; and.b32 m, w, 0x7fffffff; shr.u32 l, m, {shift};"
    " and.b32 l, l, 1; add.u32 l, l, m; add.u32 l, l, {less}; shr.u32 l, l, {shift}; mov.b32 f, m; add.f32 f, f, {power};"
    " mov.b32 k, f; sub.u32 k, k, {bits}; setp.lt.u32 q, m, {least}; selp.b32 l, k, l, q; min.u32 l, l, {largest};"
    " setp.gt.u32 q, m, 0x7f800000; selp.b32 l, 0x7f, l, q; shr.u32 k, w, 24; and.b32 k, k, 0x80; or.b32 l, l, k; cvt.u16.u32 $0, l; }}}}"
)
_OF_8_BITS = (
    "{{ .reg .b32 w, m, l; .reg .f32 f; .reg .pred q; cvt.u32.u16 w, {{0}}; and.b32 m, w, 0x7f; shl.b32 l, m, {shift}; mov.b32 f, l;"
    " mul.f32 f, f, {scale}; mov.b32 l, f; or.b32 w, l, 0x7f800000; setp.ge.u32 q, m, {special}; selp.b32 l, w, l, q;"
    " cvt.u32.u16 w, {{0}}; and.b32 w, w, 0x80; shl.b32 w, w, 24; or.b32 l, l, w; mov.b32 $0, l; }}"
)
_8_BITS: dict[str, dict[str, str]] = {
    "e4m3": {
        "shift": "20", "less": "0xc407ffff", "power": "0f46800000", "bits": "0x46800000", "least": "0x3c800000", "largest": "0x7e",
        "scale": "0f7b800000", "special": "0x7f",
    },
    "e5m2": {
        "shift": "21", "less": "0xc80fffff", "power": "0f43000000", "bits": "0x43000000", "least": "0x38800000", "largest": "0x7b",
        "scale": "0f77800000", "special": "0x7c",
    },
}  # fmt: skip


def conversion_text(name: str, old: bool = False) -> tuple[str, dict[str, str]]:
    """The result's type and, for each argument's type, the PTX; `old` architectures, which have no instruction for it, round by integers."""
    if name.startswith("trunc_"):
        target = name.removeprefix("trunc_")
        ptx, numba = target.replace("i", "s"), target.replace("i", "int").replace("u", "uint")
        clean = "{{ .reg .pred p; .reg .b{0} t; setp.nan.{1} p, $1, $1; cvt.rzi.{2}.{1} t, $1; selp.b{0} $0, 0, t, p; }}"
        return numba, {t: clean.format(ptx[1:], p, ptx) for t, p in (("float32", "f32"), ("float64", "f64"))}
    if name == "f16_bits":
        given = {"float32": "f32", "float64": "f64", "int64": "s64", "uint64": "u64"}
        return "uint16", {t: f"cvt.rn.f16.{p} $0, $1;" for t, p in given.items()}
    if name.endswith("_value"):
        kind = name.removesuffix("_value")
        return "float32", {"uint8" if kind in _8_BITS else "uint16": _value(kind, old).format("$1")}
    if name.endswith("_bits") or name == "round_tf32":
        kind = name.removesuffix("_bits")
        once = _bits(kind, old)
        texts = {"float32": once.format("$1"), **{t: odd + once.format("t") + " }" for t, odd in _ODD.items()}}
        return "float32" if name == "round_tf32" else "uint8" if kind in _8_BITS else "uint16", texts
    kind = name.removeprefix("round_")
    back = _value(kind, old).format("h")
    bits = conversion_text(f"{kind}_bits", old)[1]
    return "float32", {t: "{ .reg .b16 h; " + text.replace("$0", "h") + " " + back + " }" for t, text in bits.items()}


def _value(kind: str, old: bool) -> str:
    """The PTX of bits to f32."""
    if kind in _8_BITS:
        two = "{{{{ .reg .b32 r; .reg .b16 a, b; cvt.rn.f16x2.{0}x2 r, {{0}}; mov.b32 {{{{a, b}}}}, r; cvt.f32.f16 $0, a; }}}}"
        return "{" + _OF_8_BITS.format(**_8_BITS[kind]) + "}" if old else two.format(kind)
    return "cvt.f32.f16 $0, {0};" if kind == "f16" else "{{ .reg .b16 z; mov.b16 z, 0; mov.b32 $0, {{z, {0}}}; }}"


def _bits(kind: str, old: bool) -> str:
    """The PTX of f32 to bits, or to the f32 that tf32 has."""
    if kind in _8_BITS:
        two = "{{{{ .reg .f32 z; mov.f32 z, 0f00000000; cvt.rn.satfinite.{0}x2.f32 $0, z, {{0}}; }}}}"
        return _TO_8_BITS.format(**_8_BITS[kind]) if old else two.format(kind)
    return _TF32 if kind == "round_tf32" else _BF16 if old else "cvt.rn.bf16.f32 $0, {0};"


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
