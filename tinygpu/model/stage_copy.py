"""The copy of a tile where its stage does not say how it is done, and the layout of its cells.

Comes in: the sides of a tile, how many threads a block has, and the `layout` clauses. Goes out: the block as one factor with the copy's
assignment; the order of the axes, the pad of the rows, the swizzle of the addresses.
The one idea: neighbouring threads copy neighbouring elements, and each 16 bytes at once where the rows of the tile are such groups.
A tile that lies turned is stored down its columns. There two neighbours copy the 32 bytes that memory moves at least, and the next two
those of the next row: a warp stores 2 × 16 elements, which meet no bank twice where the rows are 4 elements longer than 8 divide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from tinygpu.category.dtype import BYTES
from tinygpu.category.layout import PLAIN, Layout, conflict_free, fault
from tinygpu.category.linear import polynomial
from tinygpu.category.owner import Arrow, digits
from tinygpu.category.region import Region
from tinygpu.category.simplify import simplify
from tinygpu.category.term import Axis, Const, Term, Var, lift
from tinygpu.model.assignment import Setting, owner
from tinygpu.model.clauses import Clauses
from tinygpu.model.op import Equation
from tinygpu.model.problems import Problems
from tinygpu.model.scope import Scope
from tinygpu.model.tile import BLOCK, Side
from tinygpu.model.value import index
from tinygpu.model.work import Factor, Placement, by_index, factor_table, with_written_extents
from tinygpu.syntax import tree

Swizzle = tuple[int, int, int]
UNROLLED = 8  # turns of a copy up to here are unrolled, so that their loads wait together


def default_copy(
    sides: Sequence[Side], threads: int, dtype: str = "f32", fastest: str = "", most: int = 16
) -> tuple[tuple[Axis, ...], Arrow]:
    """The flat thread number over the merged tile, the last axis fastest; on a core, where `threads` is 0, plain loops. `fastest` names the
    axis whose neighbours are so in the tile too, if that is another one; at most so many bytes are copied at once.

    >>> from tinygpu.category.term import text
    >>> block, arrow = default_copy((Side("i", 16, Const(0)), Side("k", 8, Const(0))), 16)
    >>> [text(t) for t in arrow.terms], [f"{a.name} < {text(a.extent)}" for a in arrow.domain.axes]
    (['copy*8 + thread // 2', 'thread % 2*4 + lane'], ['copy < 2', 'thread < 16', 'lane < 4'])
    """
    if not threads:
        return (), _copy_of_core(sides)
    lanes = lanes_of(sides[-1], max(1, most // BYTES[dtype])) if sides else 1
    extents = [s.extent // (lanes if s is sides[-1] else 1) for s in sides]
    turns = -(-prod(extents) // threads)
    thread = Axis("thread", Const(threads), BLOCK)
    copy = Axis("copy", Const(turns), "register" if turns <= UNROLLED else "time")
    weights = _weights([s.name for s in sides], extents, fastest if lanes > 1 else "")
    cut = digits(tuple(Axis("", Const(extent)) for _, extent, _ in weights), (copy, thread) if turns > 1 else (thread,))
    lane = (Axis("lane", Const(lanes), "vector"),) if lanes > 1 else ()
    box = Region((*cut.domain.axes, *lane), cut.domain.guard)
    terms: list[Term] = [lift(0)] * len(sides)
    for (axis, _, weight), digit in zip(weights, cut.terms, strict=True):
        terms[axis] = simplify(terms[axis] + digit * weight, box)
    if lane:
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


def _weights(names: Sequence[str], extents: Sequence[int], fastest: str) -> list[tuple[int, int, int]]:
    """`(axis, extent, weight)` of the digits of the thread number, slowest first: the axes in order; or with those of the fastest and then two
    of the last one behind."""
    last = len(extents) - 1
    turned = names.index(fastest) if fastest in names else last
    if turned == last or extents[last] % 2:
        return [(axis, extent, 1) for axis, extent in enumerate(extents)]
    others = [(axis, extent, 1) for axis, extent in enumerate(extents) if axis not in (last, turned)]
    return [*others, (last, extents[last] // 2, 2), (turned, extents[turned], 1), (last, 2, 1)]


def lanes_of(side: Side, most: int) -> int:
    """How many neighbours are copied at once: `most` or half of them, where a side is made of such groups, else one."""
    parts = (side.extent, *polynomial(side.origin).values())
    return next((n for n in (most, most // 2) if n > 1 and not side.digits and all(part % n == 0 for part in parts)), 1)


def threads_of(block: Sequence[Axis]) -> int:
    """How many threads a block has."""
    return prod(int(a.extent.value) for a in block if isinstance(a.extent, Const))


def shared_out(
    said: Clauses, box: Equation, of_block: Sequence[Axis], where: Term, scope: Scope
) -> tuple[tuple[Axis, ...], Arrow | None]:
    """The factors of the block in a copy of a box, and the assignment that its clauses say; no assignment after a message."""
    table, axes, threads = factor_table(said, scope), box.axes, threads_of(of_block)
    if not said.work:
        table = {**{a.name: Factor(a.name, BLOCK, a.extent, a.span) for a in of_block}, **table}
    table = with_written_extents(table, (b for c in said.compute for b in c.bindings), scope)
    if not _lawful(said, table, of_block, scope.problems):
        return (), None
    setting = Setting(scope, table, where, box.span)
    ones = {
        a.name: Placement((a.name,), (), a.span, (), tree.Number("0")) for a in axes if a.extent == Const(1) and a.name not in table
    }
    arrow = owner(box, {**ones, **by_index(said.compute, table, frozenset(a.name for a in axes), scope)}, setting)
    for factor in (f for f in table.values() if arrow is not None and (said.work or f.sort != BLOCK)):
        if factor.name not in setting.used:
            scope.problems.say("TG134.tile", factor.span, name=factor.name)
    mine = [f for f in table.values() if f.sort == BLOCK]
    extents = [f.extent if f.extent is not None else setting.inferred.get(f.name, (Const(1), ""))[0] for f in mine]
    block = tuple(Axis(f.name, extent, BLOCK, f.span) for f, extent in zip(mine, extents, strict=True))
    if arrow is not None and threads_of(block) > threads:
        scope.problems.say("TG544.threads", box.span, size=threads_of(block), threads=threads)
        return block, None
    return block, arrow


def _lawful(said: Clauses, table: Mapping[str, Factor], of_block: Sequence[Axis], problems: Problems) -> bool:
    """Whether the copy is done by the block, with factors of its own."""
    before, names = len(problems), {a.name for a in of_block}
    for factor in table.values():
        if factor.sort == "grid":
            problems.say("TG543.grid", factor.span)
        if factor.sort != BLOCK and factor.name in names and not said.work:
            problems.say("TG102.of_block", factor.span, name=factor.name)
    return len(problems) == before


def laid_out(
    layouts: Sequence[tree.Layout], sides: Sequence[Side], lanes: int, size: int, scope: Scope
) -> tuple[tuple[int, ...], Layout]:
    """Which axis of the tensor is the slowest of the tile, and so on, and the layout that is written, or the plain one; `lanes` neighbours of a
    row, each of `size` bytes, are copied at once and stay together."""
    say, names = scope.problems.say, [s.name for s in sides]
    plain = tuple(range(len(sides))), PLAIN
    for second in layouts[1:]:
        say("TG102.layout", second.span, layouts[0].span)
    if not layouts:
        return plain
    one = layouts[0]
    if one.order and sorted(one.order) != sorted(names):
        say("TG545.order", one.span, axes=", ".join(names), turned=", ".join(reversed(names)))
        return plain
    order = tuple(names.index(n) for n in one.order) or plain[0]
    numbers = [index(arg, scope) for arg in one.place.args] if one.place else []
    values = tuple(int(n.value) for n in numbers if isinstance(n, Const) and isinstance(n.value, int) and n.value >= 0)
    layout = PLAIN
    match one.place and one.place.kind, values:
        case _ if len(values) < len(numbers):
            say("TG136.layout", one.span)
        case "pad", (amount,):
            layout = Layout(amount)
        case "swizzle", ():
            layout = Layout(swizzle=_chosen(one, order, sides, lanes, size, scope))
        case "swizzle", (bits, base, shift):
            layout = Layout(swizzle=(bits, base, shift))
            if reason := fault(tuple(Const(s.extent) for s in sides), layout):
                say("TG158.tile", one.span, reason=reason)
        case "swizzle", _:
            say("TG545.swizzle", one.span)
    return order, layout


def _chosen(
    layout: tree.Layout, order: Sequence[int], sides: Sequence[Side], lanes: int, size: int, scope: Scope
) -> Swizzle | None:
    """The swizzle that spreads a column over the banks, where a row is a power of two: a layout changes where a cell lies, never what it
    holds, so it may be chosen by rule."""
    row = sides[order[-1]].extent if order else 1
    if row & (row - 1) or row <= lanes:
        scope.problems.say("TG545.row", layout.span, row=row)
        return None
    return conflict_free(row, lanes, size)
