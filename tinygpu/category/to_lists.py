"""The functor from terms to lists: a term over points gives its value at each of them, in plain Python.

Comes in: a term, points with the values of its variables, and what reads tensors. Goes out: a number where the value is the same at all
points, else a list. The one idea: a guard leaves fewer points, so that what does not count is never computed; it is `to_numpy` for what is
so small that loading numpy would take longer.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from math import prod
from typing import Protocol

from tinygpu.category.carrier import pack
from tinygpu.category.listed import (
    BINARY,
    EXACT,
    FLOATING,
    REAL,
    ROUGH,
    Beyond,
    Listed,
    Number,
    cast,
    combining,
    euclid,
    mapped,
    operation,
    rounded,
    unit,
)
from tinygpu.category.monoid import LEFT, MONOIDS, RIGHT, SCALARS, Definition
from tinygpu.category.points import Points
from tinygpu.category.term import BOOL, FLOATS, INDEX, SHUFFLES, TRUE, App, Axis, Const, Fold, Read, Term, Var, variables
from tinygpu.record import dataclass

SIGNED = ("i8", "i32", "i64")
DEEP = 1 << 5  # points that take as long as one function of a number that is not rounded


class Context(Protocol):
    """What terms are evaluated in. With `exact` floats are not rounded."""

    exact: bool

    def read(self, node: Read, index: list[Listed], at: Points) -> Listed:
        """The elements at the points."""

    def exchange(self, node: App, value: Listed, which: Listed, at: Points) -> Listed:
        """What a shuffle gives."""

    def zero(self, term: Term, at: Points, bad: list[int]) -> None:
        """Hears of points at which there is no quotient; they go on with 1 for a divisor of 0."""

    def rough(self) -> None:
        """Hears that a value may differ from numpy's in the last digits."""

    def spend(self, points: int) -> None:
        """Hears of the work; raises Beyond where it is too much."""


@dataclass(slots=True, eq=False, repr=False)
class Plain:
    """The context of index terms: nothing is read, nothing is divided by zero."""

    exact: bool = True

    def read(self, node: Read, index: list[Listed], at: Points) -> Listed:
        """Raises KeyError."""
        raise KeyError(node.tensor)

    def exchange(self, node: App, value: Listed, which: Listed, at: Points) -> Listed:
        """Raises KeyError."""
        raise KeyError(node.op)

    def zero(self, term: Term, at: Points, bad: list[int]) -> None:
        """Raises ZeroDivisionError."""
        raise ZeroDivisionError(f"an integer is divided by zero at {len(bad)} points")

    def rough(self) -> None:
        """Nobody compares digits."""

    def spend(self, points: int) -> None:
        """Nobody counts."""


PLAIN = Plain()


def evaluate(term: Term, at: Points, c: Context = PLAIN) -> Listed:
    """`term × points → number or list`, in the term's dtype; tuples of a carrier. Raises Beyond for what only numpy computes.

    >>> i = Var("i")
    >>> evaluate(i // 4 * 4 + i % 4, Points(5, {"i": [-3, -2, -1, 0, 1]})), evaluate(i // 2, Points(5, {"i": -3}))
    ([-3, -2, -1, 0, 1], -2)
    """
    match term:
        case Const(value, dtype):
            return value if dtype in (INDEX, BOOL) else rounded(value, dtype, c.exact)
        case Var(name):
            return at[name]
        case Read(_, index):
            return c.read(term, [evaluate(i, at, c) for i in index], at)
        case App("select", (condition, then, otherwise)):
            return _select(condition, then, otherwise, at, c)
        case App("and" | "or" as op, args):
            return _logic(op, args, at, c)
        case App("table", (place, *entries)):
            columns = [evaluate(e, at, c) for e in entries]
            return mapped(lambda p, *all: all[max(0, min(p, len(all) - 1))], evaluate(place, at, c), *columns)
        case App(op, (value, which)) if op in SHUFFLES:
            return c.exchange(term, evaluate(value, at, c), evaluate(which, at, c), at)
        case App("pack", args, dtype):
            definition_of(dtype)
            return mapped(lambda *parts: parts, *(evaluate(a, at, c) for a in args))
        case App("part", (value, Const(int(place)))):
            return mapped(lambda v: v[place], evaluate(value, at, c))
        case App(op, (a, b), dtype) if op == dtype:
            return mapped(joining(op, c), evaluate(a, at, c), evaluate(b, at, c))
        case App(op, args):
            return _apply(term, [evaluate(a, at, c) for a in args], at, c)
        case Fold():
            return _fold(term, at, c)
    raise TypeError(f"not a term: {term!r}")


def definition_of(carrier: str) -> Definition:
    """The monoid of a carrier whose floats are not rounded. Raises Beyond for others: their last digits would not be numpy's."""
    definition = MONOIDS[carrier].definition if carrier in MONOIDS else None
    if definition is None or any(dtype in FLOATS for _, dtype in definition.carrier.components):
        raise Beyond(carrier)
    return definition


def joining(carrier: str, c: Context) -> Callable[[Number, Number], Number]:
    """How two values of a carrier are combined."""
    terms = definition_of(carrier).combine
    return lambda a, b: tuple(evaluate(term, Points(1, {LEFT: a, RIGHT: b}), c) for term in terms)


