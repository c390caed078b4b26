"""A point at which a claim about long products, or about bits, is false, found by trying: solvers multiply such products out, and go through bits, and take minutes.

Comes in: hypotheses and a goal. Goes out: the integers of a point at which the hypotheses hold and the goal does not, or None. The one idea: two polynomials
that differ are different almost everywhere, and so are two ways to mix bits, so numbers drawn at random, computed with exactly, show it at once. It never says that anything holds.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from math import isfinite
from typing import Any, TypeAlias

from tinygpu.category.dtype import BITS as WIDTHS
from tinygpu.category.dtype import RANGE, SIGNED
from tinygpu.category.evaluate import PLAIN, wrapped
from tinygpu.category.operation import COMPARISONS
from tinygpu.category.term import BOOL, FLOATS, INDEX, App, Const, Read, Term, Var, variables

Value: TypeAlias = Fraction | int | bool
SIZES = (1, 2, 3, 4, 8, 16, 32, 64, 128, 256, 512, 1024)  # one number for all sizes
ENOUGH = 3  # points at which the goal holds
INTEGRAL = frozenset((*RANGE, INDEX))
BITS = 4096  # of the longest numbers that are computed with: a square of squares doubles them each time


class Beyond(Exception):
    """What has no exact value here: a function, an infinity, a quotient by 0, an integer that may wrap, a number too long."""


@lru_cache(maxsize=1024)
def counterpoint(hypotheses: tuple[Term, ...], goal: Term) -> dict[str, int] | None:
    """A point against a claim, its indices at 0 or 1 and its sizes as small as they may be.

    >>> x, y = (Read(name, (Var("i"),), "f32") for name in "xy")
    >>> square = lambda a: App("mul", (a, a), "f32")
    >>> both = App("mul", (App("add", (x, y), "f32"), App("sub", (x, y), "f32")), "f32")
    >>> less = lambda a, b: App("sub", (a, b), "f32")
    >>> wrong, right = (App("eq", (both, less(square(x), square(b))), BOOL) for b in (x, y))
    >>> counterpoint((Var("i") >= 0, Var("i") < Var("n"), Var("n") > 2), wrong), counterpoint((), right)
    ({'i': 0, 'n': 3}, None)
    """
    held = 0
    for number, point in enumerate(_points(hypotheses, goal)):
        there = _Point(point, random.Random(number))
        try:
            if all(there.value(h) for h in hypotheses):
                if not there.value(goal):
                    return {name: value for name, value in point.items() if isinstance(value, int)}
                held += 1
        except Beyond:
            continue
        if held == ENOUGH:
            return None
    return None


def _points(hypotheses: tuple[Term, ...], goal: Term) -> Iterator[dict[str, int]]:
    """Integers for the indices and sizes of a claim."""
    bounded = {h.args[0].name for h in hypotheses if isinstance(h, App) and h.op == "lt" and isinstance(h.args[0], Var)}
    names = sorted(frozenset[str]().union(*map(variables, (*hypotheses, goal))))
    for size in SIZES:
        for index in (0, 1):
            yield {name: index if name in bounded else size for name in names}


class _Point:
    """What terms are worth at one point: cells of arrays and numbers are drawn when they are met."""

    def __init__(self, integers: Mapping[str, int], chance: random.Random):
        self.integers, self.chance = integers, chance
        self.drawn: dict[Any, Value] = {}
        self.known: dict[Term, Value] = {}

    def value(self, term: Term) -> Value:
        if term not in self.known:
            found = self._of(term)
            if max(found.numerator.bit_length(), found.denominator.bit_length()) > BITS:
                raise Beyond
            self.known[term] = found
        return self.known[term]

    def _of(self, term: Term) -> Value:
        match term:
            case Const(value):
                if not isfinite(value):
                    raise Beyond
                return Fraction(value) if term.dtype in FLOATS else value  # type: ignore[return-value]
            case Var(name):
                return self.integers[name] if term.dtype == INDEX else self._any(name, term.dtype)
            case Read(tensor, index):
                return self._any((tensor, *map(self.value, index)), term.dtype)
            case App("select", (condition, then, other)):
                return self.value(then if self.value(condition) else other)
            case App("and" | "or" as op, args):
                return (all if op == "and" else any)(self.value(a) for a in args)
            case App("not", (one,)):
                return not self.value(one)
            case App("cast", (one,)) if {one.dtype, term.dtype} <= INTEGRAL:
                return _of_integers("cast", [self.value(one)], term.dtype, one.dtype == INDEX)
            case App(op, args) if term.dtype in (*FLOATS, INDEX) or op in COMPARISONS:
                return _computed(op, [self.value(a) for a in args], term.dtype)
            case App(op, args) if term.dtype in RANGE and all(a.dtype in RANGE for a in args):
                return _of_integers(op, [self.value(a) for a in args], term.dtype)
        raise Beyond

    def _any(self, what: Any, dtype: str) -> Value:
        """The number of a cell, small and never 0."""
        if what not in self.drawn:
            sign = -1 if self.chance.random() < 0.5 and (dtype in FLOATS or dtype in SIGNED) else 1
            number = sign * self.chance.randint(1, 9)
            self.drawn[what] = (
                number > 0 if dtype == BOOL else Fraction(number, self.chance.randint(1, 3)) if dtype in FLOATS else number
            )
        return self.drawn[what]


def _of_integers(op: str, args: list[Any], dtype: str, fits: bool = False) -> int:
    """What an operation makes of integers of a machine: unsigned ones wrap, but for one that is to be one which `fits`. A shift by the width or more has no
    value.

    >>> _of_integers("mul", [3528531795, 2], "u32"), _of_integers("cast", [1 << 33], "u32"), _of_integers("xor", [6, 3], "i32")
    (2762096294, 0, 5)
    """
    if op in ("shl", "shr") and not 0 <= args[1] < WIDTHS[dtype]:
        raise Beyond
    try:
        found = args[0] if op == "cast" else PLAIN[op](*args)
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        raise Beyond from None
    there = wrapped(found, dtype)
    if not isinstance(there, int) or ((fits or dtype in SIGNED) and there != found):
        raise Beyond
    return there


def _computed(op: str, args: list[Any], dtype: str) -> Value:
    match op, args:
        case "add", [a, b]:
            return a + b  # type: ignore[no-any-return]
        case "sub", [a, b]:
            return a - b  # type: ignore[no-any-return]
        case "mul", [a, b]:
            return a * b  # type: ignore[no-any-return]
        case "neg", [a]:
            return -a  # type: ignore[no-any-return]
        case "div", [a, b] if dtype in FLOATS and b != 0:
            return Fraction(a) / b
        case (("floordiv" | "mod" | "ceildiv"), [a, b]) if dtype == INDEX and a >= 0 and b >= 1:
            return a // b if op == "floordiv" else a % b if op == "mod" else -(-a // b)  # type: ignore[no-any-return]
        case (("min" | "max"), [a, b]):
            return (min if op == "min" else max)(a, b)  # type: ignore[no-any-return]
        case (("eq" | "ne" | "lt" | "le" | "gt" | "ge"), [a, b]):
            return {"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}[op]
    raise Beyond
