"""What a program does, in closed form: its stores, its accesses and its ghost facts, each at its point.

Comes in: what `dataflow` sees as it executes. Goes out: one value that every property file reads.
The one idea: a store, an access and a fact are the only things about a program that can be right or wrong.
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygpu.category.region import Region, operands
from tinygpu.category.term import INDEX, Fold, Read, Term, fresh, reads, rebuild, tensors, variables, whole
from tinygpu.diagnostic import NOWHERE, Span
from tinygpu.obligations.cells import Cells, State
from tinygpu.obligations.made import View, single
from tinygpu.obligations.recurrence import UNSOLVED as UNSOLVED
from tinygpu.program.step import Assign
from tinygpu.record import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the text: the launch, the position of the step in its body, of the step in that one's, …, and the turns of loops that were
    followed one by one."""

    launch: int = 0
    path: tuple[int, ...] = ()
    turns: tuple[tuple[str, int], ...] = ()


HERE = Place()


@dataclass(frozen=True, slots=True)
class Store:
    """`tensor[index] = value`, or `⊕= value` where `update` names the monoid, at a point."""

    tensor: str
    index: tuple[Term, ...]
    value: Term
    point: Region
    step: Assign
    update: str = ""
    launch: int = 0


@dataclass(frozen=True, slots=True)
class Access:
    """A read or a write of `array[index]` at a point; `index` is resolved, `source` is how it was written."""

    array: str
    index: tuple[Term, ...]
    extents: tuple[Term, ...]
    point: Region
    span: Span
    write: bool = False
    atomic: str = ""
    place: Place = HERE


@dataclass(frozen=True, slots=True)
class Meeting:
    """Threads that write an array in one step: `apart` says that no two of them write one cell."""

    array: str
    apart: Term
    point: Region
    span: Span


@dataclass(frozen=True, slots=True)
class Collective:
    """A barrier or a shuffle, which all threads of its scope (`block` or `warp`) have to reach together; `lanes`: how far a shuffle goes."""

    scope: str
    word: str
    point: Region
    span: Span = field(default=NOWHERE)
    launch: int = 0
    lanes: tuple[Term, ...] = ()


@dataclass(frozen=True, slots=True)
class Fact:
    """A `holds`: `value` is what the cell holds, `claim` what the program says of it."""

    value: Term
    claim: Term
    point: Region
    span: Span


@dataclass(frozen=True, slots=True)
class Trace:
    """Everything the program does, in closed form, each at its point.

    `values` are what the evaluated expressions (also guards and the cell of an update) give, `computed` their index terms as written:
    a kernel computes also what the proof sees to be decided. `final` are the global arrays that more than one plain launch makes.
    """

    stores: tuple[Store, ...] = ()
    accesses: tuple[Access, ...] = ()
    ghosts: tuple[Fact, ...] = ()
    values: tuple[tuple[Term, Region, Span], ...] = ()
    computed: tuple[tuple[Term, Region, Span], ...] = ()
    meetings: tuple[Meeting, ...] = ()
    collectives: tuple[Collective, ...] = ()
    final: tuple[Cells, ...] = ()

    def plus(self, other: Trace) -> Trace:
        return Trace(
            self.stores + other.stores,
            self.accesses + other.accesses,
            self.ghosts + other.ghosts,
            self.values + other.values,
            self.computed + other.computed,
            self.meetings + other.meetings,
            self.collectives + other.collectives,
            self.final + other.final,
        )

    def seen(self, view: View, guards: View) -> Trace:
        """The trace with every value seen from one side, and every guard from that or another."""

        def at(point: Region) -> Region:
            if all(single(a.extent) for a in point.axes) and all(map(single, point.guard)):
                return point
            return Region(tuple(replace(a, extent=guards(a.extent)) for a in point.axes)).under(*map(guards, point.guard))

        def several(terms: tuple[Term, ...]) -> tuple[Term, ...]:
            return tuple(map(view, terms))

        def access(a: Access) -> Access:
            index, point = several(a.index), at(a.point)
            return a if index == a.index and point is a.point else replace(a, index=index, point=point)

        return Trace(
            tuple(replace(s, index=several(s.index), value=view(s.value), point=at(s.point)) for s in self.stores),
            tuple(map(access, self.accesses)),
            tuple(replace(g, value=view(g.value), claim=view(g.claim), point=at(g.point)) for g in self.ghosts),
            tuple((view(v), at(p), span) for v, p, span in self.values),
            tuple((view(v), at(p), span) for v, p, span in self.computed),
            tuple(replace(m, apart=view(m.apart), point=at(m.point)) for m in self.meetings),
            tuple(replace(c, point=at(c.point), lanes=several(c.lanes)) for c in self.collectives),
            tuple(replace(c, value=view(c.value)) for c in self.final),
        )


def guarded_reads(term: Term, point: Region) -> list[tuple[Read, Region]]:
    """Every read of a term, with the point at which it is really evaluated: only the branch that is taken, inside its folds."""
    return [(t, where) for t, where in evaluated_in(term, point) if isinstance(t, Read)]


def evaluated_in(term: Term, point: Region) -> Iterator[tuple[Term, Region]]:
    """What is read and computed of values in a term, the innermost first, each at the point where it is evaluated."""
    if whole(term):
        return
    for part, where in operands(term, point):
        yield from evaluated_in(part, where)
    yield term, point


def index_terms(term: Term, point: Region) -> Iterator[tuple[Term, Region]]:
    """The largest index terms of an expression, each where it is computed."""
    if term.dtype == INDEX:
        yield term, point
        return
    for part, where in () if isinstance(term, Fold) else operands(term, point):
        yield from index_terms(part, where)


def replaced(term: Term, cells: State) -> Term:
    """The term with reads of the named arrays replaced by cells; binders step aside for what a cell speaks of."""
    if cells.keys().isdisjoint(tensors(term)):
        return term
    match term:
        case Read(name, index) if name in cells:
            return cells[name].at(tuple(replaced(i, cells) for i in index))
        case Fold():
            free = (variables(cells[r.tensor].value) for r in reads(term) if r.tensor in cells)
            term = fresh(term, frozenset().union(*free))
    return rebuild(term, lambda t: replaced(t, cells))


def started(trace: Trace, starts: State) -> Trace:
    """A body's trace with the values at the start of an iteration put in for their placeholders."""

    def put(term: Term, point: Region) -> Term:
        return point.settled(replaced(term, starts))

    def at(point: Region) -> Region:
        bare = Region(point.axes)
        return bare.under(*(g if replaced(g, starts) == g else put(g, bare) for g in point.guard))

    if not starts:
        return trace
    stores = tuple(
        replace(s, index=tuple(put(i, s.point) for i in s.index), value=put(s.value, at(s.point)), point=at(s.point))
        for s in trace.stores
    )
    accesses = tuple(replace(a, index=tuple(put(i, a.point) for i in a.index), point=at(a.point)) for a in trace.accesses)
    ghosts = tuple(replace(g, value=put(g.value, g.point), claim=put(g.claim, g.point), point=at(g.point)) for g in trace.ghosts)
    values = tuple((put(v, p), at(p), s) for v, p, s in trace.values)
    computed = tuple((replaced(v, starts), at(p), s) for v, p, s in trace.computed)
    meetings = tuple(replace(m, apart=put(m.apart, at(m.point)), point=at(m.point)) for m in trace.meetings)
    collectives = tuple(replace(c, point=at(c.point)) for c in trace.collectives)
    return Trace(stores, accesses, ghosts, values, computed, meetings, collectives, trace.final)
