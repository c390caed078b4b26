"""What is promised of data holds of whatever a theorem is tried at.

Comes in: theorems between ops that promise something of their data. Goes out: verdicts. The one idea: data that break a promise are no counterexample.
"""

from __future__ import annotations

import pytest

from tinygpu.algebra.refute import cases
from tinygpu.algebra.verdict import evaluated, judged
from tinygpu.diagnostic import Diagnostic
from tinygpu.pipeline import load_text

ONE = "op left(x: f32[N]) -> (y: f32[N]) where all[i] (x[i] == 1) { y[i] = x[i] * x[i] }\nop right(x: f32[N]) -> (y: f32[N]) { y[i] = x[i] }"
TWO = "op left(x: f32[N], k: f32) -> (y: f32[N]) where k == 2 { y[i] = k * x[i] }\nop right(x: f32[N], k: f32) -> (y: f32[N]) { y[i] = x[i] + x[i] + 0 * k }"
NONE = ONE.replace("(x[i] == 1)", "(x[i] > 0), all[i] (x[i] < 0)").replace("x[i] * x[i]", "2 * x[i]")
HALF = ONE.replace("(x[i] == 1)", "(x[i] >= 1)")


@pytest.mark.parametrize("text, word", [(ONE, "unknown"), (TWO, "unknown"), (NONE, "unknown"), (HALF, "refuted")])
def test_data_that_break_a_promise_are_no_counterexample(text: str, word: str) -> None:
    (theorem,) = load_text(f"{text}\ntheorem same : left == right").spec.theorems
    found = judged(theorem)
    assert isinstance(found, Diagnostic) and found.verdict == word
    assert (evaluated(theorem)[0] == 0) == (next(cases(theorem), None) is None) == (text == NONE)
