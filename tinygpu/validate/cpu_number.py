"""Numbers of a CPU kernel: literals, and 16-bit floats as the f32 numbers that registers hold.

Comes in: numbers and values. Goes out: the same in another dtype where nothing is lost. The one idea: widening changes no number, so a value
may be taken in either dtype as what is around it asks.
"""

from __future__ import annotations

import struct

from tinygpu.category.dtype import HALVES
from tinygpu.category.term import FLOATS, App, Const, Term


def literal(number: int | float, dtype: str) -> Const:
    """A number as a literal of a dtype."""
    return Const(float(number) if dtype in FLOATS else int(number), dtype)


def widened(value: Term) -> Term:
    """A 16-bit float as the f32 number that it is."""
    if value.dtype not in HALVES:
        return value
    return Const(value.value, "f32") if isinstance(value, Const) else App("cast", (value,), "f32")


def narrow(value: Term, dtype: str) -> Term | None:
    """The 16-bit float that was widened to this number, if it is one."""
    match value:
        case App("cast", (inner,), "f32") if inner.dtype == dtype:
            return inner
        case Const() if value.dtype == "f32" and fits(value, dtype):
            return Const(value.value, dtype)
    return value if value.dtype == dtype else None


def fits(value: Const, dtype: str) -> bool:
    """Whether a 16-bit float has this number."""
    number = float(value.value)
    if number in (float("inf"), float("-inf")):
        return True
    try:
        if dtype == "f16":
            return bool(struct.unpack("e", struct.pack("e", number))[0] == number)
        bits: bytes = struct.pack("<f", number)
    except OverflowError:
        return False
    return bits[:2] == bytes(2) and struct.unpack("<f", bits)[0] == number
