"""The factors of a launch: who carries them, in which order they must stay, and the launch over other ones, or as those that are derived.

Comes in: launches and phases. Goes out: factors by what they are for, phases, launches. The one idea: a factor is a factor whoever carries it,
and `t` and `(t // 32, t % 32)` are one thread, so to change factors is a substitution along an iso. A partial value of a fold across the grid has
the grid factors as further indices; and an output that atomic updates combine starts as the unit, in a launch before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tinygpu.category.monoid import as_monoid, neutral
from tinygpu.category.owner import Arrow, row_major
from tinygpu.category.region import Region
from tinygpu.category.term import Axis, Const, Fold, Term, Var, outermost_folds, substitute, variables, walk
from tinygpu.derive.nest import Build
from tinygpu.derive.reduce import extent, lanes, strides
from tinygpu.model.across import atomic, fold_factors, left, scans, whole_fold, without
from tinygpu.model.machine import Launch, Machine, Phase
from tinygpu.model.op import Equation
from tinygpu.record import replace


def factors(launch: Launch) -> tuple[Axis, ...]:
    """Every factor of a launch: its workers', and the thread's own."""
    return (*launch.grid, *launch.block, *(a for phase in launch.phases for a in phase.owner.domain.axes))


def names_taken(machine: Machine) -> set[str]:
    """The names of a machine's sizes, arrays, params and factors; not those of intermediates, which may be the names of what holds them."""
    named = (*machine.op.tensors, *machine.workspaces)
    names = {*machine.op.sizes, *(t.name for t in named), *(name for name, _ in machine.constants)}
    return names.union(*({a.name for a in factors(launch)} for launch in machine.launches))


def meeting(launch: Launch) -> frozenset[str]:
    """The block factors that some fold runs over."""
    return frozenset(a.name for phase in launch.phases for a in fold_factors(phase).values() if a.sort == "block")


def output(phase: Phase) -> frozenset[str]:
    """The factors of an equation's output."""
    terms = phase.owner.by_axis
    return frozenset().union(*(variables(terms[a.name]) for a in phase.equation.axes))


def along(phase: Phase, *indices: str) -> tuple[Axis, ...]:
    """The factors that indices run along, in the order in which their terms name them."""
    terms, axes = phase.owner.by_axis, {a.name: a for a in phase.owner.domain.axes}
    names = dict.fromkeys(t.name for i in indices for t in walk(terms[i]) if isinstance(t, Var))
    return tuple(axes[n] for n in names if n in axes)


def in_order(phase: Phase) -> Iterator[tuple[str, ...]]:
    """The factors along which something is scanned, or folded by a monoid that does not commute: slowest first."""
    prefixes = scans(phase)
    for fold in (t for t in walk(phase.equation.value) if isinstance(t, Fold)):
        if fold in prefixes or not as_monoid(fold.monoid).commutative:
            yield tuple(a.name for a in along(phase, *(a.name for a in fold.axes)))


def refactored(phase: Phase, parts: Mapping[str, tuple[Axis, ...]]) -> Phase:
    """The phase over other factors: each of some is the number whose digits the new ones are."""
    put: dict[str, Term] = {name: row_major(axes) for name, axes in parts.items()}
    owner, axes = phase.owner, cut(phase.owner.domain.axes, parts)
    guard, terms = (tuple(substitute(t, put) for t in every) for every in (owner.domain.guard, owner.terms))
    names = {name: tuple(a.name for a in axes) for name, axes in parts.items()}
    ways = (replace(r, factors=tuple(a for n in r.factors for a in names.get(n, (n,)))) for r in phase.reduce)
    return replace(phase, owner=Arrow(Region(axes, guard), owner.codomain, terms), reduce=tuple(ways))


def cut(axes: tuple[Axis, ...], parts: Mapping[str, tuple[Axis, ...]]) -> tuple[Axis, ...]:
    """The factors, some of them as others."""
    return tuple(part for axis in axes for part in parts.get(axis.name, (axis,)))


def restricted(phase: Phase, more: tuple[Axis, ...] = ()) -> Phase:
    """The phase with the indices and the factors of its output alone, and indices that are factors themselves."""
    owner, terms, used = phase.owner, phase.owner.by_axis, output(phase)
    names = [a.name for a in phase.equation.axes]
    inside = {a.name for a in owner.domain.axes}
    parts = tuple(p for p in owner.domain.guard if variables(p) & inside <= used)
    axes = (*(a for a in owner.domain.axes if a.name in used), *more)
    mine = tuple(a for a in owner.codomain if a.name in names)
    codomain = (*mine, *(Axis(a.name, a.extent, "reduction", a.span) for a in more))
    index = (*(terms[a.name] for a in mine), *(Var(a.name) for a in more))
    return replace(phase, owner=Arrow(Region(axes, parts), codomain, index), parts=())


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
    for fold, name in zip(outermost_folds(equation.value), phase.parts, strict=True):
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
    return replace(restricted(phase), equation=replace(equation, value=neutral(fold.monoid, fold.dtype)), reduce=())


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
    return replace(launch, block=cut(launch.block, halves), phases=tuple(refactored(p, halves) for p in launch.phases))
