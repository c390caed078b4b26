"""Staged accesses: which reads of a launch a `stage` clause speaks of, and where it stands.

Comes in: a clause and the launch around it. Goes out: what is sought, and the reads found, each with its equation.
The one idea: a name that is an index of the equations stands for itself, and any other name for whatever stands at that axis.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from tinygpu.category.term import Axis, Const, Read, Term, walk
from tinygpu.diagnostic import Span
from tinygpu.model.inlined import inlined
from tinygpu.model.machine import Phase
from tinygpu.model.op import Op
from tinygpu.model.problems import listing, suggestion
from tinygpu.model.scope import Scope
from tinygpu.model.tile import BLOCK, Factors, Sought
from tinygpu.model.work import Factor
from tinygpu.record import dataclass, replace
from tinygpu.syntax import tree


@dataclass(frozen=True, slots=True)
class Around:
    """The launch that the stages stand in: its op, its phases, its factors and the order of its loops."""

    op: Op
    phases: Sequence[Phase]
    grid: tuple[Axis, ...]
    block: tuple[Axis, ...]
    time: tuple[str, ...]
    table: Mapping[str, Factor]
    where: Term

    @property
    def threads(self) -> int:
        """How many threads a block has."""
        return prod(int(a.extent.value) for a in self.block if isinstance(a.extent, Const))

    def factors(self, at: str) -> Factors:
        """All factors, and those inside a place: what a block has of its own in one turn of the loop there."""
        axes = {a.name: a for a in (*self.grid, *self.block, *(a for p in self.phases for a in p.owner.domain.axes))}
        outer = {a.name for a in self.grid} | set(self.time[: self.time.index(at) + 1] if at in self.time else ())
        return Factors(tuple(axes.values()), frozenset(axes) - outer)


def place_of(clause: tree.Stage) -> Span:
    return clause.access.span


def sought_in(clause: tree.Stage, name: str, around: Around, scope: Scope) -> Sought | None:
    """The reads that the clause speaks of; None after a message."""
    before = len(scope.problems)
    _not_yet(clause, scope)
    _at(clause, around, scope)
    if len(scope.problems) == before:
        names = _names(clause, around, scope)
        indices = {index for p in around.phases for index in p.owner.by_axis}
        sought = Sought(clause.access.name, tuple(n if n in indices else "" for n in names), _turning(clause.at, around), name)
        if names or len(scope.problems) == before:
            return sought if found(clause, sought, around, scope) else None
    return None


def _not_yet(clause: tree.Stage, scope: Scope) -> None:
    """Says which words of a stage come in a later version."""
    place = place_of(clause)
    words = (("ring", clause.ring is not None), ("async", clause.asynchronous), (f"by {clause.by}", bool(clause.by)))
    later = [word for word, there in words if there]
    if later:
        title, fix = f"{listing(later)} is not in this version yet", f"leave out {listing(later)}"
        scope.problems.add("TG109", title, place, "a copy is plain stores and a barrier", help=fix)
    if clause.space != "shared":
        cells = clause.space == "register"
        fix = "operands of a tile are held in registers anyway: leave the clause out" if cells else "write in shared"
        title = f"a stage in {clause.space} is not in this version yet"
        scope.problems.add("TG109", title, place, "stages are in shared memory", help=fix)


def _at(clause: tree.Stage, around: Around, scope: Scope) -> None:
    """Says what is wrong with the place of a stage."""
    at, table = clause.at, around.table
    if at == BLOCK or at in around.time:
        return
    reason = f"{at} is a {table[at].sort} factor" if at in table else "no factor has this name"
    fix = suggestion(at, [BLOCK, *around.time]) or f"write at {listing([BLOCK, *around.time], 'or')}"
    scope.problems.add("TG541", f"a stage stands at the block or at a loop, not at {at}", place_of(clause), reason, help=fix)


def _turning(at: str, around: Around) -> str:
    """The loop itself; of a loop of one turn, which is none, the next one outside of it that turns, or the block."""
    ones = {a.name for p in around.phases for a in p.owner.domain.axes if a.extent == Const(1)}
    outer = around.time[: around.time.index(at) + 1] if at in around.time else ()
    return next((name for name in reversed(outer) if name not in ones), BLOCK)


def _names(clause: tree.Stage, around: Around, scope: Scope) -> tuple[str, ...]:
    """The names of the tile's axes, one for each axis of the tensor; none after a message."""
    access, problems = clause.access, scope.problems
    known = {t.name: t for t in (*around.op.inputs, *around.op.intermediates)}
    if access.name not in known:
        fix = suggestion(access.name, known) or f"the tensors that equations read are {listing(sorted(known))}"
        problems.add("TG542", f"no equation reads {access.name}", access.span, "nothing to stage", help=fix)
        return ()
    if len(access.index) != len(known[access.name].shape):
        scope.wrong_rank(known[access.name], len(access.index), access.span)
        return ()
    names = tuple(i.name for i in access.index if isinstance(i, tree.Name))
    if len(names) < len(access.index) or access.fill is not None or len(set(names)) < len(names):
        fix = f"name the axes of the tile: stage {_lettered(clause)} holds all that is read of {access.name}"
        problems.add("TG542", "a staged access has one name for each axis", access.span, "not a list of names", help=fix)
        return ()
    return names


def _lettered(clause: tree.Stage) -> str:
    """The access with names that no equation is likely to have."""
    return f"{clause.access.name}[{', '.join('abcdefgh'[: len(clause.access.index)])}]"


def reads_of(sought: Sought, around: Around) -> list[tuple[Phase, Read]]:
    """The reads of all equations that a stage serves."""
    values = inlined(around.phases, (sought,))
    return [
        (phase, read)
        for phase in around.phases
        for read in walk(values[phase.equation.target])
        if isinstance(read, Read) and read.tensor == sought.name
    ]


def found(clause: tree.Stage, sought: Sought, around: Around, scope: Scope) -> bool:
    """Whether some equation has the access; says so if none has."""
    if reads_of(sought, around):
        return True
    access = clause.access
    anywhere = reads_of(replace(sought, pattern=("",) * len(sought.pattern)), around)
    if anywhere:
        reason = f"{access.name} is read at other indices"
        fix = f"take names that are no index, such as {access.name}[{', '.join('abcdefgh'[: len(access.index)])}]: the tile then holds all that is read"
    else:
        reason = (
            f"no equation in the loop {sought.at} reads {access.name}" if sought.at != BLOCK else f"no equation reads {access.name}"
        )
        fix = "take the clause out, or stage it at block" if sought.at != BLOCK else "take the clause out"
    scope.problems.add("TG542", "no equation has the access that is staged", access.span, reason, help=fix)
    return False
