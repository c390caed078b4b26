"""A launch as those that are derived: what it leaves of folds across the grid, what it clears before, and its threads by warps.

Comes in: a launch. Goes out: launches. The one idea: a partial value has the grid factors as further indices, so it is stored like any other
value; and an output that atomic updates combine starts as the unit, in a launch before.
"""

from __future__ import annotations

from tinygpu.category.monoid import as_monoid
from tinygpu.category.owner import Arrow
from tinygpu.category.term import Axis, Const, Fold, Var, outer_folds
from tinygpu.derive.factors import cut, in_order, refactored, restricted
from tinygpu.derive.nest import Build
from tinygpu.derive.reduce import extent, lanes, strides
from tinygpu.model.across import atomic, left, scans, whole_fold, without
from tinygpu.model.machine import Launch, Phase
from tinygpu.model.op import Equation
from tinygpu.record import replace


def pieces(launch: Launch) -> Launch:
    """The launch with each phase that leaves folds open as one phase for each workspace."""
    return replace(launch, phases=tuple(one for phase in launch.phases for one in opened(phase)))


def opened(phase: Phase) -> tuple[Phase, ...]:
    """A phase, or the partial folds that it leaves: `part[axes, g] = fold …`."""
    if not phase.parts or phase.parts == (phase.equation.target,):
        return (phase,)
    equation, owner = phase.equation, phase.owner
    along = scans(phase)
    made: list[Phase] = []
    for fold, name in zip(outer_folds(equation.value), phase.parts, strict=True):
        if name:
            grid = left(phase, fold)
            more = tuple(Axis(f"grid {a.name}", a.extent, "data", a.span) for a in grid)  # no index of an equation has such a name
            one = along.get(fold)  # of a scan, a block leaves the fold of all that it goes along
            axes, value = without(equation.axes, one), fold if one is None else whole_fold(one, equation)
            kept = [(a, t) for a, t in zip(owner.codomain, owner.terms, strict=True) if one is None or a.name != one.bound]
            arrow = Arrow(owner.domain, (*(a for a, _ in kept), *more), (*(t for _, t in kept), *(Var(a.name) for a in grid)))
            partial = Equation(name, (*axes, *more), value, equation.span)
            made.append(replace(phase, equation=partial, owner=arrow, parts=(name,)))
    return tuple(made)


def cleared(launch: Launch) -> Launch | None:
    """The launch that stores the unit in every output that is updated atomically; its work object is what the outputs use."""
    phases = tuple(cleaned(phase) for phase in launch.phases if atomic(phase))
    if not phases:
        return None
    used = {a.name for phase in phases for a in phase.owner.domain.axes}
    grid, block = (tuple(a for a in axes if a.name in used) for axes in (launch.grid, launch.block))
    return Launch("start", grid, block, phases, launch.time, launch.span)


def cleaned(phase: Phase) -> Phase:
    """`target[axes] = unit`, on the factors of the output alone."""
    equation = phase.equation
    fold = equation.value
    assert isinstance(fold, Fold), "atomic updates are of a fold and nothing else"
    unit = as_monoid(fold.monoid).unit(fold.dtype)
    assert unit is not None, "an atomic fold starts from a unit"
    return replace(restricted(phase), equation=replace(equation, value=unit), reduce=())


def halved(build: Build, launch: Launch) -> Launch:
    """The launch with every block factor that is folded in order, and leaves its warp, as two: the warp, and the lane in it, so that shuffles
    move one factor alone."""
    names = {n for p in launch.phases for order in in_order(p) for n in order if p.ways.get(n) != "shared"}
    halves: dict[str, tuple[Axis, ...]] = {}
    for axis in reversed(launch.block):
        near = lanes(axis, strides(launch.block)[axis.name])
        if axis.name in names and 1 < near < extent(axis):
            high, low = build.fresh(f"{axis.name}_warp"), build.fresh(f"{axis.name}_lane")
            whole = Axis(high, Const(extent(axis) // near), "block", axis.span)
            halves[axis.name] = whole, Axis(low, Const(near), "block", axis.span)
    if not halves:
        return launch
    return replace(launch, block=cut(launch.block, halves), phases=tuple(refactored(p, halves) for p in launch.phases))
