"""Exact numbers: what a value of the language is, and what its operations give. Nothing of the prover is used.

    float   a real of 400 bits, −∞, +∞, or undefined
    integer of a machine: an integer that wraps at its width;  index: an integer;  bool: true, false, or undefined

Comes in: numbers. Goes out: numbers. The one idea: an operation is a partial function, and `UNDEFINED` is what it gives outside its domain.
Two reals of 400 bits that agree in 200 are equal: terms of the size that is judged do not come so close by chance.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeAlias

import mpmath
import numpy as np

Number: TypeAlias = Any  # mpf | int | bool | UNDEFINED
INF = math.inf
WIDTH = {f"{letter}{bits}": (bits, letter == "i") for letter in "iu" for bits in (8, 16, 32, 64)}
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


def number(a: Any) -> Number:
    """An integer, a fraction or a float as a real."""
    return REAL.mpf(a) if isinstance(a, float) else REAL.mpf(a.numerator) / a.denominator


def infinite(a: Number) -> bool:
    """Whether a float is one of the two infinities."""
    return a is not UNDEFINED and bool(REAL.isinf(a))


def near(a: Number, b: Number) -> bool:
    """Whether two numbers are one: integers and reals of few bits if they are equal."""
    if isinstance(a, int) or isinstance(b, int) or max(a.bc, b.bc) < CLOSE or infinite(a) or infinite(b):
        return bool(a == b)
    return bool(abs(a - b) <= REAL.ldexp(max(abs(a), abs(b)), -CLOSE))


def same(a: Number, b: Number) -> bool:
    """Whether two defined values are one value.

    >>> two = number(2)
    >>> same(two, FUNCTION["exp"](FUNCTION["log"](two))), same(number(INF), two), same(3, 3)
    (True, False, True)
    """
    if isinstance(a, tuple):
        return all(map(same, a, b))
    return near(a, b)


def less(a: Number, b: Number) -> bool:
    """`a < b` of defined values."""
    return bool(a < b) and not near(a, b)


def partial(function: Callable[..., Any]) -> Callable[..., Number]:
    """A function of reals that is undefined where an operand is, and where there is no number."""

    @wraps(function)
    def at(*args: Number) -> Number:
        found = None if any(a is UNDEFINED for a in args) else function(*args)
        return UNDEFINED if found is None or REAL.isnan(found) else found

    return at


@partial
def add(a: Number, b: Number) -> Any:
    """The sum; of the two infinities there is none.

    >>> one, inf = number(1), number(INF)
    >>> add(inf, -inf), add(-inf, one) == -inf, add(one / 2, one / 2) == 1
    (undefined, True, True)
    """
    return number(0) if not infinite(a) and near(a, -b) else a + b


@partial
def multiply(a: Number, b: Number) -> Any:
    """The product; of 0 and an infinity there is none."""
    return a * b


@partial
def divide(a: Number, b: Number) -> Any:
    """The quotient; by 0, and of two infinities, there is none."""
    return None if b == 0 else a / b


def exponential(function: Callable[[Any], Any]) -> Callable[[Number], Any]:
    """Of numbers that are not too large."""

    def at(a: Number) -> Any:
        if abs(a) > HUGE and not infinite(a):
            raise CannotJudge("an exponential is too large")
        return function(a)

    return at


def whole(a: Number) -> Number:
    """A real; the integer that it is, if it is one."""
    nearest = REAL.nint(a)
    return nearest if near(a, nearest) else a


def even(a: Number) -> Number:
    """The integer next to a number, the even one of two.

    >>> [int(even(number(n))) for n in (0.5, 1.5, -2.5, 2.25)]
    [0, 2, -2, 2]
    """
    below = REAL.floor(a)
    beyond = a - below - number(0.5)
    return below + 1 if beyond > 0 or (beyond == 0 and int(below) % 2) else below


FUNCTION: dict[str, Callable[[Number], Number]] = {
    name: partial(function)
    for name, function in {
        "exp": exponential(REAL.exp),
        "exp2": exponential(lambda a: REAL.power(2, a)),
        "log": lambda a: None if a <= 0 else number(0) if near(a, number(1)) else REAL.log(a),
        "sqrt": lambda a: None if a < 0 else REAL.sqrt(a),
        "rsqrt": lambda a: None if a <= 0 else 1 / REAL.sqrt(a),
        "tanh": REAL.tanh,
        "sigmoid": lambda a: divide(number(1), add(number(1), FUNCTION["exp"](-a))),
        "abs": abs,
        "floor": lambda a: a if infinite(a) else REAL.floor(whole(a)),
        "round": lambda a: a if infinite(a) else even(whole(a)),
        "erf": REAL.erf,
        "sin": lambda a: None if infinite(a) else REAL.sin(a),
        "cos": lambda a: None if infinite(a) else REAL.cos(a),
    }.items()
}


def literal(value: float, dtype: str) -> Number:
    """A number that is written, as its dtype has it.

    >>> [int(literal(257.0, dtype)) for dtype in ("f32", "bf16")]
    [257, 256]
    """
    if dtype == "bf16" and abs(value) != INF:  # to f32 and to its upper half, ties to even
        bits = int(np.float32(value).view(np.uint32))
        return number(float(np.uint32((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).view(np.float32)))
    return number(float({"f16": np.float16, "bf16": np.float32, "f32": np.float32, "f64": np.float64}[dtype](value)))


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

    >>> to_integer(number(-2.5), "i32"), to_integer(number(300), "u8"), to_integer(number(-INF), "i8")
    (-2, 255, -128)
    """
    if a is UNDEFINED:
        return a
    low, high = ends(dtype)
    return (low if a < 0 else high) if infinite(a) else min(high, max(low, int(whole(a))))
