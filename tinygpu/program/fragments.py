"""Fragments and instructions of the hardware in a program's text: what they mean, written out.

    for i, j in acc { acc[i, j] = 0 }    ↦   for r < 2, u < 2 in register { acc[w, r*8 + lane // 4, lane % 4*2 + u] = 0 }
    mma(acc[0, 0], a[0, 0], b[0, 0])     ↦   warp barrier; for r < 2, u < 2 in register { for k < 16 { acc[w, i, j] += a[w, i, k] * b[w, k, j] } }; warp barrier

Comes in: the statements of a launch, and the threads of its block. Goes out: statements that every program has. The one idea: an instruction is a step
that many threads do together, so its meaning is what each of them does of it; a fragment is an array of a warp, of which each lane touches its own
elements, but for the instructions, which exchange them. What is proved of the steps is proved of the program.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tinygpu.category.linear import polynomial
from tinygpu.category.term import Axis, Const, Fold, Term, Var, reads
from tinygpu.diagnostic import Span
from tinygpu.model.binders import flat
from tinygpu.model.clauses import names_in
from tinygpu.model.collective import TOGETHER, Fragment, Instruction, Operand, joined, split
from tinygpu.model.instruction import library, shipped
from tinygpu.model.value import index
from tinygpu.program.expression import expression
from tinygpu.program.tiles import Begun, Exprs, Tiles, form, has, lanes_of, looped, number, plus
from tinygpu.record import dataclass, field, fields, replace
from tinygpu.syntax import tree
from tinygpu.syntax.node import Node, nodes, rewritten
from tinygpu.syntax.target import ARCHITECTURES

if TYPE_CHECKING:
    from tinygpu.program.read import Reader

HELD = tree.Fragment | tree.Cells | tree.Instruct


def written_out(reader: Reader, body: tuple[tree.Statement, ...], block: Sequence[Axis]) -> tuple[tree.Statement, ...]:
    """The statements of a launch without fragments and instructions. Mistakes are added to the reader's problems."""
    if not any(isinstance(node, HELD) for node in nodes(body)):
        return body
    shared = {n.name: n for n in nodes(body) if isinstance(n, tree.Array) and n.space == "shared"}
    return Fragments(reader, tuple(block), shared).statements(body)


