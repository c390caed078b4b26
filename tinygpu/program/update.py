"""Atomic updates of many lanes at once, on flat arrays.

Comes in: addresses, of which several may be one, and values. Goes out: the array, updated. The one idea: any order will do, so numpy's.
"""

from __future__ import annotations

import numpy as np

from tinygpu.category.number import Array, rounded
from tinygpu.category.to_numpy import UFUNC


def combine(monoid: str, dtype: str, values: Array, address: Array, given: Array) -> None:
    """`values[address] ⊕= given`, each combination rounded to the dtype.

    >>> cells = np.zeros(2, np.int32)
    >>> combine("sum", "i32", cells, np.array([1, 1, 0]), np.array([3, 4, 5], np.int32)); cells.tolist()
    [5, 7]
    """
    with np.errstate(all="ignore"):
        if dtype != "bf16":
            UFUNC[monoid].at(values, address, given)
            return
        order = np.argsort(address, kind="stable")  # one turn for the first of each address, one for the second, …
        address, given = address[order], given[order]
        begins = np.flatnonzero(np.concatenate(([True], address[1:] != address[:-1])))
        turn = np.arange(len(address)) - np.repeat(begins, np.diff([*begins, len(address)])) if len(address) else address
        for now in range(int(turn.max(initial=-1)) + 1):
            where = address[turn == now]
            values[where] = rounded(UFUNC[monoid](values[where], given[turn == now]), dtype)
