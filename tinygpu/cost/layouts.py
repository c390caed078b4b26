"""Layouts without conflicts: of a block's array one with which none of its accesses meets a bank twice.

Comes in: a cost, the name of an array in shared memory. Goes out: a layout, or None. The one idea: a layout changes where cells lie and nothing else, so the
same accesses are counted again with each of a few, and what is named is what was counted.
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygpu.category.layout import Layout, conflict_free, fault
from tinygpu.category.term import Const
from tinygpu.cost.measure import Cost
from tinygpu.cost.sites import Access
from tinygpu.cost.warps import tally
from tinygpu.record import replace


def without_conflicts(cost: Cost, name: str) -> Layout | None:
    """The first of a few layouts with which no access to an array waits: pieces that move at once stay pieces."""
    every = [made for one in cost.lines if one.array == name for made in one.made]
    array, piece = every[0].array, max(access.lanes for access in every)
    last = array.extents[-1:]
    row = array.layout.panels or (int(last[0].value) if last and isinstance(last[0], Const) else 0)
    made = (replace(layout, panels=array.layout.panels) for layout in layouts(row, piece, every[0].item))
    return next((layout for layout in made if free(cost, every, layout)), None)


def layouts(row: int, piece: int, item: int) -> Iterator[Layout]:
    """A swizzle, which takes no memory, and pads.

    >>> [*map(said, layouts(32, 8, 2))]
    ['swizzle(2, 3, 3)', 'pad 8', 'pad 16']
    """
    if row and (swizzle := conflict_free(row, piece, item)) is not None:
        yield Layout(swizzle=swizzle)
    yield from (Layout(pad=piece * times) for times in (1, 2))


def free(cost: Cost, every: list[Access], layout: Layout) -> bool:
    """Whether accesses to one array meet no bank twice with a layout."""
    if fault(every[0].array.extents, layout):
        return False
    moved = (replace(access, array=replace(access.array, layout=layout)) for access in every)
    return all((found := tally(cost.program, access, cost.sizes)) is not None and found.worst in (0, 1) for access in moved)


def said(layout: Layout) -> str:
    """As a text has it.

    >>> said(Layout(pad=8)), said(Layout(swizzle=(2, 3, 3)))
    ('pad 8', 'swizzle(2, 3, 3)')
    """
    own = f"swizzle{layout.swizzle}" if layout.swizzle else f"pad {layout.pad}"
    return f"panels {layout.panels} {own}" if layout.panels else own
