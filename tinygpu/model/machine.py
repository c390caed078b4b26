"""Machines: a work object for each launch, and for each equation the span that assigns one to the other.

Comes in: a syntax tree and its op, through `model.elaborate`. Goes out: every factor with its extent and its sort, every
index of every equation as a term over factors, with the guard that its padding brings.
The one idea: equal names are the identification, so the pullback is a list of factors, and the owner arrow is a term for each index.
"""

from __future__ import annotations

from tinygpu.category.owner import Arrow
from tinygpu.category.term import Axis, Term
from tinygpu.diagnostic import NOWHERE, Span
from tinygpu.model.op import Equation, Op, Tensor
from tinygpu.model.tile import Stage
from tinygpu.record import dataclass, field
from tinygpu.syntax.tree import ProgramClause


@dataclass(frozen=True, slots=True)
class Reduce:
    """`reduce s over w by shared`: how the workers of some factors of a fold are combined. `by`: shuffle, shared or atomic."""

    factors: tuple[str, ...]
    by: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Keep:
    """`keep x in register`: every equation of a launch reads the tensor from the thread's own cells, which are read once."""

    tensor: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Phase:
    """One equation on one work object.

    `owner : D → indices of the equation (its axes, then the axes of its folds)`: the domain's axes are the factors that the
    equation uses, with their sorts (grid, block, time, register, vector); the arrow's guard is `active`.
    `parts` are the workspaces in which its folds over the grid are left for a later launch, by fold, outermost folds in order;
    an empty name stands for a fold that is done here. `before` are the workspaces that hold what comes before each block, for its scans.
    `known` is what the value is worth in terms of the inputs, where that is known: a fact that is proved, and makes later proofs short.
    """

    equation: Equation
    owner: Arrow
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    reduce: tuple[Reduce, ...] = ()
    parts: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    known: Term | None = None

    @property
    def ways(self) -> dict[str, str]:
        """How each factor with a `reduce` clause is combined."""
        return {name: one.by for one in self.reduce for name in one.factors}


@dataclass(frozen=True, slots=True)
class Launch:
    """A work object and the phases it evaluates. `time` is the nesting order of the loops, outermost first.

    `leaves` are the intermediates that later launches read: they are stored in workspaces of their name and shape.
    """

    name: str
    grid: tuple[Axis, ...]
    block: tuple[Axis, ...]
    phases: tuple[Phase, ...]
    time: tuple[str, ...] = ()
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    keeps: tuple[Keep, ...] = ()
    leaves: tuple[str, ...] = ()
    stages: tuple[Stage, ...] = ()


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine for one op. A machine that serves several ops, params or dtypes is several of these, with the choice in `variant`.

    `program` is given for an explicit machine: then its one launch has a work object and no phases, and `program.read` makes the steps.
    `constants` are the params, as names the program's text may use. `workspaces` are what its launches leave for later ones.
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
    workspaces: tuple[Tensor, ...] = ()

    @property
    def title(self) -> str:
        """The name with its variant: `matmul_tile[BM=64]`."""
        choice = ", ".join(f"{k}={v}" for k, v in self.variant)
        return f"{self.name}[{choice}]" if choice else self.name
