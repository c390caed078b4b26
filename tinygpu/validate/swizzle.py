"""Addresses of swizzled arrays, as the address that they are the swizzle of.

    w + (a ^ (a // 2^(b + s)) % 2^n · 2^b)   =   swizzle(w + a)          where w is a multiple of the period 2^(n + b + s)

Comes in: an address. Goes out: what is swizzled, and how; nothing where it is no such address. The one idea: a swizzle is one to one, so two addresses are one
where they are the same swizzle of one; whatever parts of them an emitter has put in front of it.
"""

from __future__ import annotations

from tinygpu.category.linear import Polynomial, as_written, plus, polynomial, without
from tinygpu.category.term import App, Const, Term

Swizzle = tuple[int, int, int]


def swizzle_of(address: Term) -> tuple[Term, Swizzle] | None:
    """What an address is the swizzle of.

    >>> from tinygpu.category.layout import Layout, swizzled
    >>> from tinygpu.category.term import Var, text
    >>> t, a, how = Var("t"), Var("a"), Layout(swizzle=(3, 2, 3))
    >>> plain, found = swizzle_of(swizzled(t * 512 + a, how))
    >>> text(plain), found, swizzle_of(t * 8 + swizzled(a, how)), swizzle_of(t)
    ('t*512 + a', (3, 2, 3), None, None)
    """
    parts = polynomial(address)
    swizzles = [m for m in parts if len(m) == 1 and isinstance(m[0], App) and m[0].op == "xor"]
    if len(swizzles) != 1 or parts[swizzles[0]] != 1:
        return None
    (term,) = swizzles[0]
    assert isinstance(term, App)
    x, mask = term.args
    inner, whole = polynomial(x), without(parts, swizzles[0])
    if (how := pattern(inner, mask)) is None or any(c % 2 ** sum(how) for c in whole.values()):
        return None
    return as_written(plus(whole, inner)), how


def pattern(x: Polynomial, mask: Term) -> Swizzle | None:
    """Bits, base and shift of `x // 2^(base + shift) % 2^bits * 2^base`."""
    match list(polynomial(mask).items()):
        case [((App("mod", (App("floordiv", (a, Const(int(high)))), Const(int(count)))),), int(low))] if polynomial(a) == x:
            bits, top, base = (n.bit_length() - 1 for n in (count, high, low))
            if (1 << bits, 1 << top, 1 << base) == (count, high, low) and top > base:
                return bits, base, top - base
    return None
