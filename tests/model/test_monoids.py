"""Monoids in the language: what a fold gives, where it may stand, and what stays as it was.

Comes in: texts. Goes out: terms. The one idea: a tuple on the left side is several equations with one fold.
"""

from __future__ import annotations

import pytest

from tinygpu.category.term import text
from tinygpu.diagnostic import TinygpuError
from tinygpu.model.elaborate import elaborate
from tinygpu.model.op import Op
from tinygpu.syntax.parse import parse

MOST = """monoid most(m: f32, count: i32) where count >= 0 {
  unit    (-inf, 0)
  lift    (x) = (x, 1)
  combine (a, b) = (max(a.m, b.m), (a.count if a.m >= b.m else 0) + (b.count if b.m >= a.m else 0))
}
"""


def op(equations: str, outputs: str = "y: f32[R]") -> Op:
    (found,) = elaborate(parse(f"{MOST}op f(x: f32[R, N]) -> ({outputs}) {{\n{equations}\n}}")).ops
    return found


def value(equation: str, outputs: str = "y: f32[R]") -> str:
    return text(op(equation, outputs).equations[-1].value)


def test_a_fold_of_pairs_is_several_equations() -> None:
    found = op("(y[r], k[r]) = fold most[j] x[r, j]", "y: f32[R], k: i32[R]")
    assert [e.target for e in found.equations] == ["y", "k"]
    assert text(found.equations[1].value) == "(fold most[j < N] most(x[r, j], 1)).count"


def test_what_stands_for_a_fold_where_one_value_is_wanted() -> None:
    assert value("y[r] = argmax[j] x[r, j]", "y: i32[R]") == "(fold argmax_f32[j < N] argmax_f32(x[r, j], i32(j))).k"
    assert value("y[r] = exp(logsumexp[j] x[r, j])").startswith(
        "exp((fold logsumexp_f32[j < N] logsumexp_f32(x[r, j], 1)).m + log("
    )
    assert value("y[r] = f32((fold most[j] x[r, j]).count)") == "f32((fold most[j < N] most(x[r, j], 1)).count)"
    guarded = value("y[r] = argmin[j <= r] x[r, j]", "y: i32[R]")
    assert "if j <= r" in guarded


@pytest.mark.parametrize(
    ("equation", "code"),
    [
        ("y[r] = fold most[j] x[r, j]", "TG147"),
        ("(y[r], z[r]) = x[r, 0]", "TG147"),
        ("(y[r], z[q]) = fold most[j] x[r, j]", "TG111"),
        ("y[r] = fold least[j] x[r, j]", "TG107"),
        ("y[r] = fold most[j] (x[r, j], 1)", "TG125"),
        ("y[r] = fold most[j] i32(x[r, j])", "TG121"),
        ("y[r] = welford[j] (x[r, j] > 0)", "TG122"),
        ("y[r] = argmax[j] 1", "TG113"),
        ("y[r] = argmax[j, k < 3] x[r, j]", "TG125"),
        ("y[r] = (fold most[j] x[r, j]) + 1", "TG147"),
        ("y[r] = max(fold most[j] x[r, j], fold most[j] x[r, j])", "TG122"),
        ("y[r] = f32((fold most[j] x[r, j]))", "TG122"),
        ("y[r] = x[r, 0].m", "TG148"),
        ("y[r] = 1 if (fold most[j] x[r, j]) == (fold most[j] x[r, j]) else 0", "TG122"),
        ("y[r] = x[(fold most[j] x[r, j]), 0]", "TG119"),
    ],
)
def test_values_of_several_components_are_used_as_such(equation: str, code: str) -> None:
    with pytest.raises(TinygpuError) as refused:
        op(equation)
    assert code in {d.code for d in refused.value.diagnostics}, [d.title for d in refused.value.diagnostics]
