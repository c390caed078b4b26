"""Functions that are made of what there is already, and functions of the bits of integers.

    pow(x, 3) = x·x·x        pow(x, -2) = 1 / (x·x)        pow(x, y) = exp(y · log(x))        mulhi(a, b) = a·b >> 32

Comes in: the terms of a call's arguments. Goes out: a term, or a message. The one idea: a power by a whole number that is written is a product, which
every number has; any other has a value where its base is above 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from tinygpu.category.bits import digits
from tinygpu.category.dtype import NEAR, NIBBLES, RANGE
from tinygpu.category.evaluate import cast
from tinygpu.category.operation import COUNTS
from tinygpu.category.term import FLOATS, INTEGERS, App, Const, Term
from tinygpu.model.dtype import LITERAL, OPEN, meet, not_offered, offered, settle
from tinygpu.model.problems import UNKNOWN, WRONG
from tinygpu.model.scope import Scope
from tinygpu.syntax import tree

Make: TypeAlias = Callable[[str, tuple[Term, ...], tree.Call, Scope], Term]
LONG = 16  # of a power that is written out as a product


def power(_: str, given: tuple[Term, ...], expr: tree.Call, scope: Scope) -> Term:
    """`pow(base, exponent)`."""
    exponent = given[1]
    written = exponent.value if isinstance(exponent, Const) and exponent.dtype == LITERAL else None
    a, b, dtype = meet(given[0], exponent, (expr.args[0].span, expr.args[1].span), scope.problems)
    if dtype == UNKNOWN or dtype not in FLOATS:
        return WRONG if dtype == UNKNOWN else not_offered("pow", dtype, expr.span, scope.problems)
    if written is not None and abs(written) <= LONG and written == int(written):
        one = Const(1.0, dtype)
        whole = product(a, abs(int(written)), dtype) if written else one
        return App("div", (one, whole), dtype) if written < 0 else whole
    return App("exp", (App("mul", (b, App("log", (a,), dtype)), dtype),), dtype)


def product(term: Term, times: int, dtype: str) -> Term:
    """A term times itself, so many times; both halves of the product are one term.

    >>> from tinygpu.category.term import Var, text
    >>> text(product(Var("x", "f32"), 5, "f32"))
    'x*x*(x*x)*x'
    """
    if times == 1:
        return term
    half = product(term, times // 2, dtype)
    square = App("mul", (half, half), dtype)
    return App("mul", (square, term), dtype) if times % 2 else square


def counted(name: str, given: tuple[Term, ...], expr: tree.Call, scope: Scope) -> Term:
    """`popcount(x)`."""
    dtype = given[0].dtype
    if not offered(name, dtype):
        return scope.problems.say("TG122.unsigned", expr.span, sign=name, kind=dtype if dtype in INTEGERS else "this")
    return App(name, given, dtype)


def high(_: str, given: tuple[Term, ...], expr: tree.Call, scope: Scope) -> Term:
    """`mulhi(a, b)`: the upper 32 bits of a product of 64."""
    a, b, dtype = meet(given[0], given[1], (expr.args[0].span, expr.args[1].span), scope.problems)
    if dtype not in ("u32", "i32"):
        return WRONG if dtype == UNKNOWN else scope.problems.say("TG122.high", expr.span, kind="this" if dtype in OPEN else dtype)
    wide = "u64" if dtype == "u32" else "i64"
    if isinstance(a, Const) and isinstance(b, Const):
        return Const(int(a.value) * int(b.value) >> 32, dtype)
    whole = App("mul", (cast(a, wide), cast(b, wide)), wide)
    return App("cast", (digits(App("shr", (whole, Const(32, wide)), wide)),), dtype)


def near(name: str, given: tuple[Term, ...], expr: tree.Call, scope: Scope) -> Term:
    """`near_f16(x)`: a number of that dtype next to one of f32, for which it stands."""
    (inner,) = given
    number = settle(inner, "f32", expr.args[0].span, scope.problems)
    if number.dtype not in ("f32", UNKNOWN):
        return not_offered(name, number.dtype, expr.span, scope.problems)
    return WRONG if number.dtype == UNKNOWN else App(name, (number,), NEAR[name])


OWN: Mapping[str, Make] = {
    "pow": power,
    "mulhi": high,
    **dict.fromkeys(COUNTS, counted),
    **dict.fromkeys(NEAR, near),
}


def converted(number: Term, dtype: str) -> Term:
    """A number cast to a dtype; a float to 4 bits by way of i32, which ends where these end."""
    if dtype not in NIBBLES or number.dtype not in FLOATS:
        return cast(number, dtype)
    low, high = (Const(end, "i32") for end in RANGE[dtype])
    return cast(App("min", (App("max", (cast(number, "i32"), low), "i32"), high), "i32"), dtype)
