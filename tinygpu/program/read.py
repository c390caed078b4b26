"""Reading: from the `program { … }` of an explicit machine to steps.

Comes in: a machine with the tree of its program, and its work object. Goes out: a program, or every mistake that was found in it.
The one idea: a program's expressions are those of equations, elaborated by the same functions, in a scope that has local cells too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tinygpu.category.term import DTYPES, Axis, Const, Term
from tinygpu.diagnostic import Span
from tinygpu.model.clauses import names_in
from tinygpu.model.machine import Machine
from tinygpu.model.op import Op, Tensor
from tinygpu.model.problems import UNKNOWN, Problems
from tinygpu.model.scope import Scope
from tinygpu.model.value import condition, index
from tinygpu.program.read_cell import assign, folding, holds
from tinygpu.program.step import For, If, Launch, Local, Program, Step
from tinygpu.syntax import tree

LATER = {"shared": "shared memory", "workspace": "a workspace"}


def read(machine: Machine) -> Program:
    """`machine with a program → program`. Raises TinygpuError with everything that is wrong in the text."""
    assert machine.program is not None
    reader = Reader(machine)
    launches = reader.launches(machine.program.body)
    reader.problems.stop()
    where = tuple(dict.fromkeys((*machine.op.where, *machine.where)))
    return Program(machine.title, machine.op, launches, where, machine.arch, machine.span)


@dataclass(slots=True)
class Reader:
    """One pass over the statements. `locals` grows as they are declared; `axes` are the workers and loops around the place, `listed`
    the loops over listed values there, with the value at hand."""

    machine: Machine
    problems: Problems = field(default_factory=Problems)
    locals: dict[str, Tensor] = field(default_factory=dict)
    listed: dict[str, int] = field(default_factory=dict)

    @property
    def op(self) -> Op:
        return self.machine.op

    def scope(self, axes: Iterable[Axis]) -> Scope:
        """The names at a place: sizes, arguments, locals declared so far, params, workers and loops."""
        return Scope(
            self.problems,
            sizes=dict.fromkeys(self.op.sizes, self.op.span),
            tensors={t.name: t for t in self.op.tensors} | self.locals,
            constants=dict(self.machine.constants) | self.listed,
            indices={a.name: a.extent for a in axes},
            dtypes={name: choice for name, choice in self.machine.variant if choice in DTYPES},
        )

    def launches(self, body: tuple[tree.Statement, ...]) -> tuple[Launch, ...]:
        """The launches of a program: each `launch (…) { … }`, or the whole body on the work object of the machine."""
        written = [s for s in body if isinstance(s, tree.LaunchStatement)]
        if not written:
            given = self.machine.launches[0]
            return (Launch(given.grid, given.block, self.steps(body, given.grid + given.block), given.span),)
        for statement in body:
            if not isinstance(statement, tree.LaunchStatement):
                self.problems.add(
                    "TG157", "a step stands beside launches", statement.span, "in no launch", help="move it into one of them"
                )
        return tuple(self.launch(one) for one in written)

    def launch(self, statement: tree.LaunchStatement) -> Launch:
        """`launch (grid = (g: 4), block = (t: 256)) { … }`."""
        levels: dict[str, tuple[Axis, ...]] = {"grid": (), "block": ()}
        for level in statement.levels:
            if level.name not in levels:
                self.problems.add(
                    "TG101", f"unknown level {level.name}", level.span, "no level of the work object", help="write grid and block"
                )
                continue
            levels[level.name] = tuple(a for item in level.factors.items if (a := self.carried(item, level.name)))
        axes = levels["grid"] + levels["block"]
        return Launch(levels["grid"], levels["block"], self.steps(statement.body, axes), statement.span)

    def carried(self, item: tree.Expr, level: str) -> Axis | None:
        """A factor of a level, with its extent."""
        if isinstance(item, tree.Sized):
            return Axis(item.name, self.extent(item.extent, item.name, False), level, item.span)
        title = f"a launch gives every factor of its {level} an extent"
        self.problems.add("TG157", title, item.span, "no extent", help="write (g: ceil(n / 256)): nothing is inferred in a program")
        return Axis(item.name, Const(1), level, item.span) if isinstance(item, tree.Name) else None  # so that its name is known

    def steps(self, body: tuple[tree.Statement, ...], axes: tuple[Axis, ...]) -> tuple[Step, ...]:
        """Statements in order; what is wrong is said and left out."""
        found: list[Step] = []
        for statement in body:
            if isinstance(statement, tree.For) and statement.extent is None:
                found += self.unrolled(statement, axes)
            elif (step := self.step(statement, axes)) is not None:
                found.append(step)
        return tuple(found)

    def step(self, statement: tree.Statement, axes: tuple[Axis, ...]) -> Step | None:
        """`statement → step`, None after a message."""
        match statement:
            case tree.Array():
                return self.array(statement, axes)
            case tree.Assign():
                return assign(statement, self.scope(axes), self.locals)
            case tree.Holds():
                return holds(statement, self.scope(axes), self.locals)
            case tree.For():
                return self.loop(statement, axes)
            case tree.If(guard, inner, span):
                scope = self.scope(axes)
                return If(folding(condition(guard, scope), guard, scope), self.steps(inner, axes), span)
            case tree.Sync(kind, _, span):
                self.later(kind, span, "threads do not share anything in this version, so nothing has to wait")
            case tree.LaunchStatement(_, _, span):
                self.problems.add(
                    "TG157",
                    "a launch stands inside a launch",
                    span,
                    "one launch inside another",
                    help="write them one after the other",
                )
        return None

    def later(self, word: str, span: Span, help: str) -> None:
        """The message for what cooperation of threads will bring."""
        self.problems.add(
            "TG109", f"{word} is not in this version yet", span, "cooperation of threads comes in a later version", help=help
        )

    def array(self, statement: tree.Array, axes: tuple[Axis, ...]) -> Local | None:
        """`local acc: f32[8, 8]`."""
        name, span, scope = statement.name, statement.span, self.scope(axes)
        if statement.space in LATER:
            self.later(
                LATER[statement.space], span, f"keep the values of each thread in its own cells: local {name}: {statement.dtype}[…]"
            )
            return None
        if statement.order or statement.place:
            self.later("a layout of local cells", span, "leave it out: locals are registers")
        if name in self.locals:
            fix = (
                "declare it before the loop, which stands for its body once for each value" if self.listed else "take another name"
            )
            self.problems.add("TG102", f"the local {name} is declared twice", span, "declared again", help=fix)
            return None
        dtype = scope.dtype(statement.dtype, span)
        extents = tuple(self.extent(e, name, True, axes) for e in statement.extents)
        if scope.hides(name, span, "the local") or dtype is None:
            return None
        self.locals[name] = Tensor(name, dtype, extents, "local", span)
        return Local(name, dtype, extents, span)

    def loop(self, statement: tree.For, axes: tuple[Axis, ...]) -> For | None:
        """`for k < K { … }`, also `in register` and `in vector`."""
        name, span = statement.name, statement.span
        assert statement.extent is not None
        self.scope(axes).hides(name, span, "the loop")
        constant = statement.sort in ("register", "vector")
        axis = Axis(name, self.extent(statement.extent, name, constant, axes), statement.sort, span)
        return For(axis, self.steps(statement.body, (*axes, axis)), span)

    def unrolled(self, statement: tree.For, axes: tuple[Axis, ...]) -> tuple[Step, ...]:
        """`for d in (4, 2, 1) { … }`: the body once for each value, in order; the name is a number in it."""
        name, before = statement.name, len(self.problems)
        if self.scope(axes).hides(name, statement.span, "the loop"):
            return ()
        found: list[Step] = []
        for expr in statement.values:
            value = index(expr, Scope(self.problems, constants=dict(self.machine.constants) | self.listed))
            if len(self.problems) > before or not isinstance(value, Const):
                break  # said: only numbers and params are known there; the other values would mostly say the same
            self.listed[name] = int(value.value)
            found += self.steps(statement.body, axes)
            del self.listed[name]
        return tuple(found)

    def extent(self, expr: tree.Expr, name: str, constant: bool, axes: tuple[Axis, ...] = ()) -> Term:
        """An extent: a number for cells and unrolled loops, a term over the sizes for the others."""
        inside = {a.name for a in axes} & set(names_in(expr))
        if inside:
            varying = min(inside)
            return self.problems.add(
                "TG154", f"the extent of {name} is not the same for every thread and turn", expr.span, f"{varying} is no size",
                help=f"let {name} run to a term over the sizes, and put what depends on {varying} into a guard",
            )  # fmt: skip
        term = index(
            expr,
            Scope(
                self.problems,
                sizes=dict.fromkeys(self.op.sizes, self.op.span),
                constants=dict(self.machine.constants) | self.listed,
            ),
        )
        if term.dtype == UNKNOWN:
            return term
        if not isinstance(term, Const):
            if not constant:
                return term
            return self.problems.add(
                "TG155",
                f"the extent of {name} is not a number",
                expr.span,
                "registers have a fixed count",
                help="write a number or a param; a loop over a size is one in time: for k < K { … }",
            )
        if term.value < 1:
            return self.problems.add("TG128", f"an extent is at least 1, not {term.value}", expr.span, f"this is {term.value}")
        return term
