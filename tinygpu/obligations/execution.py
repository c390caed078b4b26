"""A launch executed symbolically: what every cell holds after every step, and what was seen on the way.

    a cell is a function of its index (`cells`);  a loop is closed by `recurrence.close`;  a shuffle is `exchange.exchanged`;
    all threads take every step together: that no schedule can tell the difference is what `ordered` proves

Comes in: a launch, and what earlier ones left. Goes out: its events, with every read of a cell replaced by the latest write that it sees.
Inputs are uninterpreted; a cell that nobody wrote is a fresh symbol `cell?`.
"""

from __future__ import annotations

from functools import cache, partial
from typing import assert_never

from tinygpu.category.deadline import doing
from tinygpu.category.region import Region
from tinygpu.category.settle import settle
from tinygpu.category.term import (
    FLOATS,
    TRUE,
    App,
    Axis,
    Const,
    Read,
    Term,
    Var,
    conjunction,
    different,
    equal,
    select,
    shuffled,
    substitute,
    tensors,
    total,
    variables,
    walk,
)
from tinygpu.diagnostic import Label, Span
from tinygpu.model.op import Op
from tinygpu.obligations.cells import Cells, State, contributed, itself, merged, neighbour, published, unstored, unwritten, written
from tinygpu.obligations.ends import cut_short
from tinygpu.obligations.exchange import Threads, distances, exchanged
from tinygpu.obligations.induced import by_symbol
from tinygpu.obligations.made import FORM, SAID, carried, compared, is_made, made, number_of, reordered
from tinygpu.obligations.recurrence import UNSOLVED
from tinygpu.obligations.trace import (
    Access,
    Collective,
    Computed,
    Event,
    Fact,
    Meeting,
    Place,
    Store,
    Value,
    guarded_reads,
    index_terms,
    replaced,
    started,
)
from tinygpu.obligations.turns import Turns
from tinygpu.obligations.window import all_step, prefixed, shown
from tinygpu.program.call import Call
from tinygpu.program.rows import touched
from tinygpu.program.step import Array, Assign, For, Ghost, If, Launch, Program, Step
from tinygpu.program.traverse import map_every, terms
from tinygpu.program.traverse import written as written_in
from tinygpu.record import dataclass, field, replace

FOLLOWED = 20_000  # different parts of a value beyond which it is not followed
DEEP = 250  # parts inside of each other beyond which it is not: what reads a value goes down into it
LARGE = "large "
UNROLLED = 64  # a loop that has no closed form is executed iteration by iteration up to this many


