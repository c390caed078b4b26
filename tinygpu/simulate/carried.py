"""How far from its value a component of a fold of several may be, in whatever order the fold is made.

    (a, b) ⊕ (c, d) = (a·c, c·b + d)      size:  the same fold of the magnitudes, with sums in place of differences
                                          error: each ⊕ rounds a monomial once an operation, so n of them grow it as (1 + ε)^(n · operations)

Comes in: a fold, the bounds of its terms' components. Goes out: the bound of one component, or None where only a guess is known. The one idea: where ⊕ is
a sum of products, at most one of each side, the magnitudes form a monoid too: no part of the terms has more than all of them, each at least the unit.
"""

from __future__ import annotations

from functools import reduce
from math import expm1, isfinite, log1p

import numpy as np

from tinygpu.category.dtype import EPSILON, FLOATS
from tinygpu.category.monoid import LEFT, RIGHT, Carrier, part
from tinygpu.category.number import Array
from tinygpu.category.term import BOOL, App, Const, Fold, Term, Var, walk
from tinygpu.category.to_numpy import evaluate
from tinygpu.simulate.magnitude import F64, ONE, ZERO, Bound, above, beyond, larger, plus, real, times, unlimited


def component(fold: Fold, place: int, parts: tuple[Bound, ...], many: float, size: Term, dtype: str) -> Bound | None:
    """The bound of a component of a fold of so many terms."""
    carrier = fold.monoid
    if not isinstance(carrier, Carrier) or len(parts) != len(carrier.components):
        return None
    if carrier.partition("_")[0] in ("argmax", "argmin") and isinstance(fold.body, App):
        return _extreme(fold, fold.body.args[0], place, parts[0], size)
    if carrier.startswith("logsumexp_"):
        return _exponentials(fold, place, parts[0], many, size, dtype)
    grown = magnitudes(carrier)
    if grown is None or dtype not in FLOATS:
        return None

    def folded(*values: Term) -> tuple[Term, ...]:
        made = Fold(grown, fold.axes, fold.guard, App("pack", values, grown), grown)
        return tuple(part(made, n, F64) for n in range(len(values)))

    rel, whole = max(p.rel for p in parts), folded(*(p.size for p in parts))[place]
    operations = max(sum(isinstance(t, App) for t in walk(c)) for c in carrier.combination)
    grows = expm1(min(700.0, many * (log1p(rel) + operations * EPSILON[dtype])))
    units = (Const(abs(float(c.value)), F64) for c in carrier.identity)
    tops = folded(*(larger(p.size, unit) for p, unit in zip(parts, units, strict=True)))
    lost = beyond(plus(ONE, reduce(larger, tops)), dtype, many * operations)
    if all(p.rest == ZERO for p in parts):
        return Bound(whole, grows, lost)
    wrong = folded(*(plus(times(p.size, Const(1 + p.rel, F64)), p.rest) for p in parts))[place]
    return Bound(wrong, grows, plus(App("sub", (wrong, whole), F64), lost))


def magnitudes(carrier: Carrier) -> Carrier | None:
    """The monoid of the magnitudes, where values are combined by sums of products that take at most one of each side.

    >>> from functools import partial
    >>> from tinygpu.category.term import text
    >>> a, b, c, d = (Var(n, "f32") for n in ("a.x", "a.y", "b.x", "b.y"))
    >>> one, zero = Const(1.0, "f32"), Const(0.0, "f32")
    >>> pair = partial(Carrier, "pair", components=(("x", "f32"), ("y", "f32")), identity=(one, zero))
    >>> times, minus = (lambda s, t: App("mul", (s, t), "f32")), (lambda s, t: App("sub", (s, t), "f32"))
    >>> text(magnitudes(pair(combination=(times(a, c), minus(d, times(c, b))))).combination[1])
    'b.y + b.x*a.y'
    >>> magnitudes(pair(combination=(times(a, c), times(d, d)))) is None
    True
    """
    terms = [_grown(term) for term in carrier.combination]
    if any(t is None for t in terms) or not all(isfinite(c.value) and c.dtype in FLOATS for c in carrier.identity):
        return None
    combination = tuple(t for t in terms if t is not None)
    identity = tuple(Const(abs(float(c.value)), F64) for c in carrier.identity)
    names = tuple((name, F64) for name, _ in carrier.components)
    found = Carrier(f"{carrier} size", components=names, identity=identity, combination=combination)
    return found if _associative(found) else None


