"""A nest of independent points as a launch: which axis runs innermost, what one item of parallel work is, and what runs side by side.

    i < M, j < N   ↦   grid (i, j_chunk < ⌈N / 8192⌉), for j < 8192: the point, if j_chunk·8192 + j < N
    for lane: { s = 0; for k: s += x[k, lane]; y[lane] = s }   ↦   for lane: s[lane] = 0;  for k: for lane: s[lane] += x[k, lane];  …

Comes in: a nest. Goes out: a launch of items, which any core may take. The one idea: the innermost axis is the one along which memory is
contiguous, cut into chunks; all others are digits of the item. Where conditions of the points are linear in it, the interior stands alone. Points that
run long loops along it step through each together, as a strip of lanes, in which a cell of the point is an array.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import reduce
from itertools import groupby

from tinygpu.category.term import (
    TRUE,
    App,
    Axis,
    Const,
    Term,
    Var,
    ceildiv,
    conjunction,
    conjuncts,
    negation,
    reads,
    substitute,
    variables,
)
from tinygpu.program.step import Array, Assign, For, If, Launch, Step, arrays_in, steps
from tinygpu.program.traverse import map_steps
from tinygpu.record import dataclass, replace
from tinygpu.schedule.ahead import Ahead
from tinygpu.schedule.interior import interior
from tinygpu.schedule.nest import (
    BACKWARDS,
    SIDE_BY_SIDE,
    Body,
    Nest,
    Shapes,
    contiguity,
    heavy,
    innermost,
    is_long,
    loops_of,
    memory_reads,
    moved,
    pace,
    regions,
    sites,
    substituted,
    where,
)
from tinygpu.schedule.pieces import Pieces
from tinygpu.schedule.polynomial import telling
from tinygpu.schedule.scope import guarded

CHUNK = 8192  # points that are one item: enough to be worth its decoding, few enough to share out
HEAVY_CHUNK = 4  # of points that run long loops
STRIP = 64  # of those that step through them together
FEW = 8


def inside(nest: Nest, shapes: Shapes) -> Nest:
    """Axes of a few neighbours, such as the two of a pair, as loops in the point: an axis of two cannot be the innermost one."""
    if nest.guards or len(nest.axes) < 2 or any(isinstance(s, Array | For) for s in nest.body):
        return nest
    few = [a for a in nest.axes if isinstance(a.extent, Const) and 1 < a.extent.value <= FEW]
    few = [a for a in few if contiguity(nest.body, a.name, shapes) > 0]
    axes = tuple(a for a in nest.axes if a not in few)
    body = reduce(lambda inner, axis: (For(replace(axis, sort="register"), inner),), reversed(few), nest.body)
    return replace(nest, axes=axes, body=body)


@dataclass(frozen=True, slots=True)
class Points:
    """What a nest is laid out with. What launches leave for each other is little, so folds of it stay whole: `long` are the arrays of which
    it is not known. Neighbours that lie a size of `steps` apart may lie side by side. Of the
    tensors `ahead` the next point's elements are fetched while one is worked on."""

    shapes: Shapes
    long: Shapes
    steps: Collection[str]
    ahead: Collection[str]
    leaving: Collection[str]
    fresh: Callable[[str], str]

    def launch(self, nest: Nest) -> Launch:
        """`nest → launch`."""
        guard = conjunction(*nest.guards)
        lane = innermost(nest.axes, nest.body, self.shapes)
        if lane is None:
            return Launch((), (), where(guard, self._pieces(nest.body)))
        outer = tuple(replace(a, sort="grid") for a in nest.axes if a != lane)
        in_strips = strips(nest.body, lane, self.shapes, self.steps)
        size = STRIP if in_strips else HEAVY_CHUNK if heavy(nest.body) else CHUNK
        chunk = Axis(self.fresh(f"{lane.name}_chunk"), ceildiv(lane.extent, size), "grid")
        run = Axis(self.fresh(f"{lane.name}_in"), Const(size), "time")
        own = {lane.name: Var(chunk.name) * size + Var(run.name)}
        here = conjunction(own[lane.name] < lane.extent, substitute(guard, own))
        if not in_strips and isinstance(lane.extent, Const) and lane.extent.value <= size:  # one chunk is no axis
            own, here, run = {}, guard, replace(lane, sort="time")
        alike = same(nest.body, lane) if in_strips else frozenset()
        cells = lasting(nest.body) - alike if in_strips else frozenset()
        declared = [s for s in nest.body if isinstance(s, Array)]
        body: list[Step] = [replace(s, extents=(Const(size),)) if s.name in cells else s for s in declared]
        for condition, points in self._parts(nest, lane):
            point = tuple(substituted(s, own) for s in points if not isinstance(s, Array))
            there = conjunction(here, substitute(condition, own))
            if in_strips:
                body += in_strip(point, run, there, cells, alike)
            else:
                more = conjunction(substitute(own.get(lane.name, Var(run.name)), {run.name: Var(run.name) + 1}) < lane.extent)
                point = Ahead(self.ahead, self.leaving, self.shapes, run.name, more, self.fresh).moved(point)
                body.append(For(run, where(there, self._pieces(point, nest))))
        return Launch((*outer, chunk) if own else outer, (), tuple(body))

    def _parts(self, nest: Nest, lane: Axis) -> list[tuple[Term, Body]]:
        """Conditions, one of which holds at each point, and what is done there: the interior without the tests that are true in it."""
        found = interior(nest, lane)
        if found is None:
            return [(TRUE, nest.body)]
        x, outer = Var(lane.name), conjunction(*found.outer)
        low = reduce(lambda a, b: App("max", (a, b)), telling(found.lows, 1)) if found.lows else None
        high = reduce(lambda a, b: App("min", (a, b)), telling(found.highs, -1)) if found.highs else None
        above, below = tuple(x >= t for t in found.lows), tuple(x < t for t in found.highs)
        edges = [negation(outer)] if found.outer else []
        edges += [conjunction(outer, x < low)] if low is not None else []
        last = [conjunction(outer, *above, x >= high)] if high is not None else []
        borders, behind = ([(there, nest.body) for there in some] for some in (edges, last))
        return [*borders, (conjunction(outer, *above, *below), found.body), *behind]

    def _pieces(self, body: Body, nest: Nest | None = None) -> Body:
        cells = {s.name: s for s in arrays_in((*body, *(nest.body if nest else ()))) if not s.extents}
        return Pieces(self.long, cells, self.fresh).cut(body)


