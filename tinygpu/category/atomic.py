"""Atomic updates: which of them GPUs make as one step on global and shared memory.

Comes in: a monoid and a dtype. Goes out: whether there is an instruction. The one idea: one table, for reading, deriving, proving and
emitting; another update, such as a maximum of f32, would need a loop that compares and swaps.
Source: the CUDA C++ programming guide, atomic functions (the sum of f64 since compute capability 6.0).
"""

from __future__ import annotations

from collections.abc import Mapping

ATOMICS: Mapping[str, tuple[str, ...]] = {
    "sum": ("f32", "f64", "i32", "u32", "i64"),
    "min": ("i32", "u32", "i64"),
    "max": ("i32", "u32", "i64"),
}


def has_atomic(monoid: str, dtype: str) -> bool:
    """Whether an update by that monoid may be atomic on elements of that dtype.

    >>> has_atomic("sum", "f32"), has_atomic("max", "f32"), has_atomic("prod", "i32")
    (True, False, False)
    """
    return dtype in ATOMICS.get(monoid, ())
