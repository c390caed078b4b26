"""The state of a small run: who is where, what time it is, what the lanes tell each other, and what has gone wrong so far.

Comes in: the steps of a launch as they come to work. Goes out: what terms need to be evaluated (see `to_lists.Context`), and faults that
name a lane at an iteration. The one idea: an access has a moment, and a moment and a lane are enough to say who it was.
"""

from __future__ import annotations

from bisect import bisect_right
from math import prod

from tinygpu.category.listed import Beyond, Listed
from tinygpu.category.points import Points
from tinygpu.category.term import App, Read, Term, text, variables
from tinygpu.program.fault import EACH, At, Divergent, DivisionByZero, Fault, Faults
from tinygpu.program.nest import Nest
from tinygpu.program.small_cells import LANE, TURN, Cells
from tinygpu.program.step import WARP, Step
from tinygpu.record import dataclass, field

WORK = 3 << 19  # points of all operations: about what loading numpy takes
STEP = 1 << 10  # as in `interpret`: lanes whose share of a step takes as long as what every step takes


@dataclass(slots=True, eq=False, repr=False)
class Event:
    """A step at work: in a launch, with the loops around it, and those of its nest."""

    launch: int
    step: Step
    factors: tuple[str, ...]
    loops: tuple[tuple[str, int], ...]
    axes: tuple[str, ...]
    box: tuple[int, ...]
    root: Points

    def of(self, lane: int, turn: int) -> At:
        """Who that lane is, at that turn of the nest."""
        columns = [(name, self.root[name]) for name in self.factors]
        where = []
        for extent in reversed(self.box):
            turn, k = divmod(turn, extent)
            where.append(k)
        inner = zip(self.axes, reversed(where), strict=True)
        point = tuple((n, c[lane] if isinstance(c, list) else c) for n, c in columns)
        return At(self.step.span, self.launch, point, (*self.loops, *inner), self.step)

    def at(self, at: Points, place: int) -> At:
        """Who stands at a point."""
        turn = at[TURN]
        return self.of(at[LANE][place], turn[place] if isinstance(turn, list) else turn)


@dataclass(slots=True, eq=False, repr=False)
class Run:
    """The state of a launch; also the context in which its terms are evaluated."""

    launch: int
    threads: int
    lanes: int
    factors: tuple[str, ...]
    root: Points
    cells: dict[str, Cells]
    faults: Faults
    left: list[int]  # points; and lane-steps that were taken
    by_data: bool  # whether what is done depends on data
    now: Event
    loops: tuple[tuple[str, int], ...] = ()
    axes: tuple[str, ...] = ()
    box: tuple[int, ...] = ()
    exact: bool = False
    ghost: bool = False
    loose: bool = False
    bases: list[int] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    moment: int = 0
    nests: dict[int, Nest | None] = field(default_factory=dict)

    def enter(self, step: Step, turns: int | None = None) -> None:
        """From now on this step is at work. It takes so many turns of all lanes; None takes nothing at all."""
        self.now = Event(self.launch, step, self.factors, self.loops, self.axes, self.box, self.root)
        if turns is not None:
            self.left[1] += turns * self.lanes + STEP
            self.spend(turns)

    def spend(self, points: int) -> None:
        """Raises Beyond where the run takes longer than numpy would."""
        self.left[0] -= points + 16
        if self.left[0] < 0:
            raise Beyond("a small run is over")

    def afford(self, points: int) -> None:
        """Raises Beyond where there is not that much left, before anybody has made a list of so many."""
        if points > self.left[0]:
            raise Beyond("a small run is over")

    def read(self, node: Read, index: list[Listed], at: Points) -> Listed:
        """The elements that a term reads."""
        self.spend(2 * at.size)
        seen = frozenset().union(*map(variables, node.index)) if self.axes else frozenset()
        return self.cells[node.tensor].read(index, at, seen, self, self.ghost)

    def zero(self, term: Term, at: Points, bad: list[int]) -> None:
        """A division without a result."""
        for place in bad[:EACH]:
            self.report(DivisionByZero(self.now.at(at, place), text(term)))

    def rough(self) -> None:
        """Digits that are not numpy's may be stored, but nothing may depend on them."""
        self.loose = True
        if self.by_data:
            raise Beyond("a rough value may decide what is done")

    def exchange(self, node: App, value: Listed, which: Listed, at: Points) -> Listed:
        """What a shuffle gives to every lane."""
        if self.axes:
            raise Beyond("a shuffle in a nest")
        whole(self, node.op, "warp", at)
        lanes, own = at[LANE], which if isinstance(which, list) else [which] * at.size
        places = {lane: p for p, lane in enumerate(lanes)}
        out = []
        for p, (lane, by) in enumerate(zip(lanes, own, strict=True)):
            thread = lane % self.threads
            there = thread - thread % WARP + source(node.op, thread % WARP, by)
            if there >= self.threads:
                self.report(Divergent(self.now.at(at, p), node.op, "warp", None))
            there = lane - thread + (thread if there >= self.threads else there)
            out.append(value[places.get(there, p)] if isinstance(value, list) else value)
        return out

    def report(self, fault: Fault) -> None:
        """Notes a fault of the step at work."""
        self.faults.add(fault, self.now.step.span)

    def at(self, at: Points, place: int) -> At:
        """Who stands at a point now."""
        return self.now.at(at, place)

    def open(self) -> int:
        """The first moment of an access."""
        base = self.moment
        self.bases.append(base)
        self.events.append(self.now)
        self.moment += prod(self.box)
        return base

    def who(self, moment: int, lane: int) -> At:
        """What that lane did at that moment."""
        number = bisect_right(self.bases, moment) - 1
        return self.events[number].of(lane, moment - self.bases[number])

    def once(self, at: Points, seen: frozenset[str] | None) -> list[int]:
        """The points, but of turns that only loops tell apart of which nothing is seen, the first."""
        unseen = [] if seen is None else [at[name] for name in self.axes if name not in seen and name not in at.seen]
        return [p for p in range(at.size) if all(column[p] == 0 for column in unseen)] if unseen else list(range(at.size))


def source(op: str, lane: int, which: int) -> int:
    """The lane of a warp whose value `lane` gets, as in `exchange`."""
    match op:
        case "shuffle_xor":
            return lane ^ which % WARP
        case "shuffle_idx":
            return which % WARP
    there = lane - which if op == "shuffle_up" else lane + which
    return there if 0 <= there < WARP else lane


def whole(run: Run, collective: str, scope: str, at: Points) -> set[int]:
    """A fault for each block (or warp) of which only some lanes are there. Gives the blocks of which any is."""
    if at.size == run.lanes:
        return set(range(run.lanes // run.threads))
    here, done = set(at[LANE]), set[int]()
    for place, lane in enumerate(at[LANE]):
        block, thread = divmod(lane, run.threads)
        first = thread // WARP * WARP if scope == "warp" else 0
        unit = range(
            block * run.threads + first, block * run.threads + min(run.threads, first + WARP if scope == "warp" else run.threads)
        )
        if unit.start in done or len(done) == EACH:
            continue
        other = next((one for one in unit if one not in here), None)
        if other is not None:
            done.add(unit.start)
            run.report(Divergent(run.at(at, place), collective, scope, run.now.of(other, 0)))
    return {lane // run.threads for lane in here}
