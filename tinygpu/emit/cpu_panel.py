"""Which loops one panel serves: as many of the innermost ones as fit, so that accumulators stay in registers through all of them.

Comes in: the loops of a tile, outermost first. Goes out: those outside of the panel, the one that is cut into blocks, the ones inside.
The one idea: a panel has room for so many steps; loops that are known to be short are in it whole, and the next one as far as there is room.
"""

from __future__ import annotations

from tinygpu.category.term import App, Axis, Const, Term
from tinygpu.emit.cpu_steps import indent
from tinygpu.emit.cpu_text import Writer, mangle
from tinygpu.record import dataclass


@dataclass(frozen=True, slots=True)
class Panel:
    """`outside` runs around everything, `cut` in blocks of `count` turns; then come the loops inside, each with its most turns."""

    outside: tuple[Axis, ...]
    cut: Axis | None
    count: int
    inside: tuple[tuple[Axis, int], ...]

    def place(self) -> str:
        """The number of a step in the panel, of the digits of its loops."""
        text = "" if self.cut is None else f"({mangle(self.cut.name)} - block)"
        for axis, most in self.inside:
            text = f"({text}*{most} + {mangle(axis.name)})" if text else mangle(axis.name)
        return text

    def nested(self, body: list[str], writer: Writer) -> list[str]:
        """The loops of the panel around a body."""
        for axis, _ in reversed(self.inside):
            body = around(axis, body, writer)
        if self.cut is not None:
            body = [f"for {mangle(self.cut.name)} in range(block, block_end):", *indent(body)]
        return body

    def blocked(self, body: list[str], writer: Writer) -> list[str]:
        """What is around the panel: the blocks, and the loops outside."""
        if self.cut is not None:
            extent = writer.index(self.cut.extent)
            end = f"block_end = min(block + {self.count}, {extent})"
            body = [f"for block in range(0, {extent}, {self.count}):", *indent([end, *body])]
        for axis in reversed(self.outside):
            body = around(axis, body, writer)
        return body


def around(axis: Axis, body: list[str], writer: Writer) -> list[str]:
    """One whole loop around a body."""
    more = " + nought" if isinstance(axis.extent, Const) else ""
    return [f"for {mangle(axis.name)} in range({writer.index(axis.extent)}{more}):", *indent(body)]


def panel_of(loops: tuple[Axis, ...], room: int = 512) -> Panel:
    """`loops of a tile → what one panel serves`, if it is laid out for `room` steps.

    >>> from tinygpu.category.term import Var
    >>> c, r, few = Axis("c", Var("C")), Axis("r", Const(3)), Axis("k", App("min", (Const(8), Var("K"))))
    >>> [a.name for a in panel_of((c, r, few)).outside], panel_of((c, r, few)).count, panel_of((c, r, few)).place()
    ([], 21, '(((c - block)*3 + r)*8 + k)')
    >>> [a.name for a in panel_of((r, c)).outside], panel_of((r, c)).place()
    (['r'], '(c - block)')
    """
    inside: list[tuple[Axis, int]] = []
    for number in reversed(range(len(loops))):
        turns = most(loops[number].extent)
        if turns is None or turns > room:
            cut = room > 1
            return Panel(loops[: number if cut else number + 1], loops[number] if cut else None, room, tuple(inside))
        inside.insert(0, (loops[number], turns))
        room //= max(1, turns)
    return Panel((), None, 0, tuple(inside))


def most(extent: Term) -> int | None:
    """The greatest value of an extent, where it can be seen."""
    match extent:
        case Const(int(value)):
            return value
        case App("min", args):
            return min((n for n in map(most, args) if n is not None), default=None)
    return None
