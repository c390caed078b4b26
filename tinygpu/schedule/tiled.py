"""The launch of a tile: panels laid out, rows in groups, accumulators that a core holds, results written element by element.

    acc[i, j] += A[i, k] * B[k, j]   ↦   for block: panel[k, j] = B[k, j];  for rows, k, j: cells[i, j] += A[i, k] * panel[k, j]
    c < C, r < 3, s < 3   ↦   panels of 56·3·3 steps: for block < ⌈C / 56⌉: for c < 56, r < 3, s < 3

Comes in: a `Tile`. Goes out: a launch. The one idea: accumulators rest in a small array between blocks of the loops, so a panel never
outgrows the cache, an empty loop needs no case of its own, and rows and lanes at the edge are computed but not written. A panel has room for so many
steps: loops that are known to be short are in it whole, and the next one as far as there is room, so that accumulators stay in registers through all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tinygpu.category.term import (
    TRUE,
    App,
    Axis,
    Const,
    Read,
    Term,
    Var,
    ceildiv,
    conjunction,
    conjuncts,
    memoised,
    rebuild,
    select,
    substitute,
    variables,
)
from tinygpu.program.lanes import LANES
from tinygpu.program.space import LOCAL
from tinygpu.program.step import Array, Assign, For, If, Launch, Step
from tinygpu.record import dataclass, field, replace
from tinygpu.schedule.nest import Body, moved, substituted
from tinygpu.schedule.scope import guarded
from tinygpu.schedule.tile import Tile


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
        for axis, turns in self.inside:
            out = out * turns + Var(axis.name)
        return out

    @property
    def own(self) -> dict[str, Term]:
        """The turn of the loop that is cut, by those of its pieces."""
        if self.cut is None or self.blocks is None:
            return {}
        return {self.cut.name: Var(self.blocks.name) * self.count + Var(self.turn)}

    @property
    def guards(self) -> tuple[Term, ...]:
        """That the last block ends where the loop does."""
        return () if self.cut is None else (self.own[self.cut.name] < self.cut.extent,)

    def within(self, body: Body) -> Body:
        """The loops of the panel around a body."""
        for axis, _ in reversed(self.inside):
            body = (For(axis, body),)
        return (For(replace(self.cut, name=self.turn, extent=Const(self.count)), body),) if self.cut is not None else body

    def around(self, body: Body) -> Body:
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


@dataclass(slots=True)
class Tiled:
    """A tile with the names of its loops; `panels` are the terms that depend on lanes but not on rows, each with its array."""

    tile: Tile
    fresh: Callable[[str], str]
    panels: dict[Term, str] = field(default_factory=dict)

    def launch(self) -> Launch:
        """`tile → launch`."""
        tile, fresh = self.tile, self.fresh
        shape, row, lane = tile.shape, tile.row, tile.lane
        block, width = shape.rows * shape.groups, shape.vectors * LANES
        down = Axis(fresh(f"{row.name}_tile"), ceildiv(row.extent, block), "grid")
        across = Axis(fresh(f"{lane.name}_tile"), App("ceildiv", (lane.extent, width)), "grid")
        rows, lanes = Axis(fresh(f"{row.name}_in"), Const(block), "time"), Axis(fresh(f"{lane.name}_in"), width, "time")
        own = {row.name: Var(down.name) * block + Var(rows.name), lane.name: Var(across.name) * width + Var(lanes.name)}
        inside = own[row.name] < row.extent, own[lane.name] < lane.extent
        cells = {c.name: fresh(f"{c.name}_cells") for c in tile.cells}
        here = (Var(rows.name), Var(lanes.name))
        start = tuple(Assign(cells[c.name], here, c.start) for c in tile.cells)
        panel = panel_of((*tile.around, tile.loop), fresh, shape.block)
        fold = self._fold(panel, down, cells)
        body = (*self._fill(panel, lanes, own[lane.name]), *fold)
        arrays = [Array(cells[c.name], tile.dtype, (Const(block), width), LOCAL) for c in tile.cells]
        arrays += [Array(name, tile.dtype, (Const(shape.block), width), LOCAL) for name in self.panels.values()]
        arrays += tile.held
        after = tuple(substituted(s, own) for s in tile.after)
        after = moved(after, lambda name, index: (cells[name], here) if name in cells else (name, index))
        end = For(rows, (For(lanes, (If(conjunction(*inside), after),)),))
        grid = (*tile.outer, down, across)
        used = own[row.name] < row.extent + (shape.rows - 1)  # by a group that has a row
        begin = For(rows, guarded(used, (For(lanes, start),), {*cells.values()}))
        return Launch(grid, (), (*arrays, begin, *panel.around(body), end))

    def _fold(self, panel: Panel, down: Axis, cells: Mapping[str, str]) -> Body:
        """A few rows after the other: all steps of the panel, for all rows and vectors at once."""
        tile, shape = self.tile, self.tile.shape
        group, r, v, lane = (Axis(self.fresh(n), Const(e), s) for n, e, s in (
            ("group", shape.groups, "time"), ("r", shape.rows, "register"), ("vector", shape.vectors, "register"), ("lane", 0, "vector")))  # fmt: skip
        first = Var(down.name) * (shape.rows * shape.groups) + Var(group.name) * shape.rows
        row = App("min", (first + Var(r.name), tile.row.extent - 1))
        column = Var(v.name) * LANES + Var(lane.name)
        place = Var(group.name) * shape.rows + Var(r.name), column
        at = {**panel.own, tile.row.name: row}
        each = tuple(Assign(cells[c.name], place, self._value(c.value, at, (panel.place(), column)), c.update) for c in tile.cells)
        body: Body = (For(r, (For(v, (For(Axis(lane.name, LANES, "vector"), each),)),)),)
        body = guarded(conjunction(first < tile.row.extent, *self._conditions(panel)), panel.within(body), {*cells.values()})
        return (For(group, body),)

    @memoised
    def _value(self, t: Term, at: Mapping[str, Term], place: tuple[Term, ...]) -> Term:
        """A term at a row and a lane of the tile: what depends on lanes alone is read from a panel."""
        inside = variables(t) & {self.tile.row.name, self.tile.lane.name}
        if self.tile.lane.name not in inside:
            return substitute(t, at)
        if self.tile.row.name not in inside:
            name = self.panels.get(t) or self.panels.setdefault(t, self.fresh(f"panel{len(self.panels) or ''}"))
            return Read(name, place, self.tile.dtype)
        return rebuild(t, lambda c: self._value(c, at, place))

    def _conditions(self, panel: Panel) -> tuple[Term, ...]:
        """Where the loops of a panel do something: before the loop that is cut ends, and where the tile's own condition holds."""
        return (*panel.guards, *conjuncts(substitute(self.tile.guard, panel.own)))

    def _fill(self, panel: Panel, lanes: Axis, lane: Term) -> Body:
        """The panels of one block; lanes beyond the edge are 0, and are never written out."""
        place, inside, own = (panel.place(), Var(lanes.name)), lane < self.tile.lane.extent, {self.tile.lane.name: lane}
        out: list[Step] = []
        for t, name in self.panels.items():
            nothing = Const(0.0, self.tile.dtype)
            alike, value = once(t, self.tile.lane.name, nothing)
            beyond = TRUE if alike != TRUE else lane >= self.tile.lane.extent
            ways = ((value, conjunction(alike, inside)), (nothing, beyond))
            for found, guard in reversed(ways) if beyond == TRUE else ways:
                whole = conjunction(*self._conditions(panel), substitute(guard, panel.own))
                step = Assign(name, place, substitute(found, {**panel.own, **own}))
                out += guarded(whole, panel.within((For(lanes, (step,)),)), {*self.panels.values()})
        return tuple(out)


def once(t: Term, lane: str, nothing: Term) -> tuple[Term, Term]:
    """What no lane tells of the condition without which a term is nothing, which is asked once for all lanes, and the term there.

    >>> from tinygpu.category.term import text
    >>> p, q, n, nothing = Var("p"), Var("q"), Var("n"), Const(0.0, "f32")
    >>> found = once(select(conjunction(p < n, q < n), Read("x", (p, q), "f32"), nothing), "q", nothing)
    >>> tuple(map(text, found))
    ('p < n', 'x[p, q] if q < n else 0')
    """
    match t:
        case App("select", (condition, then, otherwise)) if otherwise == nothing:
            parts = conjuncts(condition)
            alike = conjunction(*(p for p in parts if lane not in variables(p)))
            return alike, select(conjunction(*(p for p in parts if lane in variables(p))), then, otherwise)
    return TRUE, t
