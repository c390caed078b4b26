"""Conditions made bounds: what every store is under ends an axis, and what every pass is under ends a loop.

    i < ⌈n / 256⌉·256 if i < n   ↦   i < n          for k < K: s += x[k] if k <= i else 0   ↦   for k < i + 1: s += x[k]

Comes in: axes and bodies. Goes out: a `Nest` whose axes and loops end where they do nothing more. The one idea: a condition that is
linear in an axis is a bound of it, and inside the bound it is a fact, which need not be asked again.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable

from tinygpu.category.decide import holds
from tinygpu.category.linear import Polynomial
from tinygpu.category.monoid import as_monoid
from tinygpu.category.region import Region
from tinygpu.category.term import (
    TRUE,
    App,
    Axis,
    Const,
    Term,
    Var,
    conjunction,
    conjuncts,
    memoised,
    reads,
    rebuild,
    select,
    variables,
)
from tinygpu.program.step import Assign, For, If, Step
from tinygpu.program.traverse import map_steps, written
from tinygpu.record import replace
from tinygpu.schedule.nest import Body, Nest, change_terms, loops_of, sites
from tinygpu.schedule.polynomial import limit, positive

NOWHERE = Region()


def bound(axes: tuple[Axis, ...], body: Body, outputs: frozenset[str]) -> Nest:
    """Guards that every store has become bounds of the axes, or guards of the nest; inside they are facts."""
    names = frozenset(a.name for a in axes)
    facts = tuple(f for f in common(body, outputs) if variables(f) & names)
    guards: list[Term] = []
    new = {a.name: a for a in axes}
    for fact in facts:
        match _limit(fact, new):
            case None:
                guards.append(fact)
            case name, top:
                new[name] = replace(new[name], extent=smaller(new[name].extent, top))
    return Nest(tuple(new[a.name] for a in axes), tuple(guards), _bound_loops(assume(body, facts), names))


def contributed(body: Body) -> Body:
    """What adds the unit of its fold where a condition fails, adds nothing there.

    >>> from tinygpu.category.term import Read, text
    >>> j, k = Var("j"), Var("k")
    >>> (step,) = contributed((Assign("s", (), select(j <= k, Read("x", (k,), "f32"), Const(0.0, "f32")), update="sum"),))
    >>> text(step.guard), text(step.value)
    ('j <= k', 'x[k]')
    """

    def each(step: Step) -> Body:
        match step:
            case Assign(value=App("select", (guard, value, nothing)), update=str(update)) if update and not reads(guard):
                if nothing == as_monoid(update).unit(value.dtype):
                    return (replace(step, guard=conjunction(step.guard, guard), value=value),)
        return (step,)

    return map_steps(body, each)


def common(body: Body, targets: Collection[str]) -> tuple[Term, ...]:
    """The conjuncts over axes and sizes that stand over every write to some arrays."""
    found: list[list[Term]] = []
    for site in sites(body):
        if site.step.target in targets:
            inner = {loop.axis.name for loop in site.loops}
            parts = conjuncts(conjunction(*site.guards, site.step.guard))
            found.append([p for p in dict.fromkeys(parts) if not reads(p) and not variables(p) & inner])
    first, *others = found or [[]]
    return tuple(p for p in first if all(p in other for other in others))


def _limit(fact: Term, axes: dict[str, Axis]) -> tuple[str, Term] | None:
    """`(name, top)` when the fact says `name < top` and top is over the sizes alone."""
    p = coarse(positive(fact) or {}, axes)
    match [name for name in axes if any(name in variables(atom) for m in p for atom in m)]:
        case [name]:
            sign, top = limit(p, name) or (0, TRUE)
            return (name, top) if sign < 0 else None
    return None


def coarse(p: Polynomial, axes: dict[str, Axis]) -> Polynomial:
    """`p > 0` without the digits that cannot change it: `4·x - v > 0` is `x > 0` for `v < 4`.

    >>> axes = {"v": Axis("v", Const(4))}
    >>> coarse(positive(Var("q") * 4 + Var("v") < Var("n") * 4), axes) == positive(Var("q") < Var("n"))
    True
    """
    for axis in axes.values():
        others = {m: c for m, c in p.items() if m != (Var(axis.name),)}
        scale = math.gcd(*others.values())
        few = isinstance(axis.extent, Const) and axis.extent.value <= scale
        if p.get((Var(axis.name),)) == -1 and few and not any(axis.name in variables(atom) for m in others for atom in m):
            return coarse({m: c // scale for m, c in others.items()}, axes)
    return p


def smaller(extent: Term, top: Term, region: Region = NOWHERE) -> Term:
    """`min(extent, top)`, which is top where that is known to be the smaller."""
    return top if holds(top <= extent, region) else App("min", (extent, top))


def assume(body: Body, facts: Iterable[Term]) -> Body:
    """The body with conditions that are among the facts gone."""
    known = set(facts)
    if not known:
        return body
    shapes = [p for p in map(positive, known) if p is not None]

    @memoised
    def change(t: Term) -> Term:
        if t in known or (positive(t) in shapes and shapes):
            return TRUE
        match t:
            case App("select", (condition, then, otherwise)):
                return select(change(condition), change(then), change(otherwise))
            case App("and", args):
                return conjunction(*map(change, args))
        return rebuild(t, change)

    return map_steps(change_terms(body, change), lambda step: step.body if isinstance(step, If) and step.guard == TRUE else (step,))


def _bound_loops(body: Body, axes: frozenset[str]) -> Body:
    """Loops whose every assignment has the guard `k < top` end there, if top is over the sizes: no axis stands in it. A loop that does nothing
    beyond may stop, whatever is left in cells that nobody reads."""
    around = axes.union(loop.axis.name for loop in loops_of(body))

    def each(step: Step) -> Body:
        if not isinstance(step, For):
            return (step,)
        axis, facts = step.axis, []
        for fact in common(step.body, written(step.body) - _passing(step, body)):
            match _limit(fact, {axis.name: axis}):
                case _, top if not variables(top) & around:
                    axis = replace(axis, extent=smaller(axis.extent, top))
                    facts.append(fact)
        return (replace(step, axis=axis, body=assume(step.body, facts)),)

    return map_steps(body, each)


def tight(loop: For, region: Region) -> tuple[Axis, tuple[Step, ...]]:
    """A loop that does something only where `k < end` ends there: its axis and its body.

    >>> from tinygpu.category.term import text
    >>> k, q, Q = Var("k"), Var("q"), Var("Q")
    >>> text(tight(For(Axis("k", Q), (If(k < q + 1, ()),)), Region((Axis("q", Q),)))[0].extent)
    'q + 1'
    """
    match loop:
        case For(axis, (If(guard, inner),)) if not isinstance(axis.extent, Const):
            sign, end = limit(positive(guard), axis.name) or (0, TRUE)
            if sign < 0 and axis.name not in variables(end) and not reads(end):
                return replace(axis, extent=smaller(axis.extent, end, region)), inner
    return loop.axis, loop.body


def _passing(loop: For, whole: Body) -> set[str]:
    """The cells that every pass of a loop sets before it reads them, and nobody uses outside: what they hold at its end is lost."""
    out = set()
    for name in (s.target for s in loop.body if isinstance(s, Assign)):
        first, *others = (site for site in sites(loop.body) if site.touches(name))
        outside = sum(site.touches(name) for site in sites(whole)) > len(others) + 1
        if first.sets(name) and not first.loops and not first.guards and not outside:
            out.add(name)
    return out


def ended(nest: Nest, where: tuple[Term, ...]) -> Nest:
    """The nest with loops to `min(a, b)` that run to the one of both that the preconditions say is the smaller."""
    box = Region((), tuple(c for w in where for c in conjuncts(w) if not reads(c)))

    def each(step: Step) -> Body:
        match step:
            case For(Axis(extent=App("min", (a, b)))):
                least = b if holds(b <= a, box) else a if holds(a <= b, box) else step.axis.extent
                return (replace(step, axis=replace(step.axis, extent=least)),)
        return (step,)

    return replace(nest, body=map_steps(nest.body, each))
