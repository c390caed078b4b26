"""Wide accesses: which reads and stores of a vector loop move several elements at once, and what that asks.

Comes in: a program. Goes out: for each such access its first element, its width, and the condition under which all lanes are inside.
The one idea: `for v < L in vector` is a permission. An access is wide where its last index is `first + v` with `first` a multiple of
the lanes by its form; the emitter takes it from here, and the prover owes from here what it asks: alignment and the guards of all lanes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd

from tinygpu.category.term import (
    COMPARISONS,
    INDEX,
    TRUE,
    App,
    Axis,
    Const,
    Read,
    Term,
    Var,
    conjunction,
    conjuncts,
    reads,
    substitute,
    variables,
)
from tinygpu.program.step import Assign, For, If, Program, Step, steps

ITEM_BYTES = {"f64": 8, "i64": 8, "f32": 4, "i32": 4, "u32": 4, "f16": 2, "bf16": 2, "u8": 1, "i8": 1, "bool": 1}
WIDEST_BYTES = 16


@dataclass(frozen=True, slots=True)
class Wide:
    """`count` elements of `tensor` from `first` on, moved by accesses of `lanes` elements, `bytes` bytes each.

    It asks, where `condition` holds on the box of `axes`: that the last of `first` is divisible by `lanes` (`aligned`), that the guard of
    the access holds for every lane, and of the launcher that the pointer is aligned to `bytes` and the tensor's last extent divisible by
    `lanes` where there are rows (`row`).
    """

    launch: int
    axis: Axis
    tensor: str
    stores: bool
    first: tuple[Term, ...]
    count: int
    lanes: int
    bytes: int
    condition: Term
    axes: tuple[Axis, ...]
    access: Read | Assign
    row: Term | None

    @property
    def aligned(self) -> Term:
        """The guard `first % lanes == 0` of the last coordinate: an obligation."""
        return divisible(self.first[-1], self.lanes)

    @property
    def asks(self) -> Term:
        """What the launcher checks of the sizes before it takes the wide kernel."""
        return TRUE if self.row is None else divisible(self.row, self.lanes)


def divisible(term: Term, by: int) -> Term:
    """The guard `term % by == 0`, decided where it is a number."""
    rest = term % by
    return Const(rest.value == 0, "bool") if isinstance(rest, Const) else App("eq", (rest, Const(0)), "bool")


def wide_accesses(program: Program) -> tuple[Wide, ...]:
    """`program → its wide accesses`, in order of launches and loops."""
    return tuple(
        wide
        for number, launch in enumerate(program.launches)
        for loop, axes in vector_loops(launch.body, launch.grid + launch.block)
        for wide in wide_in(program, number, loop, axes)
    )


def vector_loops(body: tuple[Step, ...], axes: tuple[Axis, ...]) -> Iterator[tuple[For, tuple[Axis, ...]]]:
    """Every vector loop of a body that holds no other loop's access, with the axes around it."""
    for step in body:
        match step:
            case For(axis, inner) if axis.sort == "vector":
                yield step, axes
                yield from vector_loops(inner, (*axes, axis))
            case For(axis, inner):
                yield from vector_loops(inner, (*axes, axis))
            case If(_, inner):
                yield from vector_loops(inner, axes)


def wide_in(program: Program, launch: int, loop: For, axes: tuple[Axis, ...]) -> tuple[Wide, ...]:
    """The wide accesses of one vector loop, each under the condition that all of them share."""
    extent = loop.axis.extent
    if not isinstance(extent, Const):
        return ()
    found: list[tuple[Read | Assign, Term, tuple[Term, ...]]] = []
    touched = [s.target for s in steps(loop.body) if isinstance(s, Assign)]
    looked = {r.tensor for s in steps(loop.body) for r in _reads(s)}
    for assign, around in assigns(loop.body):
        inside = (*around, *conjuncts(assign.guard))
        for read, path in conditional_reads(assign.value, inside):
            _consider(program, loop, axes, read, path, found)
        if not assign.update and touched.count(assign.target) == 1 and assign.target not in looked:
            _consider(program, loop, axes, assign, inside, found)
    condition = conjunction(*(c for _, c, _ in found))
    return tuple(_wide(program, launch, loop, axes, access, first, condition) for access, _, first in found)


def assigns(body: tuple[Step, ...], path: tuple[Term, ...] = ()) -> Iterator[tuple[Assign, tuple[Term, ...]]]:
    """Every assignment of a body that stands in no further loop, with the conditions around it."""
    for step in body:
        match step:
            case Assign():
                yield step, path
            case If(guard, inner):
                yield from assigns(inner, (*path, *conjuncts(guard)))


def _reads(step: Step) -> tuple[Read, ...]:
    match step:
        case Assign(_, index, value, _, guard):
            return tuple(r for t in (*index, value, guard) for r in reads(t))
        case If(guard, _):
            return reads(guard)
    return ()


def conditional_reads(value: Term, path: tuple[Term, ...]) -> Iterator[tuple[Read, tuple[Term, ...]]]:
    """Every read of a value that is made where the conditions of its path hold; reads of an else branch are left out."""
    match value:
        case App("select", (condition, then, _)):
            yield from conditional_reads(condition, path)
            yield from conditional_reads(then, (*path, *conjuncts(condition)))
        case App("and" | "or", args):
            yield from conditional_reads(args[0], path)  # the others are evaluated or not
        case App(_, args):
            for arg in args:
                yield from conditional_reads(arg, path)
        case Read():
            yield value, path


