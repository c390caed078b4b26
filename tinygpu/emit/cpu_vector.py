"""Accumulators of a loop that are held in vector registers.

    for k: for r < 2 in register: for l < 16 in simd: acc[r, l] += a[r, k] * b[k, l]   ↦   acc_0, acc_1, of 16 numbers each

Comes in: a loop, and what is around it. Goes out: a register for each accumulator; none where something else is done in the loop. The one idea:
what a loop over lanes updates is the same cells in every turn of the loop around it, and nobody else there looks at them; so they may be variables.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import combinations

from tinygpu.category.evaluate import evaluate
from tinygpu.category.linear import polynomial
from tinygpu.category.term import TRUE, App, Axis, Const, Read, Term, reads, substitute, variables
from tinygpu.category.text import claimed
from tinygpu.emit.cpu_text import Register, Writer
from tinygpu.program.arrays import address
from tinygpu.program.lanes import LANES, WIDTHS
from tinygpu.program.step import Assign, For, If, Step, steps
from tinygpu.record import dataclass
from tinygpu.schedule.nest import SIDE_BY_SIDE, Shapes, pace, substituted
from tinygpu.schedule.polynomial import term
from tinygpu.schedule.tile import OPERATIONS, UPDATES
from tinygpu.syntax.target import SIMD


@dataclass(frozen=True, slots=True)
class Update:
    """What a loop over lanes does to the cells from the first of its lanes on, in one turn of the register loops around it."""

    step: Assign
    lane: Axis
    turns: tuple[int, ...]

    @property
    def place(self) -> tuple[Term, ...]:
        """The cell of the first lane."""
        return begin(self.step.index, self.lane.name)


def accumulators(
    scope: Writer, axis: Axis, body: tuple[Step, ...], names: Collection[str]
) -> dict[tuple[str, tuple[Term, ...]], Register]:
    """The registers of a loop whose turns all update the same cells, all in vectors; none has one of the names that there are."""
    every = [*updates(body)] if in_vectors(body) else []
    shapes = flat(scope)
    targets = {u.step.target for u in every}
    inner = {axis.name} | {s.axis.name for s in steps(body) if isinstance(s, For) and s.axis.sort == "time"}
    for update in every:
        step, own = update.step, targets & scope.locals.keys() & shapes.keys()
        alone = step.target in own and not any(r.tensor in targets for r in reads(step.value))
        if not alone or inner & {v for i in step.index for v in variables(i)} or not fits(update, scope, shapes):
            return {}
    if not all(apart(a, b, shapes) for a, b in combinations(every, 2)):
        return {}
    taken = {*names, *shapes, *scope.bound.values(), *(s.axis.name for s in steps(body) if isinstance(s, For))}
    called = (claimed("_".join((u.step.target, *map(str, u.turns or (0,)))), taken) for u in every)
    return {(u.step.target, u.place): Register(n, u.step.value.dtype, u.lane.extent) for u, n in zip(every, called, strict=True)}


def handed_on(scope: Writer, body: tuple[Step, ...]) -> list[Update]:
    """The assignments of steps that put registers elsewhere, vector by vector; none where something else is done there, too."""
    loops = [s for s in steps(body) if isinstance(s, For)]
    every = [*updates(body)] if in_vectors(body) and all(s.axis.sort != "time" for s in loops) else []
    targets, shapes = {u.step.target for u in every}, flat(scope)
    read = [(r.tensor, begin(r.index, u.lane.name)) for u in every for r in reads(u.step.value)]
    alone = targets.isdisjoint(name for name, _ in (*read, *scope.held)) and any(r in scope.held for r in read)
    return every if alone and all(fits(u, scope, shapes, ("",)) for u in every) else []


def flat(scope: Writer) -> dict[str, tuple[Term, ...]]:
    """The extents of the arrays whose cells lie row-major, and alone."""
    cells = {name: a.extents for name, a in scope.locals.items() if name not in scope.strip}
    return cells | {name: t.shape for name, t in scope.tensors.items() if not t.strided}


def fits(update: Update, scope: Writer, shapes: Shapes, ways: Collection[str] = UPDATES) -> bool:
    """Whether an assignment is one of vectors: each lane has a cell of its own, and takes what is the same for all lanes, or lies side by side."""
    step, lane, dtype = update.step, update.lane.name, update.step.value.dtype

    def vector(t: Term) -> bool:
        match t:
            case _ if lane not in variables(t):
                return t.dtype == dtype
            case Read(name):
                held = scope.locals.get(name) or scope.tensors[name]
                return name in shapes and held.dtype == dtype and pace(t, lane, shapes) == SIDE_BY_SIDE
            case App(op, args):
                return op in OPERATIONS and t.dtype == dtype and all(map(vector, args))
        return False

    known = step.guard == TRUE and step.update in ways and dtype in WIDTHS
    cell = Read(step.target, step.index, dtype)
    return known and lane in variables(cell) and vector(cell) and vector(step.value)


def apart(a: Update, b: Update, shapes: Shapes) -> bool:
    """Whether two registers hold no cell both, for each number of lanes that the machine may have."""
    if a.step.target != b.step.target:
        return True
    one, other = (address(shapes[u.step.target], u.place) for u in (a, b))
    far = term(polynomial(other - one))
    if variables(far) - {LANES.name}:
        return False
    known = ({LANES.name: width} for width in WIDTHS[a.step.value.dtype])
    return all(abs(evaluate(far, w)) >= max(evaluate(u.lane.extent, w) for u in (a, b)) for w in known)


def in_vectors(body: tuple[Step, ...]) -> bool:
    """Whether everything stands in loops over lanes."""
    return bool(body) and all(isinstance(s, For) and (in_vectors(s.body) or (lanes(s.axis) and plain(s.body))) for s in body)


def plain(body: tuple[Step, ...]) -> bool:
    """Whether steps are done whatever holds, once."""
    return not any(isinstance(s, For | If) for s in body)


def lanes(axis: Axis) -> bool:
    """Whether a loop goes over the numbers of a vector register: as many as the machine's have, or as many as the program says."""
    return axis.sort == "vector" and (axis.extent == LANES or (isinstance(axis.extent, Const) and axis.extent.value in SIMD))


def updates(body: tuple[Step, ...], turns: tuple[int, ...] = ()) -> Iterator[Update]:
    """The assignments of a body for each turn of its register loops."""
    for step in body:
        match step:
            case For(axis, inner) if axis.sort == "register":
                for turn in range(int(axis.extent.value)):  # type: ignore[union-attr]
                    yield from updates(tuple(substituted(s, {axis.name: Const(turn)}) for s in inner), (*turns, turn))
            case For(axis, inner) if lanes(axis):
                yield from (Update(s, axis, turns) for s in inner if isinstance(s, Assign))
            case For(_, inner):
                yield from updates(inner, turns)


def begin(index: tuple[Term, ...], lane: str) -> tuple[Term, ...]:
    """A place at the first lane."""
    return tuple(substitute(i, {lane: Const(0)}) for i in index)
