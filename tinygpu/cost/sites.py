"""Sites: every place of a program where threads touch memory, compute, or meet, with what stands around it.

Comes in: a program, and whether its kernels take their wide accesses. Goes out: accesses, operations and meetings, each under loops
and a guard. The one idea: a choice evaluates one side and `and` stops early, so every operand of a value has a guard of its own; and `a*b + c` is
one instruction and two floating-point operations, so a product is counted with its sum.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias, assert_never

from tinygpu.category.dtype import BYTES
from tinygpu.category.monoid import as_monoid
from tinygpu.category.operation import OPERATION
from tinygpu.category.region import EVERYWHERE, Region, operands
from tinygpu.category.term import (
    BOOL,
    COMPARISONS,
    FLOATS,
    INDEX,
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
    walk,
)
from tinygpu.derive.wide import Wide, hoisted, wide_in
from tinygpu.diagnostic import Span
from tinygpu.program.arrays import arrays
from tinygpu.program.call import Call, Sync
from tinygpu.program.space import INPUT
from tinygpu.program.step import Array, Assign, Fact, For, If, Program, Step
from tinygpu.program.traverse import terms
from tinygpu.record import dataclass, replace

FLOPS: Mapping[str, int] = {"fma": 2, "add": 1, "mul": 1, "divide": 1, "special": 1}  # the others are no floating-point operations
KINDS = ("fma", "add", "mul", "divide", "special", "compare", "convert", "integer")
MEETINGS = ("barrier", "warp barrier", "shuffle")


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
    """One operation on values, of KINDS, in this dtype; or one of MEETINGS."""

    where: Where
    kind: str
    dtype: str = ""


Site: TypeAlias = Access | Work
Touched = dict[tuple[str, tuple[Term, ...]], Term]  # elements that a statement reads, and when


@dataclass(slots=True)
class _Walk:
    """One walk over a launch."""

    program: Program
    number: int
    wide: bool
    known: Mapping[str, Array]
    statements: int = 0

    def here(self, axes: tuple[Axis, ...], guard: Term, span: Span) -> Where:
        self.statements += 1
        return Where(self.number, axes, guard, self.statements, span)


def sites(program: Program, wide: bool = True) -> tuple[Site, ...]:
    """`program without carriers → its sites`, in order. With `wide`, its kernels take the wide accesses where all lanes are inside."""
    walks = [(launch, _Walk(program, number, wide, arrays(program))) for number, launch in enumerate(program.launches)]
    return tuple(site for launch, walk in walks for site in _body(walk, launch.body, launch.turns, TRUE))


def _body(walk: _Walk, body: tuple[Step, ...], axes: tuple[Axis, ...], guard: Term) -> Iterator[Site]:
    for step in body:
        match step:
            case For(axis, inner) if axis.sort == "vector" and walk.wide:
                yield from _vector(walk, step, axes, guard)
            case For(axis, inner):
                yield from _body(walk, inner, (*axes, axis), guard)
            case Assign():
                yield from _assign(walk, step, axes, guard)
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


def _vector(walk: _Walk, loop: For, axes: tuple[Axis, ...], guard: Term) -> Iterator[Site]:
    """A vector loop as it is emitted: the wide accesses at once where all lanes are inside, and element by element elsewhere."""
    launch = walk.program.launches[walk.number]
    around = (*launch.grid, *launch.block, *axes)
    outer, inner = hoisted(loop, {a.name for a in around} | set(walk.program.op.sizes))
    wides = wide_in(walk.program, walk.number, inner, around)
    asked = [w.condition for w in wides if not w.always]
    shared = conjunction(*asked[:1])
    guard = conjunction(guard, outer)
    for site in _body(walk, inner.body, (*axes, loop.axis), guard):
        wide = next((w for w in wides if _same(w, site)), None)
        if wide is None or not isinstance(site, Access):
            yield site
            continue
        inside = conjunction(guard, TRUE if wide.always else shared)
        yield _moved(site, wide, axes, inside)
        if not wide.always and shared != TRUE:
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
        if not step.atomic and not array.held_alone:
            touched.setdefault((step.target, step.index), inside.guard)
    yield from _touched(here, touched, walk)
    if not array.held_alone:
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
                if array is None or array.held_alone or (array.space == INPUT and not array.extents):
                    continue  # a register, or an argument of the kernel
                before = touched.get((node.tensor, node.index))
                touched[node.tensor, node.index] = guard if before is None else either(before, guard)
            elif isinstance(node, App) and node.op in SHUFFLES:
                yield Work(place, "shuffle")
            elif (kind := kind_of(node, fused)) is not None:
                yield Work(place, kind, node.dtype if node.dtype != BOOL else children(node)[0].dtype)


def either(a: Term, b: Term) -> Term:
    """`a or b`; the weaker of them, where one is a part of the other.

    >>> i, n = Var("i"), Var("n")
    >>> either(i < n, conjunction(i < n, i >= 2)) == (i < n), either(TRUE, i < n) == TRUE
    (True, True)
    """
    left, right = set(conjuncts(a)), set(conjuncts(b))
    return a if left <= right else b if right <= left else App("or", (a, b), BOOL)


def evaluated(value: Term, here: Region, fused: bool = False) -> Iterator[tuple[Term, Region, bool]]:
    """Every node of a value that is evaluated, where it is, and whether a product goes into the sum around it.

    >>> from tinygpu.category.term import Var, select, text
    >>> i, n = Var("i"), Var("n")
    >>> one = select(i < n, Read("x", (i,), "f32"), Const(0.0, "f32"))
    >>> [(text(node), *map(text, there.guard)) for node, there, _ in evaluated(one, Region()) if isinstance(node, Read)]
    [('x[i]', 'i < n')]
    """
    yield value, here, fused
    takes = isinstance(value, App) and value.op in ("add", "sub") and value.dtype != INDEX
    for inside, there in operands(value, here):
        goes = takes and isinstance(inside, App) and inside.op == "mul"
        yield from evaluated(inside, there, goes)
        takes = takes and not goes


def kind_of(node: Term, fused: bool = False) -> str | None:
    """The kind of one operation of a value, None for what costs nothing here; `fused`: it is a product, and its sum has counted it.

    >>> x = Const(2.0, "f32")
    >>> product = App("mul", (x, x), "f32")
    >>> kind_of(product), kind_of(App("add", (product, x), "f32")), kind_of(product, True), kind_of(App("exp", (x,), "f32"))
    ('mul', 'fma', None, 'special')
    """
    match node:
        case App(op, args, dtype) if dtype != INDEX and not (fused and op == "mul"):
            of = args[0].dtype
            if dtype == BOOL:
                return "compare" if op in COMPARISONS and of not in (INDEX, BOOL) else None
            if op == "cast":
                return "convert" if of not in (INDEX, dtype) else None
            if op == "select" and not any(map(kind_of, walk(args[0]))):
                return None  # a choice by indices is a guard of what is chosen
            if dtype not in FLOATS:
                return "integer"
            product = any(isinstance(a, App) and a.op == "mul" for a in args)
            return "fma" if op in ("add", "sub") and product else OPERATION[op].work or "integer"
    return None
