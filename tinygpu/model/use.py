"""An instruction that a machine uses: its indices are factors, each thread's own, and its lanes the last factors of the block.

    use mma_m16n8k16(i: im, j: jn, k: ka) by lane     ↦     register im: 16, jn: 8, ka: 16     work block = (…), without lane

Comes in: the clauses of a machine. Goes out: those of the machine in which one thread does what so many lanes do, and what they do it with. The one
idea: without its instruction it is a machine as any other, so what covers what, and the guards of tails, are found as ever.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tinygpu.category.term import Axis, Const, Fold
from tinygpu.diagnostic import NOWHERE, Span
from tinygpu.model.clauses import Clauses
from tinygpu.model.collective import TOGETHER, Instruction
from tinygpu.model.instruction import library, shipped
from tinygpu.model.scope import Scope
from tinygpu.model.work import extent_of
from tinygpu.record import dataclass, field, replace
from tinygpu.syntax import tree


@dataclass(frozen=True, slots=True)
class Use:
    """The instructions of that name, told apart by what they are used for; which factor each of their indices is; and the lanes."""

    instructions: tuple[Instruction, ...]
    factors: tuple[tuple[str, str], ...]
    lanes: tuple[Axis, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)


def extents(one: Instruction) -> dict[str, int]:
    """How long each index of an instruction is: those of its target, then those that it folds."""
    (equation,) = one.op.equations
    folded = equation.value.axes if isinstance(equation.value, Fold) and equation.value.monoid == one.update else ()
    return {a.name: int(a.extent.value) for a in (*equation.axes, *folded) if isinstance(a.extent, Const)}


def without_use(clauses: Clauses, own: Sequence[Instruction], scope: Scope) -> tuple[Clauses, Use | None]:
    """The clauses without `use`, and what it says; as they are, after a message."""
    (clause, *more), say = clauses.anywhere(tree.Use) or (None,), scope.problems.say
    if clause is None:
        return clauses, None
    if more or clauses.several or clauses.program:
        say("TG184.once", (more or [clause])[0].span)
        return clauses, None
    found = tuple(one for one in own if one.name == clause.name) or shipped(clause.name)
    if not found:
        say("TG184.name", clause.span, near=library(), name=clause.name)
        return clauses, None
    if any(o.kind == "tensor" for o in found[0].operands):
        say("TG184.tensor", clause.span, name=clause.name)
        return clauses, None
    boxes, pairs = (
        extents(found[0]),
        [i for i in clause.indices.items if isinstance(i, tree.Sized) and isinstance(i.extent, tree.Name)],
    )
    factors = {p.name: p.extent.name for p in pairs if isinstance(p.extent, tree.Name)}
    if sorted(p.name for p in pairs) != sorted(boxes) or len(set(factors.values())) < len(clause.indices.items):
        say(
            "TG184.indices",
            clause.indices.span,
            name=clause.name,
            indices=list(boxes),
            example=", ".join(f"{i}: {i}m" for i in boxes),
        )
        return clauses, None
    lanes, work = _lanes(clause, clauses, TOGETHER[found[0].level], scope)
    if work is None:
        say(
            "TG184.lanes",
            clause.lanes.span,
            level=found[0].level,
            count=TOGETHER[found[0].level],
            lanes="lane" if found[0].level == "warp" else "(w, lane)",
        )
        return clauses, None
    for lane in lanes:
        scope.hides(lane.name, lane.span, "the factor")
    for line in (c for stage in clauses.anywhere(tree.Stage) for c in stage.clauses if not isinstance(c, tree.Layout)):
        say("TG184.copy", line.span, clause.span)
    mine = tree.Own(
        "register",
        tuple(tree.Sized(factors[n], tree.Number(str(box)), span=clause.span) for n, box in boxes.items()),
        span=clause.span,
    )
    every = tuple(c for c in clauses.every if not isinstance(c, tree.Use | tree.Work))
    return replace(clauses, every=(work, *every, mine)), Use(found, tuple(factors.items()), lanes, clause.span)


def _lanes(clause: tree.Use, clauses: Clauses, count: int, scope: Scope) -> tuple[tuple[Axis, ...], tree.Work | None]:
    """The lanes, and the work object without them; no work object where they are not the last factors of the block, so many threads together."""
    names = [
        i.name
        for i in (clause.lanes.items if isinstance(clause.lanes, tree.Group) else (clause.lanes,))
        if isinstance(i, tree.Name)
    ]
    work = clauses.work
    block = next((level for level in work.levels if level.name == "block"), None) if work else None
    last = block.factors.items[len(block.factors.items) - len(names) :] if block else ()
    axes = [Axis(i.name, extent_of(i.extent, scope), "block", i.span) for i in last if isinstance(i, tree.Sized)]
    numbers = [int(a.extent.value) for a in axes if isinstance(a.extent, Const)]
    if (
        not names
        or block is None
        or work is None
        or [a.name for a in axes] != names
        or len(numbers) < len(names)
        or prod(numbers) != count
    ):
        return (), None
    rest = replace(block, factors=replace(block.factors, items=block.factors.items[: len(block.factors.items) - len(names)]))
    return tuple(axes), replace(work, levels=tuple(rest if level is block else level for level in work.levels))
