"""The laws of −∞: a value that is −∞ where a condition fails, by that condition and a number. (`laws` says what an `Equal` is.)

    v = (a if g else −∞)          exp v = (exp a if g else 0)          v + w = (a + b if g and h else −∞)          max_k v = max_{k | g} a

Comes in: a value. Goes out: an `Equal` to one without −∞. The one idea: ℝ ∪ {−∞} is pairs of a condition and a number, and what is computed of values is computed of the pairs.
"""

from __future__ import annotations

from typing import TypeAlias

from tinygpu.algebra.laws import Equal, equation, same
from tinygpu.algebra.polynomial import EXPONENTIALS, Unfollowed
from tinygpu.algebra.sides import above
from tinygpu.category.node import kept
from tinygpu.category.term import (
    BOOL,
    FALSE,
    FLOATS,
    INDEX,
    TRUE,
    App,
    Const,
    Fold,
    Term,
    children,
    conjunction,
    negation,
    rebuild,
    select,
    walk,
)

Masked: TypeAlias = tuple[Term, Term]  # where it is a number, and which one
LEAST = float("-inf")


def numbers(term: Term) -> Equal:
    """A value as one without −∞. Raises Unfollowed.

    >>> from tinygpu.category.term import Read, Var, text
    >>> x = App("select", (Var("i") < 3, Read("x", (), "f32"), Const(LEAST, "f32")), "f32")
    >>> text(numbers(App("exp", (x,), "f32")).right)
    'exp(x) if i < 3 else 0'
    """
    if not any(isinstance(t, Const) and t.value == LEAST for t in walk(term)):
        return same(term)
    return equation(term, _number(term), "masked")


def _number(term: Term) -> Term:
    """A value that is a number."""
    condition, value = _split(term)
    if condition != TRUE:
        raise Unfollowed("−∞ that is no score of a maximum or an exponential")
    return value


@kept
def _split(term: Term) -> Masked:
    match term:
        case Const(value) if value == LEAST:
            return FALSE, Const(0.0, term.dtype)
        case App("select", (condition, a, b)):
            (g, x), (h, y) = _split(a), _split(b)
            if h == FALSE:
                return conjunction(condition, g), x
            if g == FALSE:
                return conjunction(negation(condition), h), y
            return TRUE if g == h == TRUE else select(condition, g, h), select(condition, x, y)
        case App("add", (a, b)):
            (g, x), (h, y) = _split(a), _split(b)
            return conjunction(g, h), App("add", (x, y), term.dtype)
        case App("sub", (a, b)):
            g, x = _split(a)
            return g, App("sub", (x, _number(b)), term.dtype)
        case App("mul" | "div" as op, (a, b)) if (g := _split(a)[0]) != TRUE and above(b) == TRUE:
            return g, App(op, (_split(a)[1], _number(b)), term.dtype)
        case App("exp" | "exp2" as op, (a,)) if op in EXPONENTIALS:
            g, x = _split(a)
            return TRUE, select(g, App(op, (x,), term.dtype), Const(0.0, term.dtype))
        case Fold("max", axes, guard, body, dtype):
            g, x = _split(body)
            return TRUE, Fold("max", axes, conjunction(guard, g), x, dtype)
    if (
        not children(term)
        or term.dtype in (INDEX, BOOL)
        or (isinstance(term, App) and term.op == "cast" and term.dtype not in FLOATS)
    ):
        return TRUE, term
    return TRUE, rebuild(term, _number)
