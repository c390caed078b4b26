"""What every read delivers: the program executed symbolically, for all threads and all sizes at once, to value terms.

    a launch is an `Execution`;  what it leaves in a global array is one function of the element, made of all its stores

Comes in: a program. Goes out: its stores, its accesses and its ghost facts, each at its point, over the inputs alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygpu.category.region import Region
from tinygpu.category.settle import settle
from tinygpu.category.term import Read, substitute, walk
from tinygpu.diagnostic import Label
from tinygpu.obligations.cells import State, contributed, published, unstored, unwritten, written
from tinygpu.obligations.execution import FOLLOWED, LARGE, Execution, preconditions
from tinygpu.obligations.made import made, reordered
from tinygpu.obligations.obligation import Gap
from tinygpu.obligations.trace import UNSOLVED, Meeting, Place, Store, Trace
from tinygpu.program.step import Program
from tinygpu.record import replace

__all__ = ["execute", "gaps", "preconditions"]


def execute(program: Program, follow: type[Execution] = Execution) -> Trace:
    """`Program → Trace`: every launch executed from fresh cells; sizes and preconditions are facts of every point."""
    trace = Trace()
    memory: State = {w.name: unwritten(w) for w in program.workspaces}
    for number, launch in enumerate(program.launches):
        run = follow(program, launch, memory, place=Place(number))
        run.run(launch.body, Region(launch.grid + launch.block, preconditions(program)))
        trace = trace.plus(run.trace)
        if len(program.launches) > 1 or any(s.step.atomic for s in run.trace.stores):
            memory, meetings = left(program, run.trace.stores, memory)
            trace = trace.plus(Trace(meetings=meetings))
    outputs = {t.name for t in program.op.outputs}
    final = tuple(memory[n] for n in sorted(outputs & set(memory)) if not plain(trace, n))
    return trace.plus(Trace(final=final))


def plain(trace: Trace, name: str) -> bool:
    """Whether an array is stored by one launch alone, and only plainly: then every store says what it is worth."""
    stores = [s for s in trace.stores if s.tensor == name]
    return len({s.launch for s in stores}) == 1 and not any(s.step.atomic for s in stores)


def left(program: Program, stores: tuple[Store, ...], memory: State) -> tuple[State, tuple[Meeting, ...]]:
    """What the global arrays hold after a launch, and that no two of its threads meet where that is asked of them."""
    memory, meetings = dict(memory), []
    always = frozenset(preconditions(program))
    for number, store in enumerate(stores):
        cells = memory.get(store.tensor) or unstored(program.op, store.tensor)
        guards = tuple(g for g in store.point.guard if g not in always)
        if store.step.atomic:
            new = contributed(cells, store.index, store.value, store.update, store.point.axes, guards)
            if reordered(new):
                new = made(new, Read(f"{store.tensor} made {store.launch}.{number}", cells.place, cells.local.dtype))
        else:
            write = published(cells, store.index, store.point.axes, (), store.point)
            meetings.append(Meeting(store.tensor, write.claim, store.point, store.step.span))
            new = written(
                cells, substitute(store.value, write.writer), settle(write.condition, cells.extents, always), store.update
            )
        memory[store.tensor] = replace(cells, value=settle(new, cells.extents, always))
    return memory, tuple(meetings)


def gaps(trace: Trace) -> Iterator[Gap]:
    """The stores that need a cell whose loop has no closed form."""
    for store in trace.stores:
        for term in (store.value, *store.index, *store.point.guard):
            for read in walk(term):
                if isinstance(read, Read) and read.tensor.endswith(UNSOLVED):
                    name = read.tensor.split("@")[0]
                    if name.startswith(LARGE):
                        name = store.tensor
                        reason = f"what is stored has more than {FOLLOWED:,} parts when it is written out; say with `holds` what a cell holds"
                        title = f"the value of {name} is too large to be followed"
                        yield Gap("dataflow", "TG501", title, reason, (Label(store.step.span, "stored here"),))
                        return
                    reason = f"{name} goes from one iteration to the next in a way that is no fold; say with `holds` what it is"
                    yield Gap(
                        "dataflow",
                        "TG501",
                        f"the loop that computes {name} has no closed form",
                        reason,
                        (Label(store.step.span, "stored here"),),
                    )
