"""Numbers of the dtypes in plain Python: a value is one number, or a list with one for each of some points.

Comes in: a dtype and numbers. Goes out: numbers that the dtype has: floats rounded, integers wrapped, as `category.number` does it in numpy.
The one idea: what plain Python does not compute bit for bit it does not compute: a dtype it lacks is `Beyond`, and whoever asked takes numpy.
"""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable, Mapping
from itertools import repeat
from typing import Any, TypeAlias

from tinygpu.category.term import BOOL, FLOATS, INDEX

Number: TypeAlias = Any  # int, float or bool
Listed: TypeAlias = Any  # a number, or a list of them
RANGES: Mapping[str, tuple[int, int]] = {
    INDEX: (-(1 << 63), (1 << 63) - 1),
    "i64": (-(1 << 63), (1 << 63) - 1),
    "i32": (-(1 << 31), (1 << 31) - 1),
    "i8": (-128, 127),
    "u32": (0, (1 << 32) - 1),
    "u8": (0, 255),
}
WHOLE = 1 << 53  # integers up to here are floats
REAL = "real"  # the dtype of numbers that are not rounded (`category.real`), which no program of a user has
FLOATING = (*FLOATS, REAL)


class Beyond(Exception):
    """Something that the plain form does not compute, or not as numpy does."""


class Undecided(Beyond):
    """Two real numbers that are the same as far as bounds tell: rounding would decide between them."""


class Undefined(Beyond):
    """A comparison of what has no value: either answer would do."""


def mapped(function: Callable[..., Number], *values: Listed) -> Listed:
    """The function at every point; a number where all values are numbers.

    >>> mapped(max, [1, 5], 3), mapped(max, 1, 3)
    ([3, 5], 3)
    """
    if any(isinstance(v, list) for v in values):
        return list(map(function, *(v if isinstance(v, list) else repeat(v) for v in values)))
    return function(*values)


def rounded(values: Listed, dtype: str, exact: bool = False) -> Listed:
    """Floats rounded to `dtype` (with `exact`, not at all), integers wrapped.

    >>> rounded([0.1, 1.0], "f32"), rounded(300, "u8"), rounded([200, -200], "i8")
    ([0.10000000149011612, 1.0], 44, [-56, 56])
    >>> rounded([0.1, 1e6], "f16"), rounded(1.005859375, "bf16")
    ([0.0999755859375, inf], 1.0078125)
    """
    if dtype in (BOOL, INDEX):
        return values
    if dtype == REAL:
        from tinygpu.category import real  # only for what went wrong in floats

        return mapped(real.of, values)
    if dtype in FLOATS:
        if exact or dtype == "f64":
            return mapped(float, values)
        if not isinstance(values, list):
            return ROUND[dtype]([values])[0]
        return ROUND[dtype](values)
    if dtype not in RANGES:
        raise Beyond(dtype)
    low, high = RANGES[dtype]
    if isinstance(values, list):
        inside = not values or (min(values) >= low and max(values) <= high)
        return values if inside else [(v - low) % (high - low + 1) + low for v in values]
    return (values - low) % (high - low + 1) + low


def _packed(code: str) -> Callable[[list[float]], list[float]]:
    """Rounds as C does on the way to the float of that letter; what is too large is infinite."""

    def packed(values: list[float]) -> list[float]:
        try:
            return [*struct.unpack(f"<{len(values)}{code}", struct.pack(f"<{len(values)}{code}", *values))]
        except OverflowError:
            return [math.copysign(math.inf, values[0])] if len(values) == 1 else [packed([v])[0] for v in values]

    return packed


_single, _half = _packed("f"), _packed("e")


def _brain(values: list[float]) -> list[float]:
    """The nearest f32 first, as whoever computes in f32 does, and of that the upper half."""
    bits = struct.unpack(f"<{len(values)}I", struct.pack(f"<{len(values)}f", *_single(values)))
    upper = (b if b >> 23 & 255 == 255 else (b + 0x7FFF + (b >> 16 & 1)) & 0xFFFF0000 for b in bits)
    return [*struct.unpack(f"<{len(values)}f", struct.pack(f"<{len(values)}I", *upper))]


ROUND: Mapping[str, Callable[[list[float]], list[float]]] = {"f32": _single, "f16": _half, "bf16": _brain}


