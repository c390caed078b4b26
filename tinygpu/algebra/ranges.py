"""The laws of what an index goes through, over the reals. (`laws` says what an `Equal` is.)

    Σ_{k < 2} b(k) = b(0) + b(1)          Σ_{k < 2·n} b(k) = Σ_{k < n} b(k) + b(k + n)          Σ_{a < n} Σ_{u < c} b(c·a + u) = Σ_{k < c·n} b(k)
    Σ_{u < n} b(l + u) = Σ_{k < m} [l <= k < l + n]·b(k)          Σₖ [k = p]·b(k) = [0 <= p < n]·b(p)          Σᵢ cᵢ·Σₖ [gᵢ]·b = 0  where  Σᵢ cᵢ·[gᵢ] = 0

Comes in: a sum. Goes out: an `Equal`. The one idea: an index is renamed by a map that is one to one, and what the map does not reach is a truth, which is a number.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from itertools import product

from tinygpu.algebra.folds import is_sum
from tinygpu.algebra.laws import Equal, Side, equation, scoped, shortened
from tinygpu.algebra.polynomial import (
    REAL,
    ZERO,
    Met,
    Monomial,
    Polynomial,
    Unfollowed,
    added,
    is_truth,
    ring,
    term_of,
    written,
)
from tinygpu.category.decide import holds
from tinygpu.category.linear import polynomial as index_polynomial
from tinygpu.category.linear import term_of as index_of
from tinygpu.category.region import Region
from tinygpu.category.simplify import simplify
from tinygpu.category.term import (
    BOOL,
    TRUE,
    App,
    Axis,
    Const,
    Fold,
    Read,
    Term,
    Var,
    conjunction,
    conjuncts,
    negation,
    select,
    substitute,
    variables,
    walk,
)
from tinygpu.category.text import claimed

TRUTHS = 8  # that are asked for together
NOUGHT = Const(0.0, REAL)


def cut(fold: Fold, at: int, parts: int) -> Equal:
    """`Σ_{k < 2·n} b(k) = Σ_{k < n} b(k) + Σ_{k < n} b(k + n)`."""
    axis, out = fold.axes[at], list[Term]()
    extent = index_polynomial(axis.extent)
    if str(fold.monoid) != "sum" or parts < 2 or any(c % parts for c in extent.values()):
        raise ValueError("no parts of one length")
    length = index_of({m: c // parts for m, c in extent.items()})
    axes = (*fold.axes[:at], Axis(axis.name, length), *fold.axes[at + 1 :])
    for part in range(parts):
        to: dict[str, Term] = {axis.name: Var(axis.name) + length * part}
        guard, body = (simplify(substitute(t, to)) for t in (fold.guard, fold.body))
        out.append(Fold("sum", axes, guard, body, REAL))
    return equation(fold, reduce(lambda a, b: App("add", (a, b), REAL), out), "cut")


def unrolled(fold: Fold, at: int) -> Equal:
    """A sum with one of its axes, of so many places, written out."""
    axis, rest = _apart(fold, at)
    if str(fold.monoid) != "sum" or not isinstance(axis.extent, Const):
        raise ValueError("not to be written out")
    out: Term = NOUGHT
    for place in range(int(axis.extent.value)):
        guard, body = (simplify(substitute(t, {axis.name: Const(place)})) for t in (fold.guard, fold.body))
        one = Fold("sum", rest, guard, body, REAL) if rest else select(guard, body, NOUGHT)
        out = App("add", (out, one), REAL)
    return equation(fold, out, "unrolled")


def _apart(fold: Fold, at: int) -> tuple[Axis, tuple[Axis, ...]]:
    """An axis, and the others, whose extents do not follow it."""
    axis, rest = fold.axes[at], fold.axes[:at] + fold.axes[at + 1 :]
    if any(axis.name in variables(a.extent) for a in rest):
        raise Unfollowed("an extent that follows another index")
    return axis, rest


def _one(fold: Fold) -> tuple[Monomial, Term]:
    """The product that a sum is of, and its number."""
    met: Met = set()
    ((monomial, c),) = ring(fold.body, met).items()
    if met or not is_sum(fold):
        raise ValueError("no sum of one product")
    return monomial, term_of({(): c})


# ── one place ──────────────────────────────────────────────────────────────────────────────────────────────────────


def picked(fold: Fold, at: int) -> Equal:
    """`Σₖ [k = p]·b(k) = [0 <= p < n]·b(p)`; where nothing but sizes and indices say p, that it is a place is shown and not asked."""
    axis, rest = _apart(fold, at)
    monomial, c = _one(fold)
    said, place = next((t, place) for t, _ in monomial if (place := place_of(t, axis)) is not None)
    left = substitute(written(tuple(f for f in monomial if f[0] != said)), {axis.name: place})
    here = conjunction(place >= 0, place < axis.extent)
    known = _never_below(place)
    left = left if known else select(here, left, NOUGHT)
    whole: Term = Fold("sum", rest, TRUE, left, REAL) if rest else left
    sides = [scoped(Side("holds", here), rest, TRUE)] if known else []
    return equation(fold, App("mul", (c, whole), REAL), "picked", sides=sides)


def place_of(factor: Term, axis: Axis) -> Term | None:
    """The p of `[k = p]`, for the k of an axis; None of what is not that."""
    match factor:
        case App("select", (App("eq", (Const(0), d)), _, _)):
            form = index_polynomial(d)
            own = (Var(axis.name),)
            sign = form.get(own, 0)
            other = index_of({m: -c * sign for m, c in form.items() if m != own})
            return other if abs(sign) == 1 and axis.name not in variables(other) else None
    return None


def _never_below(place: Term) -> bool:
    form = index_polynomial(place)
    return all(c > 0 for c in form.values()) and not any(isinstance(t, Read) for t in walk(place))


# ── one index for two, and another range ───────────────────────────────────────────────────────────────────────────


def flattened(fold: Fold, major: int, minor: int) -> Equal | None:
    """`Σ_{a < n} Σ_{u < c} b(c·a + u) = Σ_{k < c·n} b(k)`; None where b speaks of a or of u otherwise. A truth `[0 <= d]` of a alone is `[0 <= c·d + u]`,
    and `[0 <= c·d + c − 1 − u]`: whichever goes up with `c·a + u`, or down with it."""
    a, u = fold.axes[major], fold.axes[minor]
    if any({a.name, u.name} & variables(other.extent) for other in fold.axes):
        return None
    monomial, c = _one(fold)
    name = claimed(a.name, {*variables(fold), *(axis.name for axis in fold.axes)})
    to = {u.name: Var(name) - u.extent * Var(a.name)}
    body = shortened(substitute(written(tuple((_widened(t, a, u), p) for t, p in monomial)), to))
    if {a.name, u.name} & variables(body):
        return None
    rest = tuple(axis for axis in fold.axes if axis not in (a, u))
    whole = Fold("sum", (*rest, Axis(name, simplify(a.extent * u.extent))), TRUE, body, REAL)
    sides = [scoped(Side("counts", axis.extent), rest, TRUE) for axis in (a, u)]
    return equation(fold, App("mul", (c, whole), REAL), "flattened", sides=sides)


def _widened(factor: Term, a: Axis, u: Axis) -> Term:
    """A truth of `a` as one of `c·a + u`."""
    match factor:
        case App("select", (App("le", (Const(0), d)), _, _)) if a.name in variables(d) and u.name not in variables(d):
            form = index_polynomial(d)
            sign = form.get((Var(a.name),), 0)
            if abs(sign) == 1 and not any(Var(a.name) in m for m in form if m != (Var(a.name),)):
                within = Var(u.name) if sign > 0 else u.extent - 1 - Var(u.name)
                return _truth(App("le", (Const(0), d * u.extent + within), BOOL))
    return factor


def _truth(condition: Term) -> Term:
    return App("select", (condition, Const(1.0, REAL), NOUGHT), REAL)


def windowed(fold: Fold, at: int, low: Term, extent: Term) -> Equal:
    """`Σ_{u < n} b(l + u) = Σ_{k < m} [l <= k < l + n]·b(k)`, where b is 0 but for places of k."""
    axis, rest = _apart(fold, at)
    monomial, c = _one(fold)
    if axis.name in variables(low):
        raise ValueError("no place to begin at")
    name = claimed(axis.name, {*variables(fold), *variables(low), *(other.name for other in fold.axes)})
    k, u = Var(name), Var(axis.name)
    body = shortened(substitute(written(monomial), {axis.name: k - low}))
    axes = (*rest, Axis(name, extent))
    asked = [t.args[0] for t, _ in monomial if is_truth(t) and isinstance(t, App)]
    side = Side("holds", conjunction(low + u >= 0, low + u < extent))
    whole = Fold("sum", axes, TRUE, select(conjunction(k >= low, k < low + axis.extent), body, NOUGHT), REAL)
    return equation(fold, App("mul", (c, whole), REAL), "windowed", sides=[scoped(side, fold.axes, conjunction(*asked))])


def narrowed(fold: Fold, at: int) -> Equal | None:
    """`Σ_{k < m} [k < n]·b = Σ_{k < n} b`, and `max_{k < m | k < n} b = max_{k < n} b`, where n is at most m; None where that is not seen."""
    axis, names, plain = fold.axes[at], {a.name for a in fold.axes}, is_sum(fold)
    if plain and len(ring(fold.body, set())) != 1:
        return None
    product, c = _one(fold) if plain else ((), Const(1.0, REAL))
    conditions = [t.args[0] for t, _ in product if isinstance(t, App) and is_truth(t)] if plain else conjuncts(fold.guard)
    for asked in conditions:
        extent = _end(asked, axis)
        if extent is None or names & variables(extent) or holds(extent < axis.extent + 1, Region()) is not True:
            continue
        axes = (*fold.axes[:at], Axis(axis.name, extent), *fold.axes[at + 1 :])
        rest = tuple(f for f in product if f[0] != _truth(asked))
        body = App("mul", (c, written(rest)), REAL) if plain else fold.body
        guard = TRUE if plain else conjunction(*(g for g in conditions if g != asked))
        side = Side("holds", extent <= axis.extent)
        return equation(fold, Fold(fold.monoid, axes, guard, body, fold.dtype), "narrowed", sides=[side])
    return None


def _end(asked: Term, axis: Axis) -> Term | None:
    """The n of `k < n`, another one than where the axis ends."""
    match asked:
        case App("le", (Const(0), d)) if index_polynomial(d).get((Var(axis.name),)) == -1:
            extent = simplify(d + Var(axis.name) + 1)
            return extent if extent != axis.extent else None
    return None


def begins(fold: Fold, at: int) -> Term | None:
    """The l of a sum whose elements are read at `l + u` only."""
    name = fold.axes[at].name
    lows = {
        index_of({m: c for m, c in form.items() if m != (Var(name),)})
        for read in walk(fold.body)
        if isinstance(read, Read)
        for place in read.index
        if name in variables(place) and (form := index_polynomial(place)).get((Var(name),)) == 1
    }
    (low,) = lows if len(lows) == 1 else (None,)
    return low if low is not None and low != Const(0) and name not in variables(low) else None


# ── truths that cancel ─────────────────────────────────────────────────────────────────────────────────────────────


def factored(factor: Monomial) -> tuple[tuple[Axis, ...], Monomial, Monomial, Term | None]:
    """A product, or the sum of one: its axes, what is no truth, its truths, and the number of what it is a sum of."""
    axes, number = tuple[Axis, ...](), None
    if len(factor) == 1 and factor[0][1] == 1 and isinstance(fold := factor[0][0], Fold) and is_sum(fold):
        axes = fold.axes
        factor, number = _one(fold)
    truths = tuple(f for f in factor if is_truth(f[0]))
    return axes, tuple(f for f in factor if f not in truths), truths, number


def vanished(term: Term) -> Equal | None:
    """`Σᵢ cᵢ·Σₖ [gᵢ]·b = 0` where `Σᵢ cᵢ·[gᵢ] = 0` at each k; None where that cannot be."""
    met: Met = set()
    groups: dict[tuple[tuple[Axis, ...], Monomial], Polynomial] = {}
    for monomial, c in ring(term, met).items():
        axes, rest, truths, number = factored(monomial)
        c = c * ring(number, met)[()] if number is not None else c
        groups[axes, rest] = added(groups.get((axes, rest), ZERO), {truths: c})
    sides = list[Side]()
    for (axes, _), p in groups.items():
        cases = list(_cases(p))
        if TRUE in cases:
            return None
        sides.append(scoped(Side("always", conjunction(*map(negation, cases))), axes, TRUE))
    return equation(term, term_of(ZERO), "vanished", met=met, sides=sides)


def _cases(p: Polynomial) -> Iterator[Term]:
    """What holds where a polynomial of truths is not 0."""
    truths = list(dict.fromkeys(t for m in p for t, _ in m))
    if len(truths) > TRUTHS:
        raise Unfollowed("so many conditions at once")
    for chosen in product((True, False), repeat=len(truths)):
        holds = dict(zip(truths, chosen, strict=True))
        if sum(c for m, c in p.items() if all(holds[t] for t, _ in m)):
            said = [t.args[0] for t in truths if isinstance(t, App)]
            yield conjunction(*(g if yes else negation(g) for g, yes in zip(said, chosen, strict=True)))
