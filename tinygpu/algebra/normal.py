"""The normal form of a value over the reals: a sum of products, each under one sum over all of its indices.

    Σᵢ cᵢ · Σ_{k < n, l < m, …} Π atoms

Comes in: a value. Goes out: an `Equal` to its normal form. The one idea: nothing is searched, since the laws are used in one direction each; what is left to choose is what bound
variables are called and in which order they stand, so that two values that are equal by these laws are one term. It is not trusted: each step is a law's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, permutations, product
from math import gcd

from tinygpu.algebra.folds import asked, gathered, hoisted, is_sum, renamed, shifted, split
from tinygpu.algebra.laws import (
    OPENED,
    Equal,
    applied,
    arithmetic,
    exponential,
    inside,
    linear,
    logarithm,
    same,
    settled,
    then,
    under,
)
from tinygpu.algebra.polynomial import Monomial, Unfollowed, is_truth, ring, rounds, term_of, written
from tinygpu.algebra.ranges import begins, cut, factored, flattened, narrowed, picked, place_of, unrolled, windowed
from tinygpu.algebra.sides import above
from tinygpu.category.linear import polynomial as index_polynomial
from tinygpu.category.node import kept
from tinygpu.category.term import BOOL, FLOATS, INDEX, App, Const, Fold, Term, Var, children, memoised, substitute, variables
from tinygpu.category.text import sorting

SMALL = 16  # places of an axis that is written out
PARTS = 8  # of a range that is some times as long as a size
ORDERS = 720  # of axes that nothing tells apart


@memoised
def normal(term: Term) -> Equal:
    """The value's normal form. Raises Unfollowed."""
    match term:
        case App(op) if op in OPENED:
            return _polynomial(inside(term, normal, _below))
        case Fold():
            return _fold(term)
        case App() if (term.op != "cast" or rounds(term)) and children(term):
            found = applied(term, [normal(a) if a.dtype not in (INDEX, BOOL) else same(a) for a in term.args])
            return _function(found) if term.dtype in FLOATS else found
    return settled(term) if not isinstance(term, Const) else arithmetic(term)


def _below(term: Term) -> Equal:
    """What is divided by, in its normal form, but that its sums have only what speaks of their indices: the rest is divided by, too."""
    found = normal(term)
    return then(found, hoisted(found.right))


def _function(found: Equal) -> Equal:
    """A function of what is in its normal form."""
    match found.right:
        case App("log", (a,)) if len(ring(a, set())) == 1:
            flat = then(found, applied(found.right, [hoisted(a)]))
            assert isinstance(flat.right, App)
            ((monomial, c),) = ring(flat.right.args[0], set()).items()
            return then(flat, logarithm(flat.right)) if c > 0 and all(above(t) is not None for t, _ in monomial) else flat
        case App("exp", (a,)) as power:
            logs = [t for m in ring(a, set()) for t, _ in m if isinstance(t, App) and t.op == "log"]
            if logs and all(above(t.args[0]) is not None for t in logs):
                return _sums(then(found, exponential(power)))
    return then(found, arithmetic(found.right))


def _polynomial(so_far: Equal) -> Equal:
    """Multiplied out; a product with sums in it is one sum."""
    found = then(so_far, arithmetic(so_far.right))
    return _sums(found)


def _sums(found: Equal) -> Equal:
    """Each monomial as one sum, in its normal form."""
    parts = {m: part for m in ring(found.right, set()) if (part := _summed(m)) is not None}
    return _sums(then(found, linear(found.right, parts))) if parts else found


def _summed(monomial: Monomial) -> Equal | None:
    """A product with sums in it as one sum; None where nothing is to be done."""
    sums = [(t, p) for t, p in monomial if is_sum(t) and p > 0]
    if not sums:
        return None
    if (
        len(monomial) == 1
        and sums[0][1] == 1
        and (other := _pick(sums[0][0]) or _join(sums[0][0]) or _narrow(sums[0][0])) is not None
    ):
        return then(other, normal(other.right))
    if len(monomial) == 1 and sums[0][1] == 1:
        ((fold, _),) = sums
        whole = gathered(fold) if _loose(fold) else same(fold)
    else:
        whole = gathered(written(monomial))
    named = then(whole, _named(whole.right))
    return named if named.left != named.right else None


def _pick(fold: Term) -> Equal | None:
    """A sum of which one place of an axis counts, as what is there."""
    assert isinstance(fold, Fold)
    truths = [t for m in ring(fold.body, set()) for t, _ in m]
    at = next((n for n, axis in enumerate(fold.axes) if any(place_of(t, axis) is not None for t in truths)), None)
    return None if at is None else picked(fold, at)


def _join(fold: Term) -> Equal | None:
    """A sum over what begins each part and over the places of a part, as one over all."""
    assert isinstance(fold, Fold)
    if len(ring(fold.body, set())) != 1:
        return None
    return next((one for a, u in permutations(range(len(fold.axes)), 2) if (one := flattened(fold, a, u)) is not None), None)


def _narrow(fold: Term) -> Equal | None:
    """A fold whose index goes no further than what counts."""
    assert isinstance(fold, Fold)
    return next((one for at in range(len(fold.axes)) if (one := narrowed(fold, at)) is not None), None)


