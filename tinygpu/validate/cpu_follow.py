"""What only the text of a CPU kernel has: cells that get their names where they are written, and threads of a block in turn.

    for thread: exchange[thread] = v;  for thread: v = exchange[thread ^ 1]   ≈   v = shuffle_xor(v, 1)        mask[thread] = c   ≈   if c { …

Comes in: loops over threads, and assignments. Goes out: what they are of the program. The one idea: between two barriers a thread runs alone, so what
is in a variable is of this thread in this turn; what it has to find later, or others, is in an array over the threads, at its own place.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Sequence

from tinygpu.category.owner import row_major
from tinygpu.category.term import BOOL, SHUFFLES, TRUE, App, Axis, Const, Read, Term, Var, conjuncts, reads, shuffled, walk
from tinygpu.program.call import PREFETCH, Call, Prefetch, Sync
from tinygpu.program.step import Assign, For, If, Step, steps
from tinygpu.record import dataclass, field
from tinygpu.schedule.threads import threads_of
from tinygpu.validate.cpu_meaning import CpuMeaning
from tinygpu.validate.cpu_reader import CpuReader
from tinygpu.validate.flat import Flat
from tinygpu.validate.follow import Due, Follower, Written, does
from tinygpu.validate.inside import names_in, parts_of, stored_in
from tinygpu.validate.same import Here
from tinygpu.validate.typed import SIGNED_INDEX, Differs, Number, Pointer, Stale, Thing, Value, unread
from tinygpu.validate.width import Width


@dataclass(slots=True)
class CpuFollower(Follower):
    """One work function. `shown` are index terms that the proof of the program has shown to fit."""

    meaning: CpuMeaning
    width: Width
    flat: Flat
    shown: set[Term] = field(default_factory=set)

    @property
    def names(self) -> dict[str, Thing]:
        """What the names of the text are here."""
        return self.meaning.names

    def reader(self, here: Here) -> CpuReader:
        digits, thread = self.flat.rests.keys(), row_major(self.launch.block)
        return CpuReader(self.names, here, self.width, self.flat.digit, digits, shown=self.shown, thread=thread)

    def idle(self, step: Step) -> bool:
        """Behind the last loop over threads nobody waits."""
        return not any(isinstance(s, Assign) for s in steps((step,)))

    def due(self, queue: deque[Due], here: Here) -> Due | None:
        """Nothing is done for a call, but that between loops over threads all have come. Cells in indices are by now called as they are here."""
        due = Follower.due(self, queue, here)
        while due is not None and isinstance(due.step, Call) and not self.stays(due.step):
            due = Follower.due(self, queue, here)
        if due is not None and isinstance(due.step, Assign) and self.meaning.each and not shuffled(due.step.value):
            self.shown |= {*self.meaning.computed((due.step,))}
        return due

    def stays(self, step: Call) -> bool:
        """Whether something is done for a call: between threads in turn all come to a barrier, and a hint is a call here, too."""
        return isinstance(step, Prefetch) or (self.threads > 0 and isinstance(step, Sync))

    def block(self, body: Sequence[ast.stmt], queue: deque[Due], here: Here) -> None:
        """What is given a name inside is not known behind, but cells."""
        given = frozenset[str]().union(*map(stored_in, body))
        kept = {n: t for n, t in self.names.items() if n not in given or not is_index(t)}
        self.meaning.names = dict(kept)
        Follower.block(self, body, queue, here)
        self.meaning.names = kept | {n: t for n, t in self.names.items() if not is_index(t)}

    def given(self, stmt: ast.stmt, here: Here) -> bool:
        """Whether a name is given to an index."""
        match stmt:
            case ast.Assign([ast.Name(name)], value) if name not in self.meaning.cells.values() and self.free(name):
                found = self.reader(here).value(value)
                if isinstance(value, ast.Call) and found.kind == "i64" and name not in self.meaning.arrays:  # made by `np.int64`
                    found = Value(self.reader(here).index(value), "ix")
                if found.kind in SIGNED_INDEX and not reads(found.term):
                    self.names[name] = Value(found.term, "ix")
                    return True
        return False

    def free(self, name: str) -> bool:
        """Whether a name is none here, or that of an index."""
        return name not in self.names or is_index(self.names[name])

    # ── loops ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def loop(self, stmt: ast.For, name: str, queue: deque[Due], here: Here) -> None:
        """A loop over the threads, or one of the program."""
        block, read = self.launch.block, names_in(stmt)
        for cell in (c for c, a in self.meaning.arrays.items() if a.owner != "grid" and c in read & self.meaning.made.keys()):
            self.meaning.bind(stmt, cell, cell, True)  # a turn may read what those before it have written, and what is behind that
        if self.threads < len(block) and name in (block[self.threads].name, block[self.threads].name + "_"):
            self.each_thread(stmt, name, block[self.threads], queue, here)
        elif 0 < self.threads < len(block):
            raise unread(stmt, "is a loop of some threads")
        else:
            Follower.loop(self, stmt, name, queue, here)

    def each_thread(self, stmt: ast.For, name: str, axis: Axis, queue: deque[Due], here: Here) -> None:
        """A loop over threads: what a barrier is in front of, all come to. A variable is one thread's, and known in its turn alone."""
        inside = self.inside(here, axis, *self.bounds(stmt, axis, here))
        if not self.threads and (due := self.due(queue, here)) is not None:
            queue.appendleft(due)
        self.counts(stmt, name, axis)
        self.threads, self.meaning.region = self.threads + 1, self.meaning.region + (self.threads == 0)
        self.block(stmt.body, queue, inside)
        self.threads -= 1
        if not self.threads:
            for other, thing in self.names.items():
                if other not in self.meaning.made and (isinstance(thing, Number) or _mask(thing)):
                    self.names[other] = Stale("it is another thread's since")

    def counts(self, stmt: ast.stmt, name: str, axis: Axis) -> None:
        if not self.free(name):
            raise unread(stmt, f"gives {name} another meaning")
        self.names[name] = Value(Var(axis.name), "ix")

    def changed(self, stmt: ast.stmt) -> frozenset[str]:
        elements = {n.value.id for n in parts_of(stmt) if isinstance(n, ast.Subscript) and isinstance(n.value, ast.Name)}
        things = [self.names.get(name) for name in stored_in(stmt) | elements]
        return frozenset(t.array for t in things if isinstance(t, Number | Pointer))

    def bounds(self, stmt: ast.For, axis: Axis, here: Here) -> tuple[Term, Term]:
        match stmt.iter:
            case ast.Call(ast.Name("range"), [*nodes], []):
                terms = [self.reader(here).index(n) for n in nodes]
                if 0 < len(terms) < 3:
                    return (Const(0), terms[0]) if len(terms) == 1 else (terms[0], terms[1])
        raise unread(stmt.iter, "is no bound of a loop")

    # ── assignments ────────────────────────────────────────────────────────────────────────────────────────────────

    def written(self, stmt: ast.stmt, step: Assign, here: Here) -> Written:
        """The element that the program writes; a cell that is written for the first time gets its name."""
        own, item = self.meaning.arrays[step.target].owner != "grid", self.meaning.item(step.target)
        match stmt:
            case ast.Assign([ast.Name(name) as target], value) if own:
                self.meaning.bind(stmt, step.target, name, False)
                return Written(step.target, (), target, item, value)
            case ast.Assign([ast.Subscript(ast.Name(name), place) as target], value):
                if own:
                    self.meaning.bind(stmt, step.target, name, True)
                thing = self.names.get(name)
                if isinstance(thing, Pointer) and thing.array == step.target and step.target not in self.inputs:
                    return Written(step.target, self.reader(here).place(place, thing), target, item, value)
                raise Differs(target, f"writes {name}", does(Due(step)))
        raise unread(stmt, "is no statement of a kernel")

    def done(self, stmt: ast.stmt, array: str) -> None:
        """What was left for a step is left for it alone."""
        self.meaning.shuffled.clear()
        self.meaning.known.clear()

    def leaves(self, stmt: ast.stmt, written: tuple[str, str], made: tuple[str, str], due: Due, here: Here) -> None:
        """That what is stored past the caches is an output, of a cell of the thread. Raises Differs."""
        for name, array in (written, made):
            thing = self.names.get(name)
            if not isinstance(thing, Pointer) or thing.array != array or (name == written[0] and array in self.inputs):
                raise Differs(stmt, f"speaks of {name}", does(due))

    def between(self, stmt: ast.stmt, due: Due, queue: deque[Due], here: Here) -> bool:
        """Whether a value is left for other threads to take by a shuffle, or a condition is kept for later."""
        match stmt, due.step:
            case ast.Expr(ast.Call(ast.Name(called), [ast.Name(name), place], [])), Prefetch(Read(tensor, index)) if (
                called == PREFETCH
            ):
                thing = self.names.get(name)
                if not isinstance(thing, Pointer) or thing.array != tensor:
                    raise Differs(stmt, f"asks for {name}", does(due))
                self.points(stmt, due.guards, here)
                self.lies(place, tensor, self.reader(here).place(place, thing), index, here)
            case (
                ast.Expr(ast.Call(ast.Name("streamed"), [ast.Name(name), place, ast.Name(made), ast.Constant(count)], [])),
                For(Axis(extent=Const(turns)) as axis, (Assign(target, index, Read(source, (Var(lane),)), "", guard),)),
            ) if guard == TRUE and turns == count and lane == axis.name:
                self.leaves(stmt, (name, target), (made, source), due, here)
                thing, inside = self.names[name], here.inside(axis)
                assert isinstance(thing, Pointer), "as was seen"
                (begin,) = self.reader(here).place(place, thing)
                around, self.domain = self.domain, (*self.domain, axis)
                self.points(stmt, due.guards, inside)
                self.domain = around
                self.lies(place, target, (begin + Var(lane),), index, inside)
                self.done(stmt, target)
            case (
                ast.Assign([ast.Subscript(ast.Name(name), ast.Call(ast.Name("at"), [number]))], value),
                Assign(value=done, guard=guard),
            ) if name in self.meaning.made and name not in self.meaning.cells.values() and (left := self.shuffle(done)) is not None:
                self.points(stmt, (*due.guards, *conjuncts(guard)), here)
                self.apart(stmt, name, number, here)
                kind, (given, _) = self.meaning.made[name][1], left.args
                self.gives(value, Written(name, (), stmt, kind, value), self.meaning.term(given), here)
                self.names[name] = Pointer(name, kind)
                self.meaning.shuffled[left] = (name, self.meaning.region)
                queue.appendleft(due)
            case ast.Assign([(ast.Name(name) | ast.Subscript(ast.Name(name))) as target], value), If(guard, inner):
                self.points(stmt, due.guards, here)
                match target:
                    case ast.Subscript(slice=ast.Call(ast.Name("at"), [number])) if (
                        self.meaning.made.get(name, ("", ""))[1] == BOOL
                    ):
                        self.apart(stmt, name, number, here)
                    case ast.Subscript():
                        raise unread(stmt, "keeps a condition elsewhere")
                self.gives(value, Written(name, (), stmt, BOOL, value), self.meaning.term(guard), here)
                mask = Var(f"{name} of {len(self.meaning.cells)}", BOOL)
                self.names[name] = Value(mask, BOOL)
                queue.extendleft(Due(s, (*due.guards, mask)) for s in reversed(inner))
            case _:
                return False
        self.meaning.known.clear()
        return True

    def apart(self, node: ast.AST, name: str, number: ast.expr, here: Here) -> None:
        """That an array has an element for each thread, and this is the own one."""
        if self.meaning.made.get(name, (None, ""))[0] != Const(threads_of(self.launch.block)):
            raise Differs(node, f"{name} is no array over the threads")
        if not here.same(self.reader(here).index(number), row_major(self.launch.block)):
            raise Differs(node, "leaves a value in another thread's place")

    def shuffle(self, value: Term) -> App | None:
        """The next shuffle of a value that nothing was left for, none inside of it."""
        waiting = [t for t in walk(value) if isinstance(t, App) and t.op in SHUFFLES and t not in self.meaning.shuffled]
        return next((t for t in waiting if not any(other in walk(t.args[0]) for other in waiting)), None)


def is_index(thing: Thing) -> bool:
    """Whether a name stands for an index, and is gone where its block ends."""
    return isinstance(thing, Value) and thing.kind == "ix"


def _mask(thing: Thing) -> bool:
    """Whether a name stands for what a condition was for a thread."""
    return isinstance(thing, Value) and thing.kind == BOOL and isinstance(thing.term, Var)
