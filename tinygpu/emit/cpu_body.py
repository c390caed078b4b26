"""The steps of a program as Python for numba: one line for each, and for a loop a head.

    for v < 8192 { if i*8192 + v < n { … } }   ↦   for v in range(min(8192, n - i*8192)): …

Comes in: steps. Goes out: lines. The one idea: nothing is decided here. A condition that all steps of a loop are under and that is linear
in its axis is the loop's bound; an index term that stands in two places has a name.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from tinygpu.category.monoid import as_monoid
from tinygpu.category.region import Region
from tinygpu.category.term import TRUE, App, Axis, Const, Read, Term, conjunction, negation, reads, variables, walk
from tinygpu.emit.body import Body
from tinygpu.emit.cpu_text import Register, Writer, mangle
from tinygpu.emit.cpu_vector import Update, accumulators, begin, handed_on, lanes
from tinygpu.emit.cuda_names import occurs
from tinygpu.emit.python import block
from tinygpu.program.call import PREFETCH
from tinygpu.program.step import Assign, For, Step, steps
from tinygpu.program.traverse import reads_of, written
from tinygpu.record import dataclass, replace
from tinygpu.schedule.ahead import STORED
from tinygpu.schedule.bound import assume, common
from tinygpu.schedule.nest import substituted
from tinygpu.schedule.polynomial import limit, positive, telling
from tinygpu.schedule.told import told

Held = Mapping[tuple[str, tuple[Term, ...]], Register]


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop as it is written: its axis and head, what is done inside, the conditions around it, and what is in registers from its begin to its end."""

    name: str
    opened: str
    body: tuple[Step, ...]
    around: tuple[Term, ...]
    held: Held


