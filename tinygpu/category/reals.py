"""What real numbers compute, one by one and as arrays: object arrays of `real.Real`, point by point.

Comes in: an operation, its operands, the mask of the points that count. Goes out: an array, as numpy gives it of floats. The one idea: a point
that does not count is not computed, since what is a question of a real number (which one is greater, which integer it is) may have no answer.
A function is a fraction where that is known, else bounds: mpmath gives 512 bits of which 200 are believed, a rising function of an interval lies
between what it is at the ends, and sine and cosine change no faster than their argument.

    >>> third = made(np.array([1, 2])) / of(3)
    >>> apply("add", [third, third[::-1]], None).tolist() == [1, 1], apply("lt", [third, of(0.5)], None).tolist()
    (True, [True, False])
    >>> apply("log", [made(np.array([1, 0]))], np.array([True, False])).tolist()
    [0.0, undefined]
    >>> COMPUTE["exp"](of(1)) * COMPUTE["exp"](of(-1)) - 1 < of(1e-30), COMPUTE["sqrt"](of(0.25)) == 0.5, COMPUTE["log"](of(0))
    (True, True, undefined)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from functools import cache, partial, reduce
from typing import Any, TypeAlias

import numpy as np

from tinygpu.category.deadline import look
from tinygpu.category.monoid import as_monoid
from tinygpu.category.operation import FUNCTION, INTEGER, OPERATION, Function, domain
from tinygpu.category.real import BITS, LONG, UNDEFINED, ZERO, Beyond, Real, Undecided, between, of, stored
from tinygpu.category.term import COMPARISONS

Array: TypeAlias = np.ndarray[Any, Any]
TRUTH, HELD = np.dtype(np.bool_), np.dtype(object)
BOUNDS = 8  # points that take as long as one that is known by bounds
EASY = 1 << 5  # points with a 0 that take as long as one
DEEP = 1 << 5  # points that take as long as one function of a number that is not rounded
MARGIN = Fraction(1, 1 << 200)  # how far, relatively, a function may be from what mpmath says of it
FAR = 1 << 14  # where functions are not asked
PLAIN = ("abs", "floor", "round", "sqrt")  # of the functions those that are fractions of fractions


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


def nearest(a: Real) -> Real:
    """The integer next to it, the even one of two."""
    if not a.finite:
        return a
    if round(a.low) != round(a.high):
        raise Undecided("which integer is nearest")
    return of(round(a.low))


def bounded(row: Function, a: Real) -> Real:
    """A function by what its row says of it, and by bounds elsewhere."""
    if a.undefined or not row.begun(a):
        return UNDEFINED
    if not a.finite:
        limit = row.limits[a.infinite > 0]
        return UNDEFINED if limit is None else of(limit)
    found = _fraction(row, a.low) if a.low == a.high else None
    if found is not None:
        return of(found)
    if row.rising:
        return between(near(row.name, a.low)[0], near(row.name, a.high)[1])
    spread = (a.high - a.low) / 2 + MARGIN
    low, high = near(row.name, (a.low + a.high) / 2)
    return between(max(low - spread, Fraction(-1)), min(high + spread, Fraction(1)))


def _fraction(row: Function, at: Fraction) -> Fraction | float | None:
    """The value that is known at a number; a root or a power of 2 that is a fraction."""
    if at in row.known:
        return row.known[at]  # type: ignore[index]
    if row.name == "sqrt":
        over, under = math.isqrt(at.numerator), math.isqrt(at.denominator)
        return Fraction(over, under) if (over * over, under * under) == (at.numerator, at.denominator) else None
    if row.name == "exp2" and at.denominator == 1 and abs(at) <= LONG // 4:
        return Fraction(2) ** int(at)
    return None


def near(name: str, at: Fraction) -> tuple[Fraction, Fraction]:
    """Bounds of a function at a fraction."""
    import mpmath  # only for what is wrong in floats and has a function in it

    if abs(at) > FAR and name not in ("log", "sqrt"):
        raise Beyond(f"{name} of a large number")
    with mpmath.workprec(2 * BITS):
        sign, mantissa, exponent, _ = _precise()[name](mpmath.mpf(at.numerator) / at.denominator)._mpf_
    found = Fraction(-mantissa if sign else mantissa) * Fraction(2) ** exponent
    spread = abs(found) * MARGIN
    return found - spread, found + spread


@cache
def _precise() -> Mapping[str, Callable[..., Any]]:
    import mpmath

    return domain(mpmath)


WHOLE = tuple(row.name for row in OPERATION.values() if row.of == INTEGER)
OWN = {row.name: partial(bounded, row) for row in FUNCTION.values() if not row.keeps and row.name != "rsqrt"}  # which is a quotient
COMPUTE = domain(None, div=lambda a, b: of(a) / b, min=least, max=greatest, floor=floor, round=nearest, **OWN)

_left: ContextVar[list[int]] = ContextVar("points that may still be computed")


@contextmanager
def limited(points: int) -> Iterator[list[int]]:
    """Within it at most so many points are computed; gives what is left."""
    left = [points]
    token = _left.set(left)
    try:
        yield left
    finally:
        _left.reset(token)


def spend(points: int) -> None:
    """Takes so many points. Raises Beyond where that is too much."""
    look()
    left = _left.get(None)
    if left is not None:
        left[0] -= points
        if left[0] < 0:
            raise Beyond("more points than a run on real numbers may take")


def made(values: Any) -> Any:
    """Numbers as reals; of a float that was written, what was written."""
    return _each(of, values)


def held(values: Any) -> Any:
    """Numbers of an array as reals: the binary fractions that they are."""
    return _each(stored, values)


def _each(function: Callable[[Any], Real], values: Any) -> Any:
    if isinstance(values, Real) or getattr(values, "dtype", None) == HELD:
        return values
    array = np.asarray(values)
    spend(array.size)
    return np.frompyfunc(function, 1, 1)(array) if array.ndim else function(array.item())


def apply(op: str, args: list[Any], mask: Array | None) -> Any:
    """An operation that gives reals, or compares them. Raises Beyond for what real numbers do not have."""
    if op not in COMPUTE or op in WHOLE:
        raise Beyond(op)
    cost = DEEP if op in FUNCTION and op not in PLAIN else 1
    function = partial(pointwise, COMPUTE[op], TRUTH if op in COMPARISONS else HELD, mask, cost)
    return reduce(function, args) if len(args) > 1 else function(*args)


def cast(values: Any, dtype: np.dtype[Any], mask: Array | None) -> Any:
    """Reals as truth values, or as integers: truncated towards zero, and saturated."""
    if dtype == TRUTH:
        return pointwise(bool, dtype, mask, 1, values)
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    return pointwise(lambda v: low if v <= low else high if v >= high else int(v), dtype, mask, 1, values)


def pointwise(function: Callable[..., Any], dtype: np.dtype[Any], mask: Array | None, cost: int, *args: Any) -> Any:
    """The function at the points that count; what else there is has no value, or is 0."""
    args = tuple(map(made, args))
    shape = np.broadcast_shapes(*map(np.shape, args))
    where = needed(mask, shape)
    if cost > 1:
        return _once(function, where, cost, *args)
    out: Any = UNDEFINED if dtype == HELD else 0
    easy, known = evident(function, args)
    if easy is not None:
        out = np.where(easy, known, out)
        where = np.broadcast_to(~easy if where is None else where & ~easy, shape)
        spend(easy.size // EASY)
    every = np.frompyfunc(function, len(args), 1)
    spend((math.prod(shape) if where is None else int(where.sum())) + BOUNDS * _counted(by_bounds(args), where, shape))
    if where is None:
        return np.asarray(every(*args)).astype(dtype)[()]
    out = np.array(np.broadcast_to(np.asarray(out, dtype), shape))
    if where.any():
        out[where] = every(*(np.broadcast_to(a, shape)[where] for a in args))
    return out[()]


def _counted(points: Array | None, where: Array | None, shape: tuple[int, ...]) -> int:
    """How many of some points count."""
    return 0 if points is None else int((np.broadcast_to(points, shape) & (True if where is None else where)).sum())


def _once(function: Callable[[Real], Real], where: Array | None, cost: int, values: Any) -> Any:
    """A function that takes long, of each number once."""
    given = np.asarray(values, HELD)
    every = (given if where is None else given[where]).ravel().tolist()
    different = {(v.low, v.high): v for v in every}
    hard = [v for v in different.values() if v.finite and v is not ZERO]
    spend(len(every) + cost * len(hard) + BOUNDS * sum(not v.exact for v in hard))
    found = {key: function(v) for key, v in different.items()}
    out = np.full(given.shape, UNDEFINED, HELD)
    out[np.broadcast_to(True if where is None else where, given.shape)] = [found[v.low, v.high] for v in every]
    return out[()]


def evident(function: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Array | None, Any]:
    """The points at which a product is 0, or a sum one of two, since one of them is 0, and what it is there; None where there are hardly any.

    >>> a, b = made(np.array([0, 1, 2])), made(np.array([3, 0, 2]))
    >>> evident(COMPUTE["mul"], (a, b))[0].tolist(), evident(COMPUTE["add"], (a, b))[1].tolist()[:2]
    ([True, True, False], [3.0, 1.0])
    >>> apply("mul", [made(np.zeros(2)), held(np.array([math.inf, 1]))], None).tolist()
    [undefined, 0.0]
    """
    if function not in (COMPUTE["mul"], COMPUTE["add"]) or not any(map(np.ndim, args)):
        return None, None
    a, b = (np.asarray(one, HELD) for one in args)
    left, right = (_each_is(lambda v: v is ZERO, one) for one in (a, b))
    easy = left | right
    if 2 * int(easy.sum()) < easy.size:
        return None, None
    if function is COMPUTE["add"]:
        return easy, np.where(left, b, a)
    return (easy, ZERO) if all(_each_is(lambda v: v.finite, one).all() for one in (a, b)) else (None, None)


def by_bounds(args: tuple[Any, ...]) -> Array | None:
    """The points at which a number is known by bounds only, which are long; None where there are none."""
    found = [where for one in args if (where := _each_is(lambda v: not v.exact, one)).any()]
    return reduce(np.logical_or, found) if found else None


def _each_is(asked: Callable[[Real], bool], values: Any) -> Array:
    """Which numbers are so."""
    array = np.asarray(values, HELD)
    return np.fromiter(map(asked, array.ravel().tolist()), bool, array.size).reshape(array.shape)


def needed(mask: Array | None, shape: tuple[int, ...]) -> Array | None:
    """The points of an array of that shape that count for some point of the mask; None is all.

    >>> needed(np.array([[True, False], [False, False]]), (1, 2)), needed(np.array([True, False]), (3, 1))
    (array([[ True, False]]), None)
    """
    if mask is None:
        return None
    inner = np.asarray(mask.any(tuple(range(max(0, mask.ndim - len(shape))))))
    own = shape[len(shape) - inner.ndim :]
    inner = np.asarray(inner.any(tuple(n for n, extent in enumerate(own) if extent == 1), keepdims=True))
    return None if inner.all() else np.broadcast_to(inner, shape)


def combined(monoid: str, a: Any, b: Any, mask: Array | None = None) -> Any:
    """`a ⊕ b`."""
    return pointwise(COMPUTE[as_monoid(monoid).op], HELD, mask, 1, a, b)


def folded(monoid: str, total: Any, values: Any, mask: Array | None, shape: tuple[int, ...]) -> Any:
    """The total so far, combined with the values of the mask along the first axis of that shape, in order."""
    shape = np.broadcast_shapes(np.shape(values), np.shape(mask) if mask is not None else (), shape)
    places = np.broadcast_to(True if mask is None else mask, shape)
    for value, here in zip(np.broadcast_to(values, shape), places, strict=True):
        if here.any():
            total = np.where(here, combined(monoid, total, value, here), total)[()]
    return total


def accumulate(monoid: str, values: Array, address: Array, given: Array) -> None:
    """`values[address] ⊕= given`, where several addresses may be one."""
    spend(len(address))
    for place, value in zip(address.tolist(), given.tolist(), strict=True):
        values[place] = COMPUTE[as_monoid(monoid).op](values[place], value)


def apart(got: Any, want: Any) -> Array:
    """Where two are certainly not the same, and the second has a value."""
    return np.asarray(pointwise(lambda a, b: not b.undefined and a.apart(b), TRUTH, None, 1, got, want))
