"""Values by hand: a term in Python's own numbers, and the laws of a monoid tried on a few of them.

Comes in: a term without reads and folds, and numbers for its variables. Goes out: a number, or NaN where it has no value.
The one idea: a law that a few small numbers break needs no solver to be refused, and the numbers are the reason.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import product
from typing import TypeAlias

from tinygpu.category.dtype import RANGE
from tinygpu.category.monoid import LEFT, RIGHT, Carrier
from tinygpu.category.term import FLOATS, INTEGERS, App, Const, Term, Var

Number: TypeAlias = int | float | bool
Values: TypeAlias = tuple[Number, ...]
NAN = float("nan")
MOST = 14  # values of a carrier that a law is tried on
LAWS = ("invariant", "lift", "associative", "unit", "commutative", "idempotent")

PLAIN: Mapping[str, Callable[..., Number]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "min": min, "max": max,
    "lt": lambda a, b: a < b, "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "xor": lambda a, b: a ^ b, "neg": lambda a: -a, "abs": abs,
    "floordiv": lambda a, b: a // b, "mod": lambda a, b: a % b, "div": lambda a, b: a / b, "floor": math.floor,
    "exp": lambda a: math.exp(a) if a < 700 else math.inf, "exp2": lambda a: 2.0**a if a < 1000 else math.inf,
    "log": lambda a: math.log(a) if a > 0 else -math.inf if a == 0 else NAN, "sqrt": math.sqrt, "rsqrt": lambda a: 1 / math.sqrt(a),
    "tanh": math.tanh, "sin": math.sin, "cos": math.cos, "erf": math.erf,
    "sigmoid": lambda a: 1 / (1 + math.exp(-a)) if a > -700 else 0.0,
}  # fmt: skip


def number(term: Term, env: Mapping[str, Number]) -> Number:
    """The value of a term. NaN where an operation has none.

    >>> x = Var("x", "f32")
    >>> number(App("exp", (App("sub", (x, x), "f32"),), "f32"), {"x": 2.0}), number(App("sub", (x, x), "f32"), {"x": math.inf})
    (1.0, nan)
    """
    match term:
        case Const(value):
            return value
        case Var(name):
            return env[name]
        case App("select", (condition, then, otherwise)):
            return number(then if number(condition, env) else otherwise, env)
        case App("and", args):
            return all(number(a, env) for a in args)
        case App("or", args):
            return any(number(a, env) for a in args)
        case App("not", (inner,)):
            return not number(inner, env)
        case App("cast", (inner,), dtype):
            return _wrapped(number(inner, env), dtype)
        case App(op, args, dtype):
            return _applied(op, [number(a, env) for a in args], dtype)
    raise TypeError(f"not a term of a monoid: {term!r}")


def _applied(op: str, values: list[Number], dtype: str) -> Number:
    if any(v != v for v in values):
        return NAN
    try:
        return _wrapped(PLAIN[op](*values) if len(values) < 3 else reduce(PLAIN[op], values), dtype)
    except (ValueError, ZeroDivisionError, OverflowError):
        return NAN


def _wrapped(value: Number, dtype: str) -> Number:
    if dtype in RANGE and not isinstance(value, bool):
        if value != value or value in (math.inf, -math.inf):
            return NAN
        low, high = RANGE[dtype]
        return (int(value) - low) % (high - low + 1) + low
    return float(value) if dtype in FLOATS else value


def combined(carrier: Carrier, a: Values, b: Values) -> Values:
    """`a ⊕ b`."""
    names = [v.name for side in (LEFT, RIGHT) for v in carrier.variables(side)]
    env = dict(zip(names, (*a, *b), strict=True))
    return tuple(number(term, env) for term in carrier.combination)


def lifts(carrier: Carrier) -> Iterator[tuple[Values, Values]]:
    """Arguments of lift, and what it makes of them."""
    few = {dtype: (0.0, 1.0, -1.0) if dtype in FLOATS else (0, 1, 2) for dtype in (*FLOATS, *INTEGERS)}
    names = [name for name, _ in carrier.parameters]
    for values in product(*(few[dtype] for _, dtype in carrier.parameters)):
        yield values, tuple(number(term, dict(zip(names, values, strict=True))) for term in carrier.lift)


def allowed(carrier: Carrier, value: Values) -> bool:
    """Whether a value is one of the carrier: its components finite, or the infinity that is their unit, and the invariant true."""
    for part, unit in zip(value, carrier.identity, strict=True):
        if part != part or (part in (math.inf, -math.inf) and part != unit.value):
            return False
    names = [name for name, _ in carrier.components]
    return number(carrier.invariant, dict(zip(names, value, strict=True))) is True


def values(carrier: Carrier, most: int = MOST) -> list[Values]:
    """A few values of a carrier: what lift makes, then any small ones."""
    dtypes = [dtype for _, dtype in carrier.components]
    pools = [
        tuple(dict.fromkeys((u.value, *((0.0, 1.0, -1.0, 2.0, 3.0) if d in FLOATS else (0, 1, 2, 3)))))
        for u, d in zip(carrier.identity, dtypes, strict=True)
    ]
    unit = tuple(c.value for c in carrier.identity)
    made = [value for _, value in lifts(carrier)]
    any_ = [value for value in product(*pools) if allowed(carrier, value)]
    step = max(1, len(any_) // most)
    found = dict.fromkeys([unit, *made[: most // 2], *any_[::step]])
    return [value for value in found if allowed(carrier, value)][:most]


def close(a: Values, b: Values) -> bool:
    """Whether two values are the same but for rounding; NaN is nothing's equal."""
    return all(
        x == y or (isinstance(x, float) and math.isclose(x, y, rel_tol=1e-9, abs_tol=1e-9)) for x, y in zip(a, b, strict=True)
    )


def broken(carrier: Carrier, law: str, some: Sequence[Values] | None = None) -> tuple[Values, ...] | None:
    """Values that break a law: its operands, then its two sides (or the one value that is wrong). None where those tried do not."""
    some = values(carrier) if some is None else some
    unit = tuple(c.value for c in carrier.identity)
    if law == "lift":
        return next(((v, made) for v, made in lifts(carrier) if not allowed(carrier, made)), None)
    if law == "unit":
        for a in (*some, unit):
            for side in (combined(carrier, unit, a), combined(carrier, a, unit)):
                if not close(side, a):
                    return a, side, a
        return None
    if law == "idempotent":
        return next(((a, twice, a) for a in some if not close(twice := combined(carrier, a, a), a)), None)
    for a, b in product(some, some):
        both = combined(carrier, a, b)
        if law == "invariant" and not allowed(carrier, both):
            return a, b, both
        if law == "commutative" and not close(both, combined(carrier, b, a)):
            return a, b, both, combined(carrier, b, a)
        for c in some if law == "associative" else ():
            left, right = combined(carrier, both, c), combined(carrier, a, combined(carrier, b, c))
            if not close(left, right):
                return a, b, c, left, right
    return None
