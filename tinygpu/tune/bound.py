"""A bound: best first through the numbers of a few machines, until nothing that is left can be better.

    box = a machine of which some digits have any number          floor(box) ≤ seconds of every run of every machine in it

Comes in: a space, a device, the sizes. Goes out: states, and in the end a certificate. The one idea: a peak is not beaten, and a thread does one instruction in a clock, so a box whose floor is not
below what was found holds nothing better; when that is so of all boxes, the search is over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from heapq import heappop, heappush
from math import ceil, inf, prod
from random import Random
from typing import TypeAlias

from tinygpu.category.evaluate import evaluate
from tinygpu.cost.bound import bound
from tinygpu.hardware.arch import Device
from tinygpu.hardware.processor import Processor
from tinygpu.model.op import Op
from tinygpu.record import dataclass, field, replace
from tinygpu.tune.actions import Action, Number, done
from tinygpu.tune.facts import extent
from tinygpu.tune.moves import NUMBERS, Space
from tinygpu.tune.rules import WIDE, matching
from tinygpu.tune.state import Factor, Nest, State
from tinygpu.tune.walks import Cost

Digit: TypeAlias = tuple[int, str, int]  # a launch, an index, a place
THREADS, UNKNOWN = 1024, 1 << 62  # of a block at most; of an index of which nothing is known


@dataclass(frozen=True, slots=True)
class Box:
    """A state of which some digits may have any number that their level has."""

    state: State
    open: tuple[Digit, ...] = ()

    def most(self, number: int) -> tuple[Factor, ...]:
        """The digits of a launch, those that are open as large as they may be."""
        return self._with(number, max)

    def least(self, number: int) -> tuple[Factor, ...]:
        """The same, as small as they may be."""
        return self._with(number, min)

    def _with(self, number: int, which: Callable[[tuple[int, ...]], int]) -> tuple[Factor, ...]:
        free = {(i, p) for n, i, p in self.open if n == number}
        cuts = self.state.nests[number].cuts
        return tuple(replace(f, extent=which(choices(f))) if (i, p) in free else f for i, cut in cuts for p, f in enumerate(cut))

    @property
    def points(self) -> int:
        """How many states it holds, legal or not."""
        return prod(len(choices(dict(self.state.nests[n].cuts)[i][p])) for n, i, p in self.open)

    def parts(self) -> list[Box]:
        """One for each number of the first digit that is open."""
        (number, index, place), *rest = self.open
        digit = dict(self.state.nests[number].cuts)[index][place]
        return [Box(_numbered(self.state, (number, index, place), n), tuple(rest)) for n in choices(digit)]


def choices(digit: Factor) -> tuple[int, ...]:
    """The numbers that a digit may have: those of its level, and its own."""
    return tuple(dict.fromkeys((digit.extent or 1, *WIDE.get(digit.level, NUMBERS))))


def whole(state: State) -> Box:
    """All numbers of all digits of a machine that have one."""
    first = {min(state.alike(n)) for n, _ in enumerate(state.nests)}
    every = ((n, i, p, f) for n in sorted(first) for i, cut in state.nests[n].cuts for p, f in enumerate(cut))
    return Box(state, tuple((n, i, p) for n, i, p, f in every if f.extent is not None))


def _numbered(state: State, digit: Digit, number: int) -> State:
    at, index, place = digit
    found = done(state, Action(at, Number(index, place, number)))
    return found[0] if found else state


@dataclass(frozen=True, slots=True)
class Floor:
    """What no run on a device is faster than: the seconds of its memory, and those of each arithmetic where all lanes of the device work."""

    space: Space
    sizes: Mapping[str, int]
    device: Device
    memory: float
    arithmetic: tuple[tuple[int, float], ...]  # lanes of a multiprocessor, seconds

    @staticmethod
    def of(space: Space, text: str, sizes: Mapping[str, int], device: Device) -> Floor:
        """Of the operations of the identity, which does each one once, and of each element once."""
        from tinygpu import pipeline
        from tinygpu.cost.measure import measure
        from tinygpu.cost.on_device import bounds

        name = "identity"
        machines = pipeline.load_text(f"{text}\n\n{space.identity().text(name)}").machines
        (machine,) = (m for m in machines if m.name == name)
        found = {b.what.split()[0]: b.seconds for b in bounds(measure(pipeline.program(machine), sizes), device)}
        lanes = {"FP32": device.fp32_lanes, "FP64": device.fp64_lanes}
        return Floor(space, sizes, device, found.get("memory,", 0.0), tuple((lanes[k], s) for k, s in found.items() if k in lanes))

    def seconds(self, box: Box) -> float:
        """Of every run of every machine of a box."""
        threads, blocks = self.work(box)
        device = self.device
        return max(self.memory, *(s * device.multiprocessors * one / max(1, min(device.multiprocessors * one, threads, blocks * one))
                                  for one, s in self.arithmetic), 0.0)  # fmt: skip

    def work(self, box: Box) -> tuple[int, int]:
        """The most threads and the most blocks that some launch of a box may have."""
        every = [self._launch(box, n, nest) for n, nest in enumerate(box.state.nests)]
        return max(t for t, _ in every), max(b for _, b in every)

    def _launch(self, box: Box, number: int, nest: Nest) -> tuple[int, int]:
        group = matching(box.state, self.space.of(box.state))[number]
        least, most = ({f.name: f.extent for f in some} for some in (box.least(number), box.most(number)))
        blocks = 1
        for index, cut in nest.cuts:
            known = prod(least[f.name] or 1 for f in cut if f.level != "grid")
            term = extent(group, index)
            goes = int(evaluate(term, self.sizes)) if term is not None else UNKNOWN
            blocks *= prod(most[f.name] or ceil(goes / known) for f in cut if f.level == "grid")
        return blocks * min(THREADS, prod(most[f.name] or 1 for f in nest.factors if f.level == "block")), blocks


@dataclass(frozen=True, slots=True)
class OnCpu:
    """What no run on a CPU is faster than, as a part of the incumbent's time: whatever the numbers of a box are, as a CPU runs what its schedule makes of them, so of
    the equations alone."""

    space: Space
    sizes: Mapping[str, int]
    cpu: Processor
    incumbent: float  # seconds

    def part(self, box: Box) -> float:
        """Of every run of every machine of a box."""
        return _least(self.space.of(box.state), tuple(self.sizes.items()), self.cpu) / self.incumbent


@lru_cache(64)
def _least(op: Op, sizes: tuple[tuple[str, int], ...], cpu: Processor) -> float:
    return bound(op, dict(sizes), cpu)


@dataclass(slots=True)
class Bound:
    """The box of the least floor first, of equal ones that of the least prediction; where no peaks are known every floor is 0, and nothing is left out. What is told, and floors, are
    parts of `incumbent` seconds; where there is no incumbent, predicted seconds."""

    space: Space
    chance: Random
    cost: Cost
    floor: Callable[[Box], float] = lambda box: 0.0
    boxes: tuple[Box, ...] = ()
    best: float | None = None
    heap: list[tuple[float, float, int, Box]] = field(default_factory=list)
    made: int = 0
    asked: int = 0
    closed: float | None = None
    incumbent: float | None = None
    told: int = 0

    def __post_init__(self) -> None:
        self.boxes = self.boxes or tuple(whole(s) for s in self.space.starts)

    def _put(self, box: Box) -> None:
        self.made += 1
        heappush(self.heap, (self.floor(box), self.cost(box.state), self.made, box))

    def ask(self) -> State | None:
        for box in () if self.made else self.boxes:
            self._put(box)
        while self.heap:
            floor, _, _, box = heappop(self.heap)
            if self.best is not None and floor >= self.best:
                self.closed = floor
                self.heap.clear()
            elif box.open:
                for part in box.parts():
                    self._put(part)
            elif self.space.legal(box.state):
                self.asked += 1
                return box.state
        return None

    def against(self, floor: OnCpu) -> None:
        """Something is to be faster than an incumbent, which is the best until then."""
        self.floor, self.incumbent, self.best = floor.part, floor.incumbent, 1.0

    def tell(self, state: State, ratio: float | None) -> None:
        """What is told of a state is no less than its floor."""
        if ratio is not None:
            self.told += 1
            self.best = min(max(ratio, self.floor(Box(state))), inf if self.best is None else self.best)

    @property
    def end(self) -> str:
        """The certificate: of which space, and why nothing in it is better; nothing while there are boxes."""
        if not self.made or self.heap:
            return ""
        space = f"{sum(b.points for b in self.boxes)} points, the numbers of the digits of {len(self.boxes)} machines"
        if self.closed is None or self.best is None:
            timed = (
                f"; none was faster than {self.best:.2f} of the incumbent's time in one trial"
                if self.told and self.incumbent
                else ""
            )
            return f"all of {space}{timed}"
        unit = (self.incumbent or 1.0) * 1e3
        left = f"{self.asked} were looked at, and no run of any other takes less than {self.closed * unit:.4g} ms"
        return f"nothing in this space is {self._best(unit)}: {space}; {left}"

    def _best(self, unit: float) -> str:
        assert self.best is not None
        if self.incumbent is None:
            return f"predicted faster than {self.best * unit:.4g} ms"
        if self.best == 1:
            return f"faster than the incumbent, which takes {unit:.4g} ms"
        return f"faster than what takes {self.best:.2f} of the incumbent's {unit:.4g} ms in one trial"
