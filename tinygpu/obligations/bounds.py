"""Every access is inside its tensor, axis by axis, wherever it is really made.

    guards of the access  ⊢  0 ≤ index_a < extent_a        for every axis a, never on a flattened address

Comes in: the trace. Goes out: one formula for each access that its structure does not already decide.
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygpu.category.settle import within
from tinygpu.category.term import conjunction, reads, text
from tinygpu.diagnostic import Label
from tinygpu.obligations.obligation import Claim, Obligation
from tinygpu.obligations.trace import Trace
from tinygpu.program.step import Program


def state(program: Program, trace: Trace) -> Iterator[Claim]:
    """The claims of this property."""
    for access in trace.accesses:
        if not access.index:
            continue
        inside = conjunction(*(within(i, e) for i, e in zip(access.index, access.extents, strict=True)))
        goal = access.point.settled(inside)
        verb = "written" if access.write else "read"
        element = f"{access.array}[{', '.join(map(text, access.index))}]"
        shape = " × ".join(map(text, access.extents))
        labels = (Label(access.span, f"{access.array} is {shape}"),)
        title = f"{access.array} is {verb} outside its shape"
        help = "guard the access, or pad the read: A[i | 0]" if not access.write else "guard the store"
        if any(reads(i) for i in access.index):
            help = "promise it of the data: where all[t] (0 <= idx[t] and idx[t] < n), or guard the access"
        yield Obligation("bounds", "TG203", title, f"{element} is inside {shape}", access.point.facts, goal, labels, help)
