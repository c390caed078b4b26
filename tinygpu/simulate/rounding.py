"""How far from its value a term may be that is computed in floats: the bound of a rounding error, as a term.

    |computed − exact|  ≤  rel·size + rest        a + b, a·b, Σ: size is the sum of the magnitudes; each operation adds ε of its dtype to rel,
                                                  a fold as many as its terms wait for each other; a function what it makes of its argument's

Comes in: a term. Goes out: its bound. The one idea: a bound is derived from a term as a derivative is; with magnitudes in place of values it holds in
whatever order, and by whatever laws of rings, a machine computes. Where a comparison may go either way, so may what it chooses.
"""

from __future__ import annotations

from math import expm1, isfinite, log1p, prod

from tinygpu.category.dtype import EPSILON, FLOATS, contains, nearest
from tinygpu.category.evaluate import evaluate
from tinygpu.category.monoid import Carrier
from tinygpu.category.operation import COMPARISONS, FUNCTION
from tinygpu.category.term import (
    BOOL,
    FALSE,
    INDEX,
    TRUE,
    App,
    Const,
    Fold,
    Read,
    Term,
    conjunction,
    disjunction,
    negation,
    reads,
    select,
    variables,
)
from tinygpu.record import replace
from tinygpu.simulate.carried import component, most
from tinygpu.simulate.magnitude import (
    F64,
    MUCH,
    ONE,
    ZERO,
    Bound,
    above,
    beyond,
    larger,
    magnitude,
    over,
    plus,
    real,
    summed,
    times,
    unlimited,
)  # fmt: skip

ULPS = 8  # that a function of a library may be off
SLOPE = {"tanh": 1.0, "sigmoid": 0.25, "erf": 1.13, "sin": 1.0, "cos": 1.0, "abs": 1.0}  # the most of a function's derivative


