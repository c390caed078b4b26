"""What a program does, in closed form: its stores and accesses, what it computes, what it says, and where threads meet, each at its point.

Comes in: what `execution` sees. Goes out: events, which every property file reads. The one idea: an event is terms at a point, so that a trace is seen
from another side, or from the start of an iteration, by one walk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, TypeAlias, TypeVar

from tinygpu.category.region import Region, operands
from tinygpu.category.term import (
    INDEX,
    Axis,
    Fold,
    Read,
    Term,
    Var,
    conjuncts,
    fresh,
    memoised,
    reads,
    rebuild,
    tensors,
    variables,
    whole,
)
from tinygpu.category.visited import Visited
from tinygpu.diagnostic import Span
from tinygpu.obligations.cells import FRESH, Cells, State
from tinygpu.obligations.made import View, single
from tinygpu.obligations.recurrence import UNSOLVED as UNSOLVED
from tinygpu.program.step import Assign, Program
from tinygpu.record import dataclass, replace

HELD = " held"


def unsolved(name: str, old: Term, place: tuple[str, ...], axis: Axis) -> tuple[Read, Read]:
    """Symbols for a cell whose loop has no closed form, before a turn and after the loop. One that was written before the loop holds some number all the
    same: no turn takes that away."""
    fresh = any(one.endswith(FRESH) or (one.endswith(UNSOLVED) and HELD not in one) for one in tensors(old))
    index = tuple(map(Var, place))
    name = name if fresh else f"{name}{HELD}"
    return Read(f"{name} in{UNSOLVED}", (*index, Var(axis.name)), old.dtype), Read(f"{name}{UNSOLVED}", index, old.dtype)


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the text: the launch, the position of the step in its body, of the step in that one's, …, and the turns of loops that were
    followed one by one."""

    launch: int = 0
    path: tuple[int, ...] = ()
    turns: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Store:
    """`tensor[index] = value`, or `⊕= value` where the step names a monoid."""

    tensor: str
    index: tuple[Term, ...]
    value: Term
    point: Region
    step: Assign
    launch: int


@dataclass(frozen=True, slots=True)
class Access:
    """A read or a write of `array[index]`; `index` is resolved."""

    array: str
    index: tuple[Term, ...]
    extents: tuple[Term, ...]
    point: Region
    span: Span
    write: bool
    atomic: str
    place: Place


@dataclass(frozen=True, slots=True)
class Value:
    """What an evaluated expression gives, also of a guard and of the cell of an update."""

    term: Term
    point: Region
    span: Span


@dataclass(frozen=True, slots=True)
class Computed:
    """An index term as it is written: a kernel computes also what the proof sees to be decided."""

    term: Term
    point: Region
    span: Span


@dataclass(frozen=True, slots=True)
class Meeting:
    """Threads that write an array in one step: `apart` says that no two of them write one cell."""

    array: str
    apart: Term
    point: Region
    span: Span


@dataclass(frozen=True, slots=True)
class Collective:
    """A barrier, a shuffle, …, which all threads of its scope (a `block`, a `warp`, a `warpgroup`) have to reach together; `lanes`: how far a shuffle goes."""

    scope: str
    word: str
    point: Region
    span: Span
    launch: int
    lanes: tuple[Term, ...] = ()


@dataclass(frozen=True, slots=True)
class Fact:
    """A `holds`: `value` is what the cell holds, `claim` what the program says of it."""

    value: Term
    claim: Term
    point: Region
    span: Span


Event: TypeAlias = Store | Access | Value | Computed | Meeting | Collective | Fact
E = TypeVar("E", bound=Event)
TERMS: dict[type[Any], tuple[str, ...]] = {
    Store: ("index", "value"),
    Access: ("index",),
    Value: ("term",),
    Computed: ("term",),
    Meeting: ("apart",),
    Collective: ("lanes",),
    Fact: ("value", "claim"),
}


def terms_of(event: Event) -> Iterator[Term]:
    """The terms of an event, without those of its point."""
    for name in TERMS[type(event)]:
        found = getattr(event, name)
        yield from found if isinstance(found, tuple) else (found,)


