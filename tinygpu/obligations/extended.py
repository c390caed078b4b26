"""Terms over `fin(ℝ) | −∞ | +∞` by cases: where each case holds, and the finite term, the infinity or the nothing that it gives.

    exp(−∞) = 0    −∞ + x = −∞    −∞ − −∞, 0·∞, x/0 have no value    exp(u − v) = X(u)/X(v) with X > 0

Comes in: a term, and for each of its variables a finite variable or an infinity. Goes out: guarded values, without maxima or choices.
The one idea: an infinity is never a number, so nothing that is proved of numbers is believed of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce
from typing import TypeAlias

from tinygpu.category.dtype import RANGE, stored
from tinygpu.category.operation import FUNCTION, demands
from tinygpu.category.term import (
    BOOL,
    COMPARISONS,
    FLOATS,
    TRUE,
    App,
    Const,
    Fold,
    Read,
    Term,
    Var,
    memoised,
    negation,
    rebuild,
    variables,
)

INFINITY = float("inf")
Path: TypeAlias = tuple[Term, ...]
Case: TypeAlias = tuple[Path, Term | None]  # None has no value
NOTHING = Const(float("nan"), "f64")  # one of several values that has none
FLIPPED = {"gt": "lt", "ge": "le"}


class Unfollowed(Exception):
    """An operation that says nothing of infinities stands where one may be: there is no table of cases."""


def untouched(term: Term, env: Mapping[str, Term]) -> Term:
    """The term, which no infinity of the variables is in."""
    if any(infinite(env[name]) or env[name] is NOTHING for name in variables(term) & env.keys()):
        raise Unfollowed
    return term


def cases(term: Term, env: Mapping[str, Term], path: Path = ()) -> Iterator[Case]:
    """The cases of a value under a path of guards. Guards are comparisons of finite terms."""
    match term:
        case Const():
            yield path, term
        case Var(name):
            yield path, env.get(name, term)
        case Read() | Fold():
            yield path, untouched(term, env)  # arrays hold finite numbers
        case App("select", (condition, then, otherwise)):
            for there, holds in truths(condition, env, path):
                if holds is None:
                    yield there, None
                else:
                    yield from cases(then if holds else otherwise, env, there)
        case App("min" | "max" as op, (a, b), dtype):
            for there, (x, y) in several((a, b), env, path):
                for place, less in compared("le", x, y, there):
                    yield place, None if less is None else x if less == (op == "min") else y
        case App(op) if term.dtype == BOOL:
            for there, holds in truths(term, env, path):
                yield there, None if holds is None else Const(holds, BOOL)
        case App(op, args, dtype):
            for there, values in several(args, env, path):
                yield from applied(op, values, dtype, there)


def several(args: tuple[Term, ...], env: Mapping[str, Term], path: Path) -> Iterator[tuple[Path, tuple[Term, ...]]]:
    """The cases of several values together; a case in which one has no value is a case of `Const(nan)`."""
    if not args:
        yield path, ()
        return
    for there, value in cases(args[0], env, path):
        for place, rest in several(args[1:], env, there):
            yield place, (NOTHING if value is None else value, *rest)


def truths(condition: Term, env: Mapping[str, Term], path: Path) -> Iterator[tuple[Path, bool | None]]:
    """The cases of a condition: true, false, or without a value."""
    match condition:
        case Const(bool(value)):
            yield path, value
        case App("not", (inner,)):
            for there, holds in truths(inner, env, path):
                yield there, None if holds is None else not holds
        case App("and" | "or" as op, (first, *rest)):
            for there, holds in truths(first, env, path):
                if holds == (op == "or") or not rest:
                    yield there, holds
                else:  # one operand that decides is enough, also where another has no value
                    for place, more in truths(App(op, tuple(rest), BOOL), env, there):
                        yield place, more if holds is not None or more == (op == "or") else None
        case App(op, (a, b)) if op in COMPARISONS:
            for there, (x, y) in several((a, b), env, path):
                yield from compared(op, x, y, there)
        case App("select", (chosen, then, otherwise)):
            for there, holds in truths(chosen, env, path):
                yield from ((there, None),) if holds is None else truths(then if holds else otherwise, env, there)
        case _:
            yield from split(untouched(condition, env), path)


def compared(op: str, x: Term, y: Term, path: Path) -> Iterator[tuple[Path, bool | None]]:
    """The cases of a comparison of two values: decided for numbers and infinities, else both."""
    if x is NOTHING or y is NOTHING:
        yield path, None
        return
    if op in FLIPPED:
        op, x, y = FLIPPED[op], y, x
    if op in ("lt", "ne"):
        wanted, op, (x, y) = False, "le" if op == "lt" else "eq", (y, x) if op == "lt" else (x, y)
    else:
        wanted = True
    if isinstance(x, Const) and isinstance(y, Const):
        a, b = stored(x.value, x.dtype), stored(y.value, y.dtype)
        yield path, (a <= b if op == "le" else a == b) == wanted
    elif infinite(x) or infinite(y):
        smaller = (infinite(x) and x.value < 0) or (infinite(y) and y.value > 0)  # type: ignore[union-attr]
        yield path, (smaller if op == "le" else False) == wanted
    elif x == y:
        yield path, wanted
    else:
        guard = App(op, (x, y), BOOL)
        yield from ((there, holds == wanted) for there, holds in split(guard, path))


def split(guard: Term, path: Path) -> Iterator[tuple[Path, bool]]:
    """Both cases of a guard, but for what the path says already."""
    if guard in path or negation(guard) in path:
        yield path, guard in path
        return
    yield (*path, guard), True
    yield (*path, negation(guard)), False


def infinite(value: Term) -> bool:
    """Whether a value is an infinity."""
    return isinstance(value, Const) and value.value in (INFINITY, -INFINITY)


def applied(op: str, values: tuple[Term, ...], dtype: str, path: Path) -> Iterator[Case]:
    """The cases of an operation on values."""
    if any(v is NOTHING for v in values):
        yield path, None
    elif len(values) > 2 and op != "pack":
        for there, first in applied(op, values[:2], dtype, path):
            yield from applied(op, (NOTHING if first is None else first, *values[2:]), dtype, there)
    elif any(map(infinite, values)):
        yield from _at_infinity(op, values, dtype, path)
    elif asked := demands(op, dtype):
        for there, holds in met(asked[::-1], values, path):
            yield there, App(op, values, dtype) if holds else None
    elif op in ("exp", "exp2"):
        yield path, power(op, values[0], dtype)
    else:
        yield path, App(op, values, dtype)


def met(asked: tuple[tuple[str, int, float], ...], values: tuple[Term, ...], path: Path) -> Iterator[tuple[Path, bool]]:
    """The cases in which an operation's operands are what it asks for, and in which they are not."""
    if not asked:
        yield path, True
        return
    ((relation, place, least), *others), dtype = asked, values[asked[0][1]].dtype
    for there, holds in compared(relation, values[place], Const(float(least) if dtype in FLOATS else int(least), dtype), path):
        yield from met(tuple(others), values, there) if holds else ((there, False),)


