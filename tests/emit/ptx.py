"""A few PTX instructions run on bits, as the ISA defines them: enough for the prelude's conversions.

Comes in: the text of an inline assembly and the bits of its argument. Goes out: the bits of its result.
The one idea: registers hold bits and instructions say how to read them, so a wrong type in the text shows.
"""

from __future__ import annotations

import math
import re
import struct
from fractions import Fraction
from typing import Any

FORMATS = {"f32": "f", "f64": "d", "f16": "e", "s64": "q", "u64": "Q", "s32": "i", "u32": "I", "u16": "H"}
SIZES = {"f32": 4, "f64": 8, "f16": 2, "s64": 8, "u64": 8, "s32": 4, "u32": 4, "u16": 2, "bf16": 2}


def decode(bits: int, kind: str) -> Any:
    """The number that the bits are."""
    return struct.unpack("<" + FORMATS[kind], bits.to_bytes(SIZES[kind], "little"))[0]


def encode(number: Any, kind: str) -> int:
    """The bits of a number that the kind has."""
    return int.from_bytes(struct.pack("<" + FORMATS[kind], number), "little")


def nearest(number: Any, digits: int, least: int, most: int, towards_zero: bool = False) -> float:
    """The float with that many binary digits and exponents `least` to `most`, nearest to a number (ties to even) or next to it."""
    if (isinstance(number, float) and (math.isnan(number) or math.isinf(number))) or number == 0:
        return float(number)
    exact = Fraction(number)
    exponent = max(abs(exact).numerator.bit_length() - abs(exact).denominator.bit_length(), least)
    exponent += abs(exact) >= Fraction(2) ** (exponent + 1)
    exponent -= exponent > least and abs(exact) < Fraction(2) ** exponent
    step = Fraction(2) ** (exponent - digits + 1)
    whole = math.trunc(exact / step) if towards_zero else round(exact / step)
    if abs(whole * step) >= Fraction(2) ** (most + 1):
        return math.copysign(float((2 - Fraction(2) ** (1 - digits)) * Fraction(2) ** most) if towards_zero else math.inf, exact)
    return math.copysign(float(abs(whole * step)), exact)


RANGES = {
    "f16": (11, -14, 15), "bf16": (8, -126, 127), "f32": (24, -126, 127), "tf32": (11, -126, 127), "e4m3": (4, -6, 8), "e5m2": (3, -14, 15),
}  # fmt: skip
LARGEST = {"e4m3": (448.0, 0x7E), "e5m2": (57344.0, 0x7B)}


def to_8_bits(number: float, kind: str) -> int:
    """The bits of the nearest number of 8 bits, the largest one for what is larger, as `cvt.rn.satfinite` gives them."""
    largest, top = LARGEST[kind]
    near = nearest(number, *RANGES[kind])
    if near != near:
        return 0x7F
    bits = next(b for b in range(top + 1) if of_8_bits(b, kind) == abs(near)) if abs(near) < largest else top
    return bits | (0x80 if math.copysign(1, near) < 0 else 0)


def of_8_bits(bits: int, kind: str) -> float:
    """The number that 8 bits are, by the definition of OCP's formats: a sign, 4 or 5 bits of exponent, and the fraction."""
    digits, least, _ = RANGES[kind]
    exponent, fraction = (bits & 0x7F) >> (digits - 1), bits & ((1 << (digits - 1)) - 1)
    sign = -1.0 if bits & 0x80 else 1.0
    if kind == "e5m2" and exponent == 31:
        return math.nan if fraction else sign * math.inf
    if kind == "e4m3" and bits & 0x7F == 0x7F:
        return math.nan
    if exponent == 0:
        return sign * fraction / 2 ** (digits - 1) * 2.0**least
    return sign * (1 + fraction / 2 ** (digits - 1)) * 2.0 ** (exponent - 1 + least)


