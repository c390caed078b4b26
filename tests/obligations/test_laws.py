"""Laws of monoids: those of the shipped ones are proved, and each law is seen failing.

Comes in: declarations. Goes out: verdicts on their claims. The one idea: a wrong monoid fails in the law that is wrong, and small
numbers show it; what has no value is never taken for a number.
"""

from __future__ import annotations

import pytest

from tinygpu.category.carrier import LAWS
from tinygpu.category.monoid import Carrier
from tinygpu.model.monoid import built_in, elaborate_monoid
from tinygpu.model.problems import Problems
from tinygpu.model.scope import Scope
from tinygpu.obligations.laws import of, title
from tinygpu.proof.kernel import Theorem, discharge
from tinygpu.record import replace
from tinygpu.syntax import tree
from tinygpu.syntax.parse import parse

LSE = """monoid {name}(m: f32, s: f32) where s >= 0 {{
  unit    ({unit})
  lift    (x) = (x, {one})
  combine (a, b) = (max(a.m, b.m), {s})
}}"""
GUARDED = "(a.s if a.m >= b.m else a.s*exp(a.m - b.m)) + (b.s if b.m >= a.m else b.s*exp(b.m - a.m))"
BARE = "a.s*exp(a.m - max(a.m, b.m)) + b.s*exp(b.m - max(a.m, b.m))"


def monoid(name: str, unit: str = "-inf, 0", one: str = "1", s: str = GUARDED) -> Carrier:
    """A running maximum and a sum, or a wrong one."""
    (written,) = parse(LSE.format(name=name, unit=unit, one=one, s=s)).declarations
    assert isinstance(written, tree.Monoid)
    made = elaborate_monoid(written, Scope(Problems(), place="in a monoid"))
    assert made is not None
    return made


def failing(one: Carrier) -> set[str]:
    """The laws whose claims are not all theorems."""
    open_ = {claim.title for claim in of(replace(one, commutative=True)) if not isinstance(discharge(claim), Theorem)}
    return {law for law in LAWS if title(one, law) in open_}


@pytest.mark.parametrize("name", ["argmax", "argmin", "logsumexp", "welford"])
@pytest.mark.parametrize("dtype", ["f32", "f16", "i32"])
def test_the_laws_of_the_built_in_ones_are_theorems(name: str, dtype: str) -> None:
    if dtype != "i32" or name.startswith("arg"):
        for claim in of(built_in(name, dtype)):
            assert isinstance(discharge(claim), Theorem), claim.sentence


def test_each_law_is_seen_failing() -> None:
    assert failing(monoid("right")) == set()
    assert failing(monoid("bare", s=BARE)) == {"unit", "associative", "commutative", "invariant"}  # where both maxima are -inf
    assert failing(monoid("finite", unit="0, 1", s=BARE)) == {"unit"}
    assert failing(monoid("negative", one="-1")) == {"lift"}
    assert failing(monoid("left", s="a.s")) == {"unit", "commutative"}
    assert failing(monoid("mean", s="(a.s + b.s) / 2")) == {"unit", "associative"}
    assert failing(monoid("less", s="a.s - b.s")) == {"unit", "associative", "commutative", "invariant"}
