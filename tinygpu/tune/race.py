"""Finalists against the incumbent: in turns, until the interval of the ratio leaves out 1, or ties.

    the median of ours / theirs over rounds, between the order statistics that hold it in 99 of 100 cases

Comes in: kernels. Goes out: for each the interval of its ratio. The one idea: the best of many noisy times is noise until it is timed again, so no other figure is called a speed-up.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from math import comb
from typing import Any

from tinygpu.record import dataclass
from tinygpu.tune.clock import clocked
from tinygpu.tune.trial import Kernel, in_process, prepared

ROUNDS = 25
RISK = 0.01


@dataclass(frozen=True, slots=True)
class Ratio:
    """Our time as a part of the incumbent's: the median of rounds, and between what it lies."""

    low: float
    middle: float
    high: float

    @property
    def better(self) -> bool:
        """Whether it is faster, and not by chance."""
        return self.high < 1 and self.middle < 0.99

    def __str__(self) -> str:
        return f"{self.middle:.2f} ({self.low:.2f}–{self.high:.2f})"


def raced(finalist: Kernel, incumbent: Kernel, op: Any, sizes: Mapping[str, int], limit: float) -> Ratio | None:
    """The interval of one finalist; None where it did not end, or gives other results."""
    found = in_process(lambda say: _raced(finalist, incumbent, op, sizes, say), limit)
    return interval(found["ratios"]) if "ratios" in found and "error" not in found else None


def _raced(finalist: Kernel, incumbent: Kernel, op: Any, sizes: Mapping[str, int], say: Callable[..., None]) -> None:
    with clocked():
        calls = prepared((finalist, incumbent), op, sizes, lambda **known: None)
    if calls is None:
        return
    ratios = []
    with clocked(alone=True):
        for turn in range(ROUNDS):
            taken = [0.0, 0.0]
            for place in (0, 1) if turn % 2 else (1, 0):  # who is first has the caches of the other one
                start = time.perf_counter()
                calls[place]()
                taken[place] = time.perf_counter() - start
            ratios.append(taken[0] / taken[1])
    say(ratios=ratios)


def interval(ratios: Sequence[float]) -> Ratio:
    """The median, and the order statistics that hold the true one but for a small risk.

    >>> str(interval([0.9] * 20 + [1.1] * 5))
    '0.90 (0.90–0.90)'
    """
    ordered, n = sorted(ratios), len(ratios)
    least = 0
    while least < n // 2 and sum(comb(n, k) for k in range(least + 1)) * 2 / 2**n < RISK:
        least += 1
    least = max(0, least - 1)
    return Ratio(ordered[least], ordered[n // 2], ordered[n - 1 - least])
