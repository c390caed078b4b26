"""The arrays of a program: what is behind a name, wherever its elements live, and what each launch does with them.

Comes in: a program. Goes out: dtype, extents and space of every name, where the shared arrays of a launch lie in its block's memory, the
address of an element (which the emitters and the prover take from one place, since the width of each of its subterms is an obligation);
and for each launch the kinds of its accesses, and arrays whose elements are to leave the caches first. The one idea: all shared arrays of a
launch are carved out of one piece, each at a multiple of 16 bytes, so the offsets are ours; and a race takes two accesses of different kinds,
or two stores, so what is accessed in one way only need not be watched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tinygpu.category.dtype import BYTES
from tinygpu.category.layout import elements
from tinygpu.category.linear import polynomial, term_of, times
from tinygpu.category.term import App, Axis, Const, Term
from tinygpu.model.op import Op
from tinygpu.program.call import Applied, Boxed, Sync
from tinygpu.program.space import SPACES, TENSORS
from tinygpu.program.step import Array, Assign, For, Launch, Program, arrays_in, steps
from tinygpu.program.traverse import reads_of, walk_steps

CARVE_BYTES = 16
PATTERN_BYTES = 1024  # at multiples of which the pattern of a swizzle begins, where a unit finds tiles by itself
CONTROL_BYTES = 8 * (1 + 2 * 32)
STATIC_BYTES = 48 * 1024  # what a launch may take without asking for more


def arrays(program: Program) -> Mapping[str, Array]:
    """Every array of a program by its name; names are unique in a program."""
    given = (Array(t.name, t.dtype, t.shape, SPACES[t.role], span=t.span, strided=t.strided) for t in program.op.tensors)
    cells = (array for launch in program.launches for array in arrays_in(launch.body))
    return {array.name: array for array in (*given, *program.workspaces, *cells)}


def names_of(program: Program) -> set[str]:
    """The names of its sizes, indices, arrays and axes: what is made beside them takes another one."""
    op, found = program.op, {*program.op.sizes, *arrays(program)}
    found |= {*(t.name for t in op.intermediates), *(a.name for e in op.equations for a in e.axes)}
    for launch in program.launches:
        found |= {a.name for a in launch.axes} | {s.axis.name for s in steps(launch.body) if isinstance(s, For)}
    return found


def in_block(launch: Launch) -> tuple[Array, ...]:
    """The arrays that lie in a block's memory, or are kept account of there: all of a block but those that lanes hold in registers."""
    return tuple(a for a in arrays_in(launch.body, "block") if a.held is None)


def shared_bytes(array: Array) -> int:
    """The bytes of one shared array, its pads included; of one in tensor memory what the block keeps of it: its address, and a barrier and a count for each warp."""
    if array.space == TENSORS:
        return CONTROL_BYTES
    return elements(array.extents, array.layout) * BYTES[array.dtype]


def described(launch: Launch) -> frozenset[str]:
    """The arrays of which instructions take tiles behind descriptors, or to which boxes are copied at once."""
    begun = [s.begins for s in steps(launch.body) if isinstance(s, Sync) and s.begins]
    behind = frozenset(
        name
        for one in begun
        if isinstance(one, Applied)
        for operand, (name, _) in zip(one.instruction.operands, one.operands, strict=True)
        if operand.kind == "descriptor"
    )
    return behind | {one.target for one in begun if isinstance(one, Boxed)}


