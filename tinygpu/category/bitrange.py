"""Bounds of what is made of the bits of indices.

    0 ≤ a ^ b < 2ᵏ  where  a, b < 2ᵏ;   0 ≤ a ^ b ≤ a + b        c·2ᵃ ≤ c << i ≤ c·2ᵇ  where  a ≤ i ≤ b

Comes in: bounds of the operands. Goes out: those of the result. The one idea: of numbers a bound is a number; of sizes, what no carry makes larger.
"""

from __future__ import annotations

from typing import TypeAlias

from tinygpu.category.known import Known
from tinygpu.category.linear import Polynomial, constant, number, plus

Range: TypeAlias = tuple[Polynomial | None, Polynomial | None]
NOTHING: Range = (None, None)
PLACES = 62  # bits of an index above which there is its sign


def of_xor(a: Range, b: Range, known: Known) -> Range:
    """Of `a ^ b`."""
    if any(low is None or not known.positive(low) for low, _ in (a, b)) or a[1] is None or b[1] is None:
        return NOTHING
    m, n = number(a[1]), number(b[1])
    if m is None or n is None:
        return {}, plus(a[1], b[1])  # no bit is set that is set in neither, and no carry is lost
    return {}, constant((1 << max(m.bit_length(), n.bit_length())) - 1)


def of_shift(one: int, places: Range) -> Range:
    """Of a number that is not negative, shifted in 64 bits.

    >>> of_shift(1, ({}, constant(5))) == (constant(1), constant(32)), of_shift(3, ({}, constant(62))) == of_shift(1, (None, None)) == NOTHING
    (True, True)
    """
    first, last = (None if end is None else number(end) for end in places)
    if first is None or last is None or first < 0 or last > PLACES or one << last >= 1 << PLACES + 1:
        return NOTHING
    return constant(one << first), constant(one << last)
