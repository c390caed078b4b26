"""Accumulators in vector registers, followed along the loops of a program over lanes.

    acc_0 = lanes_load(cells, …);  for k: acc_0 = lanes_add(acc_0, …);  lanes_store(cells, …, acc_0)   ≈   for k, lane: cells[…] += …

Comes in: the statements from the first load on. Goes out: how many of them the loop and its registers are. The one idea: a register is the
cells that it was loaded from, one a lane, as long as nobody else touches these; they are the same cells in every turn.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Sequence
from itertools import zip_longest

from tinygpu.category.term import App, Axis, Const, Read, Term, Var, conjuncts, reads, text
from tinygpu.program.lanes import LANES
from tinygpu.program.step import Assign, For
from tinygpu.record import dataclass, field, replace
from tinygpu.schedule.nest import substituted
from tinygpu.validate.cpu_follow import CpuFollower
from tinygpu.validate.follow import Due
from tinygpu.validate.same import Here, canonical
from tinygpu.validate.typed import Differs, Held, Pointer, unread

OPERATIONS = ("add", "sub", "mul", "div", "min", "max")


@dataclass(slots=True)
class VectorFollower(CpuFollower):
    """A work function with vectors of numbers of that type; `registers` are those that hold cells here, by name; no cell is in two."""

    vectors: str = ""
    registers: dict[str, Held] = field(default_factory=dict)

    def statement(self, rest: Sequence[ast.stmt], queue: deque[Due], here: Here) -> int:
        """Loads, a loop, and the stores that give back what it has made of them; or any other statement."""
        registers: dict[str, Held] = {}
        for stmt in rest:
            if self.registers or (found := self.loaded(stmt, here)) is None:
                break
            name, register = found
            if name in registers or name in self.names:
                raise unread(stmt, f"gives {name} another meaning")
            before = [h.first for h in registers.values() if h.pointer == register.pointer]
            if before and not here.holds(register.first - before[-1] >= LANES):
                raise Differs(stmt, "may hold cells that another register holds")
            registers[name] = register
        if not registers:
            return CpuFollower.statement(self, rest, queue, here)
        loop, stores = rest[len(registers) :][:1], rest[len(registers) + 1 :]
        if not loop or not isinstance(loop[0], ast.For):
            raise Differs(rest[-1], "is no loop over what was loaded")
        self.registers, self.meaning.names = registers, self.names | registers
        CpuFollower.statement(self, loop, queue, here)
        for (name, register), stmt in zip_longest(registers.items(), stores[: len(registers)]):
            match self.operation_of(stmt.value) if isinstance(stmt, ast.Expr) else ("", []):
                case "store", [array, place, ast.Name(other)] if other == name:
                    if self.side_by_side(array, place, here) == register:
                        continue
            raise Differs(stmt or loop[0], "does not give back what was loaded", f"{name} is to be stored where it came from")
        self.registers, self.meaning.names = {}, {n: t for n, t in self.names.items() if n not in registers}
        return 2 * len(registers) + 1

    def due(self, queue: deque[Due], here: Here) -> Due | None:
        """Around registers, loops over these are done turn by turn, and what is in a loop over lanes is done in all of them."""
        while (due := CpuFollower.due(self, queue, here)) is not None and self.registers and isinstance(due.step, For):
            axis, inner = due.step.axis, [replace(due, step=s) for s in due.step.body]
            if axis.sort == "register" and isinstance(axis.extent, Const):
                turns = [{axis.name: Const(turn)} for turn in range(int(axis.extent.value))]
                queue.extendleft(reversed([replace(d, step=substituted(d.step, turn)) for turn in turns for d in inner]))
            elif axis.sort == "vector" and axis.extent == LANES:
                queue.extendleft(reversed([replace(d, lane=axis) for d in inner]))
            else:
                break
        return due

    def single(self, stmt: ast.stmt, queue: deque[Due], here: Here) -> None:
        """Around registers nothing is done but with these."""
        if not self.registers:
            CpuFollower.single(self, stmt, queue, here)
        elif (due := self.due(queue, here)) is None:
            raise Differs(stmt, "is done", "the program is done here")
        else:
            self.operation(stmt, due, here)

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

    def operation(self, stmt: ast.stmt, due: Due, here: Here) -> None:
        """`acc = lanes_add(acc, value)`: every lane of a register."""
        step, lane = due.step, due.lane
        if not isinstance(step, Assign) or lane is None:
            raise Differs(stmt, "is an operation of vectors", "the program has a loop here")
        self.shown |= {*self.meaning.computed((step,))}
        match stmt:
            case ast.Assign([ast.Name(name)], value) if name in self.registers:
                register = self.registers[name]
            case _:
                raise Differs(stmt, "changes no register that was loaded")
        self.points(stmt, (*due.guards, *conjuncts(step.guard)), here, (lane,))
        there, array = replace(here, axes=(*here.axes, lane)), register.pointer.array
        (theirs,) = self.meaning.place(step.target, step.index)
        if array != step.target or not there.same(register.first + Var(lane.name), theirs):
            raise Differs(stmt, f"changes {array} from {text(register.first)} on", f"the program's element is {text(theirs)}")
        found, wanted = self.vector(value, lane, there), self.meaning.stored(step.target, step.whole)
        if any(r.tensor in {h.pointer.array for h in self.registers.values()} for r in reads(step.value)) or not there.same(
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
