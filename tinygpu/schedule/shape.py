"""The shape of a tile: rows and vectors of accumulators, groups of rows that use one panel, steps that a panel is laid out for.

Comes in: the launch of a program, and which of its indices are the rows and the lanes of a tile. Goes out: a `Shape`.
The one idea: a program `on cpu` says all four, as the loops of its store; one for a GPU says nothing of a CPU, and gets numbers that fit
any: 6 rows of 2 vectors and their operands are in 16 registers, and a panel is in the cache.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from tinygpu.category.term import Axis, Const, variables
from tinygpu.model.op import Op
from tinygpu.program.step import Launch
from tinygpu.record import dataclass
from tinygpu.schedule.lift import Site, sites

LANES = {"f32": 16, "f64": 8}  # numbers in a vector register of AVX-512


@dataclass(frozen=True, slots=True)
class Shape:
    """`rows` of `vectors` vectors are accumulated at once; `groups` of so many rows use one panel of `block` steps."""

    rows: int = 6
    vectors: int = 2
    groups: int = 42
    block: int = 512

    def shared_by(self, cells: int) -> Shape:
        """The shape where each element has several accumulators.

        >>> Shape().shared_by(2).rows, Shape().shared_by(9).rows
        (3, 1)
        """
        return Shape(max(1, self.rows // cells), self.vectors, self.groups, self.block)


def shape_of(launch: Launch, op: Op, row: str, lane: str, dtype: str) -> Shape | None:
    """What a launch of a program on cpu says of a tile whose rows and lanes are these indices; None where it holds no tile in registers.

    A simd factor is one register, whatever lanes that has where the text is run: the same text is proved for each.
    """
    for equation in op.equations:
        places = [a.name for a in equation.axes]
        store = next((s for s in sites(launch.body) if s.step.target == equation.target), None)
        if store is None or not {row, lane} <= {*places}:
            continue
        own = {i: variables(term) for i, term in zip(places, store.step.index, strict=True)}
        rows, columns = ([a for a in axes_of(store) if a.name in own[i]] for i in (row, lane))
        held = [a for a in columns if a.sort in ("register", "vector")]
        if not any(a.sort in ("register", "vector") for a in (*rows, *columns)):
            return None
        written = frozenset().union(*own.values())
        steps = {a.name: a for s in sites(launch.body) for a in axes_of(s) if s.step.update and a.name not in written}
        inner = [a for a in steps.values() if isinstance(a.extent, Const)]
        return Shape(
            _known(a for a in rows if a.sort in ("register", "vector")),
            _known(a for a in held if a.sort == "register")
            if any(a.sort == "vector" for a in held)
            else max(1, _known(held) // LANES[dtype]),
            _known(a for a in rows if a.sort == "time"),
            _known(inner) if inner else Shape().block,
        )
    return None


def axes_of(site: Site) -> list[Axis]:
    """The axes of the loops around an assignment."""
    return [loop.axis for loop in site.loops]


def _known(axes: Iterable[Axis]) -> int:
    """The product of the extents that are numbers."""
    return prod(int(a.extent.value) for a in axes if isinstance(a.extent, Const))
