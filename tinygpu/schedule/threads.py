"""The threads of a block in turn: one core runs a whole block, its threads as loops between the barriers.

    a[t] = x[t]; barrier; y[t] = a[31 - t]   ↦   for t: a[t] = x[t];   for t: y[t] = a[31 - t]

Comes in: a launch. Goes out: the steps that a core does for a block, a loop over the threads around each region that they do alone, and the cells that
each thread has for itself over more than one region. The one idea: a program without races means the same whoever comes first, so between two
barriers each thread may run alone; and a warp's registers are memory that its lanes may all read, so a shuffle is a store, a barrier and a read. A loop
is taken out of the threads at a barrier, and also where neighbouring threads are closer in memory than neighbouring passes: then the threads are the
inner loop, and that is the one the compiler makes vectors of.
"""

from __future__ import annotations

import math
from collections.abc import Collection

from tinygpu.category.linear import polynomial, stride
from tinygpu.category.owner import row_major
from tinygpu.category.region import Region
from tinygpu.category.term import (
    BOOL,
    SHUFFLES,
    TRUE,
    App,
    Axis,
    Const,
    Read,
    Term,
    Var,
    conjunction,
    memoised,
    reads,
    rebuild,
    select,
    variables,
)
from tinygpu.category.text import claimed
from tinygpu.program.arrays import address
from tinygpu.program.call import Call, Enter, Leave, Sync
from tinygpu.program.space import LOCAL, SHARED
from tinygpu.program.step import WARP, Array, Assign, Fact, For, If, Launch, Step, arrays_in, steps
from tinygpu.program.traverse import map_steps, shuffles
from tinygpu.record import dataclass, field, replace
from tinygpu.schedule.nest import Body, Shapes, names_in, regions, sites, where
from tinygpu.schedule.told import told

FAR = 1 << 20  # the distance of neighbours that are a size apart


@dataclass(frozen=True, slots=True)
class InTurn:
    """What a core does for a block: its steps, its arrays, and which of these each thread has for itself."""

    body: Body
    arrays: tuple[Array, ...]
    lasting: frozenset[str]


def in_turn(launch: Launch, shapes: Shapes, sizes: Collection[str]) -> InTurn:
    """`launch → steps of one core`."""
    if not launch.block and not arrays_in(launch.body, "block"):
        return InTurn(launch.body, arrays_in(launch.body, "thread"), frozenset())
    taken = {*sizes, *shapes, *names_in(launch)}
    launch = without_shuffles(launch, frozenset(taken))
    shared = arrays_in(launch.body, "block")
    taken |= {s.name for s in shared}
    own = {s.name: s for s in arrays_in(launch.body, "thread")}
    differs = {*own, *(a.name for a in launch.block)}
    cut = _Cut(launch.block, {**shapes, **{s.name: s.extents for s in shared}}, differs, taken)
    body = cut.body(launch.body)
    own |= {s.name: s for s in cut.masks}
    arrays = (*(Array(s.name, s.dtype, s.extents, LOCAL, span=s.span) for s in shared), *own.values())
    return InTurn(body, arrays, cut.lasting(frozenset(own)))


@dataclass(slots=True)
class _Cut:
    """A block's threads, the extents of every array in memory, the names of what differs from thread to thread, and the names that are taken.
    `masks` are cells made on the way; `regions` what each thread does alone, and whether it does it again."""

    block: tuple[Axis, ...]
    shapes: Shapes
    differs: set[str]
    taken: set[str]
    masks: list[Array] = field(default_factory=list)
    regions: list[tuple[Body, bool]] = field(default_factory=list)

    def body(self, body: Body) -> Body:
        """Regions in loops over the threads."""
        mine = map_steps(body, lambda s: () if left_out(s) or (isinstance(s, Array) and s.owner == "block") else (s,))
        return regions(mine, TRUE, self._apart, self._region, self._mask)

    def _region(self, body: Body, guard: Term, again: bool) -> Body:
        region = where(guard, body)
        self.regions.append((region, again))
        for axis in reversed(self.block):
            region = (For(axis, region),)
        return region

    def _apart(self, step: Step) -> bool:
        return any(isinstance(s, Sync | Enter | Leave) or self._together(s) for s in steps((step,)))

    def _together(self, step: Step) -> bool:
        """Whether a loop is better around the threads: most accesses step further from pass to pass than from thread to thread."""
        if not isinstance(step, For) or not self.block or variables(step.axis.extent) & self.differs:
            return False
        if told(step, Region(self.block), self.differs) is not None:
            return False
        score = 0
        for site in sites(step.body):
            accesses = [(site.step.target, site.step.index), *((r.tensor, r.index) for r in site.reads)]
            for name, index in accesses:
                if name in self.shapes:
                    place = address(self.shapes[name], index)
                    near, far = _distance(place, self.block[-1]), _distance(place, step.axis)
                    score += (near < far) - (near > far)
        return score > 0

    def _mask(self, step: If, guard: Term, alone: list[Step]) -> Term | None:
        """The guard of the regions inside of a condition that differs from thread to thread: the condition itself, or what it was at the
        start, where it reads cells that may change. None for other conditions."""
        read = reads(step.guard)
        if not (variables(step.guard) | {r.tensor for r in read}) & self.differs:
            return None
        if not read:
            return conjunction(guard, step.guard)
        name = claimed(f"mask_{len(self.masks)}", self.taken)
        self.differs.add(name)
        self.masks.append(Array(name, BOOL, (), LOCAL))
        alone += [self.masks[-1], Assign(name, (), step.guard)]
        return conjunction(guard, Read(name, (), BOOL))

    def lasting(self, names: frozenset[str]) -> frozenset[str]:
        """The cells that outlive a region: used in more than one, or carried from one pass of a loop to the next."""
        out = set()
        for name in names:
            users = [(region, again) for region, again in self.regions if any(site.touches(name) for site in sites(region))]
            carried = any(again and name not in {s.name for s in arrays_in(region)} for region, again in users)
            if len(users) > 1 or carried:
                out.add(name)
        return frozenset(out)


