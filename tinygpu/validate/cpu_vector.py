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

from tinygpu.category.term import App, Axis, Const, Read, Term, Var, conjuncts, negation, reads, text
from tinygpu.program.lanes import LANES, WIDTHS, vector_of
from tinygpu.program.step import Assign, For, If
from tinygpu.record import dataclass, field, replace
from tinygpu.schedule.nest import substituted
from tinygpu.syntax.target import SIMD
from tinygpu.validate.cpu_follow import CpuFollower
from tinygpu.validate.follow import Due, does
from tinygpu.validate.same import Here, canonical
from tinygpu.validate.typed import Differs, Held, Pointer, unread

OPERATIONS = ("add", "sub", "mul", "div", "min", "max")


@dataclass(frozen=True, slots=True)
class Register:
    """A variable, and the cells that it holds: so many, from a first one on."""

    cells: Held
    lanes: Term

    @property
    def dtype(self) -> str:
        return self.cells.pointer.item

    def named(self, operation: str) -> str:
        """The function that loads such a register, or spreads a number over one."""
        return f"{operation}_{vector_of(self.dtype, self.lanes)}"


@dataclass(slots=True)
class VectorFollower(CpuFollower):
    """A work function with vectors; `registers` are those that hold cells here, by name, each with its lanes; no cell is in two. Around a loop
    over them nothing is done but with them (`around`); behind it they are as their cells are, until something else is done."""

    registers: dict[str, Register] = field(default_factory=dict)
    around: bool = False

    def statement(self, rest: Sequence[ast.stmt], queue: deque[Due], here: Here) -> int:
        """Loads, a loop, and the stores that give back what it has made of them; or any other statement."""
        if self.around:
            return CpuFollower.statement(self, rest, queue, here)
        if self.registers and puts(rest[0]):
            return self.behind(rest[0], queue, here)
        self.forget()
        registers: dict[str, Register] = {}
        for stmt in rest:
            if (found := self.loaded(stmt, here)) is None:
                break
            name, register = found
            if name in registers or name in self.names:
                raise unread(stmt, f"gives {name} another meaning")
            before = [r for r in registers.values() if r.cells.pointer == register.cells.pointer]
            if before and not here.holds(register.cells.first - before[-1].cells.first >= before[-1].lanes):
                raise Differs(stmt, "may hold cells that another register holds")
            registers[name] = register
        if not registers:
            done = CpuFollower.statement(self, rest, queue, here)
            self.forget()  # what was left inside
            return done
        loop, stores = rest[len(registers) :][:1], rest[len(registers) + 1 :]
        if not loop or not isinstance(loop[0], ast.For):
            raise Differs(rest[-1], "is no loop over what was loaded")
        self.registers, self.meaning.names = registers, self.names | {n: r.cells for n, r in registers.items()}
        self.around = True
        CpuFollower.statement(self, loop, queue, here)
        self.around = False
        for (name, register), stmt in zip_longest(registers.items(), stores[: len(registers)]):
            match operation_of(stmt.value) if isinstance(stmt, ast.Expr) else ("", []):
                case operation, [array, place, ast.Name(other)] if other == name and operation == f"store_{register.dtype}":
                    if self.side_by_side(array, place, here) == register.cells:
                        continue
            raise Differs(stmt or loop[0], "does not give back what was loaded", f"{name} is to be stored where it came from")
        return 2 * len(registers) + 1

    def forget(self) -> None:
        """Registers are nothing that is known any more."""
        self.meaning.names = {n: t for n, t in self.names.items() if n not in self.registers}
        self.registers = {}

    def behind(self, stmt: ast.stmt, queue: deque[Due], here: Here) -> int:
        """`lanes_store(z, place, acc)`: registers go elsewhere, in all cases or in some, with the others behind."""
        if isinstance(stmt, ast.If):
            guard = self.reader(here).guard(stmt.test)
            if not reads(guard) and (due := self.due(queue, here)) is not None:  # `s` is `if c: s` and `if not c: s`
                queue.extendleft(replace(due, step=If(c, (due.step,))) for c in (negation(guard), guard))
            return CpuFollower.statement(self, [stmt], queue, here)
        self.around = True  # the loops of the program are over lanes here, too
        due = self.due(queue, here)
        self.around = False
        match operation_of(stmt.value) if isinstance(stmt, ast.Expr) else ("", []):
            case operation, [array, place, value] if due is not None and due.lane is not None:
                cells = self.side_by_side(array, place, here)
                if operation == f"store_{cells.pointer.item}" and cells.pointer.array not in {
                    r.cells.pointer.array for r in self.registers.values()
                }:
                    self.changes(stmt, Register(cells, due.lane.extent), value, due, here)
                    self.done(stmt, cells.pointer.array)
                    return 1
        raise Differs(stmt, "puts a register elsewhere", does(due))

    def due(self, queue: deque[Due], here: Here) -> Due | None:
        """Around registers, loops over these are done turn by turn, and what is in a loop over lanes is done in all of them."""
        while (due := CpuFollower.due(self, queue, here)) is not None and self.around and isinstance(due.step, For):
            axis, inner = due.step.axis, [replace(due, step=s) for s in due.step.body]
            if axis.sort == "register" and isinstance(axis.extent, Const):
                turns = [{axis.name: Const(turn)} for turn in range(int(axis.extent.value))]
                queue.extendleft(reversed([replace(d, step=substituted(d.step, turn)) for turn in turns for d in inner]))
            elif axis.sort == "vector":  # as long as some register, or it cannot be followed
                queue.extendleft(reversed([replace(d, lane=axis) for d in inner]))
            else:
                break
        return due

    def single(self, stmt: ast.stmt, queue: deque[Due], here: Here) -> None:
        """Around registers nothing is done but with these."""
        if not self.around:
            CpuFollower.single(self, stmt, queue, here)
        elif (due := self.due(queue, here)) is None:
            raise Differs(stmt, "is done", "the program is done here")
        else:
            self.operation(stmt, due, here)

    def loaded(self, stmt: ast.stmt, here: Here) -> tuple[str, Register] | None:
        """The register that a statement fills, if it is a load."""
        match stmt:
            case ast.Assign([ast.Name(name)], value):
                match operation_of(value):
                    case operation, [array, place] if operation in LOADS:
                        register = Register(self.side_by_side(array, place, here), LOADS[operation][1])
                        own = self.meaning.arrays[register.cells.pointer.array].owner != "grid"
                        if own and register.dtype == LOADS[operation][0]:
                            return name, register
        return None

    def side_by_side(self, array: ast.expr, place: ast.expr, here: Here) -> Held:
        """Cells of the block, or elements of an array, that lie side by side, from a number on."""
        match array, place:
            case ast.Name(name), ast.Call(ast.Name("at"), [number], []) if isinstance(found := self.names.get(name), Pointer):
                if found.array not in self.meaning.each:
                    return Held(found, canonical(self.reader(here).index(number)))
        raise unread(array, f"{ast.unparse(array)} is no array of cells that lie side by side")

    def operation(self, stmt: ast.stmt, due: Due, here: Here) -> None:
        """`acc = lanes_add(acc, value)`: every lane of a register."""
        match stmt:
            case ast.Assign([ast.Name(name)], value) if name in self.registers:
                arrays = {r.cells.pointer.array for r in self.registers.values()}
                if isinstance(due.step, Assign) and any(r.tensor in arrays for r in reads(due.step.value)):
                    raise Differs(stmt, "looks at what registers hold")
                self.changes(stmt, self.registers[name], value, due, here)
            case _:
                raise Differs(stmt, "changes no register that was loaded")

    def changes(self, stmt: ast.stmt, register: Register, value: ast.expr, due: Due, here: Here) -> None:
        """That as many cells as there are lanes take what the program gives them."""
        step, lane = due.step, due.lane
        if not isinstance(step, Assign) or lane is None:
            raise Differs(stmt, "is an operation of vectors", "the program has a loop here")
        self.shown |= {*self.meaning.computed((step,))}
        self.points(stmt, (*due.guards, *conjuncts(step.guard)), here, (lane,))
        there, cells = replace(here, axes=(*here.axes, lane)), register.cells
        (theirs,) = self.meaning.place(step.target, step.index)
        if cells.pointer.array != step.target or not there.same(cells.first + Var(lane.name), theirs):
            changed = f"changes {cells.pointer.array} from {text(cells.first)} on"
            raise Differs(stmt, changed, f"the program's element is {text(theirs)}")
        if lane.extent != register.lanes:
            raise Differs(stmt, f"changes {text(register.lanes)} elements at once", f"the program changes {text(lane.extent)}")
        found, wanted = self.vector(value, register, lane, there), self.meaning.stored(step.target, step.whole)
        if any(r.tensor == step.target for r in reads(step.value)) or not there.same(found, wanted):
            raise Differs(value, f"gives {text(found)}", f"the program's value is {text(wanted)}")

    def vector(self, node: ast.expr, register: Register, lane: Axis, here: Here) -> Term:
        """An expression of vectors that are as long as a register, as what its lane holds."""
        if isinstance(node, ast.Name) and node.id in self.registers:
            return self.lane(self.registers[node.id], register, lane, node)
        dtype = register.dtype
        match operation_of(node):
            case operation, [number] if operation == register.named("spread"):
                value = self.reader(here).value(number)
                if value.kind == dtype:
                    return value.term
            case operation, [array, place] if operation == register.named("load"):
                return self.lane(Register(self.side_by_side(array, place, here), register.lanes), register, lane, node)
            case operation, [left, right] if operation in (f"{name}_{dtype}" for name in OPERATIONS):
                name = operation.removesuffix(f"_{dtype}")
                match operation_of(left) if name == "sub" else ("", []):
                    case spread, [zero] if spread == register.named("spread") and ast.unparse(zero) == NOUGHT[dtype]:
                        return App("neg", (self.vector(right, register, lane, here),), dtype)
                return App(name, tuple(self.vector(side, register, lane, here) for side in (left, right)), dtype)
        raise unread(node, "is no operation of vectors")

    def lane(self, read: Register, register: Register, lane: Axis, node: ast.expr) -> Term:
        """What a register holds in one lane, where another one of its kind is changed."""
        if (read.dtype, read.lanes) != (register.dtype, register.lanes):
            raise Differs(node, "has other lanes than the register that is changed")
        return Read(read.cells.pointer.array, (read.cells.first + Var(lane.name),), read.dtype)


def puts(stmt: ast.stmt) -> bool:
    """Whether a statement only stores registers, under a condition or not."""
    match stmt:
        case ast.If(body=body, orelse=[]):
            return all(isinstance(inner, ast.Expr) and puts(inner) for inner in body)
        case ast.Expr(value):
            return operation_of(value)[0].startswith("store_")
    return False


def operation_of(node: ast.expr) -> tuple[str, list[ast.expr]]:
    """The operation of vectors that an expression is, and of what; of another one nothing."""
    match node:
        case ast.Call(ast.Name(name), args, []) if name.startswith("lanes_"):
            return name.removeprefix("lanes_"), args
    return "", []


_LENGTHS: tuple[Term, ...] = (LANES, *(Const(n) for n in SIMD))
LOADS = {f"load_{vector_of(dtype, lanes)}": (dtype, lanes) for dtype in WIDTHS for lanes in _LENGTHS}
NOUGHT = {"f32": "np.float32(-0.0)", "f64": "np.float64(-0.0)"}
