"""Wide accesses of a kernel as steps of its own: what moves at once is a loop that nothing else stands in.

    for v < 4 { y[4g + v] = x[4g + v] }   ↦   if wide and 4g + 3 < n { for v: a[v] = x[4g + v];  for v: b[v] = a[v];  for v: y[4g + v] = b[v] }
                                              if not (wide and 4g + 3 < n) { for v: y[4g + v] = x[4g + v] }

Comes in: a launch of a program. Goes out: the same launch, in which some loops are one access each (`move`); what is stored for good need not
stay in a cache. The one idea: elements that move are cells of the thread in between, and a condition that holds for all lanes is gone.
"""

from __future__ import annotations

from collections.abc import Mapping

from tinygpu.category.dtype import BYTES
from tinygpu.category.region import Region
from tinygpu.category.term import (
    BOOL,
    TRUE,
    App,
    Axis,
    Const,
    Read,
    Term,
    Var,
    conjunction,
    conjuncts,
    negation,
    rebuild,
    select,
)
from tinygpu.category.text import claimed
from tinygpu.derive.copies import copied
from tinygpu.derive.operand import fill
from tinygpu.derive.wide import Wide, all_lanes, first_of, hoisted, lanes_of, wide_in
from tinygpu.program.arrays import names_of, once
from tinygpu.program.call import Call, Registers
from tinygpu.program.pending import source
from tinygpu.program.space import LOCAL
from tinygpu.program.step import Array, Assign, For, If, Launch, Program, Step, arrays_in
from tinygpu.program.traverse import map_steps, map_terms
from tinygpu.record import dataclass, replace
from tinygpu.schedule.bound import tight
from tinygpu.schedule.told import ended

LAUNCHED = Var("wide", BOOL)  # whether the launcher has seen to what wide accesses of global memory ask
MOVES = ("load", "store", "streaming_store")  # sorts of loops that are one access
COPY = "copy"  # and of those that are one copy, which lands later
Moves = Mapping[Wide, str]


@dataclass(frozen=True, slots=True)
class Move:
    """A wide access: of `count` elements from the first one on, to or from cells of the thread; or a copy, from `near` on, which passes no cells, of zeros where it is not `inside`."""

    way: str
    first: Read
    count: int
    cells: str
    near: Read | None = None
    inside: Term = TRUE

    @property
    def bytes(self) -> int:
        """How many it moves at once."""
        return lanes_of(self.count, self.first.dtype) * BYTES[self.first.dtype]


def move(step: Step) -> Move | None:
    """The wide access that a step is, if it is one."""
    match step:
        case For(Axis(name, Const(int(count)), way), (Assign(target, index, Read() as value),)) if way in MOVES:
            element, cells = (value, target) if way == "load" else (Read(target, index, value.dtype), value.tensor)
            first = first_of(element.index, name)
            return None if first is None else Move(way, replace(element, index=first), count, cells)
        case For(Axis(name, Const(int(count)), "copy"), (Assign(target, index, value),)) if far := source(value):
            first, near = first_of(far.index, name), first_of(index, name)
            if first is not None and near is not None:
                inside = value.args[0] if isinstance(value, App) else TRUE
                return Move(COPY, replace(far, index=first), count, "", Read(target, near, far.dtype), inside)
    return None


def moves(body: tuple[Step, ...]) -> tuple[Move, ...]:
    """The wide accesses among steps, in order."""
    return tuple(found for step in body if (found := move(step)) is not None)


def wholly(step: If) -> bool:
    """Whether a condition splits what moves at once from what does not, or roles that trade registers, so that each is in one branch."""
    return bool(moves(step.body)) or step.guard == LAUNCHED or any(isinstance(s, Registers) for s in step.body)


def widened(program: Program, number: int) -> Launch:
    """`program × launch → launch` in which every wide access is a step. Carriers are taken apart before."""
    launch = program.launches[number]
    cells = frozenset(c.name for c in arrays_in(launch.body, "thread") if not c.extents)
    wide = _Widened(program, number, once(program, number), names_of(program), cells)
    return replace(launch, body=wide.body(launch.body, launch.axes))


