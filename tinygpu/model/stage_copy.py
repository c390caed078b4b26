"""The copy of a tile where its stage does not say how it is done, and the layout of its cells.

Comes in: the sides of a tile, how many threads a block has, and the `layout` clauses. Goes out: the block as one factor with the copy's
assignment; the order of the axes, the pad of the rows, the swizzle of the addresses.
The one idea: neighbouring threads copy neighbouring elements, and each 16 bytes at once where the rows of the tile are such groups.
A tile that lies turned is stored down its columns. There two neighbours copy the 32 bytes that memory moves at least, and the next two
those of the next row: a warp stores 2 × 16 elements, which meet no bank twice where the rows are 4 elements longer than 8 divide.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tinygpu.category.dtype import BYTES
from tinygpu.category.layout import Layout, fault
from tinygpu.category.linear import polynomial
from tinygpu.category.owner import Arrow
from tinygpu.category.region import Region
from tinygpu.category.simplify import simplify
from tinygpu.category.term import Axis, Const, Term, Var, lift
from tinygpu.model.scope import Scope
from tinygpu.model.tile import BLOCK, Side
from tinygpu.model.value import index
from tinygpu.record import dataclass
from tinygpu.syntax import tree

Swizzle = tuple[int, int, int]
BANKS = 5  # bits: 32 banks of 4 bytes
UNROLLED = 8  # turns of a copy up to here are unrolled, so that their loads wait together


def default_copy(sides: Sequence[Side], threads: int, dtype: str = "f32", fastest: str = "") -> tuple[tuple[Axis, ...], Arrow]:
    """The flat thread number over the merged tile, the last axis fastest; on a core, where `threads` is 0, plain loops. `fastest` names the
    axis whose neighbours are so in the tile too, if that is another one.

    >>> from tinygpu.category.term import text
    >>> block, arrow = default_copy((Side("i", 16, Const(0)), Side("k", 8, Const(0))), 16)
    >>> [text(t) for t in arrow.terms], [f"{a.name} < {text(a.extent)}" for a in arrow.domain.axes]
    (['copy*8 + thread // 2', 'thread % 2*4 + lane'], ['copy < 2', 'thread < 16', 'lane < 4'])
    """
    if not threads:
        return (), _copy_of_core(sides)
    lanes = lanes_of(sides[-1], 16 // BYTES[dtype]) if sides else 1
    wide = lanes > 1
    extents = [s.extent // (lanes if s is sides[-1] else 1) for s in sides]
    count = prod(extents)
    turns = -(-count // threads)
    thread = Axis("thread", Const(threads), BLOCK)
    copy = Axis("copy", Const(turns), "register" if turns <= UNROLLED else "time")
    lane = Axis("lane", Const(lanes), "vector")
    axes = (*((copy,) if turns > 1 else ()), thread, *((lane,) if wide else ()))
    flat = (Var("copy") * threads if turns > 1 else lift(0)) + Var("thread")
    box = Region(axes, (flat < count,) if turns * threads > count else ())
    terms: list[Term] = [lift(0)] * len(sides)
    step = 1
    for axis, extent, weight in _digits([s.name for s in sides], extents, fastest if wide else ""):
        digit = flat // step % extent if step * extent < turns * threads else flat // step
        terms[axis] = simplify(terms[axis] + digit * weight, box)
        step *= extent
    if wide:
        terms[-1] = simplify(terms[-1] * lanes + Var("lane"), box)
    return (thread,), Arrow(box, tuple(Axis(s.name, Const(s.extent)) for s in sides), tuple(terms))


def _copy_of_core(sides: Sequence[Side]) -> Arrow:
    """One thread copies the rows of the tile one after the other, each in vectors of 16 neighbours where it is made of such groups."""
    axes, terms = [], []
    for side in sides:
        lanes = next((n for n in (16, 8, 4) if side.extent % n == 0), 1) if side is sides[-1] else 1
        axis = Axis(f"copy_{side.name}", Const(side.extent // lanes), "time")
        axes += [axis, *([Axis("lane", Const(lanes), "vector")] if lanes > 1 else [])]
        terms.append(Var(axis.name) * lanes + Var("lane") if lanes > 1 else Var(axis.name))
    return Arrow(Region(tuple(axes)), tuple(Axis(s.name, Const(s.extent)) for s in sides), tuple(terms))


def _digits(names: Sequence[str], extents: Sequence[int], fastest: str) -> list[tuple[int, int, int]]:
    """`(axis, extent, weight)` of the digits of the thread number, fastest first: the axes from the last to the first; or two of the last
    one, then those of the fastest."""
    last = len(extents) - 1
    turned = names.index(fastest) if fastest in names else last
    rest = [(axis, extents[axis], 1) for axis in range(last, -1, -1)]
    if turned == last or extents[last] % 2:
        return rest
    others = [digit for digit in rest if digit[0] not in (last, turned)]
    return [(last, 2, 1), (turned, extents[turned], 1), (last, extents[last] // 2, 2), *others]


def lanes_of(side: Side, most: int) -> int:
    """How many neighbours are copied at once: `most` or half of them, where a side is made of such groups, else one."""
    parts = (side.extent, *polynomial(side.origin).values())
    return next((n for n in (most, most // 2) if n > 1 and not side.digits and all(part % n == 0 for part in parts)), 1)


@dataclass(frozen=True, slots=True)
class Cells:
    """`order`: which axis of the tensor is the slowest of the tile, and so on."""

    order: tuple[int, ...]
    pad: int = 0
    swizzle: Swizzle | None = None


def cells(layouts: Sequence[tree.Layout], sides: Sequence[Side], lanes: int, scope: Scope) -> Cells:
    """The layout that is written, or the plain one; `lanes` neighbours of a row are copied at once and stay together."""
    plain = Cells(tuple(range(len(sides))))
    for second in layouts[1:]:
        scope.problems.say("TG102.layout", second.span, layouts[0].span)
    if not layouts:
        return plain
    one = layouts[0]
    names = [s.name for s in sides]
    if one.order and sorted(one.order) != sorted(names):
        scope.problems.say("TG545.order", one.span, axes=", ".join(names), turned=", ".join(reversed(names)))
        return plain
    order = tuple(names.index(n) for n in one.order) if one.order else plain.order
    numbers = [index(arg, scope) for arg in one.place.args] if one.place else []
    if not all(isinstance(n, Const) and isinstance(n.value, int) and n.value >= 0 for n in numbers):
        scope.problems.say("TG136.layout", one.span)
        return plain
    values = [int(n.value) for n in numbers if isinstance(n, Const)]
    if one.place is None:
        return Cells(order)
    if one.place.kind == "pad":
        return Cells(order, pad=values[0])
    if len(values) not in (0, 3):
        scope.problems.say("TG545.swizzle", one.span)
        return plain
    if not values:
        return Cells(order, swizzle=_chosen(one, order, sides, lanes, scope))
    swizzle = values[0], values[1], values[2]
    reason = fault(tuple(Const(s.extent) for s in sides), Layout(swizzle=swizzle))
    if reason:
        scope.problems.say("TG158.tile", one.span, reason=reason)
        return plain
    return Cells(order, swizzle=swizzle)


def _chosen(layout: tree.Layout, order: Sequence[int], sides: Sequence[Side], lanes: int, scope: Scope) -> Swizzle | None:
    """The swizzle that spreads a column over the banks, where a row is a power of two: a layout changes where a cell lies, never what it
    holds, so it may be chosen by rule."""
    row = sides[order[-1]].extent if order else 1
    if row & (row - 1) or row <= lanes:
        scope.problems.say("TG545.row", layout.span, row=row)
        return None
    base = lanes.bit_length() - 1
    width = row.bit_length() - 1
    bits = min(BANKS, width) - base
    return (bits, base, width - base) if bits > 0 else None
