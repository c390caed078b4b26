"""Scans over the grid in three launches: what each block has, what comes before each block, and the blocks again on top of that.

    part[g] = ⊕[k in block g] b(k)      before[g] = ⊕[h < g] part[h]      y[i] = before[g] ⊕ the block's own prefix

Comes in: an equation whose prefix folds run over a factor of the grid. Goes out: the equation of the second launch, and what the third
one reads. The one idea: the second launch is a scan too, of one value for each block, so it is placed and derived like any other.
"""

from __future__ import annotations

from collections.abc import Callable

from tinygpu.category.term import Axis, Const, Fold, Read, Term, Var, conjunction, substitute
from tinygpu.diagnostic import Label
from tinygpu.model.across import incomplete, left, outermost
from tinygpu.model.machine import Phase
from tinygpu.model.op import Equation, Tensor
from tinygpu.model.prefix import Prefix, scans
from tinygpu.model.problems import Problems
from tinygpu.record import replace


def others(phase: Phase, one: Prefix) -> tuple[Axis, ...]:
    """The axes of an equation along which a scan does not go."""
    return tuple(a for a in phase.equation.axes if a.name != one.bound)


def blocks(phase: Phase) -> dict[Fold, tuple[Prefix, Axis]]:
    """The scans that the grid leaves open, each with its factor of the grid."""
    return {f: (one, left(phase, f)[0]) for f, one in scans(phase).items() if left(phase, f)}


def whole(one: Prefix, equation: Equation) -> Fold:
    """The fold of all elements that a prefix goes along: what a block has."""
    axis = one.fold.axes[0]
    along = next(a for a in equation.axes if a.name == one.bound)
    inside = () if along.extent == axis.extent else (Var(axis.name) < axis.extent,)
    return replace(one.fold, guard=conjunction(one.rest, *inside))


def heads(phase: Phase, fresh: Callable[[str], str]) -> tuple[Equation, ...]:
    """The equations of the second launch: what comes before each block, one for each scan."""
    made: list[Equation] = []
    parts = dict(zip(outermost(phase.equation.value), phase.parts, strict=True))
    for fold, (one, grid) in blocks(phase).items():
        here, there = (
            Axis(grid.name, grid.extent, "data", grid.span),
            Axis(f"{grid.name} before", grid.extent, "reduction", grid.span),
        )
        index = tuple(Var(a.name) for a in (*others(phase, one), there))
        part = Read(parts[fold], index, fold.dtype, fold.span)
        value = Fold(fold.monoid, (there,), Var(there.name) < Var(here.name), part, fold.dtype, fold.span)
        name = fresh(f"{phase.equation.target}_before")
        made.append(Equation(name, (*others(phase, one), here), value, phase.equation.span))
    return tuple(made)


def known(phase: Phase, number: int) -> Fold:
    """What comes before a block, by the inputs: `⊕[k < first index of the block] b(k)`."""
    one, grid = list(blocks(phase).values())[number]
    return replace(one.fold, guard=conjunction(one.rest, Var(one.index) < start(phase, one, grid)))


def space(head: Equation) -> Tensor:
    """The workspace of what comes before each block."""
    return Tensor(head.target, head.value.dtype, tuple(a.extent for a in head.axes), "workspace", head.span)


def check_blocks(first: Phase, last: Phase, problems: Problems) -> bool:
    """Whether the blocks of the third launch own what those of the first one do. Says if not."""
    for (one, grid), other in zip(blocks(first).values(), [left(last, f) for f in scans(last)], strict=False):
        if len(other) != 1 or other[0] != grid or start(first, one, grid) != start(last, one, other[0]):
            title = f"the blocks of {last.equation.target} are not those that its scan began with"
            reason, label = "placed otherwise here", Label(first.span, f"{one.bound} is placed so where the scan begins")
            fix = f"place {one.bound} alike in both launches, with the same factor {grid.name} of the grid"
            problems.add("TG538", title, last.span, reason, label, help=fix)
            return False
    return True


def start(phase: Phase, one: Prefix, grid: Axis) -> Term:
    """The first index of a block."""
    terms = phase.owner.by_axis
    zeros: dict[str, Term] = {a.name: Const(0) for a in phase.owner.domain.axes if a.name != grid.name}
    return substitute(terms[one.bound], zeros)


def check_open(phase: Phase, problems: Problems, launches: int) -> bool:
    """Whether a scan that the grid leaves open can go on in later launches. Says if not."""
    scan = scans(phase)
    target, names = phase.equation.target, ", ".join(a.name for a in incomplete(phase))
    folds = [f for f in outermost(phase.equation.value) if left(phase, f)]
    title, place = f"the prefix of {target} goes along blocks: {names} is carried by the grid", Label(phase.span, "placed here")
    if any(f not in scan for f in folds):
        reason, fix = "a fold beside it is left open too", "compute that fold by an equation of its own"
    elif any(len(left(phase, f)) > 1 for f in folds):
        reason, fix = "several factors of the grid carry it", "let one factor of the grid carry it"
    elif launches < 2:
        reason = "blocks of one launch cannot wait for each other"
        fix = f"three launches evaluate {target}: what each block has, what comes before it (placing {names}), and its prefixes"
    else:
        return True
    problems.add("TG533", title, folds[0].span, reason, place, help=fix)
    return False
