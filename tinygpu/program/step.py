"""The step program: what is proved, simulated, costed and emitted, so those four cannot disagree about what it is.

Comes in: a machine (through `derive`) or a user's own `program { … }` (through `read`).
Goes out: launches of steps, every index a term over grid, block and loop axes, every loop bound uniform.
The one idea: a program is the same thing for a derived and for a hand-written machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TypeAlias

from tinygpu.category.bounds import natural
from tinygpu.category.layout import PLAIN, Layout
from tinygpu.category.monoid import as_monoid
from tinygpu.category.term import TRUE, Axis, Const, Read, Term, lift
from tinygpu.diagnostic import NOWHERE, Span
from tinygpu.model.collective import Fragment
from tinygpu.model.machine import Machine
from tinygpu.model.op import Op
from tinygpu.program.call import Calls
from tinygpu.program.space import Owner, Space
from tinygpu.record import dataclass, field

Target: TypeAlias = str  # an array that a step changes, or, of a fact, speaks of
WARP = 32  # threads of a block that stand next to each other


@dataclass(frozen=True, slots=True)
class Array:
    """Elements, of a space that says whose they are (`space.py`). In a body, where a thread's and a block's cells are declared, which
    start unwritten; a workspace is declared by the program, with extents over the sizes, none of them negative: what a text gives below
    0 is 0; inputs and outputs are the op's. The layout of a block's says where an element lies, and nothing about what it holds; of a `strided`
    input or output a call says it; `held` says which lanes have those of a fragment.
    """

    name: str
    dtype: str
    extents: tuple[Term, ...]
    space: Space
    layout: Layout = PLAIN
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    strided: bool = False
    held: Fragment | None = field(default=None, repr=False)

    @property
    def held_alone(self) -> bool:
        """Whether each element is in registers of one thread."""
        return self.owner == "thread" or self.held is not None

    @property
    def owner(self) -> Owner:
        """Whose its elements are: a `thread`'s, a `block`'s, or the `grid`'s."""
        return self.space.owner


@dataclass(frozen=True, slots=True)
class Assign:
    """`target[index] = value if guard`, or with a monoid as `update` (`sum`, `prod`, `max`, …) `target[index] ⊕= value if guard`.

    The target is any array but an input. Value and index are evaluated only where the guard holds.
    An `atomic` update is one indivisible step: those of one monoid may meet at one element, in any order.
    A value may hold shuffles (`category.node.SHUFFLES`): then every lane of the warp takes part. One that is `pending` on a unit begins here
    and lands later, at a `Wait` for it: a copy from global to shared memory, or what an instruction does. What it means is what it would mean if it landed
    here (`obligations/landing.py`).
    """

    target: Target
    index: tuple[Term, ...]
    value: Term
    update: str = ""
    guard: Term = TRUE
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    atomic: bool = False
    pending: str = ""

    @property
    def whole(self) -> Term:
        """What the target gets: of an update the combination of what it is and the value."""
        return (
            as_monoid(self.update).combine(Read(self.target, self.index, self.value.dtype), self.value)
            if self.update
            else self.value
        )


