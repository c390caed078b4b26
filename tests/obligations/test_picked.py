"""The place of an argmax is that of one of its terms, whatever the data is, in whatever order and with whatever units between.

Comes in: the built-in monoids with a place. Goes out: their combinations of all short sequences, NaN and infinities among them. The one idea: what
a proof says of numbers that are held is tried where they are no numbers.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from itertools import product
from math import inf, nan

import pytest

from tinygpu import pipeline
from tinygpu.category.monoid import Carrier
from tinygpu.category.term import App, Const, Term, Var
from tinygpu.model.monoid import built_in
from tinygpu.obligations.picked import PLACES
from tinygpu.proof.kernel import Proof, prove

Value = tuple[float, ...]
TESTS = {"gt": operator.gt, "lt": operator.lt}


def value(term: Term, at: Mapping[str, float], first: bool) -> float:
    """What a component is; of a maximum with what compares with nothing either operand."""
    match term:
        case Var(name):
            return at[name]
        case Const(number):
            return number
        case App("select", (App(test, (a, b)), then, otherwise)):
            return value(then if TESTS[test](value(a, at, first), value(b, at, first)) else otherwise, at, first)
        case App("max" | "min" as op, (a, b)):
            one, other = value(a, at, first), value(b, at, first)
            if one != one or other != other:
                return one if first else other
            return max(one, other) if op == "max" else min(one, other)
    raise AssertionError(term)


def combined(carrier: Carrier, a: Value, b: Value, first: bool) -> Value:
    """Of two values."""
    names = [v.name for side in "ab" for v in carrier.variables(side)]
    return tuple(value(part, dict(zip(names, (*a, *b), strict=True)), first) for part in carrier.combination)


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("dtype", ["f32", "i32"])
@pytest.mark.parametrize("name", PLACES)
def test_a_place_is_that_of_a_term(name: str, dtype: str, first: bool) -> None:
    carrier = built_in(name, dtype)
    unit: Value = tuple(float(c.value) for c in carrier.identity)
    some = (nan, -inf, inf, 1.0) if dtype == "f32" else (unit[0], 1.0)
    for data in product((*some, None), repeat=4):  # None is a unit
        parts = [unit if x is None else (x, float(k)) for k, x in enumerate(data)]
        left = parts[0]
        for part in parts[1:]:
            left = combined(carrier, left, part, first)
        tree = combined(carrier, combined(carrier, *parts[:2], first), combined(carrier, *parts[2:], first), first)
        places = {p[1] for p in parts if p is not unit} or {unit[1]}
        assert left[1] in places
        assert tree[1] in places


OWN = """monoid argmax_of_all(v: f32, k: i32) {
  unit    (0, 0)
  lift    (x, k: i32) = (x, k)
  combine (a, b) = (a.v + b.v, a.k + b.k)
}
op look(x: f32[R, N], W: f32[N]) -> (y: f32[R]) where N >= 1, N <= 2147483647 {
  (s[r], p[r]) = fold argmax_of_all[j] (x[r, j], i32(j))
  y[r]         = W[p[r]] + s[r]
}
machine m : look { work grid = (g), block = (t: 128)
  compute r = (g, t)
  time j }
"""


def test_a_monoid_of_a_file_finds_no_place_whatever_it_is_called() -> None:
    """Its second component is a sum of places."""
    left = prove(pipeline.program(pipeline.load_text(OWN).machines[0]))
    assert not isinstance(left, Proof) and {"TG203", "TG514"} <= {o.claim.code for o in left}
