"""Layouts: where the cells of a shared array lie.

    address(x) = swizzle( Σ strideₐ · xₐ )        row-major strides, the fastest axis lengthened by `pad`
    panels p:  (…, r, x)  ↦  (…, x // p, r, x % p)       rows are cut, and all pieces of one column of pieces lie one below the other

Comes in: extents and a layout. Goes out: an index term for the address of a cell, and how many elements to set aside.
The one idea: a layout is a one-to-one map of cells to addresses, so it changes bank conflicts and never a value. A swizzle adds higher bits of
an address to lower ones, so from the highest bit down it can be undone.
"""

from __future__ import annotations

from collections.abc import Sequence

from tinygpu.category.linear import as_written, polynomial, without
from tinygpu.category.term import Const, Term, lift
from tinygpu.record import dataclass


@dataclass(frozen=True, slots=True)
class Layout:
    """`pad` elements follow each row of the fastest axis. Rows are cut into pieces of `panels` elements, if that is not 0.

    `swizzle = (bits, base, shift)`: the `bits` bits of an address from `base + shift` on are added, bit by bit, to those from `base` on.
    """

    pad: int = 0
    swizzle: tuple[int, int, int] | None = None
    panels: int = 0

    @property
    def plain(self) -> Layout:
        """Without the swizzle."""
        return Layout(self.pad, None, self.panels)


PLAIN = Layout()
LARGEST = 31  # bits of an address
LINE = 128  # bytes of shared memory that all banks hold together


