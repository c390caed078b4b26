"""Rings: slots of a block's memory that one role of its warps fills and another one uses, each at its own pace.

    ring tiles: 4        if g == 2 { fill tiles at ko { … } }        if g < 2 { use tiles at ko { … } }

    fill x  before  use y   where y ≥ x            use y  before  fill x   where x ≥ y + slots

Comes in: the tree of a ring and of its sections, and the reader that has come to them; the body of a launch. Goes out: steps; where sections are, and whether
they are the form that the order above is true of. The one idea: a section is what stands between two calls, so a program with roles is the sequential
one, *fill x; use x*, and each thread's own part of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from math import prod
from typing import TYPE_CHECKING

from tinygpu.category.evaluate import evaluate
from tinygpu.category.owner import cut
from tinygpu.category.term import App, Axis, Const, Term, Var, conjunction, reads, substitute, variables
from tinygpu.diagnostic import Span
from tinygpu.model.op import Tensor
from tinygpu.model.problems import Problems
from tinygpu.model.value import index
from tinygpu.program.call import COPY, FILL, USE, Boxed, Enter, Leave, Sync, Wait
from tinygpu.program.space import RING
from tinygpu.program.step import WARP, Array, For, If, Launch, Step, arrays_in, steps
from tinygpu.program.traverse import Body, Path, at, walk_steps
from tinygpu.record import dataclass
from tinygpu.syntax import tree

if TYPE_CHECKING:
    from tinygpu.program.read import Reader

MOST_SLOTS = 64
BARRIERS = 2  # of each slot: it is full, it is empty


# ── as text ────────────────────────────────────────────────────────────────────────────────────────────────────────


def read_ring(reader: Reader, statement: tree.Ring) -> Array | None:
    """`ring tiles: 4`."""
    name, span, say = statement.name, statement.span, reader.problems.say
    slots = index(statement.slots, reader.constants())
    if name in reader.declared and name not in reader.earlier:
        say("TG102.array", span, reader.declared[name], title="ring", name=name)
    elif not isinstance(slots, Const) or not 1 <= slots.value <= MOST_SLOTS:
        say("TG185.slots", statement.slots.span, largest=MOST_SLOTS)
    elif not reader.scope(()).hides(name, span, "the ring"):
        own, extents = reader.named(name), (Const(BARRIERS), slots)
        reader.arrays[name], reader.declared[name] = Tensor(own, "i64", extents, RING.name, span), span
        return Array(own, "i64", extents, RING, span=span)
    return None


def read_section(reader: Reader, statement: tree.Section, axes: tuple[Axis, ...]) -> tuple[Step, ...]:
    """`fill tiles at ko { … }`: its steps between the two calls. A `use` that leaves groups of products under way gives back the slots before."""
    ring, span = reader.arrays.get(statement.ring), statement.span
    if ring is None or ring.role != RING.name:
        rings = [t.name for t in reader.arrays.values() if t.role == RING.name]
        reader.problems.say("TG185.name", span, near=rings, name=statement.ring, known=rings)
        return ()
    if statement.turn not in {a.name for a in axes}:
        reader.problems.say("TG185.turn", span, name=statement.turn, ring=statement.ring)
        return ()
    turn, inner = Var(statement.turn), reader.inner(statement.body, axes)
    behind = inner[-1].count if inner and isinstance(inner[-1], Wait) and inner[-1].unit != COPY else 0
    return (Enter(ring.name, statement.way, turn, span), *inner, Leave(ring.name, statement.way, turn, behind, span))


# ── where they are ─────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Section:
    """What a role does with the slot of a turn: between two steps of one body, under guards that say who does it, in the loop that counts the turns, whose
    `ends` say where a block is done with it."""

    enter: Enter
    leave: Leave
    begin: Path
    end: Path
    guards: tuple[Term, ...]
    ends: tuple[Term, ...]
    loops: tuple[For, ...]
    slots: int

    def holds(self, path: Path) -> bool:
        """Whether a place is inside of it."""
        *around, first = self.begin
        return path[: len(around)] == (*around,) and len(path) > len(around) and first < path[len(around)] < self.end[-1]

    def steps(self, body: Body) -> Iterator[Step]:
        """What is done in it."""
        *_, (inner, first) = at(body, self.begin)
        return steps(inner[first : self.end[-1]])

    def threads(self, launch: Launch) -> frozenset[int]:
        """The threads of the block that come here."""
        return threads_under(launch, *self.guards)

    def warps(self, launch: Launch) -> int:
        """How many warps come here."""
        return len(self.threads(launch)) // WARP


def threads_under(launch: Launch, *guards: Term) -> frozenset[int]:
    """The threads of a block for which conditions of its factors hold, by their numbers."""
    count = prod(int(a.extent.value) for a in launch.block if isinstance(a.extent, Const))
    every = cut(Var("t"), launch.block)
    here = substitute(conjunction(*guards), {a.name: e for a, e in zip(launch.block, every, strict=True)})
    return frozenset(t for t in range(count) if evaluate(here, {"t": t}))


def of_threads(launch: Launch, guard: Term) -> bool:
    """Whether a condition is of the block's factors alone, so that it holds for the same threads each time."""
    return not reads(guard) and variables(guard) <= {a.name for a in launch.block}


