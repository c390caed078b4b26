"""Accumulators in vector registers, followed along the loops of a program over lanes.

    acc_0 = lanes_load(cells, …);  for k: acc_0 = lanes_add(acc_0, …);  lanes_store(cells, …, acc_0)   ≈   for k, lane: cells[…] += …

Comes in: the statements from the first load on. Goes out: how many of them the loop and its registers are. The one idea: a register is the
cells that it was loaded from, one a lane, as long as nobody else touches these; they are the same cells in every turn.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterator, Sequence

from tinygpu.category.term import App, Axis, Const, Read, Term, Var, conjuncts, reads, text
from tinygpu.program.step import Assign, For
from tinygpu.record import dataclass, replace
from tinygpu.schedule.nest import substituted
from tinygpu.schedule.tiled import LANES
from tinygpu.validate.cpu_follow import CpuFollower
from tinygpu.validate.follow import Due
from tinygpu.validate.same import Here, canonical
from tinygpu.validate.typed import Differs, Held, Pointer, unread

OPERATIONS = ("add", "sub", "mul", "div", "min", "max")
Registers = dict[str, Held]


@dataclass(slots=True)
class VectorFollower(CpuFollower):
    """A work function with vectors of numbers of that type."""

    vectors: str = ""

    def statement(self, rest: Sequence[ast.stmt], queue: deque[Due], here: Here) -> int:
        """Loads, a loop, and the stores that give back what it has made of them; or any other statement."""
        if self.loaded(rest[0], here) is None:
            return CpuFollower.statement(self, rest, queue, here)
        registers: Registers = {}
        position = 0
        while position < len(rest) and (found := self.loaded(rest[position], here)) is not None:
            name, register = found
            if name in registers or name in self.names:
                raise unread(rest[position], f"gives {name} another meaning")
            registers[name] = register
            position += 1
        loop, stores = rest[position] if position < len(rest) else rest[-1], rest[position + 1 : position + 1 + len(registers)]
        due = self.due(queue, here)
        if not isinstance(loop, ast.For) or due is None:
            raise Differs(loop, "is no loop over what was loaded")
        self.meaning.names |= registers
        self.lanes(loop, due, here, registers)
        for name, stmt in zip(registers, stores, strict=False):
            match self.operation_of(stmt.value) if isinstance(stmt, ast.Expr) else ("", []):
                case "store", [array, place, ast.Name(other)] if other == name:
                    if self.side_by_side(array, place, here) == registers[name]:
                        continue
            raise Differs(stmt, "does not give back what was loaded", f"{name} is to be stored where it came from")
        if len(stores) < len(registers):
            raise Differs(loop, "changes registers that are not stored behind it")
        self.meaning.names = {n: t for n, t in self.names.items() if n not in registers}
        return position + 1 + len(registers)

    def loaded(self, stmt: ast.stmt, here: Here) -> tuple[str, Held] | None:
        """The register that a statement fills, if it is a load."""
        match stmt:
            case ast.Assign([ast.Name(name)], value):
                match self.operation_of(value):
                    case "load", [array, place]:
                        return name, self.side_by_side(array, place, here)
        return None

    def operation_of(self, node: ast.expr) -> tuple[str, list[ast.expr]]:
        """The operation of vectors that an expression is, and of what; of another one nothing."""
        match node:
            case ast.Call(ast.Name(name), args, []) if name.startswith("lanes_") and name.endswith(f"_{self.vectors}"):
                return name.removeprefix("lanes_").removesuffix(f"_{self.vectors}"), args
        return "", []

    def side_by_side(self, array: ast.expr, place: ast.expr, here: Here) -> Held:
        """Cells of the block that lie side by side, from a number on."""
        match array, place:
            case ast.Name(name), ast.Call(ast.Name("at"), [number], []) if isinstance(found := self.names.get(name), Pointer):
                own = self.meaning.arrays[found.array].owner != "grid" and found.array not in self.meaning.each
                if own and found.item == self.vectors:
                    return Held(found, canonical(self.reader(here).index(number)))
        raise unread(array, f"{ast.unparse(array)} is no array of cells of {self.vectors}")

    def lanes(self, node: ast.For, due: Due, here: Here, registers: Registers) -> None:
        """A loop of the program around operations of vectors."""
        match node, due.step:
            case ast.For(ast.Name(name), body=body, orelse=[]), For(axis, inner):
                inside = self.inside(here, axis, *self.bounds(node, axis, here))
            case _:
                raise Differs(node, "is no loop of vectors")
        names, around = dict(self.names), self.domain
        self.counts(node, name, axis)
        self.domain = (*around, axis)
        wanted = deque(_vectors(tuple(replace(due, step=s) for s in inner)))
        match body:
            case [ast.If(test, body, [])]:
                inside = inside.under(self.reader(inside).guard(test))
        for stmt in body:
            one = wanted.popleft() if wanted else None
            if one is None:
                raise Differs(stmt, "is done", "the program is done here")
            if isinstance(stmt, ast.For):
                self.lanes(stmt, one, inside, registers)
            else:
                self.operation(stmt, one, inside, registers)
        if wanted:
            raise Differs(node, "ends before the program does")
        self.domain, self.meaning.names = around, names

    def operation(self, stmt: ast.stmt, due: Due, here: Here, registers: Registers) -> None:
        """`acc = lanes_add(acc, value)`: every lane of a register."""
        step, lane = due.step, due.lane
        if not isinstance(step, Assign) or lane is None:
            raise Differs(stmt, "is an operation of vectors", "the program has a loop here")
        self.shown |= {*self.meaning.computed((step,))}
        match stmt:
            case ast.Assign([ast.Name(name)], value) if name in registers:
                register = registers[name]
            case _:
                raise Differs(stmt, "changes no register that was loaded")
        self.points(stmt, (*due.guards, *conjuncts(step.guard)), here, (lane,))
        there, array = replace(here, axes=(*here.axes, lane)), register.pointer.array
        (theirs,) = self.meaning.place(step.target, step.index)
        if array != step.target or not there.same(register.first + Var(lane.name), theirs):
            raise Differs(stmt, f"changes {array} from {text(register.first)} on", f"the program's element is {text(theirs)}")
        found, wanted = self.vector(value, lane, there), self.meaning.stored(step.target, step.whole)
        if any(r.tensor in {h.pointer.array for h in registers.values()} for r in reads(step.value)) or not there.same(
            found, wanted
        ):
            raise Differs(value, f"gives {text(found)}", f"the program's value is {text(wanted)}")

    def vector(self, node: ast.expr, lane: Axis, here: Here) -> Term:
        """An expression of vectors, as what its lane holds."""
        if isinstance(node, ast.Name) and isinstance(register := self.names.get(node.id), Held):
            return self.lane(register, lane)
        match self.operation_of(node):
            case "spread", [number]:
                value = self.reader(here).value(number)
                if value.kind == self.vectors:
                    return value.term
            case "load", [array, place]:
                return self.lane(self.side_by_side(array, place, here), lane)
            case "sub", [ast.Call(ast.Name(spread), [zero], []), right] if (
                spread == f"lanes_spread_{self.vectors}" and ast.unparse(zero) == NOUGHT[self.vectors]
            ):
                return App("neg", (self.vector(right, lane, here),), self.vectors)
            case operation, [left, right] if operation in OPERATIONS:
                return App(operation, (self.vector(left, lane, here), self.vector(right, lane, here)), self.vectors)
        raise unread(node, "is no operation of vectors")

    def lane(self, register: Held, lane: Axis) -> Term:
        """What a register holds in one lane."""
        return Read(register.pointer.array, (register.first + Var(lane.name),), register.pointer.item)


NOUGHT = {"f32": "np.float32(-0.0)", "f64": "np.float64(-0.0)"}


def _vectors(wanted: tuple[Due, ...]) -> Iterator[Due]:
    """Loops over registers turn by turn, and the assignments in loops over lanes, each with the axis of its lanes around it."""
    for due in wanted:
        match due.step:
            case For(axis, body) if axis.sort == "register" and isinstance(axis.extent, Const):
                for turn in range(int(axis.extent.value)):
                    yield from _vectors(tuple(replace(due, step=substituted(s, {axis.name: Const(turn)})) for s in body))
            case For(axis, body) if axis.sort == "vector" and axis.extent == LANES:
                yield from (replace(due, step=s, lane=axis) for s in body if isinstance(s, Assign))
            case For():
                yield due
            case _:
                raise Differs(ast.Pass(lineno=1, col_offset=0), "is no loop of vectors")
