"""Arrows are a category, and honest: every generator does what it claims, for small sizes, and so does all that is built from them.

Comes in: the zoo of arrows, and random tables. Goes out: nothing, or an arrow and sizes for which a law fails.
The one idea: flags and inverses are claims, brute force is the judge.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.laws.zoo import ZOO, nested, sizes_of
from tinygpu.category.arrow import Arrow, agree, cases, honest, identity
from tinygpu.category.box import box
from tinygpu.category.digits import digits, inferred, merged
from tinygpu.category.finite import inverse_matrix, swizzle, table
from tinygpu.category.generators import pad, project, rename, split
from tinygpu.category.term import TRUE, Axis, Var, equal, lift, text

n = Var("n")


@pytest.mark.parametrize("name", ZOO)
def test_arrows_are_honest(name: str) -> None:
    """It lands in its codomain, its flags hold, its inverse inverts; so do those of its normal form and of its inverse."""
    arrow = ZOO[name]()
    for one in (arrow, arrow.normal(), *([~arrow] if arrow.mono and arrow.inverse else [])):
        for sizes in sizes_of(arrow, 24):
            assert honest(one, sizes), (str(one), sizes)
            assert agree(one, arrow, sizes) or one.domain != arrow.domain


@pytest.mark.parametrize("name", [name for name in ZOO if ZOO[name]().mono])
def test_inverse_undoes(name: str) -> None:
    """`f >> ~f = id`, and `~f >> f = id` on the image."""
    arrow = ZOO[name]()
    for sizes in sizes_of(arrow, 24):
        assert agree(arrow >> ~arrow if arrow.iso else onto(arrow) >> ~arrow, identity(arrow.domain), sizes)
        assert agree(~arrow >> arrow, identity(arrow.image), sizes)
    assert (~~arrow).terms == arrow.terms


def onto(arrow: Arrow) -> Arrow:
    """A mono as an iso onto its image."""
    return Arrow(arrow.domain, arrow.image, arrow.terms, arrow.inverse, mono=True, epi=True)


CLAIMS = {
    "iso": ["split", "split that divides", "split of a product", "split by a size", "merge", "permute", "rename", "swizzle",
            "fragment", "digits", "digits, the middle one inferred", "merged", "cases", "two levels of splits", "side by side", "restricted"],
    "mono": ["pad"],
    "epi": ["project", "replicate", "table onto"],
    "nothing": ["halo", "stride"],
}  # fmt: skip


@pytest.mark.parametrize("claim", CLAIMS)
def test_claims(claim: str) -> None:
    """What is known by structure: enough, so that the solver is not asked, and no more."""
    for name in CLAIMS[claim]:
        f = ZOO[name]()
        assert (f.mono, f.epi) == (claim in ("iso", "mono"), claim in ("iso", "epi")), name


def test_false_claims_are_seen() -> None:
    """The judge judges: wrong flags, wrong inverses and arrows that do not land are seen."""
    f = ZOO["stride"]()
    assert not honest(Arrow(f.domain, f.codomain, f.terms, epi=True), {"n": 3})
    assert not honest(Arrow(box(i=4), box(q=2), (Var("i") // 2,), mono=True), {})
    assert not honest(Arrow(box(i=4), box(i=4), (Var("i"),), (Var("i") + 1,)), {})
    assert not honest(Arrow(box(i=4), box(i=4), (Var("i") + 1,)), {})


tables = st.integers(1, 5).flatmap(
    lambda m: st.lists(st.integers(0, m - 1), min_size=1, max_size=5).map(lambda entries: (m, entries))
)


def arrow_of(entries: list[int], m: int, source: str, target: str) -> Arrow:
    """A random function `[len(entries)] → [m]`."""
    return table(box(**{source: len(entries)}), box(**{target: m}), [(e,) for e in entries])


@given(st.data())
def test_category(data: st.DataObject) -> None:
    """Associative, with units; tensor is a functor; flags are closed."""
    m, first = data.draw(tables)
    f = arrow_of(first, m, "a", "b")
    k = data.draw(st.integers(1, 5))
    g = arrow_of(data.draw(st.lists(st.integers(0, k - 1), min_size=m, max_size=m)), k, "b", "c")
    h = arrow_of(data.draw(st.lists(st.integers(0, 2), min_size=k, max_size=k)), 3, "c", "d")
    assert agree((f >> g) >> h, f >> (g >> h), {}) and f >> identity(f.codomain) == f == identity(f.domain) >> f
    assert honest(f >> g, {}) and honest(f @ rename(h.domain, {"c": "z"}), {})
    s, t = rename(box(y=2), {"y": "z"}), rename(box(z=2), {"z": "w"})
    assert agree((f @ s) >> (g @ t), (f >> g) @ (s >> t), {})


@given(st.permutations(range(5)), st.permutations(range(5)))
def test_isos_compose(first: list[int], second: list[int]) -> None:
    """`~(f >> g) = ~g >> ~f`."""
    f, g = arrow_of(first, 5, "a", "b"), arrow_of(second, 5, "b", "c")
    assert (f >> g).iso and agree(~(f >> g), ~g >> ~f, {})


@given(st.data())
def test_cases(data: st.DataObject) -> None:
    """A sum of cases is each of them on its own part; overlapping cases are refused."""
    m, entries = data.draw(tables)
    cut = data.draw(st.integers(0, len(entries)))
    f = arrow_of(entries, m, "a", "b")
    low, high = f.restrict(Var("a") < cut), f.restrict(Var("a") >= cut)
    assert agree(cases(low, high), f, {}) and honest(cases(low, high), {})
    with pytest.raises(ValueError, match="not disjoint"):
        cases(f, low)


@given(st.integers(0, 64), st.lists(st.integers(1, 5), min_size=0, max_size=3), st.integers(0, 3))
def test_digits(size: int, extents: list[int], position: int) -> None:
    """Any factors and any position of the inferred one: iso onto the index; without an inferred one: what is claimed holds."""
    known = tuple(Axis(f"f{k}", lift(e)) for k, e in enumerate(extents))
    position = min(position, len(known))
    index = Axis("i", n)
    factors = (*known[:position], Axis("g", inferred(n, known)), *known[position:])
    owner = digits(index, factors)
    assert owner.iso and honest(owner, {"n": size}) and honest(~owner, {"n": size})
    assert honest(digits(Axis("i", lift(size)), known), {})
    rows = merged((index, Axis("j", lift(3))), (Axis("g", inferred(n * 3, known)), *known))
    assert rows.iso and honest(rows, {"n": size})


@given(st.integers(0, 4), st.integers(1, 8), st.integers(1, 4))
def test_hypotheses_only_drop_guards(quotient: int, by: int, times: int) -> None:
    """With `n % (B·t) == 0` the split by B needs no guard, and is the same arrow."""
    where = equal(n % (by * times), 0)
    f, g = split(Axis("i", n), by, "q", "r", where), split(Axis("i", n), by, "q", "r")
    sizes = {"n": quotient * by * times}
    assert f.codomain.guard == TRUE and agree(f, g, sizes) and honest(f, sizes)


@given(st.permutations(range(6)), st.lists(st.integers(0, 63), min_size=6, max_size=6))
def test_swizzles(order: list[int], columns: list[int]) -> None:
    """Permutations of bits are swizzles; a matrix is one exactly when its map on bits is one-to-one."""
    axis = Axis("i", lift(64))
    assert honest(swizzle(axis, [1 << bit for bit in order]), {})
    images = {_flip(value, columns) for value in range(64)}
    assert (inverse_matrix(columns) is not None) == (len(images) == 64)
    if len(images) == 64:
        assert honest(swizzle(axis, columns), {})


def _flip(value: int, columns: list[int]) -> int:
    out = 0
    for bit, column in enumerate(columns):
        out ^= column if value >> bit & 1 else 0
    return out


def test_what_does_not_fit_is_refused() -> None:
    """Boxes that do not meet, guards that are not promised, inverses that are not known, names that clash."""
    x = box(i=n)
    with pytest.raises(ValueError, match="is not"):
        identity(x) >> identity(box(j=n))
    with pytest.raises(ValueError, match="does not promise"):
        identity(x) >> identity(x.guarded(Var("i") > 0))
    with pytest.raises(ValueError, match="no inverse"):
        ~project(box(i=2, j=2), "j")
    with pytest.raises(ValueError, match="twice"):
        identity(x) @ identity(x)
    with pytest.raises(ValueError, match="cannot see"):
        pad(Axis("i", n), Var("m"))


def test_guards_as_text() -> None:
    """What a reader sees of nested tiles: nothing that bounds decide, and nothing twice."""
    f = nested(split(Axis("i", Var("M")), 64, "by", "rest"), "rest", 8, "ty", "ri")
    assert text(f.codomain.guard) == "by*64 + ty*8 + ri < M"
