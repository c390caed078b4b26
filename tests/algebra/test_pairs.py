"""Operations that a grammar makes, and theorems that they are the same: nothing false is proved.

Comes in: numbers. Goes out: for each a verdict that an evaluation at small sizes agrees with. The one idea: who judges knows nothing of laws; `judged` itself raises where what is proved has
two values, so a wrong law is found by any pair that it makes equal.
"""

from __future__ import annotations

from collections import Counter

import pytest

from tests.algebra.pairs import pair
from tinygpu.algebra.theorem import Proved
from tinygpu.algebra.verdict import judged
from tinygpu.diagnostic import TinygpuError
from tinygpu.pipeline import load_text


def verdicts(seeds: range) -> Counter[str]:
    """How many of which word."""
    found: Counter[str] = Counter()
    for seed in seeds:
        try:
            (theorem,) = load_text(pair(seed)).spec.theorems
        except TinygpuError:
            found["no op"] += 1
            continue
        verdict = judged(theorem, 2_000_000)
        found["proved" if isinstance(verdict, Proved) else verdict.verdict] += 1
    return found


@pytest.mark.parametrize("first", [0, *(pytest.param(n, marks=pytest.mark.sampled) for n in range(200, 2000, 200))])
def test_nothing_false_is_proved(first: int) -> None:
    found = verdicts(range(first, first + 200))
    assert found["proved"] >= 60 and found["refuted"] >= 20, found
