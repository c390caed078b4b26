"""Where the checker is at fault it says what to write instead, and that is proved.

Comes in: machines that are right and open. Goes out: the help, and the machine that follows it. The one idea: who reads a help does what it says, so the
test does it too.
"""

from __future__ import annotations

import re

import pytest

from tests.conftest import ROOT
from tests.program.library import program
from tinygpu.proof.check import Unknown, check
from tinygpu.proof.kernel import Proof

TEXT = """op f(x: f32[R, N], y: f32[R, N]) -> (s: f32[R], z: f32[R]) where N >= 1 {
  s[r] = EQUATION
  z[r] = y[r, 0]
}

machine m : f {
  work grid = (g: ceil(R / 32)), block = (t: 32)
  program {
    local a: f32[]
    if g*32 + t < R {
      STEPS
      z[g*32 + t] = y[g*32 + t, 0]
    }
  }
}
"""
SUM = "a[] = 0\n      for k < N { STEP }\n      s[g*32 + t] = a[]"
X = "x[g*32 + t, k]"
STEPS = {  # an equation, steps that compute it, and which of these is to be written otherwise
    "the first one apart": ("sum[k] x[r, k]", SUM.replace("STEP", f"a[] = a[] + {X} if k > 0 else {X}"), f"a[] = a[] + {X} if k > 0 else {X}"),
    "a law of hyperbolas": ("tanh(x[r, 0])", "s[g*32 + t] = 1 - 2 / (exp(2*x[g*32 + t, 0]) + 1)", "s[g*32 + t] = 1 - 2 / (exp(2*x[g*32 + t, 0]) + 1)"),
}  # fmt: skip
EQUATIONS = {  # an equation, and steps that compute it in a form in which it is to be written
    "a count": ("f32(sum[k] (i32(1) if x[r, k] > 0 else i32(0)))", SUM.replace("STEP", f"if {X} > 0 {{ a[] = a[] + 1 }}")),
    "a minimum": (
        "min[k] x[r, k]",
        SUM.replace("a[] = 0", "a[] = -inf").replace("STEP", f"a[] max= -{X}").replace("= a[]", "= -a[]"),
    ),
}


def helped(text: str) -> str:
    """What is said of a machine that is open: what stands between backticks in its first help."""
    verdict = check(program(text))
    assert isinstance(verdict, Unknown)
    (help,) = verdict.diagnostics[0].helps
    assert "is proved" in help, help
    return re.findall("`(.*)`", help)[0]


@pytest.mark.parametrize(("equation", "steps", "old"), STEPS.values(), ids=STEPS)
def test_a_step_that_is_written_otherwise(equation: str, steps: str, old: str) -> None:
    text = TEXT.replace("EQUATION", equation).replace("STEPS", steps)
    assert old in text and isinstance(check(program(text.replace(old, helped(text)))), Proof)


@pytest.mark.parametrize(("equation", "steps"), EQUATIONS.values(), ids=EQUATIONS)
def test_an_equation_that_is_written_otherwise(equation: str, steps: str) -> None:
    text = TEXT.replace("EQUATION", equation).replace("STEPS", steps)
    assert isinstance(check(program(text.replace(f"s[r] = {equation}", helped(text)))), Proof)


def test_what_was_not_proved_is_not_said() -> None:
    text = (ROOT / "tests" / "meaning" / "undecided" / "never_stored_where_it_wraps.tgpu").read_text(encoding="utf-8")
    verdict = check(program(text))
    assert isinstance(verdict, Unknown) and not any("is proved" in help for d in verdict.diagnostics for help in d.helps)


RESIZED = """op resized(x: f32[H], scale: f32) -> (y: f32[P]) where H >= 1 {
  let u = (f32(i) + 0.5) * scale - 0.5
  j[i] = CLAMPED
  y[i] = x[j[i]]
}

machine m : resized {
  work    grid = (g), block = (t: 128)
  compute i = (g, t)
}
"""
CLAMPED = {  # with floats up to where they tell all integers apart, with integers of 32 bits up to the largest
    "min(i32(floor(max(u, 0))), H - 1)": "H <= 2147483647",
    "i32(floor(min(max(u, 0), f32(H - 1))))": "H <= 16777216",
}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("clamped", CLAMPED)
def test_sizes_that_fit_what_they_are_made_to(clamped: str) -> None:
    """An index that is computed with floats and clamped in the end is inside, whatever is rounded before."""
    text = RESIZED.replace("CLAMPED", clamped)
    assert helped(text) == f"where {CLAMPED[clamped]}"
    fits = text.replace("H >= 1", f"H >= 1, {CLAMPED[clamped]}")
    assert isinstance(check(program(fits)), Proof)
    for wrong in (fits.replace("max(u, 0)", "u"), fits.replace("max(u, 0)", "max(u, -1)"), fits.replace("H - 1", "H + 1")):
        assert wrong != fits and not isinstance(check(program(wrong)), Proof)


NEAR = (
    "op f(x: f32[R, N]) -> (s: f32[R]) { s[r] = sum[k] EQUATION }\n"
    + """machine m : f {
  work grid = (g: ceil(R / 32)), block = (t: 32)
  program {
    local a: f32[]
    a[] = 0
    for k < N { if g*32 + t < R { a[] += STEP } }
    s[g*32 + t] = a[] if g*32 + t < R
  }
}
"""
)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("equation", "step", "helps"), [
    ("x[r, k] * x[r, k]", f"f32(f16({X})) * {X}", True),
    ("x[r, k] * x[r, k]", f"f32(f16({X})) * {X} * 2", False),
    ("(1 if x[r, k] > 0 else 0)", f"1 if f32(f16({X})) > 0 else 0", False),
])  # fmt: skip
def test_what_is_rounded_may_stand_for_what_it_was(equation: str, step: str, helps: bool) -> None:
    """Only where nothing else is wrong, and nothing is decided by it."""
    text = NEAR.replace("EQUATION", equation).replace("STEP", step)
    verdict = check(program(text))
    assert isinstance(verdict, Unknown) or not helps
    said = [help for d in getattr(verdict, "diagnostics", ()) for help in d.helps if "near_f16" in help]
    assert (
        said
        == ["write `near_f16` for `f16` in line 7: over the reals it is the number that is rounded, and then it is proved"] * helps
    )
    if helps:
        assert isinstance(check(program(text.replace("f16(x", "near_f16(x"))), Proof)
