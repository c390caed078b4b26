"""The shape of a tile: rows and vectors of accumulators, groups of rows that use one panel, steps that a panel is laid out for.

Comes in: the launch of a machine, and which of its indices are the rows and the lanes of a tile. Goes out: a `Shape`.
The one idea: a machine `on cpu` says all four, as the factors of its indices; one for a GPU says nothing of a CPU, and gets numbers that fit
any: 6 rows of 2 vectors and their operands are in 16 registers, and a panel is in the cache.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from tinygpu.category.term import Axis, Const, variables
from tinygpu.model.machine import Launch, Phase
from tinygpu.record import dataclass

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


def shape_of(launch: Launch, row: str, lane: str, dtype: str) -> Shape | None:
    """What a launch of a machine on cpu says of a tile whose rows and lanes are these indices; None where it does not have them.

    A simd factor is one register, whatever lanes that has where the text is run: the same text is proved for each.
    """
    for phase in launch.phases:
        if {row, lane} <= {a.name for a in phase.equation.axes}:
            folds = [n for n in phase.owner.codomain.names if n not in {a.name for a in phase.equation.axes}]
            rows = _factors(phase, (row,))
            columns = [a for a in _factors(phase, (lane,)) if a.sort in ("register", "vector")]
            simd = any(a.sort == "vector" for a in columns)
            steps = [a for a in _factors(phase, folds) if a.sort != "grid"]
            inner = [a for a in steps if isinstance(a.extent, Const)]
            return Shape(
                _known(a for a in rows if a.sort in ("register", "vector")),
                _known(a for a in columns if a.sort == "register") if simd else max(1, _known(columns) // LANES[dtype]),
                _known(a for a in rows if a.sort == "time"),
                _known(inner) if inner else Shape().block,
            )
    return None


def _factors(phase: Phase, indices: Iterable[str]) -> list[Axis]:
    """The factors of some indices."""
    terms = dict(zip(phase.owner.codomain.names, phase.owner.terms, strict=True))
    names = frozenset().union(*(variables(terms[i]) for i in indices))
    return [a for a in phase.owner.domain.axes if a.name in names]


def _known(axes: Iterable[Axis]) -> int:
    """The product of the extents that are numbers."""
    return prod(int(a.extent.value) for a in axes if isinstance(a.extent, Const))
