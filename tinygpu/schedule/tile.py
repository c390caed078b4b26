"""Nests that fold a product of something along rows and something along lanes: tiles of accumulators in vector registers.

Comes in: a `Nest` such as `i < M, j < N` with `acc = 0; for k < K: acc += A[i, k] * B[k, j]; C[i, j] = acc`. Goes out: what the
tile is made of, or None where the nest is of another kind. The one idea: what depends on the lanes alone is laid out once for many
rows (a panel), what depends on a row alone is one number spread over the lanes, and the order of each element's own fold is kept.
"""

from __future__ import annotations

from collections.abc import Mapping

from tinygpu.category.term import TRUE, App, Axis, Read, Term, reads, rebuild, variables, walk
from tinygpu.model.op import Op
from tinygpu.program.step import Array, Assign, For, If, Launch, Step, arrays_in, steps
from tinygpu.record import dataclass
from tinygpu.schedule.access import SIDE_BY_SIDE, Shapes, contiguity, innermost, is_long, memory_reads, pace
from tinygpu.schedule.merge import Nest
from tinygpu.schedule.shape import Shape, shape_of

FEW = 64  # steps of a panel
OPERATIONS = ("add", "sub", "mul", "div", "min", "max", "neg")  # of vectors
UPDATES = ("sum", "prod", "max", "min")
VECTORS = ("f32", "f64")


@dataclass(frozen=True, slots=True)
class Cell:
    """An accumulator: what it starts with, how it combines, and what each step of the loop brings."""

    name: str
    start: Term
    update: str
    value: Term


@dataclass(frozen=True, slots=True)
class Tile:
    """The axes of rows and of lanes, the others, the loops, the accumulators of one dtype, the steps after the loops, the shape, and the condition
    that the loops have."""

    row: Axis
    lane: Axis
    outer: tuple[Axis, ...]
    around: tuple[Axis, ...]
    loop: Axis
    dtype: str
    cells: tuple[Cell, ...]
    after: tuple[Step, ...]
    shape: Shape
    guard: Term = TRUE


def tile_of(nest: Nest, shapes: Shapes, op: Op, given: Launch | None = None) -> Tile | None:
    """The tile of a nest, if it has one, in the shape that a launch on cpu gives it."""
    lane = innermost(nest.axes, nest.body, shapes)
    own = {s.name: s for s in arrays_in(nest.body, "thread")}
    parts = _parts(nest.body)
    if nest.guards or lane is None or parts is None or contiguity(nest.body, lane.name, shapes) <= 0:
        return None
    before, around, loop, after = parts
    guard = _guard(loop, {a.name for a in nest.axes})
    cells = _cells(before, loop, own) if guard is not None else ()
    if (
        guard is None
        or not cells
        or not (is_long(loop.axis) or guard != TRUE)
        or {c.name for c in cells} < _locals_read(after, own)
    ):
        return None
    dtypes = {own[c.name].dtype for c in cells}
    if len(dtypes) != 1 or not dtypes <= {*VECTORS} or any(variables(c.start) & {a.name for a in nest.axes} for c in cells):
        return None
    (dtype,) = dtypes
    extents = {name for axis in (*around, loop.axis) for name in variables(axis.extent)}
    for row in reversed(nest.axes):
        if (
            row != lane
            and not extents & {row.name, lane.name}
            and all(_two_sided(c.value, row.name, lane.name, dtype) for c in cells)
        ):
            outer = tuple(a for a in nest.axes if a not in (row, lane))
            said = shape_of(given, op, row.name, lane.name, dtype) if given else None
            usual = Shape(block=FEW) if _far(cells, row, lane, loop.axis, shapes) else Shape()
            return Tile(row, lane, outer, around, loop.axis, dtype, cells, after, said or usual.shared_by(len(cells)), guard)
    return None


