"""Terms with infinities by cases, against their values: one case holds, and it says what the value is, or that there is none.

Comes in: random terms over two finite numbers and two infinities. Goes out: the cases, tried on numbers.
The one idea: the judge of `tests/meaning` reads the same terms number by number, and has none where there is no value.
"""

from __future__ import annotations

import math
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.meaning.equations import Plain
from tests.meaning.terms import evaluate
from tests.meaning.values import UNDEFINED, number, same
from tinygpu.category.term import BOOL, TRUE, App, Const, Term, Var
from tinygpu.obligations.extended import NOTHING, cases, infinite, truths

FINITE = {"x": number(2), "y": number(-1), "z": number(0)}
ENV = {"up": Const(math.inf, "f64"), "down": Const(-math.inf, "f64")}
NUMBERS = {**FINITE, "up": number(math.inf), "down": number(-math.inf)}
COMPARED = st.sampled_from(["lt", "le", "gt", "ge", "eq", "ne"])


def known(term: Term, at: dict[str, Any]) -> Any:
    return evaluate(term, at, Plain())[0]


def f64(op: str, *args: Term) -> Term:
    return App(op, args, "f64")


def conditions(inner: st.SearchStrategy[Term]) -> st.SearchStrategy[Term]:
    return st.recursive(
        st.builds(lambda op, a, b: App(op, (a, b), BOOL), COMPARED, inner, inner) | st.sampled_from([TRUE, Const(False, BOOL)]),
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
    if said is None or said is NOTHING:
        return  # it may say less than is known: a sum of three with an infinity among them
    want, got = known(term, NUMBERS), number(said.value) if infinite(said) else known(said, FINITE)
    assert want is not UNDEFINED, "a value is claimed where there is none"
    assert same(got, want)


@given(conditions(VALUES))
def test_one_case_of_a_condition_holds(condition: Term) -> None:
    (said,) = holding(truths(condition, ENV, ()))
    assert said is None or said == known(condition, NUMBERS)
