"""Values of several components: their terms, their folds in numpy, and the laws of the built-in ones on random numbers.

Comes in: the built-in monoids, elaborated. Goes out: nothing, or a difference. The one idea: numpy has functions for what they fold.
"""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinygpu.category.carrier import LAWS, broken, lifted, result
from tinygpu.category.monoid import BUILT_IN, Carrier, part
from tinygpu.category.term import TRUE, App, Axis, Const, Fold, Read, Term, Var, rebuild, select, text
from tinygpu.category.to_numpy import evaluate
from tinygpu.model.monoid import built_in
from tinygpu.record import replace

J = Var("j")


def folded(name: str, values: np.ndarray, guard: Term = TRUE) -> list[float]:
    """What a fold of a vector gives, by the built-in monoid of that name."""
    monoid = built_in(name, "f64")
    given = (Read("x", (J,), "f64"), App("cast", (J,), "i32"))[: len(monoid.parameters)]
    fold = Fold(monoid, (Axis("j", Const(len(values))),), guard, lifted(monoid, given), monoid)
    return [float(evaluate(term, {}, lambda r, i, m: values[i])) for term in result(monoid, fold)]


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=9))
def test_folds_are_those_of_numpy(numbers: list[int]) -> None:
    x = np.array(numbers, float)
    assert folded("argmax", x) == [x.max(), x.argmax()]
    assert folded("argmin", x) == [x.min(), x.argmin()]
    np.testing.assert_allclose(folded("logsumexp", x), [np.log(np.exp(x).sum())])
    np.testing.assert_allclose(folded("welford", x), [x.mean(), x.var()], atol=1e-12)


def test_a_guard_leaves_out_and_a_row_of_infinities_is_no_hole() -> None:
    x = np.array([5.0, 1.0, 7.0, 9.0])
    assert folded("argmax", x, J < 3) == [7.0, 2.0]
    assert folded("argmax", np.full(3, -np.inf)) == [-np.inf, 0.0]
    np.testing.assert_allclose(folded("logsumexp", np.array([-np.inf, 0.0, 0.0])), [np.log(2)])


@pytest.mark.parametrize("name", sorted(BUILT_IN))
@pytest.mark.parametrize("law", [law for law in LAWS if law != "idempotent"])
def test_no_small_numbers_break_a_built_in_law(name: str, law: str) -> None:
    for dtype in ("f32", "i32") if "i32" in BUILT_IN[name] else ("f32", "f16"):
        assert broken(built_in(name, dtype), law) is None


def test_only_what_chooses_may_take_a_value_twice() -> None:
    assert {name for name in BUILT_IN if built_in(name, "f32").idempotent} == {"argmax", "argmin"}
    assert broken(built_in("logsumexp", "f32"), "idempotent") == ((0.0, 1.0), (0.0, 2.0), (0.0, 1.0))


def test_parts_are_put_together_and_taken_apart() -> None:
    monoid = built_in("argmax", "f32")
    v, other = Var("v", monoid), monoid.unit(monoid)
    assert other is not None and text(part(v, 1, "i32")) == "v.k"
    chosen = select(J < 3, v, other)
    assert text(part(chosen, 0, "f32")) == "v.v if j < 3 else -inf"
    assert rebuild(part(v, 0, "f32"), lambda t: other if t == v else t) == Const(float("-inf"), "f32")


def test_one_name_for_two_monoids_is_two_monoids() -> None:
    first = built_in("welford", "f64")
    second = Carrier(first.called, components=(("n", "f64"),))
    assert first != second and str(first) == str(second) and pickle.loads(pickle.dumps(first)) == first
    assert Var("v", first) != Var("v", second) and replace(first, commutative=False) != first
