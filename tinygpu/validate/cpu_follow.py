"""The statements of a CPU kernel, followed step by step along the program's.

    text ≈ steps        the same assignments in the same order, each at the same place, of the same value, at the same points

Comes in: statements, and the steps that they have to be. Goes out: nothing, or the error at the first difference.
The one idea: structure is read from the text, and only assignments are compared. Each has the conditions and bounds that the text puts
around it and those that the program does, and each of these has to follow from the others.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Sequence

from tinygpu.category.term import TRUE, Axis, Const, Term, Var, conjunction, conjuncts, reads, text
from tinygpu.derive.factors import row_major
from tinygpu.program.statement import line
from tinygpu.program.step import Array, Assign, Call, Fact, For, If, Launch, Step, Sync, steps
from tinygpu.record import dataclass, field, replace
from tinygpu.validate.cpu_meaning import CpuMeaning
from tinygpu.validate.cpu_reader import CpuReader
from tinygpu.validate.flat import Flat
from tinygpu.validate.same import Here, canonical
from tinygpu.validate.typed import SIGNED_INDEX, Differs, Pointer, Thing, Value, unread
from tinygpu.validate.width import Width


@dataclass(frozen=True, slots=True)
class Due:
    """A step that is to be done, and the conditions that the program has put around it."""

    step: Step
    guards: tuple[Term, ...] = ()
    lane: Axis | None = None  # of a step in a loop over the lanes of vectors


@dataclass(slots=True)
class Follower:
    """One work function: `domain` are the loops of the program around, and `threads` is how many of the block's axes the text runs over here."""

    meaning: CpuMeaning
    launch: Launch
    width: Width
    flat: Flat
    inputs: frozenset[str]
    shown: set[Term] = field(default_factory=set)
    domain: tuple[Axis, ...] = ()
    threads: int = 0

    @property
    def names(self) -> dict[str, Thing]:
        """What the names of the text are here."""
        return self.meaning.names

    def reader(self, here: Here) -> CpuReader:
        """A reader of expressions of a place."""
        digits, thread = self.flat.rests.keys(), row_major(self.launch.block)
        return CpuReader(self.names, here, self.width, self.flat.digit, digits, shown=self.shown, thread=thread)

    # ── bodies ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def whole(self, body: Sequence[ast.stmt], wanted: Sequence[Due], here: Here) -> None:
        """Statements that are all of these steps."""
        queue = deque(wanted)
        self.block(body, queue, here)
        while (due := self.due(queue, here)) is not None:
            if isinstance(due.step, Sync):
                continue
            if not (isinstance(due.step, For) and not any(isinstance(s, Assign) for s in steps((due.step,)))):
                raise Differs(body[-1], "ends here", f"the program goes on: {line(due.step)}")

    def block(self, body: Sequence[ast.stmt], queue: deque[Due], here: Here) -> None:
        """Statements that are the next of these steps. What is given a name in them is not known behind them, but cells."""
        given = {n.id for s in body for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        kept = {n: t for n, t in self.names.items() if n not in given or not is_index(t)}
        self.meaning.names = dict(kept)
        position = 0
        while position < len(body):
            position += self.statement(body[position:], queue, here)
        self.meaning.names = kept | {n: t for n, t in self.names.items() if not is_index(t)}

    def statement(self, rest: Sequence[ast.stmt], queue: deque[Due], here: Here) -> int:
        """The next statement, or the next few that belong together; how many they are."""
        node = rest[0]
        match node:
            case ast.Pass():
                return 1
            case ast.Assign([ast.Name()], ast.Call(ast.Name(called))) if called.startswith("lanes_load"):
                return self.held(rest, queue, here)
            case ast.Assign([ast.Name(name)], value) if (index := self.alias(name, value, here)) is not None:
                self.names[name] = index
            case ast.Assign([target], value):
                self.assign(node, target, value, queue, here)
            case ast.For(ast.Name(name), ast.Call(ast.Name("range"), bounds, []), body, []):
                self.loop(node, name, bounds, body, queue, here)
            case ast.If(test, body, []):
                self.choice(node, test, body, queue, here)
            case _:
                raise unread(node, "is no statement of a kernel")
        return 1

    def held(self, rest: Sequence[ast.stmt], queue: deque[Due], here: Here) -> int:
        """Vector registers, and the loop that changes them: see `cpu_vector`."""
        raise unread(rest[0], "a vector register")

    def alias(self, name: str, value: ast.expr, here: Here) -> Value | None:
        """The index that a name is given to, if it is one."""
        if name in self.meaning.cells.values() or (name in self.names and not is_index(self.names[name])):
            return None
        found = self.reader(here).value(value)
        return Value(found.term, "ix") if found.kind in SIGNED_INDEX and not reads(found.term) else None

    def due(self, queue: deque[Due], here: Here) -> Due | None:
        """The next step that does something: conditions over indices are put to what is inside of them."""
        while queue:
            due = queue.popleft()
            match due.step:
                case If(guard, inner) if not reads(guard):
                    queue.extendleft(Due(s, (*due.guards, *conjuncts(guard))) for s in reversed(inner))
                case Array() | Fact() | Call() if not (self.threads and isinstance(due.step, Sync)):
                    continue
                case _:
                    return due
        return None

    # ── loops and conditions ───────────────────────────────────────────────────────────────────────────────────────

    def loop(self, node: ast.For, name: str, bounds: list[ast.expr], body: list[ast.stmt], queue: deque[Due], here: Here) -> None:
        """A loop over the threads, or one of the program."""
        low, high = self.bounds(bounds, here)
        block = self.launch.block
        if self.threads < len(block) and name in (block[self.threads].name, block[self.threads].name + "_"):
            axis = block[self.threads]
            self.turns(name, axis, body, queue, self.inside(here, axis, low, high))
            return
        due = self.due(queue, here)
        if due is None or not isinstance(due.step, For):
            raise Differs(node, "is a loop", f"the program does here: {line(due.step)}" if due else "the program is done here")
        if 0 < self.threads < len(block):
            raise unread(node, "is a loop of some threads")
        axis = due.step.axis
        self.counts(node, name, axis)
        around, self.domain = self.domain, (*self.domain, axis)
        inner = tuple(Due(s, due.guards) for s in due.step.body)
        self.whole(body, inner, self.inside(here, axis, low, high))
        self.domain = around

    def turns(self, name: str, axis: Axis, body: list[ast.stmt], queue: deque[Due], here: Here) -> None:
        """A loop over threads: see `cpu_threads`."""
        raise unread(body[0], "a loop over threads")

    def counts(self, node: ast.AST, name: str, axis: Axis) -> None:
        """The variable of a loop."""
        if name in self.names and not is_index(self.names[name]):
            raise unread(node, f"gives {name} another meaning")
        self.names[name] = Value(Var(axis.name), "ix")

    def inside(self, here: Here, axis: Axis, low: Term, high: Term) -> Here:
        """The place inside of a loop of the text."""
        x = Var(axis.name)
        free = replace(here, axes=tuple(a for a in here.axes if a.name != axis.name))
        return replace(free, guards=(*here.guards, *(c for c in (canonical(low <= x), canonical(x < high)) if c != TRUE)))

    def bounds(self, nodes: list[ast.expr], here: Here) -> tuple[Term, Term]:
        """From where a loop runs, and how far."""
        terms = [self.reader(here).index(n) for n in nodes]
        if len(terms) > 2 or any(map(reads, terms)):
            raise unread(nodes[-1], "is no bound of a loop")
        return (Const(0), terms[0]) if len(terms) == 1 else (terms[0], terms[1])

    def choice(self, node: ast.If, test: ast.expr, body: list[ast.stmt], queue: deque[Due], here: Here) -> None:
        """A condition: over indices it is known inside; one that reads memory is a step of the program."""
        guard = self.reader(here).guard(test)
        if not reads(guard):
            self.block(body, queue, here.under(guard))
            return
        due = self.due(queue, here)
        match due:
            case Due(If(wanted, inner), guards):
                self.points(node, guards, here)
                self.asks(test, guard, wanted, here)
                self.whole(body, tuple(Due(s, guards) for s in inner), here)
            case Due(Assign() as step, guards):
                data = conjunction(*(c for c in conjuncts(step.guard) if reads(c)))
                self.asks(test, guard, data if here.same(guard, self.meaning.term(data)) else step.guard, here)
                rest = tuple(c for c in conjuncts(step.guard) if not reads(c))
                inside = here.under(conjunction(*(c for c in conjuncts(guard) if not reads(c))))
                self.whole(body, (Due(replace(step, guard=TRUE), (*guards, *rest)),), inside)
            case _:
                says = f"the program does here: {line(due.step)}" if due else "the program is done here"
                raise Differs(node, "is a condition", says)

    def asks(self, node: ast.expr, guard: Term, wanted: Term, here: Here) -> None:
        """That a condition is the program's."""
        if not here.same(guard, self.meaning.term(wanted)):
            raise Differs(node, f"asks {text(guard)}", f"asked is {text(wanted)}")

    # ── assignments ────────────────────────────────────────────────────────────────────────────────────────────────

    def assign(self, node: ast.Assign, target: ast.expr, value: ast.expr, queue: deque[Due], here: Here) -> None:
        """An assignment: the same place, the same value, at the same points."""
        due = self.due(queue, here)
        if due is None:
            raise Differs(node, "is an assignment", "the program is done here")
        if self.launch.block and self.threads < len(self.launch.block):
            raise Differs(node, "is done once for a block", "each thread does what the program says")
        if self.between(node, target, value, due, queue, here):
            return
        step = due.step
        if not isinstance(step, Assign):
            raise Differs(node, "is an assignment", f"the program does here: {line(step)}")
        if reads(step.guard):
            raise Differs(node, "is done in every case", f"it is done only where {text(step.guard)}")
        self.points(node, (*due.guards, *conjuncts(step.guard)), here)
        self.place(node, target, step, here)
        self.gives(value, self.meaning.item(step.target), self.meaning.stored(step.target, step.whole), here)
        self.meaning.shuffled.clear()  # what was left for a step is left for it alone
        self.meaning.known.clear()

    def gives(self, node: ast.expr, kind: str, wanted: Term, here: Here) -> None:
        """That an expression is a value of that type."""
        found = self.reader(here).value(node)
        if found.kind != kind:
            raise unread(node, f"{found.kind} is put where {kind} is held")
        if not here.same(found.term, wanted):
            raise Differs(node, f"gives {text(found.term)}", f"the program's value is {text(wanted)}")

    def place(self, node: ast.AST, target: ast.expr, step: Assign, here: Here) -> None:
        """That a target is the element that the program writes; a cell that is written for the first time gets its name."""
        wants, own = f"the program writes {step.target} here: {line(step)}", self.meaning.arrays[step.target].owner != "grid"
        match target:
            case ast.Name(name) if own:
                self.meaning.bind(node, step.target, name, False)
                return
            case ast.Subscript(ast.Name(name), ast.Call(ast.Name("at"), [number])):
                if own:
                    self.meaning.bind(node, step.target, name, True)
                thing = self.names.get(name)
                if not isinstance(thing, Pointer) or thing.array != step.target or step.target in self.inputs:
                    raise Differs(target, f"writes {name}", wants)
                mine, (theirs,) = self.reader(here).index(number), self.meaning.place(step.target, step.index)
                if not here.same(mine, theirs):
                    raise Differs(target, f"is element {text(mine)} of {name}", f"the program's is {text(theirs)}")
                return
        raise Differs(target, f"writes {ast.unparse(target)}", wants)

    def points(self, node: ast.AST, guards: Sequence[Term], here: Here, lanes: tuple[Axis, ...] = ()) -> None:
        """That the text is here at the points at which the program is."""
        axes = (*self.domain, *self.launch.block, *lanes)
        program = tuple(c for g in guards for c in conjuncts(canonical(self.meaning.term(g))))
        for goal in (*(c for a in axes if a not in lanes for c in (Var(a.name) >= 0, Var(a.name) < a.extent)), *program):
            if not here.holds(goal):
                raise Differs(node, f"is done where {text(goal)} may be false", "there the program does nothing")
        names = {a.name for a in axes}
        base = replace(here, axes=(*(a for a in here.axes if a.name not in names), *axes), guards=program)
        for goal in here.guards:
            if goal not in program and not base.holds(goal):
                raise Differs(node, f"is done only where {text(goal)}", "the program does it elsewhere too")

    def between(self, node: ast.Assign, target: ast.expr, value: ast.expr, due: Due, queue: deque[Due], here: Here) -> bool:
        """Whether an assignment is for other threads, or for later: see `cpu_threads`."""
        return False


def is_index(thing: Thing) -> bool:
    """Whether a name stands for an index, and is gone where its block ends."""
    return isinstance(thing, Value) and thing.kind == "ix"
