"""On the way from one access to a later one: which commits, waits, fences and barriers a thread passes for sure, in order.

    A, the rest of its turn, (x' − x − 1) whole turns, the beginning of B's turn, B

Comes in: the body of a launch and the paths of two steps. Goes out: for each way in which the second comes after the first the events between. The one idea: groups of
copies land in their order, so more commits only help: what stands under a guard is not counted on, and of a loop its last turn is looked at, with the
commits of those before. All of it is linear in the turns of loops.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tinygpu.category.term import TRUE, Term, Var, conjunction, equal, lift
from tinygpu.program.call import Commit, Fence, Sync, Wait
from tinygpu.program.step import For, Step
from tinygpu.program.traverse import Body, Path, at
from tinygpu.record import dataclass, replace

LATER = "~"  # marks the second of two points, as `bijection.PRIME` does


@dataclass(frozen=True, slots=True)
class Event:
    """On the way: so many commits; a wait that leaves so many groups under way; a fence; a barrier of a scope. The first three are for a `unit`. It
    happens where `where` holds."""

    what: str
    count: Term = lift(0)
    where: Term = TRUE
    unit: str = ""


Events = tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class Flow:
    """One way in which B comes after A. `facts` speak of the loops of A, and of those of B with a mark; `around` names the loop of which B is in a later
    turn, if it is one."""

    facts: tuple[Term, ...]
    events: Events
    around: str = ""

    @property
    def when(self) -> str:
        """For a sentence."""
        return f" in a later turn of {self.around}" if self.around else ""


def events(body: Sequence[Step]) -> Events:
    """What a thread does for sure in a sequence of steps, in order. Of a loop, all turns."""
    found: Events = ()
    for step in body:
        match step:
            case Commit(unit):
                found += (Event("commit", lift(1), unit=unit),)
            case Wait(count, unit):
                found += (Event("wait", lift(count), unit=unit),)
            case Fence(unit):
                found += (Event("fence", unit=unit),)
            case Sync(scope):
                found += (Event(scope),)
            case For(axis, inner):
                found += several(axis.extent, events(inner))
    return found


def several(count: Term, turn: Events) -> Events:
    """So many turns, or none: the commits of all but the last one, which is written out. Of a number below 0 they are too few, which is safe."""
    if not turn:
        return ()
    more = tuple(e if e.what == "commit" else replace(e, where=conjunction(count > 0, e.where)) for e in turn)
    units = dict.fromkeys(e.unit for e in turn if e.what == "commit")
    return (*(Event("commit", (count - 1) * commits(turn, unit), unit=unit) for unit in units), *more)


def commits(some: Events, unit: str) -> Term:
    """How many groups end."""
    return sum((e.count for e in some if e.what == "commit" and e.unit == unit), start=lift(0))


def leaving(bodies: Sequence[tuple[Body, int]], level: int) -> Events:
    """From a place on, until the body at `level` that it is in is done."""
    found: Events = ()
    for inner in range(len(bodies) - 1, level - 1, -1):
        body, position = bodies[inner]
        found += events(body[position + 1 :])
        loop = bodies[inner - 1][0][bodies[inner - 1][1]] if inner > level else None
        if isinstance(loop, For):
            found += several(loop.axis.extent - 1 - Var(loop.axis.name), events(loop.body))
    return found


def entering(bodies: Sequence[tuple[Body, int]], level: int) -> Events:
    """From the beginning of the body at `level` to a place in it, whose loops are marked."""
    found: Events = ()
    for inner in range(level, len(bodies)):
        body, position = bodies[inner]
        found += events(body[:position])
        loop = body[position]
        if isinstance(loop, For) and inner + 1 < len(bodies):
            found += several(Var(loop.axis.name + LATER), events(loop.body))
    return found


def flows(body: Body, a: Path, b: Path) -> Iterator[Flow]:
    """Every way in which B comes after A, for a thread that does both."""
    first, second = list(at(body, a)), list(at(body, b))
    depth = next((d for d, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    around = [
        (level + 1, step) for level, (inner, position) in enumerate(first[:depth]) if isinstance(step := inner[position], For)
    ]
    loops = [(level, loop) for level, loop in around if level < min(len(a), len(b))]
    same = tuple(equal(Var(loop.axis.name + LATER), Var(loop.axis.name)) for _, loop in loops)
    if depth < min(len(a), len(b)) and a[depth] < b[depth]:
        between = events(first[depth][0][a[depth] + 1 : b[depth]])
        yield Flow(same, (*below(first, depth), *between, *above(second, depth)))
    for number, (level, loop) in enumerate(loops):
        here, there = Var(loop.axis.name), Var(loop.axis.name + LATER)
        turns = several(there - here - 1, events(loop.body))
        found = (*leaving(first, level), *turns, *entering(second, level))
        yield Flow((*same[:number], there > here), found, loop.axis.name)


def below(bodies: Sequence[tuple[Body, int]], depth: int) -> Events:
    """From a place on, until the step at `depth` that it is in is done."""
    loop, inside = bodies[depth][0][bodies[depth][1]], depth + 1 < len(bodies)
    rest = several(loop.axis.extent - 1 - Var(loop.axis.name), events(loop.body)) if isinstance(loop, For) and inside else ()
    return (*leaving(bodies, depth + 1), *rest) if inside else ()


def above(bodies: Sequence[tuple[Body, int]], depth: int) -> Events:
    """From the beginning of the step at `depth` to the place in it."""
    loop, inside = bodies[depth][0][bodies[depth][1]], depth + 1 < len(bodies)
    turns = several(Var(loop.axis.name + LATER), events(loop.body)) if isinstance(loop, For) and inside else ()
    return (*turns, *entering(bodies, depth + 1)) if inside else ()


def landed(way: Events, unit: str) -> Iterator[tuple[Term, Events]]:
    """For each wait for a unit the condition under which what was begun there before the way has landed, and what is behind it."""
    done = lift(0)
    for position, event in enumerate(way):
        if event.unit == unit and event.what == "commit":
            done = done + event.count
        elif event.unit == unit and event.what == "wait":
            yield conjunction(event.where, done >= event.count + 1), way[position + 1 :]


def passed(way: Events, scope: str) -> list[Term]:
    """Where the barriers are that a scope passes, each once."""
    return [*dict.fromkeys(e.where for e in way if e.what in (scope, "block"))]


def fenced(way: Events, unit: str) -> Iterator[tuple[Term, Events]]:
    """For each fence for a unit where it is, and what is behind it."""
    return ((e.where, way[at + 1 :]) for at, e in enumerate(way) if e.what == "fence" and e.unit == unit)
