"""Exact numbers: what a value of the language is, and what its operations give. Nothing of the prover is used.

    float   a rational, a real of 400 bits (what exp, log and their like give), −∞, +∞, or undefined
    integer of a machine: an integer that wraps at its width;  index: an integer;  bool: true, false, or undefined

Comes in: numbers. Goes out: numbers. The one idea: an operation is a partial function, and `UNDEFINED` is what it gives outside its domain.
Two reals of 400 bits that agree in 200 are equal: terms of the size that is judged do not come so close by chance.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, TypeAlias

import mpmath
import numpy as np

Number: TypeAlias = Any  # Fraction | mpf | ±inf | int | bool | UNDEFINED
INF = math.inf
WIDTH = {"i8": (8, True), "u8": (8, False), "i32": (32, True), "u32": (32, False), "i64": (64, True)}
REAL = mpmath.MPContext()
REAL.prec = 400
CLOSE = 200  # bits
HUGE = 1 << 16  # an exponent beyond this is not followed


class Undefined:
    """The one value outside of every domain."""

    def __repr__(self) -> str:
        return "undefined"


UNDEFINED = Undefined()


class CannotJudge(Exception):
    """What is asked is outside of what is decided here."""


class TooLarge(CannotJudge):
    """More than is followed: nothing is said of this sample."""


def infinite(a: Number) -> bool:
    """Whether a float is one of the two infinities: the only Python floats there are."""
    return type(a) is float


def real(a: Number) -> Any:
    """A finite number as a real of 400 bits."""
    return REAL.mpf(a.numerator) / a.denominator if isinstance(a, Fraction) else a


def near(a: Number, b: Number) -> bool:
    """Whether two finite numbers are one."""
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return a == b
    a, b = real(a), real(b)
    return bool(abs(a - b) <= REAL.ldexp(max(abs(a), abs(b)), -CLOSE))


def same(a: Number, b: Number) -> bool:
    """Whether two defined values are one value.

    >>> same(Fraction(2), exp(log(Fraction(2)))), same(INF, Fraction(1)), same(3, 3)
    (True, False, True)
    """
    if isinstance(a, tuple):
        return all(map(same, a, b))
    if infinite(a) or infinite(b) or isinstance(a, int):
        return bool(a == b)
    return near(a, b)


def less(a: Number, b: Number) -> bool:
    """`a < b` of defined values."""
    if infinite(a) or infinite(b) or isinstance(a, int):
        return bool(a < b)
    return not near(a, b) and bool(real(a) < real(b)) if not _rational(a, b) else a < b


def _rational(a: Number, b: Number) -> bool:
    return isinstance(a, Fraction) and isinstance(b, Fraction)


def sign(a: Number) -> int:
    """-1, 0 or 1."""
    return 0 if a == 0 else 1 if a > 0 else -1


def add(a: Number, b: Number) -> Number:
    """The sum; of the two infinities there is none.

    >>> add(INF, -INF), add(-INF, Fraction(1)), add(Fraction(1, 2), Fraction(1, 2))
    (undefined, -inf, Fraction(1, 1))
    """
    if a is UNDEFINED or b is UNDEFINED:
        return UNDEFINED
    if infinite(a) or infinite(b):
        return UNDEFINED if infinite(a) and infinite(b) and a != b else a if infinite(a) else b
    if _rational(a, b):
        return a + b
    return Fraction(0) if near(a, -b) else real(a) + real(b)


def multiply(a: Number, b: Number) -> Number:
    """The product; of 0 and an infinity there is none."""
    if a is UNDEFINED or b is UNDEFINED:
        return UNDEFINED
    if infinite(a) or infinite(b):
        return UNDEFINED if a == 0 or b == 0 else INF * sign(a) * sign(b)
    return a * b if _rational(a, b) else real(a) * real(b) if a != 0 and b != 0 else Fraction(0)


def divide(a: Number, b: Number) -> Number:
    """The quotient; by 0, and of two infinities, there is none."""
    if a is UNDEFINED or b is UNDEFINED or (infinite(a) and infinite(b)) or b == 0:
        return UNDEFINED
    if infinite(b) or a == 0:
        return Fraction(0)
    if infinite(a):
        return a * sign(b)
    return a / b if _rational(a, b) else real(a) / real(b)


def exp(a: Number) -> Number:
    """`exp(-inf) = 0`, `exp(0) = 1`."""
    if a is UNDEFINED or infinite(a):
        return UNDEFINED if a is UNDEFINED else INF if a > 0 else Fraction(0)
    if abs(a) > HUGE:
        raise CannotJudge("an exponential is too large")
    return Fraction(1) if a == 0 else REAL.exp(real(a))


def exp2(a: Number) -> Number:
    """`2^a`, exact at integers."""
    if isinstance(a, Fraction) and a.denominator == 1 and abs(a) <= HUGE:
        return Fraction(2) ** a.numerator
    return a if a is UNDEFINED else exp(a if infinite(a) else real(a) * REAL.log(2))


def log(a: Number) -> Number:
    """Of positive numbers only."""
    if a is UNDEFINED or a <= 0:
        return UNDEFINED
    return INF if infinite(a) else Fraction(0) if near(a, Fraction(1)) else REAL.log(real(a))


def sqrt(a: Number) -> Number:
    """Of what is not negative; exact at squares.

    >>> sqrt(Fraction(9, 4)), sqrt(Fraction(-1))
    (Fraction(3, 2), undefined)
    """
    if a is UNDEFINED or a < 0:
        return UNDEFINED
    if infinite(a):
        return INF
    if isinstance(a, Fraction):
        root = Fraction(math.isqrt(a.numerator), math.isqrt(a.denominator))
        if root * root == a:
            return root
    return REAL.sqrt(real(a))


def rsqrt(a: Number) -> Number:
    """`1 / sqrt(a)`, of positive numbers only."""
    return divide(Fraction(1), sqrt(a))


def sigmoid(a: Number) -> Number:
    """`1 / (1 + exp(-a))`."""
    return a if a is UNDEFINED else divide(Fraction(1), add(Fraction(1), exp(-a)))


def tanh(a: Number) -> Number:
    """`2·sigmoid(2a) − 1`."""
    return add(multiply(Fraction(2), sigmoid(multiply(Fraction(2), a))), Fraction(-1))


def floor(a: Number) -> Number:
    """The largest integer that is not above."""
    if a is UNDEFINED or infinite(a):
        return a
    return Fraction(math.floor(whole(a)))


def whole(a: Number) -> Number:
    """A finite number; the integer that it is, if it is one."""
    if isinstance(a, Fraction):
        return a
    nearest = Fraction(int(REAL.nint(a)))
    return nearest if near(a, nearest) else a


def absolute(a: Number) -> Number:
    """`|a|`."""
    return a if a is UNDEFINED else abs(a)


def analytic(name: str, limits: tuple[Number, Number]) -> Any:
    """A function of the reals that is 0, or 1 for a cosine, at 0, with its limits at −∞ and +∞."""

    def at(a: Number) -> Number:
        if a is UNDEFINED:
            return a
        if infinite(a):
            return limits[a > 0]
        return Fraction(name == "cos") if a == 0 else getattr(REAL, name)(real(a))

    return at


FUNCTION = {
    "exp": exp, "exp2": exp2, "log": log, "sqrt": sqrt, "rsqrt": rsqrt, "tanh": tanh, "sigmoid": sigmoid, "abs": absolute,
    "floor": floor, "erf": analytic("erf", (Fraction(-1), Fraction(1))), "sin": analytic("sin", (UNDEFINED, UNDEFINED)),
    "cos": analytic("cos", (UNDEFINED, UNDEFINED)),
}  # fmt: skip


def literal(value: float, dtype: str) -> Number:
    """A number that is written, as its dtype has it.

    >>> [str(literal(257.0, dtype)) for dtype in ("f32", "bf16")]
    ['257', '256']
    """
    if dtype == "bf16":  # to f32 and to its upper half, ties to even
        bits = int(np.float32(value).view(np.uint32))
        return Fraction(float(np.uint32((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).view(np.float32)))
    return Fraction(float({"f16": np.float16, "f32": np.float32, "f64": np.float64}[dtype](value)))


def wrap(a: int, dtype: str) -> int:
    """An integer at its width.

    >>> wrap(200, "i8"), wrap(-1, "u8"), wrap(2**31, "i32")
    (-56, 255, -2147483648)
    """
    bits, signed = WIDTH[dtype]
    a &= (1 << bits) - 1
    return a - (1 << bits) if signed and a >> (bits - 1) else a


def ends(dtype: str) -> tuple[int, int]:
    """The least and the greatest integer of a dtype."""
    bits, signed = WIDTH[dtype]
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)


def to_integer(a: Number, dtype: str) -> Number:
    """A float as an integer: towards 0, and no further than the ends of the dtype.

    >>> to_integer(Fraction(-5, 2), "i32"), to_integer(Fraction(300), "u8"), to_integer(-INF, "i8")
    (-2, 255, -128)
    """
    if a is UNDEFINED:
        return a
    low, high = ends(dtype)
    return (low if a < 0 else high) if infinite(a) else min(high, max(low, int(whole(a))))
