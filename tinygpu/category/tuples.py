"""Values of carriers in numpy: tuples of arrays, folded by trees that keep the order.

Comes in: the components of many values, and how a combine is evaluated. Goes out: the components of their fold.
The one idea: neighbours are combined, then neighbours of those, so a fold of n values takes log n steps and needs no commutativity.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from tinygpu.category.monoid import Carrier
from tinygpu.category.number import Value, constant, rounded

Tuple: TypeAlias = tuple[Value, ...]


def unit_of(carrier: Carrier, exact: bool) -> Tuple:
    """The components of the unit."""
    return tuple(constant(c.value, c.dtype, exact) for c in carrier.identity)


def chosen(condition: Value, then: Value, otherwise: Value) -> Value:
    """`np.where`, also of tuples."""
    if isinstance(then, tuple):
        return tuple(np.where(condition, a, b) for a, b in zip(then, otherwise, strict=True))
    return np.where(condition, then, otherwise)


def spread(carrier: Carrier, values: Tuple, held: Value, shape: tuple[int, ...], exact: bool) -> Tuple:
    """Components with the fold's points as their first axis, the unit where they are not held."""
    full = np.broadcast_shapes(shape, *map(np.shape, values), () if held is None else np.shape(held))
    out = values if held is None else chosen(held, values, unit_of(carrier, exact))
    dtypes = (dtype for _, dtype in carrier.components)
    return tuple(np.broadcast_to(rounded(v, dtype, exact), full) for v, dtype in zip(out, dtypes, strict=True))


def folded(values: Tuple, combine: Callable[[Tuple, Tuple], Tuple]) -> Tuple:
    """The fold along the first axis of at least one value.

    >>> sums, counts = folded((np.arange(5), np.ones(5, int)), lambda a, b: (a[0] + b[0], a[1] + b[1]))
    >>> int(sums), int(counts)
    (10, 5)
    """
    while (count := len(values[0])) > 1:
        whole = count // 2 * 2
        both = combine(tuple(v[0:whole:2] for v in values), tuple(v[1:whole:2] for v in values))
        values = tuple(
            np.concatenate((np.broadcast_to(n, v[0:whole:2].shape), v[whole:])) for n, v in zip(both, values, strict=True)
        )
    return tuple(v[0] for v in values)