def aligned(found: Equal) -> Equal:
    """A difference of normal forms, a sum over a part of an axis as one over all of it where another one is."""
    sums = [t for m in ring(found.right, set()) if len(m) == 1 and is_sum(t := m[0][0]) and m[0][1] == 1]
    widest = [s for s in sums if all(_wider(s, other) is None for other in sums)]
    wider: dict[Monomial, Equal] = {((s, 1),): w for s in sums for other in widest if (w := _wider(s, other)) is not None}
    return _sums(then(found, linear(found.right, wider))) if wider else found


def _wider(fold: Term, other: Term) -> Equal | None:
    """A sum with the axes of another one that has the same elements."""
    assert isinstance(fold, Fold) and isinstance(other, Fold)
    if fold == other or len(fold.axes) != len(other.axes):
        return None
    for at, axis in enumerate(fold.axes):
        low = begins(fold, at)
        for extent in {a.extent for a in other.axes} - {axis.extent} if low is not None else ():
            moved = windowed(fold, at, low, extent)  # type: ignore[arg-type]
            found = then(moved, normal(moved.right))
            if {factored(m)[:2] for m in ring(found.right, set())} == {factored(((other, 1),))[:2]}:
                return found
    return None


def _loose(fold: Term) -> bool:
    """Whether the body of a sum has sums, or axes that it does not speak of."""
    assert isinstance(fold, Fold)
    body = ring(fold.body, set())
    return any(is_sum(t) and p > 0 for m in body for t, p in m) or any(a.name not in variables(fold.body) for a in fold.axes)


def _named(term: Term) -> Equal:
    """A fold, or a number of times a fold, whose bound variables have the names and the order that they have everywhere."""
    if isinstance(term, Fold):
        order, names = named(term)
        found = renamed(term, order, names)
        found = then(found, settled(found.right))
        assert isinstance(found.right, Fold)
        again = split(found.right) if is_sum(term) else under(found.right, arithmetic(found.right.body))
        return then(found, again)
    return inside(term, lambda t: _named(t) if isinstance(t, Fold) and is_sum(t) else same(t))


def _fold(fold: Fold) -> Equal:
    found = under(fold, normal(fold.body))
    there = found.right
    assert isinstance(there, Fold)
    match str(fold.monoid):
        case "sum":
            small = [n for n, a in enumerate(there.axes) if isinstance(a.extent, Const) and a.extent.value <= SMALL]
            if small:
                found = then(found, unrolled(there, small[0]))
                return then(found, normal(found.right))
            for at, axis in enumerate(there.axes):
                pieces = gcd(*index_polynomial(axis.extent).values())
                if 1 < pieces <= PARTS:
                    found = then(found, cut(there, at, pieces))
                    return then(found, normal(found.right))
            return _sums(then(found, split(there)))
        case "max" | "min":
            found = then(found, asked(there))
            if (narrow := _narrow(found.right)) is not None:
                found = then(found, narrow)
            found = then(found, shifted(found.right))  # type: ignore[arg-type]
            parts = {
                m: _named(m[0][0]) for m in ring(found.right, set()) if len(m) == 1 and m[0][1] == 1 and isinstance(m[0][0], Fold)
            }
            return then(found, linear(found.right, {m: p for m, p in parts.items() if p.left != p.right}))
    raise Unfollowed(f"a fold of {fold.monoid}")


# ── names ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@kept
def height(term: Term) -> int:
    """How many folds are inside of each other."""
    inner = max(map(height, children(term)), default=0)
    return inner + 1 if isinstance(term, Fold) else inner


def named(fold: Fold) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The order and the names of the axes: names by how deep folds are inside, so that none inside is captured, and the order by what they stand in; truths
    count last, since one that is added must not change the order."""
    level = 1 + max(height(fold.body), height(fold.guard))
    names = tuple(f"#{level}.{n}" for n in range(len(fold.axes)))
    marks = [(sorting(a.extent), _seen(fold, a.name)) for a in fold.axes]
    places = sorted(range(len(marks)), key=lambda n: marks[n])
    groups = [tuple(group) for _, group in groupby(places, key=lambda n: marks[n])]
    orders = list(_orders(groups))
    if len(orders) == 1:
        return orders[0], names

    def key(order: Sequence[int]) -> tuple[str, str]:
        to: dict[str, Term] = {fold.axes[n].name: Var(name) for n, name in zip(order, names, strict=True)}
        return sorting(term_of(ring(substitute(fold.body, to), set()))), sorting(substitute(fold.guard, to))

    return min(orders, key=key), names


def _orders(groups: list[tuple[int, ...]]) -> Iterator[tuple[int, ...]]:
    """Every order that only exchanges what is alike."""
    count = 1
    for group in groups:
        for n in range(2, len(group) + 1):
            count *= n
    if count > ORDERS:
        raise Unfollowed("a product of so many sums that nothing tells apart")
    for chosen in product(*(permutations(group) for group in groups)):
        yield tuple(n for group in chosen for n in group)


def _seen(fold: Fold, name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What an axis stands in, where the others have no names: values, and truths."""
    to: dict[str, Term] = {a.name: Var("*" if a.name == name else "-") for a in fold.axes}
    parts = [t for t in (fold.guard, *(t for m in ring(fold.body, set()) for t, _ in m)) if name in variables(t)]
    values, truths = ([t for t in parts if is_truth(t) == yes] for yes in (False, True))
    return tuple(sorted(sorting(substitute(t, to)) for t in values)), tuple(sorted(sorting(substitute(t, to)) for t in truths))
