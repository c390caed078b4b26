"""Where the time of a search went: what each worker did, as shares of the time that passed.

    waiting = passed − (proving + emitting + compiling + comparing + timing)

Comes in: what trials say of their steps. Goes out: a table. The one idea: of a worker's time that no step took, it was waiting: for the clock, for a job, for a process to begin.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from tinygpu.record import dataclass, field
from tinygpu.tune.trial import STEPS, Said

WORDS = {"check": "proving", "emit": "emitting", "compile": "compiling", "compare": "comparing", "time": "timing"}


@dataclass(slots=True)
class Spent:
    """Seconds of each worker's steps; and of who asks: for asking, for the store, and, at the end, for the finalists."""

    workers: dict[str, dict[str, float]] = field(default_factory=dict)
    own: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))

    def add(self, said: Said) -> None:
        """One trial, by whoever said something of it."""
        if said.host is not None:
            mine = self.workers.setdefault(said.host.worker, dict.fromkeys(STEPS, 0.0))
            for name in STEPS:
                mine[name] += said.steps.get(name, 0.0)

    def table(self, passed: float) -> Iterator[str]:
        """Its lines, for a search of so many seconds."""
        names = _numbered(self.workers)
        width = max([len(name) for name in names.values()] + [len("worker")])
        yield f"where {passed:.0f} s went"
        yield "  ".join([f"  {'worker':<{width}}", *(f"{word:>9}" for word in (*WORDS.values(), "waiting"))])
        for worker in sorted(self.workers, key=lambda one: names[one]):
            took = [self.workers[worker][name] for name in STEPS]
            shares = [one / max(passed, 1e-9) for one in (*took, max(0.0, passed - sum(took)))]
            yield "  ".join([f"  {names[worker]:<{width}}", *(f"{share:>9.0%}" for share in shares)])
        yield "  and here: " + ", ".join(f"{what} {self.own[what]:.1f} s" for what in ("asking", "storing", "the finalists"))


def _numbered(workers: Mapping[str, object]) -> dict[str, str]:
    """Workers as their hosts and a number.

    >>> _numbered({"a/7/1": 0, "b/9/1": 0, "a/8/1": 0})
    {'a/7/1': 'a 1', 'a/8/1': 'a 2', 'b/9/1': 'b 1'}
    """
    count, out = Counter[str](), dict[str, str]()
    for worker in sorted(workers):
        host = worker.partition("/")[0]
        count[host] += 1
        out[worker] = f"{host} {count[host]}"
    return out
