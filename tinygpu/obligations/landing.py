"""Asynchronous copies: what was begun has landed, and whoever needs it was told, before anybody touches its cell again.

    landed    A begins a copy at thread t, B touches the cell later at t'; on the way from A to B there are commits, waits and barriers:
              index_A = index_B  ⊢  t = t' and landed(w), or landed(w) and a barrier that both pass stands behind w        for a wait w on the way
              landed(w)  =  commits(A → w) ≥ n + 1        as `wait n` leaves the last n groups under way
    over      A touches a cell, then the same thread begins a copy to it  ⊢  a barrier lies between: nothing else orders the two

Comes in: the program and its trace. Goes out: one formula for each copy, each access to its array, and each way in which the access can come later. The
one idea: a copy means what it would mean if it landed where it begins; nobody can tell, since nobody looks. Groups land in their order, so more commits
only help: what stands under a guard is not counted on, and of a loop its last turn is looked at, with the commits of those before. All of it is
linear in the turns of loops. That two threads have a barrier between them at all is `ordered`; that what is copied does not change is asked by form.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tinygpu.category.region import Region
from tinygpu.category.regroup import paired
from tinygpu.category.settle import settle
from tinygpu.category.term import BOOL, FALSE, TRUE, App, Term, Var, conjunction, equal, lift, substitute, text
from tinygpu.diagnostic import Label
from tinygpu.obligations.barriers import LATER
from tinygpu.obligations.exchange import Threads
from tinygpu.obligations.obligation import Claim, Obligation
from tinygpu.obligations.trace import Access, Trace
from tinygpu.program.step import Assign, Commit, For, Launch, Program, Step, Sync, Wait
from tinygpu.program.traverse import Body, Path, at
from tinygpu.record import dataclass, replace


@dataclass(frozen=True, slots=True)
class Event:
    """On the way: so many commits; a wait that leaves so many groups under way; a barrier of a scope. It happens where `where` holds."""

    what: str
    count: Term = lift(0)
    where: Term = TRUE


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
            case Commit():
                found += (Event("commit", lift(1)),)
            case Wait(count):
                found += (Event("wait", lift(count)),)
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
    return (Event("commit", (count - 1) * commits(turn)), *more)


def commits(some: Events) -> Term:
    """How many groups end."""
    return sum((e.count for e in some if e.what == "commit"), start=lift(0))


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


def landed(way: Events) -> Iterator[tuple[Term, dict[str, list[Term]]]]:
    """For each wait on a way the condition under which the copy has landed there, and those of the barriers behind it, by their scopes."""
    done = lift(0)
    for position, event in enumerate(way):
        if event.what == "commit":
            done = done + event.count
        elif event.what == "wait":
            behind = way[position + 1 :]
            scopes = {scope: [e.where for e in behind if e.what in (scope, "block")] for scope in ("block", "warp")}
            yield conjunction(event.where, done >= event.count + 1), scopes


def state(program: Program, trace: Trace) -> Iterator[Claim]:
    """The claims of this property."""
    for name in program.shared:
        accesses = [a for a in trace.of(Access) if a.array == name]
        begun = [a for a in accesses if begins(program.launches[a.place.launch], a)]
        pairs = [(a, b, under_way) for a in begun for b in accesses] + [
            (a, b, over) for a in accesses if a not in begun for b in begun
        ]
        for first, second, claim in pairs:
            launch = program.launches[first.place.launch]
            yield from (claim(launch, first, second, flow) for flow in flows(launch.body, first.place.path, second.place.path))


def begins(launch: Launch, access: Access) -> bool:
    """Whether an access is what a copy writes."""
    *_, (body, position) = at(launch.body, access.place.path)
    step = body[position]
    return access.write and isinstance(step, Assign) and step.pending


@dataclass(frozen=True, slots=True)
class Pair:
    """Two accesses of one cell: what is known of both; when their threads are one, or of one warp; what bounds the names."""

    known: tuple[Term, ...]
    own: Term
    lanes: Term
    extents: Mapping[str, Term]

    @classmethod
    def of(cls, launch: Launch, first: Access, second: Access, flow: Flow) -> Pair:
        """The second one comes so; its names are marked."""
        carried = {a.name for a in launch.grid + launch.turns}
        names: dict[str, Term] = {a.name: Var(a.name + LATER) for a in second.point.axes if a.name not in carried}
        axes = tuple(
            type(a)(a.name + LATER, substitute(a.extent, names), a.sort, a.span) for a in second.point.axes if a.name in names
        )
        there = Region(axes, tuple(substitute(g, names) for g in second.point.guard))
        turns = [equal(Var(n), v) for n, v in first.place.turns] + [equal(Var(n + LATER), v) for n, v in second.place.turns]
        meeting = [equal(i, j) for i, j in paired(first.index, [substitute(j, names) for j in second.index])]
        known = dict.fromkeys((*first.point.facts, *there.facts, *turns, *flow.facts, *meeting))
        warp, own = Threads(launch.block).warps[0], (equal(Var(a.name), Var(a.name + LATER)) for a in launch.block)
        return cls(tuple(known), conjunction(*own), equal(warp, substitute(warp, names)), {**first.point.extents, **there.extents})


def under_way(launch: Launch, first: Access, second: Access, flow: Flow) -> Obligation:
    """A copy that was begun has landed before a thread touches its cell."""
    pair, told = Pair.of(launch, first, second, flow), list[Term]()
    for wait, behind in landed(flow.events):
        told += [conjunction(wait, where) for where in dict.fromkeys(behind["block"])]
        told += [conjunction(pair.lanes, wait, where) for where in dict.fromkeys(behind["warp"]) if where not in behind["block"]]
        told.append(conjunction(pair.own, wait))
    goal = settle(either(told), pair.extents)
    cell, verb = f"{first.array}[{', '.join(map(text, first.index))}]", "writes" if second.write else "reads"
    labels = (Label(first.span, "the copy begins here"), Label(second.span, f"it may be under way where a thread {verb} here"))
    title = f"a copy to {first.array} may be under way where its cell is {'written' if second.write else 'read'}"
    sentence = f"the copy to {cell} has landed, and a barrier has told so, before a thread {verb} it{flow.when}"
    help = "wait for its group, and put the barrier behind the wait"
    return Obligation("landed", "TG310", title, sentence, pair.known, goal, labels, help)


def over(launch: Launch, first: Access, second: Access, flow: Flow) -> Obligation:
    """A thread does not copy over what it has touched itself without a barrier between."""
    pair, verb = Pair.of(launch, first, second, flow), "written" if first.write else "read"
    goal = settle(either([*dict.fromkeys(e.where for e in flow.events if e.what in ("block", "warp"))]), pair.extents)
    labels = (Label(first.span, f"{verb} here"), Label(second.span, "copied over here"))
    title = f"a thread copies over what it has {verb} of {first.array}, without a barrier between"
    cell = f"{first.array}[{', '.join(map(text, first.index))}]"
    sentence = f"a barrier stands between a thread that has {verb} {cell} and its copy over it{flow.when}"
    return Obligation("landed", "TG310", title, sentence, (*pair.known, pair.own), goal, labels, "put a barrier before the copy")


def either(some: Sequence[Term]) -> Term:
    """One of them, at least."""
    return FALSE if not some else some[0] if len(some) == 1 else App("or", tuple(some), BOOL)
