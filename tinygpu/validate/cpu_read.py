"""The body of a work function as steps of a program of one thread.

Comes in: statements, what the names in front of them stand for, and what is known there. Goes out: steps, and the cells they use.
The one idea: indices are put in where they are used, loops become boxes, everything else is written down step by step, so the program
that is read does what the text does, in the order of the text.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from tinygpu.category.monoid import SCALARS
from tinygpu.category.term import INDEX, App, Axis, Const, Read, Term, Var, conjunction, negation, reads, select
from tinygpu.model.op import Tensor
from tinygpu.obligations.obligation import Point
from tinygpu.program.step import Assign, For, Local, Step
from tinygpu.validate.cpu_loop import loop
from tinygpu.validate.cpu_names import Cell, Cells, Component, Digits, Global, Lost, Meaning, Unread
from tinygpu.validate.cpu_number import widened
from tinygpu.validate.cpu_rows import Grouped
from tinygpu.schedule.scope import guarded
from tinygpu.validate.cpu_state import factors, given_names
from tinygpu.validate.cpu_tile import is_group

UPDATES = {monoid.op: monoid.name for monoid in SCALARS.values()}
ALONE = 8  # turns of a loop that is read turn by turn


class Reader(Grouped):
    """Statements of one launch. `taken` are the names of the program that is made; `cells` its own arrays."""

    # ── names ──────────────────────────────────────────────────────────────────────────────────────────────────

    # ── statements ─────────────────────────────────────────────────────────────────────────────────────────────

    def body(self, nodes: Sequence[ast.stmt], point: Point) -> tuple[Step, ...]:
        """Statements in order. Raises Unread."""
        around, self.here = self.here, point
        try:
            return self.in_order(nodes, point)
        finally:
            self.here = around

    def in_order(self, nodes: Sequence[ast.stmt], point: Point) -> tuple[Step, ...]:
        out: list[Step] = []
        position = 0
        while position < len(nodes):
            run = self.run_at(nodes[position:])
            made = list(self.run(run) if run else self.statement(nodes[position], point))
            for step in made:
                self.pieces.looked(nodes[position], step)
            out += made
            position += max(1, len(run))
        return tuple(out)

    def statement(self, node: ast.stmt, point: Point) -> Iterator[Step]:
        match node:
            case ast.Assign([target], value):
                yield from self.assign(node, target, value)
            case ast.For(ast.Name(name), ast.Call(ast.Name("range"), bounds, []), body, []):
                yield from self.loop(node, name, bounds, body, point)
            case ast.If(test, then, otherwise):
                yield from self.branch(node, test, then, otherwise, point)
            case ast.Pass():
                return
            case _:
                raise Unread(node, "a statement that kernels do not have")

    def assign(self, node: ast.Assign, target: ast.expr, value: ast.expr) -> Iterator[Step]:
        match target, value:
            case ast.Tuple(targets), ast.IfExp(test, ast.Tuple(yes), ast.Tuple(no)) if len(targets) == len(yes) == len(no):
                yield from self.together(node, targets, [ast.IfExp(test, a, b) for a, b in zip(yes, no, strict=True)])
            case ast.Tuple(targets), ast.Tuple(values) if len(targets) == len(values):
                yield from self.together(node, targets, values)
            case ast.Name(name), ast.Call(ast.Attribute(ast.Name("np"), "empty" | "zeros")):
                raise Unread(node, f"{name} is made inside a loop")
            case ast.Name(name), _ if (digits := self.digits(value)) is not None:
                self.names[name] = digits
            case ast.Name(name), _:
                yield from self.named(node, name, self.term(value))
            case ast.Subscript(ast.Name()), _:
                yield self.stored(node, target, value)
            case _:
                raise Unread(node, "a target that kernels do not have")

    def together(self, node: ast.Assign, targets: list[ast.expr], values: list[ast.expr]) -> Iterator[Step]:
        """`a, b = x, y`: all values first."""
        terms = [self.term(v) for v in values]
        kept: list[Term] = []
        for term, value in zip(terms, values, strict=True):
            if term.dtype != INDEX:
                name = self.fresh("taken")
                self.cells[name] = Local(name, term.dtype, (), self.span(value))
                yield Assign(name, (), term, span=self.span(node))
                term = Read(name, (), term.dtype)
            kept.append(term)
        for target, term in zip(targets, kept, strict=True):
            match target:
                case ast.Name(name):
                    yield from self.named(node, name, term)
                case ast.Subscript(ast.Name()):
                    yield self.written(node, target, term)
                case _:
                    raise Unread(node, "a target that kernels do not have")

    def named(self, node: ast.Assign, name: str, term: Term) -> Iterator[Step]:
        """`name = term`: an index is its term from here on, a number a cell."""
        if term.dtype != INDEX:
            cell = self.cell(node, name, term.dtype)
            yield self.step(node, cell.name, (), term, cell.dtype)
        elif isinstance(self.names.get(name), Cell | Cells | Component | Global):
            raise Unread(node, f"{name} is an index now, and was none before")
        else:
            self.lasting(node, term)
            self.names[name] = term

    def changes(self, term: Term) -> bool:
        """Whether a term reads what may be written."""
        return any(r.tensor in self.cells or r.tensor in self.writable for r in reads(term))

    def lasting(self, node: ast.AST, *terms: Term) -> None:
        """An index that is used later has to be what it was."""
        if any(map(self.changes, terms)):
            raise Unread(node, "an index that depends on what may be written in between")

    def stored(self, node: ast.Assign, target: ast.Subscript, value: ast.expr) -> Step:
        """`array[at(number)] = value`."""
        assert isinstance(target.value, ast.Name)
        found = self.names.get(target.value.id)
        if isinstance(found, Global) and found.tensor.dtype in ("f16", "bf16"):
            if isinstance(value, ast.Subscript):
                return self.written(node, target, self.element(value, True))
            return self.written(node, target, self.bits(node, value, found.tensor))
        return self.written(node, target, self.term(value))

    def bits(self, node: ast.AST, value: ast.expr, tensor: Tensor) -> Term:
        match value:
            case ast.Call(ast.Name(name)) if name == f"f32_to_{tensor.dtype}":
                return self.term(value)
        raise Unread(node, f"{tensor.name} holds bits, and a number is put in")

    def written(self, node: ast.Assign, target: ast.Subscript, term: Term) -> Step:
        assert isinstance(target.value, ast.Name)
        match target.slice, self.names.get(target.value.id):
            case ast.Call(ast.Name("at"), [number]), Cells(name, dtype, shape):
                return self.step(node, name, self.place(number, shape), term, dtype)
            case ast.Call(ast.Name("at"), [number]), Global(tensor) if tensor.name in self.writable:
                return self.step(node, tensor.name, self.place(number, tensor.shape), term, tensor.dtype)
        raise Unread(node, f"{ast.unparse(target)} may not be written")

    def step(self, node: ast.Assign, name: str, place: tuple[Term, ...], term: Term, dtype: str) -> Assign:
        """A write; one that combines the cell with something else is an update of it."""
        if dtype == "f32":
            term = widened(term)
        if term.dtype != dtype:
            raise Unread(node, f"{name} holds {dtype}, and {term.dtype} is put in")
        match term:
            case App(op, (Read(target, index), more)) if target == name and index == place and op in UPDATES:
                if not any(r.tensor == name for r in reads(more)):
                    atomic = name not in self.cells
                    return Assign(name, place, more, UPDATES[op], span=self.span(node), atomic=atomic)
        return Assign(name, place, term, span=self.span(node))

    # ── loops and branches ─────────────────────────────────────────────────────────────────────────────────────

    def loop(self, node: ast.For, name: str, bounds: list[ast.expr], body: list[ast.stmt], point: Point) -> Iterator[Step]:
        terms = [self.index(b) for b in bounds]
        self.lasting(node, *terms)
        start, stop = (Const(0), terms[0]) if len(terms) == 1 else terms[:2]
        step = terms[2] if len(terms) == 3 else Const(1)
        if len(bounds) == 1 and isinstance(stop, Const) and isinstance(bounds[0], ast.BinOp) and len(factors(bounds[0])) == 2:
            yield from self.digit_loop(node, name, factors(bounds[0]), body, point)
            return
        if not isinstance(step, Const) or step.value < 1:
            raise Unread(node, "a step that is no number")
        if _chooses(body, name) and start == Const(0) and isinstance(stop, Const) and stop.value <= ALONE and step.value == 1:
            for turn in range(int(stop.value)):
                self.names[name] = Const(turn)
                yield from self.body(body, point)
            self.names[name] = Lost(f"{name} ends with its loop")
            return
        axis = self.fresh(name)
        self.said[axis] = name
        found = loop(axis, start, stop, int(step.value), point, self.sizes)
        if found is None:
            raise Unread(node, f"no number of turns over the sizes is seen for {ast.unparse(node.iter)}")
        changed = given_names(body)
        self.lose(changed, "changes from turn to turn")
        self.names[name] = found.value
        phases = self.pieces.phases
        there = point.inside(found.axis).under(*found.guards)
        inner = self.group(node, body, there) if is_group(body) else self.body(body, there)
        if phases != self.pieces.phases:
            raise Unread(node, "pieces that are begun and ended in different turns")
        if not found.guards and isinstance(found.axis.extent, Const):
            turns = int(found.axis.extent.value)
            rest = self.pieces.loop(node, axis, turns, start, inner) if found.value == Var(axis) else None
            if rest is not None:
                inner = rest
        self.lose({*changed, name}, "changes from turn to turn")
        if found.guards:
            inner = guarded(conjunction(*found.guards), inner, self.arrays, self.span(node))
        if inner:
            yield For(found.axis, inner, self.span(node))

    def digit_loop(self, node: ast.For, name: str, factors: list[ast.expr], body: list[ast.stmt], point: Point) -> Iterator[Step]:
        """A loop over all of `a*b`, as loops over the two digits of its name."""
        axes = tuple(Axis(self.fresh(name), self.index(f), "time") for f in factors)
        changed = given_names(body)
        self.lose(changed, "changes from turn to turn")
        self.names[name] = Digits(axes).term()
        inner = self.body(body, point.inside(*axes))
        self.lose({*changed, name}, "changes from turn to turn")
        yield For(axes[0], (For(axes[1], inner, self.span(node)),), self.span(node))

    # ── groups of rows ─────────────────────────────────────────────────────────────────────────────────────────

    def branch(self, node: ast.If, test: ast.expr, then: list[ast.stmt], otherwise: list[ast.stmt], point: Point) -> Iterator[Step]:
        condition = self.condition(test)
        before, phases = dict(self.names), self.pieces.phases
        known = not self.changes(condition)
        if otherwise and not known:
            raise Unread(node, "a choice of two by what may be written in between")
        yes = self.body(then, point.under(condition) if known else point)
        after, self.names = self.names, self.either(before)
        no = self.body(otherwise, point.under(negation(condition)) if known else point)
        if phases != self.pieces.phases:
            raise Unread(node, "pieces that are begun and ended in different cases")
        for name in given_names(then) | given_names(otherwise):
            a, b = after.get(name), self.names.get(name)
            if known and isinstance(a, Const | Var | App) and isinstance(b, Const | Var | App):
                self.names[name] = select(condition, a, b)
            elif a is not None and not isinstance(a, Cell | Component):
                self.names[name] = Lost(f"{name} has a value in one case alone")
        if yes:
            yield from guarded(condition, yes, self.arrays, self.span(node))
        if no:
            yield from guarded(negation(condition), no, self.arrays, self.span(node))

    def either(self, before: dict[str, Meaning]) -> dict[str, Meaning]:
        """The names in front of the other branch: cells that were made stay."""
        made = {name: m for name, m in self.names.items() if isinstance(m, Cell | Component) and name not in before}
        return {**before, **made}


def _chooses(body: Sequence[ast.stmt], name: str) -> bool:
    """Whether a loop's name chooses between bounds, so that each turn is read for itself."""
    return any(
        isinstance(s, ast.Assign) and isinstance(s.value, ast.IfExp) and isinstance(s.value.body, ast.Tuple)
        and any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(s.value.test))
        for s in body
    )  # fmt: skip
