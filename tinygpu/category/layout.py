"""Layouts in numbers: when a pad and a swizzle map the cells of an array one to one to `[0, elements)`.

Comes in: how many elements are set aside, pads included, a pad and a swizzle. Goes out: what is wrong, in words.
The one idea: a swizzle adds higher bits of an address to lower ones, so from the highest bit down it can be undone.
"""

from __future__ import annotations

LARGEST = 31  # bits of an address


def whole(elements: int, swizzle: tuple[int, int, int] | None) -> int:
    """How many elements are set aside for so many addresses: as many whole blocks as the swizzle needs.

    >>> whole(1105, None), whole(1105, (1, 0, 5)), whole(1104, (2, 2, 3))
    (1105, 1106, 1104)
    """
    block = 2 ** max(0, swizzle[0] + swizzle[1]) if swizzle else 1
    return -(-elements // block) * block


def fault(elements: int, pad: int, swizzle: tuple[int, int, int] | None) -> str:
    """Why a layout is not one to one; empty if it is. `swizzle = (bits, base, shift)`.

    The padded address is one to one and below `elements`, for any pad that is not negative. The swizzle changes the bits
    `[base, base + bits)` alone, so an address stays in its aligned block of `2^(base + bits)` addresses. With `shift >= 1` what is
    added to a bit is a higher bit: from the highest one down, each new bit tells the old one. So every block is permuted, and where
    `elements` is a multiple of its size, `[0, elements)` is a row of whole blocks. With `shift = 0` the bits are added to themselves.

    >>> fault(1024, 0, (5, 0, 5)), fault(8, -1, None)
    ('', 'a pad is at least 0, not -1')
    >>> fault(1024, 0, (5, 0, 0))
    'bits that are added to themselves are lost: the shift is 0'
    >>> fault(72, 0, (2, 2, 2))
    'its 72 elements are no multiple of 16'
    """
    if pad < 0:
        return f"a pad is at least 0, not {pad}"
    if swizzle is None:
        return ""
    if pad:
        return "it has a pad and a swizzle: take one of them"
    bits, base, shift = swizzle
    if bits < 1 or base < 0:
        return "a swizzle changes at least 1 bit, from bit 0 on or later"
    if shift < 1:
        return f"bits that are added to themselves are lost: the shift is {shift}"
    if base + shift + bits > LARGEST:
        return f"an address has no bit {base + shift + bits - 1}"
    return f"its {elements} elements are no multiple of {2 ** (base + bits)}" if elements % 2 ** (base + bits) else ""