def conflict_free(row: int, piece: int, bytes_: int) -> tuple[int, int, int] | None:
    """The swizzle of rows of so many elements, of so many bytes each, that exchanges pieces by rows, so that what lies in one column of pieces is in all
    banks before it is in one twice; none where a row is no power of two, or one piece.

    >>> conflict_free(32, 8, 2), conflict_free(64, 8, 2), conflict_free(128, 8, 2), conflict_free(32, 1, 4), conflict_free(48, 8, 2), conflict_free(8, 8, 2)
    ((2, 3, 3), (3, 3, 3), (3, 3, 4), (5, 0, 5), None, None)
    """
    if row & (row - 1) or row <= piece:
        return None
    line, width, base = (LINE // bytes_).bit_length() - 1, row.bit_length() - 1, piece.bit_length() - 1
    bits = min(line, width) - base
    return (bits, base, max(line, width) - base) if bits > 0 else None


def strides(extents: Sequence[Term], layout: Layout = PLAIN) -> tuple[int, ...]:
    """The distance of neighbours along each axis, in elements, before the swizzle. Extents are constants.

    >>> strides((Const(8), Const(32)), Layout(pad=1)), strides((Const(2), Const(8), Const(32)))
    ((33, 1), (256, 32, 1))
    """
    return tuple(map(_number, distances(tuple(map(lift, map(_number, extents))), layout)))


def distances(extents: Sequence[Term], layout: Layout = PLAIN) -> tuple[Term, ...]:
    """The same of any extents.

    >>> from tinygpu.category.term import Var, text
    >>> [text(d) for d in distances((Const(4), Var("T"), Const(32)), Layout(pad=1))]
    ['T*33', '33', '1']
    """
    found: list[Term] = []
    step: Term = Const(1)
    for position, extent in enumerate(reversed(extents)):
        found.append(step)
        step = (extent + layout.pad if position == 0 else extent) * step
    return tuple(reversed(found))


def address(extents: Sequence[Term], layout: Layout, index: Sequence[Term]) -> Term:
    """Where a cell lies, in elements from the start of its array.

    >>> from tinygpu.category.term import Var, text
    >>> text(address((Const(8), Const(32)), Layout(pad=1), (Var("y"), Var("x"))))
    'y*33 + x'
    >>> text(address((Const(8), Const(32)), Layout(panels=16), (Var("y"), Var("x"))))
    'x // 16*128 + y*16 + x % 16'
    """
    if layout.panels:
        extents, index = panelled(extents, layout.panels, index)
        return address(extents, Layout(0, layout.swizzle), index)
    flat: Term = lift(0)
    for stride, coordinate in zip(distances(extents, layout), index, strict=True):
        flat = flat + coordinate * stride
    return swizzled(flat, layout)


def panelled(extents: Sequence[Term], piece: int, index: Sequence[Term]) -> tuple[tuple[Term, ...], tuple[Term, ...]]:
    """The extents and the index of a cell of an array whose rows are cut into pieces."""
    *ahead, rows, row = extents
    *before, r, x = index
    return (*ahead, Const(_number(row) // piece), rows, Const(piece)), (*before, x // piece, r, x % piece)


def swizzled(flat: Term, layout: Layout) -> Term:
    """The address after the swizzle. Whole periods of the pattern are in front of it, where they are nobody's business.

    >>> from tinygpu.category.term import Var, text
    >>> text(swizzled(Var("a"), Layout(swizzle=(3, 2, 3)))), text(swizzled(Var("t") * 512 + Var("a"), Layout(swizzle=(3, 2, 3))))
    ('a ^ a // 32 % 8*4', 't*512 + (a ^ a // 32 % 8*4)')
    """
    if layout.swizzle is None:
        return flat
    bits, base, shift = layout.swizzle
    whole, low = periods(flat, layout)
    return whole + (low ^ (low // 2 ** (base + shift)) % 2**bits * 2**base)


def periods(flat: Term, layout: Layout) -> tuple[Term, Term]:
    """`a ↦ (w, a − w)`, where w is made of the parts of an address that are multiples of the pattern's period: no bit of them is read or changed by it.

    >>> from tinygpu.category.term import Var, text
    >>> tuple(map(text, periods(Var("t") * 512 + Var("r") * 32 + Var("a"), Layout(swizzle=(3, 2, 3)))))
    ('t*512', 'r*32 + a')
    """
    bits, base, shift = layout.swizzle or (0, 0, 0)
    parts = polynomial(flat)
    whole = {monomial: c for monomial, c in parts.items() if layout.swizzle and c % 2 ** (bits + base + shift) == 0}
    low = without(parts, *whole)
    if not whole or min(low.values(), default=0) < 0:
        return Const(0), flat
    return as_written(whole), as_written(low)


def elements(extents: Sequence[Term], layout: Layout = PLAIN) -> int:
    """How many elements an array of constant extents takes, the pads and what a swizzle needs to whole blocks included.

    >>> elements((Const(8), Const(32)), Layout(pad=1)), elements(()), elements((Const(5), Const(5)), Layout(swizzle=(2, 0, 2)))
    (264, 1, 28)
    """
    return whole(strides((Const(1), *extents), layout)[0], layout.swizzle)


def whole(elements: int, swizzle: tuple[int, int, int] | None) -> int:
    """How many elements are set aside for so many addresses: as many whole blocks as the swizzle needs.

    >>> whole(1105, None), whole(1105, (1, 0, 5)), whole(1104, (2, 2, 3))
    (1105, 1106, 1104)
    """
    block = 2 ** max(0, swizzle[0] + swizzle[1]) if swizzle else 1
    return -(-elements // block) * block


def fault(extents: Sequence[Term], layout: Layout) -> str:
    """Why the layout does not map the cells of an array of these extents one to one to `[0, elements)`; empty if it does.

    The padded address is one to one and below `elements`, for any pad that is not negative. The swizzle changes the bits
    `[base, base + bits)` alone, so an address stays in its aligned block of `2^(base + bits)` addresses. With `shift >= 1` what is
    added to a bit is a higher bit: from the highest one down, each new bit tells the old one. So every block is permuted, and where
    `elements` is a multiple of its size, `[0, elements)` is a row of whole blocks. With `shift = 0` the bits are added to themselves.

    >>> fault((Const(32), Const(32)), Layout(swizzle=(5, 0, 5))), fault((Const(8), Const(9)), Layout(swizzle=(2, 2, 0)))
    ('', 'bits that are added to themselves are lost: the shift is 0')
    """
    count, pad, swizzle, piece = elements(extents, layout), layout.pad, layout.swizzle, layout.panels
    if piece and (piece < 1 or len(extents) < 2 or _number(extents[-1]) % piece):
        return f"its rows are cut into pieces of {piece}, and no row is so many of them"
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
    return f"its {count} elements are no multiple of {2 ** (base + bits)}" if count % 2 ** (base + bits) else ""


def _number(extent: Term) -> int:
    assert isinstance(extent, Const), "a shared array has constant extents"
    return int(extent.value)
