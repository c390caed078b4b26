"""A machine that uses an instruction, as the text of a program with fragments: what an expert would write.

    acc = 0;  loops { copies; barrier; tiles of the operands; instructions; barrier };  what is done with acc is stored

Comes in: a machine in which one thread does what the lanes of an instruction do. Goes out: the same with the text of its program. The one idea: an
element of a fragment is digits of factors, so what a thread of the machine reads at its factors is what a lane has, with the digits put in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from tinygpu.category.dtype import BYTES
from tinygpu.category.layout import PLAIN, conflict_free
from tinygpu.category.region import Region
from tinygpu.category.simplify import simplify
from tinygpu.category.term import TRUE, Axis, Const, Read, Term, Var, conjunction, exchange, reads, substitute, variables
from tinygpu.category.text import claimed
from tinygpu.derive.roles import Roles, roles_of
from tinygpu.derive.used import Matched
from tinygpu.model.collective import Instruction, Operand
from tinygpu.model.tile import BLOCK, Stage
from tinygpu.program.declared import placed
from tinygpu.program.descriptor import PIECE, patterned
from tinygpu.program.expression import expression
from tinygpu.program.rows import moved_by
from tinygpu.program.tiles import looped, number
from tinygpu.record import dataclass, field
from tinygpu.syntax import tree

Body = tuple[tree.Statement, ...]
NONE = tree.Number("0")


@dataclass(slots=True)
class Text:
    """What was found of the instruction, the names that are taken, and those of fragments, by operand, and of tiles in shared memory, by stage."""

    of: Matched
    taken: set[str]
    fragments: dict[str, str] = field(default_factory=dict)
    tiles: dict[str, str] = field(default_factory=dict)
    roles: Roles | None = None

    def fresh(self, name: str) -> str:
        return claimed(name, self.taken, "")

    @property
    def in_registers(self) -> tuple[Operand, ...]:
        """The operands that lanes have in registers, the target first."""
        return self.of.instruction.operands

    @property
    def told(self) -> Body:
        """What stands behind copies, before what was copied is used."""
        return (tree.Sync("barrier"),)

    def ended(self, slots: int) -> Body:
        """What stands behind a loop in which so many tiles take turns."""
        return ()

    def under_way(self, slots: int) -> int:
        """How many turns' instructions are under way when the next one begins."""
        return 0

    def body(self) -> Body:
        """The statements of the program."""
        of, one = self.of, self.of.instruction
        self.fragments = {o.name: self.fresh("acc" if o.name == of.target else o.name) for o in one.operands}
        self.tiles = {s.name: self.fresh(f"s{s.tensor}") for s in of.stages.values()}
        first = {of.stages[o.name].name: o for o in reversed(one.operands) if o.name in of.stages}
        shared = tuple(self.array(o, of.stages[o.name]) for o in one.operands if o in first.values())
        held = tuple(
            tree.Fragment(self.fragments[o.name], o.dtype, tuple(map(number, of.extents(o))), one.name, o.name)
            for o in self.in_registers
        )
        start = self.cells(of.target, lambda index: tree.Assign(tree.Cell(self.fragments[of.target], index), NONE))
        self.roles = roles_of(of, self.fresh("g"), self.fresh("tiles"))
        begin: tree.Statement = tree.If(self.roles.work, (start,)) if self.roles else start
        body: Body = (begin, *self.nest(of.folds), *self.stored())
        for axis in reversed(of.outer):
            body = (tree.For(axis.name, expression(axis.extent), body, "time"),)
        slots = max((s.ring for s in of.stages.values() if s.by), default=0)
        ring = (tree.Ring(self.roles.ring, number(slots)),) if self.roles else ()
        return (*shared, *ring, *held, *self.filled(BLOCK), *body)

    # ── loops and tiles ────────────────────────────────────────────────────────────────────────────────────────────

    def nest(self, loops: tuple[Axis, ...]) -> Body:
        """The loops of the fold, with the copies that each of their turns begins with."""
        if not loops:
            return (*(step for o in self.of.operands for step in self.brought(o)), self.applied())
        axis, *rest = loops
        copies, inner = self.filled(axis.name), self.nest(tuple(rest))
        if slots := next((s.ring for s in self.of.stages.values() if s.at == axis.name), 0):
            return self.ring(axis, slots, inner)
        body = (*copies, *inner, *([tree.Sync("barrier")] if copies else []))
        return (tree.For(axis.name, expression(axis.extent), body, "time"),)

    def ring(self, axis: Axis, slots: int, inner: Body) -> Body:
        """A loop whose tiles take turns: in each turn that of n − 1 turns later is begun, fewer where tiles are for what is under way."""
        if self.roles:
            return self.roles.loop(axis, self.copies(axis.name, Var(axis.name), Var(axis.name) % slots), inner)
        far = slots - 1 - self.under_way(slots)
        turn, ahead = Var(self.fresh("p")), Var(axis.name) + far
        begun = (*self.copies(axis.name, turn, turn), tree.Sync("commit"))
        further = (*self.copies(axis.name, ahead, ahead % slots), tree.Sync("commit"))
        body = (tree.Sync("wait", number(far - 1)), *self.told, *further, *inner)
        around = self.of.outer or axis is not self.of.folds[0]
        again = (tree.Sync("wait", number(0)), tree.Sync("barrier")) if around else ()
        first = tree.For(turn.name, number(far), begun, "time")
        return (*again, first, tree.For(axis.name, expression(axis.extent), body, "time"), *self.ended(slots))

    def array(self, operand: Operand, stage: Stage) -> tree.Array:
        """The tile of an operand in shared memory; without a layout it is the one in which no two of eight rows are in one bank."""
        extents = [*([stage.ring] if stage.ring else []), *(stage.sides[axis].extent for axis in long(stage))]
        dtype = self.of.machine.op.tensor(stage.tensor).dtype
        return tree.Array(
            "shared", self.tiles[stage.name], dtype, tuple(map(number, extents)), (), self.laid(operand, stage, dtype)
        )

    def laid(self, operand: Operand, stage: Stage, dtype: str) -> tree.Place | None:
        """How it lies: as is said, as a unit leaves it, or so that rows may be named."""
        rows = operand.name == self.of.target or self.mover(operand)
        if stage.by and stage.layout == PLAIN:
            return placed(patterned(stage.sides[long(stage)[-1]].extent, BYTES[dtype]))
        return placed(stage.layout) or (self.spread(dtype, stage.sides[long(stage)[-1]].extent) if rows else None)

    def spread(self, dtype: str, row: int) -> tree.Place | None:
        """Pieces of 16 bytes, exchanged by rows."""
        size = BYTES[dtype]
        found = conflict_free(row, PIECE // size, size)
        return tree.Place("swizzle", tuple(map(number, found))) if found else None

    def filled(self, at: str) -> Body:
        """The copies at a place, and the barrier behind them."""
        copies = self.copies(at)
        return (*copies, *self.told) if copies else ()

    def copies(self, at: str, turn: Term | None = None, slot: Term | None = None) -> Body:
        """The copies at a place: into a slot, those of another turn of that loop."""
        stages = dict.fromkeys(s for o in self.of.operands if (s := self.of.stages.get(o.name)) and s.at == at)
        return tuple(self.copy(stage, turn or Var(at), slot) for stage in stages)

    def copy(self, stage: Stage, turn: Term, slot: Term | None) -> tree.Statement:
        """`copy s[i, k] = A[by*64 + i, ko*32 + k | 0]`, which the threads of the block share."""
        local, there = self.box(stage)
        place = tuple(expression(simplify(substitute(i, {stage.at: turn}), self.of.box), inside=True) for i in there)
        cell = tree.Cell(self.tiles[stage.name], (*([expression(slot, inside=True)] if slot is not None else []), *local))
        step = tree.Assign(cell, tree.Cell(stage.tensor, place, NONE), pending=slot is not None and not stage.by)
        return tree.Copy(step, by=stage.by or None)

    def box(self, stage: Stage) -> tuple[tuple[tree.Expr, ...], tuple[Term, ...]]:
        """The names of a tile's indices, and which element of the tensor is at them."""
        names = {side.name: claimed(side.name, {*self.taken}, "") for side in stage.sides}
        points = [Var(names[side.name]) if side.extent > 1 else Const(0) for side in stage.sides]
        return tuple(tree.Name(names[stage.sides[axis].name]) for axis in long(stage)), stage.outside(points)

    # ── fragments ──────────────────────────────────────────────────────────────────────────────────────────────────

    def cells(self, operand: str, made: Callable[[tuple[tree.Expr, ...]], tree.Statement]) -> tree.Cells:
        """What is done at each element of a fragment that a lane has."""
        names = tuple(claimed(x, {*self.taken}, "") for x in self.of.indices[operand])
        return tree.Cells(names, self.fragments[operand], (made(tuple(map(tree.Name, names))),))

    def brought(self, operand: Operand) -> Iterator[tree.Statement]:
        """How an operand comes into its fragment: by rows of its tile, or else cell by cell."""
        of, stage = self.of, self.of.stages.get(operand.name)
        mover = self.mover(operand)
        if stage is None or mover is None:
            yield self.cells(operand.name, lambda index: self.element(operand, index))
            return
        box, place = mover.operand(mover.op.equations[0].target).shape, self.place(of.index(operand.name), stage)
        loops = [
            (self.fresh(f"{x}t") if e > b else "", e // b)
            for x, e, b in zip(of.indices[operand.name], of.extents(operand), box, strict=True)
        ]
        starts = [Var(name) * b if name else Const(0) for (name, _), b in zip(loops, box, strict=True)]
        first = [simplify(substitute(i, dict(zip(of.variables(operand.name), starts, strict=True))), of.box) for i in place]
        cell = tree.Cell(self.fragments[operand.name], tuple(expression(s, inside=True) for s in starts))
        rows = tree.Cell(self.tiles[stage.name], (*slot(stage), *(expression(i, inside=True) for i in first)))
        step = tree.Instruct(mover.name, (cell, rows))
        yield from looped([loop for loop in loops if loop[0]], (step,), of.span)

    def element(self, operand: Operand, index: tuple[tree.Expr, ...]) -> tree.Statement:
        """An element of an operand, read where it is."""
        of, stage = self.of, self.of.stages.get(operand.name)
        names = [i.name for i in index if isinstance(i, tree.Name)]
        put = {v: Var(n) for v, n in zip(of.variables(operand.name), names, strict=True)}

        def said(terms: Sequence[Term]) -> tuple[tree.Expr, ...]:
            return tuple(expression(simplify(substitute(i, put), of.box), inside=True) for i in terms)

        if stage is not None:
            value: tree.Expr = tree.Cell(self.tiles[stage.name], (*slot(stage), *said(self.place(of.index(operand.name), stage))))
        else:
            value = tree.Cell(of.element(operand.name).tensor, said(of.index(operand.name)), NONE)
            more = conjunction(*(simplify(substitute(g, put), of.box) for g in of.unsaid(operand.name)))
            value = value if more == TRUE else tree.IfElse(value, expression(more), NONE)
        rounded = of.reads[operand.name] != of.element(operand.name)
        value = tree.Call(operand.dtype, (value,)) if rounded else value
        return tree.Assign(tree.Cell(self.fragments[operand.name], index), value)

    def place(self, index: Sequence[Term], stage: Stage) -> list[Term]:
        """Where in its tile an element of a tensor lies."""
        return [simplify(substitute(stage.sides[axis].inside(index[axis]), self.of.digits), self.of.box) for axis in long(stage)]

    def mover(self, operand: Operand) -> Instruction | None:
        """The instruction that brings in rows of an operand's tile, if one does."""
        of, stage = self.of, self.of.stages.get(operand.name)
        if stage is None or len(long(stage)) != 2 or of.reads[operand.name] != of.element(operand.name):
            return None
        place, names = self.place(of.index(operand.name), stage), of.variables(operand.name)
        first = next((n for n, v in enumerate(names) if v in variables(place[0])), None)
        even = first is not None and all(
            not variables(simplify(i - Var(v), of.box)) & {*names}
            for i, v in zip(place, (names[first], names[1 - first]), strict=True)
        )
        return moved_by(operand, of.extents(operand), first or 0, of.arch, of.machine.instructions) if even else None

    # ── instructions, and what is done with what they leave ────────────────────────────────────────────────────────

    def applied(self) -> tree.Statement:
        """The instruction at each tile."""
        of = self.of
        tiles = {x: of.tiles(x) for x in of.indices[of.target]}
        names = {
            x: of.registers[x][0].name if len(of.registers[x]) == 1 else self.fresh(f"{x}t") for x, n in tiles.items() if n > 1
        }
        start = {x: tree.Binary("*", tree.Name(names[x]), number(of.boxes[x])) if x in names else NONE for x in of.boxes}
        cells = tuple(self.operand(o, start) for o in of.instruction.operands)
        step = tree.Instruct(of.instruction.name, cells, bool(of.instruction.unit))
        (made,) = looped([(names[x], tiles[x]) for x in names], (step,), of.span)
        return made

    def operand(self, operand: Operand, starts: Mapping[str, tree.Expr]) -> tree.Cell:
        """A tile, by where it begins along each index."""
        return tree.Cell(self.fragments[operand.name], tuple(starts[x] for x in self.of.indices[operand.name]))

    def stored(self) -> Body:
        """The output, of what the instructions leave: in memory, or in a tile that is copied there."""
        of, stage = self.of, self.of.stages.get(self.of.target)
        place = of.there if stage is None else self.place(of.there, stage)
        name = of.out.equation.target if stage is None else self.tiles[stage.name]
        left = Read(f"what {of.instruction.name} leaves", (), of.fold.dtype)
        value, scalars = (
            of.at(exchange(of.value, {of.fold: left}), of.out.owner),
            frozenset(t.name for t in of.machine.op.inputs if not t.shape),
        )

        def step(index: tuple[tree.Expr, ...]) -> tree.Statement:
            names = [i.name for i in index if isinstance(i, tree.Name)]
            put: dict[str, Term] = {v: Var(n) for v, n in zip(of.variables(of.target), names, strict=True)}
            acc = Read(self.fragments[of.target], tuple(map(Var, names)), of.fold.dtype)
            target = tree.Cell(name, tuple(expression(simplify(substitute(i, put), of.box), inside=True) for i in place))
            guard = substitute(conjunction(*of.guards), put)
            given = expression(exchange(substitute(value, put), {left: acc}), scalars)
            if stage is None or guard == TRUE:
                return tree.Assign(target, given, "", None if guard == TRUE else expression(guard))
            return tree.Assign(target, tree.IfElse(given, expression(guard), NONE) if {*reads(value)} != {left} else given)

        left_: Body = (self.cells(of.target, step),)
        if self.roles:
            left_ = (tree.If(self.roles.work, (*self.ended(max(s.ring for s in of.stages.values())), *left_)),)
        return (*left_, *(self.gathered(stage) if stage is not None else ()))

    def gathered(self, stage: Stage) -> Body:
        """`copy C[by*64 + i, bx*64 + j] = s[i, j] if …`: the block stores its tile of the output."""
        of = self.of
        local, there = self.box(stage)
        extents = {
            a.name: s.extent
            for a, s in zip(local, (stage.sides[axis] for axis in long(stage)), strict=True)
            if isinstance(a, tree.Name)
        }
        box = Region((*of.box.axes, *(Axis(name, Const(n)) for name, n in extents.items())))
        shape = of.machine.op.tensor(stage.tensor).shape
        inside = conjunction(*(simplify(i < n, box) for i, n in zip(there, shape, strict=True)))
        target = tree.Cell(stage.tensor, tuple(expression(simplify(i, box), inside=True) for i in there))
        copy = tree.Copy(
            tree.Assign(target, tree.Cell(self.tiles[stage.name], local), "", None if inside == TRUE else expression(inside))
        )
        barrier = tree.Sync("barrier")
        shared: tree.Statement = tree.If(self.roles.work, (copy,)) if self.roles else copy
        return (barrier, shared, *([barrier] if of.outer else []))


def long(stage: Stage) -> list[int]:
    """The axes of a tile that have more than one element, slowest first."""
    return [axis for axis in stage.order if stage.sides[axis].extent > 1]


def slot(stage: Stage) -> tuple[tree.Expr, ...]:
    """Which of the tiles that take turns is that of the turn at hand."""
    return (expression(Var(stage.at) % stage.ring, inside=True),) if stage.ring else ()