def changed(event: E, point: Region, put: Callable[[Term], Term]) -> E:
    """The event at another point, with other terms; itself, where it has the same ones."""
    new: dict[str, Any] = {}
    for name in TERMS[type(event)]:
        old = getattr(event, name)
        terms = old if isinstance(old, tuple) else (old,)
        found = tuple(map(put, terms))
        if any(a is not b for a, b in zip(found, terms, strict=True)):
            new[name] = found if isinstance(old, tuple) else found[0]
    return replace(event, point=point, **new) if new or point is not event.point else event


@dataclass(frozen=True, slots=True)
class Trace:
    """Everything the program does. `final` are the global arrays that more than one plain launch makes, `named` those that are intermediates."""

    events: tuple[Event, ...] = ()
    final: tuple[Cells, ...] = ()
    named: tuple[Cells, ...] = ()

    def of(self, kind: type[E]) -> tuple[E, ...]:
        """The events of a kind, in order."""
        return tuple(event for event in self.events if isinstance(event, kind))

    def seen(self, view: View, guards: View) -> Trace:
        """The trace with every value seen from one side, and every guard from that or another."""

        def at(point: Region) -> Region:
            if all(single(a.extent) for a in point.axes) and all(map(single, point.guard)):
                return point
            return Region(tuple(replace(a, extent=guards(a.extent)) for a in point.axes)).under(*map(guards, point.guard))

        events = tuple(changed(event, at(event.point), view) for event in self.events)
        final, named = (tuple(replace(c, content=view(c.value)) for c in cells) for cells in (self.final, self.named))
        return Trace(events, final, named)


def preconditions(program: Program) -> tuple[Term, ...]:
    """The op's and the machine's `where`, as single facts, and that no size is negative."""
    return tuple(Var(s) >= 0 for s in program.op.sizes) + tuple(c for w in program.where for c in conjuncts(w))


def every_cell(program: Program, cells: Cells) -> Region:
    """All that an array holds in the end."""
    return Region(tuple(Axis(f, e) for f, e in cells.extents.items()), preconditions(program))


def guarded_reads(term: Term, point: Region, ends: tuple[str, ...] = ("",)) -> list[tuple[Read, Region]]:
    """Every read of a term, with the point at which it is really evaluated: only the branch that is taken, inside its folds. Those of other names
    than end so are left out."""

    def plain(part: Term) -> bool:
        return not any(name.endswith(ends) for name in tensors(part))

    found = ((t, where) for t, where in evaluated_in(term, point, plain) if isinstance(t, Read))
    return [(t, where) for t, where in found if t.tensor.endswith(ends)]


def evaluated_in(
    term: Term, point: Region, leave: Callable[[Term], bool] = whole, visited: Visited | None = None
) -> Iterator[tuple[Term, Region]]:
    """What is read and computed of values in a term, the innermost first, each at the point where it is evaluated; without what is to be left
    out."""
    visited = visited or Visited()
    if leave(term) or (here := visited.next(term, point)) is None:
        return
    for part, where in operands(term, here):
        yield from evaluated_in(part, where, leave, visited)
    yield term, here


def index_terms(term: Term, point: Region, visited: Visited | None = None) -> Iterator[tuple[Term, Region]]:
    """The largest index terms of an expression, each where it is computed."""
    visited = visited or Visited()
    if term.dtype == INDEX:
        yield term, point
    elif not isinstance(term, Fold) and (here := visited.next(term, point)) is not None:
        for part, where in operands(term, here):
            yield from index_terms(part, where, visited)


@memoised
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


def started(events: Iterable[Event], starts: State) -> Iterator[Event]:
    """What a body does, with the values at the start of an iteration put in for their placeholders."""

    def idle(term: Term) -> bool:
        return starts.keys().isdisjoint(tensors(term))

    def put(point: Region, term: Term) -> Term:
        there = replaced(term, starts)  # which may wait for a loop around
        return there if any("@" in name for name in tensors(there)) else point.settled(there)

    def at(point: Region) -> Region:
        bare = Region(point.axes)
        return bare.under(*(g if replaced(g, starts) == g else put(bare, g) for g in point.guard))

    for event in events:
        if all(map(idle, event.point.guard)) and all(map(idle, terms_of(event))):
            yield event
            continue
        point = at(event.point)
        yield changed(event, point, (lambda term: replaced(term, starts)) if isinstance(event, Computed) else partial(put, point))
