"""Stages: what a block copies into shared memory, when, and how its threads share the work.

Comes in: the `stage` clauses of a launch, its phases and its work object. Goes out: one `Stage` for each clause.
The one idea: the body of a stage is a machine of its own, whose indices are those of the tile and whose work object is the block.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from tinygpu.category.arrow import Arrow
from tinygpu.category.term import Axis, Const, Read, Term, substitute, walk
from tinygpu.diagnostic import Label, Span
from tinygpu.model.assignment import Setting, owner
from tinygpu.model.clauses import Clauses
from tinygpu.model.inlined import inlined
from tinygpu.model.machine import Launch, Phase
from tinygpu.model.op import Equation, Op
from tinygpu.model.placing import by_index
from tinygpu.model.problems import listing, suggestion
from tinygpu.model.scope import Scope
from tinygpu.model.stage_default import default_copy
from tinygpu.model.stage_layout import Cells, cells
from tinygpu.model.tile import BLOCK, Factors, Side, Sought, Stage, side
from tinygpu.model.value import wrong_rank
from tinygpu.model.work import Factor, factor_table, with_written_extents
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


def staged(launch: Launch, clauses: Clauses, op: Op, table: Mapping[str, Factor], scope: Scope, where: Term) -> Launch:
    """The launch with a `Stage` for each of its clauses; one that is wrong is left out after a message."""
    around = Around(op, launch.phases, launch.grid, launch.block, launch.time, table, where)
    given = clauses.stages
    made: list[Stage] = []
    for number, clause in enumerate(given):
        sought = _sought(clause, f"stage {number}", around, scope)
        if sought is None:
            continue
        twice = [
            (s, c)
            for s, c in zip(made, given, strict=False)
            if (s.tensor, s.pattern, s.at) == (sought.tensor, sought.pattern, sought.at)
        ]
        if twice:
            first = Label(_head(twice[0][1]), "the first")
            scope.problems.add(
                "TG102", "the same access is staged twice", _head(clause), "a second time", first, help="write it once"
            )
            continue
        sides = _sides(clause, sought, around, scope)
        one = _stage(clause, sought, sides, clauses, around, scope) if sides else None
        made += [one] if one else []
    return replace(launch, stages=tuple(made))


def _head(clause: tree.Stage) -> Span:
    return clause.access.span


def _sought(clause: tree.Stage, name: str, around: Around, scope: Scope) -> Sought | None:
    """The reads that the clause speaks of; None after a message."""
    access, problems = clause.access, scope.problems
    known = {t.name: t for t in (*around.op.inputs, *around.op.intermediates)}
    for word, there in (("ring", clause.ring is not None), ("async", clause.asynchronous), (f"by {clause.by}", clause.by)):
        if there:
            problems.add(
                "TG109", f"{word} is not in this version yet", _head(clause), "a plain copy and a barrier", help=f"leave out {word}"
            )
            return None
    if clause.space != "shared":
        fix = (
            "operands of a tile are held in registers anyway: leave the clause out"
            if clause.space == "register"
            else "write in shared"
        )
        problems.add(
            "TG109", f"a stage in {clause.space} is not in this version yet", _head(clause), "stages are in shared memory", help=fix
        )
        return None
    if clause.at != BLOCK and (clause.at not in around.table or around.table[clause.at].sort != "time"):
        loops = listing([BLOCK, *around.time], "or")
        sort = around.table[clause.at].sort if clause.at in around.table else ""
        reason = f"{clause.at} is a {sort} factor" if sort else "no factor has this name"
        fix = suggestion(clause.at, [BLOCK, *around.time]) or f"write at {loops}"
        problems.add("TG541", f"a stage stands at the block or at a loop, not at {clause.at}", _head(clause), reason, help=fix)
        return None
    if access.name not in known:
        fix = suggestion(access.name, known) or f"the tensors that equations read are {listing(sorted(known))}"
        problems.add("TG542", f"no equation reads {access.name}", access.span, "nothing to stage", help=fix)
        return None
    if len(access.index) != len(known[access.name].shape):
        wrong_rank(known[access.name], len(access.index), access.span, scope)
        return None
    names = [i.name for i in access.index if isinstance(i, tree.Name)]
    if len(names) < len(access.index) or access.fill is not None or len(set(names)) < len(names):
        letters = ", ".join("abcdefgh"[d] if d < 8 else f"a{d}" for d in range(len(access.index)))
        fix = f"name the axes of the tile: stage {access.name}[{letters}] holds all that is read of {access.name}"
        problems.add("TG542", "a staged access has one name for each axis", access.span, "not a list of names", help=fix)
        return None
    indices = {name for p in around.phases for name in p.owner.codomain.names}
    sought = Sought(access.name, tuple(n if n in indices else "" for n in names), clause.at, name)
    return sought if _found(clause, sought, around, scope) else None


def _reads(sought: Sought, around: Around) -> list[tuple[Phase, Read]]:
    """The reads of all equations that a stage serves."""
    values = inlined(around.phases, (sought,))
    return [
        (phase, read)
        for phase in around.phases
        for read in walk(values[phase.equation.target])
        if isinstance(read, Read) and read.tensor == sought.name
    ]


def _found(clause: tree.Stage, sought: Sought, around: Around, scope: Scope) -> bool:
    """Whether some equation has the access; says so if none has."""
    if _reads(sought, around):
        return True
    access = clause.access
    anywhere = _reads(replace(sought, pattern=("",) * len(sought.pattern)), around)
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


def _sides(clause: tree.Stage, sought: Sought, around: Around, scope: Scope) -> tuple[Side, ...] | None:
    """The sides of the tile; None after a message."""
    factors = around.factors(sought.at)
    pulled = []
    for phase, read in _reads(sought, around):
        digits = dict(zip(phase.owner.codomain.names, phase.owner.terms, strict=True))
        pulled.append([substitute(term, digits) for term in read.index])
    sides: list[Side] = []
    for axis, name in zip(range(len(sought.pattern)), clause.access.index, strict=True):
        assert isinstance(name, tree.Name)
        made = side(name.name, [index[axis] for index in pulled], factors)
        if isinstance(made, str):
            at = "in the whole launch" if sought.at == BLOCK else f"in one turn of {sought.at}"
            loops = [n for n in around.time if n in factors.inner]
            fix = (
                f"stage it at {loops[-1]}, so that the tile is what one turn of {loops[-1]} needs"
                if loops
                else "cut the index into factors with constant extents"
            )
            scope.problems.add("TG540", f"the tile has no constant extent along {name.name}", name.span, f"{at}, {made}", help=fix)
            return None
        sides.append(made)
    return tuple(sides)


def _stage(
    clause: tree.Stage, sought: Sought, sides: tuple[Side, ...], clauses: Clauses, around: Around, scope: Scope
) -> Stage | None:
    """The tile with its copy and its layout; None after a message."""
    before = len(scope.problems)
    for one in clause.clauses:
        if not isinstance(one, tree.Work | tree.Compute | tree.Own | tree.Binding | tree.Layout):
            fix = "a stage has work block = (…), compute, time, register, vector and layout"
            scope.problems.add("TG543", "this clause does not stand in a stage", one.span, "no part of a copy", help=fix)
    block, arrow = _copy(clause, sides, clauses, around, scope)
    lanes = (
        max((int(a.extent.value) for a in arrow.domain.axes if a.sort == "vector" and isinstance(a.extent, Const)), default=1)
        if arrow
        else 1
    )
    layouts = [c for c in clause.clauses if isinstance(c, tree.Layout)]
    placed: Cells = cells(layouts, sides, lanes, scope)
    if len(scope.problems) > before or arrow is None:
        return None
    return Stage(
        sought.tensor,
        sought.pattern,
        sought.at,
        sought.name,
        sides,
        placed.order,
        block,
        arrow,
        placed.pad,
        placed.swizzle,
        clause.access.span,
    )


def _copy(
    clause: tree.Stage, sides: tuple[Side, ...], clauses: Clauses, around: Around, scope: Scope
) -> tuple[tuple[Axis, ...], Arrow | None]:
    """The factors of the block in the copy, and its assignment; no assignment after a message."""
    work = [c for c in clause.clauses if isinstance(c, tree.Work)]
    bare = tuple(tree.Compute((c,), None, c.span) for c in clause.clauses if isinstance(c, tree.Binding))
    compute = (*(c for c in clause.clauses if isinstance(c, tree.Compute)), *bare)
    own = tuple(c for c in clause.clauses if isinstance(c, tree.Own))
    if not (work or compute or own):
        return default_copy(sides, around.threads)
    levels = tuple(level for one in work for level in one.levels)
    whole = replace(clauses, work=tree.Work(levels, work[0].span) if work else None, compute=compute, own=own, per=())
    table = factor_table(whole, scope)
    if not work:
        table = {**{a.name: Factor(a.name, BLOCK, a.extent, a.span) for a in around.block}, **table}
    table = with_written_extents(table, (b for c in compute for b in c.bindings), scope)
    if not _lawful(clause, table, around, scope):
        return (), None
    axes = tuple(Axis(s.name, Const(s.extent), "data", n.span) for s, n in zip(sides, clause.access.index, strict=True))
    equation = Equation(f"the tile of {clause.access.name}", axes, Const(0), clause.access.span)
    setting = Setting(scope, table, around.where, clause.access.span)
    arrow = owner(equation, by_index(compute, table, frozenset(a.name for a in axes), scope), setting)
    block = tuple(
        Axis(f.name, f.extent if f.extent is not None else setting.inferred.get(f.name, (Const(1), ""))[0], BLOCK, f.span)
        for f in table.values()
        if f.sort == BLOCK
    )
    size = prod(int(a.extent.value) for a in block if isinstance(a.extent, Const))
    if arrow is not None and size > around.threads:
        fix = f"take at most {around.threads}, and let each thread copy several: register h"
        scope.problems.add(
            "TG544", f"the copy needs {size} threads, the block has {around.threads}", _head(clause), "too few threads", help=fix
        )
        return block, None
    return block, arrow


def _lawful(clause: tree.Stage, table: Mapping[str, Factor], around: Around, scope: Scope) -> bool:
    """Whether the copy is done by the block, with factors of its own."""
    right = True
    for factor in table.values():
        if factor.sort == "grid":
            fix = "a stage's work is the block: work block = (…)"
            scope.problems.add("TG543", "a copy has no grid", factor.span, "each block copies its own tile", help=fix)
            right = False
        if (
            factor.sort != BLOCK
            and factor.name in {a.name for a in around.block}
            and not any(isinstance(c, tree.Work) for c in clause.clauses)
        ):
            scope.problems.add(
                "TG102",
                f"the factor {factor.name} is declared twice",
                factor.span,
                "a factor of the block",
                help="take another name",
            )
            right = False
    return right
