"""A counterexample is one in exact arithmetic: what only rounding makes wrong is not shown, and what is wrong is.

Comes in: programs that are the equation's over the reals, but not in floats, and programs that are neither. Goes out: what the replay says.
The one idea: the same run, on numbers that are not rounded.
"""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from tests.obligations.texts import COPY, SUM, program
from tinygpu.category.number import NUMPY
from tinygpu.category.real import UNDEFINED, Beyond, Real, of, stored
from tinygpu.category.reals import COMPUTE
from tinygpu.proof.check import Refutation, check
from tinygpu.proof.replay import misbehaviour, replay
from tinygpu.simulate import exact
from tinygpu.simulate.fault import HoldsViolated
from tinygpu.simulate.inputs import random_inputs
from tinygpu.simulate.sizes import lane_steps
from tinygpu.simulate.tolerance import Mismatch

ROUNDED = {
    "a sum that drowns": (COPY, "s[ROW] = (x[ROW] + 100000000) - 100000000"),
    "an overflow of f16": (COPY, "s[ROW] = f32(f16(x[ROW])*f16(60000)) / 60000"),
    "an overflow of exp": (COPY, "s[ROW] = log(exp(100*x[ROW])) / 100"),
    "a product that vanishes": (COPY, "s[ROW] = x[ROW]*1e-30*1e-30*1e30*1e30"),
    "a long sum": (
        SUM,
        "local a: f32[]\na[] = 100000000\nfor k < N { a[] += x[ROW, k] }\ns[ROW] = a[] - 100000000",
    ),
    "a quotient that is multiplied": (COPY, "s[ROW] = (x[ROW] / 3 + 33333333) * 3 - 99999999"),
}
WRONG = {
    "a difference in the tenth digit": (COPY, "s[ROW] = x[ROW] + (x[ROW] + 100000000) - 100000000", {"R": 3}),
    "an exponential": (COPY, "s[ROW] = log(exp(100*x[ROW])) / 101", {"R": 3}),
    "one term less": (SUM, "local a: f32[]\na[] = 0\nfor k < N - 1 { a[] += x[ROW, k] }\ns[ROW] = a[]", {"R": 2, "N": 5}),
}


@pytest.mark.parametrize("name", ROUNDED)
def test_what_is_only_rounded_is_no_counterexample(name: str) -> None:
    op, body = ROUNDED[name]
    made = program(op, body)
    for sizes in (dict.fromkeys(made.op.sizes, n) for n in (1, 3, 40)):
        assert misbehaviour(made, sizes) is None
    assert not isinstance(check(made), Refutation)


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_shown(name: str) -> None:
    op, body, sizes = WRONG[name]
    assert isinstance(misbehaviour(program(op, body), sizes), Mismatch)


def test_a_fact_that_only_rounding_breaks_is_not_refuted() -> None:
    body = "local a: f32[]\na[] = (x[ROW] + 100000000) - 100000000\na[] holds {}\ns[ROW] = x[ROW]"
    assert replay(program(COPY, body.format("x[ROW]")), {"R": 3}) is None
    wrong = replay(program(COPY, body.format("x[ROW] + 1")), {"R": 3})
    assert isinstance(wrong, HoldsViolated)


def test_what_is_too_large_for_fractions_is_run_in_doubles_that_know_how_far_they_are_off() -> None:
    sizes = {"R": 5000}
    assert replay(program(COPY, "s[ROW] = (x[ROW] + 100000) - 100000"), sizes) is None
    assert isinstance(replay(program(COPY, "s[ROW] = x[ROW] if ROW < 4999 else 0"), sizes), Mismatch)
    assert replay(program(COPY, "s[ROW] = (x[ROW] + 1e20) - 1e20"), sizes) is None  # nor do balls know


def test_what_was_seen_is_confirmed_where_no_more_runs_are_left() -> None:
    sizes, much = {"R": 5000}, 1 << 27
    right, wrong = (program(COPY, f"s[ROW] = x[ROW] {guard}") for guard in ("", "if ROW < 4999 else 0"))
    left = [much]
    assert replay(right, sizes, work=left) is None
    enough = [much - left[0] + 1]  # for one run
    assert isinstance(replay(wrong, sizes, work=enough), Mismatch)
    assert replay(wrong, sizes, work=[(much - left[0]) // 2]) is None


def test_where_the_equation_is_undefined_any_value_may_stand() -> None:
    made = program("op f(x: f32[R]) -> (s: f32[R]) { s[r] = log(x[r] - x[r]) }", "s[ROW] = 7")
    inputs = random_inputs(made.op, {"R": 3})
    assert exact.run(made, {"R": 3}, inputs)[0] is None


def test_numbers_without_a_value() -> None:
    inf = of(math.inf)
    for undefined in (
        inf - inf,
        of(0) * inf,
        inf / inf,
        of(1) / 0,
        of(0) / of(0),
        COMPUTE["log"](of(0)),
        COMPUTE["sqrt"](of(-1)),
    ):
        assert undefined.undefined
    assert COMPUTE["exp"](-inf) == 0 and of(-3) - inf == -inf and of(3) / inf == 0 and COMPUTE["max"](-inf, of(2)) == 2
    for question in (
        lambda: UNDEFINED < 1,
        lambda: COMPUTE["exp"](of(1)) == COMPUTE["exp"](of(1)),
        lambda: of(1) / Real(-of(1).low, of(1).low),
    ):
        with pytest.raises(Beyond):
            question()


@pytest.mark.parametrize("name", ["exp", "exp2", "log", "sqrt", "rsqrt", "tanh", "sigmoid", "erf", "sin", "cos"])
def test_bounds_of_functions_hold_what_floats_say(name: str) -> None:
    for x in (0.25, 0.3, 1.0, 1.7, 12.5):
        found, near = COMPUTE[name](stored(x)), float(NUMPY[name](x))
        assert found.high - found.low <= Fraction(1, 1 << 150)
        assert abs(float(found) - near) <= 1e-14 * abs(near)


@pytest.mark.parametrize("body", [
    "local a: f32[]\na[] = 1\nfor k < 2147483647 { a[] += x[ROW] }\ns[ROW] = a[]",
    "for k < 65536 { for l < 65536 { s[ROW] = x[ROW] } }",
])  # fmt: skip
def test_a_loop_without_an_end_in_sight_is_not_run(body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = program(COPY, body)
    assert lane_steps(made, {"R": 1}) == 32 * (1 << 31 if "+=" in body else 1 << 32) - (32 if "+=" in body else 0)
    monkeypatch.setattr("tinygpu.proof.replay.simulate", lambda *_: pytest.fail("it is run"))
    assert misbehaviour(made, {"R": 1}) is None


@pytest.mark.parametrize("body", ["a[] = x[ROW]", "a[] += x[ROW]", "a[] = exp(a[])"])
def test_an_exact_run_takes_no_more_than_it_may(body: str) -> None:
    made = program(COPY, f"local a: f32[]\na[] = 0\nfor k < 2147483647 {{ {body} }}\ns[ROW] = a[]")
    with pytest.raises(Beyond):
        exact.run(made, {"R": 1}, random_inputs(made.op, {"R": 1}), points=1 << 12)


def test_an_equation_with_a_fold_without_an_end_in_sight_is_not_compared() -> None:
    made = program("op f(x: f32[R]) -> (s: f32[R]) { s[r] = sum[k < 2147483647] x[r] }", "s[ROW] = x[ROW]")
    assert misbehaviour(made, {"R": 1}) is None