def _far(cells: tuple[Cell, ...], row: Axis, lane: Axis, loop: Axis, shapes: Shapes) -> bool:
    """Whether a row reads elsewhere in every turn of the loop: a line of memory for each number, of which the next rows need the rest, so
    there may only be as many turns as the cache holds lines at such a distance."""
    found = dict.fromkeys(memory_reads([c.value for c in cells], shapes))
    alone = [r for r in found if row.name in variables(r) and lane.name not in variables(r)]
    return any(pace(r, loop.name, shapes) not in ({}, SIDE_BY_SIDE) for r in alone)


def _parts(body: tuple[Step, ...]) -> tuple[tuple[Assign, ...], tuple[Axis, ...], For, tuple[Step, ...]] | None:
    """Plain assignments, loops that stand in each other, the innermost of assignments, and what follows them."""
    real = tuple(s for s in body if not isinstance(s, Array))
    loops = [n for n, s in enumerate(real) if isinstance(s, For)]
    if not loops:
        return None
    at = loops[0]
    loop, before, after = real[at], real[:at], real[at + 1 :]
    around: list[Axis] = []
    while isinstance(loop, For) and len(loop.body) == 1 and isinstance(loop.body[0], For):
        around.append(loop.axis)
        loop = loop.body[0]
    if not isinstance(loop, For) or not all(isinstance(s, Assign | Array) for s in (*before, *loop.body)):
        return None
    if any(isinstance(s, For | If) for s in after):
        return None
    return tuple(s for s in before if isinstance(s, Assign)), tuple(around), loop, after


def _cells(before: tuple[Assign, ...], loop: For, own: Mapping[str, Array]) -> tuple[Cell, ...]:
    """The accumulators, with the loop's own temporaries put in place; empty where the loop does something else."""
    starts = {s.target: s for s in before}
    if len(starts) != len(before) or not all(_plain(s, own) and not _locals_read((s,), own) for s in before):
        return ()
    known: dict[str, Term] = {}
    cells: dict[str, Cell] = {}
    for step in (s for s in loop.body if isinstance(s, Assign)):
        value = _inlined(step.value, known)
        if step.target not in own or step.index or (step.guard != TRUE and not step.update):
            return ()
        if any(isinstance(t, Read) and t.tensor in own for t in walk(value)):
            return ()
        if not step.update and step.target not in starts:
            known[step.target] = value
        elif step.update in UPDATES and step.target in starts and step.target not in cells:
            cells[step.target] = Cell(step.target, starts[step.target].value, step.update, value)
        else:
            return ()
    return tuple(cells.values()) if set(cells) == set(starts) else ()


def _guard(loop: For, points: set[str]) -> Term | None:
    """The condition of the loops that all updates inside are under, which is none of the points' own; None where they have others."""
    (guard, *others) = {s.guard for s in loop.body if isinstance(s, Assign) and s.update} or {TRUE}
    return None if others or variables(guard) & points or any(reads(guard)) else guard


def _plain(step: Assign, own: Mapping[str, Array]) -> bool:
    return step.target in own and not step.index and not step.update and step.guard == TRUE


def _locals_read(body: tuple[Step, ...], own: Mapping[str, Array]) -> set[str]:
    terms = [t for s in steps(body) if isinstance(s, Assign) for t in (*s.index, s.value, s.guard)]
    return {r.tensor for t in terms for r in walk(t) if isinstance(r, Read) and r.tensor in own}


def _inlined(t: Term, known: dict[str, Term]) -> Term:
    if isinstance(t, Read) and t.tensor in known:
        return known[t.tensor]
    return rebuild(t, lambda c: _inlined(c, known))


def _two_sided(t: Term, row: str, lane: str, dtype: str) -> bool:
    """Whether the term depends on rows and lanes, and only through arithmetic of the dtype on terms that depend on one of them."""

    def fine(part: Term) -> bool:
        if not {row, lane} <= variables(part):
            return part.dtype == dtype
        return isinstance(part, App) and part.op in OPERATIONS and part.dtype == dtype and all(map(fine, part.args))

    return {row, lane} <= variables(t) and fine(t)
