"""Terms with infinities by cases, against their values: one case holds, and it says what the value is, or that there is none.

Comes in: random terms over two finite numbers and two infinities. Goes out: the cases, tried on numbers.
The one idea: a second reading of the same rules, number by number, with None for what has no value.
"""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinygpu.category.term import BOOL, TRUE, App, Axis, Const, Fold, Read, Term, Var
from tinygpu.obligations.extended import NOTHING, cases, infinite, truths

INF = math.inf
FINITE = {"x": 2.0, "y": -1.0, "z": 0.0}
ENV = {"up": Const(INF, "f64"), "down": Const(-INF, "f64")}
NUMBERS = {**FINITE, "up": INF, "down": -INF}


def known(term: Term, at: dict[str, float]) -> Any:
    """The value on the extended line, or None."""
    match term:
        case Const(number):
            return number
        case Var(name):
            return at[name]
        case App("select", (condition, then, otherwise)):
            holds = known(condition, at)
            return None if holds is None else known(then if holds else otherwise, at)
        case App("and" | "or" as op, args):
            truths = [known(arg, at) for arg in args]  # one that decides is enough
            return (op == "or") if (op == "or") in truths else None if None in truths else op == "and"
        case App(op, args):
            values = [known(a, at) for a in args]
            return None if None in values else applied(op, values)
    raise TypeError(term)


def applied(op: str, v: list[Any]) -> Any:
    if op == "not":
        return not v[0]
    if op in ("lt", "le", "gt", "ge", "eq", "ne"):
        return {"lt": v[0] < v[-1], "le": v[0] <= v[-1], "gt": v[0] > v[-1], "ge": v[0] >= v[-1], "eq": v[0] == v[-1]}.get(
            op, v[0] != v[-1]
        )
    if op in ("min", "max"):
        return (min if op == "min" else max)(v)
    if op == "log" and v[0] == 0:
        return -INF
    try:
        found = {
            "add": lambda: sum(v),
            "sub": lambda: v[0] - v[1],
            "mul": lambda: math.prod(v),
            "div": lambda: v[0] / v[1],
            "neg": lambda: -v[0],
            "abs": lambda: abs(v[0]),
            "exp": lambda: math.exp(v[0]),
            "log": lambda: math.log(v[0]),
            "sqrt": lambda: math.sqrt(v[0]),
            "rsqrt": lambda: 1 / math.sqrt(v[0]),
            "tanh": lambda: math.tanh(v[0]),
            "cast": lambda: v[0],
        }[op]()
    except (ZeroDivisionError, ValueError, OverflowError):
        return None
    return None if math.isnan(found) else found


def f64(op: str, *args: Term) -> Term:
    return App(op, args, "f64")


def conditions(inner: st.SearchStrategy[Term]) -> st.SearchStrategy[Term]:
    compared = st.builds(
        lambda op, a, b: App(op, (a, b), BOOL), st.sampled_from(["lt", "le", "gt", "ge", "eq", "ne"]), inner, inner
    )
    return st.recursive(
        st.one_of(compared, st.sampled_from([TRUE, Const(False, BOOL)])),
        lambda c: st.one_of(
            st.builds(lambda a: App("not", (a,), BOOL), c),
            st.builds(lambda op, a, b: App(op, (a, b), BOOL), st.sampled_from(["and", "or"]), c, c),
        ),
        max_leaves=3,
    )


VALUES = st.recursive(
    st.sampled_from([Var(name, "f64") for name in NUMBERS] + [Const(c, "f64") for c in (0.0, 1.0, -0.5)]),
    lambda inner: st.one_of(
        st.builds(f64, st.sampled_from(["add", "sub", "mul", "div", "min", "max"]), inner, inner),
        st.builds(f64, st.sampled_from(["neg", "abs", "exp", "log", "sqrt", "rsqrt", "tanh", "cast"]), inner),
        st.builds(f64, st.sampled_from(["add", "mul"]), inner, inner, inner),
        st.builds(lambda c, a, b: f64("select", c, a, b), conditions(inner), inner, inner),
    ),
    max_leaves=6,
)


def holding(found: Any) -> list[Any]:
    """What the cases say whose guards are all true at these numbers."""
    return [value for path, value in found if all(known(guard, FINITE) is True for guard in path)]


@given(VALUES)
def test_one_case_holds_and_says_the_value(term: Term) -> None:
    (said,) = holding(cases(term, ENV))
    want = known(term, NUMBERS)
    if said is None or said is NOTHING:
        return  # it may say less than is known: a sum of three with an infinity among them
    assert want is not None, "a value is claimed where there is none"
    got = known(said, FINITE) if not infinite(said) else said.value
    assert got == want or math.isclose(got, want, rel_tol=1e-9, abs_tol=1e-12)


@given(conditions(VALUES))
def test_one_case_of_a_condition_holds(condition: Term) -> None:
    (said,) = holding(truths(condition, ENV, ()))
    assert said is None or said == known(condition, NUMBERS)


@pytest.mark.parametrize(
    ("term", "value"),
    [
        (f64("sub", Var("up", "f64"), Var("up", "f64")), None),
        (f64("mul", Const(0.0, "f64"), Var("down", "f64")), None),
        (f64("div", Var("x", "f64"), Var("down", "f64")), 0.0),
        (f64("div", Var("up", "f64"), Var("up", "f64")), None),
        (f64("mul", Var("up", "f64"), Var("down", "f64")), -INF),
        (f64("log", Const(0.0, "f64")), None),
        (f64("log", Var("down", "f64")), None),
        (f64("exp", Var("down", "f64")), 0.0),
        (f64("min", f64("log", Var("y", "f64")), Var("x", "f64")), None),
        (f64("max", f64("log", Var("y", "f64")), Var("x", "f64")), None),
        (App("cast", (Var("up", "f64"),), "i32"), 2**31 - 1),
        (f64("add", Var("x", "f64"), Var("y", "f64"), Var("up", "f64")), INF),
    ],
    ids=str,
)
def test_what_infinities_give(term: Term, value: float | None) -> None:
    (said,) = holding(cases(term, ENV))
    assert said.value == value if value is not None else said is None or said is NOTHING


def test_truth_values_are_values_too() -> None:
    less = App("lt", (Var("x", "f64"), Var("y", "f64")), BOOL)
    assert holding(cases(less, ENV)) == [Const(False, BOOL)]
    assert holding(cases(App("not", (less,), BOOL), ENV)) == [TRUE]
    unknown = App("lt", (f64("log", Var("y", "f64")), Var("x", "f64")), BOOL)
    assert holding(cases(unknown, ENV)) == [None]
    flag = Var("flag", BOOL)
    assert list(truths(flag, {}, ())) == [((flag,), True), ((App("not", (flag,), BOOL),), False)]


def test_what_arrays_hold_is_finite() -> None:
    read = Read("a", (Var("i"),), "f64")
    fold = Fold("sum", (Axis("k", Const(3)),), TRUE, read, "f64")
    assert list(cases(read, ENV)) == [((), read)] and list(cases(fold, ENV)) == [((), fold)]


def test_powers_of_negated_sums() -> None:
    x, y = Var("x", "f64"), Var("y", "f64")
    (said,) = holding(cases(f64("exp", f64("neg", f64("sub", x, y))), ENV))
    assert math.isclose(known(said, FINITE), math.exp(-3.0))
