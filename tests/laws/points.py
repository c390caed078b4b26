"""Every point of a box, by brute force.

Comes in: a box and sizes. Goes out: what terms are evaluated in. The one idea: what a decider says of all points is tried at each.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

from tinygpu.category.box import Box
from tinygpu.category.evaluate import evaluate
from tinygpu.category.term import TRUE, Axis, Term, lift


def box(**extents: Term | int) -> Box:
    """A box of these axes."""
    return Box(tuple(Axis(name, lift(extent)) for name, extent in extents.items()))


def points(box: Box, sizes: Mapping[str, int]) -> list[dict[str, int]]:
    """The sizes and the coordinates of each point of the box, by name, in row-major order."""
    ranges = (range(evaluate(axis.extent, sizes)) for axis in box.axes)
    everywhere = ({**sizes, **dict(zip(box.names, point, strict=True))} for point in product(*ranges))
    return [at for at in everywhere if box.guard == TRUE or evaluate(box.guard, at)]
