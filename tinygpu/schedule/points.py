"""A nest of independent points as a launch: which axis runs innermost, and what one item of parallel work is.

    i < M, j < N   ↦   grid (i, j_chunk < ⌈N / 8192⌉), for j < 8192: the point, if j_chunk·8192 + j < N

Comes in: a nest. Goes out: a launch of items, which any core may take. The one idea: the innermost axis is the one along which memory is
contiguous, cut into chunks; all others are digits of the item. Where conditions of the points are linear in it, the interior stands alone.
"""

from __future__ import annotations

from collections.abc import Callable

from tinygpu.category.term import TRUE, App, Axis, Const, Term, Var, ceildiv, conjunction, negation, substitute
from tinygpu.program.step import Array, For, If, Launch, Step, arrays_in
from tinygpu.record import dataclass, replace
from tinygpu.schedule.access import Shapes, contiguity, heavy, innermost
from tinygpu.schedule.border import interior
from tinygpu.schedule.merge import Nest
from tinygpu.schedule.pieces import Pieces, substituted
from tinygpu.schedule.polynomial import telling
from tinygpu.schedule.strip import STRIP, Strip, lasting, strips

CHUNK = 8192  # points that are one item: enough to be worth its decoding, few enough to share out
HEAVY_CHUNK = 4  # of points that run long loops
FEW = 8


def inside(nest: Nest, shapes: Shapes) -> Nest:
    """Axes of a few neighbours, such as the two of a pair, as loops in the point: an axis of two cannot be the innermost one."""
    few = [
        a
        for a in nest.axes
        if isinstance(a.extent, Const)
        and 1 < a.extent.value <= FEW
        and contiguity(nest.body, a.name, shapes) > 0
        and len(nest.axes) > 1
    ]
    if nest.guards or any(isinstance(s, Array | For) for s in nest.body):
        return nest
    body = nest.body
    for axis in reversed(few):
        body = (For(replace(axis, sort="register"), body),)
    axes = tuple(a for a in nest.axes if a not in few) if len(few) < len(nest.axes) else ()
    return replace(nest, axes=axes, body=body)


@dataclass(frozen=True, slots=True)
class Points:
    """What a nest is laid out with. What launches leave for each other is little, so folds of it stay whole: `long` are the arrays of which
    it is not known."""

    shapes: Shapes
    long: Shapes
    fresh: Callable[[str], str]

    def launch(self, nest: Nest) -> Launch:
        """`nest → launch`."""
        guard = conjunction(*nest.guards)
        lane = innermost(nest.axes, nest.body, self.shapes)
        if lane is None:
            return Launch((), (), self._where(guard, self._pieces(nest.body)))
        outer = tuple(replace(a, sort="grid") for a in nest.axes if a != lane)
        in_strips = strips(nest.body, lane, self.shapes)
        size = STRIP if in_strips else HEAVY_CHUNK if heavy(nest.body) else CHUNK
        chunk = Axis(self.fresh(f"{lane.name}_chunk"), ceildiv(lane.extent, size), "grid")
        run = Axis(self.fresh(f"{lane.name}_in"), Const(size), "time")
        own = {lane.name: Var(chunk.name) * size + Var(run.name)}
        here = conjunction(own[lane.name] < lane.extent, substitute(guard, own))
        if not in_strips and isinstance(lane.extent, Const) and lane.extent.value <= size:  # one chunk is no axis
            own, here, run = {}, guard, replace(lane, sort="time")
        cells = lasting(nest.body) if in_strips else frozenset()
        declared = [s for s in nest.body if isinstance(s, Array)]
        body: list[Step] = [replace(s, extents=(Const(size),)) if s.name in cells else s for s in declared]
        for condition, points in self._parts(nest, lane):
            point = tuple(substituted(s, own) for s in points if not isinstance(s, Array))
            there = conjunction(here, substitute(condition, own))
            if in_strips:
                body += Strip(run, there, cells).steps(point)
            else:
                body.append(For(run, self._where(there, self._pieces(point, nest))))
        return Launch((*outer, chunk) if own else outer, (), tuple(body))

    def _parts(self, nest: Nest, lane: Axis) -> list[tuple[Term, tuple[Step, ...]]]:
        """Conditions, one of which holds at each point, and what is done there: the interior without the tests that are true in it."""
        found = interior(nest, lane)
        if found is None:
            return [(TRUE, nest.body)]
        x, outer = Var(lane.name), conjunction(*found.outer)
        low, high = _extreme("max", telling(found.lows, 1)), _extreme("min", telling(found.highs, -1))
        parts: list[tuple[Term, tuple[Step, ...]]] = []
        if found.outer:
            parts.append((negation(outer), nest.body))
        if low is not None:
            parts.append((conjunction(outer, x < low), nest.body))
        within = tuple(x >= t for t in found.lows) + tuple(x < t for t in found.highs)
        parts.append((conjunction(outer, *within), found.body))
        if high is not None:
            parts.append((conjunction(outer, *(x >= t for t in found.lows), x >= high), nest.body))
        return parts

    def _where(self, guard: Term, body: tuple[Step, ...]) -> tuple[Step, ...]:
        return (If(guard, body),) if guard != TRUE else body

    def _pieces(self, body: tuple[Step, ...], nest: Nest | None = None) -> tuple[Step, ...]:
        cells = {s.name: s for s in arrays_in((*body, *(nest.body if nest else ()))) if not s.extents}
        return Pieces(self.long, cells, self.fresh).cut(body)


def _extreme(op: str, terms: list[Term]) -> Term | None:
    """The largest or smallest of some terms."""
    out: Term | None = None
    for t in terms:
        out = t if out is None else App(op, (out, t))
    return out
