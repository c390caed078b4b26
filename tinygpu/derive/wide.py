"""Wide accesses: which reads and stores of a vector loop move several elements at once, and what that asks.

Comes in: a program. Goes out: for each such access its first element, its width, and the condition under which all lanes are inside.
The one idea: `for v < L in vector` is a permission. An access is wide where its last index is `first + v` with a place that is a multiple
of the lanes by its form; the emitter takes it from here, and the prover owes from here what it asks: alignment and the guards of all lanes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set

from tinygpu.category.dtype import BYTES
from tinygpu.category.layout import strides as strides_of
from tinygpu.category.region import Region
from tinygpu.category.term import TRUE, App, Axis, Const, Read, Term, conjunction, conjuncts, lift, reads, variables
from tinygpu.derive.lanes import MOST_LANES, all_lanes_of, divisible, first_of, lanes_of, multiple
from tinygpu.derive.unpack import unpack
from tinygpu.program.arrays import arrays
from tinygpu.program.step import Array, Assign, For, If, Program, Step, steps
from tinygpu.program.traverse import map_steps, meets, reads_of, walk_steps
from tinygpu.record import dataclass, replace


@dataclass(frozen=True, slots=True)
class Wide:
    """`count` elements of `tensor` from `first` on, moved by accesses of `lanes` elements, `bytes` bytes each.

    It asks, where `outer` and `condition` hold on the box of `axes`: that `place` is divisible by `lanes` (`aligned`), that the guard of
    the access holds for every lane, and of the launcher that the pointer is aligned to `bytes` and the tensor's last extent divisible by
    `lanes` where there are rows (`row`). The place of a global array's element is its last coordinate; that of a shared array's is its
    address by its `strides`, and a block's memory is aligned, so a shared access asks nothing of the launcher.
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
    strides: tuple[int, ...] = ()
    outer: Term = TRUE

    @property
    def shared(self) -> bool:
        """Whether the elements are a block's."""
        return bool(self.strides)

    @property
    def place(self) -> Term:
        """What has to be a multiple of the lanes."""
        return place_of(self.first, self.strides)

    @property
    def aligned(self) -> Term:
        """The guard `place % lanes == 0`: an obligation."""
        return divisible(self.place, self.lanes)

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
    return tuple(
        wide
        for number, launch in enumerate(program.launches)
        for loop, axes in vector_loops(launch.body, launch.grid + launch.block)
        for outer, inner in [hoisted(loop, {a.name for a in axes} | set(program.op.sizes))]
        for wide in (replace(w, outer=outer) for w in wide_in(program, number, inner, axes))
    )


def vector_loops(body: tuple[Step, ...], axes: tuple[Axis, ...]) -> Iterator[tuple[For, tuple[Axis, ...]]]:
    """Every vector loop of a body, with the axes around it."""
    for step, here, _ in walk_steps(body, Region(axes)):
        if isinstance(step, For) and step.axis.sort == "vector":
            yield step, here.axes


def wide_in(program: Program, launch: int, loop: For, axes: tuple[Axis, ...]) -> tuple[Wide, ...]:
    """The wide accesses of one vector loop: those of shared arrays that are always wide, the others under the condition that they share."""
    if not isinstance(loop.axis.extent, Const) or any(
        map(meets, steps(loop.body))
    ):  # where threads meet nothing may move to the start or the end
        return ()
    known = arrays(program)
    touched = [s.target for s in steps(loop.body) if isinstance(s, Assign)]
    looked = {r.tensor for s in steps(loop.body) for r in reads_of(s)}
    sure: list[tuple[Read | Assign, Term]] = []
    unsure: list[Read] = []
    for assign, around in assigns(loop.body):
        path = (*around, *conjuncts(assign.guard))
        for read, conditions in conditional_reads(assign.value, path):
            every = all_lanes_of(conditions, loop.axis)
            if read.tensor not in touched:
                sure += [] if every is None else [(read, every)]
                unsure += [read] if every is None else []
        every = all_lanes_of(path, loop.axis)
        if every is not None and not assign.update and touched.count(assign.target) == 1 and assign.target not in looked:
            sure.append((assign, every))
    found = {access: every for access, every in sure if _can(program, known, loop, axes, access, every)}
    always = {access for access, every in found.items() if every == TRUE and known[_named(access)].owner == "block"}
    condition = conjunction(*(every for access, every in found.items() if access not in always))
    inside = {(first_of(access.index, loop.axis.name), known[_named(access)].extents) for access in found}
    for read in unsure:  # made for some lanes only; but where its neighbours are inside, so is it
        near = first_of(read.index, loop.axis.name), known[read.tensor].extents
        if _can(program, known, loop, axes, read, TRUE) and near in inside:
            found.setdefault(read, TRUE)
    return tuple(
        _wide(known[_named(access)], launch, loop, axes, access, TRUE if access in always else condition) for access in found
    )


def _named(access: Read | Assign) -> str:
    return access.tensor if isinstance(access, Read) else access.target


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


def _can(
    program: Program, known: Mapping[str, Array], loop: For, axes: tuple[Axis, ...], access: Read | Assign, condition: Term
) -> bool:
    """Whether the access is to memory, contiguous, aligned by its form, and known outside the loop."""
    array = known.get(_named(access))
    if array is None or array.owner == "thread" or not access.index:
        return False
    first = first_of(access.index, loop.axis.name)
    inside = {a.name for a in axes} | set(program.op.sizes)
    if first is None or any(reads(t) or not variables(t) <= inside for t in (*first, condition)):
        return False
    lanes = lanes_of(_count(loop), array.dtype)
    if lanes < 2 or _count(loop) > MOST_LANES or multiple(place_of(first, _strides(array)), program.where) % lanes:
        return False
    return _together(array, _count(loop)) if array.owner == "block" else _row(array, lanes) != Const(0)


def _together(array: Array, count: int) -> bool:
    """Whether the layout keeps `count` neighbours neighbours: a swizzle moves pieces of `2 ** base` elements as they are."""
    if array.layout.swizzle is None:
        return True
    _, base, shift = array.layout.swizzle
    return 2 ** min(base, base + shift) % count == 0


def place_of(first: tuple[Term, ...], strides: tuple[int, ...]) -> Term:
    """The address before its swizzle, with strides; else the last coordinate."""
    place = first[-1] if not strides else lift(0)
    for coordinate, stride in zip(first, strides, strict=False):
        place = place + coordinate * stride
    return place


def _strides(array: Array) -> tuple[int, ...]:
    return strides_of(array.extents, array.layout) if array.owner == "block" else ()


def _row(array: Array, lanes: int) -> Term | None:
    """The length of a row that has to be divisible by the lanes; none where it is, 0 where it never is."""
    if array.owner != "grid" or len(array.extents) < 2:
        return None
    even = divisible(array.extents[-1], lanes)
    return None if even == TRUE else Const(0) if isinstance(even, Const) else array.extents[-1]


def _wide(array: Array, launch: int, loop: For, axes: tuple[Axis, ...], access: Read | Assign, condition: Term) -> Wide:
    first = first_of(access.index, loop.axis.name)
    assert first is not None
    count = _count(loop)
    lanes = lanes_of(count, array.dtype)
    size, stores = lanes * BYTES[array.dtype], isinstance(access, Assign)
    row, strides = _row(array, lanes), _strides(array)
    return Wide(launch, loop.axis, array.name, stores, first, count, lanes, size, condition, axes, access, row, strides)


def _count(loop: For) -> int:
    return int(loop.axis.extent.value) if isinstance(loop.axis.extent, Const) else 0
