"""What every read delivers: the program executed symbolically, for all threads and all sizes at once, to value terms.

    a launch is an `Execution`;  what it leaves in a global array is one function of the element, made of all its stores

Comes in: a program. Goes out: its stores, its accesses and its ghost facts, each at its point, over the inputs alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from tinygpu.category.node import KEPT
from tinygpu.category.region import Region
from tinygpu.category.settle import settle
from tinygpu.category.term import Axis, Read, Term, Var, substitute, walk
from tinygpu.diagnostic import Label
from tinygpu.obligations.cells import Cells, State, contributed, itself, published, unstored, unwritten, written
from tinygpu.obligations.execution import FOLLOWED, LARGE, Execution
from tinygpu.obligations.held import held
from tinygpu.obligations.made import made, reordered
from tinygpu.obligations.named import named
from tinygpu.obligations.obligation import Gap
from tinygpu.obligations.trace import UNSOLVED, Event, Meeting, Place, Store, Trace, preconditions, started
from tinygpu.obligations.turns import Turns
from tinygpu.program.step import Launch, Numbered, Program, loops_around
from tinygpu.program.traverse import written as written_in
from tinygpu.record import dataclass, field, replace

APART = 10_000  # between the numbers of symbols that two loops make


def execute(program: Program) -> Trace:
    """`Program → Trace`: every launch executed from fresh cells; sizes and preconditions are facts of every point. A name changes nothing."""
    return _executed(replace(program, name=""))


@lru_cache(maxsize=8)
def _executed(program: Program) -> Trace:
    every = Launches(program, frozenset(preconditions(program)), {w.name: unwritten(w) for w in program.workspaces})
    every.run(tuple(enumerate(program.launches)))
    trace, outputs = Trace(tuple(every.events), named=every.named), {t.name for t in program.op.outputs}
    final = (every.memory[n] for n in sorted(outputs & set(every.memory)) if not plain(program, trace, n))
    return replace(trace, final=tuple(final))


KEPT.append(_executed)  # equal programs may stand at two places, of which events speak


@dataclass(slots=True)
class Launches:
    """Launches in order, each an execution: what the global arrays hold, what was seen so far, and what is an intermediate from then on."""

    program: Program
    always: frozenset[Term]
    memory: State
    events: list[Event] = field(default_factory=list)
    named: tuple[Cells, ...] = ()

    def run(self, launches: tuple[Numbered, ...], depth: int = 0) -> None:
        """Launches, and the loops around them from a depth on."""
        for axis, run in loops_around(launches, depth):
            begun = len(self.events)
            if axis is not None:
                self.loop(axis, run, depth)
            else:
                self.launch(*run[0])
            if not depth:
                stored = {s.tensor for s in Trace(tuple(self.events[begun:])).of(Store)} & self.memory.keys()
                self.memory, found = named(self.program, self.memory, run[-1][0], frozenset(stored))
                self.named += found

    def launch(self, number: int, launch: Launch) -> None:
        """One launch, from fresh cells; in a loop at any of its turns."""
        run = Execution(self.program, launch, self.always, self.memory, Place(number))
        run.run(launch.body, Region(launch.axes, preconditions(self.program)))
        stores = Trace(tuple(run.events)).of(Store)
        self.events += run.events
        if len(self.program.launches) > 1 or launch.turns or any(s.step.atomic or adds(self.program, s) for s in stores):
            self.memory, meetings = left(self.program, stores, self.memory, self.always, launch.turns)
            self.events += meetings
            if not launch.turns:  # in a loop a number is another one in every turn
                stored = frozenset(s.tensor for s in stores)
                self.memory = {n: held(self.program, c, number) if n in stored else c for n, c in self.memory.items()}

    def loop(self, axis: Axis, launches: tuple[Numbered, ...], depth: int) -> None:
        """A loop around launches, as one around steps: what an array holds in the end is made by all turns, from what it held before."""
        outer, begun = Region(launches[0][1].turns[:depth], preconditions(self.program)), len(self.events)
        names = sorted(
            {n for _, one in launches for n in written_in(one.body)} & {*self.memory, *(t.name for t in self.program.op.outputs)}
        )
        before = {n: self.memory.get(n) or unstored(self.program.op, n) for n in names}
        previous = {n: f"{n}@{axis.name}" for n in names}
        self.memory |= {n: replace(c, content=itself(c, previous[n], ())) for n, c in before.items()}
        self.run(launches, depth + 1)
        state = {n: self.memory[n] for n in names}
        alone = Execution(self.program, Launch((), (), ()), self.always, {}, Place(), state, loops=APART * (begun + 1))
        starts, after = Turns(alone, axis, outer, previous, before, state).states()
        self.events[begun:] = started(self.events[begun:], starts)
        self.memory |= after


def plain(program: Program, trace: Trace, name: str) -> bool:
    """Whether an array is stored by one launch alone, and only plainly: then every store says what it is worth."""
    stores = [s for s in trace.of(Store) if s.tensor == name]
    alone = {s.launch for s in stores}
    plainly = not any(s.step.atomic or adds(program, s) for s in stores)
    return len(alone) == 1 and plainly and not any(program.launches[n].turns for n in alone)


def adds(program: Program, store: Store) -> bool:
    """Whether a store updates what is there before the first launch."""
    return bool(store.step.update) and store.tensor in program.op.continued


def left(
    program: Program, stores: tuple[Store, ...], memory: State, always: frozenset[Term], turns: tuple[Axis, ...]
) -> tuple[State, list[Meeting]]:
    """What the global arrays hold after a launch, in loops at the `turns` that it is in, and that no two of its threads meet where that is asked of
    them."""
    memory, meetings = dict(memory), []
    for number, store in enumerate(stores):
        cells = memory.get(store.tensor) or unstored(program.op, store.tensor)
        guards = tuple(g for g in store.point.guard if g not in always)
        writers = tuple(a for a in store.point.axes if a not in turns)
        if store.step.atomic:
            new = contributed(cells, store.index, store.value, store.step.update, writers, guards)
            if reordered(new):
                place = (*cells.place, *(Var(a.name) for a in turns))  # another number in every turn
                new = made(new, Read(f"{store.tensor} made {store.launch}.{number}", place, cells.local.dtype))
        else:
            write = published(cells, store.index, writers, (), store.point)
            meetings.append(Meeting(store.tensor, write.claim, store.point, store.step.span))
            condition = settle(write.condition, cells.extents, always)
            new = written(cells, substitute(store.value, write.writer), condition, store.step.update)
        memory[store.tensor] = replace(cells, content=settle(new, cells.extents, always))
    return memory, meetings


def gaps(program: Program, trace: Trace) -> Iterator[Gap]:
    """The stores that need a cell whose loop has no closed form."""
    shared = {w.name for w in program.workspaces} | {t.name for t in program.op.outputs}
    for store in trace.of(Store):
        labels = (Label(store.step.span, "stored here"),)
        for read in (t for term in (store.value, *store.index, *store.point.guard) for t in walk(term)):
            if not isinstance(read, Read) or not read.tensor.endswith(UNSOLVED):
                continue
            if read.tensor.startswith(LARGE):
                reason = f"what is stored has more than {FOLLOWED:,} different parts; say with `holds` what a cell holds"
                yield Gap("dataflow", "TG501", f"the value of {store.tensor} is too large to be followed", reason, labels)
                return
            name = read.tensor.split("@")[0]
            hold = "store it from a local cell that `holds` what it is" if name in shared else "say with `holds` what it is"
            reason = f"{name} goes from one iteration to the next in a way that is no fold; {hold}"
            yield Gap("dataflow", "TG501", f"the loop that computes {name} has no closed form", reason, labels)
