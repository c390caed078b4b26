"""Every point of a region, by brute force.

Comes in: a region and sizes. Goes out: what terms are evaluated in. The one idea: what a decider says of all points is tried at each.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

from tinygpu.category.evaluate import evaluate
from tinygpu.category.region import Region
from tinygpu.category.term import Axis, Term, lift


def box(**extents: Term | int) -> Region:
    """A region of these axes."""
    return Region(tuple(Axis(name, lift(extent)) for name, extent in extents.items()))


def points(region: Region, sizes: Mapping[str, int]) -> list[dict[str, int]]:
    """The sizes and the coordinates of each point of a region, by name, in row-major order."""
    ranges = (range(evaluate(axis.extent, sizes)) for axis in region.axes)
    everywhere = ({**sizes, **dict(zip((a.name for a in region.axes), point, strict=True))} for point in product(*ranges))
    return [at for at in everywhere if all(evaluate(guard, at) for guard in region.guard)]
