"""Our own functions keep the error that they state, and floats of 8 and 16 bits are converted exactly, over all patterns and every midpoint."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numba import njit

from tests.emit.ptx import LARGEST, RANGES, nearest, of_8_bits
from tinygpu.category.dtype import NATIVE, RANGE
from tinygpu.category.encoding import bits_of, nearest_of, of_bits
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


@pytest.mark.sampled(3)
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


EIGHT = [("e4m3", ml_dtypes.float8_e4m3fn), ("e5m2", ml_dtypes.float8_e5m2)]
BYTES = np.arange(256, dtype=np.uint8)


@pytest.mark.parametrize(("dtype", "kind"), EIGHT)
def test_all_patterns_of_8_bits(dtype: str, kind: Any) -> None:
    """By two tables that are not ours: that of ml_dtypes, and the definition of the formats; here, in kernels, and in what launchers check."""
    want = BYTES.view(kind).astype(np.float32)
    by_definition = [of_8_bits(int(b), dtype) for b in BYTES]
    for got in (mapped(f"{dtype}_to_f32", "f4")(BYTES), of_bits(BYTES, dtype), data_of(dtype)):
        assert np.array_equal(got, want, equal_nan=True) and np.array_equal(got, by_definition, equal_nan=True)
        assert np.array_equal(np.signbit(got[~np.isnan(got)]), np.signbit(want[~np.isnan(want)]))
    finite = np.isfinite(want)
    for back in (mapped(f"f32_to_{dtype}", "u1")(want), bits_of(want, dtype)):
        assert np.array_equal(back[finite], BYTES[finite])
        assert np.isnan(back[np.isnan(want)].view(kind).astype(np.float32)).all()


def data_of(dtype: str) -> Array:
    """What a launcher that checks data reads of all patterns."""
    values = vars(loaded())["_data"]("f", "x", BYTES, dtype, None).values
    return np.asarray(values, np.float32)


@pytest.mark.parametrize(("dtype", "kind"), EIGHT)
def test_8_bits_are_rounded_to_even_and_saturate(dtype: str, kind: Any) -> None:
    numbers = np.unique(BYTES.view(kind).astype(np.float64))
    numbers = numbers[np.isfinite(numbers)]
    middle = (numbers[1:] + numbers[:-1]) / 2
    single = middle.astype(np.float32)
    x = np.concatenate([np.nextafter(single, np.float32(-np.inf)), single, np.nextafter(single, np.float32(np.inf))])
    want, (largest, top) = x.astype(kind).view(np.uint8), LARGEST[dtype]
    beyond = np.array([largest * 1.01, largest * 1.5, 1e30, np.inf], np.float32)
    for bits in (mapped(f"f32_to_{dtype}", "u1"), lambda y: bits_of(y, dtype)):
        assert np.array_equal(bits(x), want)
        assert (bits(beyond) == top).all() and (bits(-beyond) == top | 0x80).all()
    odd, rounded = mapped("narrow_to_odd", "f4"), mapped(f"round_{dtype}", "f4")
    assert np.array_equal(rounded(odd(np.nextafter(middle, np.inf))), numbers[1:].astype(np.float32))
    assert np.array_equal(rounded(odd(np.nextafter(middle, -np.inf))), numbers[:-1].astype(np.float32))


def test_tf32_has_10_bits_of_a_fraction() -> None:
    chance = np.random.default_rng(1)
    x = np.concatenate([chance.normal(size=1000), 1 + np.arange(64) * 2.0**-13, [np.inf, -0.0, 3.4e38, 1e-40]]).astype(np.float32)
    want = [float(nearest(v, *RANGES["tf32"])) for v in x.tolist()]
    for round_ in (mapped("round_tf32", "f4"), lambda y: nearest_of(y, "tf32")):
        assert np.array_equal(round_(x), np.array(want, np.float32)) and np.isnan(round_(np.array([np.nan], np.float32))).all()


@pytest.mark.parametrize("dtype", sorted({*RANGE} & {*NATIVE}))
def test_float_to_integer_truncates_and_saturates(dtype: str) -> None:
    low, high = RANGE[dtype]
    kind = f"{dtype[0]}{int(dtype[1:]) // 8}"
    x = np.array([0.9, -0.9, 1.5, -1.5, low, float(low) - 0.5, high, high + 0.5, 1e30, -1e30, np.inf, -np.inf, np.nan])
    want = [0 if v != v else low if v <= low else high if v >= high else math.trunc(v) for v in x.tolist()]
    assert mapped(f"to_{dtype}", kind)(x).tolist() == want
