"""That no schedule can tell threads from threads in step: two events of two threads.

    ordered   one cell, one of them a write, one epoch  ⊢  one thread                (or one warp, and between them a barrier of the warp)
    uniform   one thread reaches a barrier  ⊢  every thread of its scope does        blocks are whole warps where warps act together
    memory    in one launch a global array is stored, or updated by one monoid, or read
    once      two threads of a launch store two elements

Comes in: a machine. Goes out: its claims. The one idea: a barrier is a number (`events`), so what is between two events is arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations_with_replacement

from tinygpu.replay.events import Event, Turns, Walk, events, plus
from tinygpu.replay.ir import (
    FALSE,
    INDEX,
    TRUE,
    ZERO,
    Axis,
    Claim,
    Names,
    Num,
    Op,
    Open,
    Read,
    Stated,
    Term,
    Var,
    both,
    compare,
    conjuncts,
    either,
    free,
    negated,
    put,
    rebuild,
    walk,
)
from tinygpu.replay.program import Launch, Machine

WARP = 32
OTHER = "~"  # marks the second of two events
ATOMIC = {"sum": ("f32", "f64", "i32", "u32", "i64"), "max": ("i32", "u32", "i64"), "min": ("i32", "u32", "i64")}


def stated(machine: Machine) -> Iterator[Stated]:
    """The claims about the schedules of a machine."""
    for launch in machine.launches:
        yield from shapes(machine, launch)
        walked, seen = events(machine, launch)
        yield from ordered(machine, walked, seen)
        yield from uniform(machine, walked, seen)
        yield from memory(machine, launch, seen)
        yield from once(machine, walked, seen)


def shapes(machine: Machine, launch: Launch) -> Iterator[Stated]:
    """Threads take the same turns: extents are terms over the sizes, and those of the block are numbers."""
    walked, _ = events(machine, launch)
    for name, extent in walked.extents:
        if not free(extent) <= set(machine.op.sizes) or any(isinstance(t, Read) for t in walk(extent)):
            yield Open("uniform", "TG154", f"the extent of {name} is no term over the sizes")
    if walked.folds:
        yield Open("ordered", "TG156", "a fold stands in a step")
    for axis in launch.block:
        if not isinstance(axis.extent, Num):
            yield Open("uniform", "TG154", f"the extent of {axis.name} is no number")


# ── ordered ──


def ordered(machine: Machine, walked: Walk, seen: tuple[Event, ...]) -> Iterator[Stated]:
    """A claim for each two accesses to a shared array that are not both reads, nor both updates by one monoid."""
    shared = {a.name for a in walked.launch.arrays if a.space == "shared"}
    accesses = [e for e in seen if e.array in shared]
    for one, two in combinations_with_replacement(accesses, 2):
        if one.array != two.array or one.word == two.word == "read":
            continue
        if not (one.atomic and two.atomic and one.update == two.update):
            yield race(machine, walked, one, two)


def race(machine: Machine, walked: Walk, one: Event, two: Event) -> Claim:
    """The two events are not both in one epoch, unless they are one thread's."""
    pair = Pair(walked, one, two)
    goal = pair.same(walked.launch.block)
    if one.epochs != one.epochs[:1] * 2 or two.epochs != two.epochs[:1] * 2:
        apart = compare("ne", pair.first(one.epochs[1]), pair.second(two.epochs[1]))
        goal = either(goal, both(pair.one_warp(), apart))
    meeting = [compare("eq", pair.first(i), pair.second(j)) for i, j in zip(one.index, two.index, strict=True)]
    together = compare("eq", pair.first(one.epochs[0]), pair.second(two.epochs[0]))
    sentence = f"a thread that {one.word}s {one.array} and another one that {two.word}s that cell have a barrier between them"
    return Claim("ordered", "TG302", sentence, pair.axes(), (*machine.facts, *meeting, together, *pair.facts()), goal)


