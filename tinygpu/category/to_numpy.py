"""The functor from terms to numpy: a term over arrays of points gives the array of its values.

Comes in: a term, for each variable an integer or an array, a function that reads tensors, a mask of the points that count.
Goes out: an array that broadcasts with the variables'. The one idea: a point that is masked out is computed with whatever is there,
but is never read, never reported, and never divides by zero, so `select` and guards mean what they say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial, reduce
from typing import TypeAlias

import numpy as np

from tinygpu.category.deadline import look
from tinygpu.category.dtype import SIGNED
from tinygpu.category.monoid import LEFT, RIGHT, Carrier
from tinygpu.category.number import (
    IDEAL,
    NUMPY,
    PLAIN,
    Array,
    Tuple,
    Value,
    cast,
    chosen,
    constant,
    divided,
    folded,
    indices,
    quiet,
    real,
    rounded,
    spread,
    tabled,
    ufunc,
    unit,
    unit_of,
    unmet,
)
from tinygpu.category.operation import FUNCTION
from tinygpu.category.term import BOOL, COMPARISONS, FLOATS, INDEX, SHUFFLES, TRUE, App, Const, Fold, Read, Term, Var, variables
from tinygpu.record import dataclass, replace

Mask: TypeAlias = Array | None
Reader: TypeAlias = Callable[[Read, tuple[Value, ...], Mask], Value]
Exchange: TypeAlias = Callable[[App, Value, Value, Mask], Value]
CHUNK = 1 << 20  # points of a fold that are held at once


@dataclass(frozen=True, slots=True)
class _Context:
    """What stays the same through one evaluation."""

    read: Reader
    exact: bool
    on_zero: Callable[[Term, Array], None]
    exchange: Exchange
    undefined: bool | None = None


def no_reads(read: Read, index: tuple[Value, ...], mask: Mask) -> Value:
    """The reader of terms that read nothing."""
    raise KeyError(read.tensor)


def raise_zero(term: Term, where: Array) -> None:
    """What a division by zero does where nobody wants to know more."""
    raise ZeroDivisionError(f"an integer is divided by zero at {int(where.sum())} points")


def no_lanes(term: App, value: Value, which: Value, mask: Mask) -> Value:
    """The exchange of terms that hold no shuffle."""
    raise KeyError(term.op)


def evaluate(
    term: Term,
    env: Mapping[str, Value],
    read: Reader = no_reads,
    mask: Mask = None,
    *,
    exact: bool = False,
    on_zero: Callable[[Term, Array], None] = raise_zero,
    exchange: Exchange = no_lanes,
    undefined: bool | None = None,
) -> Value:
    """The values of `term` at the points `env`, in the term's dtype, or with all floats in float64 (`exact`; integers still wrap).

    `read(node, index, mask)` gives the elements at the index arrays, and answers for the points of the mask only (None is all).
    `on_zero(term, where)` hears of integer divisions by zero; they go on with 1 as the divisor.
    `exchange(node, value, which, mask)` gives each lane the value of the one that a shuffle means. With `undefined`, which is what a
    comparison gives of what has no value, quotients and functions have none outside of their domain, instead of IEEE's infinities. The result is an integer, a numpy
    scalar or an array that broadcasts with the variables.

    >>> i = Var("i")
    >>> evaluate(i // 4 * 4 + i % 4, {"i": np.arange(-3, 6)}).tolist(), evaluate(i // 2, {"i": -3})
    ([-3, -2, -1, 0, 1, 2, 3, 4, 5], -2)
    """
    with quiet():
        return _value(term, env, mask, _Context(read, exact, on_zero, exchange, undefined))


def _value(term: Term, env: Mapping[str, Value], mask: Mask, c: _Context) -> Value:
    if type(term) is App and term.dtype == INDEX and term.op in PLAIN:  # nearly all of an address
        return indices(term.op, [_value(a, env, mask, c) for a in term.args])
    match term:
        case Const(value, dtype):
            return constant(value, dtype, c.exact)
        case Var(name):
            return env[name]
        case Read(_, index):
            return c.read(term, tuple([_value(i, env, mask, c) for i in index]), mask)
        case App("select", (condition, then, otherwise)):
            return _choice(condition, then, otherwise, env, mask, c)
        case App("and" | "or" as op, args):
            return _logic(op, args, env, mask, c)
        case App("table", (place, *entries), dtype):
            return tabled(_value(place, env, mask, c), [_value(e, env, mask, c) for e in entries])
        case App(op, (value, which)) if op in SHUFFLES:
            return c.exchange(term, _value(value, env, mask, c), _value(which, env, mask, c), mask)
        case App("pack", args):
            return _whole(tuple([_value(a, env, mask, c) for a in args]), c)
        case App("part", (value, Const(int(place)))):
            return _value(value, env, mask, c)[place]
        case App(op, (a, b)) if isinstance(op, Carrier):
            return _joined(op, _value(a, env, mask, c), _value(b, env, mask, c), c)
        case App(op, args):
            return _apply(term, [_value(a, env, mask, c) for a in args], mask, c)
        case Fold():
            return _fold(term, env, mask, c)
    raise TypeError(f"not a term: {term!r}")


def narrow(mask: Mask, guard: Value) -> Mask:
    """The mask where the guard holds too; None is everywhere.

    >>> narrow(None, True) is None, narrow(np.array([True, True]), np.array([False, True])).tolist()
    (True, [False, True])
    """
    if guard is True:
        return mask
    return np.asarray(guard) if mask is None else np.logical_and(mask, guard)


def _choice(condition: Term, then: Term, otherwise: Term, env: Mapping[str, Value], mask: Mask, c: _Context) -> Value:
    """A choice; of an equation it has no value where its condition has none."""
    held = _value(condition, env, mask, c)
    out = _select(held, then, otherwise, env, mask, c)
    if not c.exact or c.undefined is None:
        return out
    other = _value(condition, env, mask, replace(c, undefined=not c.undefined))
    return _without_value(out, np.not_equal(held, other), c)


def _without_value(out: Value, where: Value, c: _Context) -> Value:
    """No value there: not a number, of integers and truth values one that is another where undefined comparisons have the other truth."""
    if isinstance(out, tuple):
        return tuple([_without_value(part, where, c) for part in out])
    if not np.any(where):
        return out
    kind = np.asarray(out).dtype.kind
    nothing = np.nan if kind == "f" else bool(c.undefined) if kind == "b" else np.add(out, int(bool(c.undefined)))
    return np.where(where, nothing, out).astype(np.asarray(out).dtype)


def _select(condition: Value, then: Term, otherwise: Term, env: Mapping[str, Value], mask: Mask, c: _Context) -> Value:
    """Each branch under its own mask; a branch that no point takes is not evaluated."""
    if np.ndim(condition) == 0:
        return _value(then if condition else otherwise, env, mask, c)
    yes, no = narrow(mask, condition), narrow(mask, np.logical_not(condition))
    if yes is not None and not yes.any():
        return _value(otherwise, env, no, c)
    if no is not None and not no.any():
        return _value(then, env, yes, c)
    return chosen(condition, _value(then, env, yes, c), _value(otherwise, env, no, c))


def _joined(carrier: Carrier, a: Tuple, b: Tuple, c: _Context) -> Tuple:
    """`a ⊕ b` of a carrier."""
    names = (*carrier.variables(LEFT), *carrier.variables(RIGHT))
    env = {v.name: value for v, value in zip(names, (*a, *b), strict=True)}
    return _whole(tuple([_value(term, env, None, c) for term in carrier.combination]), c, *a, *b)


def _whole(parts: Tuple, c: _Context, *given: Value) -> Tuple:
    """Components; of an equation none has a value where one of them has none, or one of those that they were made of."""
    if not c.exact or c.undefined is None:
        return parts
    where = reduce(np.logical_or, (np.isnan(p) for p in (*parts, *given) if np.asarray(p).dtype.kind == "f"), np.False_)
    return tuple([_without_value(p, where, c) for p in parts])


def _logic(op: str, args: tuple[Term, ...], env: Mapping[str, Value], mask: Mask, c: _Context) -> Value:
    """`and`, `or` from left to right, as the emitted code does: what follows is evaluated only where it is needed."""
    known = _value(args[0], env, mask, c)
    for arg in args[1:]:
        if np.ndim(known) == 0 and bool(known) == (op == "or"):
            return known
        open_ = narrow(mask, known if op == "and" else np.logical_not(known))
        more = _value(arg, env, open_, c)
        known = np.logical_and(known, more) if op == "and" else np.logical_or(known, more)
    return known


def _apply(term: App, args: list[Value], mask: Mask, c: _Context) -> Value:
    if term.dtype in IDEAL or term.args[0].dtype in IDEAL:
        return real(term, args, mask)
    match term.op:
        case "not":
            return np.logical_not(args[0])
        case "cast":
            out = cast(args[0], term.dtype, c.exact)
            if c.undefined is None or not c.exact or term.args[0].dtype not in FLOATS or term.dtype in FLOATS:
                return out
            return _without_value(out, np.isnan(args[0]), c)
        case "floordiv" | "mod" | "ceildiv":
            out = _divide(term, args[0], args[1], mask, c)
        case "div" if term.dtype not in FLOATS:
            out = _divide(term, args[0], args[1], mask, c)
        case "shl" | "shr":
            _told(term, outside := unmet(term.op, term.dtype, args), mask, c)
            out = NUMPY[term.op](args[0], np.where(outside, 0, args[1]).astype(np.asarray(args[1]).dtype))
            out = _without_value(out, outside, c) if c.exact and c.undefined is not None else out
        case "div" if c.undefined is not None:
            out = np.where(np.equal(args[1], 0), np.nan, NUMPY["div"](*args))
        case op if op in FUNCTION and FUNCTION[op].begin and c.undefined is not None:
            out = np.where(FUNCTION[op].begun(args[0]), NUMPY[op](args[0]), np.nan)
        case op if op in COMPARISONS and c.undefined and term.args[0].dtype in FLOATS:
            a, b = args
            out = NUMPY[op](a, b) | np.isnan(a) | np.isnan(b)
        case op:
            out = NUMPY[op](args[0]) if len(args) == 1 else reduce(NUMPY[op], args)
    return out if term.dtype == BOOL else rounded(out, term.dtype, c.exact)


def _divide(term: App, a: Value, b: Value, mask: Mask, c: _Context) -> Value:
    """A quotient or remainder. Integers of the data are divided only where nothing is negative, so that every machine rounds alike."""
    if term.dtype == INDEX and type(b) is int and b > 0:
        return divided(term.op, a, b)
    _told(term, unmet(term.op, term.dtype, (a, b)) if term.dtype in SIGNED and not c.exact else np.asarray(b == 0), mask, c)
    out = divided(term.op, a, b)
    if c.undefined is not None and c.exact and term.dtype in SIGNED:
        return _without_value(out, np.logical_or(np.less(a, 0), np.less_equal(b, 0)), c)
    return out


def _told(term: App, outside: Array, mask: Mask, c: _Context) -> None:
    """Who asked hears of the points where an operation on integers has no value."""
    if (where := outside if mask is None or not outside.any() else np.logical_and(outside, mask)).any():
        c.on_zero(term, where)


def _fold(fold: Fold, env: Mapping[str, Value], mask: Mask, c: _Context) -> Value:
    """The fold's points become a new first axis, as many at a time as CHUNK allows."""
    rank = max([np.ndim(v) for v in env.values()] + [np.ndim(mask) if mask is not None else 0])
    extents = [_value(axis.extent, env, mask, c) for axis in fold.axes]
    box = tuple(max(0, int(np.max(e, initial=0))) for e in extents)
    points = int(np.prod(box, dtype=np.int64))
    used = variables(fold)
    width = np.broadcast_shapes(*(np.shape(env[name]) for name in used if name in env), () if mask is None else mask.shape)
    step = max(1, CHUNK // max(1, int(np.prod(width, dtype=np.int64))))
    carrier = fold.monoid if isinstance(fold.monoid, Carrier) else None
    total = unit_of(carrier, c.exact) if carrier else unit(fold.monoid, fold.dtype, c.exact)
    for low in range(0, points, step):
        look()
        count = min(step, points - low)
        places = np.unravel_index(np.arange(low, low + count), box)
        inner = dict(env)
        inside = mask
        for axis, place, extent in zip(fold.axes, places, extents, strict=True):
            inner[axis.name] = place.reshape((count,) + (1,) * rank)
            if np.ndim(extent):
                inside = narrow(inside, inner[axis.name] < extent)
        if fold.guard != TRUE:
            inside = narrow(inside, _value(fold.guard, inner, inside, c))
        values = _value(fold.body, inner, inside, c)
        held = inside if fold.guard != TRUE or any(map(np.ndim, extents)) else None
        shape = (count,) + (1,) * rank
        if carrier is None:
            total = _combine(fold, total, values, inside if fold.dtype in IDEAL else held, shape, c)
        else:
            columns = spread(carrier, values, held, shape, c.exact)
            total = _joined(carrier, total, folded(columns, partial(_joined, carrier, c=c)), c)
    return total


def _combine(fold: Fold, total: Value, values: Value, held: Mask, shape: tuple[int, ...], c: _Context) -> Value:
    """The total so far, combined with the values along their first axis; outside `held` a value is the unit."""
    if fold.dtype in IDEAL:
        return IDEAL[fold.dtype].folded(fold.monoid, total, values, held, shape)
    values = values if held is None else np.where(held, values, unit(fold.monoid, fold.dtype, c.exact))
    values = rounded(values, fold.dtype, c.exact)
    values = np.broadcast_to(values, np.broadcast_shapes(np.shape(values), shape))
    combine = ufunc(fold.monoid)
    if fold.dtype == "bf16" and not c.exact:
        return reduce(lambda a, b: rounded(combine(a, b), fold.dtype), values, total)
    return combine(total, combine.reduce(values, axis=0, dtype=values.dtype))
