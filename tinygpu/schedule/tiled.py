"""The launch of a tile: panels laid out, rows in groups, accumulators that a core holds, results written element by element.

    acc[i, j] += A[i, k] * B[k, j]   ↦   for block: panel[k, j] = B[k, j];  for rows, k, j: cells[i, j] += A[i, k] * panel[k, j]

Comes in: a `Tile`. Goes out: a launch. The one idea: accumulators rest in a small array between blocks of the loops, so a panel never
outgrows the cache, an empty loop needs no case of its own, and rows and lanes at the edge are computed but not written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tinygpu.category.term import App, Axis, Const, Read, Term, Var, ceildiv, conjunction, conjuncts, rebuild, substitute, variables
from tinygpu.program.space import LOCAL
from tinygpu.program.step import Array, Assign, For, If, Launch, Step
from tinygpu.record import dataclass, field
from tinygpu.schedule.panel import Panel, panel_of
from tinygpu.schedule.pieces import substituted
from tinygpu.schedule.scope import guarded
from tinygpu.schedule.tile import Tile

LANES = Var("@LANES")  # numbers in a vector register of the machine that runs it
WIDTHS = {"f32": (16, 8), "f64": (8, 4)}  # with and without AVX-512


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
        held = {name: Read(array, here, tile.dtype) for name, array in cells.items()}
        after = tuple(_held(substituted(s, own), held) for s in tile.after)
        end = For(rows, (For(lanes, (If(conjunction(*inside), after),)),))
        grid = (*tile.outer, down, across)
        return Launch(grid, (), (*arrays, For(rows, (For(lanes, start),)), *panel.around(body), end))

    def _fold(self, panel: Panel, down: Axis, cells: Mapping[str, str]) -> tuple[Step, ...]:
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
        body: tuple[Step, ...] = (For(r, (For(v, (For(Axis(lane.name, LANES, "vector"), each),)),)),)
        body = guarded(conjunction(first < tile.row.extent, *self._conditions(panel)), panel.within(body), {*cells.values()})
        return (For(group, body),)

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

    def _fill(self, panel: Panel, lanes: Axis, lane: Term) -> tuple[Step, ...]:
        """The panels of one block; lanes beyond the edge are 0, and are never written out."""
        place, edge = (panel.place(), Var(lanes.name)), lane < self.tile.lane.extent
        own = {**panel.own, self.tile.lane.name: lane}
        nothing = Const(0.0, self.tile.dtype)
        inside = tuple(Assign(name, place, substitute(t, own)) for t, name in self.panels.items())
        beyond = tuple(Assign(name, place, nothing) for name in self.panels.values())
        out: list[Step] = []
        for values, guard in ((inside, edge), (beyond, lane >= self.tile.lane.extent)):
            whole = conjunction(*self._conditions(panel), guard)
            out += guarded(whole, panel.within((For(lanes, values),)), {*self.panels.values()})
        return tuple(out)


def _held(step: Step, cells: Mapping[str, Read]) -> Step:
    """A step that reads the accumulators where they rest."""

    def change(t: Term) -> Term:
        return cells[t.tensor] if isinstance(t, Read) and t.tensor in cells else rebuild(t, change)

    assert isinstance(step, Assign), "nothing else follows the loop of a tile"
    return Assign(step.target, tuple(map(change, step.index)), change(step.value), step.update, change(step.guard), step.span)
