"""Shifts and masks by numbers are products, quotients and remainders; so what is known of digits is known of bits.

    x << k = x·2ᵏ        x >> k = x // 2ᵏ        x & (2ᵏ − 1) = x % 2ᵏ        x & 12 = x // 4 % 4·4        x | m = x + m − (x & m)

Comes in: an operation on bits, one of whose operands is a number. Goes out: the same value without it. The one idea: a mask is runs of bits, and
a run is a quotient and a remainder. Of signed numbers that may be negative, quotients have no value (`operation.demands`), so these stay as they are.
"""

from __future__ import annotations

from tinygpu.category.dtype import BITS, COMPUTED, SIGNED
from tinygpu.category.evaluate import wrapped
from tinygpu.category.node import INTEGERS, App, Const, Term, apply


def digits(term: App) -> Term:
    """An operation on numbers of a machine, by a number: the product that a shift to the left is; of unsigned numbers the quotient or the
    remainder; else the same.

    >>> from tinygpu.category.text import text
    >>> from tinygpu.category.term import Var
    >>> def of(op, n, dtype="u8"): return text(digits(App(op, (Var("x", dtype), Const(n, dtype)), dtype)))
    >>> of("shl", 3), of("shr", 3), of("bitand", 7), of("bitand", 6), of("shr", 3, "i8"), of("shr", 8)
    ('x*8', 'x // 8', 'x % 8', 'x & 6', 'x >> 3', 'x >> 8')
    """
    match term:
        case App("bitand", (Const() as mask, other), dtype) if not isinstance(other, Const):
            return digits(App("bitand", (other, mask), dtype))
        case App("shl", (x, Const(int(k))), dtype) if dtype in INTEGERS and 0 <= k < BITS[dtype]:
            return App("mul", (x, Const(wrapped(1 << k, dtype), dtype)), dtype)
        case App("shr", (x, Const(int(k))), dtype) if dtype in INTEGERS and dtype not in SIGNED and 0 <= k < BITS[dtype]:
            return App("floordiv", (x, Const(1 << k, dtype)), dtype)
        case App("bitand", (x, Const(int(m))), dtype) if dtype in INTEGERS and dtype not in SIGNED and low(m) < BITS[dtype]:
            return App("mod", (x, Const(m + 1, dtype)), dtype)
    return term


def nibble(term: Term, dtype: str) -> Term:
    """A whole number cast to one of 4 bits, as a byte that holds it: its lowest bits, of a signed one with its sign.

    >>> from tinygpu.category.text import text
    >>> from tinygpu.category.term import Var
    >>> text(nibble(Var("x", "i32"), "u4")), text(nibble(Var("x", "i8"), "i4"))
    ('u8(x) & 15', '(x & 15 ^ 8) - 8')
    """
    byte = COMPUTED[dtype]
    held = term if term.dtype == byte else App("cast", (term,), byte)
    last = App("bitand", (held, Const(15, byte)), byte)
    eight = Const(8, byte)
    return last if dtype not in SIGNED else App("sub", (App("xor", (last, eight), byte), eight), byte)


def low(mask: int) -> int:
    """How many bits a mask has, if these are the lowest ones; else more than any number.

    >>> low(7), low(0) == low(6) > 64
    (3, True)
    """
    return mask.bit_length() if mask > 0 and mask & (mask + 1) == 0 else 1 << 16


def of_index(op: str, x: Term, number: int) -> Term:
    """The same of an index, which is an integer: it has as many bits as it takes, and below 0 it has them all.

    >>> from tinygpu.category.text import text
    >>> from tinygpu.category.term import Var
    >>> i = Var("i")
    >>> [text(of_index(op, i, n)) for op, n in (("shl", 3), ("shr", 3), ("bitand", 7), ("bitand", 12), ("bitand", -8), ("bitor", 3))]
    ['i*8', 'i // 8', 'i % 8', 'i // 4 % 4*4', 'i - i % 8', 'i + 3 - i % 4']
    """
    match op:
        case "shl":
            return apply("mul", x, 1 << number)
        case "shr":
            return apply("floordiv", x, 1 << number)
        case "bitor":
            return x + number - of_index("bitand", x, number)
    if number < 0:
        return x - of_index("bitand", x, ~number)
    out: Term = Const(0)
    while number:
        first = (number & -number).bit_length() - 1
        run = (number >> first ^ (number >> first) + 1).bit_length() - 1
        out = out + apply("mul", apply("mod", apply("floordiv", x, 1 << first), 1 << run), 1 << first)
        number &= -1 << first + run
    return out
