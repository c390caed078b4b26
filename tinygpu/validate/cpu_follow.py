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

from tinygpu.category.monoid import as_monoid
from tinygpu.category.term import (
    BOOL,
    INDEX,
    SHUFFLES,
    TRUE,
    App,
    Axis,
    Const,
    Read,
    Term,
    Var,
    conjunction,
    conjuncts,
    reads,
    text,
    walk,
)
from tinygpu.program.step import Assign, For, If, Step, Sync, steps
from tinygpu.record import dataclass, replace
from tinygpu.schedule.threads import flat_thread, threads_of
from tinygpu.validate.cpu_cells import Cells
from tinygpu.validate.cpu_names import Array, Cell, Digits, Held, Mask
from tinygpu.validate.cpu_vector import held
from tinygpu.validate.due import shown
from tinygpu.validate.same import Here, canonical
from tinygpu.validate.typed import Differs, unread

INDICES = (Const, Var, App, Read, Digits)  # what a name of an index stands for


@dataclass(frozen=True, slots=True)
class Due:
    """A step that is to be done, and the conditions that the program has put around it."""

    step: Step
    guards: tuple[Term, ...] = ()
    lane: Axis | None = None  # of a step in a loop over the lanes of vectors


@dataclass(slots=True)
class Follower(Cells):
    """One work function."""

    domain: tuple[Axis, ...] = ()  # the loops of the program around

    # ── bodies ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def whole(self, body: Sequence[ast.stmt], wanted: Sequence[Due], here: Here) -> None:
        """Statements that are all of these steps."""
        queue = deque(wanted)
        self.block(body, queue, here)
        while (due := self.due(queue, here)) is not None:
            if isinstance(due.step, Sync):
                continue
            if not (isinstance(due.step, For) and not any(isinstance(s, Assign) for s in steps((due.step,)))):
                raise Differs(body[-1], "ends here", f"the program goes on: {shown(due.step)}")

    def block(self, body: Sequence[ast.stmt], queue: deque[Due], here: Here) -> None:
        """Statements that are the next of these steps. What is given a name in them is not known behind them."""
        lost = given(body)
        kept = {n: m for n, m in self.values.names.items() if n not in lost or not isinstance(m, INDICES)}
        self.values.names = dict(kept)
        position = 0
        while position < len(body):
            position += self.statement(body[position:], queue, here)
        more = {n: m for n, m in self.values.names.items() if not isinstance(m, INDICES)}
        self.values.names = {**kept, **more}

    def statement(self, rest: Sequence[ast.stmt], queue: deque[Due], here: Here) -> int:
        """The next statement, or the next few that belong together; how many they are."""
        node = rest[0]
        self.values.here = here
        match node:
            case ast.Pass():
                return 1
            case ast.Assign([ast.Name()], ast.Call(ast.Name("lanes_load"))):
                return held(self, rest, queue, here)
            case ast.Assign([ast.Name(name)], value) if (digits := self.values.digits(value)) is not None:
                self.values.names[name] = digits
            case ast.Assign([ast.Name(name)], value) if (index := self.alias(name, value)) is not None:
                self.values.names[name] = index
            case ast.Assign([target], value):
                self.assign(node, target, value, queue, here)
            case ast.For(ast.Name(name), ast.Call(ast.Name("range"), bounds, []), body, []):
                self.loop(node, name, bounds, body, queue, here)
            case ast.If(test, body, []):
                self.choice(node, test, body, queue, here)
            case _:
                raise unread(node, "is no statement of a kernel")
        return 1

    def alias(self, name: str, value: ast.expr) -> Term | None:
        """The index term that a name is given to, if it is one."""
        if name in self.cells.values() or isinstance(self.values.names.get(name), Cell | Array | Held | Mask):
            return None
        found = self.values.term(value)
        return found if found.dtype == INDEX and not reads(found) else None

    def due(self, queue: deque[Due], here: Here) -> Due | None:
        """The next step that does something: conditions over indices are put to what is inside of them."""
        while queue:
            due = queue.popleft()
            match due.step:
                case If(guard, inner) if not reads(guard):
                    queue.extendleft(Due(s, (*due.guards, *conjuncts(guard))) for s in reversed(inner))
                case Assign() | For() | If():
                    return due
                case Sync() if self.threads:
                    return due
        return None

    # ── loops and conditions ───────────────────────────────────────────────────────────────────────────────────────

    def loop(self, node: ast.For, name: str, bounds: list[ast.expr], body: list[ast.stmt], queue: deque[Due], here: Here) -> None:
        """A loop over the threads, or one of the program."""
        low, high = self.bounds(bounds)
        block = self.launch.block
        if self.threads < len(block) and name in (block[self.threads].name, block[self.threads].name + "_"):
            axis = block[self.threads]
            if not self.threads and (due := self.due(queue, here)) is not None:  # what a barrier is in front of, all come to
                queue.appendleft(due)
            self.values.names[name] = Var(axis.name)
            self.threads, self.region = self.threads + 1, self.region + (self.threads == 0)
            self.block(body, queue, self.inside(here, axis, low, high))
            self.threads -= 1
            return
        due = self.due(queue, here)
        if due is None or not isinstance(due.step, For):
            raise Differs(node, "is a loop", f"the program does here: {shown(due.step)}" if due else "the program is done here")
        if 0 < self.threads < len(block):
            raise unread(node, "is a loop of some threads")
        axis = due.step.axis
        self.values.names[name] = Var(axis.name)
        around, self.domain = self.domain, (*self.domain, axis)
        inner = tuple(Due(s, due.guards) for s in due.step.body)
        self.whole(body, inner, self.inside(here, axis, low, high))
        self.domain = around

    def inside(self, here: Here, axis: Axis, low: Term, high: Term) -> Here:
        """The place inside of a loop of the text."""
        x = Var(axis.name)
        free = replace(here, axes=tuple(a for a in here.axes if a.name != axis.name))
        return replace(free, guards=(*here.guards, *(c for c in (canonical(low <= x), canonical(x < high)) if c != TRUE)))

    def bounds(self, nodes: list[ast.expr]) -> tuple[Term, Term]:
        terms = [self.values.index(n) for n in nodes]
        if len(terms) > 2 or any(map(reads, terms)):
            raise unread(nodes[-1], "is no bound of a loop")
        return (Const(0), terms[0]) if len(terms) == 1 else (terms[0], terms[1])

    def choice(self, node: ast.If, test: ast.expr, body: list[ast.stmt], queue: deque[Due], here: Here) -> None:
        """A condition: over indices it is known inside; one that reads memory is a step of the program."""
        guard = self.values.condition(test)
        if not reads(guard):
            self.block(body, queue, here.under(guard))
            return
        due = self.due(queue, here)
        match due:
            case Due(If(wanted, inner), guards):
                self.points(node, (*guards,), here)
                if not here.same(guard, self.flat(wanted)):
                    raise Differs(test, f"asks {text(guard)}", f"asked is {text(wanted)}")
                self.whole(body, tuple(Due(s, guards) for s in inner), here)
            case Due(Assign() as step, guards):
                data = [c for c in conjuncts(step.guard) if reads(c)]
                if not here.same(guard, self.flat(step.guard)) and not here.same(guard, self.flat(conjunction(*data))):
                    raise Differs(test, f"asks {text(guard)}", f"asked is {text(step.guard)}")
                rest = tuple(c for c in conjuncts(step.guard) if not reads(c))
                self.whole(
                    body,
                    (Due(replace(step, guard=TRUE), (*guards, *rest)),),
                    here.under(conjunction(*(c for c in conjuncts(guard) if not reads(c)))),
                )
            case _:
                raise Differs(
                    node, "is a condition", f"the program does here: {shown(due.step)}" if due else "the program is done here"
                )

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
            raise Differs(node, "is an assignment", f"the program does here: {shown(step)}")
        if reads(step.guard):
            raise Differs(node, "is done in every case", f"it is done only where {text(step.guard)}")
        self.points(node, (*due.guards, *conjuncts(step.guard)), here)
        self.place(node, target, step, here)
        found = self.values.stored(value, self.dtype(step.target), step.target in self.tensors)
        wanted = self.flat(combined(step))
        if not here.same(found, wanted):
            raise Differs(value, f"gives {text(found)}", f"the program's value is {text(wanted)}")
        self.shuffled.clear()  # what was left for a step is left for it alone

    def points(self, node: ast.AST, guards: Sequence[Term], here: Here, lanes: tuple[Axis, ...] = ()) -> None:
        """That the text is here at the points at which the program is."""
        axes = (*self.domain, *self.launch.block, *lanes)
        program = tuple(c for g in guards for c in conjuncts(canonical(self.flat(g))))
        for goal in (*(c for a in axes if a not in lanes for c in (Var(a.name) >= 0, Var(a.name) < a.extent)), *program):
            if not here.holds(goal):
                raise Differs(node, f"is done where {text(goal)} may be false", "there the program does nothing")
        names = {a.name for a in axes}
        base = replace(here, axes=(*(a for a in here.axes if a.name not in names), *axes), guards=program)
        for goal in here.guards:
            if goal not in program and not base.holds(goal):
                raise Differs(node, f"is done only where {text(goal)}", "the program does it elsewhere too")

    # ── between threads ────────────────────────────────────────────────────────────────────────────────────────────

    def between(self, node: ast.Assign, target: ast.expr, value: ast.expr, due: Due, queue: deque[Due], here: Here) -> bool:
        """Whether a value is left for other threads to take by a shuffle, or a condition is kept for later."""
        step = due.step
        match target, step:
            case ast.Subscript(ast.Name(name), ast.Call(ast.Name("at"), [number])), Assign() if (
                name in self.arrays and name not in self.cells.values()
            ):
                left = next(
                    (
                        t
                        for t in walk(step.value)
                        if isinstance(t, App) and t.op in SHUFFLES and t not in self.shuffled and not self.inner(t)
                    ),
                    None,
                )
                if left is None:
                    return False
                self.points(node, (*due.guards, *conjuncts(step.guard)), here)
                size, dtype = self.arrays[name]
                if size != Const(threads_of(self.launch.block)) or dtype != left.dtype:
                    raise Differs(node, f"{name} is no array over the threads")
                if not here.same(self.values.index(number), flat_thread(self.launch.block)):
                    raise Differs(node, "leaves a value in another thread's place")
                found, wanted = self.values.stored(value, left.dtype, False), self.flat(left.args[0])
                if not here.same(found, wanted):
                    raise Differs(value, f"gives {text(found)}", f"the value that is taken is {text(wanted)}")
                self.values.names[name] = Array(name, dtype, False)
                self.shuffled[left] = (name, self.region)
                queue.appendleft(due)
                return True
            case _, If(guard, inner):
                name = target.id if isinstance(target, ast.Name) else ast.unparse(target).partition("[")[0]
                self.points(node, due.guards, here)
                if not here.same(self.values.term(value), self.flat(guard)):
                    raise Differs(value, "is another condition", f"asked is {text(guard)}")
                mask = Var(f"{name} of {len(self.cells)}", BOOL)
                self.values.names[name] = Mask(mask)
                queue.extendleft(Due(s, (*due.guards, mask)) for s in reversed(inner))
                return True
        return False

    def inner(self, term: App) -> bool:
        """Whether another shuffle, which nobody has left a value for, stands inside of one."""
        return any(isinstance(t, App) and t.op in SHUFFLES and t not in self.shuffled for t in walk(term.args[0]))


def combined(step: Assign) -> Term:
    """The value that the target gets."""
    if not step.update:
        return step.value
    return as_monoid(step.update).combine(Read(step.target, step.index, step.value.dtype), step.value)


def given(body: Sequence[ast.stmt]) -> set[str]:
    """Every name that statements give a meaning."""
    return {n.id for s in body for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
