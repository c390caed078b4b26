"""The threads of a block in turn: one core runs a whole block, its threads as loops between the barriers.

Comes in: a launch. Goes out: the steps that a core does for a block, a loop over the threads around each part that they do alone, and the
cells that each thread has for itself over more than one part. The one idea: a program without races means the same whoever comes first, so
between two barriers each thread may run alone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tinygpu.category.term import TRUE, Term
from tinygpu.program.space import LOCAL
from tinygpu.program.step import Array, For, If, Launch, Step, arrays_in, steps
from tinygpu.record import dataclass
from tinygpu.schedule.cut import Choice, Cutter, Part, Region, Repeat, kept
from tinygpu.schedule.exchange import without_shuffles


@dataclass(frozen=True, slots=True)
class InTurn:
    """What a core does for a block: its steps, its arrays, and which of these each thread has for itself."""

    body: tuple[Step, ...]
    arrays: tuple[Array, ...]
    lasting: frozenset[str]


def in_turn(launch: Launch, shapes: Mapping[str, tuple[Term, ...]], sizes: Collection[str]) -> InTurn:
    """`launch → steps of one core`."""
    if not launch.block and not arrays_in(launch.body, "block"):
        return InTurn(launch.body, arrays_in(launch.body, "thread"), frozenset())
    taken = {*sizes, *shapes, *(a.name for a in launch.grid + launch.block)}
    taken |= {s.axis.name if isinstance(s, For) else s.name for s in steps(launch.body) if isinstance(s, For | Array)}
    launch = without_shuffles(launch, frozenset(taken))
    shared = arrays_in(launch.body, "block")
    taken |= {s.name for s in shared}
    cutter = Cutter(launch.block, launch.body, {**shapes, **{s.name: s.extents for s in shared}}, frozenset(taken))
    parts = cutter.parts(launch.body)
    own = {s.name: s for s in (*arrays_in(launch.body, "thread"), *cutter.masks)}
    arrays = (*(Array(s.name, s.dtype, s.extents, LOCAL, span=s.span) for s in shared), *own.values())
    return InTurn(_around(parts, launch), arrays, kept(parts, frozenset(own)))


def _around(parts: tuple[Part, ...], launch: Launch) -> tuple[Step, ...]:
    return tuple(step for part in parts for step in _part(part, launch))


def _part(part: Part, launch: Launch) -> tuple[Step, ...]:
    match part:
        case Region(body, guard):
            inner = (If(guard, body),) if guard != TRUE else body
            for axis in reversed(launch.block):
                inner = (For(axis, inner),)
            return inner
        case Repeat(axis, inner):
            return (For(axis, _around(inner, launch)),)
        case Choice(guard, inner):
            return (If(guard, _around(inner, launch)),)
