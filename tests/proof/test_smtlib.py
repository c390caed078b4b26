"""Formulas as text: they say what the prover's own formulas say, to z3 and to cvc5."""

from __future__ import annotations

from fractions import Fraction

import pytest
import z3
from hypothesis import given
from hypothesis import strategies as st

from tinygpu.category.evaluate import evaluate
from tinygpu.category.smtlib import name_of, script
from tinygpu.category.term import FALSE, INDEX, App, Const, Fold, Read, Term, Var, conjunction, equal
from tinygpu.obligations.obligation import Inhabited, Obligation
from tinygpu.pipeline import Proof, check, load
from tinygpu.proof.kernel import ask
from tinygpu.recheck.solve import ask_cvc5, ask_z3, cvc5_module

both = pytest.mark.skipif(cvc5_module() is None, reason="cvc5 is not installed")
i, n, m = Var("i"), Var("n"), Var("m")


def terms() -> st.SearchStrategy[Term]:
    leaf = st.sampled_from([i, n, m]) | st.integers(-9, 70000).map(Const)
    grow = lambda inside: st.builds(  # noqa: E731
        lambda op, a, b: App(op, (a, b), INDEX),
        st.sampled_from(["add", "sub", "mul", "min", "max", "floordiv", "mod", "ceildiv", "xor"]),
        inside,
        inside,
    )
    return st.recursive(leaf, grow, max_leaves=6)


@given(terms(), st.tuples(*[st.integers(1, 40)] * 3))
def test_a_term_has_its_value_in_the_text(term: Term, point: tuple[int, int, int]) -> None:
    env = dict(zip(("i", "n", "m"), point, strict=True))
    try:
        value = evaluate(term, env)
    except (ZeroDivisionError, ValueError):
        return
    if negative_divisor_or_bits(term, env):
        return
    at = tuple(equal(Var(name), number) for name, number in env.items())
    assert ask_z3(script(at, equal(term, int(value)))) == "unsat", "the text has another value"
    assert ask_z3(script(at, equal(term, int(value) + 1))) == "sat"


def negative_divisor_or_bits(term: Term, env: dict[str, int]) -> bool:
    """Where the language gives no value: divisors below 1, bits of numbers below 0 or beyond 16 bits."""
    if not isinstance(term, App):
        return False
    values = [int(evaluate(a, env)) for a in term.args]
    wrong = (term.op in ("floordiv", "mod", "ceildiv") and values[1] < 1) or (
        term.op == "xor" and not all(0 <= v < 1 << 16 for v in values)
    )
    return wrong or any(negative_divisor_or_bits(a, env) for a in term.args)


