"""Sites: every place of a program where threads touch memory, compute, or meet, with what stands around it.

Comes in: a program, and whether its kernels take their wide accesses, or nothing of kernels. Goes out: accesses, operations and meetings, each under loops
and a guard. The one idea: what lies between the barriers of an instruction is what its lanes do, so the hardware does it:
rows that lanes name, and multiply-adds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import takewhile
from math import prod
from typing import TypeAlias, assert_never

from tinygpu.category.dtype import BYTES
from tinygpu.category.evaluate import evaluate
from tinygpu.category.monoid import as_monoid
from tinygpu.category.region import EVERYWHERE, Region
from tinygpu.category.simplify import simplify
from tinygpu.category.term import (
    BOOL,
    SHUFFLES,
    TRUE,
    App,
    Axis,
    Const,
    Fold,
    Read,
    Term,
    Var,
    children,
    conjunction,
    equal,
    negation,
    reads,
    substitute,
)
from tinygpu.cost.operations import either, evaluated, kind_of
from tinygpu.derive.copies import copied
from tinygpu.derive.wide import Wide, hoisted, wide_in
from tinygpu.diagnostic import Span
from tinygpu.model.collective import TOGETHER
from tinygpu.program.arrays import arrays
from tinygpu.program.call import Applied, Boxed, Call, Prefetch, Sync
from tinygpu.program.cluster import shared_along
from tinygpu.program.rows import touched as rows_of
from tinygpu.program.space import INPUT
from tinygpu.program.step import Array, Assign, Fact, For, If, Program, Step
from tinygpu.program.traverse import terms
from tinygpu.record import dataclass, replace

MEETINGS = ("barrier", "warp barrier", "shuffle")
BEHIND = "behind descriptors"  # of shared memory, read by a unit itself


@dataclass(frozen=True, slots=True)
class Where:
    """What stands around a site: the launch, the loops (outermost first), the guard, the number of its statement, its place in the text."""

    launch: int
    axes: tuple[Axis, ...]
    guard: Term
    statement: int
    span: Span

    def under(self, guard: Term) -> Where:
        """The same under one more condition."""
        return replace(self, guard=conjunction(self.guard, guard))


@dataclass(frozen=True, slots=True)
class Access:
    """`array[index]`, read or stored by each thread; with `lanes` that many neighbours from `first` on, at once; or `by` an instruction a row of them; or `pending`, by
    a copy that lands later and passes no register."""

    where: Where
    array: Array
    index: tuple[Term, ...]
    stores: bool
    atomic: bool = False
    lanes: int = 1
    wide_first: tuple[Term, ...] = ()
    by: str = ""
    pending: bool = False

    @property
    def first(self) -> tuple[Term, ...]:
        """The element that it starts at."""
        return self.wide_first or self.index

    @property
    def item(self) -> int:
        """Bytes of an element."""
        return BYTES[self.array.dtype]

    @property
    def key(self) -> tuple[object, ...]:
        """What the accesses of one element by one statement have in common, wide or not."""
        return self.where.launch, self.where.statement, self.array.name, self.index, self.stores

    @property
    def bytes(self) -> int:
        """Bytes that one thread moves at once."""
        return self.lanes * self.item


@dataclass(frozen=True, slots=True)
class Work:
    """One operation on values, of KINDS, in this dtype, or so many of them; or one of MEETINGS; or BEHIND descriptors so many bytes of the array that is said. Of `tensor` the dtype is `f16→f32`: operands, sums."""

    where: Where
    kind: str
    dtype: str = ""
    times: int = 1


Site: TypeAlias = Access | Work
Touched = dict[tuple[str, tuple[Term, ...]], Term]  # elements that a statement reads, and when


@dataclass(slots=True)
class _Walk:
    """One walk over a launch."""

    program: Program
    number: int
    wide: bool | None
    known: Mapping[str, Array]
    memory: Collection[str] = ()
    statements: int = 0

    def alone(self, array: Array) -> bool:
        """Whether its elements are in registers."""
        return array.held_alone and array.name not in self.memory

    def here(self, axes: tuple[Axis, ...], guard: Term, span: Span) -> Where:
        self.statements += 1
        return Where(self.number, axes, guard, self.statements, span)


def sites(program: Program, wide: bool | None = None, memory: Collection[str] = ()) -> tuple[Site, ...]:
    """`program without carriers → its sites`, in order: of the program as it stands, element by element; or of its kernels, which with `wide` make the wide
    accesses where all lanes are inside, and without it those that are always wide. A thread's own arrays are registers, but for those in `memory`."""
    walks = [(launch, _Walk(program, number, wide, arrays(program), memory)) for number, launch in enumerate(program.launches)]
    return tuple(site for launch, walk in walks for site in _body(walk, launch.body, launch.turns, TRUE))


