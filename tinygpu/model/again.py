"""Intermediates that are computed again where they are read: a thread that folds along a loop holds of each turn no more than that turn.

    s[i, j] = sum[e] …      z[i] = logsumexp[j] s[i, j]      ↦      z[i] = logsumexp[j] sum[e] …

Comes in: the phases of a launch. Goes out: the equations that have to be put in, and where. The one idea: what has a fold is held by the thread
that computed it, in the turn in which it did; where another equation folds along those turns, in a loop of its own, nothing of it is left.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from tinygpu.category.term import Fold, Term, outermost_folds, reads, variables, walk
from tinygpu.model.across import scans
from tinygpu.model.machine import Phase
from tinygpu.model.op import Equation, put_in
from tinygpu.record import replace


def computed_again(phases: Sequence[Phase], time: Sequence[str], held: Collection[str]) -> tuple[Equation, ...]:
    """The equations of a launch, each with what it has to compute again put in. What is `held` by a clause of the machine stays as it is."""
    equations = {p.equation.target: p.equation for p in phases}
    loose = {n: e for n, e in equations.items() if n not in held and not outermost_folds(e.value)}
    turning = {p.equation.target: _turning(p, time) for p in phases if p.equation.target not in {*held, *loose}}
    again: dict[str, Equation] = {}
    while more := _lost(phases, {**loose, **again}, turning) - again.keys():
        again |= {name: equations[name] for name in more}
    if not again:
        return tuple(equations.values())
    through = {n: e for n, e in loose.items() if again.keys() & {r.tensor for r in reads(put_in(e.value, loose))}}
    made = tuple(_put(e, {**through, **again}) for e in equations.values())
    there = {a for e in equations.values() for a in _indices(e)}
    return made if all(_indices(e) <= there for e in made) else tuple(equations.values())  # two folds have one name


def _put(equation: Equation, again: Mapping[str, Equation]) -> Equation:
    value = put_in(equation.value, again)
    return equation if value is equation.value else replace(equation, value=value)


def _indices(equation: Equation) -> set[tuple[str, Term]]:
    """The indices of an equation and of its folds, each with its extent."""
    folds = (a for t in walk(equation.value) if isinstance(t, Fold) for a in t.axes)
    return {(a.name, a.extent) for a in (*equation.axes, *folds)}


def _turning(phase: Phase, time: Sequence[str]) -> tuple[bool, ...]:
    """Which axes of an equation have a loop around its fold, each turn of which leaves nothing to the next; none where blocks have parts of the fold."""
    owner, axes = phase.owner.by_axis, phase.owner.domain.axes
    output = [variables(owner[a.name]) for a in phase.equation.axes]
    folded = [a for a in axes if not any(a.name in names for names in output)]
    first = min((time.index(a.name) for a in folded if a.sort == "time"), default=len(time))
    return tuple(not any(a.sort == "grid" for a in folded) and bool(names & {*time[:first]}) for names in output)


def _lost(phases: Sequence[Phase], inside: Mapping[str, Equation], turning: Mapping[str, tuple[bool, ...]]) -> set[str]:
    """The equations whose value is read in a fold along the loops around it; a scan goes along them with it."""
    found: set[str] = set()
    for phase in phases:
        value = put_in(phase.equation.value, inside)
        along = scans(phase, value)
        for fold in (f for f in outermost_folds(value) if f not in along):
            bound = {a.name for t in walk(fold) if isinstance(t, Fold) for a in t.axes}
            for read in reads(fold):
                turns = zip(turning.get(read.tensor, ()), read.index, strict=False)
                found |= {read.tensor} if any(one and variables(term) & bound for one, term in turns) else set()
    return found
