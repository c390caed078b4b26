"""The layout of a tile: the order of its axes, the pad of its rows, the swizzle of its addresses.

Comes in: the `layout` clauses of a stage and the sides of its tile. Goes out: numbers. The one idea: a layout changes where
a cell lies, never what it holds, so a `swizzle` without numbers may be chosen by rule: rows of neighbours start in different banks.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tinygpu.category.layout import fault, whole
from tinygpu.category.term import Const
from tinygpu.diagnostic import Label
from tinygpu.model.scope import Scope
from tinygpu.model.tile import Side
from tinygpu.model.value import index
from tinygpu.record import dataclass
from tinygpu.syntax import tree

BANKS = 5  # bits: 32 banks of 4 bytes


@dataclass(frozen=True, slots=True)
class Cells:
    """`order`: which axis of the tensor is the slowest of the tile, and so on."""

    order: tuple[int, ...]
    pad: int = 0
    swizzle: tuple[int, int, int] | None = None


def cells(layouts: Sequence[tree.Layout], sides: Sequence[Side], lanes: int, scope: Scope) -> Cells:
    """The layout that is written, or the plain one; `lanes` neighbours of a row are copied at once and stay together."""
    plain = Cells(tuple(range(len(sides))))
    for second in layouts[1:]:
        scope.problems.add(
            "TG102", "layout stands twice", second.span, "a second layout", Label(layouts[0].span, "the first"), help="write one"
        )
    if not layouts:
        return plain
    one = layouts[0]
    names = [s.name for s in sides]
    if one.order and sorted(one.order) != sorted(names):
        fix = f"write layout ({', '.join(reversed(names))}), or another order of these"
        scope.problems.add(
            "TG545", "the order of a layout has each axis of the tile once", one.span, f"the axes are {', '.join(names)}", help=fix
        )
        return plain
    order = tuple(names.index(n) for n in one.order) if one.order else plain.order
    numbers = [index(arg, scope) for arg in one.place.args] if one.place else []
    if not all(isinstance(n, Const) and isinstance(n.value, int) and n.value >= 0 for n in numbers):
        scope.problems.add(
            "TG136", "a layout is made of numbers", one.span, "not a number of at least 0", help="write pad 1, or swizzle(3, 2, 3)"
        )
        return plain
    values = [int(n.value) for n in numbers if isinstance(n, Const)]
    if one.place is None:
        return Cells(order)
    if one.place.kind == "pad":
        return Cells(order, pad=values[0])
    if len(values) not in (0, 3):
        fix = "write swizzle(bits, base, shift), or swizzle alone"
        scope.problems.add("TG545", "a swizzle has three numbers, or none", one.span, "bits, base, shift", help=fix)
        return plain
    if not values:
        return Cells(order, swizzle=_chosen(one, order, sides, lanes, scope))
    swizzle = values[0], values[1], values[2]
    reason = fault(whole(prod(s.extent for s in sides), swizzle), 0, swizzle)
    if reason:
        fix = "take at least 1 bit and a shift of at least 1, or write swizzle alone"
        scope.problems.add("TG158", "this layout of the tile is not one to one", one.span, reason, help=fix)
        return plain
    return Cells(order, swizzle=swizzle)


def _chosen(
    layout: tree.Layout, order: Sequence[int], sides: Sequence[Side], lanes: int, scope: Scope
) -> tuple[int, int, int] | None:
    """The swizzle that spreads a column over the banks, where a row is a power of two."""
    row = sides[order[-1]].extent if order else 1
    if row & (row - 1) or row <= lanes:
        fix = "write layout pad 1, or the numbers: swizzle(bits, base, shift)"
        scope.problems.add(
            "TG545", "a swizzle is chosen for rows of a power of two", layout.span, f"a row of {row} elements", help=fix
        )
        return None
    base = lanes.bit_length() - 1
    width = row.bit_length() - 1
    bits = min(BANKS, width) - base
    return (bits, base, width - base) if bits > 0 else None
