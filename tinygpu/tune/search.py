"""A search: an engine is asked, workers try, the store remembers; in the end finalists race the incumbent.

    while there is time: submit(ask()); of each that is done: store; tell          then: the best few against the incumbent, in turns

Comes in: an op, sizes, and who is the incumbent. Goes out: an `Outcome`. The one idea: the incumbent is a machine like any other, so a search ends with it where nothing is better.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import TypeAlias

from tinygpu.model.op import Op
from tinygpu.record import dataclass, field, replace
from tinygpu.run.load import digest
from tinygpu.tune.beam import kind
from tinygpu.tune.clock import clocked
from tinygpu.tune.encoded import encoded
from tinygpu.tune.engine import Engine
from tinygpu.tune.hosts import Local, Workers
from tinygpu.tune.race import Ratio, raced
from tinygpu.tune.spent import Spent
from tinygpu.tune.state import State
from tinygpu.tune.store import Beside, Place, Store
from tinygpu.tune.trial import Job, Kernel, Said, attempted

Known: TypeAlias = tuple[str, str, float | None]  # a machine, its verdict, its ratio
CANDIDATE = "candidate"
FINALISTS = 4
CLOSE = 1.1  # of the incumbent's time: so near it is timed again
LIMIT = 40.0  # seconds of a process
TICK = 1.0  # seconds, after which it is seen whether somebody has ended the search, or workers have come
ASKED = 20  # times in a row that an engine is asked for a state that is not known


@dataclass(slots=True)
class Outcome:
    """What was tried, by verdict, and the races of the finalists, the best one first; `ended`, somebody stopped it before."""

    verdicts: Counter[str] = field(default_factory=Counter)
    again: int = 0
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0
    finalists: list[tuple[str, Ratio]] = field(default_factory=list)
    ended: bool = False
    spent: Spent = field(default_factory=Spent)

    @property
    def winner(self) -> tuple[str, Ratio] | None:
        """The fastest of those that are faster, and not by chance."""
        better = [one for one in self.finalists if one[1].better]
        return min(better, key=lambda one: one[1].middle, default=None)


@dataclass(frozen=True, slots=True)
class Flight:
    """A state that somebody works on; `again`, for the second time; `whole`, for as long as any may take."""

    state: State
    machine: str
    again: bool = False
    whole: bool = True


@dataclass(slots=True)
class Search:
    """A search for machines of an op, whose text is `text`, at some sizes; `cost` and `features` of a state are kept beside its trial."""

    op: Op
    text: str
    sizes: Mapping[str, int]
    engine: Engine
    store: Store
    incumbent: Kernel
    device: str = ""
    seconds: float | None = None  # of the incumbent
    say: Callable[[str], None] = lambda _: None
    stopped: Callable[[], bool] = lambda: False
    kernels: dict[str, Kernel] = field(default_factory=dict)
    workers: Workers = field(default_factory=Local)
    cost: Callable[[State], float] | None = None
    features: Callable[[State], Mapping[str, float]] = lambda _: {}
    layouts: dict[str, float] = field(default_factory=dict)  # ratios by what a CPU runs

    @property
    def place(self) -> Place:
        """What the trials are of."""
        return Place.of(self.text, self.device, self.sizes)

    @property
    def rival(self) -> str:
        """The key of the incumbent."""
        return digest(self.incumbent.module)

    def run(self, budget: float) -> Outcome:
        """Try for so many seconds, then race. Raises TG918 where all workers are gone."""
        out, start = Outcome(), time.monotonic()
        self.store.describe(self.place, self.text)
        known = self.store.known(self.place, self.rival)
        for state, ratio in self.store.states(self.place, self.rival):
            self.engine.tell(state, ratio)
        try:
            self._searched(start + budget, known, self._wanted(known, out), out)
        finally:
            self.workers.close()
        out.seconds = time.monotonic() - start
        ratios = {machine: ratio for machine, verdict, ratio in known.values() if ratio is not None and verdict == "proved"}
        for machine in sorted(ratios, key=lambda m: ratios[m])[:FINALISTS] if not out.ended else ():
            if ratios[machine] < CLOSE and (found := self._raced(machine)) is not None:
                out.finalists.append((machine, found))
        out.finalists.sort(key=lambda one: one[1].middle)
        out.spent.own["the finalists"] = time.monotonic() - start - out.seconds
        return out

    def _searched(self, end: float, known: dict[str, Known], wanted: Iterator[Flight | None], out: Outcome) -> None:
        """Try until a time: as many at once as there are workers."""
        flying: dict[Future[Said], Flight] = {}
        over = False
        while True:
            out.ended = out.ended or self.stopped()
            going = not over and time.monotonic() < end and not out.ended
            try:
                while going and len(flying) < self.workers.count and (one := next(wanted)) is not None:
                    self._send(flying, one, end)
            except StopIteration:  # the engine has nothing more
                going, over = False, True
            if not going and not flying:
                return
            if self.stopped():
                flying = {future: one for future, one in flying.items() if not future.cancel()}
            if not flying:  # nobody works, or the engine knows nothing new
                time.sleep(TICK / 10)
            for future in wait(flying, TICK, FIRST_COMPLETED).done:
                self._landed(flying, future, end, known, out)

    def _wanted(self, known: dict[str, Known], out: Outcome) -> Iterator[Flight | None]:
        """What is to be tried: in turns what the engine asks for and what was timed beside other work; None where the engine knows nothing new for a while."""
        unsettled, asked_for = iter(self.store.unsettled(self.place, self.rival)), set[str](known)
        while True:
            for _ in range(ASKED):
                start = time.monotonic()
                with clocked():
                    state = self.engine.ask()
                if state is None:
                    return
                one = Flight(state, state.text(CANDIDATE))
                out.spent.own["asking"] += time.monotonic() - start
                if (key := self.place.key(one.machine)) not in asked_for:
                    asked_for.add(key)
                    yield one
                    break
                out.again += 1
            else:
                yield None
            for state in unsettled:
                one = Flight(state, state.text(CANDIDATE))
                if (key := self.place.key(one.machine)) not in asked_for:
                    asked_for.add(key)
                    yield one
                    break

    def _send(self, flying: dict[Future[Said], Flight], one: Flight, end: float) -> None:
        limit = min(LIMIT, max(5.0, end - time.monotonic()))
        future = self.workers.submit(self._job(one.machine), limit, kind(one.state))
        flying[future] = replace(one, whole=limit == LIMIT)

    def _landed(
        self, flying: dict[Future[Said], Flight], future: Future[Said], end: float, known: dict[str, Known], out: Outcome
    ) -> None:
        """A job is done: it is stored and told; one whose worker was killed is sent again, once."""
        one = flying.pop(future)
        said = self.workers.answer(future)
        out.spent.add(said)
        if said.verdict == "killed" and self.stopped():  # what was under way was stopped, too
            return
        if said.verdict == "killed" and not one.again:
            self._send(flying, replace(one, again=True), end)
            return
        if said.verdict == "late" and not one.whole:  # of which nothing is known
            out.verdicts["cut short"] += 1
            return
        if said.verdict == "killed":
            said = replace(said, verdict="crash", why="its process was ended twice")
        start = time.monotonic()
        self._kept(one, said, known)
        out.verdicts[said.verdict] += 1
        out.spent.own["storing"] += time.monotonic() - start
        best = min((ratio for _, _, ratio in known.values() if ratio is not None), default=0.0)
        self.say(f"{sum(out.verdicts.values())} tried, the best at {best:.2f} of the incumbent's time in one trial")

    def _kept(self, one: Flight, said: Said, known: dict[str, Known]) -> None:
        """In the store, by the engine, and for the race."""
        origin = getattr(self.engine, "origin", lambda _: None)(one.state)
        parent, action = (self.place.key(origin[0].text(CANDIDATE)), origin[1]) if origin else ("", "")
        cost = self.cost(one.state) if self.cost else None
        beside = Beside(self.op.family, encoded(one.state), cost, self.features(one.state), parent, action, self.rival)
        known[self.place.key(one.machine)] = one.machine, said.verdict, said.ratio
        self.store.add(self.place, one.machine, said, beside)
        self.engine.tell(one.state, said.ratio)
        if said.ratio is not None and said.verdict == "proved":
            self.layouts[said.layout] = said.ratio
        if said.kernel is not None:
            self.kernels[one.machine] = said.kernel

    def _job(self, machine: str) -> Job:
        return Job(f"{self.text}\n\n{machine}", CANDIDATE, self.sizes, self.incumbent, below=self.seconds, timed=dict(self.layouts))

    def _raced(self, machine: str) -> Ratio | None:
        self.say("the finalists, in turns with the incumbent")
        kernel = self.kernels.get(machine) or attempted(self._job(machine), LIMIT).kernel
        return None if kernel is None else raced(kernel, self.incumbent, self.op, self.sizes, LIMIT)
