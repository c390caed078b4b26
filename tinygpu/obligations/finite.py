"""Where a value is a number and no infinity, as a guard: enough for it, not always needed.

    a maximum over a box is not −∞ where the box has its first point and the value there is not;   a sum is finite where all of its terms are

Comes in: a value at a point, and for symbols that stand for folds where those are numbers. Goes out: guards. The one idea: an infinity comes
from somewhere: a fold over nothing, a unit, or a constant as written.
"""

from __future__ import annotations

from collections.abc import Mapping

from tinygpu.category.monoid import Carrier, as_monoid
from tinygpu.category.operation import FUNCTION
from tinygpu.category.region import Region
from tinygpu.category.term import (
    FALSE,
    FLOATS,
    TRUE,
    App,
    Axis,
    Const,
    Fold,
    Term,
    Var,
    conjunction,
    conjuncts,
    disjunction,
    memoised,
    negation,
    substitute,
    variables,
    whole,
)
from tinygpu.category.total import INFINITE, limited
from tinygpu.obligations.ends import ends_of

Ends = Mapping[str, tuple[Term, Term]]  # where a symbol is not −∞, and where not +∞
LOW, HIGH = -1, 1
SIGNED = ("part", "select", "min", "max", "neg", "abs", "exp", "exp2")  # may be the one infinity and not the other


@memoised
def finite(term: Term, point: Region, ends: Ends) -> Term:
    """Where a value is neither infinity.

    >>> from tinygpu.category.term import Axis, Read, text
    >>> low, x = Const(float("-inf"), "f32"), Read("x", (Var("k"),), "f32")
    >>> most = Fold("max", (Axis("k", Var("K")),), TRUE, x, "f32")
    >>> [text(finite(t, Region(()), {})) for t in (low, x, most, App("max", (low, x), "f32"))]
    ['false', 'true', 'K >= 1', 'true']
    """
    if isinstance(term, App) and term.op not in SIGNED and not limited(term):  # one look, as what is inside may be as deep
        return _numbers(term, point, ends)
    return conjunction(apart(term, LOW, point, ends), apart(term, HIGH, point, ends))


def _numbers(term: App, point: Region, ends: Ends) -> Term:
    """Where an operation that asks for numbers has some."""
    damped = term.op in FUNCTION and FUNCTION[term.op].damped
    return TRUE if damped else conjunction(*(finite(a, point, ends) for a in term.args if a.dtype in FLOATS))


@memoised
def apart(term: Term, sign: int, point: Region, ends: Ends) -> Term:
    """Where a value is not the infinity of a sign."""
    if limited(term) and not isinstance(term, Var):
        return TRUE
    match term:
        case Const(value):
            return FALSE if value in INFINITE and (value > 0) == (sign > 0) else TRUE
        case Var(name):
            return ends[name][sign > 0] if name in ends else TRUE
        case Fold():
            return _fold(term, sign, point, ends)
        case App("part", (value, Const(int(place)))):
            return TRUE if _bounded(value.dtype, place, sign) and allowed(value, point, ends) else FALSE
        case App("select", (condition, then, otherwise)):
            return _chosen(condition, apart(then, sign, point, ends), apart(otherwise, sign, point, ends))
        case App("min" | "max" as op, args):
            several = [apart(a, sign, point, ends) for a in args]
            return disjunction(*several) if (op == "max") == (sign == LOW) else conjunction(*several)
        case App("neg", (inner,)):
            return apart(inner, -sign, point, ends)
        case App("abs", (inner,)):
            return TRUE if sign == LOW else finite(inner, point, ends)
        case App("exp" | "exp2", (inner,)):
            return TRUE if sign == LOW else apart(inner, HIGH, point, ends)
        case App("add" | "sub" as op, (a, b)):  # so neither are there two infinities that have no sum
            return conjunction(apart(a, sign, point, ends), apart(b, sign if op == "add" else -sign, point, ends))
        case App():
            return _numbers(term, point, ends)
    return TRUE