def _body(walk: _Walk, body: tuple[Step, ...], axes: tuple[Axis, ...], guard: Term) -> Iterator[Site]:
    rest = iter(body)
    for step in rest:
        match step:
            case Sync(begins=Applied() as one):
                yield from _applied(walk, step, one, walk.here(axes, guard, step.span))
                list(takewhile(lambda inner: not isinstance(inner, Sync), rest))  # what its lanes do, which the hardware does
            case Sync(begins=Boxed()) if walk.wide:
                yield Work(walk.here(axes, guard, step.span), step.word)
                once = conjunction(*(equal(Var(a.name), 0) for a in shared_along(walk.program.launches[walk.number], step)))
                for site in _body(walk, tuple(takewhile(lambda inner: not isinstance(inner, Sync), rest)), axes, guard):
                    far = isinstance(site, Access) and site.array.owner == "grid"  # what neighbours want too is read once
                    yield replace(site, where=site.where.under(once)) if far else site
                yield Work(walk.here(axes, guard, step.span), step.word)
            case For(axis, inner) if axis.sort == "vector" and walk.wide is not None:
                yield from _vector(walk, step, axes, guard)
            case For(axis, inner):
                yield from _body(walk, inner, (*axes, axis), guard)
            case Assign():
                yield from _assign(walk, step, axes, guard)
            case Prefetch():
                pass  # who reads it pays for it
            case If() | Call():
                here, touched = walk.here(axes, guard, step.span), Touched()
                yield from _values(here, terms(step), walk, touched)
                yield from _touched(here, touched, walk)
                if isinstance(step, If):
                    yield from _body(walk, step.body, axes, conjunction(guard, step.guard))
                if isinstance(step, Sync):
                    yield Work(here, step.word)
            case Array() | Fact():
                pass  # nothing is done
            case _:
                assert_never(step)


