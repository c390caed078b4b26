"""What every read delivers: the program executed symbolically, for all threads and all sizes at once, to value terms.

    a cell is a function of its index;  a write makes `new(f) = value if f == index and guard else old(f)`;
    an accumulation makes `new(f) = old(f) ⊕ contribution`;  a loop is closed by `recurrence.close`

Comes in: a program. Goes out: its stores, its accesses and its ghost facts, each at its point, with every read of a local
replaced by the latest write that it sees. Inputs are uninterpreted; a cell that nobody wrote is a fresh symbol `cell?`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice

from tinygpu.category.monoid import MONOIDS
from tinygpu.category.settle import settle
from tinygpu.category.term import (
    TRUE,
    App,
    Axis,
    Const,
    Fold,
    Read,
    Term,
    Var,
    conjunction,
    conjuncts,
    equal,
    select,
    variables,
    walk,
)
from tinygpu.diagnostic import Label, Span
from tinygpu.obligations.obligation import Gap, Point
from tinygpu.obligations.recurrence import close, combine, flatten, mentions
from tinygpu.obligations.trace import (
    FRESH,
    UNSOLVED,
    Access,
    Cells,
    Ghost,
    State,
    Store,
    Trace,
    guarded_reads,
    index_terms,
    replaced,
    started,
)
from tinygpu.obligations.unroll import assigned_in, bound
from tinygpu.program.step import Assign, For, Holds, If, Local, Program, Step

FOLLOWED = 6000  # parts of a value, written out as a tree, beyond which it is not followed
LARGE = "large "
UNROLLED = 64  # a loop that has no closed form is executed iteration by iteration up to this many


@dataclass(slots=True)
class Execution:
    """One run over a program: the state of the locals and what was seen so far."""

    program: Program
    state: State = field(default_factory=dict)
    trace: Trace = field(default_factory=Trace)
    loops: int = 0

    # ── values ─────────────────────────────────────────────────────────────────────────────────────────────────

    def resolve(self, term: Term, point: Point) -> Term:
        """The term with every read of a local replaced by what the cell holds."""
        value = self.followed(replaced(term, self.state))
        return settle(value, point.extents, frozenset(point.guard))

    def followed(self, value: Term) -> Term:
        """The value, or an unknown one in its place where it is too large: copies of copies grow as powers of two."""
        if next(islice(walk(value), FOLLOWED, None), None) is None:
            return value
        self.loops += 1
        return Read(f"{LARGE}{self.loops}{UNSOLVED}", (), value.dtype)

    def observe(self, term: Term, point: Point, span: Span) -> Term:
        """`resolve`, with every access of the term recorded under the conditions that guard it."""
        for read, place in guarded_reads(term, point):
            where = self.seen(place, point)
            index = tuple(self.resolve(i, where) for i in read.index)
            self.access(read.tensor, index, where, span if read.span.line == 0 else read.span)
        value = self.resolve(term, point)
        computed = tuple((replaced(t, self.state), self.seen(where, point), span) for t, where in index_terms(term, point))
        self.add(Trace(values=((value, point, span),), computed=computed))
        return value

    def seen(self, place: Point, point: Point) -> Point:
        """A place inside a term at a point, with what the cells in its further guards hold."""
        return point.inside(*place.axes[len(point.axes) :]).under(
            *(self.resolve(g, point) for g in place.guard[len(point.guard) :])
        )

    def access(self, name: str, index: tuple[Term, ...], point: Point, span: Span, write: bool = False) -> None:
        if name in self.state:
            extents = self.state[name].local.extents
        else:
            extents = self.program.op.tensor(name).shape
        self.add(Trace(accesses=(Access(name, index, extents, point, span, write),)))

    def add(self, more: Trace) -> None:
        self.trace = self.trace.plus(more)

    # ── steps ──────────────────────────────────────────────────────────────────────────────────────────────────

    def run(self, body: tuple[Step, ...], point: Point) -> None:
        for step in body:
            match step:
                case Local(name, dtype, extents):
                    formals = tuple(f"{name}.{axis}" for axis in range(len(extents)))
                    self.state[name] = Cells(step, formals, Read(name + FRESH, tuple(map(Var, formals)), dtype))
                case Assign():
                    self.assign(step, point)
                case For():
                    self.loop(step, point)
                case If():
                    self.branch(step, point)
                case Holds(name, index, claim, span):
                    self.holds(name, index, claim, point, span)

    def assign(self, step: Assign, point: Point) -> None:
        guard = self.observe(step.guard, point, step.span)
        inner = point.under(guard)
        index = tuple(self.observe(i, inner, step.span) for i in step.index)
        value = self.observe(step.value, inner, step.span)
        self.access(step.target, index, inner, step.span, write=True)
        if step.target not in self.state:
            self.add(Trace(stores=(Store(step.target, index, value, inner, step, step.update),)))
            return
        cells = self.state[step.target]
        here = conjunction(guard, *(equal(Var(f), i) for f, i in zip(cells.formals, index, strict=True)))
        if step.update:
            self.add(Trace(values=((self.resolve(Read(step.target, index, cells.local.dtype), inner), inner, step.span),)))
        self.keep(cells, written(cells, value, here, step.update), point)

    def branch(self, step: If, point: Point) -> None:
        """A conditional body: afterwards a cell is what the body made of it where the guard held, else what it was."""
        guard = self.observe(step.guard, point, step.span)
        before = dict(self.state)
        self.run(step.body, point.under(guard))
        inside, self.state = self.state, before
        for name in sorted(assigned_in(step.body) & set(before)):
            self.keep(before[name], merged(guard, inside[name].value, before[name].value), point)

    def holds(self, name: str, index: tuple[Term, ...], claim: Term, point: Point, span: Span) -> None:
        cells = self.state[name]
        index = tuple(self.resolve(i, point) for i in index)
        claim = self.resolve(claim, point)
        self.add(Trace(ghosts=(Ghost(self.resolve(Read(name, index, claim.dtype), point), claim, point, span),)))
        here = conjunction(*(equal(Var(f), i) for f, i in zip(cells.formals, index, strict=True)))
        self.keep(cells, written(cells, claim, here, ""), point)

    def keep(self, cells: Cells, value: Term, point: Point) -> None:
        """The new value of a cell. Only the preconditions may settle it: the guards around a write end before the value does."""
        self.state[cells.local.name] = replace(cells, value=self.settled(cells, value, point))

    def settled(self, cells: Cells, value: Term, point: Point) -> Term:
        return settle(self.followed(value), self.extents(cells, point), self.always)

    @property
    def always(self) -> frozenset[Term]:
        return frozenset(preconditions(self.program))

    @staticmethod
    def extents(cells: Cells, point: Point) -> dict[str, Term]:
        """The ranges of a point's axes and of a cell's index: that it is inside is an obligation of its own."""
        return {**point.extents, **dict(zip(cells.formals, cells.local.extents, strict=True))}

    # ── loops ──────────────────────────────────────────────────────────────────────────────────────────────────

    def loop(self, step: For, point: Point) -> None:
        axis = Axis(step.axis.name, self.observe(step.axis.extent, point, step.span), step.axis.sort, step.axis.span)
        before, seen, self.trace = dict(self.state), self.trace, Trace()
        self.loops += 1
        assigned = sorted(assigned_in(step.body) & set(before))
        previous = {name: f"{name}@{self.loops}" for name in assigned}
        for name in assigned:
            cells = before[name]
            self.state[name] = replace(cells, value=itself(cells, previous[name]))
        self.run(step.body, point.inside(axis))
        begin, after, solved = self.close(axis, previous, before, point)
        if not solved and isinstance(axis.extent, Const) and axis.extent.value <= UNROLLED:
            self.state, self.trace = before, seen
            for value in range(int(axis.extent.value)):
                self.run(tuple(bound(s, axis.name, value) for s in step.body), point)
            return
        inside, self.trace = self.trace, seen
        starts = {previous[name]: begin[name] for name in assigned}
        self.add(started(inside, starts))
        self.state = {**before, **after}

    def close(self, axis: Axis, previous: dict[str, str], before: State, point: Point) -> tuple[State, State, bool]:
        """The cells before an iteration and after the loop, each solved once those that it reads are, and whether all were."""
        begin: State = {}
        after: State = {}
        waiting, solved = dict.fromkeys(previous), True
        while waiting:
            ready = [n for n in waiting if not any(mentions(self.state[n].value, previous[m]) for m in waiting if m != n)]
            for name in ready or list(waiting):
                cells = self.state[name]
                known = {previous[m]: begin[m] for m in begin}
                here = itself(cells, previous[name])
                forms = close(axis, here, replaced(cells.value, known), before[name].value) if ready else None
                if forms is None:
                    solved = False
                    # one symbol for each loop and turn of it, so that nothing is said by two of them being the same
                    place = tuple(map(Var, (*cells.formals, *point.extents)))
                    turn = Read(f"{previous[name]} in{UNSOLVED}", (*place, Var(axis.name)), cells.local.dtype)
                    forms = turn, Read(f"{previous[name]}{UNSOLVED}", place, cells.local.dtype)
                begin[name] = replace(cells, value=self.settled(cells, forms[0], point.inside(axis)))
                after[name] = replace(cells, value=self.settled(cells, forms[1], point))
                del waiting[name]
        return begin, after, solved


def itself(cells: Cells, name: str) -> Read:
    """The placeholder `name` at the cell's own index; an axis with one place has the index 0."""
    index = (Const(0) if e == Const(1) else Var(f) for f, e in zip(cells.formals, cells.local.extents, strict=True))
    return Read(name, tuple(index), cells.local.dtype)


