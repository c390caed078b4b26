"""The factors of a launch: who carries them, in which order they must stay, and the same phase over other ones.

Comes in: launches and phases. Goes out: factors by what they are for, and phases. The one idea: a factor is a factor whoever carries it, and
`t` and `(t // 32, t % 32)` are one thread, so to change factors is a substitution along an iso; the owner arrows stay what they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tinygpu.category.monoid import as_monoid
from tinygpu.category.owner import Arrow
from tinygpu.category.region import Region
from tinygpu.category.term import Axis, Fold, Term, Var, lift, substitute, variables, walk
from tinygpu.model.across import fold_factors, scans
from tinygpu.model.machine import Launch, Machine, Phase
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


def row_major(axes: Iterable[Axis]) -> Term:
    """The number whose digits the factors are, slowest first.

    >>> from tinygpu.category.term import Const, text
    >>> text(row_major((Axis("y", Const(8)), Axis("x", Const(32)))))
    'y*32 + x'
    """
    number: Term = lift(0)
    for axis in axes:
        number = number * axis.extent + Var(axis.name)
    return number


def refactored(phase: Phase, parts: Mapping[str, tuple[Axis, ...]]) -> Phase:
    """The phase over other factors: each of some is the number whose digits the new ones are."""
    put: dict[str, Term] = {name: row_major(axes) for name, axes in parts.items()}
    owner = phase.owner
    axes = cut(owner.domain.axes, parts)
    arrow = Arrow(
        Region(axes, tuple(substitute(g, put) for g in owner.domain.guard)),
        owner.codomain,
        tuple(substitute(t, put) for t in owner.terms),
    )
    names = {name: tuple(a.name for a in axes) for name, axes in parts.items()}
    ways = (replace(r, factors=tuple(a for n in r.factors for a in names.get(n, (n,)))) for r in phase.reduce)
    return replace(phase, owner=arrow, reduce=tuple(ways))


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
