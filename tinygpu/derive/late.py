"""A machine that uses an instruction which lands later, and whose unit finds its operands by itself.

    loops { copies; fence async; barrier; fence mma; loops { async product }; commit mma; wait mma n; barrier }      of a ring: n = 1 where it has four tiles or more

Comes in: what was found of the instruction. Goes out: the statements of the program. The one idea: products of one turn are a group; one is left under way where
the ring has a tile for it, since then its copies are one turn less ahead.
"""

from __future__ import annotations

from collections.abc import Mapping

from tinygpu.category.dtype import BYTES
from tinygpu.category.layout import PLAIN
from tinygpu.category.simplify import simplify
from tinygpu.category.term import Axis, Const, Term, Var, substitute, variables
from tinygpu.derive.use import Body, Text, long, slot
from tinygpu.model.collective import Operand
from tinygpu.model.problems import refused
from tinygpu.model.tile import Stage
from tinygpu.program.declared import placed
from tinygpu.program.descriptor import descriptor, patterned
from tinygpu.program.expression import expression
from tinygpu.program.tiles import number
from tinygpu.record import dataclass
from tinygpu.syntax import tree

ENOUGH = 4  # tiles of a ring of which one is for products that are under way


@dataclass(slots=True)
class Late(Text):
    """What differs from an instruction that is over when it is done."""

    @property
    def in_registers(self) -> tuple[Operand, ...]:
        return tuple(o for o in self.of.instruction.operands if o.kind == "fragment")

    @property
    def told(self) -> Body:
        return (tree.Sync("fence async"), tree.Sync("barrier"))

    def ended(self, slots: int) -> Body:
        return (self.wait(0),) if self.under_way(slots) else ()

    def under_way(self, slots: int) -> int:
        return int(slots >= (2 if self.roles else ENOUGH) and len(self.in_registers) == 1)

    def wait(self, count: int) -> tree.Sync:
        return tree.Sync("wait", number(count), unit=self.of.instruction.unit)

    def nest(self, loops: tuple[Axis, ...]) -> Body:
        """The loops of the fold; within the innermost one with tiles of its own all products are a group."""
        tiles = {s.at: s.ring for s in self.of.stages.values()}
        if not any(axis.name in tiles for axis in loops):
            return self.products(loops, 0)
        axis, *rest = loops
        if slots := tiles.get(axis.name, 0):
            last = not any(a.name in tiles for a in rest)
            return self.ring(axis, slots, self.products(tuple(rest), self.under_way(slots)) if last else self.nest(tuple(rest)))
        copies, barrier = self.filled(axis.name), tree.Sync("barrier")
        body = (*copies, *self.nest(tuple(rest)), *([barrier] if copies else []))
        return (tree.For(axis.name, expression(axis.extent), body, "time"),)

    def products(self, loops: tuple[Axis, ...], late: int) -> Body:
        """A group of products; where an operand is in registers, those that are with it there."""
        unit = self.of.instruction.unit
        ready, group = tree.Sync("fence", unit=unit), (tree.Sync("commit", unit=unit), self.wait(late))
        brought = tuple(step for o in self.in_registers[1:] for step in self.brought(o))
        body: Body = (*brought, ready, self.applied(), *group) if brought else (self.applied(),)
        for axis in reversed(loops):
            sort = "time" if brought or not isinstance(axis.extent, Const) else "register"
            body = (tree.For(axis.name, expression(axis.extent), body, sort),)
        return body if brought else (ready, *body, *group)

    def operand(self, operand: Operand, starts: Mapping[str, tree.Expr]) -> tree.Cell:
        """A tile: of a fragment, or where it begins in shared memory."""
        if operand.kind == "fragment":
            return Text.operand(self, operand, starts)
        of, stage = self.of, self.of.stages[operand.name]
        put: dict[str, Term] = {
            v: Var(s.left.name) * of.boxes[x]
            if isinstance(s := starts[x], tree.Binary) and isinstance(s.left, tree.Name)
            else Const(0)
            for v, x in zip(of.variables(operand.name), of.indices[operand.name], strict=True)
        }
        place = (simplify(substitute(i, put), of.box) for i in self.place(of.index(operand.name), stage))
        return tree.Cell(self.tiles[stage.name], (*slot(stage), *(expression(i, inside=True) for i in place)))

    def laid(self, operand: Operand, stage: Stage, dtype: str) -> tree.Place | None:
        """Rows as long as a pattern has them, the longest that there is. Raises TinygpuError, TG184."""
        if operand.kind == "fragment":
            return Text.laid(self, operand, stage, dtype)
        extents = [stage.sides[axis].extent for axis in long(stage)]
        layout = patterned(extents[-1], BYTES[dtype]) if stage.layout == PLAIN else stage.layout
        reason = descriptor(self.of.instruction, operand, extents, layout)
        if isinstance(reason, str):
            raise refused("TG184.descriptor", stage.span, self.of.span, tensor=stage.tensor, reason=reason)
        place = self.place(self.of.index(operand.name), stage)
        if len(place) != 2 or self.of.variables(operand.name)[operand.beside] not in variables(place[-1]):
            beside = self.of.indices[operand.name][operand.beside]
            raise refused(
                "TG184.beside", stage.span, self.of.span, tensor=stage.tensor, name=self.of.instruction.name, index=beside
            )
        return placed(layout)

    def body(self) -> Body:
        """The statements of the program. Raises TinygpuError, TG184."""
        for operand in self.of.operands:
            if operand.kind != "fragment" and operand.name not in self.of.stages:
                element = self.of.element(operand.name)
                raise refused("TG184.unstaged", self.of.span, element.span, operand=operand.name, tensor=element.tensor)
        return Text.body(self)
