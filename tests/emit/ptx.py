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


RANGES = {"f16": (11, -14, 15), "bf16": (8, -126, 127), "f32": (24, -126, 127)}


def convert(bits: int, mode: str, target: str, source: str) -> int:
    """cvt: rn and rz to floats, rzi to integers (saturating), and between widths."""
    if source == "bf16":
        raise ValueError("not on sm_80")
    number = decode(bits, source)
    if mode == "rzi":
        low, high = {"s32": (-(2**31), 2**31 - 1), "u32": (0, 2**32 - 1), "s64": (-(2**63), 2**63 - 1), "u64": (0, 2**64 - 1)}[
            target
        ]
        if number != number:  # zero only from f32 to 32 bits; else the sign bit alone
            return 0 if source == "f32" and target not in ("s64", "u64") else 1 << (8 * SIZES[target] - 1)
        return encode(min(max(math.trunc(min(max(number, -1e30), 1e30)), low), high), target)
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
    registers: dict[str, int] = {"$1": argument, "0": 0, "1": 1, "16": 16, "0x7fff": 0x7FFF}
    for line in re.split(r"[;]\s*", re.sub(r"\{ |\}$| \}", "", text.replace("{z, ", "{z,"))):
        operation, _, rest = line.strip().partition(" ")
        if not operation or operation in (".reg", "}"):
            continue
        name, *kinds = operation.split(".")
        target, *sources = [part.strip() for part in re.findall(r"\{[^}]*\}?|[^,\s]+", rest)]
        given = [registers[s] for s in sources if not s.startswith("{")]
        match name:
            case "cvt":
                mode, to, source = kinds if len(kinds) == 3 else ("", *kinds)
                registers[target] = convert(given[0], mode, to, source)
            case "mov":
                registers[target] = given[0] if given else registers[sources[0].strip("{}").split(",")[1]] << 16
            case "and" | "or" | "add" | "shr":
                a, b = given
                registers[target] = {"and": a & b, "or": a | b, "add": (a + b) & 0xFFFFFFFF, "shr": a >> b}[name]
            case "setp":
                a, b = (decode(bits, kinds[1]) for bits in given)
                registers[target] = int(a != a or b != b if kinds[0] == "nan" else a != b)
            case "selp":
                registers[target] = given[0] if given[2] else given[1]
            case _:
                raise ValueError(line)
    return registers["$0"]
