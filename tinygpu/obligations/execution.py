"""A launch executed symbolically: what every cell holds after every step, and what was seen on the way.

    a cell is a function of its index (`cells`);  a loop is closed by `recurrence.close`;  a shuffle is `exchange.exchanged`;
    all threads take every step together: that no schedule can tell the difference is what `ordered` proves

Comes in: a launch, and what earlier ones left. Goes out: its trace, with every read of a cell replaced by the latest write that it sees.
Inputs are uninterpreted; a cell that nobody wrote is a fresh symbol `cell?`.
"""

from __future__ import annotations

from typing import assert_never

from tinygpu.category.monoid import as_monoid
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
    conjuncts,
    equal,
    select,
    shuffled,
    size,
    substitute,
    total,
    variables,
    walk,
)
from tinygpu.diagnostic import Span
from tinygpu.obligations.cells import Cells, State, contributed, itself, merged, neighbour, published, unstored, unwritten, written
from tinygpu.obligations.closing import closed
from tinygpu.obligations.exchange import Threads, distances, exchanged, prefixed, stepped
from tinygpu.obligations.made import FORM, SAID, carried, compared, is_made, made, number_of, reordered
from tinygpu.obligations.trace import (
    HERE,
    UNSOLVED,
    Access,
    Collective,
    Fact,
    Meeting,
    Place,
    Store,
    Trace,
    guarded_reads,
    index_terms,
    replaced,
    started,
)
from tinygpu.obligations.unroll import assigned_in, bound
from tinygpu.program.step import Array, Assign, For, Ghost, If, Launch, Program, Step, Sync
from tinygpu.record import dataclass, field, replace

FOLLOWED = 6000  # parts of a value, written out as a tree, beyond which it is not followed
DEEP = 250  # parts inside of each other beyond which it is not: what reads a value goes down into it
LARGE = "large "
UNROLLED = 64  # a loop that has no closed form is executed iteration by iteration up to this many


