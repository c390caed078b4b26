"""Every element of every output is stored.

    for all o in shape(out) there is a store p and a point w with  guard_p(w)  and  e_p(w) = o;   the witness is w = e_p⁻¹(o)

Comes in: the trace. Goes out: one formula for each output.
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygpu.category.region import Region
from tinygpu.category.term import Axis, Var
from tinygpu.diagnostic import Label
from tinygpu.obligations.bijection import Part, onto
from tinygpu.obligations.dataflow import preconditions
from tinygpu.obligations.obligation import Claim, Obligation
from tinygpu.obligations.trace import Store, Trace
from tinygpu.program.step import Program


def state(program: Program, trace: Trace) -> Iterator[Claim]:
    """The claims of this property."""
    made = {cells.local.name for cells in trace.final}  # of these it is asked that no element stays unwritten
    for output in (t for t in program.op.outputs if t.name not in made):
        parts = stores_of(trace, output.name)
        element = tuple(Axis(f"{output.name}.{axis}", extent) for axis, extent in enumerate(output.shape))
        point = Region(element, preconditions(program))
        goal = onto(tuple(part(s) for s in parts), tuple(Var(a.name) for a in element), point.extents)
        labels = tuple(Label(s.step.span, f"the store to {output.name}") for s in parts) or (Label(program.span, "no store"),)
        title = f"some elements of {output.name} are never stored"
        yield Obligation("cover", "TG201", title, f"every element of {output.name} is stored", point.facts, goal, labels)


def stores_of(trace: Trace, tensor: str) -> tuple[Store, ...]:
    """The stores to one output."""
    return tuple(s for s in trace.stores if s.tensor == tensor)


def part(store: Store) -> Part:
    """A store as an arrow from its points to the elements."""
    return Part(store.point.axes, store.point.guard, store.index)
