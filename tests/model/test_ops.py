"""What an elaborated operation means: its equations, evaluated by brute force, against numpy; and its terms where their form matters.

Comes in: texts of ops. Goes out: values for small sizes. The one idea: elaboration is right when the formula computes what it says.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from tests.program.library import machines
from tinygpu.category.number import outside_dtype
from tinygpu.category.term import App, Const, Fold, Read, Var, apply, text, walk
from tinygpu.derive.derive import derive
from tinygpu.diagnostic import TinygpuError
from tinygpu.model.elaborate import elaborate
from tinygpu.model.op import Op
from tinygpu.simulate.reference import reference
from tinygpu.syntax.parse import parse


def op(source: str) -> Op:
    return elaborate(parse(source)).ops[0]


X = np.random.default_rng(7).uniform(-2, 2, (5, 6)).astype(np.float32)
V = X[0]
PAD, PADS = np.pad(V, 1), np.pad(X.astype(float), ((0, 0), (1, 1)))
E = np.exp(X.astype(float) - X.max(1, keepdims=True))
FORMULAS: list[tuple[str, dict[str, int], dict[str, Any], Any]] = [
    ("(a: f32, x: f32[n]) -> (z: f32[n]) { z[i] = a * x[i] + 1 }", {"n": 6}, {"a": np.float32(2), "x": V}, 2 * V + 1),
    ("(x: f32[n + 2]) -> (z: f32[n]) { z[i] = x[i] - 2*x[i + 1] + x[i + 2] }", {"n": 4}, {"x": V}, V[:4] - 2 * V[1:5] + V[2:]),
    ("(x: f32[2*n]) -> (z: f32[n]) { z[i] = x[2*i + 1] }", {"n": 3}, {"x": V}, V[1::2]),
    ("(x: f32[n]) -> (z: f32[n]) { z[i] = x[i - 1 | 0] + x[i + 1 | 0] }", {"n": 6}, {"x": V}, PAD[:-2] + PAD[2:]),
    ("(x: f32[n]) -> (z: f32[n]) { z[i] = x[i - 1] if i > 0 else -1 }", {"n": 6}, {"x": V}, np.r_[-1, V[:-1]]),
    ("(x: f32[m], y: f32[n]) -> (z: f32[m + n]) { z[i] = x[i] if i < m else y[i - m] }", {"m": 6, "n": 6}, {"x": V, "y": -V}, np.r_[V, -V]),
    ("(x: f32[m, n]) -> (z: f32[m]) { z[i] = sum[j] x[i, j] }", {"m": 5, "n": 6}, {"x": X}, X.sum(1)),
    ("(x: f32[n]) -> (z: f32[n]) { z[q] = sum[k <= q] x[k] }", {"n": 6}, {"x": V}, np.cumsum(V)),
    ("(x: f32[n]) -> (z: f32[n]) { z[q] = sum[k < q] x[k] }", {"n": 6}, {"x": V}, np.cumsum(V) - V),
    ("(x: f32[n]) -> (z: f32[n]) { z[q] = sum[k <= q] 1 + x[q] }", {"n": 6}, {"x": V}, np.arange(1, 7) + V),
    ("(x: f32[n]) -> (z: f32[]) { z[] = max[k < 3] x[k] }", {"n": 6}, {"x": V}, V[:3].max()),
    ("(x: f32[n]) -> (z: f32[]) { z[] = prod[k <= 3] x[k] }", {"n": 6}, {"x": V}, V[:4].prod()),
    ("(x: f32[n]) -> (z: bool[]) { z[] = any[k] (x[k] > 1 and not x[k] > 1.5 or false) }", {"n": 6}, {"x": V}, bool(((V > 1) & (V <= 1.5)).any())),
    ("(x: i32[n]) -> (h: i32[b]) { h[c] = sum[i] (1 if x[i] == c else 0) }", {"n": 4, "b": 3}, {"x": np.array([0, 2, 2, 1], np.int32)}, [1, 1, 2]),
    ("(W: f32[v, d], t: i32[n]) -> (z: f32[n, d]) { z[i, j] = W[t[i], j] }", {"v": 5, "d": 6, "n": 2}, {"W": X, "t": np.array([4, 1], np.int32)}, X[[4, 1]]),
    ("(x: f32[n]) -> (z: f32[n]) { z[i] = x[n - 1 - i] * i / sqrt(n) }", {"n": 6}, {"x": V}, V[::-1] * np.arange(6) / np.sqrt(6)),
    ("(x: f32[n]) -> (z: f32[n]) { z[i] = where(x[i] > 0, min(x[i], 1, 0.5), abs(x[i])) }", {"n": 6}, {"x": V}, np.where(V > 0, np.minimum(V, 0.5), -V)),
    ("(x: i32[n]) -> (z: i32[n]) { z[i] = x[i] // 3 + x[i] % 3 * 10 ^ 1 }", {"n": 3}, {"x": np.array([7, 8, 9], np.int32)}, [12 ^ 1, 22 ^ 1, 3 ^ 1]),
    ("(x: f32[r, n]) -> (y: f32[r, n]) { m[i] = max[k] x[i, k]\n s[i] = sum[k] exp(x[i, k] - m[i])\n y[i, j] = exp(x[i, j] - m[i]) / s[i] }", {"r": 5, "n": 6}, {"x": X}, E / E.sum(1, keepdims=True)),
    ("(x: f32[r, n]) -> (y: f32[r, n]) { y[i, j] = sum[k < 3] x[i, j + k - 1 | 0] }", {"r": 5, "n": 6}, {"x": X}, PADS[:, :-2] + PADS[:, 1:-1] + PADS[:, 2:]),
    ("(x: f32[r, n]) -> (y: f32[]) { y[] = sum[a, b] x[a, b] }", {"r": 5, "n": 6}, {"x": X}, X.astype(float).sum()),
    ("(x: u8[r, n]) -> (y: u8[r]) { y[i] = sum[k] x[i, k] * 100 }", {"r": 5, "n": 6}, {"x": np.uint8(X + 3)}, np.uint8(X + 3).sum(1) * 100 % 256),
    ("(x: f32[r, n]) -> (y: f32[r, n]) { m[i] = max[j] x[i, j]\n y[i, j] = x[i, j] - m[i] }", {"r": 5, "n": 6}, {"x": X}, X - X.max(1, keepdims=True)),
    ("(x: f32[n]) -> (z: f32[n]) { d[p < n - 2] = x[p + 2] - x[p]\n z[i] = d[i | 0] }", {"n": 6}, {"x": V}, np.r_[V[2:] - V[:4], 0, 0]),
    ("(x: f32[n]) -> (z: f32[n - 2]) { d[p] = x[(p + 2) % n]\n z[i] = d[i] }", {"n": 6}, {"x": V}, V[2:]),
    ("(x: f32[r, n]) -> (z: f32[r, g]) where g >= 1, n % g == 0 { v = x as [r, g, n // g]\n z[i, j] = sum[k] v[i, j, k] }", {"r": 5, "n": 6, "g": 3}, {"x": X}, X.astype(float).reshape(5, 3, 2).sum(2)),
    ("(x: f32[r*m, n]) -> (z: f32[r, n*m]) { v = x as [r, m*n]\n z[i, j] = v[i, j] }", {"r": 1, "m": 5, "n": 6}, {"x": X}, X.reshape(1, 30)),
    ("(x: f32[5, 6]) -> (z: f32[5, 6]) { v = x as [6, 5]\n w = v as [30]\n z[i, j] = v[j, i] + w[i + 5*j] }", {}, {"x": X}, 2 * X.reshape(6, 5).T),
]  # fmt: skip


@pytest.mark.parametrize("points", [1, 7, 1 << 18])
@pytest.mark.parametrize(("source", "sizes", "inputs", "expected"), FORMULAS, ids=lambda v: v[:60] if isinstance(v, str) else "")
def test_a_formula_computes_what_it_says(
    source: str, sizes: dict[str, int], inputs: dict[str, Any], expected: Any, points: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many points are looked at together; floats in all digits of a double."""
    monkeypatch.setattr("tinygpu.simulate.reference.POINTS", points)
    made = op(f"op f{source}")
    found, (output, *_) = reference(made, sizes, inputs), made.outputs
    assert found[output.name].dtype == (np.float64 if output.dtype[0] == "f" else outside_dtype(output.dtype))
    np.testing.assert_allclose(found[output.name], expected, rtol=1e-13 if np.asarray(expected).dtype == np.float64 else 1e-6)


