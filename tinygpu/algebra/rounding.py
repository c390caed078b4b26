"""What the two sides of a theorem cost, and how far rounding may take them off: formulas over sizes, side by side.

    x + y:  M = Mx + My,  E = Ex + Ey + M        x·y:  M = Mx·My,  E = Mx·Ey + My·Ex + M        Σ_{k < n} x:  M = n·Mx,  E = n·Ex + n·(n − 1)·Mx

Comes in: an op. Goes out: its operations, and a bound of the error of each output in units of rounding, u = 2⁻²⁴ for f32, over the largest elements |A| of its inputs, to the first order. The one
idea: each operation rounds once what it gives, and a sum may be in any order; so a bound follows from the equations alone, and no machine of them is worse.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from functools import reduce
from math import lcm, log2
from operator import add, mul

from tinygpu.algebra.polynomial import ONE, REAL, ZERO, Monomial, Polynomial, added, atom, ring, term_of, times
from tinygpu.category.monoid import Carrier
from tinygpu.category.term import BOOL, FLOATS, INDEX, App, Axis, Const, Fold, Read, Term, Var, conjunction, text, walk
from tinygpu.model.op import Equation, Op
from tinygpu.record import dataclass

ROUNDED = ("add", "sub", "mul", "div")


@dataclass(frozen=True, slots=True)
class Bound:
    """A value is at most `size`, and at most `error` units of rounding off."""

    size: Polynomial
    error: Polynomial

    def of_sum(self, count: Polynomial) -> Bound:
        """Of so many."""
        less = added(count, ONE, -1)
        return Bound(_by(count, self.size), added(_by(count, self.error), _by(count, _by(less, self.size))))


def operations(op: Op) -> str:
    """How many additions, multiplications, divisions and functions, over the sizes.

    >>> from tinygpu.pipeline import load_text
    >>> op = load_text("op f(A: f32[M, K], x: f32[K]) -> (y: f32[M]) { y[i] = 2 * sum[k] A[i, k] * x[k] }").spec.ops[0]
    >>> operations(op), rounding(op)
    ('M + 2*K*M', {'y': '2*K*K*|A|*|x|'})
    """
    whole = reduce(added, (_by(_points(e.axes), _count(e.value, set())) for e in op.equations), ZERO)
    return _text(whole)


def rounding(op: Op) -> dict[str, str]:
    """For each output the bound, in units of rounding; of what is divided by data, or of functions, there is none here."""
    return {name: _text(error) for name, error in _errors(op).items()}


def _errors(op: Op) -> dict[str, Polynomial]:
    known: dict[str, Bound | None] = {}
    for equation in _in_order(op):
        known[equation.target] = _bound(equation.value, known)
    return {t.name: bound.error for t in op.outputs if (bound := known.get(t.name)) is not None}


def rounded_within(left: Op, right: Op, times: Fraction) -> dict[str, Term | None]:
    """For each output a condition over the sizes under which the bound of the right op is at most so many times that of the left one; None where there is no
    bound. Each product of elements has its own coefficient, and none of them has to be smaller."""
    ours, theirs = _errors(right), _errors(left)
    found: dict[str, Term | None] = dict.fromkeys(t.name for t in right.outputs)
    for name in ours.keys() & theirs.keys():
        less = added({m: c * times for m, c in theirs[name].items()}, ours[name], -1)
        whole = lcm(*(c.denominator for c in less.values()))
        sums: dict[Monomial, list[Term]] = {}
        for monomial, c in less.items():
            elements = tuple(f for f in monomial if isinstance(f[0], Var))
            sizes = [t.args[0] for t, p in monomial for _ in range(p) if isinstance(t, App)]
            sums.setdefault(elements, []).append(reduce(mul, sizes, Const(int(c * whole))))
        found[name] = conjunction(*(reduce(add, parts) >= 0 for parts in sums.values()))
    return found


def _in_order(op: Op) -> tuple[Equation, ...]:
    """Equations behind those that they read."""
    waiting, done = list(op.equations), dict[str, Equation]()
    while waiting:
        ready = [e for e in waiting if not op.reached(e.target) & {w.target for w in waiting if w is not e}]
        if not ready:
            return ()
        done.update((e.target, e) for e in ready)
        waiting = [e for e in waiting if e.target not in done]
    return tuple(done.values())


def _by(p: Polynomial, q: Polynomial) -> Polynomial:
    return times(p, q, set())


def _number(extent: Term) -> Polynomial:
    return ring(App("cast", (extent,), REAL), set())


def _points(axes: tuple[Axis, ...]) -> Polynomial:
    return reduce(_by, (_number(a.extent) for a in axes), ONE)


def _count(term: Term, met: set[Term]) -> Polynomial:
    """The operations of a value at one point; a fold of which several components are read is done once."""
    match term:
        case Fold(monoid, axes, _, body):
            if term in met:
                return ZERO
            met.add(term)
            combining = [t for part in monoid.combination for t in walk(part)] if isinstance(monoid, Carrier) else []
            each = Fraction(sum(map(_computes, combining))) if combining else Fraction(1)
            return _by(_points(axes), added(_count(body, met), {(): each}))
        case App(_, args) if term.dtype != INDEX:
            own = ONE if _computes(term) else ZERO
            return reduce(added, (_count(a, met) for a in args if a.dtype not in (INDEX, BOOL)), own)
    return ZERO


def _computes(term: Term) -> bool:
    """Whether a number is made of numbers there."""
    return isinstance(term, App) and term.dtype in FLOATS and term.op not in ("select", "cast", "neg", "part", "pack")


def _bound(term: Term, known: Mapping[str, Bound | None]) -> Bound | None:
    match term:
        case Const(number) if abs(number) < float("inf"):
            return Bound({(): Fraction(abs(number))} if number else ZERO, ZERO)
        case Read(name) if name in known:
            return known[name]
        case Read(name, _, dtype) if dtype in FLOATS:
            return Bound(atom(Var(f"|{name}|", REAL)), ZERO)
        case App("neg", (a,)):
            return _bound(a, known)
        case App("cast", (a,)) if a.dtype in FLOATS:
            return _bound(a, known)
        case App("cast", (a,)) if a.dtype == INDEX:
            return Bound(_number(a), ZERO)
        case App("select", (_, a, b)):
            return _larger(_bound(a, known), _bound(b, known))
        case Fold("sum", axes, _, body):
            inner = _bound(body, known)
            return inner and inner.of_sum(_points(axes))
        case App(op, (a, b)) if op in ROUNDED and term.dtype in FLOATS:
            return _operation(op, a, b, known)
    return None


def _operation(op: str, a: Term, b: Term, known: Mapping[str, Bound | None]) -> Bound | None:
    x, y = _bound(a, known), _bound(b, known)
    if x is None or y is None:
        return None
    if op in ("add", "sub"):
        size = added(x.size, y.size)
        return Bound(size, added(added(x.error, y.error), size))
    if op == "div":
        if not isinstance(b, Const) or not b.value:
            return None
        y = Bound({(): 1 / Fraction(abs(b.value))}, ZERO)
    size = _by(x.size, y.size)
    passed = added(_by(x.size, y.error), _by(y.size, x.error))
    return Bound(size, passed if _exact(a) or _exact(b) else added(passed, size))


def _exact(term: Term) -> bool:
    """A power of two, by which nothing is rounded."""
    return isinstance(term, Const) and term.value != 0 and log2(abs(term.value)).is_integer()


def _larger(a: Bound | None, b: Bound | None) -> Bound | None:
    """At most what both are at most."""
    if a is None or b is None:
        return None

    def most(p: Polynomial, q: Polynomial) -> Polynomial:
        return {m: max(p.get(m, Fraction(0)), q.get(m, Fraction(0))) for m in {**p, **q}}

    return Bound(most(a.size, b.size), most(a.error, b.error))


def _text(p: Polynomial) -> str:
    return re.sub(r"\(([\w|*]+)\)", r"\1", re.sub(r"f64\((\w+)\)", r"\1", text(term_of(p))))
