"""Conversions to and from 16 bits round once, to nearest even, from every type: their PTX run on bits.

Comes in: the prelude's texts. Goes out: bits, against exact rationals.
The one idea: rounding to odd first and to nearest after is one rounding, which only values near a tie can tell.
"""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest

from tests.emit.ptx import LARGEST, RANGES, decode, encode, nearest, of_8_bits, run, to_8_bits
from tinygpu.category.dtype import RANGE
from tinygpu.runtime.values import conversion_text

KINDS = {"float32": "f32", "float64": "f64", "int64": "s64", "uint64": "u64"}


def numbers(kind: str, half: str) -> list[float | int]:
    """Random numbers of a kind, many of them a hair beside a tie of the 16-bit type."""
    chance = random.Random(f"{kind} {half}")
    digits, least, most = RANGES[half]
    if kind in ("s64", "u64"):
        low = -(2**63) if kind == "s64" else 0
        ends = [0, 1, max(-1, low), low + 2**64 - 1, low, 2**24 + 1, 2**53 + 1, *(low + chance.getrandbits(64) for _ in range(300))]
        ties = ((2 * chance.getrandbits(digits) + 1) << chance.randrange(0, 62 - digits + (low == 0)) for _ in range(300))
        return [*ends, *(max(tie + chance.choice((-1, 0, 1)), low) for tie in ties)]
    found = [0.0, -0.0, math.inf, -math.inf, 1.0, 65519.0, 65520.0, 3.3895e38, 3.4e38, 1e-45, -1e-7]
    for _ in range(400):
        exponent = chance.randrange(max(least - 9, -140), most + 1)
        tie = Fraction(2 * chance.getrandbits(digits) + 1) * Fraction(2) ** (exponent - digits)
        beside = Fraction(chance.choice((-1, 0, 0, 1))) * Fraction(2) ** (exponent - (50 if kind == "f64" else 22))
        found.append(chance.choice((-1, 1)) * float(tie + beside))
    return [decode(encode(x, "f32"), "f32") for x in found if abs(x) < 3.4e38 or math.isinf(x)] if kind == "f32" else found


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("source", ["float32", "float64", "int64", "uint64"])
@pytest.mark.parametrize("half", ["f16", "bf16"])
def test_rounds_once(half: str, source: str, old: bool) -> None:
    kind = KINDS[source]
    for number in numbers(kind, half):
        want = nearest(number, *RANGES[half])
        bits = encode(want, "f16") if half == "f16" else encode(want, "f32") >> 16
        assert run(conversion_text(f"{half}_bits", old)[1][source], encode(number, kind)) == bits, number
        assert run(conversion_text(f"round_{half}", old)[1][source], encode(number, kind)) == encode(want, "f32"), number


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("source", ["float32", "float64", "int64", "uint64"])
@pytest.mark.parametrize("eight", ["e4m3", "e5m2"])
def test_rounds_once_to_8_bits_and_saturates(eight: str, source: str, old: bool) -> None:
    kind, (largest, _) = KINDS[source], LARGEST[eight]
    given = [*numbers(kind, eight), *(int(largest) + n for n in (-1, 0, 1, 15, 16, 17, 4096, 4097))]
    for number in given if source[0] != "f" else [*map(float, given), math.nan]:
        want = to_8_bits(float(number) if isinstance(number, float) else number, eight)
        value = encode(of_8_bits(want, eight), "f32")
        assert run(conversion_text(f"{eight}_bits", old)[1][source], encode(number, kind)) == want, number
        found = run(conversion_text(f"round_{eight}", old)[1][source], encode(number, kind))
        assert found == value or number != number, number


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("eight", ["e4m3", "e5m2"])
def test_8_bits_have_their_value(eight: str, old: bool) -> None:
    for bits in range(256):
        value, want = decode(run(conversion_text(f"{eight}_value", old)[1]["uint8"], bits), "f32"), of_8_bits(bits, eight)
        assert (value == want and math.copysign(1, value) == math.copysign(1, want)) or (value != value and want != want)


@pytest.mark.parametrize("source", ["float32", "float64", "int64", "uint64"])
def test_rounds_once_to_tf32(source: str) -> None:
    kind = KINDS[source]
    for number in numbers(kind, "tf32"):
        assert run(conversion_text("round_tf32")[1][source], encode(number, kind)) == encode(
            nearest(number, *RANGES["tf32"]), "f32"
        )
    assert source[0] != "f" or math.isnan(decode(run(conversion_text("round_tf32")[1][source], encode(math.nan, kind)), "f32"))


@pytest.mark.parametrize("half", ["f16", "bf16"])
def test_bits_have_their_value(half: str) -> None:
    text = conversion_text(f"{half}_value")[1]["uint16"]
    for bits in range(0, 2**16, 7):
        value = decode(run(text, bits), "f32")
        want = decode(bits, "f16") if half == "f16" else decode(bits << 16, "f32")
        assert value == want or (value != value and want != want)


@pytest.mark.parametrize("old", [False, True])
def test_nan_stays_nan(old: bool) -> None:
    for source, kind in (("float32", "f32"), ("float64", "f64")):
        bits = run(conversion_text("bf16_bits", old)[1][source], encode(math.nan, kind))
        assert math.isnan(decode(bits << 16, "f32"))


@pytest.mark.parametrize("target", ["i32", "u32", "i64", "u64"])
@pytest.mark.parametrize("source", ["float32", "float64"])
def test_truncation_saturates(target: str, source: str) -> None:
    kind, text = KINDS[source], conversion_text(f"trunc_{target}")[1][source]
    to = target.replace("i", "s")
    for number, want in ((1.9, 1), (-1.9, 0 if target[0] == "u" else -1), (math.nan, 0), (0.0, 0)):
        assert decode(run(text, encode(number, kind)), to) == want
    least, most = RANGE[target]
    assert decode(run(text, encode(-1e25, kind)), to) == least
    assert decode(run(text, encode(1e25, kind)), to) == most
