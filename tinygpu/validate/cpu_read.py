"""The body of a work function as steps of a program of one thread.

Comes in: statements, what the names in front of them stand for, and what is known there. Goes out: steps, and the cells they use.
The one idea: indices are put in where they are used, loops become boxes, everything else is written down step by step, so the program
that is read does what the text does, in the order of the text.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count

from tinygpu.category.affine import linear
from tinygpu.category.monoid import SCALARS
from tinygpu.category.term import INDEX, App, Axis, Const, Read, Term, Var, conjunction, negation, reads, select, substitute
from tinygpu.model.op import Tensor
from tinygpu.obligations.obligation import Point
from tinygpu.program.step import Assign, For, Local, Step
from tinygpu.validate.cpu_carrier import Group, Role, Run
from tinygpu.validate.cpu_loop import loop
from tinygpu.validate.cpu_names import Cell, Cells, Component, Digits, Global, Lost, Meaning, Number, Unread
from tinygpu.validate.cpu_pieces import Pieces, Waiting, guarded
from tinygpu.validate.cpu_tile import Register, Update, Vector, is_group, steps, stored
from tinygpu.validate.cpu_value import DTYPE, Values, widened
from tinygpu.validate.module import Module

Roles = dict[str, Role]
UPDATES = {monoid.op: monoid.name for monoid in SCALARS.values()}
VECTORS = tuple(f"lanes_{op}" for op in ("add", "sub", "mul", "div", "max", "min"))
ALONE = 8  # turns of a loop that is read turn by turn


class Reader(Values):
    """Statements of one launch. `taken` are the names of the program that is made; `cells` its own arrays."""

    def __init__(
        self,
        module: Module,
        names: dict[str, Meaning],
        sizes: frozenset[str],
        taken: set[str],
        writable: set[str],
        roles: Roles,
        vectors: str,
    ) -> None:
        super().__init__(module, names)
        self.sizes, self.taken, self.writable, self.roles, self.vectors = sizes, taken, writable, roles, vectors
        self.cells: dict[str, Local] = {}
        self.carriers: dict[str, Group] = {}
        self.pieces = Waiting()
        self.filled: set[str] = set()  # arrays that are no unwritten memory, though nobody may depend on what they hold

    # ── names ──────────────────────────────────────────────────────────────────────────────────────────────────

    def fresh(self, name: str) -> str:
        """A name that nothing in the program has yet."""
        found = next(n for i in count() if (n := f"{name}{i + 1}" if i else name) not in self.taken)
        self.taken.add(found)
        return found

    def cell(self, node: ast.AST, name: str, dtype: str) -> Cell:
        """The cell behind a name, made at its first use."""
        known = self.names.get(name)
        if isinstance(known, Cell):
            if known.dtype != dtype:
                raise Unread(node, f"{name} holds {known.dtype}, and {dtype} is put in")
            return known
        made = Cell(self.fresh(name), dtype)
        self.cells[made.name] = Local(made.name, dtype, (), self.span(node))
        self.pieces.named(name, made.name)
        self.names[name] = made
        return made

    def array(self, node: ast.Assign, name: str) -> None:
        """`name = np.empty(size, np.float32)`: cells whose first contents nothing may depend on."""
        match node.value:
            case ast.Call(
                ast.Attribute(ast.Name("np"), "empty" | "zeros" as kind), [size, ast.Attribute(ast.Name("np"), dtype)], []
            ) if dtype in DTYPE:
                shape = tuple(self.index(s) for s in _factors(size))
                if not all(isinstance(e, Const) and e.value >= 1 for e in shape):
                    raise Unread(node, "an array whose length is no number")
                if (role := self.roles.get(name)) and role.kind in ("", "parts"):
                    self.components(node, name, role, DTYPE[dtype], shape)
                    return
                made = Cells(self.fresh(name), DTYPE[dtype], shape)
                self.filled |= {made.name} if kind == "zeros" else set()
                self.names[name] = made
                self.declared(node, made, name.removesuffix("_parts") if name.endswith("_parts") else "")
                return
        raise Unread(node, "this does not make an array as kernels do")

    @property
    def arrays(self) -> set[str]:
        """The names of arrays of cells."""
        return {name for name, local in self.cells.items() if local.extents}

    def declared(self, node: ast.Assign, made: Cells, whole: str) -> None:
        """An array of cells, or of pieces of a whole."""
        if whole and len(made.shape) == 1:
            self.pieces.arrays[made.name] = Pieces(made.name, whole, int(made.shape[0].value))  # type: ignore[union-attr]
        self.cells[made.name] = Local(made.name, made.dtype, made.shape, self.span(node))

    def components(self, node: ast.Assign, name: str, role: Role, dtype: str, shape: tuple[Term, ...]) -> None:
        """An array for one component of values of a carrier."""
        key = f"{role.group.prefix}{'_parts' if role.kind else ''}"
        made = self.names.get(key + " array")
        if not isinstance(made, Cells):
            made = Cells(self.fresh(key), role.group.carrier, shape)
            self.names[key + " array"] = made
            self.carriers[made.name] = role.group
            self.declared(node, made, role.group.prefix if role.kind else "")
        if made.shape != shape or role.group.components[role.place][1] != dtype:
            raise Unread(node, f"the components of {key} are not arrays of one length")
        self.names[name] = Component(made, role.place, dtype)

    # ── statements ─────────────────────────────────────────────────────────────────────────────────────────────

    def body(self, nodes: Sequence[ast.stmt], point: Point) -> tuple[Step, ...]:
        """Statements in order. Raises Unread."""
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

    def run_at(self, nodes: Sequence[ast.stmt]) -> list[ast.Assign]:
        """The assignments from here on that belong to values of several components."""
        out: list[ast.Assign] = []
        for node in nodes:
            if not isinstance(node, ast.Assign) or not all(self.roles.get(_base(t)) for t in _targets(node)):
                break
            out.append(node)
        return out

    def run(self, nodes: Sequence[ast.Assign]) -> Iterator[Step]:
        """The steps that a run of assignments is."""
        run, given, marks = Run(), dict[str, dict[int, Term]](), dict[str, Term]()
        before = dict(self.names)
        for node in nodes:
            values = (
                node.value.elts if isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple) else [node.value]
            )
            terms = [substitute(run.seen(self.term(v), node), marks) for v in values]
            for target, term in zip(_targets(node), terms, strict=True):
                role = self.roles[_base(target)]
                if role.kind in ("in", "out"):
                    mark = Var(f"{_base(target)} of a run", term.dtype)
                    marks[mark.name] = term
                    self.names[_base(target)] = Number(mark)
                    if role.kind == "in":
                        given.setdefault(role.group.prefix, {})[role.place] = term
                else:
                    name, index = self.component(node, target, role)
                    run.write(name, index, role.place, term)
        for name in self.roles:
            if self.roles[name].kind in ("in", "out") and name in self.names:
                del self.names[name]
        self.names = {**before, **self.names}
        for step in run.steps(nodes[0], self.carriers, given):
            yield replace(step, span=self.span(nodes[-1]))

    def component(self, node: ast.Assign, target: ast.expr, role: Role) -> tuple[str, tuple[Term, ...]]:
        """The cell behind a component that is written."""
        match target, self.names.get(_base(target)):
            case ast.Name(), Component(Cell(name), _, _):
                return name, ()
            case ast.Name(), None if role.kind == "":
                made = self.names.get(role.group.prefix + " whole")
                if not isinstance(made, Cell):
                    made = Cell(self.fresh(role.group.prefix), role.group.carrier)
                    self.cells[made.name] = Local(made.name, made.dtype, (), self.span(node))
                    self.carriers[made.name] = role.group
                    self.pieces.named(role.group.prefix, made.name)
                    self.names[role.group.prefix + " whole"] = made
                self.names[_base(target)] = Component(made, role.place, role.group.components[role.place][1])
                return made.name, ()
            case ast.Subscript(_, ast.Call(ast.Name("at"), [number])), Component(Cells(name, _, shape), _, _):
                return name, self.place(number, shape)
        raise Unread(node, f"{ast.unparse(target)} is no component of a cell")

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

    def digits(self, value: ast.expr) -> Digits | None:
        """What a name is that takes over digits of an item."""
        match value:
            case ast.Name(name) if isinstance(found := self.names.get(name), Digits):
                return found
            case ast.Call(ast.Name("quotient"), [ast.Name(name), divisor]) if isinstance(found := self.names.get(name), Digits):
                if found.axes and self.same(found.axes[-1].extent, divisor):
                    self.called.add("quotient")
                    return Digits(found.axes[:-1])
        return None

    def named(self, node: ast.Assign, name: str, term: Term) -> Iterator[Step]:
        """`name = term`: an index is its term from here on, a number a cell."""
        if term.dtype != INDEX:
            cell = self.cell(node, name, term.dtype)
            yield self.step(node, cell.name, (), term, cell.dtype)
        elif isinstance(self.names.get(name), Cell | Cells | Component | Global):
            raise Unread(node, f"{name} is an index now, and was none before")
        else:
            self.names[name] = term

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
        start, stop = (Const(0), terms[0]) if len(terms) == 1 else terms[:2]
        step = terms[2] if len(terms) == 3 else Const(1)
        if len(bounds) == 1 and isinstance(stop, Const) and isinstance(bounds[0], ast.BinOp) and len(_factors(bounds[0])) == 2:
            yield from self.digit_loop(node, name, _factors(bounds[0]), body, point)
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
        found = loop(axis, start, stop, int(step.value), point, self.sizes)
        if found is None:
            raise Unread(node, f"no number of turns over the sizes is seen for {ast.unparse(node.iter)}")
        changed = _given(body)
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
        changed = _given(body)
        self.lose(changed, "changes from turn to turn")
        self.names[name] = Digits(axes).term()
        inner = self.body(body, point.inside(*axes))
        self.lose({*changed, name}, "changes from turn to turn")
        yield For(axes[0], (For(axes[1], inner, self.span(node)),), self.span(node))

    # ── groups of rows ─────────────────────────────────────────────────────────────────────────────────────────

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
        match body[at : at + 1]:
            case [ast.For(ast.Name(name), ast.Call(ast.Name("range"), [first, last], []), inner, []) as over]:
                found = loop(self.fresh(name), self.index(first), self.index(last), 1, point, self.sizes)
            case _:
                raise Unread(node, "a group of rows without a loop")
        if found is None:
            raise Unread(over, "no number of turns over the sizes is seen")
        self.called |= {"lanes_load", "lanes_store"}
        stored(body[at + 1 :], registers, self.register)
        self.names[name] = found.value
        there = point.inside(found.axis).under(*found.guards)
        updates = [u for s in inner for u in self.vector_statement(s, registers, lane)]
        self.lose({*_given(body), name}, "changes from turn to turn")
        for vector in [n for n, m in self.names.items() if isinstance(m, Vector)]:
            del self.names[vector]
        if {u.register for u in updates} != set(registers.values()):
            raise Unread(node, "registers that nothing is done with")
        made = tuple(steps(over, updates, lane, row, there))
        if found.guards:
            made = guarded(conjunction(*found.guards), made, self.arrays, self.span(over))
        return (For(found.axis, made, self.span(over)),)

    def register(self, node: ast.AST, array: str, number: ast.expr) -> Register:
        """The cells from a number on, one for each lane."""
        cells = self.names.get(array)
        if not isinstance(cells, Cells) or len(cells.shape) != 2 or cells.dtype != self.vectors:
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
                return Read(place.cells.name, (place.place[0], place.place[1] + Var(lane.name)), place.cells.dtype, self.span(node))
            case ast.Call(ast.Name(which), [left, right], []) if which in VECTORS:
                self.called.add(which)
                a, b = widened(self.vector(left, registers, lane)), widened(self.vector(right, registers, lane))
                if a.dtype == b.dtype:
                    return App(which.removeprefix("lanes_"), (a, b), a.dtype)
        raise Unread(node, f"{ast.unparse(node)} is no vector")

    def lose(self, names: set[str], reason: str) -> None:
        """Indices among the names have no one meaning any more."""
        for name in names:
            if not isinstance(self.names.get(name), Cell | Cells | Component | Global | None):
                self.names[name] = Lost(f"{name} {reason}")

    def branch(self, node: ast.If, test: ast.expr, then: list[ast.stmt], otherwise: list[ast.stmt], point: Point) -> Iterator[Step]:
        condition = self.condition(test)
        before, phases = dict(self.names), self.pieces.phases
        yes = self.body(then, point.under(condition))
        after, self.names = self.names, self.either(before)
        no = self.body(otherwise, point.under(negation(condition)))
        if phases != self.pieces.phases:
            raise Unread(node, "pieces that are begun and ended in different cases")
        for name in _given(then) | _given(otherwise):
            a, b = after.get(name), self.names.get(name)
            if isinstance(a, Const | Var | App) and isinstance(b, Const | Var | App):
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

    def same(self, extent: Term, divisor: ast.expr) -> bool:
        from tinygpu.validate.cpu_address import same

        return same(extent, self.term(divisor))


def _targets(node: ast.Assign) -> list[ast.expr]:
    return node.targets[0].elts if isinstance(node.targets[0], ast.Tuple) else node.targets


def _base(target: ast.expr) -> str:
    """The name that an assignment is about."""
    match target:
        case ast.Name(name) | ast.Subscript(ast.Name(name)):
            return name
    return ""


def _factors(size: ast.expr) -> list[ast.expr]:
    """The first factor of a product, and the others as one."""
    match size:
        case ast.BinOp(ast.BinOp(first, ast.Mult(), second), ast.Mult(), third):
            return [first, ast.BinOp(second, ast.Mult(), third)]
        case ast.BinOp(first, ast.Mult(), second):
            return [first, second]
    return [size]


def _chooses(body: Sequence[ast.stmt], name: str) -> bool:
    """Whether a loop's name chooses between bounds, so that each turn is read for itself."""
    return any(
        isinstance(s, ast.Assign) and isinstance(s.value, ast.IfExp) and isinstance(s.value.body, ast.Tuple)
        and any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(s.value.test))
        for s in body
    )  # fmt: skip


def _given(body: Sequence[ast.stmt]) -> set[str]:
    """The names that statements write."""
    return {n.id for s in body for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
