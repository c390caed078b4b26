"""Two threads of a block that meet at a shared cell, one of them writing, have a barrier between them.

    A at thread t and iteration i, B at t' and i', not both atomic:
    index_A(t, i) = index_B(t', i')  and no barrier between A and B  ⊢  t = t'        (one warp, where a warp barrier lies between)

Comes in: the program and its trace. Goes out: one formula for each two accesses to one shared array, one of them a write, and each way in
which the second can come after the first without a barrier that always stands there. What is written in one step is asked apart.
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygpu.category.region import Region
from tinygpu.category.settle import settle
from tinygpu.category.term import BOOL, TRUE, App, Term, Var, conjunction, equal, negation, substitute, text
from tinygpu.diagnostic import Label
from tinygpu.obligations.between import LATER, Way, one_turn, ways
from tinygpu.obligations.exchange import Threads
from tinygpu.obligations.obligation import Claim, Obligation
from tinygpu.obligations.trace import Access, Trace
from tinygpu.program.step import Launch, Program


def state(program: Program, trace: Trace) -> Iterator[Claim]:
    """The claims of this property."""
    outputs = {t.name for t in program.op.outputs}
    for meeting in (m for m in trace.meetings if m.array not in outputs):  # of those `once` speaks
        title = f"two threads write one cell of {meeting.array}"
        sentence = f"no two threads write one cell of {meeting.array} in one step"
        help = f"let one thread write each cell of {meeting.array}, or guard the others"
        label = (Label(meeting.span, "written here"),)
        yield Obligation("ordered", "TG302", title, sentence, meeting.point.facts, meeting.apart, label, help)
    for name in program.shared:
        accesses = [a for a in trace.accesses if a.array == name]
        for first in accesses:
            for second in accesses:
                if (first.write or second.write) and not (first.atomic and first.atomic == second.atomic):
                    yield from meet(program.launches[first.place.launch], first, second)


def meet(launch: Launch, first: Access, second: Access) -> Iterator[Claim]:
    """The formulas for a second access after a first one."""
    for way in ways(launch.body, first.place.path, second.place.path):
        if TRUE in way.block:
            continue
        same = first.place.path == second.place.path and not way.around
        if same and first.write and second.write and one_turn(launch.body, first.place.path):
            continue  # one step, which its meeting is about
        yield race(launch, first, second, way)


def race(launch: Launch, first: Access, second: Access, way: Way) -> Obligation:
    """Threads that meet so are one thread, or of one warp."""
    carried = {a.name for a in launch.grid}
    names: dict[str, Term] = {a.name: Var(a.name + LATER) for a in second.point.axes if a.name not in carried}
    axes = tuple(type(a)(a.name + LATER, substitute(a.extent, names), a.sort, a.span) for a in second.point.axes if a.name in names)
    there = Region(axes, tuple(substitute(g, names) for g in second.point.guard))
    turns = [equal(Var(n), v) for n, v in first.place.turns] + [equal(Var(n + LATER), v) for n, v in second.place.turns]
    apart = [negation(c) for c in way.block]
    meeting = [equal(i, substitute(j, names)) for i, j in zip(first.index, second.index, strict=True)]
    hypotheses = dict.fromkeys((*first.point.facts, *there.facts, *turns, *way.facts, *apart, *meeting))
    goal = conjunction(*(equal(Var(a.name), Var(a.name + LATER)) for a in launch.block))
    if way.warp:  # where a warp barrier was met, lanes of one warp are in order, and those of two are not
        warp = Threads(launch.block).warps[0]
        met = way.warp[0] if len(way.warp) == 1 else App("or", way.warp, BOOL)
        lanes = equal(warp, substitute(warp, names))
        goal = lanes if TRUE in way.warp else App("or", (goal, conjunction(lanes, met)), BOOL)
    cell = f"{first.array}[{', '.join(map(text, first.index))}]"
    verbs = ["writes" if a.write else "reads" for a in (first, second)]
    labels = (Label(first.span, f"one thread {verbs[0]} here"), Label(second.span, f"another one {verbs[1]} here"))
    when = f" in a later turn of {way.around}" if way.around else ""
    title = f"two threads meet at {first.array} without a barrier between"
    sentence = f"a thread that {verbs[0]} {cell} and one that then {verbs[1]} it{when} have a barrier between them"
    fix = f"put a barrier at the end of the loop over {way.around}" if way.around else "put a barrier between the two steps"
    goal = settle(goal, {**first.point.extents, **there.extents})
    return Obligation("ordered", "TG302", title, sentence, tuple(hypotheses), goal, labels, fix)
