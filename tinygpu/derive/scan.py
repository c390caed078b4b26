"""Scans: prefix folds along the factors of an index, one pass for all their values.

    thread:  run ⊕= x;  acc = run                            block:  run starts from the warps before
    warp:    total = shuffle_up(total, d) ⊕ total  (d = 1, 2, 4, …)    time:   run starts from the turns before, the carry

Comes in: a scan over factors, slowest first: grid, time, block, then the thread's own. Goes out: steps after which each cell holds its
prefix. The one idea: what a level knows is the fold of its part, and what it needs is the fold of the parts before it; so the order
of the terms is kept, and the monoid need not commute.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tinygpu.category.monoid import as_monoid, neutral
from tinygpu.category.owner import row_major
from tinygpu.category.term import TRUE, App, Axis, Const, Read, Term, Var, conjunction, conjuncts, equal, lift, select
from tinygpu.derive.fold import Place, folded
from tinygpu.derive.nest import REGISTER, VECTOR, Build, cells, loops, point
from tinygpu.derive.reduce import UNROLLED, extent, first_lane, lanes, strides
from tinygpu.diagnostic import Span
from tinygpu.program.call import Sync
from tinygpu.program.space import SHARED
from tinygpu.program.step import Array, Assign, Ghost, Step
from tinygpu.record import dataclass, field


@dataclass(frozen=True, slots=True)
class Scan:
    """`acc[cells] = ⊕[k ≤ i] body(k)`, or with `exclusive` `k < i`: `body` and `guard` are those of the element that a cell owns.

    `along` are the factors of `i`, slowest first; `start` is the fold of what earlier launches know comes first, else the unit;
    `carry` is the local that goes from one turn to the next. `fact` is what a value is worth, if that is known: the proof's witness.
    """

    acc: str
    carry: str
    monoid: str
    dtype: str
    body: Term
    guard: Term
    exclusive: bool
    along: tuple[Axis, ...]
    start: Term
    span: Span = field(compare=False)
    fact: Term | None = None

    def factors(self, *sorts: str) -> tuple[Axis, ...]:
        """Those of its factors that are carried in these ways."""
        return tuple(a for a in self.along if a.sort in sorts)

    def spots(self, own: Sequence[Axis]) -> tuple[Axis, ...]:
        """The cells of the output that are scans of their own."""
        return tuple(a for a in own if a not in self.along)


def begun(scan: Scan, own: Sequence[Axis]) -> tuple[Step, ...]:
    """The carry before the loops over the scan's index."""
    spots = scan.spots(own)
    first = Assign(scan.carry, point(spots), scan.start, span=scan.span)
    return loops(register(spots), (first,), scan.span)


def register(axes: Sequence[Axis]) -> tuple[Axis, ...]:
    """The axes as unrolled loops."""
    return tuple(Axis(a.name, a.extent, REGISTER, a.span) for a in axes)


def scanned(build: Build, scan: Scan, own: Sequence[Axis], place: Place) -> tuple[Step, ...]:
    """The steps of one turn: each cell's element, what comes before the thread, and the thread's own prefixes."""
    unit = neutral(scan.monoid, scan.dtype)
    inner = Place(tuple(own), (*place.rest, *conjuncts(scan.guard)), scan.span, place.ways, place.looped)
    steps, (body,) = folded(build, (scan.body,), inner, ("",))
    element = build.fresh("element")
    build.local(element, scan.dtype, own, scan.span)
    value = select(conjunction(*inner.rest), body, unit)
    load = cells(build, own, (Assign(element, point(own), value, span=scan.span),), scan.span)
    turn = Turn(build, scan, tuple(own), Read(element, point(own), scan.dtype), unit)
    return (*steps, *load, *loops(register(scan.spots(own)), turn.steps(place.looped), scan.span))


