"""A program that was read from a text, followed as far as a bound on the work allows.

Comes in: a program. Goes out: its trace, as `obligations.dataflow` makes it, or `Long`. The one idea: loops without a closed form are followed
turn by turn, and values grow with the turns; a kernel for which that is too much is not validated, and nobody waits for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from tinygpu.category.term import Term, walk
from tinygpu.obligations.cells import State, unwritten
from tinygpu.obligations.dataflow import left, plain
from tinygpu.obligations.execution import FOLLOWED, Execution, preconditions
from tinygpu.obligations.obligation import Point
from tinygpu.obligations.trace import Place, Trace
from tinygpu.program.step import Program

MOST = 20_000  # parts of all values together; the kernels of the library that are proved need 15,000 at most


class Long(Exception):
    """Following the program takes too long."""


@dataclass(slots=True)
class Bounded(Execution):
    """An execution that ends when its values together have more than MOST parts."""

    spent: int = 0

    def followed(self, value: Term) -> Term:
        self.spent += sum(1 for _ in islice(walk(value), FOLLOWED))
        if self.spent > MOST:
            raise Long
        return Execution.followed(self, value)


def execute(program: Program) -> Trace:
    """`Program → Trace`, as `dataflow.execute`. Raises Long."""
    trace = Trace()
    memory: State = {w.name: unwritten(w) for w in program.workspaces}
    for number, launch in enumerate(program.launches):
        run = Bounded(program, launch, memory, place=Place(number))
        run.run(launch.body, Point(launch.grid + launch.block, preconditions(program)))
        trace = trace.plus(run.trace)
        if len(program.launches) > 1 or any(s.step.atomic for s in run.trace.stores):
            memory, meetings = left(program, run.trace.stores, memory)
            trace = trace.plus(Trace(meetings=meetings))
    outputs = {t.name for t in program.op.outputs}
    final = tuple(memory[n] for n in sorted(outputs & set(memory)) if not plain(trace, n))
    return trace.plus(Trace(final=final))
