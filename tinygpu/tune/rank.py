"""How alike two orders are: Spearman's rank correlation.

    ρ(x, y) = the correlation of the ranks of x with the ranks of y          of values that are equal the mean of their ranks

Comes in: pairs of numbers. Goes out: a number from −1 to 1. The one idea: a prediction that only orders what is tried is judged by its order.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt


def spearman(first: Sequence[float], second: Sequence[float]) -> float | None:
    """None of fewer than three pairs, or where all of one side are equal.

    >>> spearman([1, 2, 3, 4], [10, 20, 40, 30]), spearman([1, 1, 2], [0, 0, 5]), spearman([1, 1, 1], [1, 2, 3])
    (0.8, 1.0, None)
    """
    if len(first) < 3:
        return None
    one, other = ranks(first), ranks(second)
    middle = (len(first) + 1) / 2
    shared = sum((a - middle) * (b - middle) for a, b in zip(one, other, strict=True))
    spread = sum((a - middle) ** 2 for a in one) * sum((b - middle) ** 2 for b in other)
    return round(shared / sqrt(spread), 12) if spread else None


def ranks(values: Sequence[float]) -> list[float]:
    """From 1.

    >>> ranks([5, 3, 5])
    [2.5, 1.0, 2.5]
    """
    order = sorted(range(len(values)), key=lambda at: values[at])
    out, start = [0.0] * len(values), 0
    while start < len(order):
        end = start
        while end < len(order) and values[order[end]] == values[order[start]]:
            end += 1
        for at in order[start:end]:
            out[at] = (start + 1 + end) / 2
        start = end
    return out