@pytest.mark.parametrize("name", ["saxpy", "transpose", "welford", "histogram", "cast"])
def test_what_is_proved_is_proved_from_the_text_and_what_is_weakened_is_not(name: str) -> None:
    proof = check(load(f"specs/{name}.tgpu").machines[-1])
    assert isinstance(proof, Proof)
    refuted = 0
    for claim in (t.claim for t in proof.theorems):
        if isinstance(claim, Inhabited):
            assert ask_z3(script(claim.hypotheses, None)) == "sat"
            assert ask_z3(script((*claim.hypotheses, FALSE), None)) == "unsat"
        elif isinstance(claim, Obligation):
            assert ask_z3(script(claim.hypotheses, claim.goal)) == "unsat"
            weak = claim.hypotheses[: len(claim.hypotheses) // 2]
            ours, theirs = ask_z3(script(weak, claim.goal)), ask(weak, claim.goal, 20_000_000)[0]
            assert ours == str(theirs) or "unknown" in (ours, str(theirs)), claim.sentence
            refuted += theirs == z3.sat
    assert refuted, "nothing became false without its hypotheses"


@both
@pytest.mark.parametrize("name", ["saxpy", "welford", "matmul_shared"])
def test_cvc5_proves_it_from_the_same_text(name: str) -> None:
    proof = check(load(f"specs/{name}.tgpu").machines[0])
    assert isinstance(proof, Proof)
    for claim in (t.claim for t in proof.theorems):
        goal = getattr(claim, "goal", None)
        assert ask_cvc5(script(claim.hypotheses, goal)) == ("sat" if goal is None else "unsat"), claim.sentence  # type: ignore[union-attr]


@both
def test_cvc5_refuses_what_is_false() -> None:
    assert ask_cvc5(script((i >= 0, i < n), i < n - 1)) == "sat"
    assert ask_cvc5(script((n >= 1,), equal(i // n * n + i % n, i + 1))) == "sat"


def test_fractions_are_cleared_only_where_no_divisor_is_zero() -> None:
    a, b = (Read(name, (), "f32") for name in "ab")
    same = equal(App("div", (App("mul", (a, b), "f32"), b), "f32"), a)
    assert ask_z3(script((App("ne", (b, Const(0.0, "f32")), "bool"),), same)) == "unsat"
    assert ask_z3(script((), same)) == "sat"


def fractions() -> st.SearchStrategy[Term]:
    leaf = st.sampled_from([Var(name, "f32") for name in "xyz"]) | st.integers(-3, 3).map(lambda v: Const(v / 2, "f32"))
    grow = lambda inside: st.builds(  # noqa: E731
        lambda op, a, b: App(op, (a, b), "f32"), st.sampled_from(["add", "sub", "mul", "div", "div"]), inside, inside
    )
    return st.recursive(leaf, grow, max_leaves=7)


def exactly(term: Term, env: dict[str, Fraction]) -> Fraction:
    match term:
        case Const(value):
            return Fraction(value)
        case Var(name):
            return env[name]
        case App(op, (a, b)):
            left, right = exactly(a, env), exactly(b, env)
            return {"add": left + right, "sub": left - right, "mul": left * right}.get(op) if op != "div" else left / right  # type: ignore[return-value]
    raise AssertionError(term)


@given(fractions(), fractions(), st.tuples(*[st.integers(-4, 4)] * 3))
def test_what_is_said_of_fractions_is_true(a: Term, b: Term, point: tuple[int, int, int]) -> None:
    env = {name: Fraction(v, 2) for name, v in zip("xyz", point, strict=True)}
    at = tuple(equal(Var(name, "f32"), Const(float(v), "f32")) for name, v in env.items())
    try:
        same = exactly(a, env) == exactly(b, env)
    except ZeroDivisionError:
        assert ask_z3(script(at, FALSE)) == "sat"
        return
    assert ask_z3(script(at, equal(a, b))) == ("unsat" if same else "sat")


def test_products_are_monotone_only_for_a_factor_that_is_not_negative() -> None:
    goal = App("le", (i * m, n * m), "bool")
    assert ask_z3(script((i < n, m >= 0), goal)) == "unsat"
    assert ask_z3(script((i < n,), goal)) == "sat"


def test_numbers_are_computed() -> None:
    three = App("neg", (Const(3),), "index")
    assert "(- 3)" in script((equal(i, three),), i >= 0) and ask_z3(script((), equal(three + 5, 2))) == "unsat"


def test_a_name_of_two_sorts_is_two_names() -> None:
    """A tensor that is read as what it is not, and an operation whose result has its operands' sort or not: each is a function of its own."""
    number, other, again = (Read("x", (i,), dtype) for dtype in ("f32", "i32", "f64"))
    text = script((equal(number, number), equal(other, other), equal(again, again)), i >= 0)
    assert "(declare-fun |x[1]| (Int) Real)" in text and "(declare-fun |x[1] 2| (Int) Int)" in text and "|x[1] 3|" not in text
    assert ask_z3(text) == "sat"


def test_the_text_is_the_same_whatever_else_was_written() -> None:
    fold = Fold("sum", (), conjunction(), Read("x", (i,), "f32"), "f32")
    one = script((i >= 0,), equal(fold, fold))
    script((n >= 0,), equal(Fold("max", (), conjunction(), Read("y", (), "f32"), "f32"), fold))
    assert script((i >= 0,), equal(fold, fold)) == one and len(name_of(one)) == 32
