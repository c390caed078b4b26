"""Which real number a literal is once it is rounded to its dtype, and which casts and operations change no value.

    0.1 of f16 is 819/8192;   1e-9 of f16 is 0;   70000 of f16 is no number

Comes in: a number or a term. Goes out: an exact fraction, or whether the machine's value is the real number that the term names.
The one idea: what a machine computes with is the rounded number, so it is what is compared and divided by; and a wider type does not undo the rounding of a narrower one, so `f32(a*b)` of 16-bit floats is not `f32(a)*f32(b)`.
"""

from __future__ import annotations

import math
import struct
from fractions import Fraction

from tinygpu.category.dtype import DTYPE, FLOATS, HALVES
from tinygpu.category.node import App, Const, Fold, Read, Term, Var
from tinygpu.category.operation import KEEPING

# the second holds every value of the first, so that the cast is the identity on the machine's values
WIDER = {(a, b) for a in FLOATS for b in FLOATS if a != b and DTYPE[b].holds(DTYPE[a])}
EPSILON = {dtype: 2.0 ** (1 - DTYPE[dtype].digits) for dtype in FLOATS}


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


def holds_integers(source: str, target: str) -> bool:
    """Whether every integer of one dtype is a number of the other, a float.

    >>> holds_integers("u8", "bf16"), holds_integers("i32", "f32"), holds_integers("i32", "f64")
    (True, False, True)
    """
    return source in DTYPE and DTYPE[source].digits <= DTYPE[target].digits


def unrounded(term: Term) -> bool:
    """Whether a float is in its dtype as it is: read, chosen or converted without loss, not the result of arithmetic.

    >>> a = Read("a", (), "f16")
    >>> unrounded(a), unrounded(App("mul", (a, a), "f16")), unrounded(App("max", (a, a), "f16"))
    (True, False, True)
    """
    match term:
        case Const() | Var() | Read() | Fold():
            return True
        case App("select", (_, then, otherwise)):
            return unrounded(then) and unrounded(otherwise)
        case App("cast", (inner,), dtype) if dtype in FLOATS:
            if inner.dtype in FLOATS:
                # the narrowing cast is a symbol of its own, so its result is what it says
                return (inner.dtype, dtype) not in WIDER or unrounded(inner)
            return dtype in HALVES or holds_integers(inner.dtype, dtype)
        case App(op, args) if op in KEEPING:
            return all(map(unrounded, args))
    return False
