"""Our own functions keep the error that they state, and 16-bit floats are converted exactly, over all patterns and every midpoint."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numba import njit

from tinygpu.category.dtype import RANGE
from tinygpu.emit.module import ULP
from tinygpu.runtime import loaded, text

CONTRACT = 'fastmath={"contract"}'
STEP = 1021  # a prime: the sweep meets every exponent and every low digit
EVERYWHERE = (-math.inf, math.inf)
DOMAIN = {"log": (0.0, math.inf), "rsqrt": (0.0, math.inf), "sin": (-(2.0**27), 2.0**27), "cos": (-(2.0**27), 2.0**27)}
Array = np.ndarray[Any, Any]


@cache
def fused(flags: str) -> dict[str, Any]:
    """The runtime where functions may be compiled in another way."""
    names: dict[str, Any] = {}
    exec(text().replace(CONTRACT, flags), names)
    return names


def mapped(name: str, result: str, flags: str = CONTRACT) -> Callable[[Array], Array]:
    """A function of the runtime over a whole array, compiled as kernels compile it."""
    names = vars(loaded()) if flags == CONTRACT else fused(flags)
    function, at = names[name], np.uintp

    @njit(error_model="numpy")
    def over(x, y):
        for i in range(x.size):
            y[at(i)] = function(x[at(i)])

    def apply(x: Array) -> Array:
        y = np.empty(x.shape, result)
        over(x, y)
        return y

    return apply


def exact(name: str, x: Array) -> Array:
    """The function in float64."""
    small = np.exp(-np.abs(x))
    return {
        "exp": lambda: np.exp(x),
        "exp2": lambda: np.exp2(x),
        "log": lambda: np.log(x),
        "tanh": lambda: np.tanh(x),
        "sigmoid": lambda: np.where(x < 0, small, 1) / (1 + small),
        "erf": lambda: np.frompyfunc(math.erf, 1, 1)(x).astype(np.float64),
        "sin": lambda: np.sin(x),
        "cos": lambda: np.cos(x),
        "rsqrt": lambda: 1 / np.sqrt(x),
    }[name]()


def ulps(got: Array, want: Array) -> Array:
    """The distance in units of the last place of the f32 next to `want`; 0 where both overflow."""
    with np.errstate(all="ignore"):
        near = want.astype(np.float32)
        unit = np.spacing(np.minimum(np.abs(near), np.finfo(np.float32).max)).astype(np.float64)
        distance = np.abs(got.astype(np.float64) - want) / unit
        return np.where((near == got) & np.isinf(near), 0.0, distance)


def sweep(low: float, high: float, step: int) -> Array:
    x = np.arange(0, 1 << 32, step, dtype=np.uint64).astype(np.uint32).view(np.float32)
    return x[(x >= low) & (x <= high) & np.isfinite(x)]


SPECIAL = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 1e-45, -1e-45, 3e-39, 89.0, -104.0, 200.0, -200.0], np.float32)


@pytest.mark.parametrize("flags", [CONTRACT, "fastmath=False"])
@pytest.mark.parametrize("name", sorted(ULP))
def test_error_bounds(name: str, flags: str) -> None:
    """Over all exponents, and closely where the function bends; infinities and NaN are where they are in float64. Also without fused
    multiply-adds, as on a processor that has none."""
    low, high = DOMAIN.get(name, EVERYWHERE)
    near = np.linspace(max(low, -20.0), min(high, 20.0), 200_001).astype(np.float32)
    x = np.concatenate([sweep(low, high, STEP * (4 if name == "erf" else 1)), near, SPECIAL])
    with np.errstate(all="ignore"):
        want = exact(name, x.astype(np.float64))
        rounded = want.astype(np.float32)
    got = mapped(f"{name}_f32", "f4", flags)(x)
    assert np.array_equal(np.isnan(got), np.isnan(rounded)) and np.array_equal(np.isinf(got), np.isinf(rounded))
    error = np.where(np.isfinite(rounded), ulps(got, want), 0.0)
    assert error.max() <= ULP[name], f"{name}({x[error.argmax()]!r}) is off by {error.max()} ulp"


def test_angles_beyond_the_domain_are_nan_and_not_wrong() -> None:
    beyond = np.array([2.0**27 * 1.01, -(2.0**30), 3e38], np.float32)
    for name in ("sin", "cos"):
        assert np.isnan(mapped(f"{name}_f32", "f4")(beyond)).all()


PATTERNS = np.arange(1 << 16, dtype=np.uint16)


@pytest.mark.parametrize(("dtype", "kind"), [("f16", np.float16), ("bf16", ml_dtypes.bfloat16)])
def test_all_patterns_of_16_bits(dtype: str, kind: Any) -> None:
    want = PATTERNS.view(kind).astype(np.float32)
    got = mapped(f"{dtype}_to_f32", "f4")(PATTERNS)
    assert np.array_equal(got, want, equal_nan=True) and np.array_equal(np.signbit(got), np.signbit(want))
    back = mapped(f"f32_to_{dtype}", "u2")(got)
    numbers = ~np.isnan(want)
    assert np.array_equal(back[numbers], PATTERNS[numbers]) and np.isnan(back[~numbers].view(kind).astype(np.float32)).all()


@pytest.mark.parametrize(("dtype", "kind"), [("f16", np.float16), ("bf16", ml_dtypes.bfloat16)])
def test_rounding_at_every_midpoint(dtype: str, kind: Any) -> None:
    """Between each two neighbours: the midpoint, and the f32 numbers next to it; and above the largest number."""
    numbers = PATTERNS.view(kind).astype(np.float64)
    largest = float(np.nanmax(numbers[np.isfinite(numbers)]))
    numbers = np.unique(numbers[np.isfinite(numbers)])
    middle = np.concatenate([(numbers[1:] + numbers[:-1]) / 2, [largest * (1 + 2.0 ** (-12 if dtype == "f16" else -9))]]).astype(
        np.float32
    )
    x = np.concatenate([np.nextafter(middle, np.float32(-np.inf)), middle, np.nextafter(middle, np.float32(np.inf))])
    with np.errstate(over="ignore"):
        want = x.astype(kind).view(np.uint16)
    assert np.array_equal(mapped(f"f32_to_{dtype}", "u2")(x), want)


@pytest.mark.parametrize(("dtype", "kind"), [("f16", np.float16), ("bf16", ml_dtypes.bfloat16)])
def test_f64_is_rounded_once(dtype: str, kind: Any) -> None:
    """A hair above a midpoint, which f32 cannot see, still rounds up."""
    numbers = np.unique(PATTERNS.view(kind).astype(np.float64))
    numbers = numbers[np.isfinite(numbers) & (np.abs(numbers) < 1e30)]
    middle = (numbers[1:] + numbers[:-1]) / 2
    above = np.nextafter(middle, np.inf)
    below = np.nextafter(middle, -np.inf)
    odd, rounded = mapped("narrow_to_odd", "f4"), mapped(f"round_{dtype}", "f4")
    assert np.array_equal(rounded(odd(above)), numbers[1:].astype(np.float32))
    assert np.array_equal(rounded(odd(below)), numbers[:-1].astype(np.float32))
    assert np.isnan(odd(np.array([np.nan]))).all() and np.array_equal(odd(np.array([np.inf, 0.0, 1.5])), [np.inf, 0.0, 1.5])


@pytest.mark.parametrize("dtype", sorted(RANGE))
def test_float_to_integer_truncates_and_saturates(dtype: str) -> None:
    low, high = RANGE[dtype]
    kind = f"{dtype[0]}{int(dtype[1:]) // 8}"
    x = np.array([0.9, -0.9, 1.5, -1.5, low, float(low) - 0.5, high, high + 0.5, 1e30, -1e30, np.inf, -np.inf, np.nan])
    want = [0 if v != v else low if v <= low else high if v >= high else math.trunc(v) for v in x.tolist()]
    assert mapped(f"to_{dtype}", kind)(x).tolist() == want
