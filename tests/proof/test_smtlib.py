"""Formulas as text: they say what the prover's own formulas say, and values of data have the value that numpy gives, or are unknown functions.

Comes in: terms and numbers for their variables; claims of shipped machines. Goes out: whether the text has that value, and no other. The one idea:
what is no function of the solver may have any value, but for equal arguments the same.
"""

from __future__ import annotations

import operator
from fractions import Fraction
from typing import Any

import pytest
import z3
from hypothesis import given
from hypothesis import strategies as st

from tinygpu.category.evaluate import evaluate
from tinygpu.category.smtlib import name_of, script
from tinygpu.category.term import BOOL, FALSE, INDEX, TRUE, App, Axis, Const, Fold, Read, Term, Var, equal, lift, negation, select
from tinygpu.obligations.obligation import Inhabited, Obligation
from tinygpu.pipeline import Proof, check, load
from tinygpu.proof.kernel import ask
from tinygpu.recheck.solve import ask_z3

i, j, n, m = Var("i"), Var("j"), Var("n"), Var("m")


def follows(goal: Term, *hypotheses: Term) -> bool:
    """Whether the text of the question has no model; the answer is never `unknown`."""
    found = ask_z3(script(hypotheses, goal))
    assert found in ("sat", "unsat"), found
    return found == "unsat"


def terms(ops: list[str], leaf: st.SearchStrategy[Term], dtype: str) -> st.SearchStrategy[Term]:
    grow = lambda inside: st.builds(lambda op, a, b: App(op, (a, b), dtype), st.sampled_from(ops), inside, inside)  # noqa: E731
    return st.recursive(leaf, grow, max_leaves=6)


WHOLE = terms(
    ["add", "sub", "mul", "min", "max", "floordiv", "mod", "ceildiv", "xor"],
    st.sampled_from([i, n, m]) | st.integers(-9, 70000).map(Const),
    INDEX,
)
FRACTIONS = terms(
    ["add", "sub", "mul", "div", "div"],
    st.sampled_from([Var(name, "f32") for name in "xyz"]) | st.integers(-3, 3).map(lambda v: Const(v / 2, "f32")),
    "f32",
)


@given(WHOLE, st.tuples(*[st.integers(1, 40)] * 3))
def test_a_term_has_its_value_in_the_text(term: Term, point: tuple[int, int, int]) -> None:
    env = dict(zip(("i", "n", "m"), point, strict=True))
    try:
        value = int(evaluate(term, env))
    except (ZeroDivisionError, ValueError):
        return
    if not without_value(term, env):
        at = tuple(equal(Var(name), number) for name, number in env.items())
        assert follows(equal(term, value), *at), "the text has another value"
        assert not follows(equal(term, value + 1), *at)


def without_value(term: Term, env: dict[str, int]) -> bool:
    """Where the language gives no value: divisors below 1, bits of numbers below 0 or beyond 16 bits."""
    if not isinstance(term, App):
        return False
    values = [int(evaluate(a, env)) for a in term.args]
    wrong = term.op in ("floordiv", "mod", "ceildiv") and values[1] < 1
    wrong |= term.op == "xor" and not all(0 <= v < 1 << 16 for v in values)
    return wrong or any(without_value(a, env) for a in term.args)


def exactly(term: Term, env: dict[str, Fraction]) -> Fraction:
    match term:
        case Const(value):
            return Fraction(value)
        case Var(name):
            return env[name]
        case App(op, (a, b)):
            by = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv}[op]
            return by(exactly(a, env), exactly(b, env))  # type: ignore[no-any-return]
    raise AssertionError(term)


@given(FRACTIONS, FRACTIONS, st.tuples(*[st.integers(-4, 4)] * 3))
def test_what_is_said_of_fractions_is_true(a: Term, b: Term, point: tuple[int, int, int]) -> None:
    """Fractions are cleared only where no divisor is 0; where one is, nothing is said."""
    env = {name: Fraction(v, 2) for name, v in zip("xyz", point, strict=True)}
    at = tuple(equal(Var(name, "f32"), Const(float(v), "f32")) for name, v in env.items())
    try:
        same = exactly(a, env) == exactly(b, env)
    except ZeroDivisionError:
        assert not follows(FALSE, *at)
        return
    assert follows(equal(a, b), *at) == same


