"""No cell that nobody wrote is read, and so no result contains one.

    a fresh symbol `cell?` in an evaluated value stands only where its condition is impossible

Comes in: the trace. Goes out: one formula for each fresh symbol that a value could contain, what is stored first.
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygpu.category.region import Region
from tinygpu.category.term import FALSE, Axis
from tinygpu.diagnostic import Label
from tinygpu.obligations.cells import FRESH
from tinygpu.obligations.dataflow import preconditions
from tinygpu.obligations.execution import FOLLOWED, LARGE
from tinygpu.obligations.obligation import Claim, Gap, Obligation
from tinygpu.obligations.store import made_by
from tinygpu.obligations.trace import UNSOLVED, Trace, guarded_reads
from tinygpu.program.step import Program


def state(program: Program, trace: Trace) -> Iterator[Claim]:
    """The claims of this property."""
    for store in trace.stores:
        guards, axes = store.point.guard, store.point.axes
        seen = [pair for n, guard in enumerate(guards) for pair in guarded_reads(guard, Region(axes, guards[:n]))]
        for read, point in seen + guarded_reads(store.value, store.point):
            if read.tensor.endswith(FRESH):
                name = read.tensor.removesuffix(FRESH)
                labels = (Label(store.step.span, f"stored to {store.tensor}"), declared(program, name))
                title = f"{store.tensor} may receive {name}, which nobody wrote"
                sentence = f"{name} is written before {store.tensor} needs it"
                help = f"give {name} a value before"
                yield Obligation("initialised", "TG301", title, sentence, point.facts, FALSE, labels, help)
    for cells in trace.final:
        place = Region(tuple(Axis(f, e) for f, e in cells.extents.items()), preconditions(program))
        for read, point in guarded_reads(cells.value, place):
            if read.tensor.endswith(FRESH):
                name = read.tensor.removesuffix(FRESH)
                title, sentence = f"some elements of {cells.local.name} are never stored", f"every element of {name} is stored"
                where = (Label(cells.local.span, "declared here"), *made_by(trace, cells.local.name))
                yield Obligation(
                    "initialised", "TG201", title, sentence, point.facts, FALSE, where, f"store {name} in a first launch"
                )
    for value, place, span in trace.values:
        for read, point in guarded_reads(value, place):
            if read.tensor.startswith(LARGE):
                reason = f"it has more than {FOLLOWED:,} parts when it is written out; say with `holds` what a cell holds"
                yield Gap("initialised", "TG501", "a value is too large to be followed", reason, (Label(span, "read here"),))
                return  # and all that is made of it
            if read.tensor.endswith((FRESH, UNSOLVED)):  # what has no closed form may hide a cell that nobody wrote
                name = read.tensor.removesuffix(FRESH).split("@")[0]
                labels = (Label(span, "read here"), declared(program, name))
                title, sentence = f"{name} is read, which nobody wrote", f"{name} is written before it is read"
                kind = "initialised" if read.tensor.endswith(FRESH) else "followed"
                yield Obligation(kind, "TG301", title, sentence, point.facts, FALSE, labels, f"initialise {name}")


def declared(program: Program, name: str) -> Label:
    """Where an array is declared."""
    spans = {s.name: s.span for s in program.locals.values()} | {s.name: s.span for s in program.shared.values()}
    spans |= {w.name: w.span for w in program.workspaces}
    spans |= {t.name: t.span for t in program.op.tensors}
    return Label(spans.get(name, program.span), "declared here")
