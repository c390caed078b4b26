"""Laws of monoids: those of the shipped ones are proved, and each law is seen failing.

Comes in: declarations. Goes out: verdicts on their claims. The one idea: a wrong monoid fails in the law that is wrong, and small
numbers show it; what has no value is never taken for a number.
"""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from tests.program.library import machines
from tinygpu.category.monoid import Carrier
from tinygpu.category.sample import LAWS, broken
from tinygpu.category.term import App, Const, Term, Var, text
from tinygpu.derive.derive import derive
from tinygpu.model.builtin import built_in
from tinygpu.model.monoid import elaborate_monoid
from tinygpu.model.problems import Problems
from tinygpu.model.scope import Scope
from tinygpu.obligations.extended import cases
from tinygpu.obligations.laws import of, title
from tinygpu.proof.check import Refutation, check
from tinygpu.proof.kernel import Proof, Theorem, discharge
from tinygpu.syntax import tree
from tinygpu.syntax.parse import parse

LSE = """monoid {name}(m: f32, s: f32) where s >= 0 {{
  unit    ({unit})
  lift    (x) = (x, {one})
  combine (a, b) = (max(a.m, b.m), {s})
}}"""
GUARDED = "(a.s if a.m >= b.m else a.s*exp(a.m - b.m)) + (b.s if b.m >= a.m else b.s*exp(b.m - a.m))"
BARE = "a.s*exp(a.m - max(a.m, b.m)) + b.s*exp(b.m - max(a.m, b.m))"
MAXIMUM = App("max", (Var("a", "f32"), Var("b", "f32")), "f32")
INFINITE = Const(math.inf, "f32")


def monoid(name: str, unit: str = "-inf, 0", one: str = "1", s: str = GUARDED) -> Carrier:
    """A running maximum and a sum, or a wrong one."""
    (written,) = parse(LSE.format(name=name, unit=unit, one=one, s=s)).declarations
    assert isinstance(written, tree.Monoid)
    made = elaborate_monoid(written, Scope(Problems(), place="in a monoid"))
    assert made is not None
    return made


def failing(one: Carrier) -> set[str]:
    """The laws whose claims are not all theorems."""
    open_ = {claim.title for claim in of(replace(one, commutative=True), (-math.inf,)) if not isinstance(discharge(claim), Theorem)}
    return {law for law in LAWS if title(one, law) in open_}


@pytest.mark.parametrize("name", ["argmax", "argmin", "logsumexp", "welford"])
@pytest.mark.parametrize("dtype", ["f32", "f16", "i32"])
def test_the_laws_of_the_built_in_ones_are_theorems(name: str, dtype: str) -> None:
    if dtype != "i32" or name.startswith("arg"):
        ends = () if name == "welford" else (-math.inf,) if name != "argmin" else (math.inf,)
        for claim in of(built_in(name, dtype), ends):
            assert isinstance(discharge(claim), Theorem), claim.sentence


def test_each_law_is_seen_failing() -> None:
    assert failing(monoid("right")) == set()
    assert failing(monoid("bare", s=BARE)) == {"unit", "associative", "commutative", "invariant"}  # where both maxima are -inf
    assert failing(monoid("finite", unit="0, 1", s=BARE)) == {"unit", "lift"}  # -inf is no value of this carrier
    assert failing(monoid("negative", one="-1")) == {"lift"}
    assert failing(monoid("left", s="a.s")) == {"unit", "commutative"}
    assert failing(monoid("mean", s="(a.s + b.s) / 2")) == {"unit", "associative"}
    assert failing(monoid("less", s="a.s - b.s")) == {"unit", "associative", "commutative", "invariant"}


def test_numbers_show_what_fails() -> None:
    for name, law, shape in (
        ("mean", "associative", 5),
        ("left", "commutative", 4),
        ("less", "invariant", 3),
        ("negative", "lift", 2),
    ):
        one = monoid(
            name, **{"mean": {"s": "(a.s + b.s) / 2"}, "left": {"s": "a.s"}, "less": {"s": "a.s - b.s"}}.get(name, {"one": "-1"})
        )
        found = broken(one, law)
        assert found is not None and len(found) == shape


@pytest.mark.parametrize(
    ("term", "env", "found"),
    [
        (App("sub", (Var("a", "f32"), Var("b", "f32")), "f32"), {"a": INFINITE, "b": INFINITE}, ["None"]),
        (App("exp", (App("sub", (Var("a", "f32"), Var("b", "f32")), "f32"),), "f32"), {}, ["exp(a) / exp(b)"]),
        (App("exp", (App("neg", (Var("a", "f32"),), "f32"),), "f32"), {"a": INFINITE}, ["0"]),
        (App("div", (Var("a", "f32"), Var("b", "f32")), "f32"), {}, ["None", "a / b"]),
        (App("mul", (Var("a", "f32"), Var("b", "f32")), "f32"), {"b": INFINITE}, ["None", "-inf", "inf"]),
        (App("log", (Var("a", "f32"),), "f32"), {}, ["None", "log(a)"]),
        (MAXIMUM, {"a": INFINITE}, ["inf"]),
        (MAXIMUM, {}, ["b", "a"]),
    ],
)  # fmt: skip
def test_infinities_are_cases(term: Term, env: dict[str, Term], found: list[str]) -> None:
    assert ["None" if value is None else text(value) for _, value in cases(term, env)] == found


FIRST = """
monoid composed(p: f32, q: f32) {
  unit    (1, 0)
  lift    (x) = (x, 1)
  combine (a, b) = (a.p * b.p, a.q * b.p + b.q)
}
op horner(x: f32[R, N]) -> (y: f32[R]) {
  (p[r], q[r]) = fold composed[j] x[r, j]
  y[r] = p[r] + q[r]
}
machine ordered : horner {
  work grid = (g), block = (t: 32)
  compute r = (g, t), j = (c, e: 4)
  time c, e
}
machine changed : horner {
  work grid = (g), block = (t: 32)
  compute r = (g, t), j = (c, e: 4)
  time e, c
}
machine strided : horner {
  work grid = (r), block = (t: 32)
  compute j = (c, t)
  time c
}
"""


def test_a_monoid_that_does_not_commute_is_folded_in_order_only() -> None:
    programs = {name: derive(one) for name, one in machines(FIRST).items()}
    assert isinstance(check(programs["ordered"]), Proof)
    verdict = check(programs["changed"])
    assert isinstance(verdict, Refutation) and verdict.diagnostic.code == "TG508"
