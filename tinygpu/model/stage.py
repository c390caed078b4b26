"""Stages: what a block copies into shared memory, when, and how its threads share the work.

Comes in: the `stage` clauses of a launch, its phases and its work object. Goes out: one `Stage` for each clause.
The one idea: the body of a stage is a machine of its own, whose indices are those of the tile and whose work object is the block.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from tinygpu.category.owner import Arrow
from tinygpu.category.term import Axis, Const, Term, substitute
from tinygpu.diagnostic import Label
from tinygpu.model.assignment import Setting, owner
from tinygpu.model.clauses import Clauses
from tinygpu.model.machine import Launch
from tinygpu.model.op import Equation, Op
from tinygpu.model.placing import by_index
from tinygpu.model.scope import Scope
from tinygpu.model.stage_access import Around, place_of, reads_of, sought_in
from tinygpu.model.stage_default import default_copy
from tinygpu.model.stage_layout import Cells, cells
from tinygpu.model.tile import BLOCK, Factors, Side, Sought, Stage, side
from tinygpu.model.work import Factor, factor_table, with_written_extents
from tinygpu.record import replace
from tinygpu.syntax import tree


def staged(launch: Launch, clauses: Clauses, op: Op, table: Mapping[str, Factor], scope: Scope, where: Term) -> Launch:
    """The launch with a `Stage` for each of its clauses; one that is wrong is left out after a message."""
    around = Around(op, launch.phases, launch.grid, launch.block, launch.time, table, where)
    given = clauses.stages
    made: list[Stage] = []
    for number, clause in enumerate(given):
        sought = sought_in(clause, f"stage {number}", around, scope)
        if sought is None:
            continue
        twice = [
            (s, c)
            for s, c in zip(made, given, strict=False)
            if (s.tensor, s.pattern, s.at) == (sought.tensor, sought.pattern, sought.at)
        ]
        if twice:
            first = Label(place_of(twice[0][1]), "the first")
            scope.problems.add(
                "TG102", "the same access is staged twice", place_of(clause), "a second time", first, help="write it once"
            )
            continue
        sides = _sides(clause, sought, around, scope)
        one = _stage(clause, sought, sides, clauses, around, scope) if sides else None
        made += [one] if one else []
    return replace(launch, stages=tuple(made))


def _sides(clause: tree.Stage, sought: Sought, around: Around, scope: Scope) -> tuple[Side, ...] | None:
    """The sides of the tile; None after a message."""
    factors = around.factors(sought.at)
    pulled = []
    for phase, read in reads_of(sought, around):
        digits = phase.owner.by_axis
        pulled.append([substitute(term, digits) for term in read.index])
    sides: list[Side] = []
    for axis, name in zip(range(len(sought.pattern)), clause.access.index, strict=True):
        assert isinstance(name, tree.Name)
        made = side(name.name, [index[axis] for index in pulled], factors)
        if isinstance(made, str):
            at = "in the whole launch" if sought.at == BLOCK else f"in one turn of {sought.at}"
            title, fix = f"the tile has no constant extent along {name.name}", _smaller(clause, made, around, factors)
            scope.problems.add("TG540", title, name.span, f"{at}, {made}", help=fix)
            return None
        sides.append(made)
    return tuple(sides)


def _smaller(clause: tree.Stage, reason: str, around: Around, factors: Factors) -> str:
    """What to do about a tile without constant extents."""
    long = {a.name for a in factors.axes if not isinstance(a.extent, Const)}
    loops = [n for n in around.time if n in factors.inner and n in long]
    if loops:
        return f"stage it at {loops[-1]}, so that the tile is what one turn of {loops[-1]} needs"
    if reason.startswith("it would hold"):
        return f"accesses that lie far apart are several tiles: stage one of them by its indices, {clause.access.name}[i] and not {clause.access.name}[a]"
    return "cut the index into factors with constant extents"


def _stage(
    clause: tree.Stage, sought: Sought, sides: tuple[Side, ...], clauses: Clauses, around: Around, scope: Scope
) -> Stage | None:
    """The tile with its copy and its layout; None after a message."""
    before = len(scope.problems)
    for one in clause.clauses:
        known = isinstance(one, tree.Work | tree.Compute | tree.Own | tree.Binding | tree.Layout)
        if not known or (isinstance(one, tree.Compute) and one.equation):
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
        orders = [c.order for c in clause.clauses if isinstance(c, tree.Layout) and c.order]
        return default_copy(
            sides,
            around.threads if around.block else 0,
            around.op.tensor(clause.access.name).dtype,
            orders[0][-1] if orders else "",
        )
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
    if arrow is not None:
        _idle([f for f in table.values() if work or f.sort != BLOCK], setting)
    block = tuple(
        Axis(f.name, f.extent if f.extent is not None else setting.inferred.get(f.name, (Const(1), ""))[0], BLOCK, f.span)
        for f in table.values()
        if f.sort == BLOCK
    )
    size = prod(int(a.extent.value) for a in block if isinstance(a.extent, Const))
    if arrow is not None and size > around.threads:
        fix = f"take at most {around.threads}, and let each thread copy several: register h"
        scope.problems.add(
            "TG544", f"the copy needs {size} threads, the block has {around.threads}", place_of(clause), "too few threads", help=fix
        )
        return block, None
    return block, arrow


def _idle(factors: Sequence[Factor], setting: Setting) -> None:
    """Every factor of its own serves the copy."""
    for factor in factors:
        if factor.name not in setting.used:
            title, fix = f"the factor {factor.name} is in no index of the tile", "make it a digit of one, or remove it"
            setting.scope.problems.add("TG134", title, factor.span, "no index is computed from it", help=fix)


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