def convert(bits: int, mode: str, target: str, source: str) -> int:
    """cvt: rn and rz to floats, rzi to integers (saturating), and between widths."""
    if source == "bf16":
        raise ValueError("not on sm_80")
    if mode == "rn" and source in ("e4m3x2", "e5m2x2"):  # of the lower byte; the upper one is not looked at
        return encode(of_8_bits(bits & 0xFF, source[:-2]), "f16")
    number = decode(bits, source)
    if mode == "rzi":
        low, high = {"s32": (-(2**31), 2**31 - 1), "u32": (0, 2**32 - 1), "s64": (-(2**63), 2**63 - 1), "u64": (0, 2**64 - 1)}[
            target
        ]
        if number != number:  # zero only from f32 to 32 bits; else the sign bit alone
            return 0 if source == "f32" and target not in ("s64", "u64") else 1 << (8 * SIZES[target] - 1)
        return encode(min(max(math.trunc(min(max(number, -1e30), 1e30)), low), high), target)
    if target == "u32":
        return int(number)
    if target == "u16":
        return int(number) & 0xFFFF
    if target in RANGES and mode in ("rn", "rz"):
        near = nearest(number, *RANGES[target], towards_zero=mode == "rz")
        if target == "bf16":
            return 0x7FFF if near != near else encode(near, "f32") >> 16
        return encode(near, target)
    return encode(float(number), target)


def run(text: str, argument: int) -> int:
    """The bits that the text leaves in $0."""
    registers: dict[str, int] = {"$1": argument}
    for line in re.split(r"[;]\s*", re.sub(r"\{ |\}$| \}", "", re.sub(r"\{(\w+), (\S+)\}", r"{\1,\2}", text))):
        operation, _, rest = line.strip().partition(" ")
        if not operation or operation in (".reg", "}"):
            continue
        name, *kinds = operation.split(".")
        target, *sources = [part.strip() for part in re.findall(r"\{[^}]*\}?|[^,\s]+", rest)]
        given = [
            registers[s] if s in registers else int(s[2:], 16) if s.startswith("0f") else int(s, 0)
            for s in sources
            if not s.startswith("{")
        ]
        match name:
            case "cvt" if "satfinite" in kinds:  # the second source is the lower byte
                upper, lower = (to_8_bits(decode(g, "f32"), kinds[2][:-2]) for g in given)
                registers[target] = upper << 8 | lower
            case "cvt":
                mode, to, source = kinds if len(kinds) == 3 else ("", *kinds)
                registers[target] = convert(given[0], mode, to, source)
            case "mov" if target.startswith("{"):
                low, high = target.strip("{}").split(",")
                registers |= {low: given[0] & 0xFFFF, high: given[0] >> 16}
            case "mov":
                registers[target] = given[0] if given else registers[sources[0].strip("{}").split(",")[1]] << 16
            case "add" | "mul" if kinds == ["f32"]:
                a, b = (Fraction(decode(g, "f32")) if math.isfinite(decode(g, "f32")) else math.inf for g in given)
                exact = a + b if name == "add" else a * b
                registers[target] = encode(nearest(exact, *RANGES["f32"]), "f32")
            case "and" | "or" | "add" | "sub" | "shr" | "shl" | "min":
                a, b = given
                found = {
                    "and": a & b,
                    "or": a | b,
                    "add": a + b,
                    "sub": a - b,
                    "shr": a >> b,
                    "shl": a << (b & 31),
                    "min": min(a, b),
                }[name]
                registers[target] = found & 0xFFFFFFFF
            case "setp":
                a, b = (decode(bits, kinds[1]) for bits in given)
                holds = {"nan": a != a or b != b, "lt": a < b, "gt": a > b, "ge": a >= b}
                registers[target] = int(holds.get(kinds[0], a != b))
            case "selp":
                registers[target] = given[0] if given[2] else given[1]
            case _:
                raise ValueError(line)
    return registers["$0"]