@dataclass(slots=True)
class Execution:
    """One run over a launch: the state of the cells, and what was seen so far; `always` are the preconditions."""

    program: Program
    launch: Launch
    always: frozenset[Term]
    memory: State
    place: Place
    state: State = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    loops: int = 0

    def resolve(self, term: Term, point: Region) -> Term:
        """The term with every read of a cell replaced by what the cell holds, and every shuffle by the other lane's value."""
        value = replaced(term, {**self.memory, **self.state})
        if shuffled(value):
            value = exchanged(value, Threads(self.launch.block), point.names)
        return point.settled(self.followed(value))

    def followed(self, value: Term) -> Term:
        """The value, or an unknown one in its place where it is too large: copies of copies grow as powers of two."""
        if (value.parts <= FOLLOWED or different(value) <= FOLLOWED) and value.deep <= DEEP:
            return value
        self.loops += 1
        return Read(f"{LARGE}{self.loops}{UNSOLVED}", tuple(map(Var, sorted(variables(value)))), value.dtype)

    def observe(self, term: Term, point: Region, span: Span) -> Term:
        """`resolve`, with every access of the term recorded under the conditions that guard it."""
        for read, place in guarded_reads(term, point):
            where = self.seen(place, point)
            index = tuple(self.resolve(i, where) for i in read.index)
            cells = self.access(read.tensor, index, where, span if read.span.line == 0 else read.span)
            if cells is not None and not total(cells.value):  # `q < q + 1` is true, and reads what nobody may have written
                self.events.append(Value(where.settled(cells.at(index)), where, span))
        value = self.resolve(term, point)
        self.events.append(Value(value, point, span))
        self.events += [Computed(replaced(t, self.state), self.seen(where, point), span) for t, where in index_terms(term, point)]
        if shuffled(term):
            lanes = tuple(dict.fromkeys(self.resolve(far, point) for far in distances(term)))
            self.events.append(Collective("warp", "shuffle", point, span, self.place.launch, lanes))
        return value

    def seen(self, place: Region, point: Region) -> Region:
        """A place inside a term at a point, with what the cells in its further guards hold."""
        further = (self.resolve(g, point) for g in place.guard[len(point.guard) :])
        return point.inside(*place.axes[len(point.axes) :]).under(*further)

    def access(
        self, name: str, index: tuple[Term, ...], point: Region, span: Span, write: bool = False, atomic: str = ""
    ) -> Cells | None:
        """What is known of an array that is accessed: nothing of an input."""
        cells = self.state.get(name) or self.memory.get(name)
        extents = cells.local.extents if cells else self.program.op.tensor(name).shape
        self.events.append(Access(name, index, extents, point, span, write, atomic, self.place))
        return cells

    def run(self, body: tuple[Step, ...], point: Region) -> None:
        around = self.place
        for number, step in enumerate(body):
            self.place = replace(around, path=(*around.path, number))
            doing("what this step leaves in its cells", (Label(step.span, "this step"),))
            match step:
                case Array(name):
                    self.state[name] = unwritten(step)
                case Assign():
                    self.assign(step, point)
                case For():
                    self.loop(step, point)
                case If():
                    self.branch(step, point)
                case Call():
                    for term in terms(step):
                        self.observe(term, point, step.span)
                    if step.together:
                        self.events.append(Collective(step.together, step.noun, point, step.span, self.place.launch))
                    for name, index, here, stores in touched(step, point):  # which the hardware does for these lanes
                        self.access(name, tuple(self.resolve(i, here) for i in index), here, step.span, stores)
                case Ghost(name, index, claim, span):
                    self.holds(name, index, claim, point, span)
                case _:
                    assert_never(step)
        self.place = around

    def assign(self, step: Assign, point: Region) -> None:
        guard = self.observe(step.guard, point, step.span)
        inner = point.under(guard)
        index = tuple(self.observe(i, inner, step.span) for i in step.index)
        if step.update and shuffled(step.value):  # so that a step of a reduction is seen as one
            step = replace(step, value=step.whole, update="")
        value = self.observe(step.value, inner, step.span)
        cells = self.access(step.target, index, inner, step.span, True, step.update * step.atomic)
        cells = cells or unstored(self.program.op, step.target)
        if step.update:
            self.events.append(Value(self.resolve(cells.at(index), inner), inner, step.span))
        if step.target not in self.state:
            return self.events.append(Store(step.target, index, value, inner, step, self.place.launch))
        value = shown(step.value, value, inner, self.resolve)
        if not cells.private:
            own = partial(self.resolve, cells.at(index))
            if not step.atomic and (scan := all_step(own, value, guard, step.update, point)):
                (inner, value), step = scan, replace(step, update="")
            return self.publish(cells, index, value, inner, step)
        if not cells.formals and guard != TRUE and (both := prefixed(cells.value, value, guard, step.update, point)):
            return self.keep(cells, both, point.axes)
        here = conjunction(guard, *(equal(Var(f), i) for f, i in zip(cells.formals, index, strict=True)))
        self.keep(cells, written(cells, value, here, step.update), point.axes)

    def publish(self, cells: Cells, index: tuple[Term, ...], value: Term, point: Region, step: Assign) -> None:
        """What all threads make of shared cells in one step."""
        around = self.launch.grid + point.axes[len(self.launch.grid) + len(self.launch.block) :]
        if step.atomic:
            guards = tuple(g for g in point.guard if g not in self.always)
            new = self.named(cells, contributed(cells, index, value, step.update, self.launch.block, guards), around)
        else:
            write = published(cells, index, self.launch.block, around[len(self.launch.grid) :], point)
            self.events.append(Meeting(cells.local.name, write.claim, point, step.span))
            condition = settle(write.condition, point.extents | cells.extents, self.always)
            near = neighbour(step, cells, index, lambda term: self.resolve(term, point)) if step.update else None
            if near is not None:  # a step of a tree
                new = select(condition, self.named(cells, near, around), cells.value)
            else:
                new = written(cells, substitute(value, write.writer), condition, step.update)
        self.keep(cells, new, around)

    def branch(self, step: If, point: Region) -> None:
        """A conditional body: afterwards a cell is what the body made of it where the guard held, else what it was."""
        guard, before = self.observe(step.guard, point, step.span), dict(self.state)
        guard = TRUE if point.settled(guard) == TRUE else guard
        self.run(step.body, point.under(guard))
        inside, self.state = self.state, before
        for name in sorted(written_in(step.body, facts=True) & before.keys()):
            cells, self.state[name] = before[name], inside[name]  # a write to shared cells knows its guards itself
            if cells.private:
                self.state[name] = replace(cells, content=cache(partial(self.joined, cells, guard, inside[name], point)))

    def joined(self, cells: Cells, guard: Term, made: Cells, point: Region) -> Term:
        """What a private cell holds after a conditional body that has made it another one."""
        return self.settled(cells, self.chosen(cells, guard, made.value, point), point.axes)

    def chosen(self, cells: Cells, guard: Term, new: Term, point: Region) -> Term:
        """The same, as it comes."""
        if isinstance(new, App) and is_made(new) and new != cells.value:
            both = merged(guard, new.args[0], cells.value)
            if both != select(guard, new.args[0], cells.value):
                return self.named(cells, both, point.axes)
        return merged(guard, new, cells.value, None if cells.formals else point)

    def holds(self, name: str, index: tuple[Term, ...], claim: Term, point: Region, span: Span) -> None:
        """What is said of a cell is its value; the number that is held stays what it is, unless what is said is an integer made of such."""
        cells, index = self.state[name], tuple(self.resolve(i, point) for i in index)
        claim = self.resolve(by_symbol(self.program.op, claim), point)
        value = self.resolve(Read(name, index, claim.dtype), point)
        self.events += (Fact(value, claim, point, span), Value(value, point, span))
        held = number_of(value)
        plain = all(t.dtype not in FLOATS and not carried(t) for side in (claim, value, *point.guard) for t in walk(side))
        if not (plain and total(claim) and all(map(compared, self.program.op.promises))):  # it was proved of numbers alone
            waits = any("@" in name for name in tensors(held))  # for the turn before, which is not known yet
            claim = made(claim, self.name(cells, point.axes, SAID) if waits else held)
        here = conjunction(*(equal(Var(f), i) for f, i in zip(cells.formals, index, strict=True)))
        if not cells.private:  # what each thread says of its cell is so of all of them
            write = published(cells, index, self.launch.block, point.axes[len(self.launch.grid) + len(self.launch.block) :], point)
            here, claim = settle(write.condition, point.extents | cells.extents, self.always), substitute(claim, write.writer)
        self.keep(cells, written(cells, claim, here, ""), point.axes)

    def named(self, cells: Cells, value: Term, axes: tuple[Axis, ...]) -> Term:
        """The value of a cell that is another form of what was computed, with a name for the number that is held."""
        return made(value, self.name(cells, axes)) if reordered(value) else value

    def name(self, cells: Cells, axes: tuple[Axis, ...], what: str = FORM) -> Read:
        """A symbol for the number that a cell holds now, at its index and the axes around."""
        self.loops += 1
        place = (*cells.formals, *(self.threads if cells.private else ()), *(a.name for a in axes))
        return Read(f"{cells.local.name}{what}{self.loops}", tuple(map(Var, dict.fromkeys(place))), cells.local.dtype)

    def keep(self, cells: Cells, value: Term, axes: tuple[Axis, ...]) -> None:
        """The new value of a cell. Only the preconditions may settle it: the guards around a write end before the value does."""
        self.state[cells.local.name] = replace(cells, content=self.settled(cells, value, axes))

    def settled(self, cells: Cells, value: Term, axes: tuple[Axis, ...]) -> Term:
        """What a cell holds, in few words."""
        return settle(self.followed(value), Region(axes).extents | cells.extents, self.always)

    @property
    def op(self) -> Op:
        """What is computed."""
        return self.program.op

    @property
    def threads(self) -> tuple[str, ...]:
        """The names of the block's axes: what a thread's own cells depend on."""
        return tuple(a.name for a in self.launch.block)

    def loop(self, step: For, point: Region) -> None:
        axis = cut_short(self.launch, replace(step.axis, extent=self.observe(step.axis.extent, point, step.span)), step.body, point)
        before, begun = dict(self.state), len(self.events)
        self.loops += 1
        previous = {name: f"{name}@{self.loops}" for name in sorted(written_in(step.body, facts=True) & before.keys())}
        self.state |= {n: replace(before[n], content=itself(before[n], start, self.threads)) for n, start in previous.items()}
        self.run(step.body, point.inside(axis))
        turns = Turns(self, axis, point, previous, before, dict(self.state))
        if isinstance(axis.extent, Const) and axis.extent.value <= UNROLLED and not turns.solved():
            self.state, around, self.events[begun:] = before, self.place, []
            for number in range(int(axis.extent.value)):  # all that it reads is still read: `x[index(z[i]) * 0]` reads z
                self.place = replace(around, turns=(*around.turns, (axis.name, number)))
                self.run(map_every(step.body, partial(substitute, mapping={axis.name: Const(number)}, written=True)), point)
            self.place = around
            return
        starts, after = turns.states()
        self.events[begun:] = started(self.events[begun:], starts)
        self.state = before | after