class Rules:
    """The bounds of terms at given sizes, by machines in which no more than `chain` sums wait for each other, and what is multiplied or summed is
    off by `near` of it; of each term once."""

    def __init__(self, defined: set[str], sizes: dict[str, int], chain: float, near: float = 0.0) -> None:
        self.defined, self.sizes, self.chain, self.near, self.known = defined, sizes, chain, near, dict[Term, Bound]()

    def bound(self, term: Term) -> Bound:
        """The bound of a number."""
        if term not in self.known:
            self.known[term] = self._bound(term)
        return self.known[term]

    def _bound(self, term: Term) -> Bound:
        match term:
            case Const(value, dtype):
                exact = dtype not in FLOATS or not isfinite(value) or nearest(float(value), dtype) == value
                return Bound(Const(abs(float(value)) if isfinite(value) else 0.0, F64), 0.0 if exact else EPSILON[dtype])
            case Read(name, index) if name in self.defined:
                return Bound(Read(f"{name} size", index, F64), 0.0, Read(f"{name} error", index, F64))
            case App("select", (condition, then, otherwise)):
                return self._chosen(condition, self.bound(then), self.bound(otherwise))
            case Fold(monoid) if not isinstance(monoid, Carrier):
                return self._folded(term)
            case App("part", (Fold() as fold, Const(place)), dtype):
                return self._part(fold, int(place), magnitude(term), dtype)
            case App(_, args, dtype) if dtype in FLOATS:
                return self._applied(term, *map(self.bound, args))
            case App(_, args) if term.dtype != INDEX and term.dtype != BOOL and self._inexact(*args):
                wrong = summed(self.bound(a).error for a in args if a.dtype != BOOL)
                return Bound(
                    magnitude(term),
                    0.0,
                    select(above(wrong, ZERO), plus(ONE, wrong) if term.args[0].dtype in FLOATS else MUCH, ZERO),
                )
        return Bound(magnitude(term))

    def _inexact(self, *terms: Term) -> bool:
        return any(t.dtype not in (INDEX, BOOL) and self.bound(t).error != ZERO for t in terms)

    def _applied(self, term: App, a: Bound, b: Bound | None = None) -> Bound:
        """An operation on floats, or to floats. What is too large is so in a sum, too; a factor may make it small again, or no number."""
        if term.op in ("mul", "div") and b is not None:
            a, b = (bound.held(arg.dtype) if _computed(arg) else bound for bound, arg in zip((a, b), term.args, strict=True))
        match term.op, b:
            case "neg" | "abs", None:
                return a
            case "add" | "sub", Bound():
                return Bound(plus(a.size, b.size), max(a.rel, b.rel), plus(a.rest, b.rest)).rounded(term.dtype)
            case "mul", Bound():
                mixed = plus(times(a.size, b.rest, 1 + a.rel), times(b.size, a.rest, 1 + b.rel))
                size, rest = times(a.size, b.size), plus(mixed, times(a.rest, b.rest))
                return Bound(size, a.rel + b.rel + a.rel * b.rel + self.near, rest).rounded(term.dtype)
            case "div", Bound():
                return _quotient(a, b, magnitude(term.args[1])).rounded(term.dtype, 2)
            case "min" | "max", Bound():
                return Bound(larger(a.size, b.size), max(a.rel, b.rel), larger(a.rest, b.rest))
            case "cast", None:
                held = contains(term.dtype, term.args[0].dtype)
                return a if held else a.rounded(term.dtype)
        if term.op in FUNCTION and b is None:
            size = magnitude(term)
            return (
                Bound(size, 0.0, _moved(term.op, real(term.args[0]), real(term), a.error))
                .rounded(term.dtype, ULPS)
                .held(term.dtype)
            )
        wrong = summed(self.bound(t).error for t in term.args if t.dtype != BOOL)
        return Bound(magnitude(term), 0.0, ZERO if wrong == ZERO else select(above(wrong, ZERO), MUCH, ZERO)).rounded(
            term.dtype, ULPS
        )

    def _chosen(self, condition: Term, yes: Bound, no: Bound) -> Bound:
        doubt, rel = self.doubt(condition), max(yes.rel, no.rel)
        size, rest = select(condition, yes.size, no.size), select(condition, yes.rest, no.rest)
        if doubt != FALSE:
            both = plus(yes.size, no.size)
            size, rest = select(doubt, both, size), select(doubt, plus(both, larger(yes.rest, no.rest)), rest)
        return Bound(size, rel, rest)

    def _folded(self, fold: Fold) -> Bound:
        body, long, doubt = self.bound(fold.body), self._long(fold), self.doubt(fold.guard)
        if doubt != FALSE:  # a term may be there or not
            fold = replace(fold, guard=disjunction(fold.guard, doubt))
            body = Bound(body.size, body.rel, plus(body.rest, select(doubt, body.size if fold.monoid == "sum" else MUCH, ZERO)))

        def folded(monoid: str, inside: Term) -> Term:
            return ZERO if inside == ZERO else Fold(monoid, fold.axes, fold.guard, inside, F64)

        epsilon = EPSILON.get(fold.dtype, 0.0)
        match str(fold.monoid):
            case "sum":
                off = body.rel + self.near
                return Bound(folded("sum", body.size), off, folded("sum", body.rest)).rounded(fold.dtype, long)
            case "prod":
                size = folded("prod", body.size)
                most = folded("prod", plus(times(body.size, Const(1 + body.rel, F64)), body.rest)) if body.rest != ZERO else size
                grown = expm1(min(700.0, long * (log1p(body.rel) + epsilon)))
                rest = ZERO if body.rest == ZERO else App("sub", (most, size), F64)
                parts = folded("prod", larger(ONE, body.size))  # of some of the terms
                return Bound(most, grown, plus(rest, beyond(parts, fold.dtype, long)) if fold.dtype in FLOATS else rest)
        sizes, rests = (larger(ZERO, folded("max", t)) if t != ZERO else ZERO for t in (body.size, body.rest))
        return Bound(sizes, body.rel, rests)

    def _part(self, fold: Fold, place: int, size: Term, dtype: str) -> Bound:
        """A component of a value of several."""
        parts = tuple(self.bound(a) for a in fold.body.args) if isinstance(fold.body, App) and fold.body.op == "pack" else ()
        many = prod(max(1, self._most(axis.extent)) for axis in fold.axes)
        found = component(fold, place, parts, many, size, dtype) or self._somehow(fold, parts, size, dtype)
        doubt = self.doubt(fold.guard)
        lost = ZERO if doubt == FALSE else unlimited(Fold("any", fold.axes, TRUE, doubt, BOOL))
        return Bound(found.size, found.rel, plus(found.rest, lost))

    def _somehow(self, fold: Fold, bounds: tuple[Bound, ...], size: Term, dtype: str) -> Bound:
        """What rounding does to an order of the terms is not followed, but a generous sum of what it may be."""
        args = fold.body.args if isinstance(fold.body, App) else ()
        parts = [b for b, a in zip(bounds, args, strict=False) if b.size != ZERO and a.dtype in FLOATS] or [Bound(ONE)]
        wrong, largest = most(fold, summed(b.error for b in bounds)), plus(ONE, most(fold, summed(b.size for b in parts)))
        if dtype not in FLOATS:
            return Bound(size, 0.0, ZERO if wrong == ZERO else unlimited(above(wrong, ZERO)))
        scale, roundings = plus(size, times(largest, largest)), Const(EPSILON[dtype] * (16 + 8 * self._long(fold)), F64)
        return Bound(size, 0.0, times(scale, plus(times(Const(2.0, F64), wrong), roundings)))

    def _long(self, fold: Fold) -> float:
        """How many terms of a fold wait for each other at most."""
        return min(self.chain, prod(max(1, self._most(axis.extent)) for axis in fold.axes))

    def _most(self, extent: Term) -> int:
        if variables(extent) <= self.sizes.keys() and not reads(extent):
            return int(evaluate(extent, self.sizes))
        return max(self.sizes.values(), default=1)  # it differs from element to element, and is some part of a tensor

    def doubt(self, condition: Term) -> Term:
        """Where a condition may be decided otherwise by rounded numbers."""
        match condition:
            case App(op, (a, b)) if op in COMPARISONS and self._inexact(a, b):
                wrong = plus(self.bound(a).error, self.bound(b).error)
                apart = App("abs", (App("sub", (real(a), real(b)), F64),), F64)
                return conjunction(above(wrong, ZERO), App("le", (apart, wrong), BOOL))
            case App("not", (inner,)):
                return self.doubt(inner)
            case App("and" | "or" as op, args):
                doubts = [self.doubt(a) for a in args]
                may = (disjunction(a if op == "and" else negation(a), d) for a, d in zip(args, doubts, strict=True))
                return FALSE if all(d == FALSE for d in doubts) else conjunction(*may, disjunction(*doubts))
            case Fold("any" | "all", axes, guard, body) if (inner := disjunction(self.doubt(body), self.doubt(guard))) != FALSE:
                return Fold("any", axes, disjunction(guard, self.doubt(guard)), inner, BOOL)
        return FALSE


