"""Corners of the statements: promises of several parts, terms that are no program, folds in order, windows, facts that cannot be stated.

Comes in: programs and terms that no shipped machine has. Goes out: the claims that are made of them, or the reason why none is.
The one idea: what is stated in a corner is as much a claim as any other, so it is looked at.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.obligations.test_wellformed import CASES, reasons, with_body
from tests.obligations.texts import program
from tinygpu.category.region import Region
from tinygpu.category.term import BOOL, TRUE, App, Axis, Const, Fold, Read, Term, Var, text
from tinygpu.obligations.cells import merged
from tinygpu.obligations.defined import decided, defined, partial, valued
from tinygpu.obligations.exchange import stepped
from tinygpu.obligations.facts import instances, promised
from tinygpu.obligations.finite import finite
from tinygpu.obligations.made import is_made, value_of
from tinygpu.obligations.obligation import Gap, Inhabited, Obligation
from tinygpu.obligations.shape import expand
from tinygpu.program.space import LOCAL
from tinygpu.program.step import Array, Assign, For
from tinygpu.proof.kernel import Proof, prove

I, N = Var("i"), Var("N")
F = "f32"


def idx(at: Term) -> Read:
    return Read("idx", (at,), "i32")


def every(body: Term, *names: str) -> Fold:
    return Fold("all", tuple(Axis(n, N) for n in names), TRUE, body, BOOL)


NATURAL = App("ge", (idx(Var("t")), Const(0, "i32")), BOOL)


def test_a_promise_of_two_parts_is_two_facts() -> None:
    both = App("and", (every(NATURAL, "t"), App("ge", (N, Const(1)), BOOL)), BOOL)
    facts = [text(f) for f in instances(both, (idx(I),))]
    assert facts == ["not (0 <= i and i < N) or idx[i] >= 0", "N >= 1"]


def test_a_promise_says_nothing_of_what_it_does_not_name() -> None:
    """One index cannot tell two binders, and another tensor's element tells none."""
    two = every(App("le", (idx(Var("t") + Var("u")), idx(Var("t"))), BOOL), "t", "u")
    assert list(instances(two, (idx(I),))) == []
    assert list(instances(every(NATURAL, "t"), (Read("other", (I,), "i32"),))) == []
    never = every(App("ge", (idx(Var("t") * 2), Const(0, "i32")), BOOL), "t")
    assert all("2" in text(f) for f in instances(never, (idx(I * 2),)))


def test_promises_are_put_into_claims() -> None:
    goal = App("ge", (idx(I), Const(0, "i32")), BOOL)
    claim = Obligation("bounds", "TG203", "", "", (), goal)
    assert len(promised(claim, (every(NATURAL, "t"),)).hypotheses) == 1  # type: ignore[union-attr]
    some = Inhabited("vacuity", "TG512", "", "", (goal,))
    assert len(promised(some, (every(NATURAL, "t"),)).hypotheses) == 2  # type: ignore[union-attr]
    gap = Gap("dataflow", "TG501", "", "")
    assert promised(gap, (every(NATURAL, "t"),)) is gap and promised(claim, ()) is claim


def test_a_fact_that_cannot_be_compared_is_unknown() -> None:
    """A ghost fact whose fold nothing matches leaves the fold's gap, not a claim of another kind."""
    body = """local a: f32[]
a[] = x[ROW, 0]
a[] holds sum[k < C] x[ROW, k]
s[ROW] = a[]"""
    made = program("op first(x: f32[R, C]) -> (s: f32[R]) where C >= 1 { s[r] = x[r, 0] }", body)
    assert not isinstance(prove(made), Proof)


