"""What an operator means in each type: literals take the type of what they meet, integers wrap, indices are mathematical integers.

Comes in: terms, some of the open type "literal". Goes out: terms of one type.
The one idea: a literal has no type of its own, an index is cast where it meets a value, and nothing else mixes.
"""

from __future__ import annotations

import math
import struct
from fractions import Fraction

from tinygpu.replay.ir import BOOL, COMPARISONS, FLOATS, INDEX, RANGES, Num, Op, Term, Unsupported, compare, fold_of, select

LITERAL = "literal"
INFINITIES = ("inf", "-inf")


def settle(term: Term, dtype: str) -> Term:
    """A literal in the type it meets, an index cast to it; any other term as it is.

    >>> settle(Num(Fraction(1, 10), LITERAL), "f16").value
    Fraction(819, 8192)
    """
    if term.dtype == dtype or term.dtype not in (LITERAL, INDEX):
        return term
    if term.dtype == INDEX:
        return cast(term, dtype)
    match term:
        case Num(value):
            return constant(Fraction(value), dtype)
        case Op(name, ()) if name in INFINITIES and dtype in FLOATS:
            return Op(name, (), dtype)
        case Op("select", (condition, a, b)):
            return select(condition, settle(a, dtype), settle(b, dtype))
        case Op(name, args) if name.startswith("shuffle."):
            return Op(name, (settle(args[0], dtype), *args[1:]), dtype)
        case Op("neg", (a,)):
            return negative(settle(a, dtype))
        case Op("cast", (a,)):
            return cast(a, dtype)
        case Op(name, args):
            return apply(name, tuple(settle(a, dtype) for a in args))
    return fold_of(term, lambda body: settle(body, dtype), dtype)


def constant(value: Fraction, dtype: str) -> Num:
    """A number as its type has it: the nearest float, ties to even; an integer within the range."""
    if dtype in FLOATS:
        return Num(nearest(value, dtype), dtype)
    low, high = RANGES.get(dtype, (-(2**63), 2**63 - 1) if dtype == INDEX else (0, -1))  # any other type has no numbers
    if value.denominator != 1 or not low <= value <= high:
        raise Unsupported(f"{value} is no number of {dtype}")
    return Num(int(value), dtype)


def nearest(value: Fraction, dtype: str) -> Fraction:
    """The float next to a number.

    >>> nearest(Fraction(1, 10), "bf16")
    Fraction(205, 2048)
    """
    single = float(value)
    try:
        if dtype == "f16":
            (single,) = struct.unpack("<e", struct.pack("<e", single))
        elif dtype in ("f32", "bf16"):
            (single,) = struct.unpack("<f", struct.pack("<f", single))
        if dtype == "bf16":
            (bits,) = struct.unpack("<I", struct.pack("<f", single))
            (single,) = struct.unpack("<f", struct.pack("<I", (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000))
    except (OverflowError, struct.error):
        single = math.inf
    if not math.isfinite(single):
        raise Unsupported(f"{value} is no number of {dtype}")
    return Fraction(single)


def meet(a: Term, b: Term) -> tuple[Term, Term]:
    """Two terms in one type."""
    if a.dtype == LITERAL or (a.dtype == INDEX and b.dtype not in (LITERAL, BOOL)):
        a = settle(a, b.dtype)
    elif b.dtype in (LITERAL, INDEX):
        b = settle(b, a.dtype)
    if a.dtype != b.dtype:
        raise Unsupported(f"{a.dtype} meets {b.dtype} without a cast")
    return a, b


def to_index(term: Term) -> Term:
    """An index: a literal, an index term, or an integer read from data, which is the integer that it is."""
    term = settle(term, INDEX)
    if term.dtype == INDEX:
        return term
    if term.dtype in RANGES:
        return Op("integer", (term,), INDEX)
    raise Unsupported(f"a value of {term.dtype} stands as an index")


def cast(term: Term, dtype: str) -> Term:
    """`dtype(term)`: integers wrap, an index becomes the number that it is; every other cast is a function of its own."""
    source = term.dtype
    if source == LITERAL:
        return settle(term, dtype)
    if source == dtype:
        return term
    if dtype in RANGES and (source == INDEX or source in RANGES):
        return Op("wrap", (term,), dtype)
    if source == INDEX and dtype in FLOATS:
        return Op("real", (term,), dtype)
    if source == INDEX and dtype == LITERAL:
        return Op("cast", (term,), LITERAL)
    if source in (*FLOATS, *RANGES) and dtype in (*FLOATS, *RANGES):
        return Op(f"cast.{source}.{dtype}", (term,), dtype)
    raise Unsupported(f"a cast from {source} to {dtype}")


def apply(op: str, args: tuple[Term, ...]) -> Term:
    """An operator on arguments of one type.

    >>> i = Op("x", (), "i32")
    >>> apply("add", (i, i)).op, apply("add", (Num(1), Num(2)))
    ('wrap', Num(value=3, dtype='index'))
    """
    dtype = args[0].dtype
    if op in COMPARISONS:
        return compare(op, args[0], args[1])
    if dtype in RANGES and op in ("add", "sub", "mul", "neg", "abs"):
        return Op("wrap", (Op(op, args, INDEX),), dtype)
    if dtype in RANGES and op == "xor":
        return Op("bits.xor", args, dtype)
    if (op == "div") != (dtype in FLOATS) and op in ("div", "floordiv", "mod", "ceildiv", "xor") and dtype != LITERAL:
        raise Unsupported(f"{op} of {dtype}")
    if dtype == INDEX and all(isinstance(a, Num) for a in args):
        return Num(_integers(op, [int(a.value) for a in args if isinstance(a, Num)]))
    return Op(op, args, dtype)


def _integers(op: str, values: list[int]) -> int:
    """The operator on integers."""
    match op, values:
        case "neg", [a]:
            return -a
        case "abs", [a]:
            return abs(a)
        case "floordiv" | "mod" | "ceildiv", [_, b] if b <= 0:
            raise Unsupported("a divisor below 1")
        case _, [a, b]:
            table = {"add": a + b, "sub": a - b, "mul": a * b, "min": min(a, b), "max": max(a, b)}
            if op in ("floordiv", "mod", "ceildiv"):
                return {"floordiv": a // b, "mod": a % b, "ceildiv": -(-a // b)}[op]
            if op == "xor" and min(a, b) >= 0:
                return a ^ b
            if op in table:
                return table[op]
    raise Unsupported(f"{op} of integers")


def negative(term: Term) -> Term:
    """`-term`."""
    match term:
        case Num(value, dtype) if not isinstance(value, bool):
            return Num(-value, dtype)
        case Op(name, (), dtype) if name in INFINITIES:
            return Op(INFINITIES[1 - INFINITIES.index(name)], (), dtype)
    if term.dtype == INDEX:
        return apply("sub", (Num(0), term))
    return apply("neg", (term,))