@pytest.mark.parametrize("name", ["saxpy", "welford", "cast"])
def test_what_is_proved_is_proved_from_the_text_and_what_is_weakened_is_not(name: str) -> None:
    proof = check(load(f"specs/{name}.tgpu").machines[-1])
    assert isinstance(proof, Proof)
    refuted = 0
    for claim in (t.claim for t in proof.theorems):
        if isinstance(claim, Inhabited):
            assert ask_z3(script(claim.hypotheses, None)) == "sat" and ask_z3(script((*claim.hypotheses, FALSE), None)) == "unsat"
        elif isinstance(claim, Obligation):
            assert follows(claim.goal, *claim.hypotheses)
            weak = claim.hypotheses[: len(claim.hypotheses) // 2]
            ours, theirs = ask_z3(script(weak, claim.goal)), ask(weak, claim.goal, 20_000_000)[0]
            assert ours == str(theirs) or "unknown" in (ours, str(theirs)), claim.sentence
            refuted += theirs == z3.sat
    assert refuted, "nothing became false without its hypotheses"


def of(op: str, *args: Term, dtype: str = "") -> App:
    """An operation, of its operands' dtype."""
    return App(op, args, dtype or args[0].dtype)


def cast(term: Term, dtype: str) -> App:
    return App("cast", (term,), dtype)


def f32(value: float) -> Const:
    return Const(value, "f32")


A, B, F, G, X = Var("a", "i32"), Var("b", "u8"), Var("f", BOOL), Var("g", BOOL), Var("x", "f32")
AT = (equal(A, Const(-5, "i32")), equal(B, Const(250, "u8")), F, negation(G), equal(X, f32(-0.5)))
VALUES: list[tuple[Term, Any, Any]] = [  # a term, its value there, and one that it has not
    (of("abs", A), 5, -5), (of("abs", X), 0.5, -0.5), (of("neg", A), 5, -5), (cast(A, "i32"), -5, 5), (cast(F, "i32"), 1, 0),
    (cast(G, "f32"), 0.0, 1.0), (cast(A, "u8"), 251, 5), (cast(B, "i8"), -6, 6), (cast(A, "f64"), -5.0, 5.0), (cast(B, "bf16"), 250.0, 251.0),
    (cast(X, "f64"), -0.5, 0.5), (of("add", B, B), 244, 243), (of("mul", A, A), 25, -25), (of("mul", X, X), 0.25, -0.25),
    (of("div", X, f32(2.0)), -0.25, 0.25), (of("min", X, f32(0.0)), -0.5, 0.0), (of("max", X, f32(0.0)), 0.0, -0.5),
    (select(of("or", G, F), A, Const(3, "i32")), -5, 3), (select(of("or", G), A, Const(3, "i32")), 3, -5),
    (of("table", lift(1), Const(4, "i32"), A, Const(6, "i32"), dtype="i32"), -5, 4),
    (of("table", lift(2), Const(4, "i32"), A, Const(6, "i32"), dtype="i32"), 6, -5),
    (cast(A, BOOL), True, False), (cast(of("sub", A, A), BOOL), False, True), (cast(X, BOOL), True, False),
]  # fmt: skip


@pytest.mark.parametrize(("term", "value", "other"), VALUES, ids=str)
def test_a_value_of_data_is_what_it_is(term: Term, value: Any, other: Any) -> None:
    assert follows(equal(term, Const(value, term.dtype)), *AT) and not follows(equal(term, Const(other, term.dtype)), *AT)


UNKNOWN = [lambda x: of("exp", x), lambda x: cast(x, "i32"), lambda x: cast(x, "f16"), lambda x: cast(of("add", x, x), "f64"),
           lambda x: of("floordiv", x, f32(2.0)), lambda x: Read("r", (cast(x, INDEX),), "some_pair")]  # fmt: skip


@pytest.mark.parametrize("make", UNKNOWN)
def test_what_the_solver_does_not_know_is_a_function(make: Any) -> None:
    y = Var("y", "f32")
    assert follows(equal(make(X), make(y)), equal(X, y)) and not follows(equal(make(X), make(y)))


a16, b16, u8, f, g, w8 = (
    Read("a", (), "f16"),
    Read("b", (), "f16"),
    Read("u", (), "u8"),
    Read("f", (), "f32"),
    Read("g", (), "f32"),
    Read("w", (), "u8"),
)
i32, zero, up = Read("i", (), "i32"), f32(0.0), f32(float("inf"))
product, wide = of("mul", cast(a16, "f32"), cast(b16, "f32")), of("add", cast(u8, "i32"), cast(w8, "i32"))


def total(row: Term, binder: str, monoid: str = "sum") -> Fold:
    return Fold(monoid, (Axis(binder, n),), TRUE, Read("x", (row, Var(binder)), "f32"), "f32")


FOLLOWS = [  # what follows from what
    (of("le", i * m, n * m, dtype=BOOL), (i < n, m >= 0)), (equal(of("neg", Const(3), dtype=INDEX) + 5, 2), ()),
    (of("lt", wide, Const(511, "i32"), dtype=BOOL), ()), (of("eq", Const(300, "u8"), Const(44, "u8"), dtype=BOOL), ()),
    (equal(cast(of("max", a16, b16), "f32"), of("max", cast(a16, "f32"), cast(b16, "f32"))), ()),
    (equal(cast(cast(a16, "f32"), "f64"), cast(a16, "f64")), ()), (equal(cast(cast(u8, "f16"), "f32"), cast(u8, "f32")), ()),
    (equal(total(i, "k"), total(i, "k")), ()), (equal(of("neg", up), f32(float("-inf"))), ()),
    (equal(of("div", of("mul", f, g), g), f), (of("ne", g, zero, dtype=BOOL),)),
]  # fmt: skip
DOES_NOT = [  # and what does not
    (of("le", i * m, n * m, dtype=BOOL), (i < n,)), (equal(cast(of("add", u8, w8), "i32"), wide), ()),
    (of("gt", of("add", i32, Const(1, "i32")), i32, dtype=BOOL), ()), (equal(cast(of("mul", a16, b16), "f32"), product), ()),
    (equal(cast(Const(0.1, "f16"), "f32"), f32(0.1)), ()), (equal(cast(cast(i, "f16"), "f32"), cast(i, "f32")), ()),
    (equal(cast(cast(f, "f16"), "f32"), f), ()), (equal(of("div", f, f), f32(1.0)), ()), (of("lt", f, up, dtype=BOOL), ()),
    (equal(of("div", f, zero), zero), ()), (equal(i // j, Const(0)), (equal(j, 0),)), (negation(equal(i % j, j)), ()),
    (equal(lift(1 << 16) ^ j, j), (j >= 0, j < 1 << 16)),
    (equal(total(i, "k"), total(j, "k")), ()), (equal(total(i, "k"), total(i, "k", "max")), ()), (equal(of("div", of("mul", f, g), g), f), ()),
]  # fmt: skip


@pytest.mark.parametrize(
    ("goal", "hypotheses", "holds"), [*((*row, True) for row in FOLLOWS), *((*row, False) for row in DOES_NOT)]
)
def test_what_follows_and_what_does_not(goal: Term, hypotheses: tuple[Term, ...], holds: bool) -> None:
    """Integers wrap and have the range of their type; a wider type does not undo a rounding; nothing is known of a quotient by 0."""
    assert follows(goal, *hypotheses) == holds and (ask(hypotheses, goal, 1_000_000)[0] == z3.unsat) == holds


def test_a_name_of_two_sorts_is_two_names_and_the_text_is_always_the_same() -> None:
    """A tensor that is read as what it is not, and an operation whose result has its operands' sort or not: each is a function of its own."""
    number, other, again = (Read("x", (i,), dtype) for dtype in ("f32", "i32", "f64"))
    text = script((equal(number, number), equal(other, other), equal(again, again)), i >= 0)
    assert "(declare-fun |x[1]| (Int) Real)" in text and "(declare-fun |x[1] 2| (Int) Int)" in text and "|x[1] 3|" not in text
    script((n >= 0,), equal(total(i, "k"), total(j, "q")))
    assert script((equal(number, number), equal(other, other), equal(again, again)), i >= 0) == text and len(name_of(text)) == 32
