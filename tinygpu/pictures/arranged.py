"""The events of all roles of a launch, each where what it waits for has ended, and what becomes of each slot.

    fill x → use x        use y → fill y + slots        a wait for n groups ends all but the last n        a barrier ends what threads have stored

Comes in: a launch at sizes. Goes out: a `Timeline`. The one idea: an order and no time: how wide an event is, its words say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tinygpu.pictures.events import Event, Tile, events
from tinygpu.pictures.paper import length
from tinygpu.program.call import COPY, FILL, TENSOR, USE
from tinygpu.program.ring import Section, sections
from tinygpu.program.step import Launch
from tinygpu.record import dataclass, field

SIZE, GAP = 10.0, 3.0
MOST = 48  # steps of a role


@dataclass(slots=True)
class Placed:
    """An event of a role from where to where, and the number of the tile that it is about."""

    event: Event
    start: float
    end: float
    tile: int = -1


@dataclass(slots=True)
class Held:
    """A tile in its slot: begun, there, and when it is read. `by`: the role that began it; `group`: how many groups of copies that had ended; `ring`: the one that tells of it; of what
    threads store neither."""

    tile: int
    begun: float
    by: int
    group: int | None = None
    ring: str = ""
    there: float = -1.0
    reads: list[list[float]] = field(default_factory=list)


@dataclass(slots=True)
class Timeline:
    """Roles with their events in place, and slots with their tiles. `over`: when slots of a ring were given away, by ring, way and turn; `counts`: the tiles of an array that a role has
    filled."""

    names: list[str]
    sections: tuple[Section, ...] = ()
    cut: list[str] = field(default_factory=list)
    held: dict[Tile, list[Held]] = field(default_factory=dict)
    placed: list[list[Placed]] = field(default_factory=list)
    over: dict[tuple[str, str, int], float] = field(default_factory=dict)
    counts: dict[tuple[int, str], int] = field(default_factory=dict)

    @property
    def end(self) -> float:
        """Where the last event ends."""
        return max(map(self.clock, range(len(self.placed))), default=0.0)

    def clock(self, role: int) -> float:
        """Where the last event of a role ends."""
        return self.placed[role][-1].end if self.placed[role] else -GAP

    def begins(self, event: Event, role: int, queues: Sequence[Sequence[Event]]) -> float | None:
        """From when on an event may be; None where what it waits for is not over."""
        if event.kind == "barrier":
            return self.met(role, queues)
        if event.kind != "enter":
            return 0.0
        if event.way == USE:
            return self.over.get((event.ring, FILL, event.number))
        using = next(s for s in self.sections if s.enter.ring == event.ring and s.enter.way == USE)
        before = event.number - using.slots
        return 0.0 if before < 0 else self.over.get((event.ring, USE, before))

    def met(self, role: int, queues: Sequence[Sequence[Event]]) -> float | None:
        """Where all roles come to the next barrier of one."""
        done = [[p for p in row if p.event.kind == "barrier"] for row in self.placed]
        number, start = len(done[role]), 0.0
        for other, before in enumerate(done):
            if len(before) > number:
                start = max(start, before[number].start)
            elif queues[other] and queues[other][0].kind == "barrier":
                start = max(start, self.clock(other) + GAP)
            elif queues[other]:
                return None
        return start

    def put(self, event: Event, role: int, start: float) -> None:
        """An event where it may be, and what it changes."""
        tile = self.tile(event, role)
        start = max(start, self.clock(role) + GAP)
        done = Placed(event, start, start + width(event, tile), tile)
        self.placed[role].append(done)
        ended = sum(p.event.kind == "commit" and p.event.unit == event.unit for p in self.placed[role])
        match event.kind:
            case "copy" | "store":
                self.filled(done, role, ended)
            case "use":
                for held in (self.held[t][-1] for t in event.uses if t in self.held):
                    held.reads.append([done.start, -1.0 - ended if event.unit else done.end])
            case "leave":
                for number in range(event.number - event.behind + 1) if event.behind else (event.number,):
                    self.over.setdefault((event.ring, event.way, number), done.end)
            case "wait" | "barrier" | "enter":
                for tiles in self.held.values():
                    for held in tiles:
                        landed(held, done, role, ended)

    def tile(self, event: Event, role: int) -> int:
        """Which tile an event is about: those of an array are counted as a role fills them; of what is used, that of the array with most slots."""
        if event.kind in ("copy", "store") and event.fills:
            for name in dict.fromkeys(name for name, _ in event.fills):
                self.counts[role, name] = self.counts.get((role, name), 0) + 1
            return self.counts[role, event.fills[0][0]] - 1
        there = [t for t in event.uses if t in self.held]
        if event.kind == "use" and there:
            return self.held[max(there, key=lambda t: sum(name == t[0] for name, _ in self.held))][-1].tile
        return event.number if event.kind in ("enter", "leave") else -1

    def filled(self, done: Placed, role: int, ended: int) -> None:
        """A slot has another tile, unless it is the one that another role fills too."""
        inside = [p.event.ring for p in self.placed[role] if p.event.kind == "enter"]
        later = done.event.kind == "copy"
        for spot in done.event.fills:
            tiles = self.held.setdefault(spot, [])
            if not tiles or tiles[-1].by == role or tiles[-1].tile != done.tile:
                boxed = done.event.unit == TENSOR
                tiles.append(
                    Held(
                        done.tile, done.start, role, ended if later and not boxed else None, inside[-1] if boxed and inside else ""
                    )
                )


def landed(held: Held, done: Placed, role: int, ended: int) -> None:
    """What a wait, a barrier, or a slot that is full tells of a tile."""
    event = done.event
    for read in held.reads if event.kind == "wait" and event.unit != COPY else ():
        if read[1] < 0 and -1 - read[1] < ended - event.count:
            read[1] = done.end
    match event.kind:
        case "wait":
            told = event.unit == COPY and held.group is not None and held.by == role and held.group < ended - event.count
        case "barrier":
            told = held.group is None and not held.ring
        case _:
            told = event.way == USE and held.ring == event.ring and held.tile == event.number
    if told and held.there < 0:
        held.there = done.end


def arranged(launch: Launch, memory: frozenset[str], sizes: Mapping[str, int]) -> Timeline:
    """The events of each role of a launch, each where what it waits for has ended."""
    every = sections(launch.body)
    roles: dict[int, str] = {}
    for one in every:
        first = min(one.threads(launch))
        roles[first] = f"{roles[first]}, {one.enter.way}" if first in roles else f"{one.enter.way}s {one.enter.ring}"
    roles = roles or {0: "thread 0"}
    told = [events(launch, memory, sizes, thread) for thread in roles]
    cut = [note for found, notes in told for note in (*notes, *([f"{MOST} of {len(found)} steps"] if len(found) > MOST else []))]
    queues = [found[:MOST] for found, _ in told]
    line = Timeline([*roles.values()], every, list(dict.fromkeys(cut)), placed=[[] for _ in roles])
    moving = True
    while moving:
        moving = False
        for role, queue in enumerate(queues):
            while queue and (start := line.begins(queue[0], role, queues)) is not None:
                line.put(queue.pop(0), role, start)
                moving = True
    return line


def label_of(event: Event, tile: int) -> str:
    """An event in a word or two."""
    match event.kind:
        case "copy" | "store" | "use":
            return f"{event.kind} {tile}" if tile >= 0 else event.kind
        case "wait":
            return f"wait{'' if event.unit == 'copy' else f' {event.unit}'} {event.count}"
        case "commit":
            return event.kind if event.unit in ("copy", "async") else f"{event.kind} {event.unit}"
        case "enter":
            return f"until {'empty' if event.way == FILL else 'full'}"
        case "leave":
            return "full" if event.way == FILL else "empty"
    return event.kind


def width(event: Event, tile: int) -> float:
    """As wide as its words; a use wider, since most of the time goes there."""
    return length(label_of(event, tile), SIZE) + 8 + (36 if event.kind == "use" else 0)
