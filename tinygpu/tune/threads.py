"""Machines for the threads of any GPU, by rules.

    a product ↦ tiles of threads, each with a tile of registers      rows ↦ a warp each      all else ↦ a thread an element

Comes in: an op. Goes out: states, the one that is likely best first, the last one a launch an equation and a thread an element. The one idea: threads that lie side by side read what lies side by
side, and what is read for many elements is read once for a tile.
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygpu.category.term import Const
from tinygpu.model.op import Op
from tinygpu.syntax import tree
from tinygpu.tune.facts import Group, Names, cell, extent, folded, groups, panels_of, sides
from tinygpu.tune.state import Factor, Nest, State, ordered

THREADS, WARPS, LANES = 256, 4, 32
WAYS = (
    (True, True, True),
    (True, True, False),
    (False, True, True),
    (False, False, False),
)  # which go together, prefixes in one pass, tiles and shared rows
SIDE, CELLS, STEPS = 16, 4, 16  # of a tile of threads, of a thread's own tile, and of the turns that a staged panel serves


def threads(op: Op) -> Iterator[State]:
    """States of an op."""
    for together, scans, tiles in WAYS:
        parts = groups(op, together, scans)
        yield State(op.family, tuple(nest(group, Names(op), len(parts) > 1, tiles) for group in parts))


def nest(group: Group, names: Names, several: bool, tiles: bool) -> Nest:
    """A launch of a group."""
    targets = group.names if several else ()
    if tiles and group.product:
        cuts, loops, stages = tiled(group, names)
        return Nest(targets, cuts, ordered(cuts, loops), stages)
    columns = [c for c in group.columns if group.folds(c)]
    cuts, loops = shared(group, names, columns[0]) if columns and (tiles or not group.rows) else apart(group, names)
    return Nest(targets, cuts, ordered(cuts, loops))


Cuts = tuple[tuple[str, tuple[Factor, ...]], ...]


def shared(group: Group, names: Names, column: str) -> tuple[Cuts, tuple[str, ...]]:
    """A row is shared by a warp, or by a block where there are no rows; whatever else there is, is the thread's time."""
    cuts: dict[str, tuple[Factor, ...]] = {row: (Factor(row, "grid"),) for row in group.rows}
    if group.rows:
        last = group.rows[-1]
        cuts[last] = (Factor(names.new(last, "b"), "grid"), Factor(names.new(last, "w"), "block", WARPS))
    lanes = Factor(names.new(column, "t"), "block", LANES if group.rows else THREADS)
    cuts[column] = (Factor(names.new(column, "c"), "time"), lanes)
    cuts |= {c: (Factor(c, "time"),) for c in group.columns if c != column}
    order = (*(c for c in group.columns if c != column and not group.folds(c)), cuts[column][0].name,
             *(c for c in group.columns if c != column and group.folds(c)))  # fmt: skip
    return tuple(cuts.items()), order


def apart(group: Group, names: Names) -> tuple[Cuts, tuple[str, ...]]:
    """A thread an element, or a row where rows are of several; folds are its time."""
    cuts: dict[str, tuple[Factor, ...]] = {row: (Factor(row, "grid"),) for row in group.rows}
    wide = next((row for row in reversed(group.rows) if not isinstance(extent(group, row), Const)), "")
    if wide:
        cuts[wide] = (Factor(names.new(wide, "b"), "grid"), Factor(names.new(wide, "t"), "block", THREADS))
    cuts |= {c: (Factor(c, "time"),) for c in group.columns}
    own = [c for c in group.columns if any(a.name == c for e in group.equations for a in e.axes)]
    return tuple(cuts.items()), (*own, *(c for c in group.columns if c not in own))


def tiled(group: Group, names: Names) -> tuple[Cuts, tuple[str, ...], tuple[tree.Stage, ...]]:
    """A product by tiles: two indices of the elements are cut, and panels of what is multiplied are staged where they are read at indices alone."""
    (one,) = (e for e in group.equations if sides(e) is not None)
    down, across = sides(one) or ("", "")
    cuts: dict[str, tuple[Factor, ...]] = {row: (Factor(row, "grid"),) for row in group.rows}
    for index in (down, across):
        cuts[index] = (Factor(names.new(index, "b"), "grid"), Factor(names.new(index, "t"), "block", SIDE),
                       Factor(names.new(index, "r"), "register", CELLS))  # fmt: skip
    folds = tuple(dict.fromkeys(a.name for a in folded(one)))
    inner, panels = folds[-1], panels_of(one, down, across)
    cuts |= {c: (Factor(c, "time"),) for c in folds}
    if not panels:
        return tuple(cuts.items()), folds, ()
    cuts[inner] = (Factor(names.new(inner, "o"), "time"), Factor(names.new(inner, "i"), "time", STEPS))
    outer, turn = (f.name for f in cuts[inner])
    return tuple(cuts.items()), (outer, turn), tuple(tree.Stage(cell(r), outer, "shared") for r in panels)