def strips(body: Body, lane: Axis, shapes: Shapes, apart: Collection[str] = ()) -> bool:
    """Whether the long loops read along the lane, and all cells are scalars."""
    if any(s.extents for s in arrays_in(body)):
        return False
    if any(lane.name in variables(s.axis.extent) for s in loops_of(body)):
        return False  # the lanes of a strip step together
    long = [site for site in sites(body) if any(is_long(loop.axis) for loop in site.loops)]
    paces = [pace(r, lane.name, shapes) for site in long for r in memory_reads(site.terms, shapes)]
    moving = [p for p in paces if p != {}]
    return bool(moving) and all(p in (SIDE_BY_SIDE, BACKWARDS, *({(Var(s),): 1} for s in apart)) for p in moving)


def in_strip(body: Body, lane: Axis, guard: Term, cells: frozenset[str], alike: frozenset[str]) -> Body:
    """Points where the guard holds, long loops around loops over the strip; what runs short stands together in one. `cells` are arrays over it, `alike`
    those that all points of it have alike: they are written once."""

    def region(steps: Body, guard: Term, _: bool) -> Body:
        out: list[Step] = []
        for once, some in groupby(steps, lambda step: isinstance(step, Assign) and step.target in alike):
            own = moved(tuple(some), lambda name, index: (name, (Var(lane.name),) if name in cells else index))
            whole = conjunction(*(part for part in conjuncts(guard) if lane.name not in variables(part)))
            out += where(whole, own) if once else (For(lane, guarded(guard, own, cells)),)
        return tuple(out)

    def of_all(step: Step) -> bool:
        return isinstance(step, If) and bool(found := reads(step.guard)) and {r.tensor for r in found} <= alike

    def condition(step: If, guard: Term, _: list[Step]) -> Term | None:
        return None if of_all(step) else conjunction(guard, step.guard)

    plain = map_steps(body, lambda step: () if isinstance(step, Array) else (step,))
    return regions(plain, guard, lambda step: heavy((step,)) or of_all(step), region, condition)


def same(body: Body, lane: Axis) -> frozenset[str]:
    """The cells that say where loops begin and end, and are the same for all points along a lane."""
    told = {r.tensor for s in steps(body) if isinstance(s, If) for r in reads(s.guard)} & {s.name for s in arrays_in(body)}
    written = {name: [site for site in sites(body) if site.step.target == name] for name in told}
    return frozenset(
        name
        for name, found in written.items()
        if not any(lane.name in variables(t) or {r.tensor for r in reads(t)} & {*lasting(body)} for s in found for t in s.terms)
    )


def lasting(body: Body) -> frozenset[str]:
    """All cells but those that one innermost long loop writes before it reads, and nothing else uses."""
    cells = {s.name for s in arrays_in(body, "thread")}
    for name in sorted(cells):
        users = [site for site in sites(body) if site.touches(name)]
        around = {tuple(id(loop) for loop in site.loops if is_long(loop.axis)) for site in users}
        loop = next((loop for loop in reversed(users[0].loops) if is_long(loop.axis)), None)
        if len(around) == 1 and loop and not heavy(loop.body) and users[0].sets(name) and not users[0].guards:
            cells.discard(name)
    return frozenset(cells)
