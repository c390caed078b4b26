"""What every read delivers: the program executed symbolically, for all threads and all sizes at once, to value terms.

    a launch is an `Execution`;  what it leaves in a global array is one function of the element, made of all its stores

Comes in: a program. Goes out: its stores, its accesses and its ghost facts, each at its point, over the inputs alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from tinygpu.category.region import Region
from tinygpu.category.settle import settle
from tinygpu.category.term import Read, Term, substitute, walk
from tinygpu.diagnostic import Label
from tinygpu.obligations.cells import Cells, State, contributed, published, unstored, unwritten, written
from tinygpu.obligations.execution import FOLLOWED, LARGE, Execution
from tinygpu.obligations.held import held
from tinygpu.obligations.made import made, reordered
from tinygpu.obligations.named import named
from tinygpu.obligations.obligation import Gap
from tinygpu.obligations.trace import UNSOLVED, Event, Meeting, Place, Store, Trace, preconditions
from tinygpu.program.step import Program
from tinygpu.record import replace


@lru_cache(maxsize=8)
def execute(program: Program) -> Trace:
    """`Program → Trace`: every launch executed from fresh cells; sizes and preconditions are facts of every point."""
    events: list[Event] = []
    intermediates: tuple[Cells, ...] = ()
    known, memory = preconditions(program), {w.name: unwritten(w) for w in program.workspaces}
    for number, launch in enumerate(program.launches):
        run = Execution(program, launch, frozenset(known), memory, Place(number))
        run.run(launch.body, Region(launch.grid + launch.block, known))
        stores = Trace(tuple(run.events)).of(Store)
        events += run.events
        if len(program.launches) > 1 or any(s.step.atomic or adds(program, s) for s in stores):
            memory, meetings = left(program, stores, memory, frozenset(known))
            events += meetings
            stored = frozenset(s.tensor for s in stores)
            memory = {n: held(program, c, number) if n in stored else c for n, c in memory.items()}
            memory, found = named(program, memory, number, stored)
            intermediates += found
    outputs = {t.name for t in program.op.outputs}
    trace = Trace(tuple(events), named=intermediates)
    return replace(trace, final=tuple(memory[n] for n in sorted(outputs & set(memory)) if not plain(program, trace, n)))


def plain(program: Program, trace: Trace, name: str) -> bool:
    """Whether an array is stored by one launch alone, and only plainly: then every store says what it is worth."""
    stores = [s for s in trace.of(Store) if s.tensor == name]
    return len({s.launch for s in stores}) == 1 and not any(s.step.atomic or adds(program, s) for s in stores)


def adds(program: Program, store: Store) -> bool:
    """Whether a store updates what is there before the first launch."""
    return bool(store.step.update) and store.tensor in program.op.continued


def left(program: Program, stores: tuple[Store, ...], memory: State, always: frozenset[Term]) -> tuple[State, list[Meeting]]:
    """What the global arrays hold after a launch, and that no two of its threads meet where that is asked of them."""
    memory, meetings = dict(memory), []
    for number, store in enumerate(stores):
        cells = memory.get(store.tensor) or unstored(program.op, store.tensor)
        guards = tuple(g for g in store.point.guard if g not in always)
        if store.step.atomic:
            new = contributed(cells, store.index, store.value, store.step.update, store.point.axes, guards)
            if reordered(new):
                new = made(new, Read(f"{store.tensor} made {store.launch}.{number}", cells.place, cells.local.dtype))
        else:
            write = published(cells, store.index, store.point.axes, (), store.point)
            meetings.append(Meeting(store.tensor, write.claim, store.point, store.step.span))
            condition = settle(write.condition, cells.extents, always)
            new = written(cells, substitute(store.value, write.writer), condition, store.step.update)
        memory[store.tensor] = replace(cells, value=settle(new, cells.extents, always))
    return memory, meetings


def gaps(trace: Trace) -> Iterator[Gap]:
    """The stores that need a cell whose loop has no closed form."""
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
            reason = f"{name} goes from one iteration to the next in a way that is no fold; say with `holds` what it is"
            yield Gap("dataflow", "TG501", f"the loop that computes {name} has no closed form", reason, labels)
