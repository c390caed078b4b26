"""The library `grammar/std`: every function against numpy, every monoid against what it is for.

Comes in: the defs and monoids of the library. Goes out: values of equations that use them. The one idea: an equation is a term, so its values
on floats are asked of the reference, which shares nothing with what a function is compared with.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tinygpu.pipeline import load_text
from tinygpu.simulate.reference import reference
from tinygpu.syntax import tree
from tinygpu.syntax.parse import parse

ROOT = Path(__file__).resolve().parents[2]
STD = ROOT / "grammar" / "std"
X = np.array([-90.0, -6.0, -3.0, -1.5, -1.0, -0.5, -1e-3, 0.0, 1e-3, 0.5, 1.0, 1.5, 3.0, 6.0, 90.0])
T = np.linspace(-1.0, 2.0, len(X))
erf = np.vectorize(math.erf)
log1p, expm1, tanh = np.log1p, np.expm1, np.tanh


def sigmoid(x: Any) -> Any:
    return np.where(x >= 0, 1 / (1 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x))))


def softplus(x: Any) -> Any:
    return np.logaddexp(x, 0)


def slope(f: Callable[[Any], Any]) -> Any:
    """The derivative of a function on complex numbers, without cancellation."""
    return f(X + 1e-30j).imag / 1e-30


FUNCTIONS: dict[str, tuple[str, Any]] = {
    "relu": ("x[i]", np.where(X > 0, X, 0)),
    "relu6": ("x[i]", np.clip(X, 0, 6)),
    "leaky_relu": ("x[i], 0.125", np.where(X > 0, X, X / 8)),
    "elu": ("x[i], 0.5", np.where(X > 0, X, expm1(np.minimum(X, 0)) / 2)),
    "celu": ("x[i], 2", np.maximum(X, 0) + np.minimum(0, 2 * expm1(np.minimum(X, 0) / 2))),
    "selu": ("x[i]", 1.0507009873554805 * np.where(X > 0, X, 1.6732632423543772 * expm1(np.minimum(X, 0)))),
    "gelu": ("x[i]", X * (1 + erf(X / math.sqrt(2))) / 2),
    "gelu_tanh": ("x[i]", X * (1 + tanh(math.sqrt(2 / math.pi) * (X + 0.044715 * X**3))) / 2),
    "gelu_sigmoid": ("x[i]", X * sigmoid(1.702 * X)),
    "silu": ("x[i]", X * sigmoid(X)),
    "mish": ("x[i]", X * tanh(softplus(X))),
    "softplus": ("x[i]", softplus(X)),
    "logsigmoid": ("x[i]", -softplus(-X)),
    "softsign": ("x[i]", X / (1 + np.abs(X))),
    "tanhshrink": ("x[i]", X - tanh(X)),
    "softshrink": ("x[i], 0.5", np.sign(X) * np.maximum(np.abs(X) - 0.5, 0)),
    "hardshrink": ("x[i], 0.5", np.where((X < -0.5) | (X > 0.5), X, 0)),
    "hardtanh": ("x[i], -1, 2", np.clip(X, -1, 2)),
    "hardsigmoid": ("x[i]", np.clip(X + 3, 0, 6) / 6),
    "hardswish": ("x[i]", X * np.clip(X + 3, 0, 6) / 6),
    "threshold": ("x[i], 0.5, -7", np.where(X > 0.5, X, -7)),
    "relu_slope": ("x[i]", (X > 0).astype(float)),
    "sigmoid_slope": ("x[i]", slope(lambda z: 1 / (1 + np.exp(-z)))),
    "tanh_slope": ("x[i]", slope(np.tanh)),
    "silu_slope": ("x[i]", slope(lambda z: z / (1 + np.exp(-z)))),
    "gelu_slope": ("x[i]", (1 + erf(X / math.sqrt(2))) / 2 + X * np.exp(-(X**2) / 2) / math.sqrt(2 * math.pi)),
    "softplus_slope": ("x[i]", 1 / (1 + np.exp(-X))),
    "huber": ("x[i], 1.5", np.where(np.abs(X) <= 1.5, X**2 / 2, 1.5 * (np.abs(X) - 0.75))),
    "smooth_l1": ("x[i], 2", np.where(np.abs(X) < 2, X**2 / 4, np.abs(X) - 1)),
    "hinge": ("x[i], t[i]", np.maximum(0, 1 - X * T)),
    "bce_logits": ("x[i], t[i]", softplus(X) - X * T),
    "clamp": ("x[i], -2, 0.75", np.clip(X, -2, 0.75)),
    "sign": ("x[i]", np.sign(X)),
    "square": ("x[i]", X**2),
    "lerp": ("x[i], t[i], 0.25", 0.75 * X + 0.25 * T),
}


def test_every_function_is_what_numpy_says() -> None:
    outputs = ", ".join(f"y_{name}: f64[n]" for name in FUNCTIONS)
    lines = "\n".join(f"  y_{name}[i] = {name}({call})" for name, (call, _) in FUNCTIONS.items())
    loaded = load_text(f'import "std/functions"\nop f(x: f64[n], t: f64[n]) -> ({outputs}) {{\n{lines}\n}}')
    found = reference(loaded.spec.op("f"), {"n": len(X)}, {"x": X, "t": T})
    for name, (_, wanted) in FUNCTIONS.items():
        np.testing.assert_allclose(found[f"y_{name}"], wanted, rtol=1e-9, atol=1e-12, err_msg=name)


MONOIDS: dict[str, tuple[str, str, Callable[[Any, Any], tuple[Any, ...]]]] = {
    "affine": ("h[]", "(x[i], t[i])", lambda x, t: (recurrence(x, t),)),
    "softmax": ("(m[], s[])", "x[i]", lambda x, t: (x.max(), np.exp(x - x.max()).sum())),
    "minmax": ("(lo[], hi[])", "x[i]", lambda x, t: (x.min(), x.max())),
    "top2": ("(a[], b[])", "x[i]", lambda x, t: tuple(np.sort(x)[:-3:-1])),
    "moments": ("(n[], total[], squares[])", "x[i]", lambda x, t: (len(x), x.sum(), (x**2).sum())),
}


def recurrence(a: Any, b: Any) -> float:
    h = 0.0
    for one, other in zip(a, b, strict=True):
        h = one * h + other
    return h


@pytest.mark.parametrize("name", MONOIDS)
def test_every_monoid_is_what_it_says(name: str) -> None:
    targets, lifted, wanted = MONOIDS[name]
    names = [one.strip("()[] ") for one in targets.split(",")]
    outputs = ", ".join(f"{one}: f32[]" for one in names)
    text = f'import "std/monoids"\nop f(x: f32[k], t: f32[k]) -> ({outputs}, u: f32[]) {{ {targets} = fold {name}[i] {lifted}\n  u[] = sum[i] x[i]*t[i] }}'
    x, t = X[5:12] / 2, T[5:12]
    found = reference(load_text(text).spec.op("f"), {"k": len(x)}, {"x": x, "t": t})
    np.testing.assert_allclose([found[one] for one in names], wanted(x, t), rtol=1e-6)


def test_the_page_and_the_tests_know_all_of_it() -> None:
    page = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")
    declared = {path.stem: list(parse(path.read_text(encoding="utf-8")).declarations) for path in STD.glob("*.tgpu")}
    assert {d.name for d in declared["functions"] if isinstance(d, tree.Def)} == set(FUNCTIONS)
    assert {d.name for d in declared["monoids"]} == set(MONOIDS)
    for name in (*FUNCTIONS, *MONOIDS):
        assert f"`{name}" in page, f"docs/library.md does not tell of {name}"