def _consider(
    program: Program,
    loop: For,
    axes: tuple[Axis, ...],
    access: Read | Assign,
    path: tuple[Term, ...],
    found: list[tuple[Read | Assign, Term, tuple[Term, ...]]],
) -> None:
    """Note the access, its condition and its first element, if it can be wide; the same read is noted once."""
    name = access.tensor if isinstance(access, Read) else access.target
    known = {t.name: t for t in (program.op.inputs if isinstance(access, Read) else program.op.outputs)}
    if name not in known or not access.index or any(access == a for a, _, _ in found):
        return
    first = first_of(access.index, loop.axis.name)
    inside = {a.name for a in axes} | set(program.op.sizes)
    if first is None or any(reads(f) or not variables(f) <= inside for f in first):
        return
    lanes = lanes_of(int(loop.axis.extent.value), known[name].dtype)  # type: ignore[union-attr]
    every = [all_lanes(c, loop.axis) for c in path]
    if lanes < 2 or multiple(first[-1], program.where) % lanes or None in every:
        return
    condition = conjunction(*(c for c in every if c is not None))
    if variables(condition) <= inside:
        found.append((access, condition, first))


def _wide(
    program: Program,
    launch: int,
    loop: For,
    axes: tuple[Axis, ...],
    access: Read | Assign,
    first: tuple[Term, ...],
    condition: Term,
) -> Wide:
    tensor = program.op.tensor(access.tensor if isinstance(access, Read) else access.target)
    count = int(loop.axis.extent.value)  # type: ignore[union-attr]
    lanes = lanes_of(count, tensor.dtype)
    row = tensor.shape[-1] if len(tensor.shape) > 1 and divisible(tensor.shape[-1], lanes) != TRUE else None
    wide = lanes * ITEM_BYTES[tensor.dtype]
    return Wide(launch, loop.axis, tensor.name, isinstance(access, Assign), first, count, lanes, wide, condition, axes, access, row)


def lanes_of(count: int, dtype: str) -> int:
    """How many of `count` neighbours one access moves: as many as fit 16 bytes and divide the count evenly, by powers of two.

    >>> lanes_of(4, "f32"), lanes_of(8, "f32"), lanes_of(8, "f16"), lanes_of(6, "f32"), lanes_of(3, "f32"), lanes_of(16, "u8")
    (4, 4, 8, 2, 1, 16)
    """
    return gcd(count * ITEM_BYTES[dtype], WIDEST_BYTES) // ITEM_BYTES[dtype]


def first_of(index: tuple[Term, ...], axis: str) -> tuple[Term, ...] | None:
    """The element of lane 0, if the last coordinate is `first + axis` and the others are free of the axis.

    >>> from tinygpu.category.term import text
    >>> g, v = Var("g"), Var("v")
    >>> [text(f) for f in first_of((g, g * 4 + v), "v")], first_of((v, g), "v"), first_of((g * 4 + v * 2,), "v")
    (['g', 'g*4'], None, None)
    """
    if slope(index[-1], axis) != 1 or any(axis in variables(t) for t in index[:-1]):
        return None
    return (*index[:-1], substitute(index[-1], {axis: Const(0)}))


def slope(term: Term, axis: str) -> int | None:
    """How much the term grows from lane to lane, where that is one number; None if it is not seen.

    >>> g, v = Var("g"), Var("v")
    >>> slope((g * 4 + v) * 3 - v, "v"), slope(g * v, "v"), slope(v // 2, "v")
    (2, None, None)
    """
    if axis not in variables(term):
        return 0
    match term:
        case Var():
            return 1
        case App("add" | "sub", (a, b)):
            left, right = slope(a, axis), slope(b, axis)
            return None if left is None or right is None else left + (right if term.op == "add" else -right)
        case App("mul", (a, Const(int(factor)))) | App("mul", (Const(int(factor)), a)):
            inner = slope(a, axis)
            return None if inner is None else inner * factor
    return None


def all_lanes(guard: Term, axis: Axis) -> Term | None:
    """The guard at its worst lane: a term without the axis that holds exactly where every lane's does; None if that is not seen.

    >>> from tinygpu.category.term import text
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


def multiple(term: Term, where: tuple[Term, ...] = ()) -> int:
    """A number that divides the term for all values of its variables, seen from its form; 0 divides like every number.

    >>> g, t, N = Var("g"), Var("t"), Var("N")
    >>> multiple((g * 256 + t) * 4), multiple(g * 8 + 4), multiple(N + 4), multiple(N + 4, (divisible(N, 4),)), multiple(Const(0))
    (4, 4, 1, 4, 0)
    """
    match term:
        case Const(int(value)):
            return abs(value)
        case Var():
            return max([by for by in (16, 8, 4, 2) if any(known == divisible(term, m) for known in where for m in range(by, 129, by))] or [1])
        case App("add" | "sub", (a, b)):
            return gcd(multiple(a, where), multiple(b, where))
        case App("mul", (a, b)):
            return multiple(a, where) * multiple(b, where)
    return 1
