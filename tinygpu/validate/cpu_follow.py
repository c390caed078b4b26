"""A program that was read from a text, followed as far as a bound on the work allows.

Comes in: a program. Goes out: its trace, as `obligations.dataflow` makes it, or `Long`. The one idea: loops without a closed form are followed
turn by turn, and values grow with the turns; a kernel for which that is too much is not validated, and nobody waits for it.
"""

from __future__ import annotations

from itertools import islice

from tinygpu.category.term import Term, walk
from tinygpu.obligations import dataflow
from tinygpu.obligations.execution import FOLLOWED, Execution
from tinygpu.obligations.trace import Trace
from tinygpu.program.step import Program
from tinygpu.record import dataclass

MOST = 30_000  # parts of all values together; the kernels of the library that are proved need 24,000 at most


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
    return dataflow.execute(program, Bounded)
