"""The verdict says *wherever the equation has a value* where it may have none, and the module where that is.

Comes in: equations. Goes out: conditions. The one idea: rules 1 and 2 of docs/trust.md, an operation at a time.
"""

from __future__ import annotations

import pytest

from tinygpu.obligations.values import where_defined
from tinygpu.pipeline import load_text

MOST = "m[i] = max[j] x[i, j]; "
LEAST = "n[i] = min[j] x[i, j]; "


@pytest.mark.parametrize(
    ("equations", "conditions"),
    [
        (f"{MOST}z[i] = m[i]", ()),
        (f"{MOST}z[i] = m[i] + v[i]", ()),
        (f"{MOST}z[i] = m[i] - m[i]", ("N >= 1",)),
        (f"{MOST}{LEAST}z[i] = m[i] - n[i]", ()),  # −∞ − ∞
        (f"{MOST}{LEAST}z[i] = m[i] + n[i]", ("N >= 1",)),
        (f"{MOST}z[i] = m[i] + m[i]", ()),
        (f"{MOST}z[i] = 0.0 * m[i] + v[i]", ("N >= 1",)),
        (f"{MOST}z[i] = (m[i] + v[i]) - m[i]", ("N >= 1",)),
        (f"{MOST}z[i] = exp(m[i])", ()),
        (f"{MOST}z[i] = exp(-m[i]) * v[i]", ("N >= 1",)),
        (f"{MOST}z[i] = sin(m[i])", ("N >= 1",)),
        (f"{MOST}z[i] = max(m[i], v[i]) - m[i]", ()),
        (f"{MOST}z[i] = max(m[i], v[i]) * v[i]", ()),
        (f"{MOST}z[i] = v[i] / m[i]", ("m[i] != 0",)),
        (f"{MOST}z[i] = m[i] - m[i] if N > 0 else 0.0", ()),
        (f"{MOST}z[i] = (sum[j] exp(x[i, j] - m[i]))", ()),
        ("m[i] = max[j] (x[i, j] if x[i, j] > 0.0 else -inf); w[i] = 2.0 * m[i]; z[i] = w[i] - w[i]", ("abs(m[i]) < inf",)),
        ("z[i] = sum[j] (x[i, j] if x[i, j] > 0.0 else -inf)", ()),
        (
            "z[i] = sum[j] (x[i, j] if x[i, j] > 0.0 else inf if j > 3 else -inf)",
            ("abs(sum[j < N] (x[i, j] if x[i, j] > 0 else inf if j > 3 else -inf)) < inf",),
        ),
        ("z[i] = log(v[i]) + v[i]", ("v[i] > 0",)),
    ],
)
def test_conditions_are_said(equations: str, conditions: tuple[str, ...]) -> None:
    body = "\n  ".join(equations.split("; "))
    machine = "machine c : o {\n  work grid = (g: ceil(M / 64)), block = (l: 64)\n  program { if g*64 + l < M { z[g*64 + l] = 0.0 } }\n}\n"
    spec = load_text(
        f"op o(x: f32[M, N], v: f32[M]) -> (z: f32[M], y: f32[M]) {{\n  {body}\n  y[i] = sum[j] x[i, j] * v[i]\n}}\n{machine}"
    )
    assert where_defined(spec.machines[0].op) == conditions
