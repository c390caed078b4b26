"""Wherever the equation is defined, so is every subterm of the program's value.

    a / b, a // b, a % b need b ≠ 0;  log needs a > 0;  sqrt needs a ≥ 0;  rsqrt needs a > 0;  no arithmetic on infinities
    each holds by the guards, or the equation evaluates the same at the same point

Comes in: a value and a claim at a point, folds already matched. Goes out: formulas for the partial operations of the value.
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygpu.category.term import BOOL, FALSE, FLOATS, App, Const, Fold, Term, equal, negation, text, walk
from tinygpu.diagnostic import Label
from tinygpu.obligations.obligation import Claim, Obligation, Point

PARTIAL = ("div", "floordiv", "mod", "log", "sqrt", "rsqrt")
INFINITE = (float("inf"), float("-inf"))


def defined(value: Term, claim: Term, point: Point, labels: tuple[Label, ...]) -> Iterator[Claim]:
    """The claims of this property for one value."""
    theirs = [t for t in walk(claim) if isinstance(t, App)]
    for term, where in partial(value, point):
        if term in theirs:
            continue
        ways = [condition(term)]
        for other, there in partial(claim, Point(point.axes)):
            if other.op == term.op and other.dtype == term.dtype:
                equations = [equal(a, b) for a, b in zip(term.args, other.args, strict=True)]
                ways.append(App("and", (*equations, *there.guard), BOOL))
        goal = ways[0] if len(ways) == 1 else App("or", tuple(ways), BOOL)
        title = f"{text(term)} may be undefined where the equation is not"
        sentence = f"{text(term)} is defined wherever the equation is"
        yield Obligation("defined", "TG510", title, sentence, where.facts, goal, labels)


def condition(term: App) -> Term:
    """Where a partial operation on values is defined."""
    match term:
        case App("div" | "floordiv" | "mod", (_, divisor)) if not _infinite(term):
            return App("ne", (divisor, zero(divisor.dtype)), BOOL)
        case App("log" | "rsqrt", (a,)):
            return App("gt", (a, zero(a.dtype)), BOOL)
        case App("sqrt", (a,)):
            return App("ge", (a, zero(a.dtype)), BOOL)
    return FALSE


def zero(dtype: str) -> Const:
    return Const(0.0 if dtype in FLOATS else 0, dtype)


def _infinite(term: App) -> bool:
    return term.op in ("add", "sub", "mul", "div") and any(isinstance(a, Const) and a.value in INFINITE for a in term.args)


def partial(term: Term, point: Point) -> Iterator[tuple[App, Point]]:
    """The partial operations of a value, each at the point where it is evaluated; folds are opaque."""
    match term:
        case App("select", (condition, then, otherwise)):
            yield from partial(condition, point)
            yield from partial(then, point.under(condition))
            yield from partial(otherwise, point.under(negation(condition)))
        case App(op, args):
            if op in PARTIAL or _infinite(term):
                yield term, point
            for a in args:
                yield from partial(a, point)
        case Fold():
            return
