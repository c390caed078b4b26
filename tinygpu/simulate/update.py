"""Atomic updates of many lanes at once, on flat arrays.

Comes in: addresses, of which several may be one, and values. Goes out: the array, updated. The one idea: any order will do, so numpy's.
"""

from __future__ import annotations

from tinygpu.category import reals
from tinygpu.category.number import Array, quiet, ufunc


def combine(monoid: str, values: Array, address: Array, given: Array) -> None:
    """`values[address] ⊕= given`, in the dtype of the values.

    >>> import numpy as np
    >>> cells = np.zeros(2, np.int32)
    >>> combine("sum", cells, np.array([1, 1, 0]), np.array([3, 4, 5], np.int32)); cells.tolist()
    [5, 7]
    """
    if values.dtype == reals.OBJECT:
        reals.accumulate(monoid, values, address, given)
        return
    with quiet():
        ufunc(monoid).at(values, address, given)