def _computed(term: Term) -> bool:
    return isinstance(term, App) and term.op in ("add", "sub", "mul", "div")


def _quotient(a: Bound, b: Bound, divisor: Term) -> Bound:
    """`(a + e) / (b + f)` is at most `(e + |a / b|·f) / (|b| − f)` from `a / b`."""
    off = b.error
    if off == ZERO:
        return Bound(over(a.size, divisor), a.rel, over(a.rest, divisor))
    least = App("sub", (divisor, off), F64)
    size, rest = over(a.size, least), over(plus(a.rest, times(over(a.size, divisor), off)), least)
    there = above(least, ZERO)
    return Bound(select(there, size, ZERO), a.rel, select(there, rest, MUCH))


def _moved(function: str, at: Term, value: Term, off: Term) -> Term:
    """How far a function's value goes where its argument goes so far."""
    if off == ZERO:
        return ZERO
    below = App("sub", (at, off), F64)
    match function:
        case "exp" | "exp2":
            return times(value, App("sub", (App(function, (off,), F64), ONE), F64))
        case "log":
            return select(above(below, ZERO), over(off, below), MUCH)
        case "sqrt":
            root = App("sqrt", (off,), F64)
            return select(above(value, root), over(off, value), root)
        case "rsqrt":
            return select(above(below, ZERO), App("sub", (App("rsqrt", (below,), F64), value), F64), MUCH)
        case "floor" | "ceil" | "round":
            ends = (App(function, (t,), F64) for t in (below, plus(at, off)))
            return select(App("eq", tuple(ends), BOOL), ZERO, plus(ONE, off))
    return times(Const(SLOPE[function], F64), off) if function in SLOPE else select(above(off, ZERO), MUCH, ZERO)
