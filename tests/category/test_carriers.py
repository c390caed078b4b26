"""Values of several components: their terms, their folds in numpy, and the laws of the built-in ones on random numbers.

Comes in: the built-in monoids, elaborated. Goes out: nothing, or a difference. The one idea: numpy has functions for what they fold.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinygpu.category.carrier import part
from tinygpu.category.monoid import MONOIDS, Monoid, intern
from tinygpu.category.sample import LAWS, broken, close, combined
from tinygpu.category.term import TRUE, App, Axis, Const, Fold, Read, Term, Var, rebuild, select, text
from tinygpu.category.to_numpy import evaluate
from tinygpu.model.builtin import BUILT_IN, built_in

J = Var("j")


def folded(name: str, values: np.ndarray, guard: Term = TRUE) -> list[float]:
    """What a fold of a vector gives, by the built-in monoid of that name."""
    monoid = built_in(name, "f64")
    assert monoid.definition is not None
    given = (Read("x", (J,), "f64"), App("cast", (J,), "i32"))[: len(monoid.definition.parameters)]
    fold = Fold(monoid.name, (Axis("j", Const(len(values))),), guard, monoid.definition.lifted(given), monoid.name)
    return [float(evaluate(term, {}, lambda r, i, m: values[i])) for term in monoid.definition.result(fold)]


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
        definition = built_in(name, dtype).definition
        assert definition is not None and broken(definition, law) is None


def test_only_what_chooses_may_take_a_value_twice() -> None:
    assert {name for name in BUILT_IN if built_in(name, "f32").idempotent} == {"argmax", "argmin"}
    lse = built_in("logsumexp", "f32").definition
    assert lse is not None and broken(lse, "idempotent") == ((0.0, 1.0), (0.0, 2.0), (0.0, 1.0))


def test_parts_are_put_together_and_taken_apart() -> None:
    monoid = built_in("argmax", "f32")
    v, other = Var("v", monoid.name), monoid.unit(monoid.name)
    assert other is not None and text(part(v, 1, "i32")) == "v.k"
    chosen = select(J < 3, v, other)
    assert text(part(chosen, 0, "f32")) == "v.v if j < 3 else -inf"
    assert rebuild(part(v, 0, "f32"), lambda t: other if t == v else t) == Const(float("-inf"), "f32")
    definition = monoid.definition
    assert definition is not None and close(combined(definition, (2.0, 4), (2.0, 3)), (2.0, 3))


def test_one_name_for_two_monoids_is_two_names() -> None:
    first = built_in("welford", "f64")
    components = (("n", "f64"),)

    def other(carrier: object) -> Monoid:
        return Monoid(carrier.name, carrier.name, {})  # type: ignore[attr-defined]

    second = intern(first.name, components, other)
    assert second is not None and second.name == "welford_f64_2" and MONOIDS["welford_f64"] is first
    assert intern(first.name, components, other) is second
    del MONOIDS[second.name]
