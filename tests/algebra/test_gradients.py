"""Gradients: what is proved of them, and that what is proved is what differences say.

Comes in: `gradients.tgpu`, and changes of its ops. Goes out: verdicts. The one idea: a derivative is asked of an op twice, by its adjoint and by differences of it, which have nothing in common; a gradient with a
change in it is not proved, and where it is another function it is refuted.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from tinygpu.algebra import verdict
from tinygpu.algebra.differences import corrected, differences, drawn, exact
from tinygpu.algebra.theorem import Missing, Proved
from tinygpu.algebra.verdict import evaluated, judged
from tinygpu.category.operation import FUNCTION
from tinygpu.category.term import App, Read
from tinygpu.diagnostic import Diagnostic
from tinygpu.model.adjoint import Rough, adjoint, slopes
from tinygpu.model.gradient import Gradient
from tinygpu.pipeline import load, load_text
from tinygpu.simulate.reference import reference

FILE = Path(__file__).with_name("gradients.tgpu")
LIBRARY = load(FILE)
NAMES = [one.name for one in LIBRARY.spec.gradients]


def named(name: str, text: str = LIBRARY.text) -> Gradient:
    (found,) = (one for one in load_text(text).spec.gradients if one.name == name)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_they_are_proved(name: str) -> None:
    found = judged(named(name))
    assert isinstance(found, Proved) and found.claims, found


TWICE = """op twice(x: f32[R, N]) -> (y: f32[R]) where N >= 1 { y[r] = max[j < 2*N] x[r, j // 2] }
op twice_grad(x: f32[R, N], y: f32[R], dy: f32[R]) -> (dx: f32[R, N]) { dx[r, j] = dy[r] if x[r, j] == y[r] else 0 }
gradient of twice is twice_grad
"""  # each element is met twice, and changes the maximum once


@pytest.mark.parametrize("name", [*NAMES, "gradient_of_twice"])
def test_an_adjoint_is_what_differences_say(name: str) -> None:
    one, count = named(name, LIBRARY.text + TWICE), 0
    try:
        op = adjoint(one.op, one.wanted, one.through)
    except Rough:
        assert name == "gradient_of_log_softmax"  # what its fold means is said by a lemma
        return
    for sizes, inputs in list(drawn(one))[:6]:
        with np.errstate(all="ignore"):
            found = reference(exact(op), sizes, inputs)
            for tensor, element, slope in differences(one, sizes, inputs):
                assert abs(found[f"d{tensor}"][element] - slope) <= 1e-4 * (1 + abs(slope)), (sizes, tensor, element)
                count += 1
    assert count


# What somebody may write by mistake into the ops that are gradients.
CHANGES = (
    ("gradient_of_layernorm", "z[r, j] * c[r]", "z[r, j] / c[r]"),
    ("gradient_of_layernorm", "(g[r, j] - a[r]", "(g[r, j] + a[r]"),
    ("gradient_of_gelu", "3*0.044715", "2*0.044715"),
    ("gradient_of_relu", "dy[i] if y[i] > 0 else 0", "dy[i] if y[i] >= 0 else 0"),
    ("gradient_of_product", "da[i, k] = sum[j] dc[i, j] * b[k, j]", "da[i, k] = sum[j] dc[i, j] * b[k, j] * b[k, j]"),
    ("gradient_of_conv", "k <= p and p - k < n", "k < p and p - k < n"),
    ("gradient_of_conv", "dw[k] = sum[i] dy[i] * x[i + k]", "dw[k] = sum[i] dy[i] * x[i + m - 1 - k]"),
    ("gradient_of_maxpool", "if x[r, j] == y[r]", "if x[r, j] != y[r]"),
    ("gradient_of_embed", "if t[i] == v", "if t[i] <= v"),
    ("gradient_of_prefix", "if i >= j", "if i > j"),
    ("gradient_of_rmsnorm", "q[r] * q[r] * s[r]", "q[r] * s[r]"),
    ("gradient_of_attention", "dz[i, j] = p[i, j] * (dp[i, j] - c[i])", "dz[i, j] = p[i, j] * (dp[i, j] - c[j % Q])"),
    ("gradient_of_attention", "dv[j, e] = sum[i] p[i, j] * do[i, e]", "dv[j, e] = sum[i] do[i, e] / f32(K) + 0 * p[0, j]"),
    ("gradient_of_log_softmax", "exp(y[r, j]) * s[r]", "exp(y[r, j]) * s[r] * 2"),
)  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("name", "old", "new"), CHANGES, ids=[f"{name.removeprefix('gradient_of_')}-{n}" for n, (name, *_) in enumerate(CHANGES)]
)
def test_another_function_is_refuted(name: str, old: str, new: str) -> None:
    pattern = re.compile(r"\s+".join(map(re.escape, old.split())))
    text, count = pattern.subn(lambda _: new, LIBRARY.text, count=1)
    assert count == 1
    found = judged(named(name, text))
    assert isinstance(found, Diagnostic) and found.verdict == "refuted" and found.case is not None, found


STEPS = ("floor", "round")


@pytest.mark.parametrize("name", [row.name for row in FUNCTION.values() if row.slope and row.name not in STEPS])
def test_slopes_of_functions(name: str) -> None:
    text = f"op f(x: f32[n]) -> (y: f32[n]) {{ y[i] = {name}(x[i]) }}\nop g(x: f32[n], dy: f32[n]) -> (dx: f32[n]) {{ dx[i] = 0*x[i]*dy[i] }}\ngradient of f is g\n"
    one = named("gradient_of_f", text)
    op = adjoint(one.op, one.wanted, one.through)
    for sizes, inputs in drawn(one):
        found = reference(exact(op), sizes, inputs)
        for tensor, element, slope in differences(one, sizes, inputs):
            assert abs(found[f"d{tensor}"][element] - slope) <= 1e-4 * (1 + abs(slope))


@pytest.mark.parametrize(
    "value", [f"{name}(x[i] * {pitch})" for name in STEPS for pitch in (1, 1024, 1e9)] + ["f32(i32(x[i] * 1024))"]
)
def test_of_what_goes_by_steps_differences_say_nothing(value: str) -> None:
    text = f"op f(x: f32[n]) -> (y: f32[n]) {{ y[i] = {value} }}\nop g(dy: f32[n]) -> (dx: f32[n]) {{ dx[i] = 0*dy[i] }}\ngradient of f is g\n"
    one = named("gradient_of_f", text)
    assert isinstance(judged(one), Proved) and evaluated(one) == (0, 0)
    assert isinstance(judged(named("gradient_of_f", text.replace("0*dy", "2*dy"))), Diagnostic)


def test_what_is_proved_and_false_is_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    one = named("gradient_of_transpose", LIBRARY.text.replace("dx[i, j] = dy[j, i]", "dx[i, j] = 2 * dy[j, i]"))
    assert corrected(one) is not None
    monkeypatch.setattr(verdict, "differentiated", lambda gradient, _: Proved(gradient, (), ()))
    with pytest.raises(AssertionError, match="proved, and false"):
        judged(one)


def test_what_nobody_takes_stands_still() -> None:
    text = """op both(x: f32[n]) -> (y: f32[n], z: f32[n]) { y[i] = 2 * x[i]\nz[i] = x[i] * x[i] }
op grad(dy: f32[n]) -> (dx: f32[n]) { dx[i] = 2 * dy[i] }
op rest(x: f32[n], dy: f32[n], dz: f32[n]) -> (dx: f32[n]) { dx[i] = 2 * dy[i] + 2 * dz[i] * x[i] }
gradient of both is """
    alone, whole = (named("gradient_of_both", text + name) for name in ("grad", "rest"))
    assert alone.through == ("y",) and alone.sizes == "all n, through y alone" and whole.sizes == "all n"
    assert all(isinstance(judged(one), Proved) for one in (alone, whole))


def test_derivatives_of_what_has_none() -> None:
    with pytest.raises(Rough, match="erf"):
        slopes(App("erf", (Read("x", (), "f32"),), "f32"))
    text = "op f(x: f32[n]) -> (y: f32[1]) { y[i] = prod[j < n] x[j] }\nop g(x: f32[n], dy: f32[1]) -> (dx: f32[n]) { dx[i] = x[i] * dy[0] }\ngradient of f is g"
    found = judged(named("gradient_of_f", text))
    assert isinstance(found, Diagnostic) and found.verdict == "refuted"
    same = named("gradient_of_f", text.replace("prod", "sum").replace("x[i] * dy[0]", "dy[0] + 0 * x[i]"))
    assert isinstance(judged(same), Proved) and not isinstance(judged(same), Missing)