@dataclass(slots=True)
class Fragments:
    """The reader of the launch, the factors of its block, its fragments by name, and its arrays in shared memory."""

    reader: Reader
    block: tuple[Axis, ...]
    shared: Mapping[str, tree.Array]
    tiles: dict[str, Tiles] = field(default_factory=dict)

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
            case tree.For() | tree.If():
                yield replace(one, body=self.statements(one.body))
            case _:
                for cell in nodes(one):
                    if isinstance(cell, tree.Cell) and cell.name in self.tiles:
                        self.say("TG182.outside", cell.span, self.tiles[cell.name].span, name=cell.name)
                        return
                yield one

    # ── fragments ──────────────────────────────────────────────────────────────────────────────────────────────────

    def declared(self, one: tree.Fragment) -> Iterator[tree.Statement]:
        """An array of each warp."""
        say = self.say
        instruction = next(iter(self.called(one.instruction, one.span)), None)
        if instruction is None:
            return
        dtype = self.reader.scope(()).dtype(one.dtype, one.span)
        operands = [
            o for i in self.called(one.instruction, one.span) for o in i.operands if o.name == one.operand and o.kind == "fragment"
        ]
        fitting = [o for o in operands if o.dtype == dtype]
        if not fitting:
            known = dict.fromkeys(f"{o.dtype} {o.name}" for o in operands) or [
                o.name for o in instruction.operands if o.kind == "fragment"
            ]
            say("TG182.operand", one.span, name=one.instruction, operand=one.operand, dtype=one.dtype, known=[*known])
            return
        numbers = tuple(index(e, self.reader.constants()) for e in one.extents)
        extents = tuple(int(n.value) for n in numbers if isinstance(n, Const))
        count = TOGETHER[instruction.level]
        found = lanes_of(self.block, count)
        if found is None:
            say("TG182.threads", one.span, level=instruction.level, count=count)
            return
        groups, lane = found
        ahead = tuple(n for _, n in groups)
        own = extents[: len(ahead)] != ahead or len(extents) != len(ahead) + len(fitting[0].shape)
        box, extents = fitting[0].shape, extents if own else extents[len(ahead) :]
        if len(extents) != len(box) or any(e % b or e < b for e, b in zip(extents, box, strict=True)):
            say("TG182.extents", one.span, box=" × ".join(map(str, box)), operand=f"{one.instruction}.{one.operand}")
            return
        self.reader.written.held[one.name] = held = Fragment(
            one.instruction, fitting[0], extents, tuple(e for e, _ in groups), lane, own
        )
        if own:
            self.tiles[one.name] = Tiles(one.name, extents, fitting[0], held.groups, lane, one.span)
        yield tree.Array("fragment", one.name, one.dtype, tuple(number(e, one.span) for e in (*ahead, *extents)), span=one.span)

    def called(self, name: str, span: Span) -> tuple[Instruction, ...]:
        """The instructions of that name; none after a message."""
        own = tuple(one for one in self.reader.machine.instructions if one.name == name)
        found = own or shipped(name)
        if not found:
            self.say("TG182.name", span, near=library(), name=name)
        return found

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
        if len(one.names) != len(tiles.extents) or len({*one.names}) < len(one.names):
            say("TG182.names", one.span, tiles.span, name=one.array, count=len(tiles.extents))
            return
        turns, place = self.elements(tiles, tiles.operand, tiles.extents)
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

        operand = tiles.operand
        near = operand.cells[-1:] == operand.places[-1][-1:]  # then the innermost loop goes along the last index
        yield from looped(turns, tuple(put(one.body)), one.span, turns[-1][0] if near else "")

    def mine(self, cell: tree.Cell, one: tree.Cells, tiles: Tiles, place: Exprs) -> tree.Cell:
        """An element of a fragment that the lane at hand has: at the names of the loop, of a fragment of which it has the same elements."""
        other, names = self.tiles[cell.name], tuple(tree.Name(n) for n in one.names)
        if cell.index != names:
            self.say("TG182.place", cell.span, other.span, name=cell.name, names=", ".join(one.names))
        elif other.extents != tiles.extents or other.own != tiles.own:
            self.say("TG182.own", cell.span, other.span, name=cell.name, other=one.array)
        return other.cell(place, cell.span)

    def elements(self, tiles: Tiles, operand: Operand, extents: tuple[int, ...]) -> tuple[list[tuple[str, int]], Exprs]:
        """The loops over the tiles and registers of a lane, for so many elements along each index, and the element there."""
        turns: list[tuple[str, int]] = []
        starts: list[tree.Expr | None] = []
        for extent, box in zip(extents, operand.shape, strict=True):
            name = self.fresh("tile") if extent > box else ""
            turns += [(name, extent // box)] if name else []
            starts.append(tree.Binary("*", tree.Name(name), number(box)) if name else None)
        digits = dict(split(operand.lanes, tiles.lane))
        for digit in operand.cells:
            name = self.fresh(digit.name)
            turns.append((name, digit.extent))
            digits[digit.name] = Var(name)
        inside = (expression(joined(place, digits)) for place in operand.places)
        return turns, tuple(plus(start, one) for start, one in zip(starts, inside, strict=True))

    # ── instructions ───────────────────────────────────────────────────────────────────────────────────────────────

    def done(self, one: tree.Instruct) -> Iterator[tree.Statement]:
        """What each lane does of an instruction: its elements of the target, or what it has of the operand that goes there."""
        before, found = self.reader.problems.told, self.chosen(one)
        if found is None or not self.allowed(found, one) or self.reader.problems.told > before:
            return
        there = dict(zip((o.name for o in found.operands), one.operands, strict=True))
        (equation,) = found.op.equations
        fold = equation.value if isinstance(equation.value, Fold) and equation.value.monoid == found.update else None
        inner = [(axis.name, self.fresh(axis.name), axis.extent) for axis in fold.axes] if fold else []
        source = (
            equation.target
            if found.operand(equation.target).kind == "fragment"
            else next(r.tensor for r in reads(equation.value) if found.operand(r.tensor).kind == "fragment")
        )
        names = {r.tensor: r.index for r in reads(equation.value)} | {equation.target: tuple(Var(a.name) for a in equation.axes)}
        tiles = self.tiles[there[source].name]
        turns, place = self.elements(tiles, found.operand(source), found.operand(source).shape)
        own: dict[str, tree.Expr] = {v.name: e for v, e in zip(names[source], place, strict=True) if isinstance(v, Var)}
        own |= {name: tree.Name(new) for name, new, _ in inner}

        def element(name: str) -> tree.Cell:
            cell, lead = there[name], len(there[name].index) - len(names[name])
            tile = zip(cell.index[lead:], names[name], strict=True)
            inside = tuple(plus(start, own[v.name]) for start, v in tile if isinstance(v, Var))
            held = self.tiles.get(cell.name)
            return held.cell(inside, one.span) if held else tree.Cell(cell.name, (*cell.index[:lead], *inside), span=one.span)

        def put(node: Any) -> Any:
            return element(node.name) if isinstance(node, tree.Cell) else node

        value = rewritten(expression(fold.body if fold else equation.value, frozenset()), put)
        step: tree.Statement = tree.Assign(element(equation.target), replace(value, span=one.span), found.update, span=one.span)
        for _, new, extent in reversed(inner):
            step = tree.For(new, expression(extent, frozenset()), (step,), span=one.span)
        first = {
            cell.name: self.tiles[cell.name].cell(cell.index, one.span) if cell.name in self.tiles else cell
            for cell in one.operands
        }
        key = self.fresh(one.name)
        self.reader.written.begun[key] = Begun(found, tuple(first[cell.name] for cell in one.operands), tiles.lane)
        meet = tree.Sync("instruction barrier", span=one.span)
        yield from (replace(meet, begins=key), *looped(turns, (step,), one.span), meet)

    def chosen(self, one: tree.Instruct) -> Instruction | None:
        """The instruction of that name for operands like these; None after a message."""
        known = self.called(one.name, one.span)
        fitting = [i for i in known if len(i.operands) == len(one.operands) and all(map(self.fits, i.operands, one.operands))]
        if known and not fitting:
            takes = dict.fromkeys(
                ", ".join(f"{o.name}: {o.dtype}[{', '.join(map(str, o.shape))}]" for o in i.operands) for i in known
            )
            self.say("TG182.operands", one.span, name=one.name, takes=" or ".join(takes))
        return fitting[0] if fitting else None

    def fits(self, operand: Operand, cell: tree.Cell) -> bool:
        """Whether an operand may be a tile there: of a fragment that lies as the instruction wants it, or of an array in shared memory."""
        if operand.kind != "fragment":  # of an array of several tiles, the first indices say which
            array, dtypes = self.shared.get(cell.name), self.reader.scope(()).dtypes
            held = "" if array is None else dtypes.get(array.dtype, array.dtype)
            return len(cell.index) >= len(operand.shape) and held == operand.dtype
        tiles = self.tiles.get(cell.name)
        return (
            tiles is not None
            and len(cell.index) == len(operand.shape)
            and tiles.operand.dtype == operand.dtype
            and all(e % s == 0 == s % b for e, s, b in zip(tiles.extents, operand.shape, tiles.operand.shape, strict=True))
            and form(operand) == form(tiles.operand, operand.shape)
        )

    def allowed(self, found: Instruction, one: tree.Instruct) -> bool:
        """Whether the machine's architecture has the instruction, which is over when the step is, and its operands are whole tiles."""
        arch = self.reader.machine.arch or ARCHITECTURES[1]
        if found.unit:
            self.say("TG182.later", one.span, name=one.name)
        elif not any(has(arch, needed) for needed in found.archs):
            self.say("TG182.arch", one.span, name=one.name, arch=arch, known=found.archs)
        else:
            for operand, cell in zip(found.operands, one.operands, strict=True):
                if operand.kind == "fragment":
                    self.whole(cell, cell.index, operand.shape)
                else:
                    self.rows(cell, operand)
            return True
        return False

    def whole(self, cell: tree.Cell, inside: Exprs, boxes: Sequence[int]) -> None:
        """Says where a tile begins in the middle of one."""
        for expr, box in zip(inside, boxes, strict=True):
            free: dict[str, Term | None] = dict.fromkeys(names_in(expr))
            start = index(expr, replace(self.reader.constants(), indices=free))
            if any(factor % box for factor in polynomial(start).values()):
                self.say("TG182.tile", expr.span, box=box, name=cell.name)

    def rows(self, cell: tree.Cell, operand: Operand) -> None:
        """Says where the rows that lanes name are not 16 bytes in a piece, at a multiple of 16 bytes."""
        array, named = self.shared[cell.name], {*operand.cells}
        (axis, piece), *others = [(at, d.extent) for at, place in enumerate(operand.places) for d in place if d not in named]
        numbers = [index(e, self.reader.constants()) for e in (*array.extents[-1:], *(array.place.args if array.place else ()))]
        values = [int(n.value) if isinstance(n, Const) else 0 for n in numbers]
        swizzled = array.place is not None and array.place.kind == "swizzle"
        fine = (len(values) > 2 and 1 << values[2] >= piece) if swizzled else sum(values) % piece == 0
        if others or axis != len(operand.shape) - 1 or values[0] % piece or not fine or array.order:
            self.say("TG182.rows", cell.span, array.span, name=cell.name, piece=piece)
        else:
            self.whole(cell, cell.index[-1:], [piece])

    def fresh(self, name: str) -> str:
        """A name that nothing of the text has."""
        return self.reader.fresh(name)