def cast(values: Listed, source: str, dtype: str, exact: bool = False) -> Listed:
    """The language's cast: to a float rounds, float to integer truncates towards zero and saturates (NaN gives 0), integers wrap.

    >>> cast([-1.5, 300.0, 2.9], "f32", "u8"), cast([300], "i32", "u8"), cast(7, "i32", "f32")
    ([0, 255, 2], [44], 7.0)
    """
    if dtype == BOOL:
        return mapped(bool, values)
    if dtype in FLOATING:
        if (
            dtype != REAL
            and source not in FLOATS
            and any(abs(v) > WHOLE for v in (values if isinstance(values, list) else (values,)))
        ):
            raise Beyond("an integer that is no float")
        return rounded(values, dtype, exact)
    if source in FLOATING:
        low, high = RANGES[dtype]
        return mapped(lambda v: 0 if v != v else low if v <= low else high if v >= high else int(v), values)
    return rounded(mapped(int, values), dtype)


def unit(monoid: str, dtype: str) -> Number:
    """What a fold over nothing gives; an integer minimum or maximum gives the end of its range."""
    if monoid in ("min", "max") and dtype not in FLOATING:
        return RANGES[dtype][monoid == "min"]
    plain = {"sum": 0, "prod": 1, "min": math.inf, "max": -math.inf, "any": False, "all": True}
    if monoid not in plain:
        raise Beyond(monoid)
    return float(plain[monoid]) if dtype in FLOATING else plain[monoid]


def least(a: Number, b: Number) -> Number:
    """The smaller one, NaN if one is."""
    return a if a < b or a != a else b


def greatest(a: Number, b: Number) -> Number:
    """The larger one, NaN if one is."""
    return a if a > b or a != a else b


def quotient(a: float, b: float) -> float:
    """`a / b` of floats, also by zero."""
    if b:
        return a / b
    return math.nan if not a or a != a else math.copysign(math.inf, a) * math.copysign(1.0, b)


def euclid(op: str, a: int, b: int) -> int:
    """`floordiv`, `mod` and `ceildiv` of integers whose remainder is never negative; by 1 instead of 0.

    >>> euclid("mod", -7, 3), euclid("mod", -7, -3), euclid("floordiv", 7, -3), euclid("ceildiv", 7, 3), euclid("div", 5, 0)
    (2, 2, -2, 3, 5)
    """
    b = b or 1
    if op == "mod":
        return a % abs(b)
    if op == "ceildiv":
        return -(-a // b)
    return -(a // -b) if b < 0 else a // b


def combining(monoid: str, dtype: str) -> Callable[[Number, Number], Number]:
    """How two values of a dtype are combined."""
    return _real(monoid, COMBINE[monoid]) if dtype == REAL else COMBINE[monoid]


def operation(op: str, dtype: str) -> Callable[..., Number]:
    """The operation on numbers that gives one of a dtype."""
    return _real(op, BINARY.get(op)) if dtype == REAL else BINARY[op]


def _real(op: str, otherwise: Any) -> Any:
    """The operation on numbers that are not rounded, where it is another one."""
    from tinygpu.category.real_functions import FUNCTIONS  # only for what went wrong in floats

    return FUNCTIONS.get(op, otherwise)


def total(function: Callable[[float], float], outside: float) -> Callable[[float], float]:
    """The function with a value where Python's has none: `outside`, and infinity where it is too large."""

    def everywhere(x: float) -> float:
        try:
            return function(x)
        except ValueError:
            return outside
        except OverflowError:
            return math.inf

    return everywhere


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


COMBINE: Mapping[str, Callable[[Number, Number], Number]] = {
    "sum": operator.add,
    "prod": operator.mul,
    "min": least,
    "max": greatest,
    "any": operator.or_,
    "all": operator.and_,
}
BINARY: Mapping[str, Callable[[Number, Number], Number]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": quotient,
    "min": least,
    "max": greatest,
    "xor": operator.xor,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "eq": operator.eq,
    "ne": operator.ne,
}
EXACT: Mapping[str, Callable[[Number], Number]] = {  # what both compute alike
    "sqrt": total(math.sqrt, math.nan),
    "abs": abs,
    "floor": lambda x: float(math.floor(x)) if math.isfinite(x) else x,
}
ROUGH: Mapping[str, Callable[[float], float]] = {  # what may differ from numpy in the last digits, or where it has no value
    "exp": total(math.exp, math.nan),
    "exp2": total(lambda x: 2.0**x, math.nan),
    "log": total(math.log, math.nan),
    "rsqrt": total(lambda x: 1 / math.sqrt(x) if x else math.inf, math.nan),
    "tanh": math.tanh,
    "sigmoid": total(_sigmoid, math.nan),
    "erf": math.erf,
    "sin": total(math.sin, math.nan),
    "cos": total(math.cos, math.nan),
}
