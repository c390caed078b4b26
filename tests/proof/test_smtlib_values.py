"""Values of data in formulas as text: casts, tables, choices and functions have the value that numpy gives, or are unknown functions.

Comes in: a term and numbers for its variables. Goes out: whether the text has that value, and no other.
The one idea: what is no function of the solver may have any value, but for equal arguments the same.
"""

from __future__ import annotations

from typing import Any

import pytest

from tinygpu.category.smtlib import script
from tinygpu.category.term import BOOL, App, Const, Term, Var, lift, select
from tinygpu.recheck.solve import ask_z3

A, B, F, G, X = Var("a", "i32"), Var("b", "u8"), Var("f", BOOL), Var("g", BOOL), Var("x", "f32")
AT: dict[Term, Any] = {A: -5, B: 250, F: True, G: False, X: -0.5}


def same(term: Term, value: Any) -> Term:
    return App("eq", (term, Const(value, term.dtype)), BOOL)


def given(*names: Term) -> tuple[Term, ...]:
    return tuple(v if AT[v] is True else App("not", (v,), BOOL) if AT[v] is False else same(v, AT[v]) for v in names)


VALUES: list[tuple[Term, Any, Any]] = [
    (App("abs", (A,), "i32"), 5, -5),
    (App("abs", (X,), "f32"), 0.5, -0.5),
    (App("neg", (A,), "i32"), 5, -5),
    (App("cast", (A,), "i32"), -5, 5),
    (App("cast", (F,), "i32"), 1, 0),
    (App("cast", (G,), "f32"), 0.0, 1.0),
    (App("cast", (A,), "u8"), 251, 5),
    (App("cast", (B,), "i8"), -6, 6),
    (App("cast", (A,), "f64"), -5.0, 5.0),
    (App("cast", (B,), "bf16"), 250.0, 251.0),
    (App("cast", (X,), "f64"), -0.5, 0.5),
    (App("add", (B, B), "u8"), 244, 243),
    (App("mul", (A, A), "i32"), 25, -25),
    (App("mul", (X, X), "f32"), 0.25, -0.25),
    (App("div", (X, Const(2.0, "f32")), "f32"), -0.25, 0.25),
    (App("min", (X, Const(0.0, "f32")), "f32"), -0.5, 0.0),
    (App("max", (X, Const(0.0, "f32")), "f32"), 0.0, -0.5),
    (select(App("or", (G, F), BOOL), A, Const(3, "i32")), -5, 3),
    (select(App("or", (G,), BOOL), A, Const(3, "i32")), 3, -5),
    (App("table", (lift(1), Const(4, "i32"), A, Const(6, "i32")), "i32"), -5, 4),
    (App("table", (lift(2), Const(4, "i32"), A, Const(6, "i32")), "i32"), 6, -5),
]


@pytest.mark.parametrize(("term", "value", "other"), VALUES, ids=str)
def test_a_value_of_data_is_what_it_is(term: Term, value: Any, other: Any) -> None:
    assert ask_z3(script(given(*AT), same(term, value))) == "unsat"
    assert ask_z3(script(given(*AT), same(term, other))) == "sat"


@pytest.mark.parametrize("wanted", [True, False])
def test_a_number_is_true_where_it_is_not_zero(wanted: bool) -> None:
    for number, truth in ((A, True), (App("sub", (A, A), "i32"), False), (X, True)):
        goal = App("cast", (number,), BOOL)
        goal = goal if truth == wanted else App("not", (goal,), BOOL)
        assert ask_z3(script(given(*AT), goal)) == ("unsat" if wanted else "sat")


@pytest.mark.parametrize(
    "make",
    [
        lambda x: App("exp", (x,), "f32"),
        lambda x: App("cast", (x,), "i32"),
        lambda x: App("cast", (x,), "f16"),
        lambda x: App("cast", (App("add", (x, x), "f32"),), "f64"),
        lambda x: App("floordiv", (x, Const(2.0, "f32")), "f32"),
    ],
    ids=["exp", "truncated", "rounded", "widened after rounding", "a quotient of floats"],
)
def test_what_the_solver_does_not_know_is_a_function(make: Any) -> None:
    y = Var("y", "f32")
    goal = App("eq", (make(X), make(y)), BOOL)
    assert ask_z3(script((App("eq", (X, y), BOOL),), goal)) == "unsat"
    assert ask_z3(script((), goal)) == "sat"


def test_a_value_of_a_carrier_is_of_a_sort_of_its_own() -> None:
    pair, other = (Var(name, "some_pair") for name in ("p", "q"))
    goal = App("eq", (pair, other), BOOL)
    assert ask_z3(script((), goal)) == "sat" and ask_z3(script((goal,), goal)) == "unsat"


def test_infinities_are_one_number_and_its_opposite() -> None:
    up, down = Const(float("inf"), "f32"), Const(float("-inf"), "f32")
    assert ask_z3(script((), App("eq", (App("neg", (up,), "f32"), down), BOOL))) == "unsat"
