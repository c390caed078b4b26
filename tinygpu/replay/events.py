"""What the threads of a launch do, in the order of the text: accesses and collectives, each with the barriers that a thread has passed.

    epoch(event) = Σ barriers of the steps before it  +  for each loop around it, those of the turns before its own

Comes in: a launch. Goes out: events, each at a point (axes around it, conditions it is under) with two epochs: of barriers of the block, and
of all barriers. The one idea: barriers are reached by all threads or by none (`uniform`), so the n-th of one thread is the n-th of all, and of
two events with different epochs the one with the smaller epoch comes first, whatever the schedule.
"""

from __future__ import annotations

from tinygpu.diagnostic import NOWHERE, Span
from tinygpu.record import dataclass, field, replace
from tinygpu.replay.ir import (
    BOOL,
    INDEX,
    ONE,
    RANGES,
    ZERO,
    Axis,
    Fold,
    Num,
    Op,
    Read,
    Term,
    Var,
    compare,
    conjuncts,
    free,
    negated,
    select,
    walk,
)
from tinygpu.replay.program import Assign, Barrier, Fresh, Holds, If, Launch, Loop, Machine, Step

SCOPES = ("block", "warp")  # barriers of the block; barriers of the block and of the warp


@dataclass(frozen=True, slots=True)
class Turns:
    """A loop whose turns meet no constant number of barriers: `before` is how many the turns before this one meet, a function of the turn,
    `here` how many this one meets, and `whole` how many all of them do, both functions of what is around."""

    turn: Var
    extent: Term
    before: Read
    here: Term
    whole: Read


@dataclass(frozen=True, slots=True)
class Event:
    """`word` is read, write, barrier, warp barrier or shuffle, whose `index` is how far it goes; of a write `update` is the monoid, and
    atomic says so."""

    word: str
    array: str
    index: tuple[Term, ...]
    axes: tuple[Axis, ...]
    guard: tuple[Term, ...]
    epochs: tuple[Term, Term]
    turns: tuple[Turns, ...] = ()
    update: str = ""
    atomic: bool = False
    step: int = 0
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Here:
    """A place in the text."""

    axes: tuple[Axis, ...]
    guard: tuple[Term, ...] = ()
    epochs: tuple[Term, Term] = (ZERO, ZERO)
    turns: tuple[Turns, ...] = ()

    def under(self, *guards: Term) -> Here:
        return replace(self, guard=(*self.guard, *(c for g in guards for c in conjuncts(g))))

    def passed(self, counts: tuple[Term, Term]) -> Here:
        return replace(self, epochs=(plus(self.epochs[0], counts[0]), plus(self.epochs[1], counts[1])))


