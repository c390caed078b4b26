"""Which real number a literal is once it is rounded to its dtype, and which casts and operations change no value.

Comes in: a number or a term. Goes out: an exact fraction, or whether the machine's value is the real number that the term names.
The one idea: a wider type does not undo the rounding of a narrower one, so `f32(a*b)` of 16-bit floats is not `f32(a)*f32(b)`.
"""

from __future__ import annotations

from tinygpu.category.term import BOOL, App, Const, Fold, Read, Term, Var

# the second holds every value of the first, so that the cast is the identity on the machine's values
WIDER = {("f16", "f32"), ("f16", "f64"), ("bf16", "f32"), ("bf16", "f64"), ("f32", "f64")}
KEEPING = ("select", "min", "max", "abs", "neg", "floor")  # give one of the values they get, or one of the same dtype
FITS = {BOOL: 1, "i8": 7, "u8": 8, "i32": 31, "u32": 32}  # bits of the magnitude of an integer
MANTISSA = {"bf16": 8, "f16": 11, "f32": 24, "f64": 53}
EPSILON = {dtype: 2.0 ** (1 - bits) for dtype, bits in MANTISSA.items()}


def whole(source: str, target: str) -> bool:
    """Whether every integer of one dtype is a number of the other, a float.

    >>> whole("u8", "bf16"), whole("i32", "f32"), whole("i32", "f64")
    (True, False, True)
    """
    return FITS.get(source, 64) <= MANTISSA[target]


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
        case App("cast", (inner,), dtype) if dtype in MANTISSA:
            if inner.dtype in MANTISSA:
                # the narrowing cast is a symbol of its own, so its result is what it says
                return (inner.dtype, dtype) not in WIDER or unrounded(inner)
            return dtype in ("f16", "bf16") or whole(inner.dtype, dtype)
        case App(op, args) if op in KEEPING:
            return all(map(unrounded, args))
    return False
