"""The order that rings make: what a thread did in a section is before what another one does in a later section.

    fill x → use y    y ≥ x            use y → fill x    x ≥ y + slots            both ways in turn    y ≥ x + slots

Comes in: the body of a launch and two places. Goes out: where the second is behind an edge from the first, at which turn the first one's thread gives the slot
away, and what it has passed until then. The one idea: all of it is linear in the turns, and the slots of a ring are a number.

A thread gives the slot of turn y away at the end of turn y + behind; whoever enters turn x has entered all before.
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygpu.category.term import Term, Var, conjunction, negation, substitute
from tinygpu.obligations.between import LATER, Events, flows
from tinygpu.program.call import FILL, USE
from tinygpu.program.ring import Section, section_of, sections
from tinygpu.program.traverse import Body, Path
from tinygpu.record import dataclass, replace


@dataclass(frozen=True, slots=True)
class Edge:
    """The second is behind the first where `where` holds; the first one's thread has given its slot away at turn `turn` of `section`."""

    where: Term
    turn: Term
    section: Section

    def passed(self, body: Body, first: Path) -> Iterator[tuple[Term, Events]]:
        """What the first one's thread passes until it gives the slot away, and where that is so."""
        (loop,) = self.section.loops
        names = {loop.axis.name + LATER: self.turn}
        for flow in flows(body, first, self.section.end):
            way = tuple(replace(e, count=substitute(e.count, names), where=substitute(e.where, names)) for e in flow.events)
            yield conjunction(self.where, *(substitute(f, names) for f in flow.facts)), way


def edge(body: Body, first: Path, second: Path) -> Edge | None:
    """The edge of a ring in whose sections both are; names of the second are marked.

    >>> edge((), (), ()) is None
    True
    """
    every = sections(body)
    one, two = section_of(every, first), section_of(every, second)
    if one is None or two is None or one.enter.ring != two.enter.ring:
        return None
    x, y = Var(one.loops[0].axis.name), Var(two.loops[0].axis.name + LATER)
    if one.enter.way == FILL:
        return Edge(y >= x + (0 if two.enter.way == USE else one.slots), x, one)
    return Edge(y >= x + one.slots, y - one.slots + one.leave.behind, one)


def unordered(body: Body, first: Path, second: Path) -> tuple[Term, ...]:
    """What is known of two accesses of different threads that no edge orders, whichever comes first."""
    there, back = edge(body, first, second), edge(body, second, first)
    if there is None or back is None:
        return ()
    (loop,) = there.section.loops
    here = loop.axis.name
    names = {here: Var(here + LATER), here + LATER: Var(here)}
    return negation(there.where), negation(substitute(back.where, names))