@dataclass(slots=True)
class Execution:
    """One run over a launch: the state of the cells and what was seen so far. `memory` is what earlier launches left."""

    program: Program
    launch: Launch
    memory: State = field(default_factory=dict)
    state: State = field(default_factory=dict)
    trace: Trace = field(default_factory=Trace)
    place: Place = HERE
    loops: int = 0

    # ── values ─────────────────────────────────────────────────────────────────────────────────────────────────

    def resolve(self, term: Term, point: Region) -> Term:
        """The term with every read of a cell replaced by what the cell holds, and every shuffle by the other lane's value."""
        value = replaced(term, {**self.memory, **self.state})
        if shuffled(value):
            value = exchanged(value, Threads(self.launch.block), point.names)
        return point.settled(self.followed(value))

    def followed(self, value: Term) -> Term:
        """The value, or an unknown one in its place where it is too large: copies of copies grow as powers of two."""
        parts, deep = size(value)
        if parts <= FOLLOWED and deep <= DEEP:
            return value
        self.loops += 1
        return Read(f"{LARGE}{self.loops}{UNSOLVED}", tuple(map(Var, sorted(variables(value)))), value.dtype)

    def observe(self, term: Term, point: Region, span: Span) -> Term:
        """`resolve`, with every access of the term recorded under the conditions that guard it."""
        for read, place in guarded_reads(term, point):
            where = self.seen(place, point)
            index = tuple(self.resolve(i, where) for i in read.index)
            self.access(read.tensor, index, where, span if read.span.line == 0 else read.span)
            cells = self.state.get(read.tensor) or self.memory.get(read.tensor)
            if cells is not None and not total(cells.value):  # `q < q + 1` is true, and reads what nobody may have written
                self.add(Trace(values=((cells.at(index), where, span),)))
        value = self.resolve(term, point)
        computed = tuple((replaced(t, self.state), self.seen(where, point), span) for t, where in index_terms(term, point))
        self.add(Trace(values=((value, point, span),), computed=computed))
        if shuffled(term):
            lanes = tuple(dict.fromkeys(self.resolve(far, point) for far in distances(term)))
            self.add(Trace(collectives=(Collective("warp", "shuffle", point, span, self.place.launch, lanes),)))
        return value

    def seen(self, place: Region, point: Region) -> Region:
        """A place inside a term at a point, with what the cells in its further guards hold."""
        return point.inside(*place.axes[len(point.axes) :]).under(
            *(self.resolve(g, point) for g in place.guard[len(point.guard) :])
        )

    def access(self, name: str, index: tuple[Term, ...], point: Region, span: Span, write: bool = False, atomic: str = "") -> None:
        cells = self.state.get(name) or self.memory.get(name)
        extents = cells.local.extents if cells else self.program.op.tensor(name).shape
        self.add(Trace(accesses=(Access(name, index, extents, point, span, write, atomic, self.place),)))

    def add(self, more: Trace) -> None:
        self.trace = self.trace.plus(more)

    # ── steps ──────────────────────────────────────────────────────────────────────────────────────────────────

    def run(self, body: tuple[Step, ...], point: Region) -> None:
        around = self.place
        for number, step in enumerate(body):
            self.place = replace(around, path=(*around.path, number))
            match step:
                case Array(name):
                    self.state[name] = unwritten(step)
                case Assign():
                    self.assign(step, point)
                case For():
                    self.loop(step, point)
                case If():
                    self.branch(step, point)
                case Sync(scope, span):
                    self.add(Trace(collectives=(Collective(scope, "barrier", point, span, self.place.launch),)))
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
            whole = as_monoid(step.update).combine(Read(step.target, step.index, step.value.dtype), step.value)
            step = replace(step, value=whole, update="")
        value = self.observe(step.value, inner, step.span)
        self.access(step.target, index, inner, step.span, True, step.update if step.atomic else "")
        cells = {**self.memory, **self.state}.get(step.target) or unstored(self.program.op, step.target)
        if step.update:
            self.add(Trace(values=((self.resolve(cells.at(index), inner), inner, step.span),)))
        if step.target not in self.state:
            self.add(Trace(stores=(Store(step.target, index, value, inner, step, step.update, self.place.launch),)))
            return
        value = stepped(value, inner)
        if not cells.private:
            self.publish(cells, index, value, inner, step)
            return
        if not cells.formals and guard != TRUE:
            both = prefixed(cells.value, value, guard, step.update, point)
            if both is not None:
                self.keep(cells, both, point)
                return
        here = conjunction(guard, *(equal(Var(f), i) for f, i in zip(cells.formals, index, strict=True)))
        self.keep(cells, written(cells, value, here, step.update), point)

    def publish(self, cells: Cells, index: tuple[Term, ...], value: Term, point: Region, step: Assign) -> None:
        """What all threads make of shared cells in one step."""
        around = self.launch.grid + point.axes[len(self.launch.grid) + len(self.launch.block) :]
        if step.atomic:
            guards = tuple(g for g in point.guard if g not in self.always)
            new = contributed(cells, index, value, step.update, self.launch.block, guards)
            new = self.named(cells, new, around)
        else:
            write = published(cells, index, self.launch.block, around[len(self.launch.grid) :], point)
            self.add(Trace(meetings=(Meeting(cells.local.name, write.claim, point, step.span),)))
            condition = settle(write.condition, self.extents(cells, point), self.always)
            near = neighbour(step, cells, index, self.resolved_index(step, point)) if step.update else None
            if near is not None:  # a step of a tree
                new = select(condition, self.named(cells, near, around), cells.value)
            else:
                new = written(cells, substitute(value, write.writer), condition, step.update)
        self.keep(cells, new, Region(around, preconditions(self.program)))

    def resolved_index(self, step: Assign, point: Region) -> tuple[Term, ...]:
        """The index at which an update reads its own array, if its value is that and nothing else."""
        match step.value:
            case Read(name, index) if name == step.target:
                return tuple(self.resolve(i, point) for i in index)
        return ()

    def branch(self, step: If, point: Region) -> None:
        """A conditional body: afterwards a cell is what the body made of it where the guard held, else what it was."""
        guard = self.observe(step.guard, point, step.span)
        before = dict(self.state)
        self.run(step.body, point.under(guard))
        inside, self.state = self.state, before
        for name in sorted(assigned_in(step.body) & set(before)):
            if before[name].private:
                self.keep(before[name], self.joined(before[name], guard, inside[name].value, point), point)
            else:  # a write to shared cells knows its guards itself
                self.state[name] = inside[name]

    def joined(self, cells: Cells, guard: Term, new: Term, point: Region) -> Term:
        """What a private cell is after a conditional body that made it `new`."""
        if is_made(new) and new != cells.value:
            assert isinstance(new, App)
            both = merged(guard, new.args[0], cells.value)
            if both != select(guard, new.args[0], cells.value):
                return self.named(cells, both, point.axes)
        return merged(guard, new, cells.value)

    def holds(self, name: str, index: tuple[Term, ...], claim: Term, point: Region, span: Span) -> None:
        """What is said of a cell is its value; the number that is held stays what it is, unless what is said is an integer made of such."""
        cells = self.state[name]
        index = tuple(self.resolve(i, point) for i in index)
        claim = self.resolve(claim, point)
        value = self.resolve(Read(name, index, claim.dtype), point)
        self.add(Trace(ghosts=(Fact(value, claim, point, span),), values=((value, point, span),)))
        held = number_of(value)
        plain = all(t.dtype not in FLOATS and not carried(t) for side in (claim, value, *point.guard) for t in walk(side))
        if not (plain and total(claim) and all(map(compared, self.program.op.promises))):  # it was proved of numbers alone
            placed = any(isinstance(t, Read) and "@" in t.tensor for t in walk(held))  # of the turn before, which is not known yet
            claim = made(claim, self.name(cells, point.axes, SAID) if placed else held)
        guards = () if cells.private else tuple(g for g in point.guard if g not in self.always)
        here = conjunction(*guards, *(equal(Var(f), i) for f, i in zip(cells.formals, index, strict=True)))
        self.keep(cells, written(cells, claim, here, ""), point)

    def named(self, cells: Cells, value: Term, axes: tuple[Axis, ...]) -> Term:
        """The value of a cell that is another form of what was computed, with a name for the number that is held."""
        return made(value, self.name(cells, axes)) if reordered(value) else value

    def name(self, cells: Cells, axes: tuple[Axis, ...], what: str = FORM) -> Read:
        """A symbol for the number that a cell holds now, at its index and the axes around."""
        self.loops += 1
        place = (*cells.formals, *(self.threads if cells.private else ()), *(a.name for a in axes))
        return Read(f"{cells.local.name}{what}{self.loops}", tuple(map(Var, dict.fromkeys(place))), cells.local.dtype)

    def keep(self, cells: Cells, value: Term, point: Region) -> None:
        """The new value of a cell. Only the preconditions may settle it: the guards around a write end before the value does."""
        self.state[cells.local.name] = replace(cells, value=self.settled(cells, value, point))

    def settled(self, cells: Cells, value: Term, point: Region) -> Term:
        return settle(self.followed(value), self.extents(cells, point), self.always)

    @property
    def always(self) -> frozenset[Term]:
        return frozenset(preconditions(self.program))

    @staticmethod
    def extents(cells: Cells, point: Region) -> dict[str, Term]:
        """The ranges of a point's axes and of a cell's index."""
        return {**point.extents, **cells.extents}

    @property
    def threads(self) -> tuple[str, ...]:
        """The names of the block's axes: what a thread's own cells depend on."""
        return tuple(a.name for a in self.launch.block)

    # ── loops ──────────────────────────────────────────────────────────────────────────────────────────────────

    def loop(self, step: For, point: Region) -> None:
        axis = Axis(step.axis.name, self.observe(step.axis.extent, point, step.span), step.axis.sort, step.axis.span)
        before, seen, self.trace = dict(self.state), self.trace, Trace()
        self.loops += 1
        assigned = sorted(assigned_in(step.body) & set(before))
        previous = {name: f"{name}@{self.loops}" for name in assigned}
        for name in assigned:
            cells = before[name]
            self.state[name] = replace(cells, value=itself(cells, previous[name], self.threads))
        self.run(step.body, point.inside(axis))
        begin, after, solved = closed(self, axis, previous, before, point)
        if not solved and isinstance(axis.extent, Const) and axis.extent.value <= UNROLLED:
            self.state, self.trace, around = before, seen, self.place
            for value in range(int(axis.extent.value)):
                self.place = replace(around, turns=(*around.turns, (axis.name, value)))
                self.run(bound(step.body, axis.name, value), point)
            self.place = around
            return
        inside, self.trace = self.trace, seen
        starts = {previous[name]: begin[name] for name in assigned}
        self.add(started(inside, starts))
        self.state = {**before, **after}


def preconditions(program: Program) -> tuple[Term, ...]:
    """The op's and the machine's `where`, as single facts, and that no size is negative."""
    return tuple(Var(s) >= 0 for s in program.op.sizes) + tuple(c for w in program.where for c in conjuncts(w))
