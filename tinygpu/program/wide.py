"""Wide accesses: which reads and stores of a vector loop move several elements at once, and what that asks.

Comes in: a program. Goes out: for each such access its first element, its width, and the condition under which all lanes are inside.
The one idea: `for v < L in vector` is a permission. An access is wide where its last index is `first + v` with `first` a multiple of
the lanes by its form; the emitter takes it from here, and the prover owes from here what it asks: alignment and the guards of all lanes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tinygpu.category.term import TRUE, App, Axis, Const, Read, Term, conjunction, conjuncts, reads, variables
from tinygpu.program.lanes import ITEM_BYTES as ITEM_BYTES
from tinygpu.program.lanes import all_lanes_of, divisible, first_of, lanes_of, multiple
from tinygpu.program.step import Assign, For, If, Program, Step, steps


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
    if not isinstance(loop.axis.extent, Const):
        return ()
    touched = [s.target for s in steps(loop.body) if isinstance(s, Assign)]
    looked = {r.tensor for s in steps(loop.body) for r in _reads(s)}
    sure: list[tuple[Read | Assign, Term]] = []
    unsure: list[Read] = []
    for assign, around in assigns(loop.body):
        path = (*around, *conjuncts(assign.guard))
        for read, conditions in conditional_reads(assign.value, path):
            every = all_lanes_of(conditions, loop.axis)
            sure += [] if every is None else [(read, every)]
            unsure += [read] if every is None else []
        every = all_lanes_of(path, loop.axis)
        if every is not None and not assign.update and touched.count(assign.target) == 1 and assign.target not in looked:
            sure.append((assign, every))
    found = {access: every for access, every in sure if _can(program, loop, axes, access, every)}
    condition = conjunction(*found.values())
    inside = {(first_of(access.index, loop.axis.name), _shape(program, access)) for access in found}
    for read in unsure:  # made for some lanes only; but where its neighbours are inside, so is it
        if _can(program, loop, axes, read, TRUE) and (first_of(read.index, loop.axis.name), _shape(program, read)) in inside:
            found.setdefault(read, TRUE)
    return tuple(_wide(program, launch, loop, axes, access, condition) for access in found)


def _shape(program: Program, access: Read | Assign) -> tuple[Term, ...]:
    return program.op.tensor(access.tensor if isinstance(access, Read) else access.target).shape


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


def _can(program: Program, loop: For, axes: tuple[Axis, ...], access: Read | Assign, condition: Term) -> bool:
    """Whether the access is to an input (a store: to an output), contiguous, aligned by its form, and known outside the loop."""
    name = access.tensor if isinstance(access, Read) else access.target
    tensors = {t.name: t for t in (program.op.inputs if isinstance(access, Read) else program.op.outputs)}
    if name not in tensors or not access.index:
        return False
    first = first_of(access.index, loop.axis.name)
    inside = {a.name for a in axes} | set(program.op.sizes)
    if first is None or any(reads(t) or not variables(t) <= inside for t in (*first, condition)):
        return False
    lanes = lanes_of(_count(loop), tensors[name].dtype)
    return lanes > 1 and multiple(first[-1], program.where) % lanes == 0


def _wide(program: Program, launch: int, loop: For, axes: tuple[Axis, ...], access: Read | Assign, condition: Term) -> Wide:
    tensor = program.op.tensor(access.tensor if isinstance(access, Read) else access.target)
    first = first_of(access.index, loop.axis.name)
    assert first is not None
    lanes = lanes_of(_count(loop), tensor.dtype)
    row = tensor.shape[-1] if len(tensor.shape) > 1 and divisible(tensor.shape[-1], lanes) != TRUE else None
    size = lanes * ITEM_BYTES[tensor.dtype]
    stores = isinstance(access, Assign)
    return Wide(launch, loop.axis, tensor.name, stores, first, _count(loop), lanes, size, condition, axes, access, row)


def _count(loop: For) -> int:
    return int(loop.axis.extent.value) if isinstance(loop.axis.extent, Const) else 0
