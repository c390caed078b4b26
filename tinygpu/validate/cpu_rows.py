"""Groups of rows whose accumulators are in vector registers, statement by statement.

Comes in: the body of a loop over rows that loads registers. Goes out: its loops with the updates of the cells that the registers stand for.
The one idea: see `cpu_tile`; here the text is read, there it is compared and rolled up.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from tinygpu.category.affine import linear
from tinygpu.category.monoid import SCALARS
from tinygpu.category.term import App, Axis, Const, Read, Term, Var, conjunction
from tinygpu.obligations.obligation import Point
from tinygpu.program.step import For, Step
from tinygpu.validate.cpu_loop import loop
from tinygpu.validate.cpu_names import Cells, Unread, Vector
from tinygpu.validate.cpu_number import widened
from tinygpu.schedule.scope import guarded
from tinygpu.validate.cpu_state import State, given_names
from tinygpu.validate.cpu_tile import Register, Rows, Update, steps, stored

UPDATES = {monoid.op: monoid.name for monoid in SCALARS.values()}
VECTORS = tuple(f"lanes_{op}" for op in ("add", "sub", "mul", "div", "max", "min"))


class Grouped(State):
    """A reader that knows groups of rows."""

    def group(self, node: ast.For, body: list[ast.stmt], point: Point) -> tuple[Step, ...]:
        """The body of a loop whose accumulators are in vector registers."""
        lanes = self.names["LANES"]
        assert isinstance(lanes, Const)
        lane, row = Axis(self.fresh("lane"), lanes, "time"), self.fresh("row")
        at = next((n for n, s in enumerate(body) if isinstance(s, ast.For)), len(body))
        registers: dict[str, Register] = {}
        for statement in body[:at]:
            match statement:
                case ast.Assign(
                    [ast.Name(name)], ast.Call(ast.Name("lanes_load"), [ast.Name(array), ast.Call(ast.Name("at"), [number])])
                ):
                    registers[name] = self.register(statement, array, number)
                case ast.Assign([ast.Name(name)], value) if name not in registers:
                    self.names[name] = self.index(value)
                case _:
                    raise Unread(statement, "a statement that no group of rows begins with")
        self.called |= {"lanes_load", "lanes_store"}
        made, done = self.vector_steps(body[at : at + 1], Rows(registers, lane, row), point)
        self.lose({n for s in body[at:] for n in given_names([s])}, "changes from turn to turn")
        for vector in [n for n, m in self.names.items() if isinstance(m, Vector)]:
            del self.names[vector]
        stored(body[at + 1 :], registers, self.register)
        if done != set(registers.values()):
            raise Unread(node, "registers that nothing is done with")
        return made

    def vector_steps(self, nodes: Sequence[ast.stmt], group: Rows, point: Point) -> tuple[tuple[Step, ...], set[Register]]:
        """Statements on vectors, and the registers that they update."""
        out: list[Step] = []
        updates: list[Update] = []
        done: set[Register] = set()
        for node in nodes:
            match node:
                case ast.For(ast.Name(name), ast.Call(ast.Name("range"), bounds, []), body, []):
                    start, stop = [Const(0), *map(self.index, bounds)][-2:]
                    found = loop(self.fresh(name), start, stop, 1, point, self.sizes) if len(bounds) < 3 else None
                    if found is None or updates:
                        raise Unread(node, "no loop as in a group of rows")
                    self.names[name] = found.value
                    inner, more = self.vector_steps(body, group, point.inside(found.axis).under(*found.guards))
                    if found.guards:
                        inner = guarded(conjunction(*found.guards), inner, self.arrays, self.span(node))
                    out.append(For(found.axis, inner, self.span(node)))
                    done |= more
                case _:
                    updates += self.vector_statement(node, group.registers, group.lane)
        if updates:
            out += steps(nodes[0], updates, group.lane, group.row, point, self.span(nodes[-1]))
            done |= {u.register for u in updates}
        return tuple(out), done

    def register(self, node: ast.AST, array: str, number: ast.expr) -> Register:
        """The cells from a number on, one for each lane."""
        cells = self.names.get(array)
        if not isinstance(cells, Cells) or len(cells.shape) < 2 or cells.dtype != self.vectors:
            raise Unread(node, f"{array} is no array of rows of {self.vectors or 'vectors'}")
        return Register(cells, tuple(linear(c).term() for c in self.place(number, cells.shape)))

    def vector_statement(self, node: ast.stmt, registers: dict[str, Register], lane: Axis) -> Iterator[Update]:
        """An assignment of a vector: an update of a register, or a name for it in this turn."""
        match node:
            case ast.Assign([ast.Name(name)], ast.Call(ast.Name(which), [ast.Name(again), value], [])) if (
                name in registers and again == name
            ):
                op = which.removeprefix("lanes_")
                if which.startswith("lanes_") and op in UPDATES:
                    self.called.add(which)
                    yield Update(registers[name], UPDATES[op], self.vector(value, registers, lane))
                    return
            case ast.Assign([ast.Name(name)], value) if name not in registers:
                self.names[name] = Vector(self.vector(value, registers, lane))
                return
        raise Unread(node, "a statement on vectors that kernels do not have")

    def vector(self, node: ast.expr, registers: dict[str, Register], lane: Axis) -> Term:
        """What one lane of a vector is."""
        match node:
            case ast.Name(name) if isinstance(found := self.names.get(name), Vector) and name not in registers:
                return found.term
            case ast.Call(ast.Name("lanes_spread"), [value], []):
                self.called.add("lanes_spread")
                return self.term(value)
            case ast.Call(ast.Name("lanes_load"), [ast.Name(array), ast.Call(ast.Name("at"), [number])], []):
                place = self.register(node, array, number)
                return Read(
                    place.cells.name, (*place.place[:-1], place.place[-1] + Var(lane.name)), place.cells.dtype, self.span(node)
                )
            case ast.Call(ast.Name(which), [left, right], []) if which in VECTORS:
                self.called.add(which)
                a, b = widened(self.vector(left, registers, lane)), widened(self.vector(right, registers, lane))
                if a.dtype == b.dtype:
                    return App(which.removeprefix("lanes_"), (a, b), a.dtype)
        raise Unread(node, f"{ast.unparse(node)} is no vector")