def is_end(guard: Term, turns: Collection[str]) -> bool:
    """Whether a guard says where a loop ends: `t < e`, where e is no matter of the turn.

    >>> t, b = Var("t"), Var("b")
    >>> is_end(t < b * 2, {"t"}), is_end(t < t * b, {"t"}), is_end(b < t, {"t"}), is_end(t % 2 < 1, {"t"})
    (True, False, False, False)
    """
    match guard:
        case App("lt", (Var(name), end)):
            return name in turns and variables(end).isdisjoint(turns) and not reads(end)
    return False


def sections(body: Body) -> tuple[Section, ...]:
    """Those of a launch, in order."""
    slots = {
        a.name: int(a.extents[1].value) for a in arrays_in(body, "block") if a.space == RING and isinstance(a.extents[1], Const)
    }
    found, begun = [], dict[tuple[str, str], tuple[Enter, Path]]()
    for step, _, path in walk_steps(body):
        match step:
            case Enter(ring, way):
                begun[ring, way] = step, path
            case Leave(ring, way) if (ring, way) in begun:
                enter, begin = begun.pop((ring, way))
                around = [inner[here] for inner, here in at(body, begin)][:-1]
                loops = tuple(s for s in around if isinstance(s, For))
                turns, guards = {s.axis.name for s in loops}, [s.guard for s in around if isinstance(s, If)]
                ends = tuple(g for g in guards if is_end(g, turns))
                who = tuple(g for g in guards if g not in ends)
                found.append(Section(enter, step, begin, path, who, ends, loops, slots.get(ring, 1)))
    return tuple(found)


def section_of(some: tuple[Section, ...], path: Path) -> Section | None:
    """The one that a place is in."""
    return next((s for s in some if s.holds(path)), None)


# ── their form ─────────────────────────────────────────────────────────────────────────────────────────────────────


def formed(launches: tuple[Launch, ...], problems: Problems) -> tuple[Launch, ...]:
    """The launches; says where a ring is not what its order is true of."""
    for launch in launches:
        every = sections(launch.body)
        for step, _, path in walk_steps(launch.body):
            if isinstance(step, Sync) and isinstance(step.begins, Boxed):
                here = section_of(every, path)
                if here is None or here.enter.way != FILL or len(path) != len(here.begin):
                    problems.say("TG185.fill", step.span)
        for ring in arrays_in(launch.body, "block"):
            if ring.space == RING:
                mine = [s for s in every if s.enter.ring == ring.name]
                for message, span, words in faults(launch, ring, mine):
                    problems.say(message, span, **words)
    return launches


def faults(launch: Launch, ring: Array, mine: list[Section]) -> Iterator[tuple[str, Span, dict[str, object]]]:
    """What is wrong with the sections of one ring: a message, its place and its words."""
    name = ring.name
    if [s.enter.way for s in mine] != [FILL, USE]:
        yield "TG185.both", ring.span, {"name": name}
        return
    for one in mine:
        span, way = one.enter.span, one.enter.way
        if (
            len(one.loops) != 1
            or one.enter.turn != Var(one.loops[0].axis.name)
            or launch.body[mine[0].begin[0]] is not one.loops[0]
        ):
            yield "TG185.loop", span, {"name": name, "way": way}
            return
        if not all(of_threads(launch, g) for g in one.guards) or any(
            variables(e) & {a.name for a in launch.block} for e in one.ends
        ):
            yield "TG185.role", span, {"name": name, "way": way}
            return
        there = one.threads(launch)
        if not there or len(there) != WARP * len({t // WARP for t in there}):
            yield "TG185.warps", span, {"name": name, "way": way}
            return
    filling, using = mine
    if filling.threads(launch) & using.threads(launch):
        yield "TG185.roles", using.enter.span, {"name": name}
    if filling.ends != using.ends:
        yield "TG185.turns", using.enter.span, {"name": name}
    if using.leave.behind >= using.slots:
        yield "TG185.behind", using.enter.span, {"name": name, "slots": using.slots, "behind": using.leave.behind}
    for step in steps(filling.loops[0].body):
        if isinstance(step, Sync) and step.scope == "block":
            yield "TG185.barrier", step.span, {"name": name}
