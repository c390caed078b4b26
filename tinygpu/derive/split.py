"""A block factor that is longer than a warp as two: the warp, and the lane in it.

Comes in: a launch. Goes out: the launch in which threads that fold in order are numbered so. The one idea: `t` and `(t // 32, t % 32)`
are one thread, so this is a substitution along an iso, and shuffles move one factor alone.
"""

from __future__ import annotations

from tinygpu.category.monoid import as_monoid
from tinygpu.category.owner import Arrow
from tinygpu.category.region import Region
from tinygpu.category.term import Axis, Const, Fold, Term, Var, substitute, walk
from tinygpu.derive.nest import Build
from tinygpu.derive.reduce import extent, lanes
from tinygpu.model.across import factors
from tinygpu.model.machine import Launch, Phase, Reduce
from tinygpu.model.prefix import scans
from tinygpu.record import replace

Halves = dict[str, tuple[Axis, Axis]]


def halved(build: Build, launch: Launch) -> Launch:
    """The launch with every block factor that is folded in order, and leaves its warp, as two factors."""
    names = in_order(launch)
    halves: Halves = {}
    stride = 1
    for axis in reversed(launch.block):
        along = lanes(axis, stride)
        if axis.name in names and 1 < along < extent(axis):
            high, low = build.fresh(f"{axis.name}_warp"), build.fresh(f"{axis.name}_lane")
            whole = Axis(high, Const(extent(axis) // along), "block", axis.span)
            halves[axis.name] = whole, Axis(low, Const(along), "block", axis.span)
        stride *= extent(axis)
    if not halves:
        return launch
    return replace(launch, block=cut(launch.block, halves), phases=tuple(one(p, halves) for p in launch.phases))


def in_order(launch: Launch) -> frozenset[str]:
    """The block factors along which something is scanned, or folded by a monoid that does not commute."""
    found: set[str] = set()
    for phase in launch.phases:
        along = scans(phase)
        for fold in (t for t in walk(phase.equation.value) if isinstance(t, Fold)):
            if fold in along or not as_monoid(fold.monoid).commutative:
                found |= {a.name for a in factors(phase, fold) if a.sort == "block" and phase.ways.get(a.name) != "shared"}
    return frozenset(found)


def cut(axes: tuple[Axis, ...], halves: Halves) -> tuple[Axis, ...]:
    """The factors, some of them as two."""
    return tuple(part for axis in axes for part in halves.get(axis.name, (axis,)))


def one(phase: Phase, halves: Halves) -> Phase:
    """A phase over the finer factors."""
    put: dict[str, Term] = {name: Var(high.name) * low.extent + Var(low.name) for name, (high, low) in halves.items()}
    owner = phase.owner
    domain = Region(cut(owner.domain.axes, halves), tuple(substitute(g, put) for g in owner.domain.guard))
    arrow = Arrow(domain, owner.codomain, tuple(substitute(t, put) for t in owner.terms))
    ways = tuple(
        Reduce(tuple(a for n in r.factors for a in ((x.name for x in halves[n]) if n in halves else (n,))), r.by, r.span)
        for r in phase.reduce
    )
    return replace(phase, owner=arrow, reduce=ways)
