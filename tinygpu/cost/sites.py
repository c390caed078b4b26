"""Sites: every place of a program where threads touch memory, compute, or meet, with what stands around it.

Comes in: a program, and whether its kernels take their wide accesses. Goes out: accesses, operations and meetings, each under loops
and a guard. The one idea: a choice evaluates one side and `and` stops early, so every operand of a value has a guard of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias, assert_never

from tinygpu.category.dtype import BYTES
from tinygpu.category.term import (
    BOOL,
    SHUFFLES,
    TRUE,
    App,
    Axis,
    Const,
    Read,
    Term,
    Var,
    children,
    conjunction,
    conjuncts,
    negation,
)
from tinygpu.cost.operations import kind_of, update_kind
from tinygpu.derive.wide import Wide, hoisted, wide_in
from tinygpu.diagnostic import Span
from tinygpu.program.arrays import arrays
from tinygpu.program.space import INPUT
from tinygpu.program.step import Array, Assign, Fact, For, If, Launch, Program, Step, Sync
from tinygpu.record import dataclass, replace


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
    """`array[index]`, read or stored by each thread; with `lanes` that many neighbours from `first` on, at once."""

    where: Where
    array: Array
    index: tuple[Term, ...]
    stores: bool
    atomic: bool = False
    lanes: int = 1
    wide_first: tuple[Term, ...] = ()

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
    """One operation on values: `fma`, `add`, … of `cost.operations`, in this dtype."""

    where: Where
    kind: str
    dtype: str


@dataclass(frozen=True, slots=True)
class Meeting:
    """A `barrier`, a `warp barrier` or a `shuffle`."""

    where: Where
    kind: str


Site: TypeAlias = Access | Work | Meeting


@dataclass(slots=True)
class _Walk:
    """One walk over a launch."""

    program: Program
    number: int
    wide: bool
    known: dict[str, Array]
    statements: int = 0

    @property
    def launch(self) -> Launch:
        return self.program.launches[self.number]

    def here(self, axes: tuple[Axis, ...], guard: Term, span: Span) -> Where:
        self.statements += 1
        return Where(self.number, axes, guard, self.statements, span)


def sites(program: Program, wide: bool = True) -> tuple[Site, ...]:
    """`program without carriers → its sites`, in order. With `wide`, its kernels take the wide accesses where all lanes are inside."""
    known = dict(arrays(program))
    found: list[Site] = []
    for number, launch in enumerate(program.launches):
        found += _body(_Walk(program, number, wide, known), launch.body, (), TRUE)
    return tuple(found)


def _body(walk: _Walk, body: tuple[Step, ...], axes: tuple[Axis, ...], guard: Term) -> Iterator[Site]:
    for step in body:
        match step:
            case For(axis, inner) if axis.sort == "vector" and walk.wide:
                yield from _vector(walk, step, axes, guard)
            case For(axis, inner):
                yield from _body(walk, inner, (*axes, axis), guard)
            case If(condition, inner):
                yield from _values(walk.here(axes, guard, step.span), (condition,), walk, {})
                yield from _body(walk, inner, axes, conjunction(guard, condition))
            case Assign():
                yield from _assign(walk, step, axes, guard)
            case Sync(scope):
                kind = "barrier" if scope == "block" else "warp barrier"
                yield Meeting(walk.here(axes, guard, step.span), kind)
            case Array() | Fact():
                pass  # nothing is done
            case _:
                assert_never(step)


def _vector(walk: _Walk, loop: For, axes: tuple[Axis, ...], guard: Term) -> Iterator[Site]:
    """A vector loop as it is emitted: the wide accesses at once where all lanes are inside, and element by element elsewhere."""
    around = (*walk.launch.grid, *walk.launch.block, *axes)
    outer, inner = hoisted(loop, {a.name for a in around} | set(walk.program.op.sizes))
    wides = wide_in(walk.program, walk.number, inner, around)
    asked = [w.condition for w in wides if not w.always]
    shared = conjunction(*asked[:1])
    guard = conjunction(guard, outer)
    for site in _body(walk, inner.body, (*axes, loop.axis), guard):
        if not isinstance(site, Access):
            yield site
            continue
        wide = next((w for w in wides if _same(w, site)), None)
        if wide is None:
            yield site
            continue
        inside = conjunction(guard, TRUE if wide.always else shared)
        yield _moved(site, wide, axes, inside)
        if not wide.always and shared != TRUE:
            yield replace(site, where=site.where.under(negation(shared)))


def _same(wide: Wide, site: Access) -> bool:
    access = wide.access
    name, index = (access.tensor, access.index) if isinstance(access, Read) else (access.target, access.index)
    return wide.stores == site.stores and name == site.array.name and index == site.index and not site.atomic


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
    touched: dict[tuple[str, tuple[Term, ...]], Term] = {}
    yield from _values(here, (step.guard,), walk, touched, last=False)
    inside = here.under(step.guard)
    yield from _values(inside, (*step.index, step.value), walk, touched, last=False, added=step.update)
    array = walk.known[step.target]
    if step.update:
        kind = update_kind(step.update, step.value)
        yield from () if kind is None else (Work(inside, kind, step.value.dtype),)
        if not step.atomic and array.owner != "thread":
            touched.setdefault((step.target, step.index), inside.guard)
    yield from _touched(here, touched, walk)
    if array.owner != "thread":
        yield Access(inside, array, step.index, True, step.atomic)


def _touched(here: Where, touched: dict[tuple[str, tuple[Term, ...]], Term], walk: _Walk) -> Iterator[Site]:
    """Each element that a statement reads, once, under the conditions of all of its reads."""
    for (name, index), guard in touched.items():
        yield Access(replace(here, guard=guard), walk.known[name], index, False)


def _values(
    here: Where,
    values: tuple[Term, ...],
    walk: _Walk,
    touched: dict[tuple[str, tuple[Term, ...]], Term],
    last: bool = True,
    added: str = "",
) -> Iterator[Site]:
    """The operations of values; their reads go to `touched`, and out where this is the last of a statement."""
    for value in values:
        for node, guard, fused in evaluated(value, here.guard, added == "sum" and value is values[-1]):
            place = replace(here, guard=guard)
            if isinstance(node, Read):
                array = walk.known.get(node.tensor)
                if array is None or array.owner == "thread" or (array.space == INPUT and not array.extents):
                    continue  # a register, or an argument of the kernel
                before = touched.get((node.tensor, node.index))
                touched[node.tensor, node.index] = guard if before is None else either(before, guard)
            elif isinstance(node, App) and node.op in SHUFFLES:
                yield Meeting(place, "shuffle")
            elif isinstance(node, App) and (kind := kind_of(node, fused)) is not None:
                yield Work(place, kind, node.dtype if node.dtype != BOOL else node.args[0].dtype)
    if last:
        yield from _touched(here, touched, walk)


def either(a: Term, b: Term) -> Term:
    """`a or b`; the weaker of them, where one is a part of the other.

    >>> i, n = Var("i"), Var("n")
    >>> either(i < n, conjunction(i < n, i >= 2)) == (i < n), either(TRUE, i < n) == TRUE
    (True, True)
    """
    left, right = set(conjuncts(a)), set(conjuncts(b))
    return a if left <= right else b if right <= left else App("or", (a, b), BOOL)


def evaluated(value: Term, guard: Term, fused: bool = False) -> Iterator[tuple[Term, Term, bool]]:
    """Every node of a value that is evaluated, the guard under which it is, and whether a product goes into the sum around it.

    >>> from tinygpu.category.term import Var, select, text
    >>> i, n = Var("i"), Var("n")
    >>> one = select(i < n, Read("x", (i,), "f32"), Const(0.0, "f32"))
    >>> [(text(node), text(under)) for node, under, _ in evaluated(one, TRUE) if isinstance(node, Read)]
    [('x[i]', 'i < n')]
    """
    yield value, guard, fused
    match value:
        case App("select", (condition, then, otherwise)):
            yield from evaluated(condition, guard)
            yield from evaluated(then, conjunction(guard, condition))
            yield from evaluated(otherwise, conjunction(guard, negation(condition)))
        case App("and" | "or", args):
            for arg in args:
                yield from evaluated(arg, guard)
                guard = conjunction(guard, arg if value.op == "and" else negation(arg))
        case App("add" | "sub", (a, b)) if value.dtype != "index":
            first = isinstance(a, App) and a.op == "mul"
            yield from evaluated(a, guard, first)
            yield from evaluated(b, guard, not first and isinstance(b, App) and b.op == "mul")
        case _:
            for child in children(value):
                yield from evaluated(child, guard)
