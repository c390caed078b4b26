"""Functions of real numbers: fractions where they give fractions, else bounds that are 200 bits apart.

Comes in: what `real` computes with. Goes out: the same. The one idea: mpmath gives 512 bits of which 200 are believed, an increasing function
of an interval lies between what it is at the ends, and a function that turns changes no faster than its argument.

    >>> exp(of(1)) * exp(of(-1)) - 1 < of(1e-30), root(of(0.25)) == 0.5, log(of(0))
    (True, True, undefined)
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from typing import Any

from tinygpu.category.real import BITS, LONG, UNDEFINED, Beyond, Given, Real, Undecided, between, of

MARGIN = Fraction(1, 1 << 200)  # how far, relatively, a function may be from what mpmath says of it
FAR = 1 << 14  # where functions are not asked


def least(a: Real, b: Real) -> Real:
    """The smaller one."""
    if a.undefined or b.undefined:
        return UNDEFINED
    return Real(min(a.low, b.low), min(a.high, b.high))


def greatest(a: Real, b: Real) -> Real:
    """The larger one."""
    return -least(-a, -b)


def floor(a: Real) -> Real:
    """The largest integer that is not greater."""
    if not a.finite:
        return a
    if math.floor(a.low) != math.floor(a.high):
        raise Undecided("which integer is below")
    return of(math.floor(a.low))


def root(a: Real) -> Real:
    """The square root."""
    if a.undefined or (a.infinite or a.sign()) < 0:
        return UNDEFINED
    if a.finite and a.low == a.high:
        top, below = math.isqrt(a.low.numerator), math.isqrt(a.low.denominator)
        if top * top == a.low.numerator and below * below == a.low.denominator:
            return of(Fraction(top, below))
    return a if a.infinite else Real(near("sqrt", a.low)[0], near("sqrt", a.high)[1])


def exp(a: Real) -> Real:
    """The exponential."""
    return rising("exp", a, 0, math.inf, (0, 1))


def exp2(a: Real) -> Real:
    """The power of 2, exact of integers."""
    if a.finite and a.low == a.high and a.low.denominator == 1 and abs(a.low) <= LONG // 4:
        return of(Fraction(2) ** int(a.low))
    return rising("exp2", a, 0, math.inf, (0, 1))


def log(a: Real) -> Real:
    """The natural logarithm."""
    if a.undefined or (a.infinite or a.sign()) <= 0:
        return UNDEFINED
    return rising("log", a, math.nan, math.inf, (1, 0))


def rising(name: str, a: Real, below: float, above: float, known: tuple[int, Given]) -> Real:
    """An increasing function, with what it is at the infinities, and the one place at which it is a fraction."""
    if not a.finite:
        return UNDEFINED if a.undefined else of(above if a.infinite > 0 else below)
    if a.low == a.high == known[0]:
        return of(known[1])
    return between(near(name, a.low)[0], near(name, a.high)[1])


def turning(name: str, a: Real, at_zero: int) -> Real:
    """Sine and cosine, which change no faster than their argument."""
    if not a.finite:
        return UNDEFINED
    if a.low == a.high == 0:
        return of(at_zero)
    spread = (a.high - a.low) / 2 + MARGIN
    low, high = near(name, (a.low + a.high) / 2)
    return between(max(low - spread, Fraction(-1)), min(high + spread, Fraction(1)))


def near(name: str, at: Fraction) -> tuple[Fraction, Fraction]:
    """Bounds of a function at a fraction."""
    import mpmath  # only for what is wrong in floats and has a function in it

    if abs(at) > FAR and name not in ("log", "sqrt"):
        raise Beyond(f"{name} of a large number")
    with mpmath.workprec(2 * BITS):
        x = mpmath.mpf(at.numerator) / at.denominator
        value = {"exp2": lambda: mpmath.power(2, x), "sigmoid": lambda: 1 / (1 + mpmath.exp(-x))}.get(
            name, lambda: getattr(mpmath, name)(x)
        )()
        sign, mantissa, exponent, _ = value._mpf_
    found = Fraction(-mantissa if sign else mantissa) * Fraction(2) ** exponent
    spread = abs(found) * MARGIN
    return found - spread, found + spread


FUNCTIONS: Mapping[str, Callable[..., Any]] = {  # what is not done by Python's operators alone
    "div": operator.truediv,
    "min": least,
    "max": greatest,
    "abs": abs,
    "floor": floor,
    "sqrt": root,
    "rsqrt": lambda a: of(1) / root(a),
    "exp": exp,
    "exp2": exp2,
    "log": log,
    "tanh": partial(rising, "tanh", below=-1, above=1, known=(0, 0)),
    "sigmoid": partial(rising, "sigmoid", below=0, above=1, known=(0, Fraction(1, 2))),
    "erf": partial(rising, "erf", below=-1, above=1, known=(0, 0)),
    "sin": partial(turning, "sin", at_zero=0),
    "cos": partial(turning, "cos", at_zero=1),
}