def written(cells: Cells, value: Term, here: Term, update: str) -> Term:
    """The cells after a plain write, or after an accumulation, of `value` where `here` holds."""
    if not update:
        match cells.value:
            case App("select", (condition, _, rest)) if condition == here:
                return select(here, value, rest)  # the same place once more
        return select(here, value, cells.value)
    monoid, dtype = MONOIDS[update], cells.local.dtype
    return App(monoid.op, (cells.value, Fold(monoid.name, (), here, value, dtype)), dtype)


def merged(guard: Term, new: Term, old: Term) -> Term:
    """`new` where the guard holds, else `old`; an accumulation onto `old` stays one, of guarded contributions."""
    for monoid in MONOIDS.values():
        operands = flatten(monoid.op, new)
        if old in operands and len(operands) > 1:
            parts = list(operands)
            parts.remove(old)
            folds = [
                p if isinstance(p, Fold) and p.monoid == monoid.name else Fold(monoid.name, (), TRUE, p, new.dtype) for p in parts
            ]
            under = [replace(f, guard=conjunction(guard, f.guard)) for f in folds if not shadows(f, guard)]
            if len(under) == len(parts):
                return combine(monoid.op, new.dtype, old, *under)
    return select(guard, new, old)


def shadows(fold: Fold, guard: Term) -> bool:
    """Whether a binder of the fold has the name of a free variable of the guard."""
    return any(a.name in variables(guard) for a in fold.axes)


