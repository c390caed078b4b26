"""The statements of a kernel's text, followed step by step along the program's.

    text ≈ steps        the same barriers and assignments in the same order, each at the same place, of the same value, at the same points

Comes in: statements, and the steps that they have to be. Goes out: nothing, or the error at the first difference.
The one idea: structure is read from the text, and only what is done is compared. Each has the conditions and bounds that the text puts around it
and those that the program does, and each of these has to follow from the others. What only CUDA's text has is in `cuda_follow.py`, what only that of
CPUs has in `cpu_follow.py`.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Sequence

from tinygpu.category.term import TRUE, App, Axis, Const, Read, Term, Var, conjunction, conjuncts, reads, text
from tinygpu.program.call import Call
from tinygpu.program.statement import line
from tinygpu.program.step import Array, Assign, Fact, For, If, Launch, Step, steps
from tinygpu.record import dataclass, replace
from tinygpu.validate.expression import Reader
from tinygpu.validate.meaning import Meaning
from tinygpu.validate.same import Here, canonical, parted
from tinygpu.validate.typed import Differs, unread


@dataclass(frozen=True, slots=True)
class Due:
    """A step that is to be done, and the conditions that the program has put around it."""

    step: Step
    guards: tuple[Term, ...] = ()
    lane: Axis | None = None  # of a step in a loop over the lanes of vectors


@dataclass(frozen=True, slots=True)
class Written:
    """What a statement writes: one cell. `where` is the part of the text that says the place; `update` combines the cell with the value, in
    place or atomically."""

    array: str
    place: tuple[Term, ...]
    where: ast.AST
    item: str
    value: ast.expr
    update: str = ""
    atomic: bool = False


@dataclass(slots=True)
class Follower:
    """One kernel: `domain` are the loops of the program around, and `threads` is how many of the block's axes the text runs over here."""

    meaning: Meaning
    launch: Launch
    inputs: frozenset[str]
    domain: tuple[Axis, ...]
    threads: int

    # ── what a dialect says ────────────────────────────────────────────────────────────────────────────────────────

    def reader(self, here: Here) -> Reader:
        """A reader of expressions of a place."""
        raise NotImplementedError

    def given(self, stmt: ast.stmt, here: Here) -> bool:
        """Whether a statement only gives a name to a number."""
        raise NotImplementedError

    def bounds(self, stmt: ast.For, axis: Axis, here: Here) -> tuple[Term, Term]:
        """From where a loop runs, and how far."""
        raise NotImplementedError

    def counts(self, stmt: ast.stmt, name: str, axis: Axis) -> None:
        """`name` is the variable of a loop."""
        raise NotImplementedError

    def changed(self, stmt: ast.stmt) -> frozenset[str]:
        """The arrays that a statement may write."""
        raise NotImplementedError

    def written(self, stmt: ast.stmt, step: Assign, here: Here) -> Written:
        """What a statement writes, where the program does that step. Raises Differs."""
        raise NotImplementedError

    def done(self, stmt: ast.stmt, array: str) -> None:
        """An array was written."""

    def between(self, stmt: ast.stmt, due: Due, queue: deque[Due], here: Here) -> bool:
        """Whether a statement is no step of the program, but needed for one."""
        return False

    def idle(self, step: Step) -> bool:
        """Whether a step does nothing."""
        return not any(isinstance(s, Assign | Call) for s in steps((step,)))

    def under(self, here: Here, guard: Term) -> Here:
        """A place under a guard; what is read of memory or cells that change is forgotten."""
        return here.under(conjunction(*self.lasting(guard)))

    # ── bodies ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def whole(self, body: Sequence[ast.stmt], wanted: Sequence[Due], here: Here) -> None:
        """Statements that are all of these steps."""
        queue = deque(wanted)
        self.block(body, queue, here)
        while (due := self.due(queue, here)) is not None:
            if not self.idle(due.step):
                after = body[-1] if body else ast.Pass(lineno=1, col_offset=0)
                raise Differs(after, "is the last that is done here", f"the program goes on: {line(due.step)}")

    def block(self, body: Sequence[ast.stmt], queue: deque[Due], here: Here) -> None:
        """Statements that are the next of these steps."""
        position = 0
        while position < len(body):
            position += self.statement(body[position:], queue, here)

    def statement(self, rest: Sequence[ast.stmt], queue: deque[Due], here: Here) -> int:
        """The next statement, or the next few that belong together; how many they are."""
        match rest[0]:
            case ast.Pass():
                pass
            case ast.For(target=ast.Name(name), orelse=[]) as stmt:
                self.loop(stmt, name, queue, here)
            case ast.If() as stmt:
                self.choice(stmt, queue, here)
            case stmt if not self.given(stmt, here):
                self.single(stmt, queue, here)
        return 1

    def due(self, queue: deque[Due], here: Here) -> Due | None:
        """The next step that does something: conditions over indices are put to what is inside of them."""
        while queue:
            due = queue.popleft()
            match due.step:
                case If(guard, inner) if not reads(guard) or self.told(guard, here):
                    queue.extendleft(replace(due, step=s, guards=(*due.guards, *conjuncts(guard))) for s in reversed(inner))
                case Assign(guard=guard) as step if reads(guard) and self.told(guard, here):
                    return replace(due, step=replace(step, guard=TRUE), guards=(*due.guards, *conjuncts(guard)))
                case Array() | Fact():
                    continue
                case _:
                    return due
        return None

    # ── loops and conditions ───────────────────────────────────────────────────────────────────────────────────────

    def loop(self, stmt: ast.For, name: str, queue: deque[Due], here: Here) -> None:
        """A loop of the program."""
        due = self.due(queue, here)
        if due is None or not isinstance(due.step, For):
            raise Differs(stmt, "is a loop", does(due))
        axis = replace(due.step.axis, extent=self.meaning.term(due.step.axis.extent))
        low, high = self.bounds(stmt, axis, here)
        for read in (*reads(low), *reads(high)):
            array = self.meaning.arrays.get(read.tensor)
            if array is None or array.owner != "thread" or read.tensor in self.changed(stmt):
                raise Differs(stmt.iter, f"reads {read.tensor}, which others may change", "a loop ends at what the thread holds")
        self.turns(stmt, name, axis, tuple(Due(s, due.guards) for s in due.step.body), self.inside(here, axis, low, high))

    def told(self, guard: Term, here: Here) -> bool:
        """Whether all that a guard asks of data is known here, since loops around begin and end there."""
        ends = {r.tensor for g in here.guards for r in reads(g)} - self.inputs
        asked = [c for c in conjuncts(guard) if reads(c)]
        return all({r.tensor for r in reads(c)} <= ends and here.holds(self.meaning.term(c)) for c in asked)

    def turns(self, stmt: ast.For, name: str, axis: Axis, wanted: Sequence[Due], inside: Here) -> None:
        """The turns of a loop, each of which is these steps."""
        self.counts(stmt, name, axis)
        around, self.domain = self.domain, (*self.domain, axis)
        self.whole(stmt.body, wanted, inside)
        self.domain = around

    def inside(self, here: Here, axis: Axis, low: Term, high: Term) -> Here:
        """The place inside of a loop of the text."""
        x, lows, highs = Var(axis.name), parts_of("max", low), parts_of("min", high)
        free = replace(here, axes=tuple(a for a in here.axes if a.name != axis.name))
        whole = [end for end in highs if canonical(end) == canonical(axis.extent)]
        if whole and (Const(0) in lows or here.holds(low >= 0)):
            free, lows, highs = here.inside(axis), [t for t in lows if t != Const(0)], [t for t in highs if t not in whole]
        facts = (*(canonical(t <= x) for t in lows), *(canonical(x < t) for t in highs))
        return replace(free, guards=(*here.guards, *(c for c in facts if c != TRUE)))

    def choice(self, stmt: ast.If, queue: deque[Due], here: Here) -> None:
        """A condition: over indices it is known inside; one that reads memory is a step of the program."""
        reader = self.reader(here)
        guard = reader.guard(stmt.test)
        if reader.shuffles or stmt.orelse:
            raise unread(stmt, "a shuffle in a condition" if reader.shuffles else "a condition with an else")
        if not reads(guard):
            self.block(stmt.body, queue, self.under(here, guard))
            return
        due, inside = self.due(queue, here), self.under(here, guard)
        match due:
            case Due(If(wanted, inner), guards):
                if not here.same(guard, self.meaning.term(wanted)):
                    first, guard, of_indices, wanted = parted(guard, wanted)
                    here, guards = self.under(here, first), (*guards, of_indices)
                self.reached(stmt, guards, here)  # where it is not asked nothing inside is done: of that each step inside is asked
                self.asks(stmt.test, guard, wanted, here)
                guards = (*guards, *self.lasting(wanted))
                self.whole(stmt.body, tuple(Due(s, guards) for s in inner), inside)
            case Due(Assign() as step, guards):
                data = conjunction(*(c for c in conjuncts(step.guard) if reads(c)))
                asked = conjunction(*(c for c in conjuncts(guard) if reads(c)))
                cells = {r.tensor for r in reads(guard)} <= {n for n, a in self.meaning.arrays.items() if a.owner == "thread"}
                if cells and here.same(asked, self.meaning.term(data)):  # what else is asked is compared where the step is
                    inside = self.under(here, conjunction(*(c for c in conjuncts(guard) if not reads(c))))
                    step = replace(step, guard=conjunction(*(c for c in conjuncts(step.guard) if not reads(c))))
                    self.whole(stmt.body, (Due(step, (*guards, *self.lasting(data))),), inside)
                    return
                wanted = step.guard
                if not here.same(guard, self.meaning.term(wanted)):
                    first, guard, _, wanted = parted(guard, wanted)
                    here = self.under(here, first)
                self.asks(stmt.test, guard, wanted, here)
                guards = (*guards, *self.lasting(step.guard))
                self.whole(stmt.body, (Due(replace(step, guard=TRUE), guards),), inside)
            case _:
                raise Differs(stmt, "is a condition", does(due))

    def lasting(self, guard: Term) -> tuple[Term, ...]:
        """The parts of a guard that hold until all under it is done: they read nothing that changes."""
        return tuple(c for c in conjuncts(guard) if all(r.tensor in self.inputs for r in reads(c)))

    def asks(self, node: ast.expr, guard: Term, wanted: Term, here: Here) -> None:
        """That a condition is the program's."""
        if not here.same(guard, self.meaning.term(wanted)):
            raise Differs(node, f"asks {text(guard)}", f"asked is {text(wanted)}")

    # ── assignments ────────────────────────────────────────────────────────────────────────────────────────────────

    def single(self, stmt: ast.stmt, queue: deque[Due], here: Here) -> None:
        """An assignment or an update: the same place, the same value, at the same points."""
        due = self.due(queue, here)
        if due is None:
            raise Differs(stmt, "is something that the program does not do here")
        if self.threads < len(self.launch.block):
            raise Differs(stmt, "is done once for a block", "each thread does what the program says")
        if self.between(stmt, due, queue, here):
            return
        step = due.step
        if not isinstance(step, Assign):
            raise Differs(stmt, "is an assignment", does(due))
        if reads(step.guard):
            raise Differs(stmt, "is done in every case", f"it is done only where {text(step.guard)}")
        self.points(stmt, (*due.guards, *conjuncts(step.guard)), here)
        cell = self.written(stmt, step, here)
        if cell.array != step.target:
            raise Differs(stmt, f"writes {cell.array}", does(due))
        self.lies(cell.where, cell.array, cell.place, step.index, here)
        self.gives(cell.value, cell, self.meaning.stored(step.target, step.value if cell.atomic else step.whole), here)
        self.done(stmt, cell.array)

    def lies(self, node: ast.AST, array: str, place: tuple[Term, ...], index: tuple[Term, ...], here: Here) -> None:
        """That an element is that of the program."""
        for mine, theirs in zip(place, self.meaning.place(array, index), strict=True):
            if not here.same(mine, theirs):
                raise Differs(node, f"is element {text(mine)} of {array}", f"the program's is {text(theirs)}")

    def gives(self, node: ast.expr, cell: Written, wanted: Term, here: Here) -> None:
        """That an expression is a value of the cell's type, and what the cell takes it is."""
        found = self.reader(here).value(node)
        if found.kind != cell.item:
            raise unread(node, f"{ast.unparse(node)} is of type {found.kind}, the cell of type {cell.item}")
        term = found.term
        if cell.update and not cell.atomic:
            term = App(cell.update, (Read(cell.array, cell.place, cell.item), term), cell.item)
        if not here.same(term, wanted):
            raise Differs(node, f"gives {text(term)}", f"the program's value is {text(wanted)}")

    def reached(self, node: ast.AST, guards: Sequence[Term], here: Here, lanes: tuple[Axis, ...] = ()) -> tuple[Term, ...]:
        """That the text is here only at points at which the program is; what the program knows there."""
        axes = (*self.domain, *self.launch.block)
        program = tuple(c for g in guards for c in conjuncts(canonical(self.meaning.term(g))))
        unsure = (a for a in axes if a not in here.axes)
        for goal in (*(c for a in unsure if a not in lanes for c in (Var(a.name) >= 0, Var(a.name) < a.extent)), *program):
            if not here.holds(goal):
                raise Differs(node, f"is done where {text(goal)} may be false", "there the program does nothing")
        return program

    def points(self, node: ast.AST, guards: Sequence[Term], here: Here, lanes: tuple[Axis, ...] = ()) -> None:
        """That the text is here at the points at which the program is."""
        program, axes = self.reached(node, guards, here, lanes), (*self.domain, *self.launch.block, *lanes)
        names = {a.name for a in axes}
        base = replace(here, axes=(*(a for a in here.axes if a.name not in names), *axes), guards=program)
        for goal in here.guards:
            if goal not in program and not base.holds(goal):
                raise Differs(node, f"is done only where {text(goal)}", "the program does it elsewhere too")


def parts_of(op: str, term: Term) -> list[Term]:
    """What a `min` or a `max` is of, all of which it is at most, or at least."""
    return [part for arg in term.args for part in parts_of(op, arg)] if isinstance(term, App) and term.op == op else [term]


def does(due: Due | None) -> str:
    """What the program does, in words."""
    return f"the program does here: {line(due.step)}" if due else "the program is done here"
