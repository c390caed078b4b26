"""The step program: what is proved, simulated, costed and emitted, so those four cannot disagree about what it is.

Comes in: a machine (through `program.derive`) or a user's own `program { … }` (through `program.read`).
Goes out: launches of steps, every index a term over grid, block and loop axes, every loop bound uniform.
The one idea: a program is the same thing for a derived and for a hand-written machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from tinygpu.category.term import TRUE, Axis, Term
from tinygpu.diagnostic import NOWHERE, Span
from tinygpu.model.op import Op


@dataclass(frozen=True, slots=True)
class Local:
    """A thread's own cells, kept in registers. Extents are constants; every cell starts unwritten."""

    name: str
    dtype: str
    extents: tuple[Term, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Assign:
    """`target[index] = value if guard`, or with a monoid as `update` (`sum`, `prod`, `max`, …) `target[index] ⊕= value if guard`.

    The target is a local or an output. Value and index are evaluated only where the guard holds.
    """

    target: str
    index: tuple[Term, ...]
    value: Term
    update: str = ""
    guard: Term = TRUE
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class For:
    """`body` for every point of `axis`, in order. Sorts: `time` (a loop), `register` (constant extent, unrolled),
    `vector` (constant extent, and a permission to make the accesses that are contiguous in it wide)."""

    axis: Axis
    body: tuple[Step, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class If:
    """`body` where the guard holds."""

    guard: Term
    body: tuple[Step, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Holds:
    """A ghost fact: here, `target[index]` equals `value`. Proved, then used; never emitted."""

    target: str
    index: tuple[Term, ...]
    value: Term
    span: Span = field(default=NOWHERE, compare=False, repr=False)


Step: TypeAlias = Local | Assign | For | If | Holds


@dataclass(frozen=True, slots=True)
class Launch:
    """One kernel: every point of `grid` is a block, every point of `block` (row-major) a thread, and each runs `body`."""

    grid: tuple[Axis, ...]
    block: tuple[Axis, ...]
    body: tuple[Step, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Program:
    """A machine made explicit. `where` holds the op's and the machine's preconditions; `arch` is empty for the least common one."""

    name: str
    op: Op
    launches: tuple[Launch, ...]
    where: tuple[Term, ...] = ()
    arch: str = ""
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    @property
    def locals(self) -> dict[str, Local]:
        """Every local array, by name (names are unique in a program)."""
        return {s.name: s for launch in self.launches for s in steps(launch.body) if isinstance(s, Local)}


def steps(body: tuple[Step, ...]) -> Iterator[Step]:
    """Every step of a body and of the bodies inside it, in order."""
    for step in body:
        yield step
        if isinstance(step, For | If):
            yield from steps(step.body)