@dataclass(slots=True)
class _Widened:
    """One launch: what is touched `once`, the names that are taken, and the thread's cells of rank 0."""

    program: Program
    number: int
    once: frozenset[str]
    taken: set[str]
    cells: frozenset[str]

    def body(self, body: tuple[Step, ...], axes: tuple[Axis, ...]) -> tuple[Step, ...]:
        """Steps, where these axes are around."""
        out: list[Step] = []
        for step in body:
            match step:
                case For(axis) if axis.sort == "vector":
                    out += self.loop(step, axes)
                case For():
                    axis, inner = tight(step, Region(axes))
                    step = ended(replace(step, axis=axis, body=inner), Region(axes), self.cells)
                    out.append(replace(step, body=self.body(step.body, (*axes, step.axis))))
                case If(_, inner):
                    out.append(replace(step, body=self.body(inner, axes)))
                case _:
                    out.append(step)
        return tuple(out)

    def loop(self, loop: For, axes: tuple[Axis, ...]) -> tuple[Step, ...]:
        """A vector loop: wide where the kernel is and all lanes are inside, else lane by lane; what is always wide stands around both, and the
        conditions of all lanes around everything."""
        outer, loop = hoisted(loop, {a.name for a in axes} | set(self.program.op.sizes))
        found = wide_in(self.program, self.number, loop, axes)
        if copy := self.copied(loop, found):
            return copy if outer == TRUE else (If(outer, copy),)
        moves = {w: claimed(f"{w.tensor}_{loop.axis.name}", self.taken) for w in found}
        always, quick = ({w: cells for w, cells in moves.items() if w.always is which} for which in (True, False))
        inside = (*axes, loop.axis)
        steps: tuple[Step, ...] = (replace(loop, body=self.body(with_cells(loop, always), inside)),)
        if quick:
            asked = conjunction(*[LAUNCHED] * any(not w.shared for w in quick), next(iter(quick)).condition)
            every = (replace(loop, body=self.body(with_cells(loop, moves), inside)),)
            steps = (If(asked, self.between(quick, every)), If(negation(asked), steps))
        steps = self.between(always, steps)
        made = (Array(cells, w.array.dtype, (Const(w.count),), LOCAL) for w, cells in moves.items())
        return (*made, *(steps if outer == TRUE else (If(outer, steps),)))

    def copied(self, loop: For, found: tuple[Wide, ...]) -> tuple[Step, ...]:
        """A loop that is a copy which lands later: at once where the kernel is wide, of zeros where lanes are not inside; else element by element, which
        has landed where it stands. Nothing for any other loop."""
        if (copy := copied(loop, found)) is None:
            return ()
        inside = copy.far.condition if copy.at_once else TRUE
        begun = replace(copy.step, value=select(inside, copy.element, fill(copy.element.dtype)), guard=TRUE)
        quick = (For(replace(loop.axis, sort=COPY), (begun,)),)
        slow = (replace(loop, body=(replace(copy.step, pending=""),)),)
        asked = LAUNCHED if copy.at_once else conjunction(LAUNCHED, copy.far.condition)
        return (If(asked, quick), If(negation(asked), slow))

    def between(self, moves: Moves, steps: tuple[Step, ...]) -> tuple[Step, ...]:
        """Steps between the loads and the stores of wide accesses."""
        loads, stores = ([self.moved(w, c) for w, c in moves.items() if w.stores is which] for which in (False, True))
        return (*loads, *steps, *stores)

    def moved(self, wide: Wide, cells: str) -> For:
        """One wide access, between memory and the cells."""
        lane, access = (Var(wide.axis.name),), wide.access
        if isinstance(access, Read):
            return For(replace(wide.axis, sort="load"), (Assign(cells, lane, access),))
        axis = replace(wide.axis, sort="streaming_store" if wide.tensor in self.once else "store")
        return For(axis, (Assign(access.target, access.index, Read(cells, lane, access.value.dtype)),))


def with_cells(loop: For, moves: Moves) -> tuple[Step, ...]:
    """The loop's body: elements that move wide are cells of the thread, and conditions that hold for all lanes are gone."""
    settled = frozenset(c for wide in moves for c in conjuncts(wide.condition))
    cells, lane = {wide.access: name for wide, name in moves.items()}, (Var(loop.axis.name),)

    def term(t: Term) -> Term:
        if isinstance(t, Read) and t in cells:
            return Read(cells[t], lane, t.dtype)
        if t.dtype == BOOL and all_lanes(t, loop.axis) in settled:
            return TRUE
        return rebuild(t, term)

    def step(s: Step) -> tuple[Step, ...]:
        if isinstance(s, Assign) and s in cells:
            return (replace(map_terms(s, term), target=cells[s], index=lane),)
        return (s if isinstance(s, Call) else map_terms(s, term),)

    return map_steps(loop.body, step)