@dataclass(slots=True)
class Walk:
    """A walk over the text of a launch."""

    launch: Launch
    cells: frozenset[str]  # what changes while a launch runs: its locals and shared arrays
    events: list[Event] = field(default_factory=list)
    steps: int = 0
    conditions: dict[int, int] = field(default_factory=dict)
    extents: list[tuple[str, Term]] = field(default_factory=list)
    folds: int = 0
    computed: list[tuple[Term, Here]] = field(default_factory=list)  # the largest terms of indices
    uneven: dict[str, Turns] = field(default_factory=dict)  # loops whose turns meet no constant number of barriers, by `whole`

    def run(self, body: tuple[Step, ...], here: Here) -> None:
        """The events of a body."""
        for step in body:
            self.steps += 1
            match step:
                case Assign():
                    self.assign(step, here)
                case Barrier(scope, span):
                    self.see("barrier" if scope == "block" else "warp barrier", here, span)
                case If(guard, inner, span):
                    self.term(guard, here, span)
                    self.run(inner, here.under(guard))
                case Loop(axis, inner, _, span):
                    self.extents.append((axis.name, axis.extent))
                    self.term(axis.extent, here, span)
                    self.run(inner, self.inside(axis, inner, here))
                case Fresh() | Holds():
                    pass
            here = here.passed(self.met(step, here))

    def inside(self, axis: Axis, body: tuple[Step, ...], here: Here) -> Here:
        """A turn of a loop: it comes after the turns before it."""
        inner = replace(here, axes=(*here.axes, axis))
        for scope in (0, 1):
            count, turn = self.count(body, inner)[scope], Var(axis.name)
            if isinstance(count, Num):
                before: Term = times(turn, count)
            else:
                made = self.turns(axis, count, here, scope)
                before, inner = made.before, replace(inner, turns=(*inner.turns, made))
            epochs = [*inner.epochs]
            epochs[scope] = plus(epochs[scope], before)
            inner = replace(inner, epochs=(epochs[0], epochs[1]))
        return inner

    def turns(self, axis: Axis, count: Term, here: Here, scope: int) -> Turns:
        """The functions that count the barriers of a loop whose turns differ."""
        carried = {a.name for a in (*self.launch.grid, *self.launch.block)}
        around = tuple(Var(a.name) for a in here.axes if a.name not in carried or a.name in free(count))
        name, turn = f"{SCOPES[scope]} barriers in {axis.name}", Var(axis.name)
        before = Read(f"{name} before a turn", (turn, *around), INDEX)
        self.uneven[name] = Turns(turn, axis.extent, before, count, Read(name, around, INDEX))
        return self.uneven[name]

    def met(self, step: Step, here: Here) -> tuple[Term, Term]:
        """How many barriers of each scope a step meets."""
        match step:
            case Barrier(scope):
                return (ONE if scope == "block" else ZERO), ONE
            case If(_, body):
                counts = self.count(body, here)
                if counts == (ZERO, ZERO):
                    return counts
                condition = self.plain(step, here)
                return select(condition, counts[0], ZERO), select(condition, counts[1], ZERO)
            case Loop(axis, body):
                inner = replace(here, axes=(*here.axes, axis))
                first, second = self.count(body, inner)
                return self.whole(axis, first, here, 0), self.whole(axis, second, here, 1)
        return ZERO, ZERO

    def whole(self, axis: Axis, count: Term, here: Here, scope: int) -> Term:
        if not isinstance(count, Num):
            return self.turns(axis, count, here, scope).whole
        return select(compare("gt", axis.extent, ZERO), times(axis.extent, count), ZERO)  # an extent below 0 is no turn

    def count(self, body: tuple[Step, ...], here: Here) -> tuple[Term, Term]:
        counts = [self.met(step, here) for step in body]
        return plus(*(c[0] for c in counts)), plus(*(c[1] for c in counts))

    def plain(self, step: If, here: Here) -> Term:
        """The condition of a step with barriers; where it reads cells, some condition that is the same for all who are together."""
        if not self.changing(step.guard):
            return step.guard
        number = self.conditions.setdefault(id(step), len(self.conditions))
        carried = {a.name for a in self.launch.block}
        return Read(f"condition {number}", tuple(Var(a.name) for a in here.axes if a.name not in carried), BOOL)

    def changing(self, term: Term) -> bool:
        """Whether a term reads what may change while the launch runs, or is exchanged."""
        return any((isinstance(t, Read) and t.array in self.cells) or exchange(t) for t in walk(term))

    # ── accesses ──

    def see(
        self, word: str, here: Here, span: Span, array: str = "", index: tuple[Term, ...] = (), by: Assign | None = None
    ) -> None:
        guard = tuple(dict.fromkeys(g for g in here.guard))
        update, atomic = (by.update, by.atomic) if by else ("", False)
        self.events.append(Event(word, array, index, here.axes, guard, here.epochs, here.turns, update, atomic, self.steps, span))

    def assign(self, step: Assign, here: Here) -> None:
        self.term(step.guard, here, step.span)
        inner = here.under(step.guard)
        for part in (*step.index, step.value):
            self.term(part, inner, step.span)
        self.see("write", inner, step.span, step.target, step.index, step)

    def term(self, term: Term, here: Here, span: Span, whole: bool = False) -> None:
        """The reads and exchanges of a term, each under the conditions under which it is made."""
        if term.dtype == INDEX and not whole and not of_data(term):
            self.computed.append((term, here))
            whole = True
        match term:
            case Op("select", (condition, then, otherwise)):
                self.term(condition, here, span)
                self.term(then, here.under(condition), span, whole)
                self.term(otherwise, here.under(negated(condition)), span, whole)
                return
            case Op("and" | "or" as op, args):
                for arg in args:
                    self.term(arg, here, span)
                    here = here.under(arg if op == "and" else negated(arg))
                return
            case Read(array, index):
                for part in index:
                    self.term(part, here, span)  # a term of its own
                self.see("read", here, span, array, index)
                return
            case Fold():
                self.folds += 1  # its reads are not followed: no step may have one
            case Op(_, args):
                if exchange(term):
                    self.see("shuffle", here, span, index=args[1:] if term.op != "shuffle.idx" else ())
                for arg in args:
                    self.term(arg, here, span, whole)


def of_data(term: Term) -> bool:
    """Whether a term is arithmetic of integers of data, which wraps, and not of indices."""
    return isinstance(term, Op) and term.op != "integer" and bool(term.args) and all(a.dtype in RANGES for a in term.args)


def exchange(term: Term) -> bool:
    """Whether a term is a shuffle."""
    return isinstance(term, Op) and term.op.startswith("shuffle.")


def events(machine: Machine, launch: Launch) -> tuple[Walk, tuple[Event, ...]]:
    """The events of a launch, each once."""
    walked = Walk(launch, frozenset(a.name for a in launch.arrays))
    walked.run(launch.body, Here((*launch.grid, *launch.block)))
    return walked, tuple(dict.fromkeys(walked.events))


def plus(*terms: Term) -> Term:
    """A sum without zeros."""
    parts = [t for t in terms if t != ZERO]
    number = sum(int(t.value) for t in parts if isinstance(t, Num))
    kept = [t for t in parts if not isinstance(t, Num)] + ([Num(number)] if number else [])
    out: Term = kept[0] if kept else ZERO
    for part in kept[1:]:
        out = Op("add", (out, part), INDEX)
    return out


def times(a: Term, b: Num) -> Term:
    """A multiple."""
    if isinstance(a, Num):
        return Num(int(a.value) * int(b.value))
    return ZERO if b == ZERO else a if b == ONE else Op("mul", (a, b), INDEX)
