"""States of which every element goes its own way: a thread holds it in a cell, turn by turn.

    c := base        c holds u[0, i]        for t < T { c := step        c holds u[t + 1, i] }        u[T, i]  ↦  c

Comes in: values over factors that read states. Goes out: steps, and the values with cells in place of states. The one idea: the induction that defines a
state is the loop, and its claim at each turn is a ghost fact. What reads its neighbours needs threads that work together, and a program of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tinygpu.category.decide import holds
from tinygpu.category.linear import as_written, polynomial
from tinygpu.category.region import Region
from tinygpu.category.simplify import simplify
from tinygpu.category.term import (
    Axis,
    Const,
    Fold,
    Read,
    Term,
    Var,
    conjunction,
    exchange,
    memoised,
    outermost_folds,
    reads,
    rebuild,
    select,
    substitute,
    variables,
    walk,
)
from tinygpu.derive.fold import Place, folded
from tinygpu.derive.nest import REGISTER, TIME, Build, guarded, loops, own, point
from tinygpu.derive.operand import fill
from tinygpu.derive.plan import Plan
from tinygpu.model.op import Equation
from tinygpu.model.problems import refused
from tinygpu.program.step import Assign, For, Ghost, Step
from tinygpu.record import dataclass, replace


@dataclass(frozen=True, slots=True)
class Course:
    """States that go on together at one place, `index` without the time, each in a cell; what is made of them is in another one until all are made,
    and what they `were` in a third, of those that are read then."""

    build: Build
    group: tuple[Equation, ...]
    index: tuple[Term, ...]
    held: Mapping[str, Read]
    made: Mapping[str, Read]
    were: Mapping[str, Read]
    place: Place

    def at(self, state: Equation, time: Term) -> Read:
        """A state here, at a time."""
        place = [a.name for a in state.axes].index(state.along)
        return Read(state.target, (*self.index[:place], time, *self.index[place:]), state.value.dtype, state.span)

    def value(self, state: Equation, time: Term, value: Term, known: Mapping[Term, Term]) -> Term:
        """What its equation makes of it then, of what is `known`. Raises TG109 where that needs more."""
        names = [a.name for a in state.axes]
        bind = dict(zip(names, self.at(state, time).index, strict=True))
        found = exchange(in_time(simplify(substitute(value, bind), Region(self.build.axes)), self.build), known)
        beside = {read: cell for read in reads(found) if (cell := self.beside(read, known)) is not None}
        found = unrolled(exchange(found, beside), frozenset().union(*map(variables, beside.values())))
        for read in reads(found):
            if read.tensor in (one.target for one in self.build.states):
                raise refused("TG109.state", self.place.span, state.span, name=state.target)
        return found

    def beside(self, read: Read, known: Mapping[Term, Term]) -> Term | None:
        """The cell of this thread that holds what is known of another element: its place is another number for a factor of registers."""
        names = {a.name for a in self.place.cells}
        for mine, held in known.items():
            if isinstance(mine, Read) and mine.tensor == read.tensor:
                bind = {i.name: j for i, j in zip(mine.index, read.index, strict=True) if isinstance(i, Var) and i.name in names}
                if substitute(mine, bind) == read and bind:
                    return substitute(held, bind)
        return None

    def set(self, state: Equation, target: Read, value: Term, time: Term | None = None) -> tuple[Step, ...]:
        """The steps that put a value into a cell, which then holds the state of a time. A cell beyond the output is set too, so that nothing is left of
        what an earlier turn of the loops around made of it."""
        before, value = self.once(value)
        value = select(conjunction(*self.place.rest), value, fill(value.dtype))
        first = assigned(target, value, state)
        fact = () if time is None else (Ghost(target.tensor, target.index, self.at(state, time), state.span),)
        return before + loops(self.each, (first, *(guarded(self.place.rest, fact, state.span) if fact else ())), state.span)

    def once(self, value: Term) -> tuple[tuple[Step, ...], Term]:
        """The steps that fold, and the value without folds: what is the same for several cells is folded once for them."""
        before: tuple[Step, ...] = ()
        for fold in outermost_folds(value):
            cells = tuple(a for a in self.place.cells if a.name in variables(fold))
            steps, (held,) = folded(self.build, (fold,), replace(self.place, cells=cells), ("",))
            before, value = before + steps, exchange(value, {fold: held})
        return before, value

    @property
    def each(self) -> tuple[Axis, ...]:
        """The cells of a thread, one by one."""
        return tuple(replace(a, sort=REGISTER) for a in self.place.cells)

    def until(self, state: Equation, time: Term, *loop: Axis) -> Course:
        """The same where a state is that long: its equation says nothing of it later."""
        extent = as_written(polynomial(next(a.extent for a in state.axes if a.name == state.along)))
        asked = () if holds(time < extent, Region(loop, self.build.where)) else (time < extent,)
        return replace(self, place=replace(self.place, rest=(*self.place.rest, *asked)))

    def begun(self) -> Iterator[Step]:
        """What it is at 0."""
        for state in self.group:
            first = self.value(state, Const(0), state.cases[0][1], {})
            yield from self.until(state, Const(0)).set(state, self.held[state.target], first, Const(0))

    def turn(self, loop: Axis) -> Iterator[Step]:
        """What it is one turn later, where it is as long."""
        now = Var(loop.name)
        for state in (s for s in self.group if s.target in self.were):
            yield from loops(self.each, (assigned(self.were[state.target], self.held[state.target], state),), state.span)
        known: dict[Term, Term] = {self.at(s, now): self.held[s.target] for s in self.group}
        for state in self.group:
            target = self.made[state.target]
            value = self.value(state, now + 1, state.cases[1][1], known)
            yield from self.until(state, now + 1, loop).set(state, target, value, now + 1)
            known[self.at(state, now + 1)] = target
        for state in () if self.made is self.held else self.group:
            yield from self.set(state, self.held[state.target], self.made[state.target])

    def steps(self, end: Term) -> Iterator[Step]:
        """All of it, up to a time."""
        yield from self.begun()
        turn = Axis(self.build.fresh(self.group[0].along), end, TIME)
        yield For(turn, tuple(self.turn(turn)), self.place.span)


@dataclass(frozen=True, slots=True)
class Turn:
    """Where values are evaluated: the loop of the output that is innermost, the path of it and of those around it, and the guards that they have asked."""

    loop: Axis | None
    path: tuple[int, ...]
    given: tuple[Term, ...]


def induced(build: Build, values: tuple[Term, ...], place: Place, around: Turn) -> tuple[tuple[Step, ...], tuple[Term, ...]]:
    """`values → (steps, values)`: after the steps, the values without states. What was computed in the same turn of the loops around is there. Of a
    state that is read in each turn, after it or before, the turn is the step, and `build.begins` is what stands before the loop."""
    states = {e.target: e for e in build.states}
    steps: list[Step] = []
    known: dict[Term, Term] = {}
    folds = [a for value in values for t in walk(value) if isinstance(t, Fold) for a in t.axes]
    for read in dict.fromkeys(r for value in values for r in reads(value) if r.tensor in states):
        state = states[read.tensor]
        axis = [a.name for a in state.axes].index(state.along)
        time, index = read.index[axis], (*read.index[:axis], *read.index[axis + 1 :])
        inner = tuple(a for a in dict.fromkeys(folds) if a.name in frozenset().union(*map(variables, index)))
        now = around.loop and simplify(time - Var(around.loop.name))
        loop = around.loop if now in (Const(0), Const(1)) else None
        if (variables(time) - build.sizes and loop is None) or any(a not in own(inner) for a in inner):
            raise refused("TG109.state", place.span, state.span, name=state.target)
        here = replace(place, cells=(*place.cells, *inner))
        key = (state.target, time, index, here.cells, here.rest, around.path)
        if key not in build.held:
            group = tuple(e for e in build.states if e.target in {state.target, *build.made_of(state.target)})
            held = {s.target: cell(build, s, "cell", here) for s in group}
            apart = len(group) > 1 or any(map(crosswise, group))
            made = {s.target: cell(build, s, "next", here) for s in group} if apart else held
            were = {s.target: cell(build, s, "before", here) for s in group if loop and s.target in build.earlier}
            course = Course(build, group, index, held, made, were, here)
            if loop is None:
                steps += course.steps(time)
            else:
                before = replace(course, place=replace(here, rest=(*around.given, *here.rest)))
                build.begins.setdefault(loop.name, []).extend(before.begun())
                steps += course.turn(loop)
            ends = {time: held} if loop is None else {Var(loop.name): were, Var(loop.name) + 1: held}
            build.held |= {(name, end, *key[2:]): one for end, cells in ends.items() for name, one in cells.items()}
        known[read] = build.held[key]
    return tuple(steps), tuple(exchange(value, known) for value in values)


def earlier(build: Build, plans: Iterable[Plan]) -> frozenset[str]:
    """The states that are read at the time of a loop, as they were before its turn."""
    axis = {e.target: [a.name for a in e.axes].index(e.along) for e in build.states}
    found = ((p, r) for p in plans for r in reads(p.value) if r.tensor in axis)
    return frozenset(r.tensor for p, r in found if r.index[axis[r.tensor]] in point(p.time))


def assigned(target: Read, value: Term, state: Equation) -> Assign:
    """The step that puts a value into a cell."""
    return Assign(target.tensor, target.index, value, span=state.span)


def crosswise(state: Equation) -> bool:
    """Whether an element of a state is made of others of it."""
    mine = [Var(a.name) for a in state.axes if a.name != state.along]
    time = [a.name for a in state.axes].index(state.along)
    return any(list(r.index[:time] + r.index[time + 1 :]) != mine for r in reads(state.value) if r.tensor == state.target)


@memoised
def unrolled(term: Term, names: frozenset[str]) -> Term:
    """The term with the axes of folds that cells are named by as registers, where they are as many as a number."""
    if isinstance(term, Fold):
        sort = {a.name: REGISTER if a.name in names and isinstance(a.extent, Const) else a.sort for a in term.axes}
        term = replace(term, axes=tuple(replace(a, sort=sort[a.name]) for a in term.axes))
    return rebuild(term, lambda inner: unrolled(inner, names))


def in_time(term: Term, build: Build) -> Term:
    """A value whose folds are loops of the thread."""
    if isinstance(term, Fold):
        names: dict[str, Term] = {a.name: Var(build.fresh(a.name)) for a in term.axes}
        axes = tuple(
            replace(a, name=n.name, sort=TIME) for a, n in zip(term.axes, names.values(), strict=True) if isinstance(n, Var)
        )
        guard, body = (in_time(substitute(t, names), build) for t in (term.guard, term.body))
        return replace(term, axes=axes, guard=guard, body=body)
    return rebuild(term, lambda inner: in_time(inner, build))


def cell(build: Build, state: Equation, word: str, place: Place) -> Read:
    """A new cell of a thread, one for each point of the output's own factors."""
    name = build.fresh(f"{state.target}_{word}")
    build.local(name, state.value.dtype, place.cells, state.span)
    return Read(name, point(place.cells), state.value.dtype)
