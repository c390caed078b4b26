"""A wide access starts at a multiple of its width, for all sizes that the wide kernel is taken for.

    asks(sizes)  ⊢  place % lanes = 0        and where the shared condition of the loop holds, every lane is inside

Comes in: the wide accesses of the program. Goes out: one formula for each. The place is the last coordinate in global memory, where the
launcher asks that rows are whole; it is the address in a block's memory, where pads and strides are constants.
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygpu.category.region import Region
from tinygpu.category.term import conjunction, text
from tinygpu.derive.wide import wide_accesses
from tinygpu.diagnostic import Label
from tinygpu.obligations.dataflow import preconditions
from tinygpu.obligations.obligation import Claim, Obligation
from tinygpu.obligations.trace import Trace
from tinygpu.program.step import Program


def state(program: Program, trace: Trace) -> Iterator[Claim]:
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
