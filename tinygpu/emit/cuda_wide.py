"""Vector loops as wide accesses: the same loop over cells, between loads before it and stores behind it.

Comes in: a vector loop and its wide accesses. Goes out: the condition for taking them, the cells, and the loop that works on the cells.
The one idea: it is a program again. Where all lanes are inside, an input's element is read from a cell of the thread and an output's
is written to one, and every guard that the condition decides is gone.
"""

from __future__ import annotations

from dataclasses import dataclass

from tinygpu.category.term import BOOL, TRUE, Read, Term, Var, conjuncts, rebuild
from tinygpu.program.lanes import all_lanes
from tinygpu.program.step import Assign, For, If, Step
from tinygpu.program.wide import Wide


@dataclass(frozen=True, slots=True)
class Move:
    """One wide access, and the name of the local array that holds its elements as memory has them."""

    wide: Wide
    cells: str


@dataclass(frozen=True, slots=True)
class Fast:
    """The wide form of a vector loop: where `condition` holds, the loads, then `body` for every lane, then the stores."""

    condition: Term
    loads: tuple[Move, ...]
    body: tuple[Step, ...]
    stores: tuple[Move, ...]


def fast(loop: For, wides: tuple[Wide, ...], names: tuple[str, ...]) -> Fast:
    """The wide form of a loop that has wide accesses; `names` are those of their cells."""
    moves = tuple(Move(wide, name) for wide, name in zip(wides, names, strict=True))
    loads = tuple(m for m in moves if not m.wide.stores)
    return Fast(wides[0].condition, loads, with_cells(loop, moves), tuple(m for m in moves if m.wide.stores))


def with_cells(loop: For, moves: tuple[Move, ...]) -> tuple[Step, ...]:
    """The loop's body with cells in place of the elements that move wide, and without the conditions that hold for all lanes."""
    settled = frozenset(conjuncts(moves[0].wide.condition))
    cells = {m.wide.access: m.cells for m in moves}
    lane = (Var(loop.axis.name),)

    def term(t: Term) -> Term:
        if isinstance(t, Read) and t in cells:
            return Read(cells[t], lane, t.dtype)
        if t.dtype == BOOL and all_lanes(t, loop.axis) in settled:
            return TRUE
        return rebuild(t, term)

    def step(s: Step) -> Step:
        match s:
            case Assign(target, index, value, update, guard):
                if s in cells:
                    return Assign(cells[s], lane, term(value), update, term(guard))
                return Assign(target, tuple(map(term, index)), term(value), update, term(guard))
            case If(guard, body):
                return If(term(guard), tuple(map(step, body)))
            case For(axis, body):
                return For(axis, tuple(map(step, body)))
        return s

    return tuple(map(step, loop.body))
