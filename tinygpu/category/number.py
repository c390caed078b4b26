"""Numbers of the dtypes, in numpy: how values are held, rounded, cast, divided and folded, and what operations compute of them.

Comes in: a dtype of `category.term` and arrays. Goes out: arrays whose every value is one that the dtype has.
The one idea: what numpy does not compute with is held as the float32 or the byte of that value, and `exact` holds every float as float64 (integers
still wrap). A value of several components is a tuple of arrays.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import reduce
from typing import Any, TypeAlias

import numpy as np

from tinygpu.category import balls, reals
from tinygpu.category.balls import BALL
from tinygpu.category.dtype import DTYPE, NIBBLES, PACKED, RANGE, REGISTER
from tinygpu.category.encoding import bits_of, nearest_of, of_bits
from tinygpu.category.monoid import Carrier, as_monoid, neutral
from tinygpu.category.operation import OPERATION, demands, domain
from tinygpu.category.real import REAL, of
from tinygpu.category.term import BOOL, FLOATS, INDEX, App, Const

Array: TypeAlias = np.ndarray[Any, Any]
Value: TypeAlias = Any  # an int or a bool, a numpy scalar, or an array of them

Tuple: TypeAlias = tuple[Value, ...]

IDEAL = {
    REAL: reals,
    BALL: balls,
}  # dtypes of numbers that are not rounded, or say how far they may be off, and who computes with them
HELD: Mapping[str, np.dtype[Any]] = {
    INDEX: np.dtype(np.int64),
    **{dtype: domain.HELD for dtype, domain in IDEAL.items()},
    **{row.name: np.dtype(row.numpy if hasattr(np, row.numpy) else DTYPE[REGISTER[row.name]].numpy) for row in DTYPE.values()},
}
NUMPY = domain(
    np,
    min=lambda a, b: min(a, b) if isinstance(a, int) and isinstance(b, int) else np.minimum(a, b),
    max=lambda a, b: max(a, b) if isinstance(a, int) and isinstance(b, int) else np.maximum(a, b),
    shl=np.left_shift,
    shr=np.right_shift,
    popcount=np.bitwise_count,
    erf=lambda x: np.asarray(np.frompyfunc(math.erf, 1, 1)(np.asarray(x, np.float64)), np.float64)[()],
)


QUIET = nullcontext()
PLAIN: Mapping[str, Callable[[Value, Value], Value]] = {"add": operator.add, "sub": operator.sub, "mul": operator.mul}
LARGE = 1 << 62
ABSENT = tuple(name for name in FLOATS if HELD[name].name != DTYPE[name].numpy)  # floats of which numpy has none


def ufunc(monoid: str) -> np.ufunc:
    """What numpy folds with."""
    return getattr(np, OPERATION[as_monoid(monoid).op].ufunc)  # type: ignore[no-any-return]


def held(dtype: str, exact: bool = False) -> np.dtype[Any]:
    """The numpy dtype in which values of `dtype` are held.

    >>> held("bf16").name, held("f16", exact=True).name, held("u8", exact=True).name
    ('float32', 'float64', 'uint8')
    """
    return HELD["f64"] if exact and dtype in FLOATS else HELD[dtype]


def quiet() -> AbstractContextManager[object]:
    """Arithmetic without warnings: what is too large is infinite, what has no value NaN, unless who asks wants it raised."""
    now = np.geterr()
    if {*now.values()} <= {"ignore", "raise"}:  # as it is inside of a run
        return QUIET
    return np.errstate(**{what: "raise" if how == "raise" else "ignore" for what, how in now.items()})  # type: ignore[arg-type]


def rounded(values: Value, dtype: str, exact: bool = False) -> Value:
    """Values of the right kind, rounded (floats) or wrapped (integers) to `dtype`. Index values may stay Python integers."""
    if dtype == INDEX and isinstance(values, int):
        return values
    if dtype in IDEAL:
        return IDEAL[dtype].made(values)
    target = held(dtype, exact)
    if not isinstance(values, np.ndarray | np.generic):
        values = np.asarray(values)
    if dtype in ABSENT and not exact:
        return nearest_of(values, dtype)
    out = values if values.dtype == target else values.astype(target)
    if dtype in NIBBLES:
        low, high = RANGE[dtype]
        out = ((out - low) & (high - low)) + low
    return out


def cast(values: Value, dtype: str, exact: bool = False) -> Value:
    """The language's cast: to a float rounds, float to integer truncates towards zero and saturates (NaN gives 0), integers wrap.

    >>> cast(np.array([-1.5, 300.0, 2.9]), "u8").tolist(), cast(np.array([300]), "u8").tolist(), float(cast(7, "f32"))
    ([0, 255, 2], [44], 7.0)
    """
    array = np.asarray(values)
    if array.dtype.kind == "f" and dtype != BOOL and dtype not in FLOATS:
        low, high = RANGE.get(dtype, RANGE["i64"])
        below, above = array <= low, array >= high
        inside = np.where(below | above | np.isnan(array), 0, np.trunc(array)).astype(held(dtype))
        return np.where(below, low, np.where(above, high, inside)).astype(held(dtype))[()]
    return rounded(array[()], dtype, exact)


def constant(value: int | float | bool, dtype: str, exact: bool = False) -> Value:
    """A literal of that dtype; index literals are Python integers."""
    if dtype == INDEX:
        return int(value)
    return rounded(np.asarray(value)[()], dtype, exact)


def load(array: Any, dtype: str, exact: bool = False) -> Array:
    """An array of the outside, held as `dtype`: also those of ml_dtypes, and floats of 8 and 16 bits given as their bits."""
    outside = np.asarray(array)
    if dtype in IDEAL:
        return outside
    if dtype in PACKED and outside.dtype == f"uint{DTYPE[dtype].bits}":
        outside = of_bits(outside, dtype)
    elif outside.dtype.kind not in "biuf":
        outside = outside.astype(np.float32)
    with quiet():
        return np.asarray(rounded(rounded(outside, dtype), dtype, exact))


def zeros(shape: tuple[int, ...] | int, dtype: np.dtype[Any]) -> Array:
    """An array of nothing but 0."""
    return np.full(shape, of(0), dtype) if dtype == np.object_ else np.zeros(shape, dtype)


def unwritten(size: int, dtype: str) -> Array:
    """An array that nobody has written: floats have no value, the others are 0."""
    return np.full(size, IDEAL[dtype].UNDEFINED if dtype in IDEAL else np.nan if dtype in FLOATS else 0, held(dtype))


def combined(monoid: str, dtype: str, a: Value, b: Value, mask: Array | None) -> Value:
    """`a ⊕ b` of numbers, where the mask holds."""
    return IDEAL[dtype].combined(monoid, a, b, mask) if dtype in IDEAL else ufunc(monoid)(a, b)


def accumulate(monoid: str, values: Array, address: Array, given: Array) -> None:
    """`values[address] ⊕= given`, where several addresses may be one."""
    numbers = next((numbers for numbers in IDEAL.values() if values.dtype == numbers.HELD), None)
    if numbers is not None:
        numbers.accumulate(monoid, values, address, given)
        return
    with quiet():
        ufunc(monoid).at(values, address, given)


def as_float(value: Value) -> float:
    """A number that is not rounded as one that is."""
    return float(value.real if isinstance(value, complex) else value)


def real(term: App, args: list[Value], mask: Array | None) -> Value:
    """What real numbers are made of, or what is asked of them."""
    numbers = IDEAL[term.dtype if term.dtype in IDEAL else term.args[0].dtype]
    if term.op != "cast":
        return numbers.apply(term.op, args, mask)
    return numbers.made(args[0]) if term.dtype in IDEAL else numbers.cast(args[0], held(term.dtype), mask)


def outside_dtype(dtype: str) -> np.dtype[Any]:
    """The numpy dtype that people use for `dtype`: for what numpy lacks that of ml_dtypes where it is installed, else its bits, as launchers take them."""
    if dtype not in ABSENT or dtype not in PACKED:
        return HELD[dtype]
    try:
        import ml_dtypes
    except ImportError:
        return np.dtype(f"uint{DTYPE[dtype].bits}")
    return np.dtype(getattr(ml_dtypes, DTYPE[dtype].numpy))


def outside(values: Value, dtype: str) -> Array:
    """Values as an array of the outside: what `load` makes of it are these values, as the dtype has them."""
    kind = outside_dtype(dtype)
    with quiet():
        return bits_of(values, dtype) if kind.kind == "u" and dtype in PACKED else np.asarray(values).astype(kind)


def unit(monoid: str, dtype: str, exact: bool = False) -> Value:
    """What a fold over nothing gives."""
    found = neutral(monoid, "f64" if dtype in IDEAL else dtype)
    assert isinstance(found, Const), "of one component"
    return rounded(np.asarray(found.value)[()], dtype, exact)


def unmet(op: str, dtype: str, args: Sequence[Value]) -> Array:
    """Where an operation on integers has no value.

    >>> unmet("shr", "u8", (np.arange(3), np.array([7, 8, 0]))).tolist()
    [False, True, False]
    """
    asked = (np.logical_not(OPERATION[how].apply(args[place], number)) for how, place, number in demands(op, dtype))  # type: ignore[misc]
    return np.asarray(reduce(np.logical_or, asked))


def indices(op: str, args: Sequence[Value]) -> Value:
    """Sums, differences and products of indices; those of Python's integers are one, unless arrays could not hold it."""
    out = reduce(PLAIN[op], args)
    if isinstance(out, int):
        return out if -LARGE < out < LARGE else reduce(NUMPY[op], args)
    return rounded(out, INDEX)


