"""Arrays as functions: what the cell at an index holds, and what a write makes of it.

    a thread writes its own cell:      new(f) = value if f == index and guard else old(f)
    all threads t write shared cells:  new(f) = value(t) if guard(t) and index(t) == f else old(f)      at t = index⁻¹(f)
    atomic updates:                    new(f) = old(f) ⊕ ⊕[t | guard(t) and index(t) == f] value(t)

Comes in: cells and a write at a point. Goes out: cells. The inverse is a witness that nobody trusts: that it gives back every writer is a
claim, and with it at most one thread writes a cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from tinygpu.category.linear import number, plus, polynomial
from tinygpu.category.monoid import as_monoid, monoids_on, spine
from tinygpu.category.preimage import preimage
from tinygpu.category.region import Region, points
from tinygpu.category.settle import within
from tinygpu.category.term import (
    INTEGERS,
    TRUE,
    App,
    Axis,
    Const,
    Fold,
    Read,
    Term,
    Var,
    conjunction,
    equal,
    fresh,
    select,
    substitute,
    variables,
)
from tinygpu.model.op import Op
from tinygpu.obligations.bijection import given_back
from tinygpu.obligations.exchange import Threads
from tinygpu.obligations.recurrence import one_point
from tinygpu.obligations.shape import combine
from tinygpu.obligations.window import stepped
from tinygpu.program.space import WORKSPACE
from tinygpu.program.step import Array, Assign
from tinygpu.record import dataclass, replace

FRESH = "?"  # a cell that nobody wrote


@dataclass(frozen=True, slots=True)
class Cells:
    """An array as a function: its value at the index `formals`. A thread's own also depends on the thread, by the names of its axes.

    What it holds may be found when it is first asked for: most of what a turn of a loop leaves is written again before it is read.
    """

    local: Array
    formals: tuple[str, ...]
    content: Term | Callable[[], Term]

    @property
    def value(self) -> Term:
        """What is held at the formals."""
        return self.content() if callable(self.content) else self.content

    def at(self, index: tuple[Term, ...]) -> Term:
        return substitute(self.value, dict(zip(self.formals, index, strict=True)))

    @property
    def private(self) -> bool:
        """Whether each thread has its own."""
        return self.local.owner == "thread"

    @property
    def place(self) -> tuple[Var, ...]:
        return tuple(map(Var, self.formals))

    @property
    def extents(self) -> dict[str, Term]:
        """The ranges of the index: that it is inside is an obligation of its own."""
        return dict(zip(self.formals, map(run, self.local.extents), strict=True))


State = dict[str, Cells]


def run(extent: Term) -> Term:
    """How far an index runs: to `max(e, 0)` as far as to `e`."""
    match extent:
        case App("max", (end, Const(0))):
            return end
    return extent


def unwritten(array: Array) -> Cells:
    """Cells that nobody wrote."""
    formals = tuple(f"{array.name}.{axis}" for axis in range(len(array.extents)))
    return Cells(array, formals, Read(array.name + FRESH, tuple(map(Var, formals)), array.dtype))


def unstored(op: Op, name: str) -> Cells:
    """An output that nobody stored: one in place that goes on is its input."""
    tensor = op.tensor(name)
    cells = unwritten(Array(name, tensor.dtype, tensor.shape, WORKSPACE, span=tensor.span))
    return replace(cells, content=Read(op.continued[name], cells.place, tensor.dtype)) if name in op.continued else cells


def itself(cells: Cells, name: str, threads: tuple[str, ...]) -> Read:
    """The placeholder `name` at the cell's own index and, for a thread's own cells, thread; an axis with one place has the index 0."""
    index = [Const(0) if e == Const(1) else Var(f) for f, e in zip(cells.formals, cells.local.extents, strict=True)]
    return Read(name, (*index, *(map(Var, threads) if cells.private else ())), cells.local.dtype)


def written(cells: Cells, value: Term, here: Term, update: str) -> Term:
    """The cells after a plain write, or after an accumulation, of `value` where `here` holds."""
    if not update:
        match cells.value:
            case App("select", (condition, _, rest)) if condition == here:
                return select(here, value, rest)  # the same place once more
        return select(here, value, cells.value)
    monoid, dtype = as_monoid(update), cells.local.dtype
    more = Fold(monoid, (), here, value, dtype)
    return combine(monoid.op, dtype, cells.value, more) if dtype in INTEGERS else App(monoid.op, (cells.value, more), dtype)


def merged(guard: Term, new: Term, old: Term, point: Region | None = None) -> Term:
    """`new` where the guard holds, else `old`; an accumulation onto `old` stays one, of guarded contributions. Of a cell that has no index, what is
    done at a point may be a step of a prefix."""
    chosen = select(guard, new, old)
    if point is not None and (step := stepped(chosen, point)) != chosen:
        return step
    for monoid in monoids_on(new.dtype):
        operands = spine(monoid.op, new)
        exact = monoid.commutative and old.dtype in INTEGERS  # of floats the order of operands may matter
        if old in operands[: 1 + exact] and len(operands) > 1:
            parts = list(operands)
            parts.remove(old)
            folds = [p if isinstance(p, Fold) and p.monoid == monoid else Fold(monoid, (), TRUE, p, new.dtype) for p in parts]
            under = (replace(f, guard=conjunction(guard, f.guard)) for f in (fresh(f, variables(guard)) for f in folds))
            return combine(monoid.op, new.dtype, old, *under)
    return chosen


@dataclass(frozen=True, slots=True)
class Published:
    """A write by all threads: the condition under which a cell is written, the writer of it, and the claim that makes it the only one."""

    condition: Term
    writer: dict[str, Term]
    claim: Term


def published(
    cells: Cells, index: tuple[Term, ...], writers: tuple[Axis, ...], loops: tuple[Axis, ...], point: Region
) -> Published:
    """Who writes the cell at the formals. `loops` are those around: where iterations write distinct cells, the cell tells the iteration too."""
    found: Published | None = None
    for way in ways(cells, index, writers, loops, point):
        if way.claim == TRUE:
            return way
        found = way  # the last one leaves every loop as it is, so that its claim is of the threads alone
    assert found is not None, "there is always a witness, if only a wrong one"
    return found


def ways(
    cells: Cells, index: tuple[Term, ...], writers: tuple[Axis, ...], loops: tuple[Axis, ...], point: Region
) -> Iterator[Published]:
    """Writers of a cell and the turns that they write it in: all threads, and turns, as one number; or axis by axis."""
    walked = tuple(a for a in loops if any(a.name in variables(i) for i in index))
    unrolled = tuple(a for a in walked if a.sort != "time")
    short = tuple(a for a in walked if isinstance(a.extent, Const))
    for turns in dict.fromkeys((walked, short, unrolled)):
        yield solved(cells, index, writers + turns, turns, point)
    if len(cells.place) > 1 and all(isinstance(a.extent, Const) for a in writers):
        slow = tuple(a for a in unrolled if a.sort != "vector" and isinstance(a.extent, Const))
        for outer in dict.fromkeys((slow, ())):
            yield by_number(cells, index, outer + writers, outer, tuple(a for a in unrolled if a not in outer), point)
    yield solved(cells, index, writers, (), point)


def by_number(
    cells: Cells, index: tuple[Term, ...], axes: tuple[Axis, ...], outer: tuple[Axis, ...], rest: tuple[Axis, ...], point: Region
) -> Published:
    """The writer where the index is made of digits of one number, `Σ strideₐ · a`, as of a thread's: numbers and points are one to one."""
    number = Axis(" number", points(axes))
    digits = Threads(axes).at(Var(number.name))
    box = Region((*(a for a in point.axes if a not in axes), number))
    plain = tuple(box.settled(substitute(i, digits)) for i in index)
    guards = tuple(box.settled(substitute(g, digits)) for g in point.guard)
    return solved(cells, plain, (number, *rest), outer + rest, Region(box.axes, guards), digits)


