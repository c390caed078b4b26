"""The text of a tile: panels laid out, rows in groups, accumulators in vector registers, results written element by element.

Comes in: a `Tile`. Goes out: the body of its work function and the number of its items.
The one idea: accumulators rest in a small array between blocks of the loops, so a panel never outgrows the cache, an empty loop needs
no case of its own, and rows and lanes at the edge are computed but not written.
"""

from __future__ import annotations

from tinygpu.category.term import Const, Term, Var, substitute, variables
from tinygpu.emit.cpu_panel import Panel, panel_of
from tinygpu.emit.cpu_steps import UPDATE, extent_text, indent, step_lines
from tinygpu.emit.cpu_text import REGISTER, Writer, mangle
from tinygpu.emit.cpu_tile import Cell, Tile
from tinygpu.record import dataclass, field


def width_of(tile: Tile) -> str:
    """How many lanes a row of the tile has."""
    return f"{tile.shape.vectors}*LANES"


def tile_count(tile: Tile, writer: Writer) -> str:
    """How many items: blocks of rows times panels times the points of the other axes."""
    block = tile.shape.rows * tile.shape.groups
    parts = [f"({extent_text(writer, a)})" for a in tile.outer]
    parts.append(f"(({extent_text(writer, tile.row)} + {block - 1}) // {block})")
    parts.append(f"(({extent_text(writer, tile.lane)} + {width_of(tile)} - 1) // ({width_of(tile)}))")
    return " * ".join(parts)


@dataclass(slots=True)
class Panels:
    """The subterms that depend on lanes but not on rows, and the operations that vectors go through."""

    tile: Tile
    shape: Panel
    terms: dict[Term, str] = field(default_factory=dict)
    operations: set[str] = field(default_factory=set)

    def name(self, t: Term) -> str:
        return self.terms.setdefault(t, f"panel{len(self.terms) or ''}")


def tile_lines(tile: Tile, writer: Writer) -> tuple[list[str], set[str]]:
    """The body of `work(first, last, …)`, and the vector operations it calls."""
    panels = Panels(tile, panel_of((*tile.around, tile.loop), tile.shape.block))
    inner = _row_group(tile, panels, writer)
    width = width_of(tile)
    block = tile.shape.rows * tile.shape.groups
    kind = REGISTER[tile.dtype]
    lines = [f"{mangle(c.name)}_cells = np.empty({block}*{width}, {kind})" for c in tile.cells]
    lines += [f"{panel} = np.zeros({tile.shape.block}*{width}, {kind})" for panel in panels.terms.values()]
    if any(isinstance(axis.extent, Const) for axis in (*tile.around, tile.loop)):
        lines.append("nought = min(0, first)  # 0, which the compiler does not know: it would unroll the loops around the tile")
    lines.append("for item in range(first, last):")
    body = _decode(tile, block, width, writer)
    body.append(f"for cell in range({block}*{width}):")
    body += indent([f"{mangle(c.name)}_cells[at(cell)] = {writer.value(c.start)}" for c in tile.cells])
    fill = panels.shape.nested(_fill(tile, panels, width, writer), writer)
    body += panels.shape.blocked(fill + inner, writer)
    body += _after(tile, width, writer)
    return lines + indent(body), panels.operations


def _decode(tile: Tile, block: int, width: str, writer: Writer) -> list[str]:
    """`item` as outer digits, block of rows and panel; consecutive items share their rows."""
    lanes, rows = extent_text(writer, tile.lane), extent_text(writer, tile.row)
    panels, blocks = f"({lanes} + {width} - 1) // ({width})", f"({rows} + {block - 1}) // {block}"
    lines = [
        f"lane_start = {writer.call('remainder', 'item', panels)} * {width}",
        f"lane_count = min({width}, {lanes} - lane_start)",
        f"rest = {writer.call('quotient', 'item', panels)}",
        f"row_start = {writer.call('remainder', 'rest', blocks)} * {block}",
        f"row_stop = min(row_start + {block}, {rows})",
    ]
    if tile.outer:
        lines.append(f"rest = {writer.call('quotient', 'rest', blocks)}")
    for position in reversed(range(len(tile.outer))):
        axis = tile.outer[position]
        digit = writer.call("remainder", "rest", extent_text(writer, axis)) if position else "rest"
        lines.append(f"{mangle(axis.name)} = {digit}")
        if position:
            lines.append(f"rest = {writer.call('quotient', 'rest', extent_text(writer, axis))}")
    return lines


