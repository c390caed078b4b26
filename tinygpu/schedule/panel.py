"""Which loops one panel serves: as many of the innermost ones as fit, so that accumulators stay in registers through all of them.

    c < C, r < 3, s < 3   ↦   panels of 21·3·3 steps: for block < ⌈C / 21⌉: for c < 21, r < 3, s < 3

Comes in: the loops of a tile, outermost first. Goes out: those outside of the panel, the one that is cut into blocks, the ones inside.
The one idea: a panel has room for so many steps; loops that are known to be short are in it whole, and the next one as far as there is room.
"""

from __future__ import annotations

from collections.abc import Callable

from tinygpu.category.term import App, Axis, Const, Term, Var, ceildiv
from tinygpu.program.step import For, Step
from tinygpu.record import dataclass, replace


@dataclass(frozen=True, slots=True)
class Panel:
    """`outside` runs around everything, `cut` in `blocks` of `count` turns; then come the loops inside, each with its most turns."""

    outside: tuple[Axis, ...]
    cut: Axis | None
    blocks: Axis | None
    turn: str
    count: int
    inside: tuple[tuple[Axis, int], ...]

    def place(self) -> Term:
        """The number of a step in the panel, of the digits of its loops."""
        out: Term = Const(0) if self.cut is None else Var(self.turn)
        for axis, most_ in self.inside:
            out = out * most_ + Var(axis.name)
        return out

    @property
    def own(self) -> dict[str, Term]:
        """The turn of the loop that is cut, by those of its pieces."""
        return (
            {} if self.cut is None or self.blocks is None else {self.cut.name: Var(self.blocks.name) * self.count + Var(self.turn)}
        )

    @property
    def guards(self) -> tuple[Term, ...]:
        """That the last block ends where the loop does."""
        return () if self.cut is None else (self.own[self.cut.name] < self.cut.extent,)

    def within(self, body: tuple[Step, ...]) -> tuple[Step, ...]:
        """The loops of the panel around a body."""
        for axis, _ in reversed(self.inside):
            body = (For(axis, body),)
        return (For(replace(self.cut, name=self.turn, extent=Const(self.count)), body),) if self.cut is not None else body

    def around(self, body: tuple[Step, ...]) -> tuple[Step, ...]:
        """What is around the panel: the blocks, and the loops outside."""
        for axis in (*((self.blocks,) if self.blocks else ()), *reversed(self.outside)):
            body = (For(axis, body),)
        return body


def panel_of(loops: tuple[Axis, ...], fresh: Callable[[str], str] = str, room: int = 512) -> Panel:
    """`loops of a tile → what one panel serves`, if it is laid out for `room` steps.

    >>> from tinygpu.category.term import text
    >>> c, r, few = Axis("c", Var("C")), Axis("r", Const(3)), Axis("k", App("min", (Const(8), Var("K"))))
    >>> [a.name for a in panel_of((c, r, few)).outside], panel_of((c, r, few)).count, text(panel_of((c, r, few)).place())
    ([], 21, '(c_in*3 + r)*8 + k')
    >>> [a.name for a in panel_of((r, c)).outside], text(panel_of((r, c)).place())
    (['r'], 'c_in')
    """
    inside: list[tuple[Axis, int]] = []
    for number in reversed(range(len(loops))):
        axis = loops[number]
        turns = most(axis.extent)
        if turns is None or turns > room:
            if room <= 1:
                return Panel(loops[: number + 1], None, None, "", 0, tuple(inside))
            block = Axis(fresh(f"{axis.name}_block"), ceildiv(axis.extent, room), "time")
            return Panel(loops[:number], axis, block, fresh(f"{axis.name}_in"), room, tuple(inside))
        inside.insert(0, (axis, turns))
        room //= max(1, turns)
    return Panel((), None, None, "", 0, tuple(inside))


def most(extent: Term) -> int | None:
    """The greatest value of an extent, where it can be seen."""
    match extent:
        case Const(int(value)):
            return value
        case App("min", args):
            return min((n for n in map(most, args) if n is not None), default=None)
    return None