@dataclass(frozen=True, slots=True)
class Turn:
    """One scan at one spot: `element` is what the cell at hand contributes."""

    build: Build
    scan: Scan
    own: tuple[Axis, ...]
    element: Read
    unit: Term

    def steps(self, looped: bool) -> tuple[Step, ...]:
        """All of a turn. Without threads that share the scan, the carry runs through the elements itself."""
        scan, spots = self.scan, point(self.scan.spots(self.own))
        carry = Read(scan.carry, spots, scan.dtype)
        if not scan.factors("block"):
            if scan.factors("time"):
                return self.prefixes(carry)
            run = self.scalar("run")
            return (self.put(run, scan.start), *self.prefixes(run))
        run, total, other = self.scalar("run"), self.scalar("total"), self.scalar("other")
        start = carry if scan.factors("time") else scan.start
        steps = [*self.whole(total), *self.along_lanes(total, other)]
        after: tuple[Step, ...] = (self.update(carry, self.last(total)),)
        steps.append(self.put(run, start))
        if self.slow:
            left, before, after = self.through_memory(total, run, carry, looped)
            steps = [*steps[:-1], *left, steps[-1], *before]
        if self.fast is not None:
            steps.append(self.put(other, self.shuffle("shuffle_up", total, lift(self.stride))))
            steps.append(self.update(run, other, Var(self.fast.name) >= 1))
        return (*steps, *self.prefixes(run), *(after if scan.factors("time") else ()))

    # ── who meets where ────────────────────────────────────────────────────────────────────────────────────────

    @property
    def fast(self) -> Axis | None:
        """The fastest block factor, if its threads are lanes of one warp."""
        last = self.scan.factors("block")[-1]
        return last if lanes(last, self.stride) == extent(last) > 1 else None

    @property
    def stride(self) -> int:
        """How far apart the threads of neighbours are."""
        return strides(self.build.block)[self.scan.factors("block")[-1].name]

    @property
    def slow(self) -> tuple[Axis, ...]:
        """The block factors whose threads meet through memory."""
        found = self.scan.factors("block")
        return found[:-1] if self.fast is not None else found

    # ── steps ──────────────────────────────────────────────────────────────────────────────────────────────────

    def scalar(self, name: str) -> Read:
        """A local of one cell."""
        fresh = self.build.fresh(name)
        self.build.local(fresh, self.scan.dtype, (), self.scan.span)
        return Read(fresh, (), self.scan.dtype)

    def put(self, cell: Read, value: Term, guard: Term = TRUE) -> Assign:
        return Assign(cell.tensor, cell.index, value, guard=guard, span=self.scan.span)

    def update(self, cell: Read, value: Term, guard: Term = TRUE) -> Assign:
        """`cell ⊕= value if guard`."""
        return Assign(cell.tensor, cell.index, value, self.scan.monoid, guard, self.scan.span)

    def shuffle(self, way: str, value: Read, where: Term) -> Term:
        return App(way, (value, where), self.scan.dtype)

    def prefixes(self, run: Read) -> tuple[Step, ...]:
        """`run` through the thread's own elements: each cell takes its value after its element, or before."""
        scan = self.scan
        acc: tuple[Step, ...] = (self.put(Read(scan.acc, point(self.own), scan.dtype), run),)
        if scan.fact is not None:
            acc = (*acc, Ghost(scan.acc, point(self.own), scan.fact, scan.span))
        take = self.update(run, self.element)
        body = (*acc, take) if self.scan.exclusive else (take, *acc)
        return loops(register(self.scan.factors(REGISTER, VECTOR)), body, self.scan.span)

    def whole(self, total: Read) -> tuple[Step, ...]:
        """The fold of the thread's own elements."""
        mine = register(self.scan.factors(REGISTER, VECTOR))
        if not mine:
            return (self.put(total, self.element),)
        return (self.put(total, self.unit), *loops(mine, (self.update(total, self.element),), self.scan.span))

    def along_lanes(self, total: Read, other: Read) -> tuple[Step, ...]:
        """The fold of the lanes up to the own one: `total = shuffle_up(total, d) ⊕ total` where there is such a lane."""
        if self.fast is None:
            return ()
        op, steps = as_monoid(self.scan.monoid).op, list[Step]()
        for d in (1 << k for k in range(extent(self.fast).bit_length() - 1)):
            steps.append(self.put(other, self.shuffle("shuffle_up", total, lift(d * self.stride))))
            both = App(op, (other, total), self.scan.dtype)
            steps.append(self.put(total, both, Var(self.fast.name) >= d))
        return tuple(steps)

    def last(self, total: Read) -> Term:
        """The fold of all lanes, from the last one."""
        if self.fast is None:
            return total
        there = first_lane(self.build.block, (self.fast,)) + (extent(self.fast) - 1) * self.stride
        return self.shuffle("shuffle_idx", total, there)

    def through_memory(
        self, total: Read, run: Read, carry: Read, looped: bool
    ) -> tuple[tuple[Step, ...], tuple[Step, ...], tuple[Step, ...]]:
        """What each warp leaves for the others; what comes before the own one, into `run`; all of it, into the carry."""
        build, scan, span = self.build, self.scan, self.scan.span
        mine = {a.name for a in scan.factors("block")}
        others = tuple(a for a in build.block if a.name not in mine)
        number, count = row_major(self.slow), prod(map(extent, self.slow))
        array, entry = build.fresh(f"{scan.acc}_parts"), build.fresh("part")
        axes = (*others, Axis(entry, Const(count), REGISTER if count <= UNROLLED else "time", span))
        build.locals.append(Array(array, scan.dtype, tuple(a.extent for a in axes), SHARED, span=span))
        full = equal(Var(self.fast.name), extent(self.fast) - 1) if self.fast is not None else TRUE
        again: tuple[Step, ...] = (Sync("block", span),) if looped or scan.spots(self.own) else ()
        leave = self.put(Read(array, (*point(others), number), scan.dtype), total, full)
        part = Read(array, point(axes), scan.dtype)
        before = loops(axes[-1:], (self.update(run, part, Var(entry) < number),), span)
        every = loops(axes[-1:], (self.update(carry, part),), span)
        return (*again, leave, Sync("block", span)), before, every