@dataclass(frozen=True, slots=True)
class CpuBody(Body):
    """Of a work function. Where accumulators are held in vector registers, all is done with these."""

    scope: Writer

    def stands(self, label: Term, body: tuple[Step, ...]) -> bool:
        arrays = {r.tensor for s in steps(body) for r in reads_of(s)} | written(body)
        extents = (e for name in arrays & self.scope.tensors.keys() for e in self.scope.tensors[name].shape[1:])
        return label in extents or occurs(label, body, {})

    def lines(self, body: tuple[Step, ...]) -> list[str]:
        return self.turns(body) if self.scope.held else Body.lines(self, body)

    def assign(self, step: Assign) -> list[str]:
        """`target = value`."""
        scope, name, value = self.scope, step.target, step.whole
        if name in scope.locals:
            return [f"{scope.cell(name, step.index)} = {scope.text(value)}"]
        return [f"{mangle(name)}[{scope.address(name, step.index)}] = {scope.stored(value, scope.tensors[name].dtype)}"]

    def call(self, called: str, elements: list[Read]) -> list[str]:
        """A hint; a core alone waits for nobody."""
        hints = elements if called == PREFETCH else []
        return [f"{called}({mangle(e.tensor)}, {self.scope.address(e.tensor, e.index)})" for e in hints]

    def steps(self, body: tuple[Step, ...]) -> list[str]:
        """One after the other; what a loop has left in registers is taken from there by the step behind it."""
        out: list[str] = []
        left: Held = {}
        for step in body:
            if left and (lines := self.taking(step, left)):
                out, left = out + lines, {}
            elif isinstance(step, For) and step.axis.sort != STORED:
                loop = self.entered(step)
                out, left = out + self.looped(loop), {} if loop.around else loop.held
            else:
                out, left = out + self.step(step), {}
        return out

    def loop(self, step: For) -> list[str]:
        """A loop from its lower bound to its upper one, under the conditions that have nothing to do with its axis."""
        if step.axis.sort == STORED:
            return [self.leaving(step.axis, *step.body)]  # type: ignore[arg-type]
        return self.looped(self.entered(step))

    def entered(self, step: For) -> Loop:
        """A loop, and what it holds in registers."""
        axis, body = step.axis, step.body
        facts = shared(body)
        inside, lows, highs = bounds(axis, facts)
        body = assume(body, [f for f in facts if f not in inside])
        if (found := told(replace(step, body=body), Region(), self.mine())) is not None:
            lows, highs, body = [*lows, *found.lows], [*highs, *found.highs], found.body
        around = tuple(f for f in inside if axis.name not in variables(f) and variables(f) <= self.known)
        body = assume(body, around)
        low = ["0", *map(self.scope.text, lows)]
        high = [self.scope.text(axis.extent), *map(self.scope.text, highs)]
        head = f"{among('max', low)}, {among('min', high)}" if lows else among("min", high)
        held = {} if self.scope.held else accumulators(self.scope, axis, body, self.known | {axis.name})
        opened = f"for {mangle(axis.name)} in range({head}{nought(axis) if held or self.scope.held else ''})"
        return Loop(axis.name, opened, body, around, held)

    def looped(self, loop: Loop) -> list[str]:
        """The lines of a loop."""
        there = replace(self, known=self.known | {loop.name})
        if loop.held:
            lines = replace(there, scope=replace(self.scope, held=loop.held)).held(loop.opened, loop.body)
        else:
            lines = block(loop.opened, there.lines(loop.body))
        return self.under(conjunction(*loop.around), lines)

    def leaving(self, axis: Axis, step: Assign) -> str:
        """`streamed(y, at(first), piece, 256)`: a loop of stores past the caches."""
        assert isinstance(step.value, Read), "of what was made before"
        place, count = self.scope.address(step.target, begin(step.index, axis.name)), self.scope.text(axis.extent)
        return f"streamed({mangle(step.target)}, {place}, {mangle(step.value.tensor)}, {count})"

    def mine(self) -> list[str]:
        """The cells of the thread at hand, of rank 0: none of those that every thread has, where it is no thread's turn."""
        turn = variables(self.scope.thread) <= self.known
        return [name for name, cell in self.scope.locals.items() if not cell.extents and (turn or name not in self.scope.strip)]

    # ── vectors ────────────────────────────────────────────────────────────────────────────────────────────────────

    def held(self, opened: str, body: tuple[Step, ...]) -> list[str]:
        """A loop whose accumulators are registers from its begin to its end."""
        first = {place: f"{mangle(place[0])}, {self.scope.address(*place)}" for place in self.scope.held}
        load = [f"{mangle(one.name)} = {one.operation('load', first[place])}" for place, one in self.scope.held.items()]
        store = [one.operation("store", first[place], mangle(one.name)) for place, one in self.scope.held.items()]
        return [*load, *block(opened, self.lines(body)), *store]

    def taking(self, step: Step, held: Held) -> list[str]:
        """A step that puts registers elsewhere where what it asks is true, and otherwise number by number; nothing where it does something else."""
        there = replace(self, scope=replace(self.scope, held=held))
        middle = [c for c in asked(step) if variables(c) <= self.known]
        lines = [there.put(u) for u in handed_on(there.scope, assume((step,), middle))]
        whole = conjunction(*middle)
        return [*self.under(whole, lines), *(self.under(negation(whole), self.step(step)) if middle else [])] if lines else []

    def turns(self, body: tuple[Step, ...]) -> list[str]:
        """Register loops turn by turn, one line for each vector; conditions that no loop has for a bound stand around them."""
        facts = [f for f in shared(body) if variables(f) <= self.known]
        if facts:
            return self.under(conjunction(*facts), self.lines(assume(body, facts)))
        out: list[str] = []
        for step in body:
            match step:
                case For(axis, inner) if axis.sort == "register":
                    for turn in range(int(axis.extent.value)):  # type: ignore[union-attr]
                        out += self.lines(tuple(substituted(s, {axis.name: Const(turn)}) for s in inner))
                case For(axis, inner) if lanes(axis):
                    out += [self.accumulated(s, axis.name) for s in inner if isinstance(s, Assign)]
                case For():
                    out += self.loop(step)
        return out

    def accumulated(self, step: Assign, lane: str) -> str:
        """`acc = lanes_add(acc, value)`."""
        assert step.guard == TRUE, "a register is changed in every lane"
        one = self.scope.held[step.target, begin(step.index, lane)]
        name = mangle(one.name)
        return f"{name} = {one.operation(as_monoid(step.update).op, name, self.vector(step.value, lane, one))}"

    def put(self, update: Update) -> str:
        """`lanes_store(z, at(first), acc)`."""
        step = update.step
        one = Register("", step.value.dtype, update.lane.extent)
        return one.operation(
            "store",
            f"{mangle(step.target)}, {self.scope.address(step.target, update.place)}",
            self.vector(step.value, update.lane.name, one),
        )

    def vector(self, t: Term, lane: str, one: Register) -> str:
        """A term as a vector: a number in every lane, what lies side by side, or an operation."""
        match t:
            case _ if lane not in variables(t):
                return one.operation("spread", self.scope.text(t))
            case Read(name, index):
                start = begin(index, lane)
                held = self.scope.held.get((name, start))
                return mangle(held.name) if held else one.operation("load", mangle(name), self.scope.address(name, start))
            case App("neg", (a,), dtype):
                return one.operation("sub", one.operation("spread", self.scope.text(Const(-0.0, dtype))), self.vector(a, lane, one))
            case App(op, args):
                return one.operation(op, *(self.vector(a, lane, one) for a in args))
        raise AssertionError("no term of a tile")


def shared(body: tuple[Step, ...]) -> tuple[Term, ...]:
    """The conditions over indices that every assignment is under."""
    return common(body, frozenset(s.target for s in steps(body) if isinstance(s, Assign)))


def asked(step: Step) -> tuple[Term, ...]:
    """The conditions over indices on which it hangs what numbers are."""
    values = (s.value for s in steps((step,)) if isinstance(s, Assign))
    found = (t.args[0] for value in values for t in walk(value) if isinstance(t, App) and t.op == "select")
    return tuple(dict.fromkeys(c for c in found if not any(reads(c))))


def bounds(axis: Axis, facts: Collection[Term]) -> tuple[list[Term], list[Term], list[Term]]:
    """The facts that stay conditions, and those that are `low <= axis` and `axis < high`."""
    stay, lows, highs = list[Term](), list[Term](), list[Term]()
    for fact in facts:
        match limit(positive(fact), axis.name):
            case (1, low):
                lows.append(low)
            case (-1, high):
                highs.append(high)
            case _:
                stay.append(fact)
    return stay, telling(lows, 1), telling(highs, -1)


def among(function: str, parts: Sequence[str]) -> str:
    """`max(a, b)`; a single one needs no function."""
    return f"{function}({', '.join(parts)})" if len(parts) > 1 else parts[0]


def nought(axis: Axis) -> str:
    """A number of turns that the compiler does not know: it would unroll the loop around vectors."""
    return " + nought" if isinstance(axis.extent, Const) else ""