def divided(op: str, a: Value, b: Value) -> Value:
    """Euclidean division of integers, by 1 where by 0: the remainder is never negative. Of positive divisors it is Python's and numpy's own."""
    if type(b) is int and b > 0:
        return a % b if op == "mod" else -(-a // b) if op == "ceildiv" else a // b
    zero, negative = np.asarray(b == 0), np.less(b, 0)
    if zero.any():
        b = np.where(zero, np.asarray(b).dtype.type(1), b)
    size = np.where(negative, -b, b) if negative.any() else b
    if op == "mod":
        return a % size
    if op == "ceildiv":
        return -(-a // b)
    quotient = a // size
    return np.where(negative, -quotient, quotient) if negative.any() else quotient


def chosen(condition: Value, then: Value, otherwise: Value) -> Value:
    """`np.where`, also of the components of a carrier's values."""
    if isinstance(then, tuple):
        return tuple(np.where(condition, a, b) for a, b in zip(then, otherwise, strict=True))
    return np.where(condition, then, otherwise)


def tabled(place: Value, entries: Sequence[Value]) -> Value:
    """The entry at a place, the nearest one where there is none."""
    shape = np.broadcast_shapes(*(np.shape(e) for e in (place, *entries)))
    table = np.stack([np.broadcast_to(e, shape) for e in entries])
    return np.take_along_axis(table, np.clip(np.broadcast_to(place, shape), 0, len(entries) - 1)[None], 0)[0]


def unit_of(carrier: Carrier, exact: bool) -> Tuple:
    """The components of the unit."""
    return tuple(constant(c.value, c.dtype, exact) for c in carrier.identity)


def spread(carrier: Carrier, values: Tuple, held: Value, shape: tuple[int, ...], exact: bool) -> Tuple:
    """Components with the fold's points as their first axis, the unit where they are not held."""
    full = np.broadcast_shapes(shape, *map(np.shape, values), () if held is None else np.shape(held))
    out = values if held is None else chosen(held, values, unit_of(carrier, exact))
    dtypes = (dtype for _, dtype in carrier.components)
    return tuple(np.broadcast_to(rounded(v, dtype, exact), full) for v, dtype in zip(out, dtypes, strict=True))


def folded(values: Tuple, combine: Callable[[Tuple, Tuple], Tuple]) -> Tuple:
    """The fold of components along the first axis of at least one value: neighbours are combined, then neighbours of those, so a fold of n
    values takes log n steps and needs no commutativity.

    >>> sums, counts = folded((np.arange(5), np.ones(5, int)), lambda a, b: (a[0] + b[0], a[1] + b[1]))
    >>> int(sums), int(counts)
    (10, 5)
    """
    while (count := len(values[0])) > 1:
        whole = count // 2 * 2
        both = combine(tuple(v[0:whole:2] for v in values), tuple(v[1:whole:2] for v in values))
        values = tuple(
            np.concatenate((np.broadcast_to(n, v[0:whole:2].shape), v[whole:])) for n, v in zip(both, values, strict=True)
        )
    return tuple(v[0] for v in values)