def blended(fold: Fold, point: Region, ends: Ends) -> Term:
    """Where a sum or a product of what may be infinite has a value: not both infinities are in it."""
    return disjunction(*(apart(fold, sign, point, ends) for sign in (LOW, HIGH)))


def _bounded(carrier: str, place: int, sign: int) -> bool:
    """Whether a component is not the infinity of a sign in any value of a carrier: its unit is not (`laws`)."""
    return isinstance(carrier, Carrier) and apart(carrier.identity[place], sign, Region(()), {}) == TRUE


@memoised
def allowed(term: Term, point: Region, ends: Ends) -> bool:
    """Whether each component of what is combined is a number, or the infinity that is its unit; then so is what they combine to (`laws`)."""
    match term:
        case Var(name):
            return name in ends
        case Fold():
            fold, inner = point.opened(term)
            return allowed(fold.body, inner.under(fold.guard), ends)
        case App("pack", args, carrier):
            return all(
                point.settled(apart(a, sign, point, ends)) == TRUE
                for place, a in enumerate(args)
                for sign in (LOW, HIGH)
                if a.dtype in FLOATS and _bounded(carrier, place, sign)
            )
        case App("select", (condition, then, otherwise)):
            yes, no = point.under(condition), point.under(negation(condition))
            return allowed(then, yes, ends) and allowed(otherwise, no, ends)
        case App(op, args, carrier) if op == carrier:
            return all(allowed(a, point, ends) for a in args)
    return False


def _fold(fold: Fold, sign: int, point: Region, ends: Ends) -> Term:
    """A maximum or minimum has its first term, and one that is not its unit is enough; else no term may be infinite."""
    fold, inner = point.opened(fold)
    inner = inner.under(fold.guard, *(a.extent >= 1 for a in fold.axes))  # where there is a term, there is something
    unit = as_monoid(fold.monoid).unit(fold.dtype) if fold.monoid in ("min", "max") else None
    if unit is not None and apart(unit, sign, point, {}) == FALSE:
        first = {a.name: _lowest(a, fold) for a in fold.axes}
        there = (
            *(first[a.name] < a.extent if first[a.name] != Const(0) else a.extent >= 1 for a in fold.axes),
            *(i >= 0 for i in first.values() if i != Const(0)),
            substitute(fold.guard, first),
        )
        return point.settled(conjunction(*there, substitute(apart(fold.body, sign, inner, ends), first)))
    alone = unit is not None or fold.monoid == "sum"  # a sum is one infinity where a term is it
    one = apart(fold.body, sign, inner, ends) if alone else finite(fold.body, inner, ends)
    return TRUE if inner.settled(one) == TRUE else FALSE


def _lowest(axis: Axis, fold: Fold) -> Term:
    """Where a fold's guard says that an index begins, `lo <= k`, or 0.

    >>> k, lo, K = Axis("k", Var("K")), Var("lo"), Var("K")
    >>> _lowest(k, Fold("max", (k,), conjunction(lo <= Var("k"), Var("k") < K), Const(1.0, "f32"), "f32"))
    Var(name='lo', dtype='index')
    """
    bound = {a.name for a in fold.axes}
    for part in conjuncts(fold.guard):
        match part:
            case App("le", (low, Var(axis.name))) | App("ge", (Var(axis.name), low)) if whole(low) and variables(low).isdisjoint(
                bound
            ):
                return low
    return Const(0)


def _chosen(condition: Term, then: Term, otherwise: Term) -> Term:
    if then == otherwise:
        return then
    return disjunction(conjunction(condition, then), conjunction(negation(condition), otherwise))


def surely(fold: Fold, point: Region) -> tuple[Term, Term]:
    """Where a fold is not −∞, and where not +∞."""
    point = point.under(*(end >= 1 for end in ends_of(point)))
    low, high = (point.settled(apart(fold, sign, point, {})) for sign in (LOW, HIGH))
    return low, high
