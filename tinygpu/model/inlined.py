"""Values of equations with what is no fold put in where it is read, and the reads of tiles named.

Comes in: the phases of a launch, and which reads are staged. Goes out: the value of each equation over its indices.
The one idea: an intermediate without a fold costs less than a cell that holds it, unless somebody stages or keeps it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tinygpu.category.term import Fold, Read, Term, rebuild, substitute, walk
from tinygpu.model.machine import Phase
from tinygpu.model.op import Equation
from tinygpu.model.tile import BLOCK, Sought, Stage
from tinygpu.record import replace


def inlined(phases: Sequence[Phase], staged: Sequence[Sought | Stage] = (), kept: Collection[str] = ()) -> dict[str, Term]:
    """The value of each equation; a read that is staged bears the name of its stage, its index still that of the tensor, and one of what
    is `kept` stays."""
    sought = [s if isinstance(s, Sought) else Sought(s.tensor, s.pattern, s.at, s.name) for s in staged]
    done: dict[str, tuple[Equation, Term]] = {}
    made = {p.equation.target for p in phases}

    def here(phase: Phase, early: bool) -> list[Sought]:
        inside = (BLOCK, *phase.owner.domain.names)
        return [s for s in sought if s.at in inside and early == (s.tensor in made)]

    def put(term: Term) -> Term:
        term = rebuild(term, put)
        if isinstance(term, Read) and term.tensor in done:
            equation, value = done[term.tensor]
            if term.tensor not in kept and not any(isinstance(inner, Fold) for inner in walk(value)):
                return substitute(value, dict(zip((a.name for a in equation.axes), term.index, strict=True)))
        return term

    for phase in phases:
        value = put(named(phase.equation.value, here(phase, early=True)))
        done[phase.equation.target] = (phase.equation, value)
    # Reads of memory are named last: an equation that is put in elsewhere may be read at another index there.
    return {p.equation.target: named(done[p.equation.target][1], here(p, early=False)) for p in phases}


def named(term: Term, sought: Sequence[Sought]) -> Term:
    """The term with the reads that are sought bearing the names of their stages."""
    term = rebuild(term, lambda inner: named(inner, sought))
    if isinstance(term, Read):
        for one in sought:
            if one.finds(term):
                return replace(term, tensor=one.name)
    return term
