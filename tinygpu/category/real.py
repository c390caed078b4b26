"""Real numbers as they are: fractions, the two infinities, what is undefined, and bounds for what no fraction is.

Comes in: numbers of the dtype `real`. Goes out: numbers with Python's operators that never round a fraction, and
of which two are told apart only where they differ. The one idea: a value is an interval; of a fraction both ends are the same, of `exp(x)`
they are 200 bits apart, and a question that an interval leaves open is `Beyond`.

    >>> third = of(1) / of(3)
    >>> third + third + third == 1, of(0.1) * 10 == 1, stored(0.1) * 10 == 1, of(-math.inf) - of(-math.inf)
    (True, True, False, undefined)
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, TypeAlias

REAL = "real"  # the dtype of numbers that are not rounded, which no program of a user has
BITS = 256  # of what is computed from an interval, and of functions that have no fraction
LONG = 1 << 13  # bits of a fraction that becomes an interval
FAR = 1 << 16  # bits before or after the point, of the largest and the smallest that is computed with

Given: TypeAlias = "Real | Fraction | int | float"


class Beyond(Exception):
    """Something that is not computed of real numbers, or takes too long."""


class Undecided(Beyond):
    """Two real numbers that are the same as far as bounds tell: rounding would decide between them."""


class Undefined(Beyond):
    """A comparison of what has no value: either answer would do."""


class Real:
    """What lies between `low` and `high`; of an infinity both are that float, of what is undefined both are NaN."""

    __slots__ = ("high", "low")

    def __init__(self, low: Any, high: Any) -> None:
        self.low, self.high = low, high

    def __repr__(self) -> str:
        return "undefined" if self.undefined else str(float(self))

    @property
    def undefined(self) -> bool:
        """Whether it is no number and no infinity."""
        return bool(self.low != self.low)

    @property
    def infinite(self) -> int:
        """1 or -1 of an infinity, else 0."""
        return 0 if not isinstance(self.low, float) or self.undefined else 1 if self.low > 0 else -1

    @property
    def finite(self) -> bool:
        """Whether it is a number."""
        return not isinstance(self.low, float)

    @property
    def exact(self) -> bool:
        """Whether it is known to be one fraction."""
        return self.low is self.high

    def apart(self, other: Real) -> bool:
        """Whether the two are certainly not the same value."""
        if not (self.finite and other.finite):
            return self.undefined != other.undefined or self.infinite != other.infinite
        return bool(self.high < other.low or other.high < self.low)

    # ── arithmetic ─────────────────────────────────────────────────────────────────────────────────────────────

    def __add__(self, other: Given) -> Real:
        other = of(other)
        if self.finite and other.finite:
            low = self.low + other.low
            return between(low, low if self.exact and other.exact else self.high + other.high)
        if self.undefined or other.undefined or self.infinite * other.infinite < 0:
            return UNDEFINED
        return self if self.infinite else other

    def __neg__(self) -> Real:
        high = -self.low
        return Real(high if self.exact else -self.high, high)

    def __sub__(self, other: Given) -> Real:
        return self + -of(other)

    def __mul__(self, other: Given) -> Real:
        other = of(other)
        if self.finite and other.finite:
            if self.exact and other.exact:
                product = self.low * other.low
                return between(product, product)
            ends = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
            return between(min(ends), max(ends))
        sign = self.sign() * other.sign()
        return UNDEFINED if self.undefined or other.undefined or sign == 0 else of(math.inf * sign)

    def __truediv__(self, other: Given) -> Real:
        other = of(other)
        if self.undefined or other.undefined or (self.infinite and other.infinite):
            return UNDEFINED
        if other.infinite:
            return of(0)
        sign = other.sign()
        if sign == 0:
            return UNDEFINED
        if self.infinite:
            return of(math.inf * self.infinite * sign)
        low = 1 / other.high
        return self * Real(low, low if other.exact else 1 / other.low)

    def __radd__(self, other: Given) -> Real:
        return of(other) + self

    def __rsub__(self, other: Given) -> Real:
        return of(other) - self

    def __rmul__(self, other: Given) -> Real:
        return of(other) * self

    def __rtruediv__(self, other: Given) -> Real:
        return of(other) / self

    def __abs__(self) -> Real:
        if self.undefined or self.low >= 0:
            return self
        return -self if self.high <= 0 else Real(Fraction(0), max(-self.low, self.high))

    def sign(self) -> int:
        """-1, 0 or 1. Raises Beyond where nobody knows; what is undefined has none."""
        if self.undefined:
            return 0
        if self.low > 0 or self.high < 0:
            return 1 if self.low > 0 else -1
        if self.low == self.high:
            return 0
        raise Undecided("which sign it has")

    # ── questions ──────────────────────────────────────────────────────────────────────────────────────────────

    def compare(self, other: Given) -> int:
        """-1, 0 or 1. Raises Beyond where nobody knows, as of what is undefined."""
        other = of(other)
        if self.undefined or other.undefined:
            raise Undefined("what is undefined compares with nothing")
        if self.high < other.low or other.high < self.low:
            return -1 if self.high < other.low else 1
        if self.low == self.high == other.low == other.high:
            return 0
        raise Undecided("which one is greater")

    def __lt__(self, other: Given) -> bool:
        return self.compare(other) < 0

    def __le__(self, other: Given) -> bool:
        return self.compare(other) <= 0

    def __gt__(self, other: Given) -> bool:
        return self.compare(other) > 0

    def __ge__(self, other: Given) -> bool:
        return self.compare(other) >= 0

    def __eq__(self, other: object) -> bool:
        if other is self and not self.undefined:
            return True
        return self.compare(other) == 0 if isinstance(other, Real | int | float) else NotImplemented

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        return self.sign() != 0

    def __int__(self) -> int:
        """Without what comes after the point."""
        if not self.finite or int(self.low) != int(self.high):
            raise Undecided("which integer it is")
        return int(self.low)

    def __float__(self) -> float:
        try:
            return float(self.low) if self.low == self.high or not self.finite else float((self.low + self.high) / 2)
        except OverflowError:
            return math.inf if self.low > 0 else -math.inf


UNDEFINED = Real(math.nan, math.nan)
ZERO = Real(Fraction(0), Fraction(0))  # the only one that is exact, so that arrays of it are seen to be
ZERO.high = ZERO.low


def of(value: Given) -> Real:
    """The number; of a float that was written, what was written: 0.1 is a tenth."""
    if isinstance(value, Real):
        return value
    if isinstance(value, float):
        exact = Fraction(repr(value)) if math.isfinite(value) else value
        return Real(exact, exact) if exact else ZERO
    exact = Fraction(value)
    return Real(exact, exact) if exact else ZERO


def stored(value: float) -> Real:
    """A number that is held in an array: the binary fraction that it is."""
    exact = Fraction(value) if math.isfinite(value) else value
    return Real(exact, exact) if exact else ZERO


def between(low: Fraction, high: Fraction) -> Real:
    """What lies between two fractions; bounds, and fractions that are very long, are cut to fewer bits, outwards."""
    if low is high and low.denominator.bit_length() + low.numerator.bit_length() < LONG:
        return Real(low, high) if low else ZERO
    return Real(cut(low), -cut(-high))


def cut(number: Fraction) -> Fraction:
    """A fraction of few bits that is not greater."""
    shift = BITS - abs(number.numerator).bit_length() + number.denominator.bit_length()
    if abs(shift) > FAR:
        raise Beyond("a number with too many digits")
    if shift >= 0:
        return Fraction((number.numerator << shift) // number.denominator, 1 << shift)
    return Fraction(number.numerator // (number.denominator << -shift) << -shift)
