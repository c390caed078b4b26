"""Nests that fold a product of something along rows and something along lanes: tiles of accumulators in vector registers, and their shape.

Comes in: a `Nest` such as `i < M, j < N` with `acc = 0; for k < K: acc += A[i, k] * B[k, j]; C[i, j] = acc`. Goes out: what the tile is made of, or
None where the nest is of another kind. The one idea: what depends on the lanes alone is laid out once for many rows (a panel), what depends on a row
alone is one number spread over the lanes, and the order of each element's own fold is kept. A program `on cpu` says the shape, as the loops of its
store; one for a GPU says nothing of a CPU, and gets one that fits any: 6 rows of 2 vectors and their operands are in 16 registers, and a panel is in
the cache.
"""

from __future__ import annotations

from collections.abc import Mapping

from tinygpu.category.term import TRUE, App, Axis, Const, Read, Term, exchange, outer_folds, reads, substitute, variables
from tinygpu.model.op import Op
from tinygpu.program.lanes import WIDTHS
from tinygpu.program.step import Array, Assign, For, If, Launch, arrays_in, steps
from tinygpu.program.traverse import reads_of
from tinygpu.record import dataclass, replace
from tinygpu.schedule.flat import one_loop
from tinygpu.schedule.nest import (
    SIDE_BY_SIDE,
    Body,
    Nest,
    Shapes,
    Site,
    contiguity,
    innermost,
    is_long,
    known_turns,
    memory_reads,
    pace,
    perfect,
    sites,
)

FEW = 64  # steps of a panel
PAYS = 16  # steps of a fold: what fewer gain does not pay for a panel
OPERATIONS = ("add", "sub", "mul", "div", "min", "max", "neg")  # of vectors
UPDATES = ("sum", "prod", "max", "min")


