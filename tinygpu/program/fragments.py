"""Fragments and instructions of the hardware in a program's text: what they mean, written out.

    for i, j in acc { acc[i, j] = 0 }    ↦   for r < 2, u < 2 in register { acc[w, r*8 + lane // 4, lane % 4*2 + u] = 0 }
    mma(acc[0, 0], a[0, 0], b[0, 0])     ↦   warp barrier; for r < 2, u < 2 in register { for k < 16 { acc[w, i, j] += a[w, i, k] * b[w, k, j] } }; warp barrier

Comes in: the statements of a launch, and the threads of its block. Goes out: statements that every program has. The one idea: an instruction is a step
that many threads do together, so its meaning is what each of them does of it; a fragment is an array of a warp, of which each lane touches its own
elements, but for the instructions, which exchange them. What is proved of the steps is proved of the program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tinygpu.category.region import Region
from tinygpu.category.simplify import simplify
from tinygpu.category.term import TRUE, Axis, Const, Fold, Term, Var, reads
from tinygpu.model.binders import flat
from tinygpu.model.clauses import names_in
from tinygpu.model.collective import TOGETHER, Fragment, Instruction, Operand, joined, split
from tinygpu.model.problems import Problems
from tinygpu.model.value import index
from tinygpu.program.call import USE
from tinygpu.program.expression import expression
from tinygpu.program.operands import Operands
from tinygpu.program.space import SHARED, TENSORS
from tinygpu.program.tiles import Begun, Exprs, Tiles, lanes_of, looped, number, plus
from tinygpu.record import dataclass, fields, replace
from tinygpu.syntax import tree
from tinygpu.syntax.node import Node, nodes, rewritten

if TYPE_CHECKING:
    from tinygpu.program.read import Reader

HELD = tree.Fragment | tree.Cells | tree.Instruct


def written_out(reader: Reader, body: tuple[tree.Statement, ...], block: Sequence[Axis]) -> tuple[tree.Statement, ...]:
    """The statements of a launch without fragments and instructions. Mistakes are added to the reader's problems."""
    shared, tensors = (
        {n.name: n for n in nodes(body) if isinstance(n, tree.Array) and n.space == space.name} for space in (SHARED, TENSORS)
    )
    direct(reader, body, tensors, block)
    if not any(isinstance(node, HELD) for node in nodes(body)):
        return body
    tiles: dict[str, Tiles] = {}
    return Fragments(reader, tuple(block), Operands(reader, shared, tensors, tiles), tiles).statements(body)


def direct(reader: Reader, body: tuple[tree.Statement, ...], tensors: Mapping[str, tree.Array], block: Sequence[Axis]) -> None:
    """Says where tensor memory is touched without an instruction, or nobody can take it."""
    taken = {id(cell) for node in nodes(body) if isinstance(node, tree.Instruct) for cell in node.operands}
    for cell in (node for node in nodes(body) if tensors and isinstance(node, tree.Cell) and id(node) not in taken):
        if cell.name in tensors:
            reader.problems.say("TG182.direct", cell.span, tensors[cell.name].span, name=cell.name)
    for array in tensors.values():
        if lanes_of(block, TOGETHER["warp"]) is None:
            reader.problems.say("TG182.threads", array.span, level="warp", count=TOGETHER["warp"])


