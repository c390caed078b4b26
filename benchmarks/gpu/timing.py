"""Times of ours and of peers, in turns: graphs of many calls over rotated inputs, and the events around their replays.

Comes in: for each contestant one call for each set of inputs. Goes out: seconds a call, one for each round.
The one idea: the sets together are larger than the cache, a graph lasts milliseconds, and everybody's rounds are interleaved.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.gpu.device import Gpu, in_a_line
from benchmarks.rounds import spread

LASTS = 0.004  # seconds that a graph is to last at least
MOST_CALLS = 400  # of a graph
TIMES_L2 = 3  # the sets of inputs are so many times the size of the cache
ROUNDS = 9

Calls = Sequence[Callable[[], Any]]
Capture = Callable[[Callable[[], Any]], Callable[[], Any]]


@dataclass(frozen=True, slots=True)
class Contestant:
    """Who is timed: a call for each set of inputs, how they become a graph, and whether they can."""

    name: str
    calls: Calls
    capture: Capture


@dataclass(frozen=True, slots=True)
class Timed:
    """Seconds of a call in each round; `graph` says whether graphs were replayed, `wrong` what went wrong instead."""

    seconds: tuple[float, ...] = ()
    graph: bool = True
    wrong: str = ""

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def spread(self) -> float:
        return spread(self.seconds)


def sets(l2_bytes: int, bytes_each: int, free_bytes: int) -> int:
    """How many sets of arrays are made: enough to be larger than the cache, two at least, and at most half of the free memory.

    >>> sets(50 << 20, 1 << 28, 80 << 30), sets(50 << 20, 1 << 20, 80 << 30), sets(50 << 20, 1 << 30, 1 << 31)
    (2, 150, 1)
    """
    wanted = max(2, -(-TIMES_L2 * l2_bytes // max(1, bytes_each)))
    return max(1, min(wanted, 256, free_bytes // 2 // max(1, bytes_each)))


def timed(gpu: Gpu, contestants: Sequence[Contestant], rounds: int = ROUNDS) -> Mapping[str, Timed]:
    """Each once to warm up, then `rounds` of all in turns. What raises is no contestant, and its error is kept."""
    ready: dict[str, tuple[Callable[[], Any], int, bool]] = {}
    found: dict[str, Timed] = {}
    for one in contestants:
        try:
            ready[one.name] = prepared(gpu, one)
        except Exception as error:  # noqa: BLE001  # whatever a peer raises, the others are timed
            found[one.name] = failed(error)
    times: dict[str, list[float]] = {name: [] for name in ready}
    for _ in range(rounds):
        for name, (replay, count, _) in ready.items():
            if name not in found:
                try:
                    times[name].append(gpu.seconds(replay) / count)
                except Exception as error:  # noqa: BLE001  # also one that fails later
                    found[name] = failed(error)
    return found | {name: Timed(tuple(times[name]), graph) for name, (_, _, graph) in ready.items() if name not in found}


def failed(error: Exception) -> Timed:
    """What is kept of a contestant that raised."""
    return Timed(wrong=in_a_line(error))


def prepared(gpu: Gpu, one: Contestant) -> tuple[Callable[[], Any], int, bool]:
    """A replay of many calls, how many, and whether it is a graph. Calls that cannot be captured are made one after the other."""
    for call in one.calls[:2]:
        call()
    gpu.synchronize()
    each = max(gpu.seconds(lambda: [call() for call in one.calls]) / len(one.calls), 1e-6)
    turns = max(1, min(MOST_CALLS // len(one.calls), round(LASTS / each / len(one.calls))))

    def work() -> None:
        for _ in range(turns):
            for call in one.calls:
                call()

    try:
        replay, graph = one.capture(work), True
        replay()
    except Exception:  # noqa: BLE001  # a library that waits or allocates cannot be captured
        replay, graph = work, False
        replay()
    gpu.synchronize()
    return replay, turns * len(one.calls), graph
