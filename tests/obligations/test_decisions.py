"""What is decided without the solver, against plain integers on random terms.

Comes in: hypothesis. Goes out: a condition that `settle` decides has that value wherever it is defined; what is solved is the solution; what is
evident follows. The one idea: nothing that is trusted goes without a brute-force test.
"""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tinygpu.category.decide import decide
from tinygpu.category.evaluate import evaluate
from tinygpu.category.known import Known
from tinygpu.category.linear import solve
from tinygpu.category.settle import settle
from tinygpu.category.term import BOOL, App, Axis, Const, Fold, Read, Term, Var, select, variables, walk
from tinygpu.proof.kernel import evident

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
