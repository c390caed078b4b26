"""Threads of a block in turn, followed: what one leaves for others, and what it keeps for later.

    for thread: exchange[thread] = v;  for thread: v = exchange[thread ^ 1]   ≈   v = shuffle_xor(v, 1)        mask[thread] = c   ≈   if c { …

Comes in: loops over threads, and assignments that are no step of the program. Goes out: whether they are of these kinds. The one idea: between two
barriers a thread runs alone, so what is in a variable is of this thread in this turn; what it has to find later, or others, is in an array over
the threads, at its own place.
"""

from __future__ import annotations

import ast
from collections import deque

from tinygpu.category.term import BOOL, SHUFFLES, App, Axis, Const, Term, Var, conjuncts, walk
from tinygpu.derive.factors import row_major
from tinygpu.program.step import Assign, If
from tinygpu.record import dataclass
from tinygpu.schedule.threads import threads_of
from tinygpu.validate.cpu_follow import Due, Follower
from tinygpu.validate.same import Here
from tinygpu.validate.typed import Differs, Number, Pointer, Stale, Thing, Value, unread


@dataclass(slots=True)
class ThreadFollower(Follower):
    """A work function whose threads run in turn."""

    def turns(self, name: str, axis: Axis, body: list[ast.stmt], queue: deque[Due], here: Here) -> None:
        """A loop over threads: what a barrier is in front of, all come to. A variable is one thread's, and known in its turn alone."""
        if not self.threads and (due := self.due(queue, here)) is not None:
            queue.appendleft(due)
        self.counts(body[0], name, axis)
        self.threads, self.meaning.region = self.threads + 1, self.meaning.region + (self.threads == 0)
        self.block(body, queue, here)
        self.threads -= 1
        if not self.threads:
            for other, thing in self.names.items():
                if other not in self.meaning.made and (isinstance(thing, Number) or _mask(thing)):
                    self.names[other] = Stale("it is another thread's since")

    def between(self, node: ast.Assign, target: ast.expr, value: ast.expr, due: Due, queue: deque[Due], here: Here) -> bool:
        """Whether a value is left for other threads to take by a shuffle, or a condition is kept for later."""
        match target, due.step:
            case ast.Subscript(ast.Name(name), ast.Call(ast.Name("at"), [number])), Assign(value=done, guard=guard) if (
                name in self.meaning.made and name not in self.meaning.cells.values() and (left := self.shuffle(done)) is not None
            ):
                self.points(node, (*due.guards, *conjuncts(guard)), here)
                self.apart(node, name, number, here)
                kind, (given, _) = self.meaning.made[name][1], left.args
                self.gives(value, kind, self.meaning.term(given), here)
                self.names[name] = Pointer(name, kind)
                self.meaning.shuffled[left] = (name, self.meaning.region)
                queue.appendleft(due)
            case ((ast.Name(name) | ast.Subscript(ast.Name(name))), If(guard, inner)):
                self.points(node, due.guards, here)
                match target:
                    case ast.Subscript(slice=ast.Call(ast.Name("at"), [number])) if (
                        self.meaning.made.get(name, ("", ""))[1] == BOOL
                    ):
                        self.apart(node, name, number, here)
                    case ast.Subscript():
                        raise unread(node, "keeps a condition elsewhere")
                self.gives(value, BOOL, self.meaning.term(guard), here)
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


def _mask(thing: Thing) -> bool:
    """Whether a name stands for what a condition was for a thread."""
    return isinstance(thing, Value) and thing.kind == BOOL and isinstance(thing.term, Var)
