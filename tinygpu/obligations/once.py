"""No element of an output or a workspace is stored twice in one launch, not even with the same value.

    e_p(w) = e_q(w')  ⊢  p = q and w = w'        w, w' over the grid, the block and every loop

Comes in: the trace. Goes out: one formula for each pair of stores to one output, and for each two stores to one workspace: that one store
alone writes no cell of a workspace twice is what its meeting says (`ordered`). Where several launches store an output, its meetings too, since
what a later one leaves is found by them.
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygpu.category.region import Region
from tinygpu.category.term import variables
from tinygpu.diagnostic import Label
from tinygpu.obligations.bijection import collisions
from tinygpu.obligations.cover import part, stores_of
from tinygpu.obligations.dataflow import preconditions
from tinygpu.obligations.obligation import Claim, Obligation
from tinygpu.obligations.trace import Store, Trace
from tinygpu.program.step import Program


def state(program: Program, trace: Trace) -> Iterator[Claim]:
    """The claims of this property."""
    outputs = tuple(t.name for t in program.op.outputs)
    for name in (*outputs, *(w.name for w in program.workspaces)):
        for launch in range(len(program.launches)):
            stores = tuple(s for s in plain(trace, name) if s.launch == launch)
            yield from _twice(program, name, stores, name in outputs or not any(m.array == name for m in trace.meetings))
    for meeting in (m for m in trace.meetings if m.array in outputs):
        title, sentence = f"one element of {meeting.array} is stored twice", f"an element of {meeting.array} tells who stored it"
        label = (Label(meeting.span, "stored here"),)
        yield Obligation("once", "TG202", title, sentence, meeting.point.facts, meeting.apart, label)


def plain(trace: Trace, tensor: str) -> Iterator[Store]:
    """The stores to one array that are no atomic updates."""
    return (s for s in stores_of(trace, tensor) if not s.step.atomic)


def _twice(program: Program, output: str, stores: tuple[Store, ...], alone: bool) -> Iterator[Claim]:
    for p, q, hypotheses, goal in collisions(tuple(map(part, stores)), Region((), preconditions(program))):
        if p == q and not alone:
            continue
        labels = [Label(stores[p].step.span, "stored here")]
        labels += [Label(stores[q].step.span, "and here")] if p != q else []
        title = f"one element of {output} is stored twice"
        sentence = f"no two points of {'the work' if p == q else 'two stores'} store one element of {output}"
        help = mend(stores[p]) if p == q else ""
        yield Obligation("once", "TG202", title, sentence, hypotheses, goal, tuple(labels), help)


def mend(store: Store) -> str:
    """What would mend a store that several threads do because a part of the work neither reaches its index nor its guard."""
    said = {name for term in (*store.index, *store.point.guard) for name in variables(term)}
    free = [a.name for a in store.point.axes if a.name not in said]
    if not free:
        return ""
    names, guard = " and ".join(f"`{name}`" for name in free), " and ".join(f"{name} == 0" for name in free)
    return (
        f"{names} {'is' if len(free) == 1 else 'are'} not in the index: store `if {guard}`, or let each have an element of its own"
    )
