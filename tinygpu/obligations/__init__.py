"""The obligations of a program: what must be proved so that it computes its equation, for all sizes, without fault.

Comes in: a program. Goes out: claims, property by property in the order of the table below.
The one idea: a property is one file with one formula at its top, and this table is the whole list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tinygpu.obligations import access, barriers, defined, equation, laws, memory, storage, store, wellformed, width
from tinygpu.obligations.control import controlled
from tinygpu.obligations.dataflow import execute, gaps
from tinygpu.obligations.facts import promised, with_theorems
from tinygpu.obligations.made import compared, contents_of, number_of, stored_of, value_of
from tinygpu.obligations.obligation import Claim
from tinygpu.obligations.shape import alike, cancelled
from tinygpu.obligations.trace import Trace
from tinygpu.program.step import Program

PROPERTIES: tuple[tuple[str, Callable[[Program, Trace], Iterator[Claim]]], ...] = (
    ("vacuity", equation.vacuity),
    ("equation", equation.equation),
    ("limits", storage.limits),
    ("monoid", laws.state),
    ("bounds", access.bounds),
    ("memory", memory.one_use),
    ("uniform", barriers.uniform),
    ("ordered", barriers.ordered),  # where threads race nothing after this is asked
    ("cover", memory.cover),  # nor where an element is never stored
    ("once", memory.once),
    ("storage", storage.storage),
    ("initialised", store.initialised),
    ("store", store.store),
    ("holds", store.holds),
    ("defined", defined.state),
    ("alignment", access.alignment),
    ("width", width.state),
)


ALWAYS = (  # hold for all data, NaN among them, and however floats are rounded
    "bounds",
    "memory",
    "uniform",
    "ordered",
    "once",
    "storage",
    "defined",
    "alignment",
    "width",
)
STORED = ("cover", "initialised", "equation")  # hold for all data that is a number, however floats are rounded
LARGEST = ("width",)  # what goes wrong at the largest sizes alone, and takes longest to ask


def claims_of(program: Program, enough: Callable[[], bool] = lambda: False) -> Iterator[Claim]:
    """`Program → claims`: all of them proved is what a proof is. Those about the largest sizes are left out where there is `enough` before."""
    wrong = tuple(wellformed.gaps(program))
    if wrong:
        yield from wrong
        return
    seen: set[Claim] = set()
    for name, claim in of_trace(program, execute(program)):
        if name in LARGEST and enough():
            return
        if claim not in seen:
            seen.add(claim)
            yield claim


def of_trace(program: Program, trace: Trace, but: tuple[str, ...] = ()) -> Iterator[tuple[str, Claim]]:
    """The claims about what was executed, with the property of each: of the numbers that are held, or over the reals."""
    values, numbers = trace.seen(value_of, value_of), trace.seen(number_of, number_of)
    faces = dict.fromkeys(ALWAYS, numbers) | dict.fromkeys(STORED, trace.seen(stored_of, stored_of))
    faces["initialised"] = trace.seen(contents_of, stored_of)
    yield from (("dataflow", gap) for gap in gaps(values))
    sure = tuple(p for p in program.op.promises if compared(p))
    for name, property in PROPERTIES:
        if name not in but:
            for claim in property(program, faces.get(name, values)):
                claim = promised(alike(claim, laws=name not in faces), sure if name in faces else program.op.promises)
                if name in faces:
                    claim = controlled(claim, name in STORED)
                yield name, with_theorems(cancelled(claim), program.op.sizes)
