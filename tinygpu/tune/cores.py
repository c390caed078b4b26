"""Machines for the cores of a CPU, by rules.

    a product ↦ tiles of vector registers over panels that a core packs       rows ↦ a core each, in vectors       all else ↦ vectors

Comes in: an op. Goes out: states, best first. The one idea: memory lies along one index, so that one has a vector's lanes; what is read for many elements stays in registers; what is around is cut
so that a panel fits a cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from tinygpu.category.term import Const, Var, reads
from tinygpu.model.op import Op
from tinygpu.syntax import tree
from tinygpu.tune.facts import Group, Names, cell, extent, folded, groups, panels_of, read_again, sides
from tinygpu.tune.prefix import BLOCKS, blocks
from tinygpu.tune.state import CPU, Factor, Nest, State, ordered

LANES, ROWS, VECTORS = 16, 8, 3  # of a vector; a tile of registers: 24 of 32 hold sums
TURNS, DEEP = 32, 256  # tiles of rows, and steps of a fold, that a panel serves
UNROLLED, SQUARE = 4, 256  # vectors of a row at a time; the side of a square that is turned


def cores(op: Op) -> Iterator[State]:
    """States of an op."""
    found = dict[State, None]()
    for scans, together in product((True, False), repeat=2):
        parts = groups(op, together, scans)
        lengths = (0, *BLOCKS) if any(g.along for g in parts) else (0,)
        for panels, block in product((True, False), lengths):
            nests = [_nests(g, Names(op), len(parts) > 1, panels, block) for g in parts]
            if all(some and some[0].of("core") for some in nests):
                found[State(op.family, tuple(n for some in nests for n in some), CPU)] = None
    yield from found


def _nests(group: Group, names: Names, several: bool, panels: bool, block: int) -> tuple[Nest, ...]:
    """A launch; of prefixes that are cut into blocks three."""
    return blocks(group, names, several, block) if block and group.along else (_nest(group, names, several, panels),)


def _nest(group: Group, names: Names, several: bool, panels: bool) -> Nest:
    if group.product:
        cuts, loops, said = _tiled(group, names, panels)
    else:
        cuts, loops, said = _rows(group, names)
    every = tuple(cuts.items())
    return Nest(group.names if several else (), every, ordered(every, loops), said)


Cuts = dict[str, tuple[Factor, ...]]
Parts = tuple[Cuts, tuple[str, ...], tuple[tree.Stage | tree.Prefetch, ...]]


def _tiled(group: Group, names: Names, panels: bool) -> Parts:
    """A product: rows in registers, columns in vectors, the panel that vectors are read from packed, as long as a cache holds it."""
    (one,) = (e for e in group.equations if sides(e) is not None)
    down, across = sides(one) or ("", "")
    cuts: Cuts = {row: (Factor(row, "core"),) for row in group.rows}
    found = panels_of(one, down, across) if panels else ()
    turns = (Factor(names.new(down, "t"), "time", TURNS),) if found else ()
    cuts[down] = (Factor(names.new(down, "b"), "core"), *turns, Factor(names.new(down, "r"), "register", ROWS))
    vectors = Factor(names.new(across, "r"), "register", VECTORS)
    cuts[across] = (Factor(names.new(across, "b"), "core"), vectors, Factor(names.new(across, "v"), "simd", LANES))
    folds = tuple(dict.fromkeys(a.name for a in folded(one)))
    cuts |= {c: (Factor(c, "time"),) for c in folds}
    if not found:
        return cuts, folds, ()
    inner = folds[-1]
    cuts[inner] = (Factor(names.new(inner, "o"), "time"), Factor(names.new(inner, "i"), "time", DEEP))
    outer, deep = (f.name for f in cuts[inner])
    return cuts, (outer, *(f.name for f in turns), deep), (tree.Stage(cell(found[-1]), outer, "core"),)


def _rows(group: Group, names: Names) -> Parts:
    """A row a core; of the index that memory lies along some vectors at a time; the next row is fetched meanwhile."""
    wide = "" if group.along else _along(group)
    own = [c for c in group.columns if any(a.name == c for e in group.equations for a in e.axes)]
    cuts: Cuts = {row: (Factor(row, "core"),) for row in group.rows}
    cuts |= {c: (Factor(c, "time"),) for c in (*group.columns, *group.along.values()) if c not in cuts}
    if wide:
        vectors = Factor(names.new(wide, "u"), "register", UNROLLED)
        lanes = Factor(names.new(wide, "v"), "simd", LANES)
        level = "core" if wide in group.rows else "time"
        cuts[wide] = (Factor(names.new(wide, "c"), level), vectors, lanes)
        if level == "core" and (other := _across(group)):
            cuts[other] = (Factor(names.new(other, "c"), "core"), Factor(names.new(other, "t"), "time", SQUARE))
            cuts[wide] = (cuts[wide][0], Factor(names.new(wide, "t"), "time", SQUARE // LANES), lanes)
            return cuts, (cuts[other][1].name, cuts[wide][1].name), ()
    loops = (*own, *(c for c in cuts if c not in own and cuts[c][0].level == "time"))
    said = tuple(map(tree.Prefetch, read_again(names.op, group)))
    return cuts, tuple(cuts[c][0].name for c in dict.fromkeys(loops) if cuts[c][0].level == "time"), said


def _across(group: Group) -> str:
    """The index that something is read along, where all is written along another one; none where they are one."""
    read = (r.index[-1] for e in group.equations for r in reads(e.value) if len(r.index) > 1)
    written = {e.axes[-1].name for e in group.equations}
    other = (i.name for i in read if isinstance(i, Var) and i.name not in written and _long(group, i.name))
    return next((i for i in other if i in group.rows and not group.columns), "")


def _along(group: Group) -> str:
    """The index along which memory lies for most of what is read and written, if it is long enough for vectors."""
    last = [e.axes[-1].name for e in group.equations if e.axes]
    last += [r.index[-1].name for e in group.equations for r in reads(e.value) if r.index and isinstance(r.index[-1], Var)]
    mine = [i for i in last if i in (*group.rows, *group.columns) and i not in group.along and _long(group, i)]
    return max(mine, key=lambda i: (i in group.columns, mine.count(i)), default="")


def _long(group: Group, index: str) -> bool:
    found = extent(group, index)
    return not isinstance(found, Const) or int(found.value) >= LANES
