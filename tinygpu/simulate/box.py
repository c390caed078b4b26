"""Boxes of elements: how long their sides are at given sizes, and which element is which in a row.

Comes in: extents, indices, addresses. Goes out: numbers, or arrays of them. The one idea: what a text gives below 0 is 0, and the last axis is the
fastest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from tinygpu.category.number import Value
from tinygpu.category.term import Term
from tinygpu.category.to_numpy import evaluate


def box_of(extents: Iterable[Term], env: Mapping[str, Value]) -> tuple[int, ...]:
    """The extents as numbers."""
    return tuple(max(0, int(evaluate(extent, env))) for extent in extents)


def flat(index: tuple[Value, ...], extents: tuple[int, ...]) -> Value:
    """The row-major address.

    >>> flat((2, 3), (4, 5))
    13
    """
    address: Value = 0
    for value, extent in zip(index, extents, strict=True):
        address = address * extent + value
    return address


def unflat(address: Value, extents: tuple[int, ...]) -> tuple[int, ...]:
    """The index of a row-major address.

    >>> unflat(13, (4, 5)), unflat(0, ())
    ((2, 3), ())
    """
    return tuple(map(int, np.unravel_index(address, extents)))
