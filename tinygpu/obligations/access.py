"""Every access is inside its tensor, axis by axis, wherever it is really made; a wide one starts at a multiple of its width.

    guards of the access  ⊢  0 ≤ index_a < extent_a        for every axis a, never on a flattened address
    asks(sizes)  ⊢  place % lanes = 0        and where the shared condition of the loop holds, every lane is inside

Comes in: the trace, and the wide accesses of the program. Goes out: one formula for each that its structure does not already decide. The place
is the last coordinate in global memory, where the launcher asks that rows are whole; it is the address in a block's memory, where pads and
strides are constants.
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygpu.category.region import Region
from tinygpu.category.settle import within
from tinygpu.category.term import conjunction, reads, text
from tinygpu.derive.wide import wide_accesses
from tinygpu.diagnostic import Label
from tinygpu.obligations.obligation import Claim, Obligation
from tinygpu.obligations.trace import Access, Trace, preconditions
from tinygpu.program.step import Program


def bounds(program: Program, trace: Trace) -> Iterator[Claim]:
    """The claims of this property."""
    for access in trace.of(Access):
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


def alignment(program: Program, trace: Trace) -> Iterator[Claim]:
    """The claims of this property."""
    wides = wide_accesses(program)
    for wide in wides:
        asked = conjunction(*(w.asks for w in wides))
        point = Region(wide.axes, preconditions(program)).under(wide.outer, wide.condition, asked)
        labels = (Label(wide.access.span, f"{wide.lanes} elements at once"),)
        element = f"{wide.tensor}[{', '.join(map(text, wide.first))}]"
        sentence = f"the wide access at {element} is aligned to {wide.bytes} bytes"
        title = f"the wide access at {element} may not be aligned"
        goal = point.settled(wide.aligned)
        yield Obligation("alignment", "TG405", title, sentence, point.facts, goal, labels)
