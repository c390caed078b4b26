"""The dtypes of values: one table, a row for each, from which every reader takes its column.

Comes in: a name. Goes out: what it is, how many bits it has in memory, and which numbers it holds: 0.1 of f16 is 819/8192, 70000 is no number.
The one idea: a dtype is a set of numbers; all else that is said of it (who is wider, what fits, how it is called) follows from the row.
What a machine computes with is the rounded number, so it is what is compared and divided by.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from fractions import Fraction

from tinygpu.record import dataclass

FLOAT, INTEGER, TRUTH = "float", "integer", "truth"


@dataclass(frozen=True, slots=True)
class Dtype:
    """`kind` says what it is; `digits` are the bits of a magnitude that it holds exactly; a float's `largest` is its largest finite number.
    `others` is what other languages call it, numpy's name first.

    >>> [DTYPE["i8"].low, DTYPE["i8"].high, DTYPE["u8"].high], DTYPE["bf16"].largest == (2 - 2.0**-7) * 2.0**127, DTYPE["bool"].high
    ([-128, 127, 255], True, 1)
    """

    name: str
    kind: str
    bits: int
    digits: int
    exponent: int = 0
    others: tuple[str, ...] = ()

    @property
    def signed(self) -> bool:
        """Whether there are numbers below 0."""
        return self.kind == FLOAT or self.digits == self.bits - 1

    @property
    def low(self) -> int:
        """The smallest integer."""
        return -(1 << self.digits) if self.signed else 0

    @property
    def high(self) -> int:
        """The largest integer."""
        return (1 << self.digits) - 1

    @property
    def largest(self) -> float:
        """The largest finite number of a float: all digits, under the largest exponent."""
        return (2.0 - 2.0 ** (1 - self.digits)) * 2.0**self.exponent

    @property
    def numpy(self) -> str:
        """The name of numpy's dtype; it has no bfloat16."""
        return self.others[0]

    def holds(self, other: Dtype) -> bool:
        """Whether every number of the other is one of this.

        >>> DTYPE["f32"].holds(DTYPE["bf16"]), DTYPE["f32"].holds(DTYPE["i32"]), DTYPE["i64"].holds(DTYPE["u32"])
        (True, False, True)
        """
        reach = other.kind != FLOAT or (self.kind == FLOAT and self.exponent >= other.exponent)
        return reach and self.digits >= other.digits and (self.signed or not other.signed)


DTYPE: Mapping[str, Dtype] = {
    row.name: row
    for row in (
        Dtype("f64", FLOAT, 64, 53, 1023, ("float64", "double")),
        Dtype("f32", FLOAT, 32, 24, 127, ("float32", "float")),
        Dtype("bf16", FLOAT, 16, 8, 127, ("bfloat16",)),
        Dtype("f16", FLOAT, 16, 11, 15, ("float16", "half")),
        Dtype("i64", INTEGER, 64, 63, 0, ("int64", "long")),
        Dtype("u64", INTEGER, 64, 64, 0, ("uint64",)),
        Dtype("i32", INTEGER, 32, 31, 0, ("int32", "int")),
        Dtype("u32", INTEGER, 32, 32, 0, ("uint32", "unsigned")),
        Dtype("i16", INTEGER, 16, 15, 0, ("int16", "short")),
        Dtype("u16", INTEGER, 16, 16, 0, ("uint16",)),
        Dtype("u8", INTEGER, 8, 8, 0, ("uint8",)),
        Dtype("i8", INTEGER, 8, 7, 0, ("int8",)),
        Dtype("bool", TRUTH, 8, 1, 0, ("bool_", "boolean")),
    )
}
FLOATS = tuple(row.name for row in DTYPE.values() if row.kind == FLOAT)
INTEGERS = tuple(row.name for row in DTYPE.values() if row.kind == INTEGER)
SIGNED = tuple(row.name for row in DTYPE.values() if row.kind == INTEGER and row.signed)
UNSIGNED = tuple(name for name in INTEGERS if name not in SIGNED)
HALVES = tuple(row.name for row in DTYPE.values() if row.kind == FLOAT and row.bits == 16)
SMALL = tuple(row.name for row in DTYPE.values() if row.kind != FLOAT and row.bits == 8)  # numbers that every 16-bit float has
NARROW, LONG = (tuple(name for name in INTEGERS if DTYPE[name].bits in bits) for bits in ((8, 16), (64,)))
NATIVE = tuple(name for name in DTYPE if name in (*FLOATS, *INTEGERS) and name not in HALVES)  # what kernels compute with
DTYPES = tuple(DTYPE)
BITS = {name: DTYPE[name].bits for name in INTEGERS}
BYTES = {row.name: row.bits // 8 for row in DTYPE.values()}
RANGE = {name: (DTYPE[name].low, DTYPE[name].high) for name in INTEGERS}
# the type of an element in the memory of a GPU, also of a scalar parameter: 16-bit floats as their bits, truth values as bytes
MEMORY: Mapping[str, str] = {name: "u16" if name in HALVES else "u8" if name not in NATIVE else name for name in DTYPE}
# the type of a cell in its registers: a 16-bit float is the f32 of the same value
REGISTER: Mapping[str, str] = {name: "f32" if name in HALVES else MEMORY[name] for name in DTYPE}
# the type of a cell on a CPU
NUMPY: Mapping[str, str] = {name: f"np.{DTYPE['f32' if name in HALVES else name].numpy}" for name in DTYPE}
# the second holds every value of the first, so that the cast is the identity on the machine's values
WIDER = {(a, b) for a in FLOATS for b in FLOATS if a != b and DTYPE[b].holds(DTYPE[a])}
EPSILON = {dtype: 2.0 ** (1 - DTYPE[dtype].digits) for dtype in FLOATS}


def contains(dtype: str, other: str) -> bool:
    """Whether every value of a dtype, the second, is one of the first.

    >>> contains("bf16", "u8"), contains("f32", "i32"), contains("f64", "i32")
    (True, False, True)
    """
    return {dtype, other} <= DTYPE.keys() and DTYPE[dtype].holds(DTYPE[other])


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