def shared_places(launch: Launch) -> tuple[dict[str, int], int]:
    """Where each array of a launch that lies in its block's memory starts, in bytes, and how many bytes all of them take.

    >>> from tinygpu.category.term import Const
    >>> from tinygpu.program.space import SHARED
    >>> three = (Array("a", "f32", (Const(3),), SHARED), Array("b", "u8", (Const(5),), SHARED), Array("c", "f64", (), SHARED))
    >>> shared_places(Launch((), (), three))
    ({'a': 0, 'b': 16, 'c': 32}, 40)
    """
    places: dict[str, int] = {}
    end, patterned = 0, described(launch)
    for array in in_block(launch):
        whole = PATTERN_BYTES if array.name in patterned else CARVE_BYTES
        places[array.name] = -(-end // whole) * whole
        end = places[array.name] + shared_bytes(array)
    return places, end


def address(shape: Sequence[Term], index: Sequence[Term]) -> Term:
    """The row-major offset in elements, by Horner's rule, so that every subterm but the products is a coordinate or an address itself. Coordinates
    that are the digits of a number are that number.

    >>> from tinygpu.category.term import Var, text
    >>> M, N, i, j = map(Var, "MNij")
    >>> text(address((M, N), (i, j))), text(address((), ())), text(address((M, N, Const(4)), (i, j, Const(0))))
    ('i*N + j', '0', '(i*N + j)*4')
    >>> text(address((M, M, N), (j, i // N, i % N)))
    'j*M*N + i'
    """
    before: Term = Const(0)
    last = index[0] if index else Const(0)
    for extent, coordinate in zip(shape[1:], index[1:], strict=True):
        match coordinate:
            case App("mod", (number, m)) if m == extent and last == _quotient(number, m):
                before, last = before * extent, number
            case _:
                before, last = (before + last) * extent, coordinate
    return before + last


def _quotient(number: Term, by: Term) -> Term:
    """`number // by`, whose own divisor is one product."""
    match number:
        case App("floordiv", (inner, part)):
            return inner // term_of(times(polynomial(part), polynomial(by)))
    return number // by


def strides(op: Op) -> dict[str, tuple[str, ...]]:
    """Of each strided tensor what its strides are called, in elements: numbers of a call, one for each axis. Element x lies `Σ strideₐ · xₐ` elements
    from the first one.

    >>> from tinygpu.category.term import Var
    >>> from tinygpu.model.op import Tensor
    >>> M, N = Var("M"), Var("N")
    >>> strides(Op("o", ("M", "N"), (Tensor("A", "f32", (M, N), "input", strided=True),), (), (), ()))
    {'A': ('A stride 0', 'A stride 1')}
    """
    return {t.name: tuple(f"{t.name} stride {axis}" for axis in range(len(t.shape))) for t in op.tensors if t.strided}


PLAIN_ACCESSES = READ, STORE, COPY = (
    "read",
    "write",
    "copy",
)  # the last one lands later; the other kinds of access are the monoids of atomic updates


def accesses(launch: Launch) -> dict[str, frozenset[str]]:
    """For each array what the launch does with it: reads, writes, or the monoids of its atomic updates."""
    found: dict[str, set[str]] = {}
    for step in steps(launch.body):
        for read in reads_of(step):
            found.setdefault(read.tensor, set()).add(READ)
        if isinstance(step, Assign):
            found.setdefault(step.target, set()).update(
                (step.update,) if step.atomic else (STORE, READ) if step.update else (STORE,)
            )
    return {name: frozenset(kinds) for name, kinds in found.items()}


def once(program: Program, number: int) -> frozenset[str]:
    """`program × launch → the global arrays of which it touches each element at most once`, and no other launch any; none where all are
    such, as then there is nothing to keep."""
    if program.launches[number].turns:
        return frozenset()
    touched = [accesses(launch) for launch in program.launches]
    here = {name for name in touched[number] if sum(name in one for one in touched) == 1}
    outputs = {t.name for t in program.op.outputs if t.name in here and touched[number][t.name] == {STORE}}
    body = program.launches[number].body
    stored = {
        (where.axes, step.index) for step, where, _ in walk_steps(body) if isinstance(step, Assign) and step.target in outputs
    }
    looked: dict[str, list[tuple[tuple[Axis, ...], tuple[Term, ...]]]] = {}
    for step, where, _ in walk_steps(body):
        for tensor, index in {(read.tensor, read.index) for read in reads_of(step)}:
            looked.setdefault(tensor, []).append((where.axes, index))
    inputs = {t.name for t in program.op.inputs if t.name in here and len(looked[t.name]) == 1 and looked[t.name][0] in stored}
    found = frozenset(outputs | inputs)
    again = {a.name for a in arrays(program).values() if a.owner == "grid" and a.extents and a.name in touched[number]} - found
    return found if again else frozenset()
