"""Parts of a program that are derived: `compute s, acc` in its steps, and `launch NAME { … }` beside its launches.

Comes in: a machine that has clauses and a program, and the reader of that program. Goes out: the steps that the clauses make for some equations, and
what the steps around them may speak of: an index is its term over factors, and an intermediate at its own indices is the cell that holds it.
The one idea: a part is put in before anything is proved, so the whole is a program as any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tinygpu.category.bounds import natural
from tinygpu.category.owner import row_major
from tinygpu.category.region import Region
from tinygpu.category.simplify import simplify
from tinygpu.category.term import Axis, Read, Term, Var, exchange, lift, reads, text, variables
from tinygpu.derive.factors import cleared, pieces
from tinygpu.derive.launch import Around, begin, in_order_alone, launched, sequence
from tinygpu.derive.nest import Build, point
from tinygpu.derive.plan import Plan
from tinygpu.derive.scan import begun
from tinygpu.derive.stage import read_at_all
from tinygpu.derive.tile import check_tiles, placed
from tinygpu.model import machine as model
from tinygpu.model.extent import same
from tinygpu.model.op import Tensor
from tinygpu.model.source import words
from tinygpu.model.tile import BLOCK
from tinygpu.program.read import Reader
from tinygpu.program.space import WORKSPACE
from tinygpu.program.step import Array, Assign, For, Ghost, Launch, Step
from tinygpu.program.traverse import map_terms, reads_of, written
from tinygpu.record import dataclass, field, replace
from tinygpu.syntax import tree
from tinygpu.syntax.node import nodes


@dataclass(slots=True)
class Parts:
    """What is derived of the program of a machine. Of the launch at hand, `todo` are the equations whose steps are not put in yet, `indices` are terms
    over factors by name, those on which its equations do not agree under `torn`, and `held` the equations that are in cells, by the names of what stands for them; `begins` is what stands before loops
    of the text, by their names: what is carried from turn to turn."""

    machine: model.Machine
    build: Build
    launch: model.Launch | None = None
    todo: list[Plan] = field(default_factory=list)
    indices: dict[str, Term] = field(default_factory=dict)
    torn: set[str] = field(default_factory=set)
    held: dict[str, Plan] = field(default_factory=dict)
    begins: dict[str, tuple[Step, ...]] = field(default_factory=dict)

    # ── launches ───────────────────────────────────────────────────────────────────────────────────────────────────

    def alone(self, reader: Reader, body: tuple[tree.Statement, ...]) -> Iterator[Launch]:
        """The launches of a program that is the one launch of its machine."""
        (launch,) = self.machine.launches
        yield from self.launches(reader, launch, body)

    def named(self, reader: Reader, statement: tree.LaunchClause) -> Iterator[Launch]:
        """The launches of `launch NAME { … }`; what it leaves for later ones is in workspaces."""
        launch = next(one for one in self.machine.launches if one.name == statement.name)
        program = next((c for c in statement.clauses if isinstance(c, tree.ProgramClause)), None)
        made = tuple(self.launches(reader, launch, program.body if program else None))
        left = {*launch.leaves, *(name for phase in launch.phases for name in phase.parts if name)}
        for tensor in (t for t in self.machine.workspaces if t.name in left and t.name not in reader.arrays):
            if not reader.scope(()).hides(tensor.name, statement.span, "the workspace"):
                reader.arrays[tensor.name] = tensor
                reader.declared[tensor.name] = statement.span
                extents = tuple(map(natural, tensor.shape))
                reader.workspaces.append(Array(tensor.name, tensor.dtype, extents, WORKSPACE, span=tensor.span))
        yield from made

    def launches(self, reader: Reader, launch: model.Launch, body: tuple[tree.Statement, ...] | None) -> Iterator[Launch]:
        """What a launch stands for: with a `body` that is its steps, else derived."""
        self.build.taken |= called(reader)
        reader.taken = self.build.taken
        first = cleared(launch)
        made = [launched(self.build, self.machine, one) for one in (first, None if body is not None else pieces(launch)) if one]
        if body is not None:
            made.append(self.mixed(reader, pieces(launch), body))
        for one in made:
            reader.stored |= written(one.body) & {t.name for t in reader.op.outputs}
        yield from made

    def mixed(self, reader: Reader, launch: model.Launch, body: tuple[tree.Statement, ...]) -> Launch:
        """A launch whose steps are in the text, some of them derived."""
        whole, todo = begin(self.build, self.machine, launch)
        self.launch, self.todo, self.held = whole, list(todo), {}
        halves = {
            a.name: tuple(b for b in whole.block if b.name.startswith(f"{a.name}_")) for a in launch.block if a not in whole.block
        }
        self.indices, self.torn = {name: row_major(axes) for name, axes in halves.items()}, set()
        for phase in whole.phases:
            box = Region(phase.owner.domain.axes)
            for axis in phase.equation.axes:
                term = simplify(phase.owner.by_axis[axis.name], box)
                if term != Var(axis.name) and self.indices.setdefault(axis.name, term) != term:
                    self.torn.add(axis.name)
        made = reader.inner(body, (*whole.grid, *whole.block))
        read_at_all(self.build, made)
        self.launch = None
        return Launch(whole.grid, whole.block, (*self.build.locals, *made), launch.span, cluster=whole.cluster)

    # ── names ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def values(self, axes: Sequence[Axis]) -> Mapping[str, Term]:
        """The indices that have a value at a place, as terms."""
        return (
            {name: term for name, term in self.indices.items() if name not in self.torn and not self._missing(term, axes)}
            if self.launch
            else {}
        )

    def apart(self, axes: Sequence[Axis]) -> Mapping[str, tuple[str, ...]]:
        """The indices that have none there, each with the factors that no loop around goes along."""
        return (
            {
                name: self._missing(term, axes)
                for name, term in self.indices.items()
                if name in self.torn or self._missing(term, axes)
            }
            if self.launch
            else {}
        )

    def _missing(self, term: Term, axes: Sequence[Axis]) -> tuple[str, ...]:
        """The factors of a term that nothing around a place is."""
        there = {*self.build.sizes, *(a.name for a in axes)}
        return tuple(sorted(variables(term) - there))

    # ── steps ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def evaluate(self, reader: Reader, statement: tree.Evaluate, axes: tuple[Axis, ...]) -> tuple[Step, ...]:
        """`compute s, acc`: their steps, after which they are in cells of their names."""
        build = self.build
        if self.launch is None:
            reader.problems.say("TG175.clauses", statement.span)
            return ()
        loops = {a.name: a for a in build.axes if a.sort == "time"}
        around = tuple(loops[a.name] for a in axes if a.name in loops)
        for axis in (a for a in axes if a.name in loops and not same(a.extent, loops[a.name].extent)):
            reader.problems.say("TG175.extent", axis.span, statement.span, name=axis.name, extent=loops[axis.name].extent)
        mine = self._mine(reader, statement, around)
        if mine is None:
            return ()
        steps = sequence(build, mine, Around(around))
        for axis in around:
            carried = (p for p in mine if p.scan and p.scan.factors("time")[:1] == (axis,))
            first = (*build.begins.pop(axis.name, ()), *(step for p in carried if p.scan for step in begun(p.scan, p.cells)))
            self.begins[axis.name] = (*self.begins.get(axis.name, ()), *first)
        for name in (a.name for a in reversed(around)):
            steps = placed(build.tiles, build.copies, name, steps, turns=True)
        steps = placed(build.tiles, build.copies, BLOCK, steps, turns=reader.depth > 1)
        there = {*build.sizes, *(a.name for a in axes)}
        filled = {a for a in check_tiles(build.tiles, steps, frozenset(there)) if build.tiles[a].stage.at == BLOCK}
        if reader.depth == 1:  # they stay filled
            build.copies = {array: copy for array, copy in build.copies.items() if array not in filled}
        return in_order_alone(steps) if build.core else steps

    def _mine(self, reader: Reader, statement: tree.Evaluate, around: tuple[Axis, ...]) -> list[Plan] | None:
        """The equations of a step, and what they need before; None after a message. They are known from here on."""
        last = max((n for n, plan in enumerate(self.todo) if plan.target in statement.names), default=-1)
        later = {p.target for p in self.todo[: last + 1]} & {t.name for t in self._stated()} - {*statement.names}
        mine = [p for p in self.todo[: last + 1] if p.target not in later]
        self.todo = [p for p in self.todo if p not in mine]
        before = len(reader.problems)
        for name in (n for n in statement.names if n not in {p.target for p in mine}):
            reader.problems.say("TG175.twice", statement.span, reader.declared.get(name), name=name)
        for plan in mine:
            for loop in (a for a in plan.time if a not in around):
                if plan.target in statement.names and plan.kept:
                    words = {"name": plan.target, "loop": loop.name, "extent": loop.extent}
                    reader.problems.say("TG175.loop", statement.span, loop.span, **words)
            for read in (p for p in self.todo if p.kept and p.kept in {r.tensor for r in reads(plan.value)}):
                reader.problems.say("TG175.order", statement.span, read.span, name=plan.target, first=read.target)
        for plan in (p for p in mine if p.kept and p.target in statement.names and not p.stored and p.scan is None):
            if not reader.scope(around).hides(plan.target, statement.span, "the value"):
                sign = f"{plan.target} in cells"  # no array of a text has such a name
                self.held[sign] = plan
                reader.arrays[plan.target] = replace(self.machine.op.tensor(plan.target), name=sign, role="local")
                reader.declared[plan.target] = statement.span
        return mine if len(reader.problems) == before else None

    def _stated(self) -> tuple[Tensor, ...]:
        """The equations that steps of the launch name."""
        assert self.launch is not None
        names = {phase.equation.target for phase in self.launch.phases}
        return tuple(t for t in (*self.machine.op.outputs, *self.machine.op.intermediates) if t.name in names)

    def placed(self, reader: Reader, step: Step) -> tuple[Step, ...]:
        """A step of the text with the cells of what is held, and what begins before it."""
        if self.launch is None:
            return (step,)
        if isinstance(step, For):
            return (*self.begins.pop(step.axis.name, ()), step)
        found = {r: cell for r in reads_of(step) if r.tensor in self.held and (cell := self._cell(reader, r)) is not None}
        made = map_terms(step, lambda term: exchange(term, found)) if found else step
        if isinstance(made, Assign | Ghost) and made.target in self.held:
            cell = self._cell(reader, Read(made.target, made.index, self.held[made.target].dtype, made.span))
            made = replace(made, target=cell.tensor, index=cell.index) if cell is not None else made
        return (made,)

    def _cell(self, reader: Reader, read: Read) -> Read | None:
        """The cell that an element is in; None after a message that this thread has another one."""
        plan, box = self.held[read.tensor], Region(self.build.axes)
        if all(simplify(a - b, box) == lift(0) for a, b in zip(read.index, plan.index, strict=True)):
            return Read(plan.kept, point(plan.cells), plan.dtype, read.span)
        here, there = (", ".join(map(text, index)) for index in (read.index, plan.index))
        own = ", ".join(a.name for a in self.machine.op.equation(plan.target).axes)
        reader.problems.say("TG530.program", read.span, plan.span, name=plan.target, here=here, there=there, own=own)
        return None


def called(reader: Reader) -> set[str]:
    """What a text calls anything but an intermediate: cells of that name may hold it."""
    program = reader.machine.program
    inside = {one.name for one in nodes(program) if isinstance(one, tree.Array | tree.For)}
    return words(program) - ({t.name for t in reader.op.intermediates} - inside)