@dataclass(slots=True)
class Fragments:
    """The reader of the launch, the factors of its block, what instructions take there, its fragments by name, and the loops around a place whose
    ends are numbers."""

    reader: Reader
    block: tuple[Axis, ...]
    operands: Operands
    tiles: dict[str, Tiles]
    around: tuple[Axis, ...] = ()

    @property
    def say(self) -> Any:
        return self.reader.problems.say

    def statements(self, body: tuple[tree.Statement, ...]) -> tuple[tree.Statement, ...]:
        """Statements in order."""
        return tuple(made for one in body for made in self.statement(one))

    def statement(self, one: tree.Statement) -> Iterator[tree.Statement]:
        """What one statement stands for."""
        match one:
            case tree.Fragment():
                yield from self.declared(one)
            case tree.Instruct():
                yield from self.done(one)
            case tree.Cells():
                yield from self.each(one)
            case tree.For(name):
                number = None if one.extent is None else index(one.extent, replace(self.reader.constants(), problems=Problems()))
                inner = replace(self, around=(*self.around, Axis(name, number))) if isinstance(number, Const) else self
                yield replace(one, body=inner.statements(one.body))
            case tree.Section(way, body=inner):
                for made in (n for n in nodes(inner) if isinstance(n, tree.Instruct) and not (way == USE and n.pending)):
                    if there := next((c for c in made.operands if c.name in self.operands.tensors), None):
                        self.say("TG182.section", made.span, name=there.name)
                yield replace(one, body=self.statements(inner))
            case tree.If():
                yield replace(one, body=self.statements(one.body))
            case _:
                cells = (node for node in nodes(one) if isinstance(node, tree.Cell) and node.name in self.tiles)
                if strange := next((cell for cell in cells if not self.has(cell)), None):
                    self.say("TG182.outside", strange.span, self.tiles[strange.name].span, name=strange.name)
                    return
                yield rewritten(one, self.inside)

    def has(self, cell: tree.Cell) -> bool:
        """Whether the lane at hand has an element that is named by its place."""
        held, free = self.tiles[cell.name].held, dict[str, Term | None].fromkeys(n for e in cell.index for n in names_in(e))
        place = tuple(index(e, replace(self.reader.constants(), problems=Problems(), indices=free)) for e in cell.index)
        return (
            len(place) == len(held.extents)
            and simplify(held.mine((*held.groups, *place)), Region((*self.block, *self.around))) == TRUE
        )

    def inside(self, node: Any) -> Any:
        """An element of a fragment, with the number of its warp."""
        return (
            self.tiles[node.name].cell(node.index, node.span) if isinstance(node, tree.Cell) and node.name in self.tiles else node
        )

    # ── fragments ──────────────────────────────────────────────────────────────────────────────────────────────────

    def declared(self, one: tree.Fragment) -> Iterator[tree.Statement]:
        """An array of each warp."""
        say = self.say
        instruction = next(iter(self.operands.called(one.instruction, one.span)), None)
        if instruction is None:
            return
        dtype = self.reader.scope(()).dtype(one.dtype, one.span)
        operands = [
            o
            for i in self.operands.called(one.instruction, one.span)
            for o in i.operands
            if o.name == one.operand and o.kind == "fragment"
        ]
        fitting = [o for o in operands if o.dtype == dtype]
        if not fitting:
            known = dict.fromkeys(f"{o.dtype} {o.name}" for o in operands) or [
                o.name for o in instruction.operands if o.kind == "fragment"
            ]
            say("TG182.operand", one.span, name=one.instruction, operand=one.operand, dtype=one.dtype, known=[*known] or "none")
            return
        numbers = tuple(index(e, self.reader.constants()) for e in one.extents)
        extents = tuple(int(n.value) for n in numbers if isinstance(n, Const))
        count, box = TOGETHER[instruction.level], fitting[0].shape
        found = lanes_of(self.block, count)
        if found is None:
            say("TG182.threads", one.span, level=instruction.level, count=count)
            return
        groups, lane = found
        if len(extents) != len(box) or any(e % b or e < b for e, b in zip(extents, box, strict=True)):
            say("TG182.extents", one.span, box=" × ".join(map(str, box)), operand=f"{one.instruction}.{one.operand}")
            return
        held = Fragment(one.instruction, fitting[0], extents, tuple(e for e, _ in groups), lane)
        self.reader.written.held[one.name] = held
        self.tiles[one.name] = Tiles(one.name, held, one.span)
        whole = (*(n for _, n in groups), *extents)
        yield tree.Array("fragment", one.name, one.dtype, tuple(number(e, one.span) for e in whole), span=one.span)

    # ── the cells that a lane has ──────────────────────────────────────────────────────────────────────────────────

    def each(self, one: tree.Cells) -> Iterator[tree.Statement]:
        """Loops over the tiles and registers of a lane, with the names put in."""
        say, tiles = self.say, self.tiles.get(one.array)
        if tiles is None:
            say("TG182.cells", one.span, near=self.tiles, name=one.array, index=one.names[0], known=list(self.tiles) or "none")
            return
        if held := [node for node in nodes(one.body) if isinstance(node, HELD)]:
            say("TG182.nested", held[0].span, name=one.array)
            return
        if len(one.names) != len(tiles.held.extents) or len({*one.names}) < len(one.names):
            say("TG182.names", one.span, tiles.span, name=one.array, count=len(tiles.held.extents))
            return
        turns, place = self.elements(tiles.held.lane, tiles.held.operand, tiles.held.extents, self.fresh)
        own = dict(zip(one.names, place, strict=True))

        def put(node: Any) -> Any:
            if isinstance(node, tuple):
                return tuple(map(put, node))
            if isinstance(node, tree.Cell) and node.name in self.tiles:
                return self.mine(node, one, tiles, place)
            if isinstance(node, tree.Name):
                return replace(own[node.name], span=node.span) if node.name in own else node
            if not isinstance(node, Node):
                return node
            made = replace(node, **{f.name: put(getattr(node, f.name)) for f in fields(node) if f.name != "span"})
            return replace(made, index=tuple(map(flat, made.index))) if isinstance(made, tree.Cell) else made

        operand = tiles.held.operand
        near = operand.cells[-1:] == operand.places[-1][-1:]  # then the innermost loop goes along the last index
        yield from looped(turns, tuple(put(one.body)), one.span, turns[-1][0] if near else "")

    def mine(self, cell: tree.Cell, one: tree.Cells, tiles: Tiles, place: Exprs) -> tree.Cell:
        """An element of a fragment that the lane at hand has: at the names of the loop, of a fragment of which it has the same elements."""
        other, names = self.tiles[cell.name], tuple(tree.Name(n) for n in one.names)
        if cell.index != names:
            self.say("TG182.place", cell.span, other.span, name=cell.name, names=", ".join(one.names))
        elif other.held.extents != tiles.held.extents or other.own != tiles.own:
            self.say("TG182.own", cell.span, other.span, name=cell.name, other=one.array)
        return other.cell(place, cell.span)

    def elements(
        self, lane: Term, operand: Operand, extents: tuple[int, ...], called: Callable[[str], str]
    ) -> tuple[list[tuple[str, int]], Exprs]:
        """The loops over the tiles and registers of a lane, for so many elements along each index, and the element there."""
        turns: list[tuple[str, int]] = []
        starts: list[tree.Expr | None] = []
        for extent, box in zip(extents, operand.shape, strict=True):
            name = called("tile") if extent > box else ""
            turns += [(name, extent // box)] if name else []
            starts.append(tree.Binary("*", tree.Name(name), number(box)) if name else None)
        digits = dict(split(operand.lanes, lane))
        for digit in operand.cells:
            name = called(digit.name)
            turns.append((name, digit.extent))
            digits[digit.name] = Var(name)
        inside = (expression(joined(place, digits)) for place in operand.places)
        return turns, tuple(plus(start, one) for start, one in zip(starts, inside, strict=True))

    # ── instructions ───────────────────────────────────────────────────────────────────────────────────────────────

    def done(self, one: tree.Instruct) -> Iterator[tree.Statement]:
        """What each lane does of an instruction: its elements of the target, or what it has of the operand that goes there."""
        before, found = self.reader.problems.told, self.operands.chosen(one)
        if found is None or not self.operands.allowed(found, one) or self.reader.problems.told > before:
            return
        there = dict(zip((o.name for o in found.operands), one.operands, strict=True))
        (equation,) = found.op.equations
        fold = equation.value if isinstance(equation.value, Fold) and equation.value.monoid == found.update else None
        inner = [(axis.name, self.reader.hidden(axis.name), axis.extent) for axis in fold.axes] if fold else []
        source, lane = found.shares.name, self.lane(found, there[found.shares.name])
        if lane is None:
            self.say("TG182.threads", one.span, level=found.level, count=TOGETHER[found.level])
            return
        names = {r.tensor: r.index for r in reads(equation.value)} | {equation.target: tuple(Var(a.name) for a in equation.axes)}
        turns, place = self.elements(lane, found.shares, found.shares.shape, self.reader.hidden)
        own: dict[str, tree.Expr] = {v.name: e for v, e in zip(names[source], place, strict=True) if isinstance(v, Var)}
        own |= {name: tree.Name(new) for name, new, _ in inner}

        def element(name: str) -> tree.Cell:
            cell, lead = there[name], len(there[name].index) - len(names[name])
            tile = zip(cell.index[lead:], found.operand(name).in_memory(names[name]), strict=True)
            inside = tuple(plus(start, own[v.name]) for start, v in tile if isinstance(v, Var))
            held = self.tiles.get(cell.name)
            return held.cell(inside, one.span) if held else tree.Cell(cell.name, (*cell.index[:lead], *inside), span=one.span)

        def put(node: Any) -> Any:
            return element(node.name) if isinstance(node, tree.Cell) else node

        value = rewritten(expression(fold.body if fold else equation.value, frozenset()), put)
        step: tree.Statement = tree.Assign(
            element(equation.target), replace(value, span=one.span), found.update, unit=found.unit, span=one.span
        )
        for _, new, extent in reversed(inner):
            step = tree.For(new, expression(extent, frozenset()), (step,), span=one.span)
        first = {
            cell.name: self.tiles[cell.name].cell(cell.index, one.span) if cell.name in self.tiles else cell
            for cell in one.operands
        }
        key = self.fresh(one.name)
        self.reader.written.begun[key] = Begun(found, tuple(first[cell.name] for cell in one.operands), lane)
        meet = tree.Sync("instruction barrier", span=one.span)
        yield from (replace(meet, begins=key), *looped(turns, (step,), one.span), meet)

    def lane(self, one: Instruction, cell: tree.Cell) -> Term | None:
        """The number of the lane at hand among those that run an instruction together, of which one operand is at a cell."""
        if cell.name in self.tiles:
            return self.tiles[cell.name].held.lane
        found = lanes_of(self.block, TOGETHER[one.level])
        return None if found is None else found[1]

    def fresh(self, name: str) -> str:
        """A name that nothing of the text has."""
        return self.reader.fresh(name)
