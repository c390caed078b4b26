"""Normal forms are equal to what they are made of, and inverses invert: by evaluation at points.

Comes in: random index terms. Goes out: a failure with the term and the point. The one idea: the normal form is trusted, so it is tried.
"""

from __future__ import annotations

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from tinygpu.replay.inverse import inverse
from tinygpu.replay.ir import BOOL, INDEX, Axis, Num, Op, Term, Var, num, put
from tinygpu.replay.linear import Ranges

AXES = (Axis("a", num(16)), Axis("b", num(32)), Axis("c", Var("n")))
OPERATORS = {"add": int.__add__, "sub": int.__sub__, "mul": int.__mul__, "floordiv": int.__floordiv__, "ceildiv": lambda a, b: -(-a // b), "mod": int.__mod__,
             "lt": int.__lt__, "le": int.__le__, "gt": int.__gt__, "ge": int.__ge__, "eq": int.__eq__, "ne": int.__ne__}  # fmt: skip
LEAVES = st.sampled_from([Var("a"), Var("b"), Var("c")]) | st.integers(-5, 40).map(num)
FACTORS = st.sampled_from([2, 3, 4, 6, 8, 16, 32]).map(num)


def deeper(inner: st.SearchStrategy[Term]) -> st.SearchStrategy[Term]:
    def made(op: str, a: Term, b: Term) -> Term:
        return Op(op, (a, b), INDEX)

    sums = st.builds(made, st.sampled_from(["add", "sub", "add", "sub", "mul"]), inner, inner)
    digits = st.builds(made, st.sampled_from(["floordiv", "mod", "mul", "ceildiv"]), inner, FACTORS)
    tests = st.builds(lambda op, a, b: Op(op, (a, b), BOOL), st.sampled_from(["lt", "le", "gt", "ge", "eq", "ne"]), inner, inner)
    return sums | digits | st.builds(lambda c, a, b: Op("select", (c, a, b), INDEX), tests, inner, inner)


def value(term: Term, point: dict[str, int]) -> int:
    """The value of an index term."""
    match term:
        case Num(number):
            return int(number)
        case Var(name):
            return point[name]
        case Op("select", (c, a, b)):
            return value(a if value(c, point) else b, point)
        case Op(op, (a, b)):
            return OPERATORS[op](value(a, point), value(b, point))
    raise AssertionError(term)


@settings(max_examples=400, deadline=None)
@given(st.recursive(LEAVES, deeper, max_leaves=12), st.integers(0, 15), st.integers(0, 31), st.integers(0, 300))
def test_the_normal_form_has_the_value_of_the_term(term: Term, a: int, b: int, c: int) -> None:
    normal = Ranges.of(AXES, ("n",)).simplify(term)
    assert value(normal, {"a": a, "b": b, "c": c}) == value(term, {"a": a, "b": b, "c": c})


def plus(*terms: Term) -> Term:
    total = terms[0]
    for term in terms[1:]:
        total = Op("add", (total, term), INDEX)
    return total


def times(a: Term, b: int) -> Term:
    return Op("mul", (a, num(b)), INDEX)


def digit(a: Term, low: int, size: int) -> Term:
    return Op("mod", (Op("floordiv", (a, num(low)), INDEX), num(size)), INDEX)


def test_writers_are_found_by_the_index_that_they_write() -> None:
    t, u, v = Var("t"), Var("u"), Var("v")
    block = (Axis("u", num(4)), Axis("t", num(8)))
    whole = plus(times(u, 8), t)
    cases: tuple[tuple[tuple[Axis, ...], list[Term], tuple[Axis, ...]], ...] = (
        (block, [plus(times(t, 4), u)], ()),  # mixed radix
        (block, [t, u], ()),  # exchanged
        (block, [digit(whole, 1, 2), Op("floordiv", (whole, num(2)), INDEX)], block),  # the threads as one number, cut anew
        (block, [plus(times(digit(whole, 4, 8), 4), digit(whole, 1, 4))], block),
        ((Axis("v", num(4)), *block), [plus(times(v, 32), whole)], ()),
        (block, [plus(num(31), times(plus(times(u, 8), t), -1))], ()),  # backwards
    )
    for unknown, written, together in cases:
        cells = [Var(f"cell{n}") for n in range(len(written))]
        found = inverse(unknown, list(zip(written, cells, strict=True)), together, Ranges())
        assert found is not None, written
        for numbers in product(*(range(int(value(a.extent, {}))) for a in unknown)):
            point = dict(zip((a.name for a in unknown), numbers, strict=True))
            there = {c.name: num(value(w, point)) for c, w in zip(cells, written, strict=True)}
            assert {n: value(put(found[n], there), {}) for n in point} == point
