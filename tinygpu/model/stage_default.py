"""The copy that is derived where a stage does not say how it is done.

Comes in: the sides of a tile, and how many threads a block has. Goes out: the block as one factor, and the copy's assignment.
The one idea: neighbouring threads copy neighbouring elements, four at once where the rows of the tile are multiples of four.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tinygpu.category.arrow import Arrow
from tinygpu.category.box import Box
from tinygpu.category.linear import polynomial
from tinygpu.category.simplify import simplify
from tinygpu.category.term import TRUE, Axis, Const, Term, Var, conjunction, lift
from tinygpu.model.tile import BLOCK, Side

LANES = 4
UNROLLED = 8  # turns of a copy up to here are unrolled, so that their loads wait together


def default_copy(sides: Sequence[Side], threads: int) -> tuple[tuple[Axis, ...], Arrow]:
    """The flat thread number over the merged tile, the last axis fastest.

    >>> from tinygpu.category.term import text
    >>> block, arrow = default_copy((Side("i", 16, Const(0)), Side("k", 8, Const(0))), 16)
    >>> [text(t) for t in arrow.terms], str(arrow.domain)
    (['copy*8 + thread // 2', 'thread % 2*4 + lane'], '[copy < 2, thread < 16, lane < 4]')
    """
    wide = bool(sides) and aligned(sides[-1])
    lanes = LANES if wide else 1
    extents = [s.extent for s in sides]
    if wide:
        extents[-1] //= LANES
    count = prod(extents)
    turns = -(-count // threads)
    thread = Axis("thread", Const(threads), BLOCK)
    copy = Axis("copy", Const(turns), "register" if turns <= UNROLLED else "time")
    lane = Axis("lane", Const(lanes), "vector")
    axes = (*((copy,) if turns > 1 else ()), thread, *((lane,) if wide else ()))
    flat = (Var("copy") * threads if turns > 1 else lift(0)) + Var("thread")
    guard = flat < count if turns * threads > count else TRUE
    box = Box(axes, guard)
    terms: list[Term] = []
    step = 1
    for extent in reversed(extents):
        digit = flat // step % extent if step * extent < turns * threads else flat // step
        terms.append(simplify(digit, box))
        step *= extent
    terms.reverse()
    if wide:
        terms[-1] = simplify(terms[-1] * LANES + Var("lane"), box)
    codomain = Box(tuple(Axis(s.name, Const(s.extent)) for s in sides))
    return (thread,), Arrow(Box(axes, conjunction(guard)), codomain, tuple(terms))


def aligned(side: Side) -> bool:
    """Whether a side is made of groups of four that begin at multiples of four.

    >>> aligned(Side("i", 36, Var("b") * 32 - 2)), aligned(Side("i", 32, Var("b") * 32))
    (False, True)
    """
    return not side.digits and side.extent % LANES == 0 and all(c % LANES == 0 for c in polynomial(side.origin).values())
