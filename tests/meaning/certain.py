"""A value, and what rounding leaves of it: sure, or one float of which only the origin is known.

Comes in: numbers. Goes out: numbers with their certainty. The one idea: stored values, and what minima, maxima and signs make of them, are what
they are; what is computed is rounded, and nobody knows which way a comparison of it falls.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tests.meaning.values import UNDEFINED, Number

Value: TypeAlias = tuple[Number, Any]  # a number, and `True` or a `Rounded`; of a carrier, a tuple of these, and True


@dataclass(frozen=True, slots=True)
class Rounded:
    """Not sure: rounding stands between stored values and this one. Two values of one origin and one sign are one float, whatever it is.

    The origin of one comparison is what is compared; `negative` is then that it is denied.
    """

    origin: object = field(default_factory=object)
    negative: bool = False

    def __bool__(self) -> bool:
        return False


def both(absorbing: bool, a: Value, b: Value) -> Value:
    """`and` or `or` of two truths."""
    decided = [one for one in (a, b) if one[0] is absorbing]
    if any(one[1] is True for one in decided):
        return absorbing, True
    sure = a[1] if b[1] is True else b[1] if a[1] is True else Rounded()
    if decided:
        return absorbing, sure
    return (UNDEFINED if UNDEFINED in (a[0], b[0]) else not absorbing), sure


def of_test(op: str, a: Value, b: Value) -> Rounded:
    """What is known of a comparison of two floats, one of them rounded: as `a < b` or `a == b`, perhaps denied."""
    if op in ("gt", "le"):
        a, b = b, a
    one, two = ((sure.origin, sure.negative) if isinstance(sure, Rounded) else number for number, sure in (a, b))
    return Rounded(("eq" if op in ("eq", "ne") else "lt", one, two), op in ("ge", "le", "ne"))


def certainty(op: str, args: list[Value], exact: bool) -> bool | Rounded:
    """What is known of a result: sure if it is `exact` and all operands are."""
    if exact and all(s is True for _, s in args):
        return True
    first = args[0][1]
    if op in ("min", "max") and isinstance(first, Rounded) and all(s == first for _, s in args):
        return first
    if op == "neg" and isinstance(first, Rounded):
        return Rounded(first.origin, not first.negative)
    if op == "not" and isinstance(first, Rounded):
        return Rounded(first.origin, not first.negative)
    return Rounded()


def undefined_like(value: Value) -> Value:
    """Undefined, in every component."""
    if isinstance(value[0], tuple):
        return tuple(undefined_like(one) for one in value[0]), True
    return UNDEFINED, value[1]


def is_undefined(value: Value) -> bool:
    """Whether a value, or one of its components, is undefined."""
    return any(map(is_undefined, value[0])) if isinstance(value[0], tuple) else value[0] is UNDEFINED