@dataclass(frozen=True, slots=True)
class For:
    """`body` for every point of `axis`, in order. Sorts: `time` (a loop), `register` (constant extent, unrolled),
    `vector` (constant extent, and a permission to make the accesses that are contiguous in it wide). What a kernel is printed of may begin
    elsewhere than at 0: there the passes before do nothing."""

    axis: Axis
    body: tuple[Step, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    start: Term = Const(0)


@dataclass(frozen=True, slots=True)
class If:
    """`body` where the guard holds."""

    guard: Term
    body: tuple[Step, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)


class Fact:
    """What a step of this kind says holds where it stands: proved, then used; no kernel does anything for it, and it costs nothing."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Ghost(Fact):
    """A ghost fact: here, `target[index]` equals `value`."""

    target: Target
    index: tuple[Term, ...]
    value: Term
    span: Span = field(default=NOWHERE, compare=False, repr=False)


Step: TypeAlias = Array | Assign | For | If | Calls | Ghost


@dataclass(frozen=True, slots=True)
class Launch:
    """One kernel: every point of `grid` is a block, every point of `block` (row-major) a thread, and each runs `body`.

    Launches run one after the other. Blocks of one launch know nothing of each other. `turns` are the loops around it, outermost first: launches
    next to each other in one loop, whose name no other has, go in turn (`loops_around`). `cluster` is how many of the grid's factors, the last ones, number the
    blocks of a cluster, which run at one time.
    """

    grid: tuple[Axis, ...]
    block: tuple[Axis, ...]
    body: tuple[Step, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    turns: tuple[Axis, ...] = ()
    cluster: int = 0

    @property
    def ranks(self) -> tuple[Axis, ...]:
        """The grid's last factors, that say which block of its cluster it is."""
        return self.grid[len(self.grid) - self.cluster :]

    @property
    def axes(self) -> tuple[Axis, ...]:
        """Where its steps stand: the factors, and then the loops around it."""
        return self.grid + self.block + self.turns

    @property
    def blocks(self) -> Term:
        """How many blocks: the product of the grid's extents, a term over the sizes. A negative one is 0, so two of them make no block."""
        total: Term = lift(1)
        for axis in self.grid:
            total = total * natural(axis.extent)
        return total


@dataclass(frozen=True, slots=True)
class Program:
    """A machine made explicit. `where` holds the op's and the machine's preconditions; `arch` is empty for the least common one.

    `machine` is the one it was made of, if it was: nothing that is proved depends on it.
    """

    name: str
    op: Op
    launches: tuple[Launch, ...]
    where: tuple[Term, ...] = ()
    arch: str = ""
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    workspaces: tuple[Array, ...] = ()
    machine: Machine | None = field(default=None, compare=False, repr=False)

    @property
    def steps(self) -> Iterator[Step]:
        """Every step of all launches, in order."""
        return (step for launch in self.launches for step in steps(launch.body))

    @property
    def locals(self) -> dict[str, Array]:
        """The threads' arrays, by name (names are unique in a program)."""
        return {a.name: a for launch in self.launches for a in arrays_in(launch.body, "thread")}

    @property
    def shared(self) -> dict[str, Array]:
        """The blocks' arrays, by name."""
        return {a.name: a for launch in self.launches for a in arrays_in(launch.body, "block")}

    def serves(self, other: Program) -> bool:
        """Whether this may run wherever `other` may: it is for the same op, promises included, and has no precondition of its own."""
        return self.op == other.op and {*self.where} <= {*other.where}


Numbered: TypeAlias = tuple[int, Launch]


def loops_around(launches: tuple[Numbered, ...], depth: int = 0) -> Iterator[tuple[Axis | None, tuple[Numbered, ...]]]:
    """Launches in order, as they stand in loops: each alone, or with the loop at a depth those that are in it.

    >>> one, t = Launch((), (), ()), Axis("t", Const(8))
    >>> each = Launch((), (), (), turns=(t,))
    >>> [(axis.name if axis else "", [n for n, _ in run]) for axis, run in loops_around(tuple(enumerate((one, each, each, one))))]
    [('', [0]), ('t', [1, 2]), ('', [3])]
    """
    for axis, run in groupby(launches, lambda one: one[1].turns[depth] if len(one[1].turns) > depth else None):
        if axis is None:
            yield from ((None, (one,)) for one in run)
        else:
            yield axis, tuple(run)


def body_of(step: Step) -> tuple[Step, ...]:
    """The steps inside of a step."""
    return step.body if isinstance(step, For | If) else ()


def steps(body: tuple[Step, ...]) -> Iterator[Step]:
    """Every step of a body and of the bodies inside it, in order."""
    for step in body:
        yield step
        yield from steps(body_of(step))


def arrays_in(body: tuple[Step, ...], *owners: Owner) -> tuple[Array, ...]:
    """The arrays that a body declares, in order: those of some owners, or all."""
    return tuple(s for s in steps(body) if isinstance(s, Array) and (not owners or s.owner in owners))
