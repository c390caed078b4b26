"""Vector loops as wide accesses: the same loop over cells, between loads before it and stores behind it.

Comes in: a vector loop and its wide accesses. Goes out: the loads, the loop that works on cells of the thread, the stores.
The one idea: it is a program again. Where all lanes are inside, an element that is read comes from a cell of the thread and one that is
written goes to one, and every guard that the condition decides is gone.
"""

from __future__ import annotations

from tinygpu.category.term import BOOL, TRUE, Read, Term, Var, conjuncts, rebuild
from tinygpu.derive.lanes import all_lanes
from tinygpu.derive.wide import Wide
from tinygpu.program.step import Assign, For, Step
from tinygpu.program.traverse import map_steps, map_terms
from tinygpu.record import dataclass, replace


@dataclass(frozen=True, slots=True)
class Move:
    """One wide access, and the name of the local array that holds its elements as memory has them."""

    wide: Wide
    cells: str


@dataclass(frozen=True, slots=True)
class Fast:
    """A wide form of a vector loop: the loads, then `body` for every lane, then the stores."""

    loads: tuple[Move, ...]
    body: tuple[Step, ...]
    stores: tuple[Move, ...]


def fast(loop: For, moves: tuple[Move, ...]) -> Fast:
    """The loop with all of these accesses wide; without any it is the loop itself."""
    loads, stores = (tuple(m for m in moves if m.wide.stores == which) for which in (False, True))
    return Fast(loads, with_cells(loop, moves), stores)


def with_cells(loop: For, moves: tuple[Move, ...]) -> tuple[Step, ...]:
    """The loop's body with cells in place of the elements that move wide, and without the conditions that hold for all lanes."""
    settled = frozenset(c for move in moves for c in conjuncts(move.wide.condition))
    cells = {m.wide.access: m.cells for m in moves}
    lane = (Var(loop.axis.name),)

    def term(t: Term) -> Term:
        if isinstance(t, Read) and t in cells:
            return Read(cells[t], lane, t.dtype)
        if t.dtype == BOOL and all_lanes(t, loop.axis) in settled:
            return TRUE
        return rebuild(t, term)

    def step(s: Step) -> tuple[Step, ...]:
        if isinstance(s, Assign) and s in cells:
            return (replace(map_terms(s, term), target=cells[s], index=lane),)
        return (map_terms(s, term),)

    return map_steps(loop.body, step)
