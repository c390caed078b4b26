"""Which real number a literal is once it is rounded to its dtype, and which casts and operations change no value.

Comes in: a number or a term. Goes out: an exact fraction, or whether the machine's value is the real number that the term names.
The one idea: a wider type does not undo the rounding of a narrower one, so `f32(a*b)` of 16-bit floats is not `f32(a)*f32(b)`.
"""

from __future__ import annotations

from tinygpu.category.dtype import DTYPE, FLOATS, HALVES
from tinygpu.category.term import App, Const, Fold, Read, Term, Var

# the second holds every value of the first, so that the cast is the identity on the machine's values
WIDER = {(a, b) for a in FLOATS for b in FLOATS if a != b and DTYPE[b].holds(DTYPE[a])}
KEEPING = ("select", "min", "max", "abs", "neg", "floor")  # give one of the values they get, or one of the same dtype
EPSILON = {dtype: 2.0 ** (1 - DTYPE[dtype].digits) for dtype in FLOATS}


def whole(source: str, target: str) -> bool:
    """Whether every integer of one dtype is a number of the other, a float.

    >>> whole("u8", "bf16"), whole("i32", "f32"), whole("i32", "f64")
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
            return dtype in HALVES or whole(inner.dtype, dtype)
        case App(op, args) if op in KEEPING:
            return all(map(unrounded, args))
    return False
