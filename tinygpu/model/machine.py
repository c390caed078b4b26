"""Machines: a work object for each launch, and for each equation the span that assigns one to the other.

Comes in: a syntax tree and its op, through `model.elaborate`. Goes out: every factor with its extent and its sort, every
index of every equation as a term over factors, with the guard that its padding brings.
The one idea: equal names are the identification, so the pullback is a list of factors, and the owner arrow is a term for each index.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tinygpu.category.arrow import Arrow
from tinygpu.category.term import Axis, Term
from tinygpu.diagnostic import NOWHERE, Span
from tinygpu.model.op import Equation, Op
from tinygpu.syntax.tree import ProgramClause


@dataclass(frozen=True, slots=True)
class Phase:
    """One equation on one work object.

    `owner : D → indices of the equation (its axes, then the axes of its folds)`: the domain's axes are the factors that the
    equation uses, with their sorts (grid, block, time, register, vector); the arrow's guard is `active`.
    """

    equation: Equation
    owner: Arrow
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Launch:
    """A work object and the phases it evaluates. `time` is the nesting order of the loops, outermost first."""

    name: str
    grid: tuple[Axis, ...]
    block: tuple[Axis, ...]
    phases: tuple[Phase, ...]
    time: tuple[str, ...] = ()
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine for one op. A machine that serves several ops, params or dtypes is several of these, with the choice in `variant`.

    `program` is given for an explicit machine: then its one launch has a work object and no phases, and `program.read` makes the steps.
    `constants` are the params, as names the program's text may use.
    """

    name: str
    op: Op
    launches: tuple[Launch, ...]
    program: ProgramClause | None = None
    where: tuple[Term, ...] = ()
    constants: tuple[tuple[str, int], ...] = ()
    arch: str = ""
    variant: tuple[tuple[str, str], ...] = ()
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    @property
    def title(self) -> str:
        """The name with its variant: `matmul_tile[BM=64]`."""
        choice = ", ".join(f"{k}={v}" for k, v in self.variant)
        return f"{self.name}[{choice}]" if choice else self.name
