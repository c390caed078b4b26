"""Terms in Python's own numbers, one point at a time: the plainest interpreter, and the one the others are compared with.

Comes in: a term without reads and folds, and the values of its variables. Goes out: of an index or a guard an exact integer or a truth value;
of a value a number, NaN where it has none. The one idea: brute force must be too simple to be wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from tinygpu.category.dtype import RANGE
from tinygpu.category.operation import domain
from tinygpu.category.term import FLOATS, FOLDED, App, Const, Term, Var, text

Number: TypeAlias = int | float | bool
Compute: TypeAlias = Callable[[App, list[Any]], Any]
NAN = float("nan")
PLAIN = domain(
    math,
    exp=lambda a: math.exp(a) if a < 700 else math.inf,
    round=lambda a: float(round(a)) if math.isfinite(a) else a,
    log=lambda a: math.log(a) if a > 0 else -math.inf if a == 0 else NAN,
)


def evaluate(term: Term, values: Mapping[str, int]) -> int:
    """`term → ℤ` at one point: the value of an index or a guard. Raises ValueError for reads, folds and values.

    >>> evaluate(Var("i") // 4 * 4 + Var("i") % 4, {"i": 11})
    11
    >>> from tinygpu.category.term import lift
    >>> evaluate(App("table", (Var("i"), lift(5), lift(7))), {"i": 1})
    7
    """
    return _evaluated(term, values, _index)  # type: ignore[no-any-return]


def number(term: Term, values: Mapping[str, Number]) -> Number:
    """The value of a term at one point. NaN where an operation has none.

    >>> x = Var("x", "f32")
    >>> number(App("exp", (App("sub", (x, x), "f32"),), "f32"), {"x": 2.0}), number(App("sub", (x, x), "f32"), {"x": math.inf})
    (1.0, nan)
    """
    return _evaluated(term, values, _number)  # type: ignore[no-any-return]


def _evaluated(term: Term, values: Mapping[str, Any], compute: Compute) -> Any:
    match term:
        case Const(value) if isinstance(value, int) or compute is _number:
            return value
        case Var(name):
            return values[name]
        case App("and", args):
            return all(_evaluated(arg, values, compute) for arg in args)
        case App("or", args):
            return any(_evaluated(arg, values, compute) for arg in args)
        case App("not", (arg,)):
            return not _evaluated(arg, values, compute)
        case App("select", (condition, then, otherwise)):
            return _evaluated(then if _evaluated(condition, values, compute) else otherwise, values, compute)
        case App("table", (index, *entries)):
            place = _evaluated(index, values, compute)
            if not 0 <= place < len(entries):
                raise ValueError(f"entry {place} of a table of {len(entries)}")
            return _evaluated(entries[place], values, compute)
        case App(_, args):
            return compute(term, [_evaluated(arg, values, compute) for arg in args])
    raise ValueError(f"{text(term)} has no value at a point")


def _index(term: App, args: list[int]) -> int:
    if term.op != "neg" and (term.op not in FOLDED or len(args) != 2):
        raise ValueError(f"{text(term)} is not an index term")
    return PLAIN[term.op](*args)  # type: ignore[no-any-return]


def _number(term: App, args: list[Number]) -> Number:
    if any(a != a for a in args):
        return NAN
    try:
        return wrapped(args[0] if term.op == "cast" else PLAIN[term.op](*args), term.dtype)
    except (ValueError, ZeroDivisionError, OverflowError):
        return NAN


def cast(term: Term, dtype: str) -> Term:
    """`dtype(term)`; a whole number of a dtype is written as the one of the other.

    >>> cast(Const(-1, "i32"), "u8"), text(cast(Var("x", "i32"), "u8"))
    (Const(value=255, dtype='u8'), 'u8(x)')
    """
    if isinstance(term, Const) and {dtype, term.dtype} <= RANGE.keys():
        return Const(wrapped(term.value, dtype), dtype)
    return App("cast", (term,), dtype)


def wrapped(value: Number, dtype: str) -> Number:
    """A number as a dtype has it, but for rounding: integers wrap, and infinities are none."""
    if dtype in RANGE and not isinstance(value, bool):
        if value != value or value in (math.inf, -math.inf):
            return NAN
        low, high = RANGE[dtype]
        return (int(value) - low) % (high - low + 1) + low
    return float(value) if dtype in FLOATS else value
