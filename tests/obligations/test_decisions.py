"""What is decided without the solver, and what the solver is told, against plain integers on random terms.

Comes in: hypothesis. Goes out: a condition that `settle` decides has that value wherever it is defined; the terms of z3 have the values
that they should; the side facts of a translation are true. The one idea: nothing that is trusted goes without a brute-force test.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from tinygpu.category.decide import decide
from tinygpu.category.evaluate import evaluate
from tinygpu.category.known import Known
from tinygpu.category.linear import solve
from tinygpu.category.settle import settle
from tinygpu.category.smtlib import Writer
from tinygpu.category.term import BOOL, TRUE, App, Axis, Const, Fold, Read, Term, Var, equal, negation, select, variables, walk
from tinygpu.proof.kernel import ask, evident

I, J, SIZE = Var("i"), Var("j"), Var("n")
EXTENTS: dict[str, Term] = {"i": Const(5), "j": SIZE}
POINTS = [{"i": i, "j": j, "n": n} for n in range(5) for i in range(5) for j in range(n)]

leaves = st.one_of(st.sampled_from([I, J, SIZE]), st.integers(-3, 6).map(Const))
terms = st.recursive(
    leaves,
    lambda inner: st.builds(
        lambda op, a, b: App(op, (a, b)),
        st.sampled_from(["add", "sub", "mul", "min", "max", "floordiv", "mod", "ceildiv"]),
        inner,
        inner,
    ),
    max_leaves=6,
)
linears = st.lists(st.tuples(st.sampled_from([I, J, SIZE, Const(1)]), st.integers(-4, 4)), min_size=1, max_size=4).map(
    lambda parts: sum((atom * c for atom, c in parts), start=Const(0))  # type: ignore[arg-type]
)
sides = st.one_of(terms, linears)
comparisons = st.builds(lambda op, a, b: App(op, (a, b), BOOL), st.sampled_from(["lt", "le", "gt", "ge", "eq", "ne"]), sides, sides)


def _defined(term: Term, env: dict[str, int]) -> bool:
    """Whether every divisor is at least 1, as the obligations ask wherever a program divides."""
    divisors = (t.args[1] for t in walk(term) if isinstance(t, App) and t.op in ("floordiv", "mod", "ceildiv"))
    try:
        return all(evaluate(d, env) >= 1 for d in divisors)
    except ZeroDivisionError:
        return False


@given(comparisons, st.lists(comparisons, max_size=2))
@settings(max_examples=600)
def test_what_is_decided_is_so(condition: Term, facts: list[Term]) -> None:
    verdict = decide(condition, Known.of(EXTENTS, frozenset(facts)))
    settled = settle(condition, EXTENTS, frozenset(facts))
    for env in POINTS:
        if all(_defined(t, env) for t in (condition, *facts)) and all(evaluate(f, env) for f in facts):
            assert verdict is None or verdict == evaluate(condition, env)
            assert evaluate(settled, env) == evaluate(condition, env)


@given(comparisons, sides, sides)
@settings(max_examples=300)
def test_a_settled_choice_is_the_choice(condition: Term, a: Term, b: Term) -> None:
    whole = select(condition, a, b)
    for env in POINTS:
        if _defined(whole, env):
            assert evaluate(settle(whole, EXTENTS, frozenset()), env) == evaluate(whole, env)


@given(linears, linears)
@settings(max_examples=300)
def test_what_is_solved_is_the_solution(left: Term, right: Term) -> None:
    point = solve(left, right, "i")
    if point is not None:
        assert "i" not in variables(point)
        for env in POINTS:
            assert (evaluate(left, env) == evaluate(right, env)) == (env["i"] == evaluate(point, env))


@given(st.lists(comparisons, max_size=3), comparisons)
@settings(max_examples=300)
def test_what_is_evident_follows(hypotheses: list[Term], goal: Term) -> None:
    natural = (I >= 0, J >= 0, SIZE >= 0, I < 5, J < SIZE)
    if evident((*natural, *hypotheses), goal):
        for env in POINTS:
            if all(_defined(t, env) for t in (goal, *hypotheses)) and all(evaluate(h, env) for h in hypotheses):
                assert evaluate(goal, env)


def test_nothing_is_evident_of_a_name_that_may_be_negative() -> None:
    assert evident((I >= 0,), I + 1 > 0)
    assert not evident((), I + 1 > 0)
    assert not evident((I < 5,), I + 1 > 0)


def test_facts_about_a_shadowed_name_are_not_facts_about_the_binder() -> None:
    inside = Fold("sum", (Axis("i", Const(9)),), I < 5, Read("x", (I,), "f32"), "f32")
    assert settle(inside, {"i": Const(5)}, frozenset({I < 5})) == inside


def _value(expression: Any) -> int | bool:
    simple = z3.simplify(expression)
    return z3.is_true(simple) if z3.is_bool(simple) else simple.as_long()


def _parsed(writer: Writer, roots: list[int]) -> tuple[z3.Context, list[Any]]:
    """What z3 reads in the text of a claim."""
    context = z3.Context()
    return context, list(z3.parse_smt2_string(writer.script(roots), ctx=context))


def _at(context: z3.Context, env: dict[str, int]) -> list[tuple[Any, Any]]:
    return [(z3.Int(name, context), z3.IntVal(v, context)) for name, v in env.items()]


@given(st.one_of(terms, comparisons))
@settings(max_examples=200)
def test_the_terms_of_the_text_have_their_values_and_the_side_facts_hold(term: Term) -> None:
    writer = Writer()
    node = writer.term(term)
    value = writer.declare("value", (), writer.sort(term.dtype))
    context, (defined, *facts) = _parsed(writer, [writer.make("Bool", "=", value, node), *writer.facts()])
    for i, j, n in product((0, 1, 4), (-2, 0, 3), (-3, 0, 1, 2, 5)):
        env = {"i": i, "j": j, "n": n}
        digits: dict[str, int] = {}
        for number, (a, b) in enumerate(writer.digits):
            try:
                x, d = evaluate(a, env), evaluate(b, env)
                quotient, rest = (x // d, x % d) if d > 0 else (number, -number)  # then anything may be said of them
            except ZeroDivisionError:
                quotient, rest = number, -number
            digits |= {f"quotient {number}": quotient, f"remainder {number}": rest}
        if _defined(term, env):
            want, put = evaluate(term, env), _at(context, env | digits)
            said = (z3.Bool("value", context), z3.BoolVal(bool(want), context)) if term.dtype == BOOL else None
            said = said or (z3.Int("value", context), z3.IntVal(int(want), context))
            assert all(_value(z3.substitute(f, *put)) for f in facts)
            assert _value(z3.substitute(defined, said, *put))


@given(st.lists(st.sampled_from([(I, J), (J, I), (I, SIZE), (SIZE, J), (I + 1, J), (J, I + 1), (I, I), (SIZE, SIZE)]), max_size=5))
@settings(max_examples=30)
def test_facts_about_products_hold_everywhere(pairs: list[tuple[Term, Term]]) -> None:
    writer = Writer()
    for a, b in pairs:
        writer.term(App("mul", (a, b)))
    context, facts = _parsed(writer, writer.facts())
    for i, j, n in product((-2, 0, 1, 3), repeat=3):
        assert all(_value(z3.substitute(f, *_at(context, {"i": i, "j": j, "n": n}))) for f in facts)


def _proved(goal: Term, *hypotheses: Term) -> bool:
    return bool(ask(hypotheses, goal, 1_000_000)[0] == z3.unsat)


def _scalar(name: str, dtype: str) -> Read:
    return Read(name, (), dtype)


def _cast(term: Term, dtype: str) -> Term:
    return App("cast", (term,), dtype)


def test_integers_wrap_and_have_the_range_of_their_type() -> None:
    x, y = _scalar("x", "u8"), _scalar("y", "u8")
    wide = App("add", (_cast(x, "i32"), _cast(y, "i32")), "i32")
    assert _proved(App("lt", (wide, Const(511, "i32")), BOOL))
    assert not _proved(equal(_cast(App("add", (x, y), "u8"), "i32"), wide))
    assert not _proved(App("gt", (App("add", (_scalar("i", "i32"), Const(1, "i32")), "i32"), _scalar("i", "i32")), BOOL))
    assert _proved(App("eq", (Const(300, "u8"), Const(44, "u8")), BOOL))


def test_a_wider_type_does_not_undo_a_rounding() -> None:
    a, b = _scalar("a", "f16"), _scalar("b", "f16")
    wide = App("mul", (_cast(a, "f32"), _cast(b, "f32")), "f32")
    assert not _proved(equal(_cast(App("mul", (a, b), "f16"), "f32"), wide))
    assert _proved(equal(_cast(App("max", (a, b), "f16"), "f32"), App("max", (_cast(a, "f32"), _cast(b, "f32")), "f32")))
    assert _proved(equal(_cast(_cast(a, "f32"), "f64"), _cast(a, "f64")))
    assert not _proved(equal(_cast(Const(0.1, "f16"), "f32"), Const(0.1, "f32")))
    assert not _proved(equal(_cast(_cast(I, "f16"), "f32"), _cast(I, "f32")))
    assert _proved(equal(_cast(_cast(_scalar("u", "u8"), "f16"), "f32"), _cast(_scalar("u", "u8"), "f32")))
    assert not _proved(equal(_cast(_cast(_scalar("f", "f32"), "f16"), "f32"), _scalar("f", "f32")))


def test_division_by_zero_and_infinity_prove_nothing() -> None:
    x, zero, infinity = _scalar("x", "f32"), Const(0.0, "f32"), Const(float("inf"), "f32")
    assert not _proved(equal(App("div", (x, x), "f32"), Const(1.0, "f32")))
    assert not _proved(App("lt", (x, infinity), BOOL))
    assert not _proved(equal(App("div", (x, zero), "f32"), zero))
    assert not _proved(equal(I // J, Const(0)), equal(J, 0))
    assert not _proved(negation(equal(I % J, J)))


def test_a_fold_that_nothing_matched_is_some_function_of_what_is_free_in_it() -> None:
    def total(row: Term, binder: str) -> Fold:
        return Fold("sum", (Axis(binder, SIZE),), TRUE, Read("x", (row, Var(binder)), "f32"), "f32")

    assert _proved(equal(total(I, "k"), total(I, "k")))
    assert not _proved(equal(total(I, "k"), total(J, "k")))
    assert not _proved(equal(total(I, "k"), Fold("max", (Axis("k", SIZE),), TRUE, Read("x", (I, Var("k")), "f32"), "f32")))
