"""Numbers next to others, for which they stand: `near_f16(x)` is what x is rounded to, and over the reals x.

Comes in: a term of a program. Goes out: whether such numbers are in it, the term with the casts that they are, and where these have to be what they are. The one
idea: what is computed of a number moves as little as the number does, but for what decides; there it is what is held that counts.
"""

from __future__ import annotations

from tinygpu.category.dtype import NEAR
from tinygpu.category.monoid import Carrier
from tinygpu.category.node import kept
from tinygpu.category.operation import FUNCTION
from tinygpu.category.term import FLOATS, App, Fold, Term, children, memoised, rebuild

STEADY = (
    *("add", "sub", "mul", "div", "neg", "abs", "min", "max", "cast", "select"),
    *(name for name, row in FUNCTION.items() if name not in ("floor", "round") and (not row.partial or name == "sqrt")),
)


def is_near(term: Term) -> bool:
    """Whether a term is a number next to another one, for which it stands.

    >>> from tinygpu.category.term import Read
    >>> is_near(App("near_f16", (Read("x", (), "f32"),), "f16"))
    True
    """
    return isinstance(term, App) and term.op in NEAR


@kept
def approximate(term: Term) -> bool:
    """Whether a number next to another one stands in a term."""
    return is_near(term) or any(map(approximate, children(term)))


@memoised
def rounded(term: Term) -> Term:
    """The term with a cast for each number next to another one."""
    inner = rebuild(term, rounded)
    return App("cast", inner.args, inner.dtype) if isinstance(inner, App) and is_near(inner) else inner


def abrupt(term: Term) -> bool:
    """Whether a little more or less of an operand may be something else, or nothing: a comparison, a number of places, a divisor that is 0.

    >>> from tinygpu.category.term import Read
    >>> x = Read("x", (), "f32")
    >>> [abrupt(App(op, (x,), "f32")) for op in ("exp", "neg", "floor", "log")], abrupt(App("gt", (x, x), "bool"))
    ([False, False, True, True], True)
    """
    match term:
        case App("div", (_, by)) if approximate(by):
            return True
        case App(op, _, dtype):
            return dtype not in FLOATS or op not in STEADY
        case Fold(monoid):
            return isinstance(monoid, Carrier) or term.dtype not in FLOATS
    return True
