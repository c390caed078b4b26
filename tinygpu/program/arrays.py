"""The arrays of a program: what is behind a name, wherever its elements live.

Comes in: a program. Goes out: dtype, extents and space of every name, and where the shared arrays of a launch lie in its block's memory; and the
address of an element, which the emitters and the prover take from one place, since the width of each of its subterms is an obligation.
The one idea: all shared arrays of a launch are carved out of one piece, each at a multiple of 16 bytes, so the offsets are ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tinygpu.category.dtype import BYTES
from tinygpu.category.layout import elements
from tinygpu.category.term import Const, Term
from tinygpu.program.space import SPACES
from tinygpu.program.step import Array, For, Launch, Program, arrays_in, steps

CARVE_BYTES = 16
STATIC_BYTES = 48 * 1024  # what a launch may take without asking for more


def arrays(program: Program) -> Mapping[str, Array]:
    """Every array of a program by its name; names are unique in a program."""
    given = (Array(t.name, t.dtype, t.shape, SPACES[t.role], span=t.span) for t in program.op.tensors)
    cells = (array for launch in program.launches for array in arrays_in(launch.body))
    return {array.name: array for array in (*given, *program.workspaces, *cells)}


def names_of(program: Program) -> set[str]:
    """The names of its sizes, indices, arrays and axes: what is made beside them takes another one."""
    op, found = program.op, {*program.op.sizes, *arrays(program)}
    found |= {*(t.name for t in op.intermediates), *(a.name for e in op.equations for a in e.axes)}
    for launch in program.launches:
        found |= {a.name for a in launch.grid + launch.block} | {s.axis.name for s in steps(launch.body) if isinstance(s, For)}
    return found


def shared_bytes(array: Array) -> int:
    """The bytes of one shared array, its pads included."""
    return elements(array.extents, array.layout) * BYTES[array.dtype]


def shared_places(launch: Launch) -> tuple[dict[str, int], int]:
    """Where each shared array of a launch starts, in bytes, and how many bytes all of them take.

    >>> from tinygpu.category.term import Const
    >>> from tinygpu.program.space import SHARED
    >>> three = (Array("a", "f32", (Const(3),), SHARED), Array("b", "u8", (Const(5),), SHARED), Array("c", "f64", (), SHARED))
    >>> shared_places(Launch((), (), three))
    ({'a': 0, 'b': 16, 'c': 32}, 40)
    """
    places: dict[str, int] = {}
    end = 0
    for array in arrays_in(launch.body, "block"):
        places[array.name] = -(-end // CARVE_BYTES) * CARVE_BYTES
        end = places[array.name] + shared_bytes(array)
    return places, end


def address(shape: Sequence[Term], index: Sequence[Term]) -> Term:
    """The row-major offset in elements, by Horner's rule, so that every subterm but the products is a coordinate or an address itself.

    >>> from tinygpu.category.term import Var, text
    >>> M, N, i, j = map(Var, "MNij")
    >>> text(address((M, N), (i, j))), text(address((), ())), text(address((M, N, Const(4)), (i, j, Const(0))))
    ('i*N + j', '0', '(i*N + j)*4')
    """
    if not index:
        return Const(0)
    offset = index[0]
    for extent, coordinate in zip(shape[1:], index[1:], strict=True):
        offset = offset * extent + coordinate
    return offset