def _grown(term: Term) -> Term | None:
    """A sum of products in magnitudes; None of what is none."""
    match term:
        case App("add" | "sub", args):
            a, b = map(_grown, args)
            return None if a is None or b is None else App("add", (a, b), F64)
        case App("neg", (arg,)):
            return _grown(arg)
    factors = _factors(term)
    sides = [f.name.partition(".")[0] for f in factors if isinstance(f, Var)] if factors else []
    if factors is None or max(sides.count(LEFT), sides.count(RIGHT)) > 1:
        return None
    found = factors[0]
    for factor in factors[1:]:
        found = App("mul", (found, factor), F64)
    return found


def _factors(term: Term) -> tuple[Term, ...] | None:
    match term:
        case Var(name, dtype) if dtype in FLOATS:
            return (Var(name, F64),)
        case Const(value, dtype) if dtype in FLOATS and isfinite(value):
            return (Const(abs(float(value)), F64),)
        case App("mul", args):
            a, b = map(_factors, args)
            return None if a is None or b is None else (*a, *b)
        case App("neg" | "cast", (arg,)) if arg.dtype in FLOATS:
            return _factors(arg)
    return None


def _associative(carrier: Carrier) -> bool:
    """Whether magnitudes may be combined in any order: they are, at numbers by chance."""
    chance = np.random.default_rng(0)
    x, y, z = (tuple(chance.uniform(0.5, 2.0, 8) for _ in carrier.components) for _ in range(3))

    def both(a: tuple[Array, ...], b: tuple[Array, ...]) -> tuple[Array, ...]:
        names = [name for name, _ in carrier.components]
        env = {f"{side}.{n}": v for side, values in ((LEFT, a), (RIGHT, b)) for n, v in zip(names, values, strict=True)}
        return tuple(evaluate(term, env) for term in carrier.combination)

    return all(np.allclose(one, two, 1e-9) for one, two in zip(both(both(x, y), z), both(x, both(y, z)), strict=True))


def _extreme(fold: Fold, value: Term, place: int, bound: Bound, size: Term) -> Bound:
    """The largest or the smallest of numbers is as near as they are; its place is sure where no other one is as near."""
    off = most(fold, bound.error)
    if place == 0:
        return Bound(most(fold, bound.size), bound.rel, most(fold, bound.rest))
    if off == ZERO:
        return Bound(size)
    best = real(part(fold, 0, value.dtype))
    apart = App("abs", (App("sub", (real(value), best), F64),), F64)
    near = App("le", (apart, plus(bound.error, off)), BOOL)
    count = Fold("sum", fold.axes, fold.guard, App("select", (near, ONE, ZERO), F64), F64)
    return Bound(size, 0.0, unlimited(above(count, Const(1.5, F64))))


def _exponentials(fold: Fold, place: int, bound: Bound, many: float, size: Term, dtype: str) -> Bound:
    """The largest x, and Σ exp(x - m): a term that is t below the largest is scaled with a relative error of t·ε at most, and t·exp(-t) is below 1."""
    if place == 0:
        return Bound(most(fold, bound.size), bound.rel, most(fold, bound.rest))
    off, roundings = most(fold, bound.error), many * EPSILON[dtype]
    grows = App("sub", (App("exp", (times(Const(2.0, F64), off),), F64), ONE), F64)
    return Bound(size, 10 * roundings, plus(Const(roundings, F64), ZERO if off == ZERO else times(size, grows)))


def most(fold: Fold, inside: Term) -> Term:
    """The largest of some magnitudes, over what is folded."""
    return ZERO if inside == ZERO else larger(ZERO, Fold("max", fold.axes, fold.guard, inside, F64))