def _fill(tile: Tile, panels: Panels, width: str, writer: Writer) -> list[str]:
    """The panels of one step of the loops; lanes beyond the edge keep what they have, and are never written out."""
    lane, step = mangle(tile.lane.name), panels.shape.place()
    stores = [f"{panel}[at({step}*{width} + lane)] = {writer.value(t)}" for t, panel in panels.terms.items()]
    return ["for lane in range(lane_count):", *indent([f"{lane} = lane_start + lane", *stores])]


def _row_group(tile: Tile, panels: Panels, writer: Writer) -> list[str]:
    """`for row …`: the accumulators of a few rows, loaded, folded over the panel's loops, stored."""
    rows, vectors, row, width = tile.shape.rows, tile.shape.vectors, mangle(tile.row.name), width_of(tile)
    names = [(c, r, v) for c in tile.cells for r in range(rows) for v in range(vectors)]
    place = [f"at({_sum('(row - row_start)*' + width, r * vectors + v)})" for _, r, v in names]
    last = f"{extent_text(writer, tile.row)} - 1"
    head = [f"{row}_0 = row", *(f"{row}_{r} = min(row + {r}, {last})" for r in range(1, rows))]
    load = [f"{_cell(c, r, v)} = lanes_load({mangle(c.name)}_cells, {p})" for (c, r, v), p in zip(names, place, strict=True)]
    store = [f"lanes_store({mangle(c.name)}_cells, {p}, {_cell(c, r, v)})" for (c, r, v), p in zip(names, place, strict=True)]
    known: dict[tuple[Term, int], str] = {}
    work: list[str] = []
    for c in tile.cells:
        for r in range(rows):
            for v in range(vectors):
                value = _vector(c.value, r, v, tile, panels, writer, known, work)
                panels.operations.add(UPDATE[c.update])
                work.append(f"{_cell(c, r, v)} = lanes_{UPDATE[c.update]}({_cell(c, r, v)}, {value})")
    fold = panels.shape.nested(work, writer)
    return [f"for row in range(row_start, row_stop, {rows}):", *indent([*head, *load, *fold, *store])]


def _sum(start: str, vectors: int) -> str:
    return start + (f" + {vectors}*LANES" if vectors > 1 else " + LANES" if vectors else "")


def _cell(cell: Cell, r: int, v: int) -> str:
    return f"{mangle(cell.name)}_{r}_{v}"


def _vector(
    t: Term, r: int, v: int, tile: Tile, panels: Panels, writer: Writer, known: dict[tuple[Term, int], str], work: list[str]
) -> str:
    """The text of a term as a vector; numbers and panels are loaded once, in front of their first use."""
    inside = variables(t) & {tile.row.name, tile.lane.name}
    if tile.lane.name not in inside:
        here = substitute(t, {tile.row.name: Var(f"{tile.row.name}_{r}")})
        if (here, -1) not in known:
            known[here, -1] = f"spread{sum(v < 0 for _, v in known)}"
            work.append(f"{known[here, -1]} = lanes_spread({writer.value(here)})")
        return known[here, -1]
    if tile.row.name not in inside:
        if (t, v) not in known:
            known[t, v] = f"{panels.name(t)}_{v}"
            place = _sum(f"{panels.shape.place()}*{width_of(tile)}", v)
            work.append(f"{known[t, v]} = lanes_load({panels.name(t)}, at({place}))")
        return known[t, v]
    args = [_vector(a, r, v, tile, panels, writer, known, work) for a in t.args]  # type: ignore[union-attr]
    panels.operations.add("sub" if t.op == "neg" else t.op)  # type: ignore[union-attr]
    if t.op == "neg":  # type: ignore[union-attr]
        return f"lanes_sub(lanes_spread({REGISTER[tile.dtype]}(-0.0)), {args[0]})"
    return f"lanes_{t.op}({', '.join(args)})"  # type: ignore[union-attr]


def _after(tile: Tile, width: str, writer: Writer) -> list[str]:
    """What follows the loop, for every element inside."""
    row, lane = mangle(tile.row.name), mangle(tile.lane.name)
    cells = [f"{mangle(c.name)} = {mangle(c.name)}_cells[at(({row} - row_start)*{width} + lane)]" for c in tile.cells]
    element = [f"{lane} = lane_start + lane", *cells, *step_lines(tile.after, writer)]
    return [f"for {row} in range(row_start, row_stop):", *indent(["for lane in range(lane_count):", *indent(element)])]
