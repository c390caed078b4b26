"""What real numbers compute, as arrays of doubles each of which says how far it may be off: `mid ± radius`, held as a complex number.

    a + b is at most  ra + rb + ε·|a + b|  off        a·b:  |a|·rb + |b|·ra + ra·rb + ε·|a·b|        max(a, b):  max(ra, rb)

Comes in: an operation, its operands, the mask of the points that count. Goes out: an array, as `reals` gives it of fractions. The one idea: an error is
followed beside the number, at the speed of numpy, so that two numbers are told apart only where they differ; a question that a radius leaves open is
`Undecided`. An infinity is one, and has no radius; NaN is what has no value, or of which nothing is known.

    >>> third = apply("div", [1.0, 3.0], None)
    >>> one = apply("add", [third, apply("add", [third, third], None)], None)
    >>> bool(apart(one, 1.0)), bool(apart(one, 1.0 + 1e-12)), bool(one.imag < 1e-15), made(np.arange(2)).imag.tolist()
    (False, True, True, [0.0, 0.0])
    >>> far = apply("sub", [apply("add", [made(0.5), 1e20], None), 1e20], None)
    >>> bool(apart(far, 0.5)), bool(apart(far, 1e6)), apply("exp", [-math.inf], None).tolist()
    (False, True, 0j)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial, reduce
from typing import Any, TypeAlias

import numpy as np

from tinygpu.category.monoid import as_monoid, neutral
from tinygpu.category.operation import FUNCTION, OPERATION, domain
from tinygpu.category.real import Beyond, Undecided
from tinygpu.category.term import COMPARISONS

Array: TypeAlias = np.ndarray[Any, Any]
BALL = "ball"  # the dtype, which no program of a user has
HELD = np.dtype(np.complex128)
UNDEFINED = complex(math.nan, math.nan)
EPSILON = 2.0**-52  # of one operation of f64, twice what it may be off
LIBRARY = 2.0**-47  # of a function of the library, which is off by a few units in the last place
MORE = 1 + 2.0**-20  # by which a radius grows for what was rounded in it
LEAST = 1e-290  # more than is lost of a number that is too small
WHOLE = 2.0**53  # up to which integers are doubles


def ball(mid: Any, radius: Any, known: Any = None) -> Any:
    """`mid ± radius`. What is infinite is so only where `known`; elsewhere it is a number that was too large, and so is what has such a radius."""
    out = np.empty(np.broadcast_shapes(np.shape(mid), np.shape(radius)), HELD)
    out.real, out.imag = mid, radius
    if not np.isfinite(out).all():
        sure = np.isinf(out.real) & (False if known is None else known)
        lost = ~sure & ~np.isfinite(out)
        out.imag[sure] = 0
        out[lost] = UNDEFINED
    return out[()]


def parts(value: Any) -> tuple[Any, Any]:
    """The number, and how far it may be off."""
    return np.real(value), np.imag(value)


def made(values: Any) -> Any:
    """Numbers as balls; of a float that was written, what was written."""
    if getattr(values, "dtype", None) == HELD or isinstance(values, complex):
        return values
    array = np.asarray(values)
    mid = array.astype(np.float64)
    exact = (mid == np.rint(mid)) & (np.abs(mid) < WHOLE)
    if array.ndim == 0 and math.isfinite(mid):
        exact = exact or Fraction(repr(array.item())) == Fraction(float(mid))
    return ball(mid, np.where(exact, 0.0, EPSILON * np.abs(mid)), True)


def held(values: Any) -> Any:
    """Numbers of an array as balls: the binary fractions that they are."""
    return ball(np.asarray(values, np.float64), 0.0, True)


# ── arithmetic ─────────────────────────────────────────────────────────────────────────────────────────────────────


def added(x: Any, y: Any) -> Any:
    (a, r), (b, s) = parts(x), parts(y)
    mid = a + b
    return ball(mid, (r + s) * MORE + EPSILON * np.abs(mid), np.isinf(a) | np.isinf(b))


def negated(x: Any) -> Any:
    return ball(-np.real(x), np.imag(x), True)


def multiplied(x: Any, y: Any) -> Any:
    (a, r), (b, s) = parts(x), parts(y)
    mid, lost = a * b, np.where(((a == 0) & (r == 0)) | ((b == 0) & (s == 0)), 0.0, LEAST)
    infinite = (np.isinf(a) & (np.abs(b) > s)) | (np.isinf(b) & (np.abs(a) > r))
    radius = (_times(np.abs(a), s) + _times(np.abs(b), r) + r * s) * MORE + EPSILON * np.abs(mid) + lost
    return ball(mid, np.where(np.isinf(mid) & ~infinite, np.nan, radius), infinite)


def _times(size: Any, radius: Any) -> Any:
    """A product in which 0 is 0, also of an infinity."""
    return np.where(radius == 0, 0.0, size * radius)


def inverted(y: Any) -> Any:
    """`1 / y`; nothing is known of it where y may be 0."""
    b, s = parts(y)
    least = np.abs(b) - s * MORE
    there = least > 0
    low = np.where(there, least * (1 - EPSILON), 1.0)
    mid = np.where(there, 1.0 / np.where(there, b, 1.0), np.nan)
    return ball(mid, (s / low / low) * MORE + EPSILON * np.abs(mid) + np.where(np.isinf(b), 0.0, LEAST))


def larger(x: Any, y: Any) -> Any:
    (a, r), (b, s) = parts(x), parts(y)
    mid = np.maximum(a, b)
    return ball(mid, np.where(a - r > b + s, r, np.where(b - s > a + r, s, np.maximum(r, s))), True)


def _near(a: Any, b: Any, r: Any, s: Any) -> Any:
    """Whether two that are not the same one may be one."""
    return ~((np.abs(a - b) * (1 - 4 * EPSILON) > (r + s) * MORE) | ((r == 0) & (s == 0)))


def compared(op: str, mask: Array | None, x: Any, y: Any) -> Any:
    """A comparison. Raises Undecided where a point that counts leaves it open."""
    (a, r), (b, s) = parts(x), parts(y)
    _decided(_near(a, b, r, s) | np.isnan(a) | np.isnan(b), mask, "which one is greater")
    return OPERATION[op].apply(a, b)  # type: ignore[misc]


def _decided(open: Any, mask: Array | None, what: str) -> None:
    if np.any(open if mask is None else np.logical_and(open, mask)):
        raise Undecided(what)


def apart(got: Any, want: Any) -> Array:
    """Where two are certainly not the same."""
    (a, r), (b, s) = parts(made(got)), parts(made(want))
    return np.asarray((a != b) & ~_near(a, b, r, s) & ~np.isnan(a) & ~np.isnan(b))


# ── functions ──────────────────────────────────────────────────────────────────────────────────────────────────────


def ends(x: Any) -> tuple[Any, Any]:
    """Numbers that are below and above."""
    a, r = parts(x)
    off = np.where(r == 0, 0.0, r * MORE + EPSILON * np.abs(a))
    return a - off, a + off


def moved(name: str, x: Any) -> Any:
    """A function that rises, by what it is at the ends; a sine changes no faster than its argument."""
    row, (a, r), function = FUNCTION[name], parts(x), NUMPY[name]
    mid = function(a)
    if row.rising:
        low, high = (function(end) for end in ends(x))
        off, size = np.maximum(high - mid, mid - low), np.abs(low) + np.abs(high)
    else:
        off, size = r * MORE, 1 + np.abs(mid)
    radius = np.where(np.isinf(a), 0.0, off + LIBRARY * size + LEAST)
    for at, value in row.known.items():
        where = (a == at) & (r == 0)
        mid, radius = np.where(where, float(value), mid), np.where(where, 0.0, radius)
    return ball(mid, np.where(np.isnan(mid), np.nan, radius), np.isinf(a))


def whole(name: str, mask: Array | None, x: Any) -> Any:
    """The integer below, or next to it."""
    low, high = (NUMPY[name](end) for end in ends(x))
    _decided((low != high) | np.isnan(low), mask, "which integer it is")
    return ball(low, 0.0, True)


NUMPY: Mapping[str, Callable[..., Any]] = domain(
    np,
    round=np.round,
    erf=lambda x: np.asarray(np.frompyfunc(math.erf, 1, 1)(np.asarray(x, np.float64)), np.float64)[()],
)
OWN: dict[str, Callable[..., Any]] = {
    "add": added,
    "sub": lambda x, y: added(x, negated(y)),
    "mul": multiplied,
    "div": lambda x, y: multiplied(x, inverted(y)),
    "neg": negated,
    "max": larger,
    "min": lambda x, y: negated(larger(negated(x), negated(y))),
    "abs": lambda x: ball(np.abs(np.real(x)), np.imag(x), True),
    **{name: partial(moved, name) for name in ("exp", "exp2", "log", "sqrt", "tanh", "erf", "sin", "cos")},
}
OWN["sigmoid"] = lambda x: OWN["div"](made(1), added(made(1), OWN["exp"](negated(x))))
OWN["rsqrt"] = lambda x: OWN["div"](made(1), OWN["sqrt"](x))


def apply(op: str, args: list[Any], mask: Array | None) -> Any:
    """An operation that gives balls, or compares them. Raises Beyond for what real numbers do not have."""
    args = [made(a) for a in args]
    if op in COMPARISONS:
        return compared(op, mask, *args)
    if op in ("floor", "round"):
        return whole(op, mask, *args)
    if op not in OWN:
        raise Beyond(op)
    return reduce(OWN[op], args) if len(args) > 1 else OWN[op](*args)


def cast(values: Any, dtype: np.dtype[Any], mask: Array | None) -> Any:
    """Balls as truth values, or as integers: truncated towards zero, and saturated."""
    if dtype == np.bool_:
        return compared("ne", mask, values, made(0))
    limits = np.iinfo(dtype)
    low, high = (np.clip(np.trunc(end), float(limits.min), float(limits.max)) for end in ends(values))
    _decided((low != high) | np.isnan(low), mask, "which integer it is")
    inside = np.where(np.isnan(low) | (low >= float(limits.max)), 0, low).astype(dtype)
    return np.where(low >= float(limits.max), limits.max, inside).astype(dtype)[()]


def combined(monoid: str, a: Any, b: Any, mask: Array | None = None) -> Any:
    """`a ⊕ b`."""
    return apply(as_monoid(monoid).op, [a, b], mask)


def folded(monoid: str, total: Any, values: Any, mask: Array | None, shape: tuple[int, ...]) -> Any:
    """The total so far, combined with the values of the mask along the first axis of that shape."""
    unit = made(neutral(monoid, "f64").value)  # type: ignore[union-attr]
    values = made(values) if mask is None else np.where(mask, made(values), unit)
    values = np.broadcast_to(values, np.broadcast_shapes(np.shape(values), shape))
    if monoid == "sum":
        a, r = parts(values)
        sizes, known = np.abs(a), np.isinf(a).any(axis=0)
        lost = EPSILON * len(a) * sizes.sum(axis=0) if len(a) > 1 else 0.0
        return added(total, ball(a.sum(axis=0), np.where(known, 0.0, r.sum(axis=0) * MORE + lost), known))
    return reduce(partial(combined, monoid), values, total)


def accumulate(monoid: str, values: Array, address: Array, given: Array) -> None:
    """`values[address] ⊕= given`, where several addresses may be one: those that are different at once, then what is left."""
    while len(address):
        place, first = np.unique(address, return_index=True)
        values[place] = combined(monoid, values[place], given[first])
        left = np.ones(len(address), np.bool_)
        left[first] = False
        address, given = address[left], given[left]