def held(guard: Term, at: Points, c: Context) -> Points | None:
    """The points at which the guard holds, None if there is none."""
    if guard == TRUE:
        return at
    found = evaluate(guard, at, c)
    picks = [n for n, h in enumerate(found) if h] if isinstance(found, list) else range(at.size if found else 0)
    return at.some(list(picks), variables(guard)) if picks else None


def _select(condition: Term, then: Term, otherwise: Term, at: Points, c: Context) -> Listed:
    """Each branch at its own points; a branch that no point takes is not evaluated."""
    known = evaluate(condition, at, c)
    if not isinstance(known, list):
        return evaluate(then if known else otherwise, at, c)
    seen, out = variables(condition), [None] * at.size
    for branch, word in ((then, True), (otherwise, False)):
        picks = [n for n, k in enumerate(known) if bool(k) is word]
        if picks:
            few = evaluate(branch, at.some(picks, seen), c)
            for n, v in zip(picks, few if isinstance(few, list) else [few] * len(picks), strict=True):
                out[n] = v
    return out


def _logic(op: str, args: tuple[Term, ...], at: Points, c: Context) -> Listed:
    """`and`, `or` from left to right: what follows is evaluated only where it is needed."""
    known, seen = evaluate(args[0], at, c), variables(args[0])
    for arg in args[1:]:
        if not isinstance(known, list):
            if bool(known) == (op == "or"):
                return known
            known = evaluate(arg, at, c)
        else:
            picks = [n for n, k in enumerate(known) if bool(k) is (op == "and")]
            if picks:
                more = evaluate(arg, at.some(picks, seen), c)
                for n, v in zip(picks, more if isinstance(more, list) else [more] * len(picks), strict=True):
                    known[n] = v
        seen |= variables(arg)
    return known


def _apply(term: App, args: list[Listed], at: Points, c: Context) -> Listed:
    op, dtype = term.op, term.dtype
    c.spend(at.size * (DEEP if dtype == REAL and op in ROUGH else 1))
    match op:
        case "not":
            return mapped(lambda v: not v, args[0])
        case "cast":
            return cast(args[0], term.args[0].dtype, dtype, c.exact)
        case "neg":
            out = mapped(lambda v: -v, args[0])
        case "floordiv" | "mod" | "ceildiv":
            out = _divide(term, args[0], args[1], at, c)
        case "div" if dtype not in FLOATING:
            out = _divide(term, args[0], args[1], at, c)
        case _ if dtype == REAL:
            out = reduce(partial(mapped, operation(op, dtype)), args) if len(args) > 1 else mapped(operation(op, dtype), *args)
        case _ if op in EXACT:
            out = mapped(EXACT[op], args[0])
        case _ if op in ROUGH:
            c.rough()
            out = mapped(ROUGH[op], args[0])
        case _ if op in BINARY:
            out = reduce(partial(mapped, operation(op, dtype)), args)
        case _:
            raise Beyond(op)
    return rounded(out, dtype, c.exact)


def _divide(term: App, a: Listed, b: Listed, at: Points, c: Context) -> Listed:
    """Euclidean; integers of the data are divided only where nothing is negative."""
    if term.dtype in FLOATING:
        raise Beyond(term.op)
    data = term.dtype in SIGNED and not c.exact
    wrong = mapped(lambda x, y: y == 0 or (data and (x < 0 or y < 0)), a, b)
    if isinstance(wrong, list):
        bad = [n for n, w in enumerate(wrong) if w]
    else:
        bad = list(range(at.size)) if wrong else []
    if bad:
        c.zero(term, at, bad)
    return mapped(lambda x, y: euclid(term.op, x, y), a, b)


def box_of(axes: tuple[Axis, ...], at: Points, c: Context) -> tuple[list[Listed], tuple[int, ...]]:
    """The extents of the axes, and the smallest box that has room for all of them."""
    extents = [evaluate(axis.extent, at, c) for axis in axes]
    return extents, tuple(max(0, max(e, default=0) if isinstance(e, list) else e) for e in extents)


def _fold(fold: Fold, at: Points, c: Context) -> Listed:
    """Every point with all points of the fold, combined in order."""
    extents, box = box_of(fold.axes, at, c)
    scalar = fold.monoid in SCALARS
    nothing = unit(fold.monoid, fold.dtype) if scalar else evaluate(pack(definition_of(fold.monoid).unit, fold.dtype), at, c)
    out = [rounded(nothing, fold.dtype, c.exact) if scalar else nothing] * at.size
    if not prod(box):
        return out
    c.spend(at.size * prod(box))
    names = [axis.name for axis in fold.axes]
    inside: Points | None = at.bound(**{f"\0{n}": e for n, e in zip(names, extents, strict=True)}, **{"\0": list(range(at.size))})
    assert inside is not None
    inside = inside.times(names, box)
    for name, extent in zip(names, extents, strict=True):
        if isinstance(extent, list) and inside is not None:
            inside = held(Var(name) < Var(f"\0{name}"), inside, c)
    inside = inside and held(fold.guard, inside, c)
    if inside is None:
        return out
    values = evaluate(fold.body, inside, c)
    combine = combining(fold.monoid, fold.dtype) if scalar else joining(fold.monoid, c)
    for point, value in zip(inside["\0"], values if isinstance(values, list) else [values] * inside.size, strict=True):
        out[point] = combine(out[point], value)
    return rounded(out, fold.dtype, c.exact) if scalar else out