WRITTEN = [  # an op, and the value of its last equation
    ("(x: f32[n, m]) -> (z: f32[n, m]) { z[i, j] = x[i, j - 1 | 0] }", "x[i, j - 1] if j - 1 >= 0 and j - 1 < m else 0"),  # only the sides that it can leave
    ("(x: f32[n]) -> (z: f32[n]) { z[i] = f32(x[i]) }", "x[i]"),
    ("(x: f32[n]) -> (z: f32[n]) { z[i] = x[i] * D }\nparam D = 4", "x[i]*4"),
    ("(x: f32[n]) -> (z: f32[n]) { z[i] = x[i] * (i + 1) }", "x[i]*f32(i + 1)"),
    ("(x: f16[n]) -> (z: f16[n]) { z[i] = x[i] * 2 + (1 / 3) }", "x[i]*2 + 1 / 3"),
    ("(x: f32[n, n]) -> (z: f32[n]) { z[q] = sum[k <= q, r < 3] x[k, r] }", "sum[k < n, r < 3] (x[k, r] if k <= q else nothing)"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "written"), WRITTEN)
def test_the_term_of_a_formula(source: str, written: str) -> None:
    assert text(op(f"op f{source}").equations[-1].value) == written


def test_the_sizes_and_shapes_of_an_op() -> None:
    made = op(
        "param D = 4\nop f(B: f32[K, N + 1], A: f32[M, 2*D]) -> (C: f32[M]) { m[i, j] = B[i, j]\n C[i] = A[i, D] * (sum[k, j] m[k, j]) }"
    )
    assert made.sizes == ("K", "N", "M") and made.inputs[1].shape[1] == Const(8)
    (kept,) = made.intermediates
    assert (kept.dtype, [text(e) for e in kept.shape], kept.role) == ("f32", ["K", "N + 1"], "intermediate")