def _at_infinity(op: str, values: tuple[Term, ...], dtype: str, path: Path) -> Iterator[Case]:
    """An operation of which at least one operand is infinite."""
    signs = [(1 if v.value > 0 else -1) if isinstance(v, Const) and infinite(v) else 0 for v in values]
    if op == "sub":
        op, signs = "add", [signs[0], -signs[1]]
    match op:
        case "neg":
            yield path, Const(-signs[0] * INFINITY, dtype)
        case "cast":
            yield path, Const(signs[0] * INFINITY, dtype) if dtype in FLOATS else ends_of(dtype)[signs[0] > 0]
        case "add":
            yield path, None if signs[0] == -signs[1] else Const(sum(signs) * INFINITY, dtype)
        case "div" if signs[0] == 0:
            yield path, Const(0.0, dtype)
        case "mul" | "div" if 0 in signs:
            other, sign = values[signs.index(0)], signs[0] + signs[1]
            for there, least in compared("le", other, Const(0.0, dtype), path):
                for place, zero in compared("eq", other, Const(0.0, dtype), there) if least else ((there, False),):
                    yield place, None if zero else Const((-sign if least else sign) * INFINITY, dtype)
        case "mul":
            yield path, Const(signs[0] * signs[1] * INFINITY, dtype)
        case "div":
            yield path, None
        case _ if op in FUNCTION:
            limit = FUNCTION[op].limits[signs[0] > 0]
            yield path, None if limit is None else Const(limit, dtype)
        case _:
            raise Unfollowed


def ends_of(dtype: str) -> tuple[Const, Const]:
    """What -inf and +inf are as integers: conversions saturate."""
    low, high = RANGE.get(dtype, (0, 1))
    return (Const(low, dtype), Const(high, dtype)) if dtype != BOOL else (TRUE, TRUE)


def power(op: str, exponent: Term, dtype: str) -> Term:
    """`exp` of a sum as a product of powers of its parts.

    >>> from tinygpu.category.term import text
    >>> u, v = Var("u", "f32"), Var("v", "f32")
    >>> text(power("exp", App("sub", (u, v), "f32"), "f32")), text(power("exp", App("sub", (u, u), "f32"), "f32"))
    ('exp(u) / exp(v)', '1')
    """
    counts: dict[Term, int] = {}
    for atom, sign in _sum(exponent, 1):
        counts[atom] = counts.get(atom, 0) + sign
    above, below = (
        [App(op, (atom,), dtype) for atom, n in counts.items() for _ in range(sign * n) if atom != Const(0.0, dtype)]
        for sign in (1, -1)
    )
    one = Const(1.0, dtype)
    top, bottom = (reduce(lambda a, b: App("mul", (a, b), dtype), side) if side else one for side in (above, below))
    return App("div", (top, bottom), dtype) if below else top


@memoised
def powers(term: Term) -> Term:
    """A finite value with each `exp` of a sum outside of folds as a product of powers."""
    match term:
        case App("exp" | "exp2" as op, (exponent,), dtype):
            return power(op, powers(exponent), dtype)
        case App():
            return rebuild(term, powers)
    return term


def _sum(term: Term, sign: int) -> Iterator[tuple[Term, int]]:
    match term:
        case App("add" | "sub" as op, (a, b)):
            yield from _sum(a, sign)
            yield from _sum(b, sign if op == "add" else -sign)
        case App("neg", (a,)):
            yield from _sum(a, -sign)
        case _:
            yield term, sign
