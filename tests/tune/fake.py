"""A search whose workers answer at once: what they say is drawn at random, and nothing is proved, compiled or timed.

Comes in: an engine, a store. Goes out: a `Search`. The one idea: what a loop does with answers is seen without making them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from concurrent.futures import Future
from random import Random
from typing import Any

from tinygpu import pipeline
from tinygpu.commands.specs import text_of
from tinygpu.model.op import Op
from tinygpu.record import dataclass, field
from tinygpu.tune.host import Host
from tinygpu.tune.moves import Space
from tinygpu.tune.predict import predicted
from tinygpu.tune.search import Search
from tinygpu.tune.store import Store
from tinygpu.tune.trial import Job, Kernel, Said

TWICE = "op twice(x: f32[M, N]) -> (y: f32[M, N]) {\n  y[i, j] = 2 * x[i, j]\n}\n"
SIZES = {"M": 64, "N": 32}


def twice() -> Op:
    """An op that any machine is fast at."""
    return pipeline.load_text(TWICE).spec.ops[0]


def host(load: float = 1.0) -> Host:
    """A host of two cores."""
    return Host("a processor", 2, load, {"numba": "0"}, "host/1/1")


@dataclass(slots=True)
class AtOnce:
    """Answers every job, up to so many."""

    until: int
    says: Callable[[Job, Random], Said] = lambda job, chance: Said(
        "proved", ratio=chance.lognormvariate(1, 1), seconds=1.0, host=host()
    )
    count: int = 1
    jobs: list[Job] = field(default_factory=list)
    chance: Random = field(default_factory=lambda: Random(1))

    def submit(self, job: Job, limit: float, kind: Hashable) -> Future[Said]:
        self.jobs.append(job)
        future = Future[Said]()
        future.set_result(self.says(job, self.chance))
        return future

    def answer(self, future: Future[Said]) -> Said:
        return future.result()

    def close(self) -> None:
        """Nothing is open."""


def search(store: Store, engine: Any, workers: AtOnce) -> Search:
    """A search that ends when its workers have answered so often; without a race."""
    op = twice()
    made = engine(Space(op, "cpu"), Random(0), lambda state: predicted(state, op, SIZES))
    found = Search(op, text_of(op), SIZES, made, store, Kernel("the incumbent", "f"), "cpu", workers=workers, cost=made.cost)
    found.stopped = lambda: len(workers.jobs) >= workers.until
    return found
