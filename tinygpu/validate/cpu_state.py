"""The names and cells of a work function while it is read: what they stand for, and which of them belong together.

Comes in: declarations of arrays, names that are written, runs of assignments to values of several components. Goes out: cells of the program
that is made, and steps for runs. The one idea: each array and number that is kept is a cell with a name of its own in the program.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import count
from operator import mul

from tinygpu.category.term import App, Const, Term, Var, select, substitute
from tinygpu.program.step import Local, Step
from tinygpu.record import replace
from tinygpu.validate.cpu_address import Spelled, coordinates, definitions_of, factors_of, numbers_of, same
from tinygpu.validate.cpu_call import Values
from tinygpu.validate.cpu_carrier import Group, Role, Run
from tinygpu.validate.cpu_names import Cell, Cells, Component, Digits, Global, Lost, Meaning, Number, Unread
from tinygpu.validate.cpu_pieces import Pieces, Waiting
from tinygpu.validate.cpu_value import DTYPE
from tinygpu.validate.module import Module

Roles = dict[str, Role]


class State(Values):
    """What is known of a launch. `taken` are the names of the program that is made; `cells` its own arrays."""

    def __init__(
        self,
        module: Module,
        names: dict[str, Meaning],
        sizes: frozenset[str],
        taken: set[str],
        writable: set[str],
        roles: Roles,
        vectors: str,
        work: ast.FunctionDef,
    ) -> None:
        super().__init__(module, names)
        self.sizes, self.taken, self.writable, self.roles, self.vectors = sizes, taken, writable, roles, vectors
        self.work, self.definitions = work, definitions_of(work)
        self.cells: dict[str, Local] = {}
        self.said: dict[str, str] = {}  # the names that axes have in the text
        self.carriers: dict[str, Group] = {}
        self.pieces = Waiting()
        self.filled: set[str] = set()  # arrays that are no unwritten memory, though nobody may depend on what they hold

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
                shape = self.shape(name, size)
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

    def shape(self, name: str, size: ast.expr) -> tuple[Term, ...]:
        """The shape of an array: the digits that its elements are numbered by, where that is done in one way."""
        plain = tuple(self.index(s) for s in factors(size))
        ways: set[tuple[Term, ...]] = set()
        for number in numbers_of(name, self.work):
            try:
                way = tuple(self.index(f) for f in factors_of(number, self.definitions))
            except Unread:
                way = ()
            ways |= {way} if way else set()
        inner = finest(ways) if all(isinstance(f, Const) and f.value >= 1 for way in ways for f in (*way, *plain)) else None
        if inner is None:
            return plain
        if self.vectors and len(inner) > 1 and "LANES" in ast.unparse(size):
            inner = (*inner[:-2], inner[-2] * inner[-1])
        total, block = (reduce(mul, t) for t in (plain, inner))
        rows = total // block
        return (rows, *inner) if isinstance(rows, Const) and rows.value >= 1 else plain

    def place(self, number: ast.expr, shape: tuple[Term, ...]) -> tuple[Term, ...]:
        """The coordinates of an element from its number, of either of two elements from a choice."""
        if isinstance(number, ast.IfExp):
            pairs = zip(self.place(number.body, shape), self.place(number.orelse, shape), strict=True)
            return tuple(select(self.condition(number.test), a, b) for a, b in pairs)
        spelled = Spelled(self.definitions).visit(copy.deepcopy(number)) if len(shape) > 1 else number
        if spelled is not number and (found := coordinates(spelled, shape, self.index)) is not None:
            if same(self.index(spelled), self.index(number)):
                return self.taken_apart(found, shape)
        return self.taken_apart(super().place(number, shape), shape)

    def taken_apart(self, place: tuple[Term, ...], shape: tuple[Term, ...]) -> tuple[Term, ...]:
        """An axis that counts on over rows as its row and column: `x = x // n * n + x % n`."""
        match place, shape:
            case ((*outer, Const(0), Var(name) as x), (*_, Const(int(n)))) if all(o == Const(0) for o in outer):
                match self.here.extents.get(name):
                    case Const(int(extent)) | App("min", (Const(int(extent)), _) | (_, Const(int(extent)))) if extent > n:
                        return (*outer, x // n, x % n)
        return place

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

    def run_at(self, nodes: Sequence[ast.stmt]) -> list[ast.Assign]:
        """The assignments from here on that belong to values of several components."""
        out: list[ast.Assign] = []
        for node in nodes:
            if not isinstance(node, ast.Assign) or not all(self.roles.get(base(t)) for t in targets(node)):
                break
            out.append(node)
        return out

    def run(self, nodes: Sequence[ast.Assign]) -> Iterator[Step]:
        """The steps that a run of assignments is."""
        run, given, marks = Run(), dict[str, dict[int, Term]](), dict[str, Term]()
        before = dict(self.names)
        for node in nodes:
            if any(run.whole(name, self.carriers) for name in self.cells_in(node.value)):  # what it is now is looked at
                yield from self.closed(run, node, given, before)
                run, given, marks = Run(), {}, {}
            values = (
                node.value.elts if isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple) else [node.value]
            )
            terms = [substitute(run.seen(self.term(v), node), marks) for v in values]
            for target, term in zip(targets(node), terms, strict=True):
                role = self.roles[base(target)]
                if role.kind in ("in", "out"):
                    mark = Var(f"{base(target)} of a run", term.dtype)
                    marks[mark.name] = term
                    self.names[base(target)] = Number(mark)
                    if role.kind == "in":
                        given.setdefault(role.group.prefix, {})[role.place] = term
                else:
                    name, index = self.component(node, target, role)
                    run.write(name, index, role.place, term)
        yield from self.closed(run, nodes[-1], given, before)

    def closed(self, run: Run, node: ast.stmt, given: dict[str, dict[int, Term]], before: dict[str, Meaning]) -> Iterator[Step]:
        """The steps of a run that ends here; names of what it was given mean nothing behind it."""
        for name in self.roles:
            if self.roles[name].kind in ("in", "out") and name in self.names:
                del self.names[name]
        self.names = {**before, **self.names}
        for step in run.steps(node, self.carriers, given):
            yield replace(step, span=self.span(node))

    def cells_in(self, value: ast.expr) -> set[str]:
        """The cells of which an expression reads a component."""
        found = (self.names.get(n.id) for n in ast.walk(value) if isinstance(n, ast.Name))
        return {m.cell.name for m in found if isinstance(m, Component)}

    def component(self, node: ast.Assign, target: ast.expr, role: Role) -> tuple[str, tuple[Term, ...]]:
        """The cell behind a component that is written."""
        match target, self.names.get(base(target)):
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
                self.names[base(target)] = Component(made, role.place, role.group.components[role.place][1])
                return made.name, ()
            case ast.Subscript(_, ast.Call(ast.Name("at"), [number])), Component(Cells(name, _, shape), _, _):
                return name, self.place(number, shape)
        raise Unread(node, f"{ast.unparse(target)} is no component of a cell")

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

    def same(self, extent: Term, divisor: ast.expr) -> bool:
        return same(extent, self.term(divisor))

    def lose(self, names: set[str], reason: str) -> None:
        """Indices among the names have no one meaning any more."""
        for name in names:
            if not isinstance(self.names.get(name), Cell | Cells | Component | Global | None):
                self.names[name] = Lost(f"{name} {reason}")


def targets(node: ast.Assign) -> list[ast.expr]:
    return node.targets[0].elts if isinstance(node.targets[0], ast.Tuple) else node.targets


def base(target: ast.expr) -> str:
    """The name that an assignment is about."""
    match target:
        case ast.Name(name) | ast.Subscript(ast.Name(name)):
            return name
    return ""


def finest(ways: set[tuple[Term, ...]]) -> tuple[Term, ...] | None:
    """The way of numbering that the others are parts of: with fewer digits, or with a smaller radix of the slowest one.

    >>> finest({(Const(64),), (Const(8), Const(64)), (Const(16), Const(64))})
    (Const(value=16, dtype='index'), Const(value=64, dtype='index'))
    """
    if not ways:
        return None
    best = max(ways, key=lambda way: (len(way), radix(way)))
    for way in ways - {best}:
        tail = best[len(best) - len(way) :]
        if way[1:] != tail[1:] or radix(tail) % radix(way):
            return None
    return best


def radix(way: tuple[Term, ...]) -> int:
    """The radix of the slowest digit that is written."""
    return int(way[0].value) if isinstance(way[0], Const) else 0


def factors(size: ast.expr) -> list[ast.expr]:
    """The first factor of a product, and the others as one."""
    match size:
        case ast.BinOp(ast.BinOp(first, ast.Mult(), second), ast.Mult(), third):
            return [first, ast.BinOp(second, ast.Mult(), third)]
        case ast.BinOp(first, ast.Mult(), second):
            return [first, second]
    return [size]


def given_names(body: Sequence[ast.stmt]) -> set[str]:
    """The names that statements write."""
    return {n.id for s in body for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