def _applied(walk: _Walk, step: Sync, one: Applied, here: Where) -> Iterator[Site]:
    """An instruction: the rows of shared memory that its lanes name, a lane's part of the bytes that its unit reads by itself, and of its multiply-adds."""
    launch, instruction = walk.program.launches[walk.number], one.instruction
    for name, element, point, stores in rows_of(step, Region((*launch.block, *here.axes))):
        along = point.axes[-1]
        row = tuple(simplify(substitute(i, {along.name: Const(0)}), point) for i in element)
        named = here.under(simplify(point.guard[-1], replace(point, guard=())))
        yield Access(named, walk.known[name], row, stores, lanes=int(evaluate(along.extent, {})), by=instruction.name)
    for operand, (name, _) in zip(instruction.operands, one.operands, strict=True):
        if operand.kind == "descriptor":
            yield Work(here, BEHIND, name, prod(operand.shape) * BYTES[operand.dtype] // TOGETHER[instruction.level])
    (equation,) = instruction.op.equations
    if isinstance(fold := equation.value, Fold):
        points = prod(evaluate(a.extent, {}) for a in (*equation.axes, *fold.axes))
        factors = dict.fromkeys(instruction.operand(r.tensor).dtype for r in reads(fold))
        dtype = f"{'·'.join(factors)}→{instruction.operand(equation.target).dtype}"
        yield Work(here, "tensor", dtype, points // TOGETHER[instruction.level])


def _vector(walk: _Walk, loop: For, axes: tuple[Axis, ...], guard: Term) -> Iterator[Site]:
    """A vector loop as it is emitted: the wide accesses at once where all lanes are inside, and element by element elsewhere."""
    launch = walk.program.launches[walk.number]
    around = (*launch.grid, *launch.block, *axes)
    outer, inner = hoisted(loop, {a.name for a in around} | set(walk.program.op.sizes))
    wides = wide_in(walk.program, walk.number, inner, around)
    copy = copied(inner, wides)
    asked = [w.condition for w in wides if not w.always]
    wides = tuple(w for w in wides if walk.wide or (w.always and copy is None))
    shared, guard = conjunction(*asked[:1]), conjunction(guard, outer)
    for site in _body(walk, inner.body, (*axes, loop.axis), guard):
        wide = next((w for w in wides if _same(w, site)), None)
        if wide is None or not isinstance(site, Access):
            yield site
            continue
        pending = copy is not None and site.stores
        filled = pending and copy is not None and copy.at_once  # what is not copied is 0, by the same copy
        whole = TRUE if filled or (wide.always and not pending) else shared
        yield replace(_moved(site, wide, axes, conjunction(guard, whole)), pending=pending)
        if not filled and shared != TRUE and (pending or not wide.always):
            yield replace(site, where=site.where.under(negation(shared)))


def _same(wide: Wide, site: Site) -> bool:
    mine = isinstance(site, Access) and not site.atomic and (site.array.name, site.index, site.stores)
    return mine == (wide.tensor, wide.access.index, wide.stores)


def _moved(site: Access, wide: Wide, axes: tuple[Axis, ...], guard: Term) -> Access:
    """The wide access: `count // lanes` pieces, a loop of its own where they are several."""
    pieces, index = wide.count // wide.lanes, wide.first
    if pieces > 1:
        piece = Axis(f"{wide.axis.name} // {wide.lanes}", Const(pieces), "register")  # no name of a program has a blank
        axes, index = (*axes, piece), (*index[:-1], index[-1] + Var(piece.name) * wide.lanes)
    return replace(site, where=replace(site.where, axes=axes, guard=guard), wide_first=index, lanes=wide.lanes)


def _assign(walk: _Walk, step: Assign, axes: tuple[Axis, ...], guard: Term) -> Iterator[Site]:
    """The guard, the index, the value, and the cell that is written; an update that is not atomic reads its cell first."""
    here = walk.here(axes, guard, step.span)
    touched = Touched()
    yield from _values(here, (step.guard,), walk, touched)
    inside = here.under(step.guard)
    yield from _values(inside, (*step.index, step.value), walk, touched, step.update)
    array = walk.known[step.target]
    if step.update:
        kind = kind_of(as_monoid(step.update).combine(step.value, step.value))
        yield from () if kind is None else (Work(inside, kind, step.value.dtype),)
        if not step.atomic and not walk.alone(array):
            touched.setdefault((step.target, step.index), inside.guard)
    yield from _touched(here, touched, walk)
    if not walk.alone(array):
        yield Access(inside, array, step.index, True, step.atomic)


def _touched(here: Where, touched: Touched, walk: _Walk) -> Iterator[Site]:
    """Each element that a statement reads, once, under the conditions of all of its reads."""
    for (name, index), guard in touched.items():
        yield Access(replace(here, guard=guard), walk.known[name], index, False)


def _values(here: Where, values: tuple[Term, ...], walk: _Walk, touched: Touched, added: str = "") -> Iterator[Site]:
    """The operations of values, the last of which may be added to a cell; their reads go to `touched`."""
    for value in values:
        for node, there, fused in evaluated(value, EVERYWHERE.under(here.guard), added == "sum" and value is values[-1]):
            guard = conjunction(*there.guard)
            place = replace(here, guard=guard)
            if isinstance(node, Read):
                array = walk.known.get(node.tensor)
                if array is None or walk.alone(array) or (array.space == INPUT and not array.extents):
                    continue  # a register, or an argument of the kernel
                before = touched.get((node.tensor, node.index))
                touched[node.tensor, node.index] = guard if before is None else either(before, guard)
            elif isinstance(node, App) and node.op in SHUFFLES:
                yield Work(place, "shuffle")
            elif (kind := kind_of(node, fused)) is not None:
                yield Work(place, kind, node.dtype if node.dtype != BOOL else children(node)[0].dtype)