def test_arithmetic_stays_in_the_dtype_that_is_written() -> None:
    made = op("op f(x: bf16[n], c: bool[n]) -> (z: bf16[n]) { z[i] = x[i] * 2 + (1 if c[i] else -inf) + x[i] }")
    terms = [t for t in walk(made.equations[0].value) if isinstance(t, Const | App)]
    assert {t.dtype for t in terms} == {"bf16"} and Const(float("-inf"), "bf16") in terms


def test_a_gather_casts_what_it_reads_to_an_index() -> None:
    made = op("op f(W: f32[v], t: u8[n]) -> (z: f32[n]) where v >= 256, all[i] (t[i] < 7) { z[i] = W[t[i] + 1] }")
    assert made.equations[0].value == Read("W", (App("cast", (Read("t", (Var("i"),), "u8"),)) + 1,), "f32")
    assert [text(w) for w in made.where] == ["v >= 256"]
    (promise,) = made.promises
    assert isinstance(promise, Fold) and promise.monoid == "all" and text(promise.axes[0].extent) == "n"


def test_a_word_for_a_dtype_says_in_which_one_an_index_is_computed() -> None:
    made = op("op f(W: f32[8], t: u32[n]) -> (z: f32[n]) { z[i] = W[u32(t[i] * 5) // 4 % 8] + W[u32(t[i] * 5 % 8)] }")
    wraps = App("mul", (Read("t", (Var("i"),), "u32"), Const(5, "u32")), "u32")
    first, second = (t.index[0] for t in walk(made.equations[0].value) if isinstance(t, Read) and t.tensor == "W")
    assert first == apply("mod", apply("floordiv", App("cast", (wraps,)), 4), 8)
    assert second == App("cast", (App("mod", (wraps, Const(8, "u32")), "u32"),))


def test_extents_that_may_be_negative_bring_a_precondition() -> None:
    made = op("op f(x: f32[H]) -> (z: f32[H - 2]) where H >= 5 and H % 2 == 0 { z[i] = x[i + 1] }")
    assert [text(w) for w in made.where] == ["H >= 5", "H % 2 == 0", "H - 2 >= 0"]


ARRAY = """op f(x: f32[n]) -> (y: f32[n]) { y[i] = x[i] }
machine m : f {
  work grid = (g: n), block = (t: 32)
  program {
    shared s: f32[AXES]
    y[g] = x[g] if t == 0
  }
}
"""


def test_thousands_of_axes_are_not_looked_at() -> None:
    sizes, indices = (", ".join(f"{letter}{k}" for k in range(1000)) for letter in "ni")
    declared = f"op f(x: f32[{sizes}]) -> (y: f32[{sizes}]) {{ z[{indices}] = x[{indices}]\n y[{indices}] = z[{indices}] }}"
    tree, start = parse(declared, "wide"), time.process_time()
    with pytest.raises(TinygpuError) as caught:
        elaborate(tree)
    assert [d.code for d in caught.value.diagnostics] == ["TG145"] * 3
    assert time.process_time() - start < 2
    (machine,) = machines(ARRAY.replace("AXES", ", ".join("1" * 17))).values()
    with pytest.raises(TinygpuError, match="TG145 a tensor has at most 16 axes, not 17"):
        derive(machine)
