"""A program, run: every thread of a block takes each step together with the others, all reads before all writes.

Comes in: a program, sizes, inputs, and an `Oracle`, which decides what an undefined comparison gives. Goes out: the outputs; or `Fault`.
The one idea: steps and terms are followed as they are written; what races, is outside or was never written is a fault, whatever is made of it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tests.meaning import terms
from tests.meaning.certain import Rounded, Value, is_undefined
from tests.meaning.equations import Cells, Equations, Plain, shape_of
from tests.meaning.memory import STORE, WARP, Array, Fault, Moment
from tests.meaning.oracle import Oracle
from tests.meaning.terms import FITS, Env, evaluate
from tests.meaning.values import UNDEFINED, WIDTH, CannotJudge, Number, TooLarge, ends, same
from tinygpu.category.node import INDEX, App, Read, Term
from tinygpu.category.term import reads, variables
from tinygpu.program.call import Sync
from tinygpu.program.step import Array as Declared
from tinygpu.program.step import Assign, For, Ghost, If, Launch, Program, Step, steps

Sizes = Mapping[str, int]
THREADS, STEPS = 1 << 12, 1 << 17
INTEGERS = (0, 1, -1)  # and the ends of the dtype: what an undefined float may become


class Machine(Plain):
    """The world of a program's terms: one thread at a time, at one step."""

    def __init__(
        self, program: Program, sizes: Mapping[str, int], inputs: Mapping[str, Cells], oracle: Oracle, ghosts: bool = True
    ):
        self.ghosts = ghosts  # whether what is said is looked at
        self.program, self.sizes, self.oracle = program, sizes, oracle
        self.arrays = {t.name: Array(t.name, shape_of(t.shape, sizes), cells=dict(inputs[t.name])) for t in program.op.inputs}
        for output in program.op.outputs:
            self.arrays[output.name] = Array(output.name, shape_of(output.shape, sizes), True, True)
            if output.inplace:  # they are one array
                self.arrays[output.name] = self.arrays[output.inplace]
                self.arrays[output.inplace].shared = True
        for space in program.workspaces:
            self.arrays[space.name] = Array(space.name, shape_of(space.extents, sizes), True, True)
        self.equations = Equations(program.op, sizes, inputs)  # of which ghosts may speak
        self.own: dict[str, dict[int, Array]] = {}  # the locals, by thread
        self.threads: list[Env] = []
        self.moments: list[Moment] = []
        self.here = 0  # the thread that evaluates
        self.ghost = self.silent = self.partial = self.leaning = self.guessed = False
        self.active: frozenset[int] = frozenset()
        self.shuffled: dict[int, set[int]] = {}
        self.known: dict[tuple[int, int], Value] = {}
        self.answers: dict[tuple[int, Any], bool] = {}
        self.given = frozenset(inputs)
        self.spent = 0

    # what terms ask

    def read(self, read: Read, index: tuple[Value, ...], env: Env) -> Value:
        if self.ghost and read.tensor in self.equations.states:
            return self.equations.read(read, index, env)
        array = self.own[read.tensor][self.here] if read.tensor in self.own else self.arrays[read.tensor]
        place = array.place(index)
        if self.ghost:
            if place not in array.cells:
                raise CannotJudge("a ghost looks at a cell that nobody wrote")
            return array.cells[place]
        return array.read(place, self.moments[self.here])

    def divided(self, index: bool, what: str) -> Number:
        if self.ghost:
            raise CannotJudge(f"a ghost with a {what}")
        raise Fault(f"a {what}")

    def undefined(self) -> None:
        self.partial = self.partial or not self.ghost

    def integer(self, dtype: str) -> Number:
        if self.ghost:  # what is said has no value: nothing is said
            self.silent = True
            return 0
        self.partial = True
        return (
            (*INTEGERS, *ends(dtype))[self.oracle.choose(len(INTEGERS) + 2)] if not dtype.startswith("u") else self.oracle.choose(2)
        )

    def fits(self, index: int) -> None:
        if not -FITS <= index < FITS:
            raise Fault(f"the index {index} does not fit")

    def outside(self, carrier: str) -> None:
        if not self.guessed:  # by a test of what is no number anything is put together
            raise Fault(f"what is put together is no value of {carrier}")

    def leans(self) -> None:
        self.leaning = True

    def choice(self, term: App, condition: Value, env: Env) -> Value:
        yes, no = term.args[1], term.args[2]
        if condition[0] is UNDEFINED:
            self.guessed = True
            return evaluate(yes if self.oracle.choose(2) else no, env, self)
        if (
            term.dtype == INDEX or term.dtype in WIDTH
        ):  # one of two places, or integers: whichever it is, whoever asks later finds that one
            return evaluate(yes if self.oracle.test(bool(condition[0]), condition[1]) else no, env, self)
        # what rounding may take is inside, written and defined too
        there, other = evaluate(yes, env, self), evaluate(no, env, self)
        value, _ = there if condition[0] else other
        return value, Rounded()

    def exchange(self, term: App, env: Env) -> Value:
        value, which = term.args
        me, key = self.here, (self.here, id(term))
        if key not in self.known:
            self.shuffled.setdefault(id(term), set()).add(me)
            self.known[key] = (None, True)
            given, lane = evaluate(which, env, self)[0], me % WARP
            if term.op != "shuffle_idx" and not 0 <= given < WARP:
                raise Fault(f"{term.op} by {given}: there are {WARP} lanes")
            source = {"shuffle_xor": lane ^ (given % WARP), "shuffle_idx": given % WARP, "shuffle_up": lane - given}.get(
                term.op, lane + given
            )
            thread = me - lane + (source if 0 <= source < WARP else lane)
            if thread not in self.active:
                raise Fault(f"{term.op} of thread {me} asks thread {thread}, which is not there")
            self.here = thread
            try:
                inner = (thread, id(value))
                if inner not in self.known:
                    self.known[inner] = evaluate(value, {**env, **self.threads[thread]}, self)
                self.known[key] = self.known[inner]
            finally:
                self.here = me
        return self.known[key]

    # steps

    def run(self) -> dict[str, Cells]:
        """All launches, one after the other."""
        self.launches(self.program.launches, {})
        return {t.name: self.arrays[t.name].cells for t in self.program.op.outputs}

    def launches(self, every: Sequence[Launch], turns: Mapping[str, int]) -> None:
        """Those that stand next to each other in one loop come again in each of its turns."""
        waiting = list(every)
        while waiting:
            first = waiting.pop(0)
            if len(first.turns) == len(turns):
                self.launch(first, turns)
                continue
            axis, together = first.turns[len(turns)], [first]
            while waiting and axis in waiting[0].turns:
                together.append(waiting.pop(0))
            (extent,) = shape_of((axis.extent,), self.sizes)
            for turn in range(extent):
                self.launches(together, {**turns, axis.name: turn})

    def launch(self, launch: Launch, turns: Mapping[str, int]) -> None:
        grid, block = (shape_of(tuple(a.extent for a in axes), self.sizes) for axes in (launch.grid, launch.block))
        if math.prod(grid) * math.prod(block) > THREADS:
            raise TooLarge("more threads than are followed")
        inner = tuple(steps(launch.body))
        for array in self.arrays.values():
            array.launched()
        for number, place in enumerate(itertools.product(*map(range, grid))):
            points = list(itertools.product(*map(range, block)))
            outer = {**self.sizes, **turns, **dict(zip((a.name for a in launch.grid), place, strict=True))}
            self.threads = [{**outer, **dict(zip((a.name for a in launch.block), point, strict=True))} for point in points]
            self.moments = [Moment(number, thread) for thread in range(len(points))]
            for shared in (s for s in inner if isinstance(s, Declared) and s.owner == "block"):
                self.arrays[shared.name] = Array(shared.name, shape_of(shared.extents, self.sizes), True)
            self.own = {s.name: self.fresh(s, range(len(points))) for s in inner if isinstance(s, Declared) and s.owner == "thread"}
            self.body(launch.body, list(range(len(points))), {})

    def fresh(self, local: Declared, threads: Iterable[int]) -> dict[int, Array]:
        extents = shape_of(local.extents, self.sizes)
        return {thread: Array(local.name, extents) for thread in threads}

    def body(self, body: tuple[Step, ...], active: list[int], loops: Mapping[str, int]) -> None:
        for step in body:
            self.spent += len(active) + 1
            if self.spent > STEPS:
                raise TooLarge("more steps than are followed")
            self.active, self.shuffled, self.known = frozenset(active), {}, {}
            match step:
                case Declared(name, owner="thread"):
                    self.own[name].update(self.fresh(step, active))
                case Assign():
                    self.assign(step, active, loops)
                case For(axis, inner):
                    for turn in range(self.turns(axis.extent, active, loops)):
                        self.body(inner, active, {**loops, axis.name: turn})
                case If(guard, inner):
                    some = [t for t in active if self.decided(guard, t, loops)]
                    self.collected()
                    if some:
                        self.body(inner, some, loops)
                case Sync(scope):
                    self.barrier(scope, active)
                case Ghost() if self.ghosts:
                    self.holds(step, active, loops)

    def at(self, term: Term, thread: int, loops: Mapping[str, int]) -> Value:
        """A term, in a thread."""
        self.here = thread
        return evaluate(term, {**self.threads[thread], **loops}, self)

    def decided(self, guard: Term, thread: int, loops: Mapping[str, int]) -> bool:
        """Whether a guard holds: asked of the oracle where it is undefined, or where rounding decides."""
        held, sure = self.at(guard, thread, loops)
        self.partial = self.partial or held is UNDEFINED
        if held is not UNDEFINED and sure is True:
            return bool(held)
        if any(r.tensor not in self.given for r in reads(guard)):
            return self.chosen(held, sure)
        env = {**self.threads[thread], **loops}
        key = id(guard), tuple((name, env[name]) for name in sorted(variables(guard)))
        if key not in self.answers:  # the same test of the same inputs has one answer, whichever
            self.answers[key] = self.chosen(held, sure)
        return self.answers[key]

    def chosen(self, held: Number, sure: Any) -> bool:
        """The truth of a guard that is undefined, or that rounding decides."""
        return bool(self.oracle.choose(2)) if held is UNDEFINED else self.oracle.test(bool(held), sure)

    def turns(self, extent: Term, active: list[int], loops: Mapping[str, int]) -> int:
        found = {self.at(extent, thread, loops)[0] for thread in active}
        if len(found) > 1 or any(turns is UNDEFINED for turns in found):
            raise Fault("threads take different turns of one loop")
        return max(0, *found)

    def assign(self, step: Assign, active: list[int], loops: Mapping[str, int]) -> None:
        local = step.target in self.own
        there = [t for t in active if self.decided(step.guard, t, loops)]
        self.active = frozenset(there)
        made: list[tuple[int, Array, tuple[int, ...], Value]] = []
        for thread in there:
            index = tuple(self.at(i, thread, loops) for i in step.index)
            value = self.at(step.value, thread, loops)
            array = self.own[step.target][thread] if local else self.arrays[step.target]
            place = array.place(index)
            if step.update and not step.atomic:
                before = array.read(place, self.moments[thread])
                value = terms.combine(step.update, step.value.dtype, before, value, self)
            made.append((thread, array, place, value))
        self.collected()
        for thread, array, place, value in made:
            self.write(step, thread, array, place, value)

    def write(self, step: Assign, thread: int, array: Array, place: tuple[int, ...], value: Value) -> None:
        array.visit(step.update if step.atomic else STORE, place, self.moments[thread])
        if step.atomic:
            if place not in array.cells:
                raise Fault(f"{array.name}{list(place)} is updated, which nobody wrote")
            value = terms.combine(step.update, step.value.dtype, array.cells[place], value, self)
        array.cells[place] = value

    def collected(self) -> None:
        """Every shuffle of a step is one of whole warps."""
        for there in self.shuffled.values():
            self.whole_warps(there, "a shuffle")

    def whole_warps(self, there: Iterable[int], what: str) -> None:
        together = set(there)
        for warp in {thread // WARP for thread in together}:
            if not together.issuperset(range(warp * WARP, warp * WARP + WARP)):
                raise Fault(f"{what} is reached by some lanes of a warp")

    def barrier(self, scope: str, active: list[int]) -> None:
        if scope == "warp":
            self.whole_warps(active, "a warp barrier")
            for thread in active:
                self.moments[thread].warp_passed += 1
            return
        if len(active) != len(self.threads):
            raise Fault("a barrier is reached by some threads of a block")
        for moment in self.moments:
            moment.passed += 1

    def holds(self, step: Ghost, active: list[int], loops: Mapping[str, int]) -> None:
        self.ghost = True
        for thread in active:
            index = tuple(self.at(i, thread, loops) for i in step.index)
            self.here = thread
            got = self.read(Read(step.target, step.index, step.value.dtype), index, {})
            guessed, self.guessed, self.silent = self.guessed, False, False
            want = self.at(step.value, thread, loops)
            silent, self.guessed = self.silent or self.guessed, guessed
            if silent or is_undefined(got) or is_undefined(want):
                self.oracle.soft = self.partial = True
            elif not equal(got, want) and not self.oracle.soft and not self.guessed:  # a fact is one of values
                raise Fault(f"{step.target} does not hold what is said")
        self.ghost = False


def equal(a: Value, b: Value) -> bool:
    """Whether two defined values are the same, component by component."""
    if isinstance(a[0], tuple):
        return all(map(equal, a[0], b[0]))
    return same(a[0], b[0])


def run(
    program: Program, sizes: Sizes, inputs: Mapping[str, Cells], oracle: Oracle, ghosts: bool = True, apart: bool = False
) -> tuple[dict[str, Cells], Any]:
    """The outputs, and the machine that made them. `apart`: what may lie in place does not, and begins as its input if its equation goes on from it."""
    machine = Machine(program, sizes, inputs, oracle, ghosts)
    for name, source in program.op.inplace.items() if apart else ():
        cells = dict(inputs[source]) if name in program.op.continued else {}
        machine.arrays[name] = Array(name, machine.arrays[source].extents, True, name not in program.op.continued, cells)
    return machine.run(), machine