WRONG: dict[str, tuple[tuple[object, ...], str]] = {
    "a guard that is a number": ((Assign("z", (Var("t"),), Const(0.0, F), "", Const(1.0, F)),), "is no condition"),
    "a loop over a number of the data": ((For(Axis("k", Const(2, "i32")), ()),), "the extent of k is no index"),
    "a logical update of a float": ((Array("v", F, (), LOCAL), Assign("v", (), Const(0.0, F), "any")), "any does not update f32"),
    "an unknown update": ((Array("v", F, (), LOCAL), Assign("v", (), Const(0.0, F), "median")), "median does not update f32"),
    "a fold of an unknown monoid": (
        (Assign("z", (Var("t"),), Fold("median", (Axis("k", Const(2)),), TRUE, Const(0.0, F), F)),),
        "folds f32",
    ),
    "a table of two dtypes": (
        (Assign("z", (Var("t"),), App("table", (Var("t"), Const(0.0, F), Const(1, "i32")), F)),),
        "applies table",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_program(name: str) -> None:
    body, reason = WRONG[name]
    assert reason in reasons(with_body(*body))  # type: ignore[arg-type]


def test_a_table_of_one_dtype_is_a_value() -> None:
    table = App("table", (Var("t"), Const(0.0, F), Const(1.0, F)), F)
    assert reasons(with_body(Assign("z", (Var("g") * 32 + Var("t"),), table))) == ""
    assert len(CASES) > len(WRONG)


X, Y = Var("x", F), Var("y", F)
POINT = Region((Axis("t", Const(32), "block"),))


def at(t: Term) -> Read:
    return Read("v", (t,), F)


@pytest.mark.parametrize("first", [True, False], ids=["own first", "other first"])
def test_a_step_of_a_scan_is_a_fold_over_two(first: bool) -> None:
    """`v + w` where the lane has a neighbour and `v` where it has none, whichever way round it is written."""
    own, other = at(Var("t")), at(Var("t") - 8)
    both = App("add", (own, other) if first else (other, own), F)
    stated = stepped(App("select", (App("ge", (Var("t"), Const(8)), BOOL), both, own), F), POINT)
    assert is_made(stated)  # and is rounded as it is written
    found = value_of(stated)
    assert isinstance(found, Fold) and found.monoid == "sum" and found.axes[0].extent == Const(2)
    other_step = App("select", (App("ge", (Var("t"), Const(7)), BOOL), both, own), F)
    assert stepped(other_step, POINT) == other_step and stepped(own, POINT) == own


def test_small_folds_are_written_out() -> None:
    small = Fold("sum", (Axis("k", Const(3)),), TRUE, at(Var("k")), F)
    assert not isinstance(expand(small), Fold)
    large = replace(small, axes=(Axis("k", Const(1 << 12)),))
    assert expand(large) == large
    nothing = Fold("max", (Axis("k", Const(3)),), TRUE, Read("w", (Var("k"),), "i32"), "i32")
    assert expand(nothing) == nothing  # without a unit there is nothing to begin with
    assert expand(X) == X


def test_a_contribution_under_a_guard_stays_one() -> None:
    old, guard = at(Var("t")), App("lt", (I, N), BOOL)
    made = merged(guard, App("add", (old, X), F), old)
    assert isinstance(made, App) and made.op == "add"
    binder = Fold("sum", (Axis("i", Const(3)),), TRUE, at(I), F)  # has the name of the guard's variable
    assert merged(guard, App("add", (old, binder), F), old).op == "select"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("term", "wanted"),
    [
        (App("floordiv", (Var("a", "u8"), Var("b", "u8")), "u8"), "b > 0"),
        (App("div", (X, Y), F), "y != 0"),
        (App("log", (X,), F), "x > 0"),
        (App("rsqrt", (X,), F), "x > 0"),
        (App("sqrt", (X,), F), "x >= 0"),
        (App("sub", (Const(float("inf"), F), X), F), "False"),
        (App("div", (Const(float("inf"), F), X), F), "False"),
    ],
    ids=str,
)
def test_where_an_operation_has_a_value(term: App, wanted: str) -> None:
    assert text(decided(term, POINT, {})) in (wanted, wanted.lower())


def test_what_both_divide_is_compared() -> None:
    """The program may divide by what the equation divides by; by something else it has to show that it may."""
    ours, theirs, other = App("div", (X, Y), F), App("div", (X, Y), F), App("log", (Y,), F)
    assert list(defined(ours, theirs, POINT, ())) == []
    (claim,) = defined(other, theirs, POINT, ())
    assert isinstance(claim, Obligation) and claim.goal == decided(other, POINT, {})
    assert text(valued(theirs, POINT)[0]) == "y != 0"  # elsewhere nothing is asked


def test_where_a_value_is_a_number() -> None:
    up, low, c = Const(float("inf"), F), Const(float("-inf"), F), App("lt", (I, N), BOOL)
    most = Fold("max", (Axis("k", N),), App("lt", (Var("k"), I), BOOL), at(Var("k")), F)
    least = replace(most, monoid="min", guard=TRUE)
    rows = {
        App("neg", (up,), F): "false",
        App("abs", (low,), F): "false",
        App("select", (c, up, X), F): "not i < N",
        App("cast", (up,), "f64"): "false",
        App("max", (low, X), F): "true",
        App("min", (low, X), F): "false",
        App("exp", (low,), F): "true",
        App("exp", (up,), F): "false",
        App("add", (most, X), F): "N >= 1 and 0 < i",
        App("max", (most, least), F): "N >= 1",
        Fold("sum", (Axis("k", N),), TRUE, X, F): "true",
        Fold("sum", (Axis("k", N),), TRUE, low, F): "false",
    }
    assert {t: text(finite(t, Region(()), {})) for t in rows} == rows


def test_operations_inside_of_folds() -> None:
    fold = Fold("sum", (Axis("k", N),), TRUE, App("div", (X, Y), F), F)
    assert list(partial(fold, POINT)) == [] and len(list(partial(fold, POINT, folds=True))) == 1
