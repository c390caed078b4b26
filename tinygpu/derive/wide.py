"""Wide accesses: which reads and stores of a vector loop move several elements at once, and what that asks.

Comes in: a program. Goes out: for each such access its first element, its width, and the condition under which all lanes are inside. The one
idea: `for v < L in vector` is a permission. An access is wide where its last index is `first + v` with a place that is a multiple of the
lanes by its form; the emitter takes it from here, and the prover owes from here what it asks: alignment and the guards of all lanes. Of what
the form of a term says of the axis nothing is believed: where it shows nothing an access stays narrow.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from math import gcd

from tinygpu.category.decide import holds
from tinygpu.category.dtype import BYTES
from tinygpu.category.layout import Layout, address
from tinygpu.category.linear import number, polynomial, stride
from tinygpu.category.region import Region
from tinygpu.category.term import (
    BOOL,
    COMPARISONS,
    INDEX,
    TRUE,
    App,
    Axis,
    Const,
    Read,
    Term,
    conjunction,
    conjuncts,
    reads,
    substitute,
    variables,
)
from tinygpu.derive.unpack import unpack
from tinygpu.program.arrays import arrays
from tinygpu.program.instruction import MOST_LANES
from tinygpu.program.space import FRAGMENT, LOCAL
from tinygpu.program.step import Array, Assign, For, If, Program, Step, steps
from tinygpu.program.traverse import map_steps, meets, reads_of, walk_steps
from tinygpu.record import dataclass, replace

WIDEST_BYTES = 16
NARROW = (LOCAL, FRAGMENT)  # what a thread holds


def divisible(term: Term, by: int) -> Term:
    """The guard `term % by == 0`, decided where it is a number."""
    rest = term % by
    return Const(rest.value == 0, BOOL) if isinstance(rest, Const) else App("eq", (rest, Const(0)), BOOL)


def lanes_of(count: int, dtype: str) -> int:
    """How many of `count` neighbours one access moves: as many as fit 16 bytes and divide the count evenly, by powers of two.

    >>> lanes_of(4, "f32"), lanes_of(8, "f32"), lanes_of(8, "f16"), lanes_of(6, "f32"), lanes_of(3, "f32"), lanes_of(16, "u8")
    (4, 4, 8, 2, 1, 16)
    """
    return gcd(count * BYTES[dtype], WIDEST_BYTES) // BYTES[dtype]


def first_of(index: tuple[Term, ...], axis: str) -> tuple[Term, ...] | None:
    """The element of lane 0, if there is a last coordinate, it is `first + axis`, and the others are free of the axis.

    >>> from tinygpu.category.term import Var, text
    >>> g, v = Var("g"), Var("v")
    >>> [text(f) for f in first_of((g, g * 4 + v), "v")], first_of((v, g), "v"), first_of((g * 4 + v * 2,), "v")
    (['g', 'g*4'], None, None)
    """
    if not index or slope(index[-1], axis) != 1 or any(axis in variables(t) for t in index[:-1]):
        return None
    return (*index[:-1], substitute(index[-1], {axis: Const(0)}))


def slope(term: Term, axis: str) -> int | None:
    """How much the term grows from lane to lane, where that is one number; None if it is not seen.

    >>> from tinygpu.category.term import Var
    >>> g, v = Var("g"), Var("v")
    >>> slope((g * 4 + v) * 3 - v, "v"), slope(g * v, "v"), slope(v // 2, "v")
    (2, None, None)
    """
    pace, _ = stride(polynomial(term), axis)
    return None if pace is None else number(pace)


def all_lanes(guard: Term, axis: Axis) -> Term | None:
    """The guard at its worst lane: a term without the axis that holds exactly where every lane's does; None if that is not seen.

    >>> from tinygpu.category.term import Var, text
    >>> i, v, n = Var("g") * 4 + Var("v"), Axis("v", Const(4), "vector"), Var("n")
    >>> text(all_lanes(i < n, v)), text(all_lanes(i >= 1, v)), all_lanes(App("eq", (i % 2, Const(0)), "bool"), v)
    ('g*4 + 3 < n', 'g*4 >= 1', None)
    """
    if reads(guard):
        return None
    if axis.name not in variables(guard):
        return guard
    match guard:
        case App(op, (left, right)) if op in COMPARISONS and left.dtype == INDEX == right.dtype:
            rise = slope(App("sub", (right, left)), axis.name)
            if rise is None or op in ("eq", "ne"):
                return None
            grows = rise if op in ("lt", "le") else -rise
            worst = Const(0) if grows > 0 else axis.extent - 1
            return substitute(guard, {axis.name: worst})
    return None


def all_lanes_of(path: tuple[Term, ...] | None, axis: Axis) -> Term | None:
    """`all_lanes` of each condition of a path together; None if one is not seen."""
    every = None if path is None else [all_lanes(c, axis) for c in path]
    return None if every is None or None in every else conjunction(*(c for c in every if c is not None))


@dataclass(frozen=True, slots=True)
class Wide:
    """An access that moves all elements of a vector loop, `first` and its neighbours along `axis`, by accesses of `lanes` elements.

    It asks, where `outer` and `condition` hold on the box of `axes`: that `place` is divisible by `lanes` (`aligned`), that the guard of
    the access holds for every lane, and of the launcher that the pointer is aligned to `bytes` and the tensor's last extent divisible by
    `lanes` where there are rows (`row`). A block's memory is aligned, so a shared access asks nothing of the launcher.
    """

    launch: int
    axis: Axis
    array: Array
    access: Read | Assign
    first: tuple[Term, ...]
    condition: Term
    axes: tuple[Axis, ...]
    outer: Term = TRUE

    @property
    def tensor(self) -> str:
        """The array's name."""
        return self.array.name

    @property
    def stores(self) -> bool:
        """Whether it writes."""
        return isinstance(self.access, Assign)

    @property
    def count(self) -> int:
        """How many elements."""
        return turns(self.axis)

    @property
    def lanes(self) -> int:
        """How many at once."""
        return lanes_of(self.count, self.array.dtype)

    @property
    def bytes(self) -> int:
        """Of those."""
        return self.lanes * BYTES[self.array.dtype]

    @property
    def shared(self) -> bool:
        """Whether the elements are a block's."""
        return self.array.owner == "block"

    @property
    def place(self) -> Term:
        """What has to be a multiple of the lanes: the address before its swizzle, of a shared array; else the last coordinate. Panels are whole multiples."""
        array, plain = self.array, Layout(self.array.layout.pad)
        return address(array.extents, plain, self.first) if self.shared else self.first[-1]

    @property
    def aligned(self) -> Term:
        """The guard `place % lanes == 0`: an obligation."""
        return divisible(self.place, self.lanes)

    @property
    def row(self) -> Term | None:
        """The length of a row that has to be divisible by the lanes; None where nothing is asked."""
        extents = self.array.extents
        return extents[-1] if not self.shared and len(extents) > 1 and divisible(extents[-1], self.lanes) != TRUE else None

    @property
    def asks(self) -> Term:
        """What the launcher checks of the sizes before it takes the wide kernel."""
        return TRUE if self.row is None else divisible(self.row, self.lanes)

    @property
    def always(self) -> bool:
        """Whether it is wide in every kernel and for every thread: nothing has to be asked while the kernel runs."""
        return self.shared and self.condition == TRUE


def wide_accesses(program: Program) -> tuple[Wide, ...]:
    """`program → its wide accesses`, in order of launches and loops."""
    program = unpack(program)
    found: list[Wide] = []
    for place, launch in enumerate(program.launches):
        for loop, here, _ in walk_steps(launch.body, Region(launch.axes)):
            if isinstance(loop, For) and loop.axis.sort == "vector":
                outer, inner = hoisted(loop, here.names | set(program.op.sizes))
                found += (replace(w, outer=outer) for w in wide_in(program, place, inner, here.axes))
    return tuple(found)


def wide_in(program: Program, launch: int, loop: For, axes: tuple[Axis, ...]) -> tuple[Wide, ...]:
    """The wide accesses of one vector loop: those of shared arrays that are always wide, the others under the condition that they share."""
    if not turns(loop.axis) or any(map(meets, steps(loop.body))):  # where threads meet nothing may move to the start or the end
        return ()
    known, inside = arrays(program), {a.name for a in axes} | set(program.op.sizes)
    touched = [s.target for s in steps(loop.body) if isinstance(s, Assign)]
    looked = {r.tensor for s in steps(loop.body) for r in reads_of(s)}
    found: dict[Read | Assign, Wide] = {}
    unsure: list[Read] = []

    def possible(access: Read | Assign, condition: Term) -> Wide | None:
        """The wide access, if it is to memory, contiguous, aligned by its form, and known outside the loop."""
        first, name = first_of(access.index, loop.axis.name), access.tensor if isinstance(access, Read) else access.target
        if first is None or any(reads(t) or not variables(t) <= inside for t in (*first, condition)):
            return None
        wide = Wide(launch, loop.axis, known[name], access, first, condition, axes)
        if wide.array.space in NARROW or wide.lanes < 2 or wide.count > MOST_LANES or wide.asks == Const(False, BOOL):
            return None
        by_form = holds(wide.aligned, Region((), program.where)) is True
        return wide if by_form and neighbours_stay(wide.array, wide.count) else None

    for assign, around in assigns(loop.body):
        path = (*around, *conjuncts(assign.guard))
        accesses: list[tuple[Read | Assign, tuple[Term, ...] | None]] = []
        accesses += [(r, conditions) for r, conditions in conditional_reads(assign.value, path) if r.tensor not in touched]
        if not assign.update and touched.count(assign.target) == 1 and assign.target not in looked:
            accesses.append((assign, path))
        for access, conditions in accesses:
            every = all_lanes_of(conditions, loop.axis)
            if every is not None and (wide := possible(access, every)) is not None:
                found[access] = wide
            elif every is None and isinstance(access, Read):
                unsure.append(access)
    condition = conjunction(*(w.condition for w in found.values() if not w.always))
    sure = {(w.first, w.array.extents) for w in found.values()}
    found = {access: w if w.always else replace(w, condition=condition) for access, w in found.items()}
    for read in unsure:  # made for some lanes only; but where its neighbours are inside, so is it
        wide = possible(read, TRUE)
        if wide is not None and (wide.first, wide.array.extents) in sure:
            found.setdefault(read, replace(wide, condition=condition))
    return tuple(found.values())


def hoisted(loop: For, known: Set[str]) -> tuple[Term, For]:
    """The conditions that all assignments of a loop share and that no lane changes, and the loop without them."""
    shared: list[Term] | None = None
    for assign, around in assigns(loop.body):
        here = (*around, *conjuncts(assign.guard))
        free = [c for c in here if variables(c) <= known - {loop.axis.name} and not reads(c)]
        shared = free if shared is None else [c for c in shared if c in free]
    if not shared or not all(isinstance(s, Assign | If) for s in steps(loop.body)):
        return TRUE, loop

    def without(guard: Term) -> Term:
        return conjunction(*(c for c in conjuncts(guard) if c not in shared))

    def outside(step: Step) -> tuple[Step, ...]:
        return (replace(step, guard=without(step.guard)) if isinstance(step, Assign | If) else step,)

    return conjunction(*shared), replace(loop, body=map_steps(loop.body, outside))


def assigns(body: tuple[Step, ...]) -> Iterator[tuple[Assign, tuple[Term, ...]]]:
    """Every assignment of a body that stands in no further loop, with the conditions around it."""
    return ((step, here.guard) for step, here, _ in walk_steps(body) if isinstance(step, Assign) and not here.axes)


def conditional_reads(value: Term, path: tuple[Term, ...] | None) -> Iterator[tuple[Read, tuple[Term, ...] | None]]:
    """Every read of a value with the conditions under which it is made: None in an else branch."""
    match value:
        case App("select", (condition, then, otherwise)):
            yield from conditional_reads(condition, path)
            yield from conditional_reads(then, None if path is None else (*path, *conjuncts(condition)))
            yield from conditional_reads(otherwise, None)
        case App("and" | "or", (first, *others)):
            yield from conditional_reads(first, path)
            for other in others:  # evaluated or not
                yield from conditional_reads(other, None)
        case App(_, args):
            for arg in args:
                yield from conditional_reads(arg, path)
        case Read():
            yield value, path


def neighbours_stay(array: Array, count: int) -> bool:
    """Whether `count` neighbours lie side by side: of a strided array nobody knows; a swizzle moves pieces of `2 ** base` elements, panels hold whole ones."""
    if array.owner != "block" or array.layout.swizzle is None:
        return not array.strided
    _, base, shift = array.layout.swizzle
    return 2 ** min(base, base + shift) % count == array.layout.panels % count == 0


def turns(axis: Axis) -> int:
    """How many turns a vector loop has, 0 where that is no number."""
    return int(axis.extent.value) if isinstance(axis.extent, Const) else 0
