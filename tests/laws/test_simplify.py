"""Simplification is sound: every rule is a theorem that z3 proves, and random terms keep their value at every point of their box.

Comes in: the table of rules, random boxes and random terms. Goes out: nothing, or a rule or a term for which it is not so.
The one idea: the rules are proved one by one, and the engine that applies them is tested by brute force.
"""

from __future__ import annotations

import pytest
import z3
from hypothesis import given
from hypothesis import strategies as st

from tests.laws.points import points
from tinygpu.category.bounds import lower, upper
from tinygpu.category.decide import holds
from tinygpu.category.evaluate import evaluate
from tinygpu.category.region import Region
from tinygpu.category.simplify import RULES, Rule, simplify
from tinygpu.category.smtlib import script
from tinygpu.category.term import TRUE, App, Axis, Const, Term, Var, apply, equal, lift, select, text, variables, walk

SIZES = ("m", "n")
b, c, x = map(Var, "bcx")
# instances of rules proved before, where z3 does not find them by itself
LEMMAS = {"the quotient of a remainder": (equal(x // b // c, x // (c * b)),)}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_rule_is_a_theorem(rule: Rule) -> None:
    """Each rule, for all integers that its conditions allow. Divisors are positive wherever the left side is defined."""
    divisors = {t.args[1] for t in walk(rule.left) if isinstance(t, App) and t.op in ("floordiv", "mod", "ceildiv")}
    # the solver is told of xor on 16 bits only
    flipped = {arg for t in walk(rule.left) if isinstance(t, App) and t.op == "xor" for arg in t.args if isinstance(arg, Var)}
    bits = [bound for arg in flipped for bound in (arg >= 0, arg < 65536)]
    hypotheses = (*rule.when, *(divisor > 0 for divisor in divisors), *LEMMAS.get(rule.name, ()), *bits)
    solver = z3.Solver(ctx=z3.Context())
    solver.set("rlimit", 20_000_000)
    solver.from_string(script(hypotheses, equal(rule.left, rule.right)))
    assert solver.check() == z3.unsat, rule


NAMES = ("i", "j", "k", "e", *SIZES)
POINTS = [{"m": m, "n": n} for m, n in ((0, 0), (1, 1), (1, 4), (2, 3), (3, 2), (3, 8))]


@st.composite
def boxes(draw: st.DrawFn) -> Region:
    """Boxes with axes of constant and symbolic extents, some of them guarded."""
    n, m, i, j = Var("n"), Var("m"), Var("i"), Var("j")
    tile = draw(st.sampled_from([n, apply("ceildiv", n, 4), n // 2, n * 2]))
    axes = (Axis("i", tile), Axis("j", m), Axis("k", draw(st.sampled_from([lift(1), lift(2), lift(4)]))), Axis("e", m * n))
    guards = [
        TRUE,
        i * 4 + Var("k") < n,
        equal(n % 4, 0),
        equal(n % 2, 0),
        n >= 2,
        i <= j,
        App("not", (i < j,), "bool"),
        j * 2 < i + 1,
    ]
    return Region(axes).under(draw(st.sampled_from(guards)), draw(st.sampled_from(guards)))


def terms(depth: int = 3) -> st.SearchStrategy[Term]:
    """Index terms whose divisors are constants, sizes and products of them."""
    leaf: st.SearchStrategy[Term] = st.one_of(st.sampled_from([Var(v) for v in NAMES]), st.builds(Const, st.integers(-3, 12)))
    if depth == 0:
        return leaf
    inner = terms(depth - 1)
    divisor = st.one_of(
        st.builds(Const, st.sampled_from([1, 2, 3, 4, 6, 8, 16])), st.sampled_from([Var("n"), Var("m"), Var("n") * 2, Var("n") - 1])
    )
    return st.one_of(
        leaf,
        st.builds(apply, st.sampled_from(["add", "add", "sub", "mul"]), inner, inner),
        st.builds(apply, st.sampled_from(["floordiv", "mod", "ceildiv"]), inner, divisor),
        st.builds(apply, st.sampled_from(["min", "max", "xor"]), inner, inner),
        st.builds(lambda a, d: a // d * d + a % d, inner, divisor),
        st.builds(lambda a, b, d: a * d + b % d, inner, inner, divisor),
        st.builds(select, guards(inner), inner, inner),
    )


def guards(inner: st.SearchStrategy[Term]) -> st.SearchStrategy[Term]:
    """Comparisons of terms, and their conjunctions, disjunctions and complements."""
    compare = st.builds(apply, st.sampled_from(["lt", "le", "gt", "ge", "eq", "ne"]), inner, inner)
    both = st.builds(lambda op, a, b: App(op, (a, b), "bool"), st.sampled_from(["and", "or"]), compare, compare)
    return st.one_of(compare, both, st.builds(lambda a: App("not", (a,), "bool"), both))


def values(term: Term, box: Region) -> list[int | None]:
    """The value at every point of the box for every size; None where a division by zero makes it undefined."""
    return [valued(term, at) for sizes in POINTS for at in points(box, sizes)[:: 1 + sizes["n"] // 3]]


def valued(term: Term, at: dict[str, int]) -> int | None:
    try:
        return evaluate(term, at)
    except ZeroDivisionError:
        return None


@given(terms(), boxes())
def test_simplified_terms_are_equal(term: Term, box: Region) -> None:
    simple = simplify(term, box)
    before, after = values(term, box), values(simple, box)
    assert all(a in (None, b) for a, b in zip(before, after, strict=True)), (text(term), str(box), text(simple))
    # to be simple is to stay as it is
    assert simplify(simple, box) == simple, (text(term), text(simple), text(simplify(simple, box)))


@given(terms(), boxes())
def test_bounds_are_bounds(term: Term, box: Region) -> None:
    low, high = lower(term, box), upper(term, box)
    assert low is None or not variables(low) & set(box.names)
    found = values(term, box)
    for bound, beyond in ((low, lambda a, b: a > b), (high, lambda a, b: a < b)):
        if bound is not None:
            ends = values(bound, box)
            wrong = [(e, v) for e, v in zip(ends, found, strict=True) if None not in (e, v) and beyond(e, v)]
            assert not wrong, (text(term), str(box), text(bound), wrong[0])


@given(guards(terms(2)), boxes())
def test_decided_guards_are_so(guard: Term, box: Region) -> None:
    decided = holds(guard, box)
    assert decided is None or all(v is None or bool(v) == decided for v in values(guard, box)), (
        text(guard),
        str(box),
        decided,
    )
