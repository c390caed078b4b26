"""The arrays of a program: what is behind a name, wherever its elements live.

Comes in: a program. Goes out: dtype, extents and space of every name, and where the shared arrays of a launch lie in its block's memory.
The one idea: all shared arrays of a launch are carved out of one piece, each at a multiple of 16 bytes, so the offsets are ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tinygpu.category.dtype import BYTES
from tinygpu.category.term import Term
from tinygpu.program.layout import PLAIN, Layout, elements
from tinygpu.program.step import Launch, Local, Program, Shared, steps
from tinygpu.record import dataclass

CARVE_BYTES = 16
STATIC_BYTES = 48 * 1024  # what a launch may take without asking for more


@dataclass(frozen=True, slots=True)
class Array:
    """`space`: `input`, `output`, `workspace`, `shared` or `local`. The layout is a shared array's."""

    name: str
    dtype: str
    shape: tuple[Term, ...]
    space: str
    layout: Layout = PLAIN

    @property
    def is_global(self) -> bool:
        """Whether its elements lie in global memory, in row-major order."""
        return self.space in ("input", "output", "workspace")


def arrays(program: Program) -> Mapping[str, Array]:
    """Every array of a program by its name; names are unique in a program."""
    return {array.name: array for array in _arrays(program)}


def _arrays(program: Program) -> Iterator[Array]:
    for tensor in program.op.tensors:
        yield Array(tensor.name, tensor.dtype, tensor.shape, tensor.role)
    for space in program.workspaces:
        yield Array(space.name, space.dtype, space.extents, "workspace")
    for step in program.steps:
        if isinstance(step, Shared):
            yield Array(step.name, step.dtype, step.extents, "shared", step.layout)
        elif isinstance(step, Local):
            yield Array(step.name, step.dtype, step.extents, "local")


def shared_bytes(array: Shared) -> int:
    """The bytes of one shared array, its pads included."""
    return elements(array.extents, array.layout) * BYTES[array.dtype]


def shared_places(launch: Launch) -> tuple[dict[str, int], int]:
    """Where each shared array of a launch starts, in bytes, and how many bytes all of them take.

    >>> from tinygpu.category.term import Const
    >>> three = (Shared("a", "f32", (Const(3),)), Shared("b", "u8", (Const(5),)), Shared("c", "f64", ()))
    >>> shared_places(Launch((), (), three))
    ({'a': 0, 'b': 16, 'c': 32}, 40)
    """
    places: dict[str, int] = {}
    end = 0
    for step in steps(launch.body):
        if isinstance(step, Shared):
            places[step.name] = -(-end // CARVE_BYTES) * CARVE_BYTES
            end = places[step.name] + shared_bytes(step)
    return places, end
