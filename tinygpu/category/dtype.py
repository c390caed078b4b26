"""The dtypes of values: one table, a row for each, from which every reader takes its column.

Comes in: a name. Goes out: what it is, how many bits it has, and which numbers it holds: 0.1 of f16 is 819/8192, 70000 is no number.
The one idea: a dtype is a set of numbers; all else that is said of it (who is wider, what fits, how it is called) follows from the row.
What a machine computes with is the rounded number, so it is what is compared and divided by.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from tinygpu.record import dataclass

FLOAT, INTEGER, TRUTH = "float", "integer", "truth"


@dataclass(frozen=True, slots=True)
class Dtype:
    """`kind` says what it is; `digits` are the bits of a magnitude that it holds exactly; a float's `exponent` is its largest one. `others` is what other
    languages call it, numpy's name first. `storage` is what values are kept in and nothing is computed with; a float without infinities has one more
    number with the largest exponent for each but the last of its fractions.

    >>> [DTYPE["i8"].low, DTYPE["i8"].high, DTYPE["u8"].high], DTYPE["bf16"].largest == (2 - 2.0**-7) * 2.0**127, DTYPE["bool"].high
    ([-128, 127, 255], True, 1)
    >>> [(row.largest, row.normal, row.saturates) for row in map(DTYPE.__getitem__, ("e4m3", "e5m2", "f16"))]
    [(448.0, -6, True), (57344.0, -14, True), (65504.0, -14, False)]
    """

    name: str
    kind: str
    bits: int
    digits: int
    exponent: int = 0
    others: tuple[str, ...] = ()
    storage: bool = False
    infinite: bool = True

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
        """The largest finite number of a float: all digits, under the largest exponent; without infinities that is the one that is no number."""
        return (2.0 - (1 if self.infinite else 2) * 2.0 ** (1 - self.digits)) * 2.0**self.exponent

    @property
    def normal(self) -> int:
        """The exponent of the smallest number of a float that has all its digits."""
        return (1 if self.infinite else 2) - self.exponent

    @property
    def saturates(self) -> bool:
        """Whether what is too large for a float becomes its largest number, and no infinity: of 8 bits, as the hardware converts."""
        return self.kind == FLOAT and self.bits == 8

    @property
    def numpy(self) -> str:
        """The name of numpy's dtype; it has no bfloat16, and none that is storage."""
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
        Dtype("tf32", FLOAT, 32, 11, 127, ("tfloat32",), storage=True),
        Dtype("e5m2", FLOAT, 8, 3, 15, ("float8_e5m2",), storage=True),
        Dtype("e4m3", FLOAT, 8, 4, 8, ("float8_e4m3fn",), storage=True, infinite=False),
        Dtype("i64", INTEGER, 64, 63, 0, ("int64", "long")),
        Dtype("u64", INTEGER, 64, 64, 0, ("uint64",)),
        Dtype("i32", INTEGER, 32, 31, 0, ("int32", "int")),
        Dtype("u32", INTEGER, 32, 32, 0, ("uint32", "unsigned")),
        Dtype("i16", INTEGER, 16, 15, 0, ("int16", "short")),
        Dtype("u16", INTEGER, 16, 16, 0, ("uint16",)),
        Dtype("u8", INTEGER, 8, 8, 0, ("uint8",)),
        Dtype("i8", INTEGER, 8, 7, 0, ("int8",)),
        Dtype("u4", INTEGER, 4, 4, 0, ("uint4",), storage=True),
        Dtype("i4", INTEGER, 4, 3, 0, ("int4", "s4"), storage=True),
        Dtype("bool", TRUTH, 8, 1, 0, ("bool_", "boolean")),
    )
}
FLOATS = tuple(row.name for row in DTYPE.values() if row.kind == FLOAT)
INTEGERS = tuple(row.name for row in DTYPE.values() if row.kind == INTEGER)
SIGNED = tuple(row.name for row in DTYPE.values() if row.kind == INTEGER and row.signed)
UNSIGNED = tuple(name for name in INTEGERS if name not in SIGNED)
ROUNDED = tuple(name for name in FLOATS if name not in ("f64", "f32"))  # in registers they are f32, to which they are rounded
NEAR: Mapping[str, str] = {
    f"near_{name}": name for name in ROUNDED
}  # a number of that dtype next to another one, for which it stands
PACKED = tuple(name for name in ROUNDED if DTYPE[name].bits < 32)  # in memory they are bits
STORAGE = tuple(row.name for row in DTYPE.values() if row.storage)
SMALL = tuple(row.name for row in DTYPE.values() if row.kind != FLOAT and row.bits <= 8)  # numbers that f32 has
NARROW, LONG = (tuple(name for name in INTEGERS if DTYPE[name].bits in bits) for bits in ((4, 8, 16), (64,)))
NIBBLES = tuple(name for name in INTEGERS if DTYPE[name].bits == 4)
NATIVE = tuple(name for name in (*FLOATS, *INTEGERS) if name not in (*ROUNDED, *NIBBLES))  # what kernels compute with
DTYPES = tuple(DTYPE)
BITS = {name: DTYPE[name].bits for name in INTEGERS}
BYTES = {row.name: (row.bits + 7) // 8 for row in DTYPE.values()}
RANGE = {name: (DTYPE[name].low, DTYPE[name].high) for name in INTEGERS}


def _held(name: str) -> str:
    """What kernels compute with in place of a dtype: a number of 4 bits takes a byte, and so does a truth value."""
    return "f32" if name in ROUNDED else "i8" if name == "i4" else "u8" if name not in NATIVE else name


# what kernels compute with in place of what they do not compute with
COMPUTED: Mapping[str, str] = {name: _held(name) for name in (*ROUNDED, *NIBBLES)}
# the type of a cell in the registers of a GPU
REGISTER: Mapping[str, str] = {name: _held(name) for name in DTYPE}
# the type of an element in its memory, also of a scalar parameter
MEMORY: Mapping[str, str] = {name: f"u{DTYPE[name].bits}" if name in PACKED else _held(name) for name in DTYPE}
# the type of a cell on a CPU, and of an element in its memory
NUMPY: Mapping[str, str] = {
    row.name: f"np.{(row if row.kind == TRUTH else DTYPE[_held(row.name)]).numpy}" for row in DTYPE.values()
}
OF_BITS: Mapping[str, str] = {name: f"np.{DTYPE[MEMORY[name]].numpy}" for name in PACKED}
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
    >>> nearest(0.3, "e4m3"), nearest(70000.0, "e5m2"), nearest(2.0**-10, "e4m3"), nearest(1 + 2.0**-11, "tf32")
    (Fraction(5, 16), Fraction(57344, 1), Fraction(0, 1), Fraction(1, 1))
    """
    if not math.isfinite(value) or dtype not in FLOATS or dtype == "f64":
        return Fraction(value) if math.isfinite(value) else None
    row, exact = DTYPE[dtype], Fraction(value)
    last = Fraction(2) ** (max(math.frexp(value)[1] - 1, row.normal) - row.digits + 1)
    near, largest = round(exact / last) * last, Fraction(row.largest)
    if abs(near) > largest:
        return (largest if near > 0 else -largest) if row.saturates else None
    return near


def stored(value: int | float | bool, dtype: str) -> Fraction | int | float | bool:
    """A literal as its dtype holds it, to be compared; infinities, integers and truths are what they are.

    >>> stored(257.0, "bf16") > stored(256.0, "bf16"), stored(float("-inf"), "f32")
    (False, -inf)
    """
    found = nearest(value, dtype) if isinstance(value, float) else None
    return value if found is None else found
