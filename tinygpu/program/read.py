"""Reading: from the `program { … }` of an explicit machine to steps.

Comes in: a machine with the tree of its program, and its work object. Goes out: a program, or every mistake that was found in it.
The one idea: a program's expressions are those of equations, elaborated by the same functions, in a scope that has local cells too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tinygpu.category.region import Region
from tinygpu.category.term import DTYPES, Axis, Const, Term
from tinygpu.category.text import claimed, unused
from tinygpu.diagnostic import Span
from tinygpu.model.clauses import names_in
from tinygpu.model.machine import Machine
from tinygpu.model.monoid import Monoids
from tinygpu.model.op import Op, Tensor
from tinygpu.model.problems import UNKNOWN, Problems
from tinygpu.model.scope import Scope
from tinygpu.model.source import words
from tinygpu.model.value import condition
from tinygpu.model.work import CLUSTER, LEVELS, extent_of
from tinygpu.program.arrays import names_of
from tinygpu.program.copy import copied, stored
from tinygpu.program.declared import read_array, to_array
from tinygpu.program.expression import expression
from tinygpu.program.fragments import written_out
from tinygpu.program.loops import listed, loop, of_sizes
from tinygpu.program.parts import Parts
from tinygpu.program.pending import lawful
from tinygpu.program.render import launched
from tinygpu.program.ring import read_section
from tinygpu.program.space import SPACES
from tinygpu.program.statement import read_step
from tinygpu.program.step import Array, Launch, Program, Step
from tinygpu.program.tiles import Written
from tinygpu.program.traverse import written
from tinygpu.program.turns import in_loop, launches_reached, steps_reached
from tinygpu.record import dataclass, field, replace
from tinygpu.syntax import tree
from tinygpu.syntax.target import common

MOST = 2000  # steps of a program


def read(machine: Machine, parts: Parts | None = None) -> Program:
    """`machine with a program → program`, some `parts` of it derived. Raises TinygpuError with everything that is wrong in the text."""
    assert machine.program is not None
    reader = Reader(machine, parts)
    launches = lawful(machine.op, reader.launches(common(machine.program.body)), reader.problems)
    reader.problems.stop()
    where = tuple(dict.fromkeys((*machine.op.where, *machine.where)))
    return Program(machine.title, machine.op, launches, where, machine.arch, machine.span, tuple(reader.workspaces))


def reread(program: Program) -> Program:
    """`program → the program that its own statements give`, the same one where it is well formed. Raises TinygpuError where they give none,
    and ValueError where there is something that no text has."""
    text = (*map(to_array, program.workspaces), *launched(program))
    own = program.machine.instructions if program.machine else ()
    machine = Machine(program.name, program.op, (), arch=program.arch, instructions=own)
    reader = Reader(machine, made=-sum(1 for _ in program.steps), taken=words(text))  # as many more
    launches = lawful(program.op, reader.launches(text), reader.problems)
    where = tuple(condition(expression(guard, frozenset()), reader.scope(())) for guard in program.where)
    reader.problems.stop()
    return replace(program, launches=launches, where=where, workspaces=tuple(reader.workspaces))


@dataclass(slots=True)
class Reader:
    """One pass over the statements. `arrays` are those that the launch at hand knows, `declared` those of all launches so far, `earlier` those
    that only earlier ones know, `taken` what the names of a program may not be, `stored` the outputs that earlier launches assign; `axes` are
    the workers and loops around the place, `listed` the loops over listed values there, with the value at hand, and `depth` is 0 in a program,
    1 in a launch, and more in its loops and guards; `loops` are those around the launch that go as far as sizes, and `looped` the names of all; `around` is how many of the listed values stand around the launch, and `made` counts steps."""

    machine: Machine
    parts: Parts | None = None
    problems: Problems = field(default_factory=Problems)
    workspaces: list[Array] = field(default_factory=list)
    arrays: dict[str, Tensor] = field(default_factory=dict)
    declared: dict[str, Span] = field(default_factory=dict)
    earlier: set[str] = field(default_factory=set)
    taken: set[str] = field(default_factory=set)
    stored: set[str] = field(default_factory=set)
    depth: int = 0
    listed: dict[str, int] = field(default_factory=dict)
    loops: tuple[Axis, ...] = ()
    looped: set[str] = field(default_factory=set)
    around: int = 0
    made: int = 0
    waiting: dict[str, tuple[Step, ...]] = field(default_factory=dict)  # for a `store`, by what holds it
    written: Written = field(default_factory=Written)
    guards: tuple[Term, ...] = ()  # around the place

    @property
    def op(self) -> Op:
        return self.machine.op

    def scope(self, axes: Sequence[Axis]) -> Scope:
        """The names at a place: sizes, arguments, arrays declared so far, params, workers and loops. What was stored may be read."""
        arguments = {t.name: replace(t, role="stored") if t.name in self.stored else t for t in self.op.tensors}
        states = {e.target: replace(self.op.tensor(e.target), role="state") for e in self.op.states}
        return Scope(
            self.problems,
            sizes=dict.fromkeys(self.op.sizes, self.op.span),
            tensors=arguments | states | self.arrays,
            constants=dict(self.machine.constants) | self.listed,
            indices={a.name: a.extent for a in axes},
            dtypes={name: choice for name, choice in self.machine.variant if choice in DTYPES},
            elsewhere=self.declared,
            place="",
            values=self.parts.values(axes) if self.parts else {},
            apart=self.parts.apart(axes) if self.parts else {},
            monoids=Monoids({str(monoid): monoid for monoid in self.op.monoids}),
        )

    @property
    def cells(self) -> dict[str, Tensor]:
        """What may be assigned: the outputs, and the arrays at hand."""
        return {t.name: t for t in self.op.outputs} | self.arrays

    @property
    def memory(self) -> set[str]:
        """What outlives a launch."""
        return {t.name for t in self.op.outputs} | {w.name for w in self.workspaces}

    def launches(self, body: tuple[tree.Statement, ...]) -> tuple[Launch, ...]:
        """The launches of a program: each `launch (…) { … }`, or the whole body on the work object of the machine."""
        if not tree.launching(body):
            if self.parts is not None:
                return tuple(self.parts.alone(self, body))
            given, self.depth = self.machine.launches[0], 1
            steps = self.steps(written_out(self, body, given.block), given.grid + given.block)
            return (Launch(given.grid, given.block, steps, given.span, cluster=given.cluster),)
        return tuple(self.sequence(body))

    def sequence(self, body: tuple[tree.Statement, ...]) -> Iterator[Launch]:
        """Launches in order, those of a loop around them once a turn, after the workspaces beside them."""
        begun, workspaces = bool(self.listed), set[int]()
        for place, statement in enumerate(body):
            begun = begun or tree.launching((statement,))
            if isinstance(statement, tree.Array) and SPACES[statement.space].owner == "grid":
                if begun:
                    self.problems.say("TG153.after", statement.span)
                read_array(self, statement, ())
                workspaces.add(place)
        for place, statement in enumerate(body):
            self.count(statement)
            if isinstance(statement, tree.LaunchStatement):
                yield self.launch(statement)
            elif isinstance(statement, tree.LaunchClause):
                if self.loops or self.listed:
                    self.problems.say("TG157.derived", statement.span, name=statement.name)
                elif self.parts is not None:
                    yield from self.parts.named(self, statement)
            elif isinstance(statement, tree.For) and tree.launching(statement.body):
                if statement.sort != "time":
                    self.problems.say("TG157.sort", statement.span, sort=statement.sort)
                if of_sizes(statement, self.op.sizes):
                    yield from self.loop(statement)
                    continue
                turns = [tuple(self.sequence(statement.body)) for _ in self.turns(statement, self.loops)]
                yield from launches_reached(turns, self.memory)
            elif place not in workspaces:
                self.problems.say("TG157.beside", statement.span)

    def loop(self, statement: tree.For) -> Iterator[Launch]:
        """`for t < T { launch … }`: the launches of any turn, in a loop whose name no other of the program has."""
        name, span, known = statement.name, statement.span, self.loops
        if self.scope(known).hides(name, span, "the loop"):
            return
        if statement.start is not None or statement.extent is None:
            self.problems.say("TG157.turns", span, name=name)
            return
        axis = Axis(name, self.extent(statement.extent, name, False, known), "time", span)
        self.loops = (*known, axis)
        found = tuple(self.sequence(statement.body))
        self.loops = known
        if name in self.looped:
            axis = replace(axis, name=self.fresh(name))
        self.looped.add(axis.name)
        yield from (in_loop(one, len(known), name, axis) for one in found)

    def launch(self, statement: tree.LaunchStatement) -> Launch:
        """`launch (grid = (g: 4), block = (t: 256)) { … }`."""
        levels: dict[str, tuple[Axis, ...]] = dict.fromkeys(LEVELS, ())
        for level in statement.levels:
            if level.name not in levels:
                self.problems.say("TG101.of_launch", level.span, name=level.name)
                continue
            levels[level.name] = tuple(a for item in level.factors.items if (a := self.carried(item, level.name)))
        axes = (grid := levels["grid"] + levels[CLUSTER]) + levels["block"]
        for position, axis in enumerate(axes):
            self.scope((*self.loops, *axes[:position])).hides(axis.name, axis.span, "the factor")
        if self.machine.program is not None:  # in a text; the names of a program are its own
            self.earlier = {*self.declared} - {w.name for w in self.workspaces}
        self.around = len(self.listed)
        body = self.inner(written_out(self, statement.body, levels["block"]), (*axes, *self.loops))
        self.stored |= written(body) & {t.name for t in self.op.outputs}
        return Launch(grid, levels["block"], body, statement.span, self.loops, len(levels[CLUSTER]))

    def named(self, name: str) -> str:
        """What an array is called in the program: as in the text, unless an earlier launch has one of that name."""
        if name not in self.earlier:
            return name
        self.earlier.remove(name)
        return self.fresh(name)

    def fresh(self, name: str) -> str:
        """A name that nothing of the text has."""
        return claimed(name, self.known(), "")

    def hidden(self, name: str) -> str:
        """A name for what no text says, the same one each time."""
        return unused(f"{name}_", self.known())

    def known(self) -> set[str]:
        """Every name of the text, and those that were made since."""
        given = (Launch(one.grid, one.block, ()) for one in self.machine.launches)  # whose factors its text may not speak of
        known = names_of(Program("", self.op, tuple(given))) | words((self.machine.program, self.op.source))
        self.taken |= self.taken or {*known, *self.declared}
        return self.taken

    def carried(self, item: tree.Expr, level: str) -> Axis | None:
        """A factor of a level, with its extent."""
        if isinstance(item, tree.Sized):
            return Axis(item.name, self.extent(item.extent, item.name, level != "grid", self.loops), LEVELS[level], item.span)
        self.problems.say("TG157.extent", item.span, level=level)
        return Axis(item.name, Const(1), level, item.span) if isinstance(item, tree.Name) else None  # so that its name is known

    def steps(self, body: tuple[tree.Statement, ...], axes: tuple[Axis, ...]) -> tuple[Step, ...]:
        """Statements in order; what is wrong is said and left out."""
        found: list[Step] = []
        for statement in body:
            self.count(statement)
            if isinstance(statement, tree.Evaluate) and self.parts is not None:
                found += self.parts.evaluate(self, statement, axes)
                continue
            made = self.several(statement, axes)
            found += (one for step in made for one in self.parts.placed(self, step)) if self.parts is not None else made
        return tuple(found)

    def several(self, statement: tree.Statement, axes: tuple[Axis, ...]) -> Iterable[Step]:
        """What one statement stands for."""
        match statement:
            case tree.For():
                return self.unrolled(statement, axes) if statement.extent is None else loop(self, statement, axes)
            case tree.Section():
                return read_section(self, statement, axes)
            case tree.Copy():
                return copied(self, statement, axes)
            case tree.Store():
                return stored(self, statement)
        return () if (step := read_step(self, statement, axes)) is None else (step,)

    def count(self, statement: tree.Statement) -> None:
        """One more step; a loop over listed values counts its body again and again. Raises TinygpuError beyond MOST of them."""
        self.made += 1
        if self.made > MOST:
            self.problems.say("TG161.steps", statement.span, most=MOST, made=self.made)
            self.problems.stop()

    def inner(self, body: tuple[tree.Statement, ...], axes: tuple[Axis, ...]) -> tuple[Step, ...]:
        """The body of a launch, a loop or a guard."""
        self.depth += 1
        outside, self.arrays = self.arrays, dict(self.arrays)
        found = self.steps(body, axes)
        self.depth -= 1
        self.arrays = outside | {n: a for n, a in self.arrays.items() if self.depth and SPACES[a.role].owner == "block"}
        return found

    def constants(self) -> Scope:
        """Where only numbers and params are known."""
        return Scope(self.problems, constants=dict(self.machine.constants) | self.listed)

    def unrolled(self, statement: tree.For, axes: tuple[Axis, ...]) -> tuple[Step, ...]:
        """`for d in (4, 2, 1) { … }`: the body once for each value, in order."""
        return steps_reached([self.steps(statement.body, axes) for _ in self.turns(statement, axes)], Region(axes), self.memory)

    def turns(self, statement: tree.For, axes: tuple[Axis, ...]) -> Iterator[int]:
        """The values of a loop that are known, in order; while one is at hand, the loop's name is that number."""
        name, before = statement.name, len(self.problems)
        if self.scope(axes).hides(name, statement.span, "the loop"):
            return
        for value in listed(self, statement):
            if len(self.problems) > before:
                break  # the other values would mostly say the same
            self.listed[name] = value
            yield value
            del self.listed[name]

    def extent(self, expr: tree.Expr, name: str, constant: bool, axes: tuple[Axis, ...] = ()) -> Term:
        """An extent: a number for cells and unrolled loops, a term over the sizes for the others."""
        if inside := {a.name for a in axes} & set(names_in(expr)):
            return self.problems.say("TG154.extent", expr.span, name=name, varying=min(inside))
        term = extent_of(expr, replace(self.constants(), sizes=dict.fromkeys(self.op.sizes, self.op.span)))
        if constant and term.dtype != UNKNOWN and not isinstance(term, Const):
            return self.problems.say("TG155.extent", expr.span, name=name)
        return term
