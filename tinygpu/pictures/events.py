"""What the threads of a role do, one thing after the other: copies begun, waits, barriers, and what is read and stored between.

    body × thread  ↦  events, each with the tiles that it touches:  (array, slot)

Comes in: a launch at sizes, a thread. Goes out: its events in order. The one idea: loops are gone through and guards are evaluated as the program has them; steps that nobody waits in are one event.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tinygpu.category.evaluate import evaluate
from tinygpu.category.term import Axis, Const, Term, reads, variables
from tinygpu.program.call import COPY, TENSOR, Commit, Enter, Leave, Sync, Wait
from tinygpu.program.space import SHARED
from tinygpu.program.step import Assign, For, If, Launch, Step, arrays_in, steps
from tinygpu.program.traverse import reads_of, walk_steps
from tinygpu.record import dataclass, field, replace

MOST = 16  # slots of a ring
TURNS = 8  # of a loop that are gone through
Tile = tuple[str, int]  # an array, and the slot of it


@dataclass(frozen=True, slots=True)
class Event:
    """`kind` is copy, store, load, use, write, commit, wait, barrier, enter or leave; `turn` the loops around it; `unit` whose groups a commit and a wait are of, and on which a use
    goes on; `count` of a wait how many groups may be under way; `ring`, `number` and `behind` of an enter and a leave."""

    kind: str
    turn: tuple[tuple[str, int], ...]
    fills: tuple[Tile, ...] = ()
    uses: tuple[Tile, ...] = ()
    unit: str = ""
    count: int = 0
    ring: str = ""
    way: str = ""
    number: int = 0
    behind: int = 0


@dataclass(slots=True)
class Walk:
    """One thread on its way through a launch: how many tiles each array has, and the names of those in memory and of those that a block shares."""

    slots: Mapping[str, int]
    memory: frozenset[str]
    shared: frozenset[str]
    values: dict[str, int]
    turn: tuple[tuple[str, int], ...] = ()
    cut: list[str] = field(default_factory=list)

    def body(self, body: tuple[Step, ...]) -> Iterator[Event]:
        """The events of a body."""
        for step in body:
            match step:
                case If(guard, inner):
                    if self.held(guard):
                        yield from self.body(inner)
                case For(axis, inner) if self.in_turns(axis, inner):
                    yield from self.loop(axis, inner)
                case Commit(unit):
                    yield Event("commit", self.turn, unit=unit)
                case Wait(count, unit):
                    yield Event("wait", self.turn, unit=unit, count=count)
                case Enter(ring, way, turn):
                    yield Event("enter", self.turn, ring=ring, way=way, number=evaluate(turn, self.values))
                case Leave(ring, way, turn, behind):
                    yield Event("leave", self.turn, ring=ring, way=way, number=evaluate(turn, self.values), behind=behind)
                case Sync(scope="block" | "cluster"):
                    yield Event("barrier", self.turn)
                case Assign() | For():
                    yield from self.quiet(step)
                case _:
                    pass

    def in_turns(self, axis: Axis, inner: tuple[Step, ...]) -> bool:
        """Whether the turns of a loop are events of their own: threads wait in it, or it fills one slot after the other."""
        fills = (s.index[0] for s in steps(inner) if isinstance(s, Assign) and self.slots.get(s.target, 1) > 1)
        return any(map(waits, steps(inner))) or (axis.sort == "time" and any(axis.name in variables(i) for i in fills))

    def loop(self, axis: Axis, inner: tuple[Step, ...]) -> Iterator[Event]:
        outer, extent = self.turn, evaluate(axis.extent, self.values)
        if extent > TURNS:
            self.cut.append(f"{TURNS} of {extent} turns of {axis.name}")
        for number in range(min(extent, TURNS)):
            self.values[axis.name], self.turn = number, (*outer, (axis.name, number))
            yield from self.body(inner)
        self.values.pop(axis.name, None)
        self.turn = outer

    def held(self, guard: Term) -> bool:
        """Whether a guard holds here; one that is data may."""
        return bool(reads(guard) or variables(guard) - self.values.keys() or evaluate(guard, self.values))

    def quiet(self, step: Step) -> Iterator[Event]:
        """Steps in which nobody waits, as one event."""
        inside = [*steps((step,))]
        every = [s for s in inside if isinstance(s, Assign)]
        loops = {s.axis.name: 0 for s in inside if isinstance(s, For)}
        touched = [(r.tensor, r.index) for s in every for r in reads_of(s) if r.tensor in self.shared]
        stored = [(s.target, s.index) for s in every if s.target in self.shared]
        later = [s.pending for s in every if s.target in self.shared and s.pending in (COPY, TENSOR)]
        far = any(r.tensor in self.memory and r.index for s in every for r in reads_of(s))
        units = {s.pending for s in every} - {"", COPY, TENSOR}
        kind = (
            "copy"
            if later
            else "store"
            if stored
            else "use"
            if touched
            else "write"
            if any(s.target in self.memory for s in every)
            else "load"
            if far
            else ""
        )
        if kind:
            yield Event(
                kind,
                self.turn,
                self.tiles(stored, loops),
                self.tiles(touched, loops),
                unit=later[0] if later else "".join(sorted(units)),
            )

    def tiles(self, places: list[tuple[str, tuple[Term, ...]]], loops: Mapping[str, int]) -> tuple[Tile, ...]:
        """The tiles of some elements, in the first turn of some loops."""
        values = {**loops, **self.values}
        return tuple(dict.fromkeys((name, evaluate(index[0], values) if self.slots[name] > 1 else 0) for name, index in places))


def waits(step: Step) -> bool:
    """Whether a thread may wait here, or tells others something."""
    return isinstance(step, Commit | Wait | Enter | Leave) or (isinstance(step, Sync) and step.scope in ("block", "cluster"))


def slots(launch: Launch) -> dict[str, int]:
    """The shared arrays of a launch, each with how many tiles it has: those that take turns are told apart by a first index that is the same for all threads."""
    threads = {a.name for a in launch.block}
    loops = {s.axis.name for s in steps(launch.body) if isinstance(s, For) and s.axis.sort == "time"}
    first: dict[str, list[Term]] = {}
    for step, _, _ in walk_steps(launch.body):
        if isinstance(step, Assign):
            for name, index in ((step.target, step.index), *((r.tensor, r.index) for r in reads_of(step))):
                first.setdefault(name, []).extend(index[:1])
    found = {}
    for array in arrays_in(launch.body, "block"):
        if array.space != SHARED:
            continue
        uniform = all(variables(i) <= loops and not variables(i) & threads for i in first.get(array.name, ()))
        extent = array.extents[0].value if array.extents and isinstance(array.extents[0], Const) else 1
        found[array.name] = int(extent) if len(array.extents) > 2 and uniform and extent <= MOST else 1
    return found


def events(launch: Launch, memory: frozenset[str], sizes: Mapping[str, int], thread: int) -> tuple[list[Event], list[str]]:
    """What a thread of the first block does, and which turns are left out. Raises ValueError and KeyError where that is data."""
    values = {**sizes, **{a.name: 0 for a in (*launch.grid, *launch.turns)}}
    for axis in reversed(launch.block):
        extent = evaluate(axis.extent, values)
        values[axis.name], thread = thread % extent, thread // extent
    held = slots(launch)
    walk = Walk(held, memory, frozenset(held), values)
    return [*merged(walk.body(launch.body))], list(dict.fromkeys(walk.cut))


def merged(found: Iterator[Event]) -> Iterator[Event]:
    """Events of one kind next to each other in one turn are one; what only threads themselves do after each other is left out."""
    last: Event | None = None
    for one in found:
        if (
            last is not None
            and one.kind == last.kind
            and one.turn == last.turn
            and one.kind in ("copy", "store", "load", "use", "write")
        ):
            fills, uses = (tuple(dict.fromkeys((*a, *b))) for a, b in ((last.fills, one.fills), (last.uses, one.uses)))
            last = replace(last, fills=fills, uses=uses, unit=last.unit or one.unit)
            continue
        if last is not None:
            yield last
        last = one
    if last is not None:
        yield last