class Pair:
    """Two events: the loops and threads of the second have a mark. The grid is the same, but for events of `blocks`."""

    def __init__(self, walked: Walk, one: Event, two: Event, blocks: bool = False) -> None:
        self.walked, self.one, self.two = walked, one, two
        grid = set() if blocks else {a.name for a in walked.launch.grid}
        self.names: dict[str, Term] = {a.name: Var(a.name + OTHER) for a in two.axes if a.name not in grid}
        self.unknown = Names()
        self.known: dict[tuple[Term, int], Term] = {}

    def first(self, term: Term) -> Term:
        return self.plain(term, 1)

    def second(self, term: Term) -> Term:
        return put(self.plain(term, 2), self.names)

    def plain(self, term: Term, side: int) -> Term:
        """The term with any value for what a cell holds: nothing is said of it."""
        if isinstance(term, Read) and term.array in self.walked.cells:
            return self.known.setdefault((term, side), Var(self.unknown.fresh(term.array), term.dtype))
        return rebuild(term, lambda t: self.plain(t, side))

    def axes(self) -> tuple[Axis, ...]:
        other = (Axis(a.name + OTHER, put(a.extent, self.names)) for a in self.two.axes if a.name in self.names)
        return (*self.one.axes, *other)

    def same(self, axes: tuple[Axis, ...]) -> Term:
        return both(*(compare("eq", Var(a.name), Var(a.name + OTHER)) for a in axes))

    def one_warp(self) -> Term:
        number = warp(self.walked.launch)
        return compare("eq", number, put(number, {a.name: Var(a.name + OTHER) for a in self.walked.launch.block}))

    def facts(self) -> tuple[Term, ...]:
        """The conditions that both events are under, and how the barriers in loops add up. What cells held at a condition is past."""
        known = [self.first(g) for g in self.one.guard if not self.walked.changing(g)]
        known += [self.second(g) for g in self.two.guard if not self.walked.changing(g)]
        known += [self.first(f) for f in sums(self.walked, self.one)] + [self.second(f) for f in sums(self.walked, self.two)]
        known += [f for turns in self.two.turns if turns in self.one.turns for f in self.later(turns)]
        return tuple(known)

    def later(self, turns: Turns) -> Iterator[Term]:
        """A later turn has met what the one before it did."""
        a = {n: self.first(t) for n, t in (("turn", turns.turn), ("before", turns.before), ("here", turns.here))}
        b = {n: self.second(t) for n, t in (("turn", turns.turn), ("before", turns.before), ("here", turns.here))}
        around = both(*(compare("eq", self.first(t), self.second(t)) for t in turns.whole.index))
        for x, y in ((a, b), (b, a)):
            done = plus(x["before"], x["here"])
            yield implies(both(around, compare("lt", x["turn"], y["turn"])), compare("ge", y["before"], done))
            follows = compare("eq", plus(x["turn"], Num(1)), y["turn"])
            yield implies(both(around, follows), compare("eq", y["before"], done))


def sums(walked: Walk, event: Event) -> Iterator[Term]:
    """The barriers up to a turn are some of all; and a loop has met those of its first and last turn, where it has turns."""
    for turns in event.turns:
        done = plus(turns.before, turns.here)
        yield from (compare("ge", turns.before, ZERO), compare("ge", turns.here, ZERO), compare("le", done, turns.whole))
    for term in (t for epoch in event.epochs for t in walk(epoch) if isinstance(t, Read) and t.array in walked.uneven):
        turns = walked.uneven[term.array]
        yield compare("ge", term, ZERO)
        if turns.whole == term:
            for turn in (ZERO, Op("sub", (turns.extent, Num(1)), INDEX)):
                met = compare("ge", term, put(turns.here, {turns.turn.name: turn}))
                yield implies(compare("ge", turns.extent, Num(1)), met)


def implies(condition: Term, term: Term) -> Term:
    return either(*(negated(c) for c in conjuncts(condition)), term)


def warp(launch: Launch) -> Term:
    """The number of a thread's warp: its place in the block, row-major, by 32."""
    place: Term = ZERO
    for axis in launch.block:
        place = plus(Op("mul", (place, axis.extent), INDEX) if place != ZERO else ZERO, Var(axis.name))
    return Op("floordiv", (place, Num(WARP)), INDEX)


# ── uniform ──


def uniform(machine: Machine, walked: Walk, seen: tuple[Event, ...]) -> Iterator[Stated]:
    """A claim for each condition that collectives are under."""
    collectives = [e for e in seen if not e.array]
    if any(e.word != "barrier" for e in collectives):
        threads = 1
        for axis in walked.launch.block:
            threads *= int(axis.extent.value) if isinstance(axis.extent, Num) else 0
        goal = compare("eq", Num(threads % WARP if threads else 1), ZERO)
        yield Claim("uniform", "TG304", f"a block has a multiple of {WARP} threads", (), (), goal)
    for event, far in ((e, far) for e in collectives for far in e.index):
        if not (isinstance(far, Num) and 0 <= far.value < WARP):
            goal = both(compare("ge", far, ZERO), compare("lt", far, Num(WARP)))
            yield Claim(
                "uniform", "TG304", f"a {event.word} goes 0 to {WARP - 1} lanes", event.axes, (*machine.facts, *event.guard), goal
            )
    said = set()
    for event in collectives:
        scope = "block" if event.word == "barrier" else "warp"
        if (scope, event.axes, event.guard) not in said:
            said.add((scope, event.axes, event.guard))
            yield reached(machine, walked, event, scope)


