"""Machines: a work object for each launch, and for each equation the span that assigns one to the other.

Comes in: a syntax tree and its op, through `model.elaborate`. Goes out: every factor with its extent and its sort, every
index of every equation as a term over factors, with the guard that its padding brings.
The one idea: equal names are the identification, so the pullback is a list of factors, and the owner arrow is a term for each index.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tinygpu.category.owner import Arrow
from tinygpu.category.term import Axis, Fold, Read, Term, memoised, rebuild, walk
from tinygpu.diagnostic import NOWHERE, Span
from tinygpu.model.collective import Instruction
from tinygpu.model.op import Equation, Op, Tensor, put_in
from tinygpu.model.tile import BLOCK, Sought, Stage
from tinygpu.model.use import Use
from tinygpu.record import Pictured, dataclass, field, replace
from tinygpu.syntax.tree import Keep, Online, ProgramClause, Reduce


@dataclass(frozen=True, slots=True)
class Phase:
    """One equation on one work object.

    `owner : D → indices of the equation (its axes, then the axes of its folds)`: the domain's axes are the factors that the
    equation uses, with their sorts (grid, block, time, register, vector); the arrow's guard is `active`.
    `parts` are the workspaces in which its folds over the grid are left for a later launch, by fold, outermost folds in order;
    an empty name stands for a fold that is done here. `before` are the workspaces that hold what comes before each block, for its scans.
    `reduce` says how the workers of some factors of a fold are combined. `known` is what the value is worth in terms of the inputs, where that is known: a fact that is proved, and makes later proofs short.
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

    `leaves` are the intermediates that later launches read: they are stored in workspaces of their name and shape. What it `keeps`, every
    equation reads from the thread's own cells, which are read once. What it `holds` are intermediates in cells, for steps of a text. Folds that are `online`
    go on side by side in one loop. Of inputs that it `prefetches` a core has the next point's elements brought near while it works on one; what it `streams` goes past its caches.
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
    cluster: int = 0
    holds: tuple[str, ...] = ()
    online: Online | None = None
    prefetches: tuple[str, ...] = ()
    streams: tuple[str, ...] = ()

    def late(self, op: Op) -> tuple[Stage, ...]:
        """The stages of what is made of folds that go on: each turn has to know these first."""
        going = {*self.online.equations} if self.online else set()
        made = {p.equation.target for p in self.phases}
        return tuple(s for s in self.stages if s.tensor in made and op.reached(s.tensor) & going)


@dataclass(frozen=True, slots=True)
class Machine(Pictured):
    """A machine for one op. A machine that serves several ops, params or dtypes is several of these, with the choice in `variant`.

    `program` is given for an explicit machine: then its one launch has a work object and no phases, and `program.read` makes the steps. Where parts of it are
    derived, `launches` are those that have some.
    `constants` are the params, as names the program's text may use. `workspaces` are what its launches leave for later ones. `names` are its text's for terms, as
    they are written out, of which messages speak. `instructions` are those that its file declares, and `use` is the one whose lanes do what a thread of its launch does.
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
    names: tuple[tuple[str, str], ...] = field(default=(), compare=False, repr=False)
    instructions: tuple[Instruction, ...] = field(default=(), compare=False, repr=False)
    use: Use | None = None

    def __repr__(self) -> str:
        return f"<Machine {self.heading}>"

    @property
    def heading(self) -> str:
        """What it is, and of what: `matmul_tile[BM=64] : matmul`, `tiles : attention via flash`."""
        return f"{self.title} : {self.op.name}" + (f" via {self.op.via.name}" if self.op.via else "")

    @property
    def by_hand(self) -> bool:
        """Whether its steps are those of a text, its own or the one that an instruction makes, and not of one thread for each point."""
        return self.program is not None or self.use is not None

    @property
    def title(self) -> str:
        """The name with its variant: `matmul_tile[BM=64]`."""
        choice = ", ".join(f"{k}={v}" for k, v in self.variant)
        return f"{self.name}[{choice}]" if choice else self.name


def inlined(phases: Sequence[Phase], staged: Sequence[Sought] = (), kept: Collection[str] = ()) -> dict[str, Term]:
    """The value of each equation of a launch, with what is no fold put in where it is read: an intermediate without a fold costs less than a
    cell that holds it, unless somebody stages or keeps it. A read that is staged bears the name of its stage, its index still that of the
    tensor, and one of what is `kept` stays."""
    done: dict[str, Equation] = {}
    loose: dict[str, Equation] = {}  # those that are put in
    made = {p.equation.target for p in phases}

    def here(phase: Phase, early: bool) -> list[Sought]:
        inside = (BLOCK, *phase.owner.domain.names)
        return [s for s in staged if s.at in inside and early == (s.tensor in made)]

    for phase in phases:
        target, value = phase.equation.target, put_in(_named(phase.equation.value, here(phase, early=True)), loose)
        done[target] = replace(phase.equation, value=value)
        if target not in kept and not any(isinstance(inner, Fold) for inner in walk(value)):
            loose[target] = done[target]
    # Reads of memory are named last: an equation that is put in elsewhere may be read at another index there.
    return {p.equation.target: _named(done[p.equation.target].value, here(p, early=False)) for p in phases}


@memoised
def _named(term: Term, sought: Sequence[Sought]) -> Term:
    """The term with the reads that are sought bearing the names of their stages."""
    term = rebuild(term, lambda inner: _named(inner, sought))
    if isinstance(term, Read):
        return next((replace(term, tensor=one.name) for one in sought if one.finds(term)), term)
    return term
