"""Which real number a literal is once it is rounded to its dtype.

    0.1 of f16 is 819/8192;   1e-9 of f16 is 0;   70000 of f16 is no number

Comes in: a number as written and a dtype. Goes out: an exact fraction. The one idea: what a machine computes with is this one, so it is
what is compared and divided by.
"""

from __future__ import annotations

import math
import struct
from fractions import Fraction


def nearest(value: float, dtype: str) -> Fraction | None:
    """The number of that dtype next to a literal, ties to even; None if it is infinite there.

    >>> nearest(0.1, "f16"), nearest(0.5, "bf16"), nearest(70000.0, "f16")
    (Fraction(819, 8192), Fraction(1, 2), None)
    """
    if not math.isfinite(value):
        return None
    try:
        match dtype:
            case "f16":
                (value,) = struct.unpack("<e", struct.pack("<e", value))
            case "f32" | "bf16":
                (value,) = struct.unpack("<f", struct.pack("<f", value))
    except OverflowError:
        return None
    if dtype == "bf16":
        (bits,) = struct.unpack("<I", struct.pack("<f", value))
        (value,) = struct.unpack("<f", struct.pack("<I", (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000))
    return Fraction(value) if math.isfinite(value) else None


def stored(value: int | float | bool, dtype: str) -> Fraction | int | float | bool:
    """A literal as its dtype holds it, to be compared; infinities, integers and truths are what they are.

    >>> stored(257.0, "bf16") > stored(256.0, "bf16"), stored(float("-inf"), "f32")
    (False, -inf)
    """
    found = nearest(value, dtype) if isinstance(value, float) else None
    return value if found is None else found
