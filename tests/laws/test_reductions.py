"""The seven laws of reindexing and pushing forward: the whole of "tiling does not change the result".

Comes in: random arrows between small boxes, the generators, every monoid. Goes out: nothing, or values for which a law fails.
The one idea: loads are `f*`, reductions are `f!`; that levels, tails, tiles and replicas may be chosen freely is laws 1 to 7.
Values are integers (truth values for any and all), so that equality is equality.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.laws.zoo import ZOO
from tinygpu.category.arrow import Arrow
from tinygpu.category.box import Box, Point, box
from tinygpu.category.finite import table
from tinygpu.category.generators import pad, project
from tinygpu.category.monoid import SCALARS
from tinygpu.category.span import pullback
from tinygpu.category.term import BOOL, FLOATS, INTEGERS, Axis, Var, lift
from tinygpu.category.value import Values, pull_back, push_forward, scalars

Fold = Callable[[Arrow, Values[Any]], Values[Any]]


def fold(name: str, sizes: dict[str, int] | None = None) -> Fold:
    """`f!` of a monoid by its name."""
    combine, unit = scalars(SCALARS[name], BOOL if name in ("any", "all") else "f64")
    return lambda f, values: push_forward(f, values, combine, unit, sizes or {})


def arrows(data: st.DataObject, source: str, target: str, size: int | None = None, onto: int | None = None) -> Arrow:
    """A random function between small boxes."""
    points = size if size is not None else data.draw(st.integers(1, 6))
    images = onto if onto is not None else data.draw(st.integers(1, 5))
    entries = data.draw(st.lists(st.integers(0, images - 1), min_size=points, max_size=points))
    return table(box(**{source: points}), box(**{target: images}), [(e,) for e in entries])


def values(data: st.DataObject, domain: Box, name: str = "sum", sizes: dict[str, int] | None = None) -> Values[Any]:
    """A random value at each point."""
    element = st.booleans() if name in ("any", "all") else st.integers(-9, 9)
    return {point: data.draw(element) for point in domain.points(sizes or {})}


every_monoid = pytest.mark.parametrize("name", SCALARS)


@every_monoid
@given(st.data())
def test_1_levels(name: str, data: st.DataObject) -> None:
    """`(g f)* = f* g*` and `(g f)! = g! f!`: a reduction may be cut into levels."""
    f = arrows(data, "x", "y")
    g = arrows(data, "y", "z", size=len(f.codomain.points({})))
    v, w = values(data, f.domain, name), values(data, g.codomain, name)
    push = fold(name)
    assert push(f >> g, v) == push(g, push(f, v))
    assert pull_back(f >> g, w, {}) == pull_back(f, pull_back(g, w, {}), {})


@every_monoid
@pytest.mark.parametrize("arrow", [name for name in ZOO if ZOO[name]().iso])
def test_2_isos(name: str, arrow: str) -> None:
    """f iso ⇒ `f! = (f⁻¹)*`: a reassignment moves values and combines nothing."""
    f = ZOO[arrow]()
    sizes = {size: number for size, number in {"M": 3, "N": 7, "n": 20}.items() if size in f.domain.free | f.codomain.free}
    v: Values[Any] = {p: (k % 2 == 0) if name in ("any", "all") else k for k, p in enumerate(f.domain.points(sizes), 1)}
    assert fold(name, sizes)(f, v) == pull_back(~f, v, sizes) and len(v) > 2


@every_monoid
@given(st.data())
def test_3_tiles(name: str, data: st.DataObject) -> None:
    """`g* p! = p'! g'*` for a pullback square: tile then reduce is reduce then tile (Beck–Chevalley)."""
    p = arrows(data, "x", "z")
    g = arrows(data, "y", "z", onto=len(p.codomain.points({})))
    to_x, to_y = pullback(p, g)
    v, push = values(data, p.domain, name), fold(name)
    assert pull_back(g, push(p, v), {}) == push(to_y, pull_back(to_x, v, {}))


@every_monoid
@given(st.data())
def test_4_tails(name: str, data: st.DataObject) -> None:
    """i mono ⇒ `i!` fills with the unit, and `(p i)! = p! i!`: a tail filled with the unit never changes a reduction."""
    size, extra = data.draw(st.integers(0, 6)), data.draw(st.integers(0, 3))
    i = pad(Axis("x", lift(size)), size + extra)
    p = arrows(data, "x", "z", size=size + extra) if size + extra else project(i.codomain, "x")
    v, push = values(data, i.domain, name), fold(name)
    _, unit = scalars(SCALARS[name], BOOL if name in ("any", "all") else "f64")
    filled = push(i, v)
    assert filled == {point: v.get(point, unit) for point in i.codomain.points({})}
    assert push(i >> p, v) == push(p, filled)


@given(st.data())
def test_5_hoisting(data: st.DataObject) -> None:
    """`p!(v · p* w) = p!(v) · w` in a semiring: what is constant along a fibre moves out of the fold. (+, ·) and (max, +)."""
    p = arrows(data, "x", "z")
    v, w = values(data, p.domain), values(data, p.codomain)
    spread, push, largest = pull_back(p, w, {}), fold("sum"), fold("max")
    assert push(p, {x: v[x] * spread[x] for x in v}) == {z: s * w[z] for z, s in push(p, v).items()}
    assert largest(p, {x: v[x] + spread[x] for x in v}) == {z: s + w[z] for z, s in largest(p, v).items()}


HOMOMORPHISMS: dict[str, tuple[str, str, Callable[[Any], Any]]] = {
    "scaling": ("sum", "sum", lambda a: 3 * a),
    "powers": ("sum", "prod", lambda a: 2**a),
    "negation": ("max", "min", lambda a: -a),
    "De Morgan": ("any", "all", lambda a: not a),
    "doubling": ("max", "max", lambda a: 2 * a),
}


@pytest.mark.parametrize("h", HOMOMORPHISMS)
@given(st.data())
def test_6_homomorphisms(h: str, data: st.DataObject) -> None:
    """`h(e) = e'`, `h(a ⊕ b) = h a ⊕' h b` ⇒ `h(p! v) = p!(h v)`."""
    first, second, function = HOMOMORPHISMS[h]
    p = arrows(data, "x", "z")
    v = values(data, p.domain, first)
    mapped = {x: function(a) for x, a in v.items()}
    assert {z: function(a) for z, a in fold(first)(p, v).items()} == fold(second)(p, mapped)


@pytest.mark.parametrize("name", [m.name for m in SCALARS.values() if m.idempotent])
@given(st.data())
def test_7_only_onto(name: str, data: st.DataObject) -> None:
    """An idempotent fold is the same after any reindexing that is onto."""
    size = data.draw(st.integers(1, 5))
    entries = [*range(size), *data.draw(st.lists(st.integers(0, size - 1), max_size=4))]
    e = table(box(y=len(entries)), box(x=size), [(k,) for k in data.draw(st.permutations(entries))])
    assert e.epi
    p = arrows(data, "x", "z", size=size)
    v, push = values(data, e.codomain, name), fold(name)
    assert push(e >> p, pull_back(e, v, {})) == push(p, v)


def test_7_needs_idempotence() -> None:
    """Counting twice is not counting once: law 7 for sums has a counterexample, so the flag matters."""
    e = table(box(y=2), box(x=1), [(0,), (0,)])
    all_of = project(box(x=1), "x")
    once, twice = fold("sum")(all_of, {(0,): 1}), fold("sum")(e >> all_of, pull_back(e, {(0,): 1}, {}))
    assert once != twice and not SCALARS["sum"].idempotent


def test_noncommutative_folds_need_monotone_cuts() -> None:
    """Concatenation: cut in order, the levels give the same; cut by neighbours exchanged (a butterfly), they do not."""
    v: dict[Point, str] = {(k,): "abcd"[k] for k in range(4)}
    total = table(box(x=4), Box(), [()] * 4)

    def push(f: Arrow, w: Values[str]) -> Values[str]:
        return push_forward(f, w, lambda a, b: a + b, "", {})

    ordered = table(box(x=4), box(q=2), [(0,), (0,), (1,), (1,)])
    crossed = table(box(x=4), box(q=2), [(0,), (1,), (0,), (1,)])
    rest = project(box(q=2), "q")
    assert push(rest, push(ordered, v)) == push(total, v) == {(): "abcd"} != push(rest, push(crossed, v))


@every_monoid
def test_monoid_laws(name: str) -> None:
    """Unit, associative, commutative, and idempotent exactly where it says so."""
    monoid = SCALARS[name]
    combine, unit = scalars(monoid, BOOL if name in ("any", "all") else "f64")
    some: list[Any] = [False, True] if name in ("any", "all") else [-2, 0, 1, 3, 7]
    assert all(combine(unit, a) == a == combine(a, unit) for a in some)
    assert all(combine(combine(a, b), c) == combine(a, combine(b, c)) for a in some for b in some for c in some)
    assert all(combine(a, b) == combine(b, a) for a in some for b in some) is monoid.commutative
    assert all(combine(a, a) == a for a in some) is monoid.idempotent


def test_units() -> None:
    """Sums and products have units in every number, floats have them for max and min, integers do not."""
    for dtype in FLOATS + INTEGERS:
        assert (
            SCALARS["sum"].unit(dtype) is not None
            and SCALARS["prod"].unit(dtype) is not None
            and SCALARS["any"].unit(dtype) is None
        )
        assert (SCALARS["max"].unit(dtype) is None) == (SCALARS["min"].unit(dtype) is None) == (dtype in INTEGERS)
    assert SCALARS["sum"].combine(Var("a", "i32"), Var("b", "i32")).dtype == "i32"