@dataclass(frozen=True, slots=True)
class Shape:
    """`rows` of `vectors` vectors are accumulated at once; `groups` of so many rows use one panel of `block` steps."""

    rows: int = 6
    vectors: int = 2
    groups: int = 42
    block: int = 512

    def shared_by(self, cells: int) -> Shape:
        """The shape where each element has several accumulators.

        >>> Shape().shared_by(2).rows, Shape().shared_by(9).rows
        (3, 1)
        """
        return Shape(max(1, self.rows // cells), self.vectors, self.groups, self.block)


@dataclass(frozen=True, slots=True)
class Cell:
    """An accumulator: what it starts with, how it combines, and what each step of the loop brings."""

    name: str
    start: Term
    update: str
    value: Term


@dataclass(frozen=True, slots=True)
class Tile:
    """The axes of rows and of lanes, the others, the loops, the accumulators of one dtype, the steps after the loops with cells of their own, the
    shape, and the condition that the loops have."""

    row: Axis
    lane: Axis
    outer: tuple[Axis, ...]
    around: tuple[Axis, ...]
    loop: Axis
    dtype: str
    cells: tuple[Cell, ...]
    after: Body
    shape: Shape
    guard: Term = TRUE
    held: tuple[Array, ...] = ()


def tile_of(nest: Nest, shapes: Shapes, op: Op, given: Launch | None = None) -> Tile | None:
    """The tile of a nest, if it has one, in the shape that a launch on cpu gives it."""
    lane = innermost(nest.axes, nest.body, shapes)
    parts = _parts(nest.body)
    if nest.guards or lane is None or parts is None or contiguity(nest.body, lane.name, shapes) <= 0:
        return None
    before, around, loop, after = parts
    own, points = {s.name: s.dtype for s in arrays_in(nest.body, "thread")}, {a.name for a in nest.axes}
    guard = _guard(loop, points)
    loops = tuple(replace(axis, sort="time") for axis in (*around, loop.axis))
    cells = _cells(before, loop, own) if guard is not None and (_pays(loops) or guard != TRUE) else ()
    dtypes = {own[c.name] for c in cells}
    if (
        guard is None
        or len(dtypes) != 1
        or not dtypes <= WIDTHS.keys()
        or not _cells_read(after, own) - _made(after) <= {c.name for c in cells}
    ):
        return None
    if any(variables(c.start) & points for c in cells):
        return None
    (dtype,) = dtypes
    extents = {name for axis in loops for name in variables(axis.extent)}
    for row in reversed([axis for axis in nest.axes if axis != lane]):
        if not extents & {row.name, lane.name} and all(_two_sided(c.value, row.name, lane.name, dtype) for c in cells):
            outer = tuple(a for a in nest.axes if a not in (row, lane))
            said = shape_of(given, op, row.name, lane.name, dtype) if given else None
            held = tuple(s for s in arrays_in(nest.body, "thread") if s.name in _made(after))
            if guard == TRUE and not said:
                loops, digits = one_loop(loops, [c.value for c in cells], row.name, lane.name, shapes)
                cells = tuple(replace(c, value=substitute(c.value, digits)) for c in cells)
            usual = Shape(block=FEW) if _far(cells, row, lane, loops[-1], shapes) else Shape()
            shape = said or usual.shared_by(len(cells))
            return Tile(row, lane, outer, loops[:-1], loops[-1], dtype, cells, after, shape, guard, held)
    return None


def _pays(loops: tuple[Axis, ...]) -> bool:
    """Whether loops in each other have so many turns together that a panel pays, whichever of them is the long one."""
    return any(map(is_long, loops)) or known_turns(loops) >= PAYS


def _far(cells: tuple[Cell, ...], row: Axis, lane: Axis, loop: Axis, shapes: Shapes) -> bool:
    """Whether a row reads elsewhere in every turn of the loop: a line of memory for each number, of which the next rows need the rest, so
    there may only be as many turns as the cache holds lines at such a distance."""
    found = memory_reads([c.value for c in cells], shapes)
    alone = [r for r in found if row.name in variables(r) and lane.name not in variables(r)]
    return any(pace(r, loop.name, shapes) not in ({}, SIDE_BY_SIDE) for r in alone)


def _parts(body: Body) -> tuple[tuple[Assign, ...], tuple[Axis, ...], For, Body] | None:
    """Plain assignments, loops that stand in each other, the innermost of assignments, and what follows them."""
    real = tuple(s for s in body if not isinstance(s, Array))
    at = next((n for n, s in enumerate(real) if isinstance(s, For)), None)
    if at is None:
        return None
    before, after = tuple(s for s in real[:at] if isinstance(s, Assign)), real[at + 1 :]
    around, loop = perfect(real[at])
    if not isinstance(loop, For) or len(before) != at or not all(isinstance(s, Assign | Array) for s in loop.body):
        return None
    return None if any(isinstance(s, For | If) for s in after) else (before, around, loop, after)


def _cells(before: tuple[Assign, ...], loop: For, own: Mapping[str, str]) -> tuple[Cell, ...]:
    """The accumulators, with the loop's own temporaries put in place; empty where the loop does something else."""
    starts = {s.target: s.value for s in before if s.target in own and not s.index and not s.update and s.guard == TRUE}
    if len(starts) != len(before) or _cells_read(before, own):
        return ()
    known: dict[Term, Term] = {}
    cells: dict[str, Cell] = {}
    for step in (s for s in loop.body if isinstance(s, Assign)):
        value = exchange(step.value, known)
        if step.target not in own or step.index or any(read.tensor in own for read in reads(value)):
            return ()
        if not step.update and step.guard == TRUE and step.target not in starts:
            known[Read(step.target, (), own[step.target])] = value
        elif step.update in UPDATES and step.target in starts and step.target not in cells:
            cells[step.target] = Cell(step.target, starts[step.target], step.update, value)
        else:
            return ()
    return tuple(cells.values()) if set(cells) == set(starts) else ()


def _guard(loop: For, points: set[str]) -> Term | None:
    """The condition of the loops that all updates inside are under, which is none of the points' own; None where they have others."""
    (guard, *others) = {s.guard for s in loop.body if isinstance(s, Assign) and s.update} or {TRUE}
    return None if others or variables(guard) & points or any(reads(guard)) else guard


def _cells_read(body: Body, own: Mapping[str, str]) -> set[str]:
    return {read.tensor for step in steps(body) for read in reads_of(step)} & own.keys()


def _made(body: Body) -> set[str]:
    """The numbers that steps hold for those after them, each made once, before it is looked at."""
    made: dict[str, bool] = {}
    seen: set[str] = set()
    for step in (s for s in body if isinstance(s, Assign)):
        seen |= {read.tensor for read in reads_of(step)}
        plain = not step.index and not step.update and step.guard == TRUE
        made[step.target] = plain and step.target not in {*made, *seen}
    return {name for name, once in made.items() if once}


def _two_sided(t: Term, row: str, lane: str, dtype: str) -> bool:
    """Whether the term depends on rows and lanes, and only through arithmetic of the dtype on terms that depend on one of them."""

    def fine(part: Term) -> bool:
        if not {row, lane} <= variables(part):
            return part.dtype == dtype
        return isinstance(part, App) and part.op in OPERATIONS and part.dtype == dtype and all(map(fine, part.args))

    return {row, lane} <= variables(t) and fine(t)


def shape_of(launch: Launch, op: Op, row: str, lane: str, dtype: str) -> Shape | None:
    """What a launch of a program on cpu says of a tile whose rows and lanes are these indices; None where it holds no tile in registers.

    A simd factor is one register, whatever lanes that has where the text is run: the same text is proved for each.
    """
    for equation in op.equations:
        places = [a.name for a in equation.axes]
        store = next((s for s in sites(launch.body) if s.step.target == equation.target), None)
        if store is None or not {row, lane} <= {*places}:
            continue
        own = {i: variables(term) for i, term in zip(places, store.step.index, strict=True)}
        rows, columns = ([a for a in axes_of(store) if a.name in own[i]] for i in (row, lane))
        held, beside = ([a for a in axes if a.sort in ("register", "vector")] for axes in (rows, columns))
        if not held and not beside:
            return None
        whole = {a.name for fold in outer_folds(equation.value) for a in fold.axes}  # not cut, so they say nothing of a panel
        others = whole.union(*own.values())
        steps = {a.name: a for s in sites(launch.body) for a in axes_of(s) if s.step.update and a.name not in others}
        inner = [a for a in steps.values() if isinstance(a.extent, Const)]
        return Shape(
            known_turns(held),
            known_turns(a for a in beside if a.sort == "register")
            if any(a.sort == "vector" for a in beside)
            else max(1, known_turns(beside) // WIDTHS[dtype][0]),
            known_turns(a for a in rows if a.sort == "time"),
            known_turns(inner) if inner else Shape().block,
        )
    return None


def axes_of(site: Site) -> list[Axis]:
    """The axes of the loops around an assignment."""
    return [loop.axis for loop in site.loops]