def solved(
    cells: Cells,
    index: tuple[Term, ...],
    axes: tuple[Axis, ...],
    turns: tuple[Axis, ...],
    point: Region,
    digits: Mapping[str, Term] | None = None,
) -> Published:
    """The writer by the index solved for the axes; some of those are turns, and of one there may be `digits`."""
    writer = preimage(index, axes, cells.place, conjunction(*point.guard))
    claim = point.settled(given_back(writer, axes, dict(zip(cells.formals, index, strict=True))))
    whole = writer | {name: substitute(digit, writer) for name, digit in (digits or {}).items()}
    turn = [equal(Var(a.name), whole[a.name]) for a in turns]
    inside = [within(writer[a.name], a.extent) for a in axes if a not in turns]
    lands = [substitute(equal(i, f), writer) for i, f in zip(index, cells.place, strict=True)]
    condition = conjunction(*turn, *inside, *(substitute(g, writer) for g in point.guard), *lands)
    return Published(condition, whole, claim)


def contributed(
    cells: Cells, index: Sequence[Term], value: Term, update: str, writers: tuple[Axis, ...], guards: tuple[Term, ...]
) -> Term:
    """The cells after atomic updates by all writers, in any order."""
    lands = (equal(i, f) for i, f in zip(index, cells.place, strict=True))
    monoid, dtype = as_monoid(update), cells.local.dtype
    fold = one_point(Fold(monoid, writers, conjunction(*guards, *lands), value, dtype))
    return combine(monoid.op, dtype, cells.value, fold)


def neighbour(step: Assign, cells: Cells, index: tuple[Term, ...], resolve: Callable[[Term], Term]) -> Term | None:
    """`s[i] ⊕= s[i + d]` as a fold over two cells, `⊕[e < 2] s[i + e·d]`, where d is a number: so a tree does not write its leaves out."""
    monoid, read = as_monoid(step.update), step.value
    if not isinstance(read, Read) or read.tensor != step.target:
        return None
    steps = [plus(polynomial(resolve(j)), polynomial(i), -1) for i, j in zip(index, read.index, strict=True)]
    moved = [(f, number(s)) for f, s in zip(cells.formals, steps, strict=True) if s]
    if len(moved) != 1:
        return None
    ((formal, distance),) = moved
    if distance is None or not (monoid.commutative or distance > 0):
        return None
    e = Var(f"{formal}+{abs(distance)}")
    both = substitute(cells.value, {formal: Var(formal) + e * distance})
    return Fold(monoid, (Axis(e.name, Const(2), "block"),), TRUE, both, cells.local.dtype)