def preconditions(program: Program) -> tuple[Term, ...]:
    """The op's and the machine's `where`, as single facts, and that no size is negative."""
    return tuple(Var(s) >= 0 for s in program.op.sizes) + tuple(c for w in program.where for c in conjuncts(w))


def execute(program: Program) -> Trace:
    """`Program → Trace`: every launch executed from fresh locals; sizes and preconditions are facts of every point."""
    trace = Trace()
    for launch in program.launches:
        run = Execution(program)
        run.run(launch.body, Point(launch.grid + launch.block, preconditions(program)))
        trace = trace.plus(run.trace)
    return trace


def gaps(trace: Trace) -> Iterator[Gap]:
    """The stores that need a cell whose loop has no closed form."""
    for store in trace.stores:
        for term in (store.value, *store.index, *store.point.guard):
            for read in walk(term):
                if isinstance(read, Read) and read.tensor.endswith(UNSOLVED):
                    name = read.tensor.split("@")[0]
                    if name.startswith(LARGE):
                        name = store.tensor
                        reason = f"what is stored has more than {FOLLOWED:,} parts when it is written out; say with `holds` what a cell holds"
                        title = f"the value of {name} is too large to be followed"
                        yield Gap("dataflow", "TG501", title, reason, (Label(store.step.span, "stored here"),))
                        return
                    reason = f"{name} goes from one iteration to the next in a way that is no fold; say with `holds` what it is"
                    yield Gap(
                        "dataflow",
                        "TG501",
                        f"the loop that computes {name} has no closed form",
                        reason,
                        (Label(store.step.span, "stored here"),),
                    )
