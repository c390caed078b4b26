"""The events of all roles of a launch, each where what it waits for has ended, and what becomes of each slot.

    fill x → use x        use y → fill y + slots        a wait for n groups ends all but the last n        a barrier ends what threads have stored

Comes in: a launch at sizes. Goes out: a `Timeline`. The one idea: an order and no time: how wide an event is, its words say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tinygpu.pictures.events import Event, Tile, events
from tinygpu.pictures.paper import length
from tinygpu.program.call import FILL, USE
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
    """A tile in its slot: begun, there, and when it is read."""

    tile: int
    begun: float
    there: float = -1.0
    later: bool = False
    group: tuple[int, int] = (-1, -1)  # the role that began it, and how many groups that had ended
    reads: list[list[float]] = field(default_factory=list)


@dataclass(slots=True)
class Timeline:
    """Roles with their events in place, and slots with their tiles."""

    names: list[str]
    placed: list[list[Placed]]
    held: dict[Tile, list[Held]]
    cut: list[str]

    @property
    def end(self) -> float:
        return max((one.end for row in self.placed for one in row), default=0.0)


def arranged(launch: Launch, memory: frozenset[str], sizes: Mapping[str, int]) -> Timeline:
    """The events of each role of a launch, each where what it waits for has ended."""
    every = sections(launch.body)
    roles: dict[int, str] = {}
    for one in every:
        first = min(one.threads(launch))
        roles[first] = f"{roles[first]}, {one.enter.way}" if first in roles else f"{one.enter.way}s {one.enter.ring}"
    roles = roles or {0: "thread 0"}
    told = [events(launch, memory, sizes, thread) for thread in roles]
    told = [(found[:MOST], [*cut, *([f"{MOST} of {len(found)} steps"] if len(found) > MOST else [])]) for found, cut in told]
    line = Timeline([*roles.values()], [[] for _ in roles], {}, list(dict.fromkeys(c for _, cut in told for c in cut)))
    queues, clock = [list(found) for found, _ in told], [0.0] * len(told)
    over: dict[tuple[str, str, int], float] = {}
    counts: dict[str, int] = {}
    moving = True
    while moving:
        moving = False
        for role, queue in enumerate(queues):
            while queue:
                start = _ready(queue[0], every, over)
                if start is None:
                    break
                event, moving = queue.pop(0), True
                start = max(start, clock[role])
                tile = _tile(event, line, counts)
                done = Placed(event, start, start + _wide(event, tile), tile)
                clock[role] = done.end + GAP
                line.placed[role].append(done)
                _noted(done, role, line, over, len(roles) > 1)
    return line


def _ready(event: Event, every: Sequence[Section], over: Mapping[tuple[str, str, int], float]) -> float | None:
    """From when on an event may be; None where what it waits for is not over."""
    if event.kind != "enter":
        return 0.0
    if event.way == USE:
        return over.get((event.ring, FILL, event.number))
    using = next(s for s in every if s.enter.ring == event.ring and s.enter.way == USE)
    before = event.number - using.slots
    return 0.0 if before < 0 else over.get((event.ring, USE, before))


def _tile(event: Event, line: Timeline, counts: dict[str, int]) -> int:
    """Which tile an event is about: those of an array are counted as they are filled."""
    if event.kind in ("copy", "store") and event.fills:
        for name in dict.fromkeys(name for name, _ in event.fills):
            counts[name] = counts.get(name, 0) + 1
        return counts[event.fills[0][0]] - 1
    there = [line.held[t][-1].tile for t in event.uses if t in line.held]
    return there[0] if event.kind == "use" and there else event.number if event.kind in ("enter", "leave") else -1


def _noted(done: Placed, role: int, line: Timeline, over: dict[tuple[str, str, int], float], apart: bool) -> None:
    """What an event changes: slots are filled, read, landed, given away."""
    event, row = done.event, line.placed[role]
    ended = sum(p.event.kind == "commit" and p.event.unit == event.unit for p in row)
    for spot in event.fills if event.kind in ("copy", "store") else ():
        later = event.kind == "copy"
        line.held.setdefault(spot, []).append(Held(done.tile, done.start, -1.0, later, (role, ended)))
    for spot in event.uses if event.kind == "use" else ():
        if spot in line.held:
            line.held[spot][-1].reads.append([done.start, -1.0 - ended if event.unit else done.end])
    every = [held for tiles in line.held.values() for held in tiles]
    if event.kind == "wait":
        for held in every:
            if (
                event.unit == "copy"
                and held.there < 0
                and held.later
                and held.group[0] == role
                and held.group[1] < ended - event.count
            ):
                held.there = done.end
            for read in held.reads if event.unit != "copy" else ():
                if read[1] < 0 and -1 - read[1] < ended - event.count:
                    read[1] = done.end
    if event.kind == "barrier":
        for held in every:
            held.there = done.end if held.there < 0 and not held.later else held.there
    if event.kind == "enter" and event.way == USE:
        for held in every:
            if held.later and held.there < 0 and held.tile == event.number and apart:
                held.there = done.end
    if event.kind == "leave":
        for number in range(event.number - event.behind + 1) if event.behind else (event.number,):
            over.setdefault((event.ring, event.way, number), done.end)


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


def _wide(event: Event, tile: int) -> float:
    return length(label_of(event, tile), SIZE) + 8 + (36 if event.kind == "use" else 0)