def reached(machine: Machine, walked: Walk, event: Event, scope: str) -> Stated:
    """If one thread comes to a collective, every thread of the scope does, in the same turn."""
    if any(walked.changing(g) for g in event.guard):
        return Open("uniform", "TG303", f"the condition of a {event.word} reads cells")
    launch = walked.launch
    other: dict[str, Term] = {a.name: Var(a.name + OTHER) for a in launch.block}
    axes = (*event.axes, *(Axis(a.name + OTHER, a.extent) for a in launch.block))
    number = warp(launch)
    facts = (compare("eq", number, put(number, other)),) if scope == "warp" else ()
    goal = both(*(put(g, other) for g in event.guard))
    sentence = f"if one thread of a {scope} reaches a {event.word}, all do"
    return Claim("uniform", "TG303", sentence, axes, (*machine.facts, *event.guard, *facts), goal)


# ── memory ──


def memory(machine: Machine, launch: Launch, seen: tuple[Event, ...]) -> Iterator[Stated]:
    """A claim for each global array: where a launch uses it in two ways, that one of them never happens."""
    inputs = {t.name for t in machine.op.inputs}
    own = {a.name for a in launch.arrays}
    for name in sorted({e.array for e in seen if e.array and e.array not in own}):
        used = [e for e in seen if e.array == name]
        for event in used:
            if event.atomic and machine.dtype(name, launch) not in ATOMIC.get(event.update, ()):
                yield Open("memory", "TG159", f"no atomic {event.update} of {machine.dtype(name, launch)}")
        ways = sorted({way(e) for e in used})
        never = [e for e in used if way(e) != ways[0]] if name not in inputs else [e for e in used if e.word == "write"]
        sentence = f"{name} is {' and '.join(ways)} in launch {launch.number}, and in no other way"
        if not never:
            yield Claim("memory", "TG305", sentence, (), (), TRUE)
        for event in never:
            facts = [g for g in event.guard if not any(isinstance(t, Read) and t.array in own for t in walk(g))]
            yield Claim(
                "memory", "TG305", f"{name} is not {way(event)} where it is {ways[0]}", event.axes, (*machine.facts, *facts), FALSE
            )


def way(event: Event) -> str:
    """How an event uses an array."""
    if event.word == "read":
        return "read"
    return f"updated atomically by {event.update}" if event.atomic else "stored"


def once(machine: Machine, walked: Walk, seen: tuple[Event, ...]) -> Iterator[Stated]:
    """A claim for each two stores to a global array: they are one thread's, or to two elements."""
    own = {a.name for a in walked.launch.arrays}
    stores = [e for e in seen if e.word == "write" and not e.atomic and e.array not in own]
    for one, two in combinations_with_replacement(stores, 2):
        if one.array == two.array:
            yield from alone(machine, Pair(walked, one, two, blocks=True))


def alone(machine: Machine, pair: Pair) -> Iterator[Claim]:
    """Two events at one element are of one thread: shown axis by axis, the slowest digit of the index first."""
    one, two, launch = pair.one, pair.two, pair.walked.launch
    meeting = [compare("eq", pair.first(i), pair.second(j)) for i, j in zip(one.index, two.index, strict=True)]
    known = (*machine.facts, *meeting, *pair.facts())
    order = [*slowest_first(one.index)] if one == two else []
    needed = (*launch.grid, *launch.block)
    for name in dict.fromkeys((*order, *(a.name for a in needed))):
        goal = compare("eq", Var(name), Var(name + OTHER))
        yield Claim("once", "TG202", f"threads that store one element of {one.array} have one {name}", pair.axes(), known, goal)
        known = (*known, goal)


def slowest_first(index: tuple[Term, ...]) -> Iterator[str]:
    """The variables of an index, those with the largest factors first."""
    for part in index:
        yield from (name for _, name in sorted((-size, name) for size, name in factors(part, 1)))


def factors(term: Term, size: int) -> Iterator[tuple[int, str]]:
    """The variables of a sum with their factors, as far as they are numbers."""
    match term:
        case Var(name):
            yield size, name
        case Op("add" | "sub", (a, b)):
            yield from factors(a, size)
            yield from factors(b, size)
        case Op("mul", (a, Num(n)) | (Num(n), a)):
            yield from factors(a, size * int(n))