def left_out(step: Step) -> bool:
    """Whether a core does nothing for a step."""
    return isinstance(step, Fact | Call) and not isinstance(step, Sync | Enter | Leave)


def _distance(place: Term, axis: Axis) -> int:
    """How far apart neighbours along an axis are, at least about; far where nobody knows."""
    pace, _ = stride(polynomial(place), axis.name)
    return FAR if pace is None else sum(abs(c) * (FAR if monomial else 1) for monomial, c in pace.items())


def threads_of(block: tuple[Axis, ...]) -> int:
    """How many threads a block has."""
    return math.prod(int(a.extent.value) for a in block if isinstance(a.extent, Const))


def without_shuffles(launch: Launch, taken: frozenset[str]) -> Launch:
    """`launch → launch` in which every shuffle is a store, a barrier and a read.

    >>> value = App("shuffle_xor", (Read("v", (), "f32"), Const(1)), "f32")
    >>> before = Launch((), (Axis("t", Const(32), "block"),), (Assign("v", (), value, "sum"),))
    >>> [type(s).__name__ for s in without_shuffles(before, frozenset()).body]
    ['Array', 'Assign', 'Sync', 'Assign']
    """
    made: list[Array] = []
    names, threads = {*taken}, (Const(threads_of(launch.block)),)

    def each(step: Step) -> Body:
        before: list[Step] = []

        @memoised
        def left(t: Term) -> Term:
            t = rebuild(t, left)
            match t:
                case App(op, (value, lane), dtype) if op in SHUFFLES and isinstance(step, Assign):
                    array = Array(claimed(f"exchange_{len(made)}", names), dtype, threads, SHARED)
                    made.append(array)
                    before.extend((Assign(array.name, (row_major(launch.block),), value, guard=step.guard), Sync("warp")))
                    return Read(array.name, (source_lane(op, lane, launch.block),), dtype)
            return t

        if isinstance(step, Assign) and shuffles(step):
            step = replace(step, value=left(step.value))
        return (*before, step)

    body = map_steps(launch.body, each)
    return replace(launch, body=(*made, *body))


def source_lane(op: str, lane: Term, block: tuple[Axis, ...]) -> Term:
    """The thread whose value is taken: the own one, where the other lane is outside the warp or the block."""
    thread = row_major(block)
    own, start = thread % WARP, thread // WARP * WARP
    if block and block[-1].extent == Const(WARP):
        own, start = Var(block[-1].name), row_major(block[:-1]) * WARP
    match op:
        case "shuffle_xor":
            there = own ^ lane
        case "shuffle_up":
            there = own - lane
        case "shuffle_down":
            there = own + lane
        case _:
            there = lane % WARP
    source = start + there
    known = isinstance(lane, Const) and 0 <= lane.value < WARP
    within: list[Term] = []
    if op != "shuffle_idx" and not (known and op != "shuffle_up"):
        within.append(there >= 0)
    if op != "shuffle_idx" and not (known and op != "shuffle_down"):
        within.append(there < WARP)
    if threads_of(block) % WARP:
        within.append(source < threads_of(block))
    return select(conjunction(*within), source, thread)
