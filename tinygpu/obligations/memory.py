"""A global array has one use in one launch: it is stored, each element once, or updated atomically, or read.

    for every array and launch, of the three only one; the atomic updates are of one monoid        no happens-before joins two blocks
    no store is an update of what an output held before

Comes in: the program and its trace. Goes out: for every mixture a claim that the second use never happens.
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygpu.category.term import FALSE
from tinygpu.diagnostic import Label
from tinygpu.obligations.obligation import Claim, Obligation
from tinygpu.obligations.trace import Access, Store, Trace
from tinygpu.program.step import Program


def state(program: Program, trace: Trace) -> Iterator[Claim]:
    """The claims of this property."""
    workspaces = {w.name for w in program.workspaces}
    for name in (*sorted(workspaces), *(t.name for t in program.op.outputs)):
        for launch in range(len(program.launches)):
            used = [a for a in trace.accesses if a.array == name and a.place.launch == launch]
            writes = [a for a in used if a.write]
            for access in used if writes else ():
                first = writes[0]
                if not access.write and (name in workspaces or stored_before(trace, name, launch)):
                    yield refusal("TG305", f"{name} is read in the launch that writes it", first, access, "written", "read")
                elif access.write and access.atomic != first.atomic:
                    ways = tuple(f"updated with {a.atomic} at once" if a.atomic else "written plainly" for a in (first, access))
                    yield refusal("TG306", f"{name} is updated in two ways in one launch", first, access, *ways)
    made = {cells.local.name for cells in trace.final}
    for store in (s for s in trace.stores if s.update and s.tensor not in workspaces | made):
        yield accumulated(program, store)


def accumulated(program: Program, store: Store) -> Obligation:
    """A claim that a store never is an update: nobody has said what the output holds before."""
    labels = (Label(store.step.span, "stored here"), Label(program.op.equation(store.tensor).span, "the equation"))
    title = f"{store.tensor} is accumulated in memory, where its first value is unknown"
    sentence = f"{store.tensor} is stored, not accumulated in memory"
    help = "accumulate in a local cell, then store it"
    return Obligation("memory", "TG507", title, sentence, store.point.facts, FALSE, labels, help)


def stored_before(trace: Trace, name: str, launch: int) -> bool:
    """Whether an earlier launch writes an array: else reading it has its own message."""
    return any(a.array == name and a.write and a.place.launch < launch for a in trace.accesses)


def refusal(code: str, title: str, first: Access, second: Access, before: str, how: str) -> Obligation:
    """A claim that the second access never happens."""
    labels = (Label(first.span, f"{before} here"), Label(second.span, f"{how} here"))
    help = "let a later launch do it: blocks of one launch know nothing of each other"
    sentence = f"{first.array} is not {how} in the launch that writes it"
    return Obligation("memory", code, title, sentence, second.point.facts, FALSE, labels, help)
