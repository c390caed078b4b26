"""A search: an engine is asked, a process tries, the store remembers; in the end finalists race the incumbent.

    while there is time: state = ask(); said = attempted(state); store; tell          then: the best few against the incumbent, in turns

Comes in: an op, sizes, and who is the incumbent. Goes out: an `Outcome`. The one idea: the incumbent is a machine like any other, so a search ends with it where nothing is better.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TypeAlias

from tinygpu.model.op import Op
from tinygpu.record import dataclass, field
from tinygpu.tune.engine import Engine
from tinygpu.tune.race import Ratio, raced
from tinygpu.tune.state import read_back
from tinygpu.tune.store import Place, Store
from tinygpu.tune.trial import Job, Kernel, Said, attempted

Known: TypeAlias = tuple[str, str, float | None]  # a machine, its verdict, its ratio
CANDIDATE = "candidate"
FINALISTS = 4
CLOSE = 1.1  # of the incumbent's time: so near it is timed again
LIMIT = 40.0  # seconds of a process


@dataclass(slots=True)
class Outcome:
    """What was tried, by verdict, and the races of the finalists, the best one first; `ended`, somebody stopped it before."""

    verdicts: Counter[str] = field(default_factory=Counter)
    again: int = 0
    seconds: float = 0.0
    finalists: list[tuple[str, Ratio]] = field(default_factory=list)
    ended: bool = False

    @property
    def winner(self) -> tuple[str, Ratio] | None:
        """The fastest of those that are faster, and not by chance."""
        better = [one for one in self.finalists if one[1].better]
        return min(better, key=lambda one: one[1].middle, default=None)


@dataclass(slots=True)
class Search:
    """A search for machines of an op, whose text is `text`, at some sizes."""

    op: Op
    text: str
    sizes: Mapping[str, int]
    engine: Engine
    store: Store
    incumbent: Kernel
    device: str = ""
    say: Callable[[str], None] = lambda _: None
    stopped: Callable[[], bool] = lambda: False
    kernels: dict[str, Kernel] = field(default_factory=dict)

    def run(self, budget: float) -> Outcome:
        """Try for so many seconds, then race."""
        place, out = Place.of(self.text, self.device, self.sizes), Outcome()
        start = time.monotonic()
        self.store.describe(place, self.text)
        known = self.store.known(place)
        self._remembered(known)
        ratios = {machine: ratio for machine, verdict, ratio in known.values() if ratio is not None and verdict == "proved"}
        self._searched(start + budget, place, known, ratios, out)
        out.seconds = time.monotonic() - start
        for machine in sorted(ratios, key=lambda m: ratios[m])[:FINALISTS] if not out.ended else ():
            if ratios[machine] < CLOSE and (found := self._raced(machine)) is not None:
                out.finalists.append((machine, found))
        out.finalists.sort(key=lambda one: one[1].middle)
        return out

    def _searched(self, end: float, place: Place, known: dict[str, Known], ratios: dict[str, float], out: Outcome) -> None:
        """Try until a time."""
        while (left := end - time.monotonic()) > 0:
            if (state := self.engine.ask()) is None:
                return
            machine = state.text(CANDIDATE)
            if place.key(machine) in known:
                out.again += 1
                continue
            said = self._tried(machine, min(LIMIT, max(5.0, left)))
            if self.stopped():  # what was under way was stopped, too
                out.ended = True
                return
            known[place.key(machine)] = machine, said.verdict, said.ratio
            self.store.add(place, machine, said)
            out.verdicts[said.verdict] += 1
            self.engine.tell(state, said.ratio)
            if said.ratio is not None:
                ratios[machine] = said.ratio
            best = min(ratios.values(), default=0.0)
            self.say(f"{sum(out.verdicts.values())} tried, the best at {best:.2f} of the incumbent's time in one trial")

    def _remembered(self, known: Mapping[str, Known]) -> None:
        """The engine is told what a store has."""
        for machine, _, ratio in known.values():
            state = read_back(machine)
            if state is not None:
                self.engine.tell(state, ratio)

    def _tried(self, machine: str, limit: float) -> Said:
        said = attempted(Job(f"{self.text}\n\n{machine}", CANDIDATE, self.sizes, self.incumbent), limit)
        if said.kernel is not None:
            self.kernels[machine] = said.kernel
        return said

    def _raced(self, machine: str) -> Ratio | None:
        self.say("the finalists, in turns with the incumbent")
        kernel = self.kernels.get(machine) or self._tried(machine, LIMIT).kernel
        return None if kernel is None else raced(kernel, self.incumbent, self.op, self.sizes, LIMIT)
