"""The cells of a loop in closed form, each once those that it reads are.

    state before iteration x, state after the loop        of each cell by `recurrence.close`; one that has no such form is a symbol of its own

Comes in: a run at the end of an iteration, and the cells before the loop. Goes out: both states, and whether all cells have a form. The one idea:
cells of a loop may read each other, but not in a circle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tinygpu.category.region import Region
from tinygpu.category.term import Axis, Read, Var
from tinygpu.obligations.cells import State, itself
from tinygpu.obligations.recurrence import UNSOLVED, close, mentions
from tinygpu.obligations.trace import replaced
from tinygpu.record import replace

if TYPE_CHECKING:
    from tinygpu.obligations.execution import Execution


def closed(run: Execution, axis: Axis, previous: dict[str, str], before: State, point: Region) -> tuple[State, State, bool]:
    """The cells before an iteration and after the loop, each solved once those that it reads are, and whether all were."""
    begin: State = {}
    after: State = {}
    waiting, solved = dict.fromkeys(previous), True
    while waiting:
        ready = [n for n in waiting if not any(mentions(run.state[n].value, previous[m]) for m in waiting if m != n)]
        for name in ready or list(waiting):
            cells = run.state[name]
            known = {previous[m]: begin[m] for m in begin}
            here = itself(cells, previous[name], run.threads)
            forms = close(axis, here, replaced(cells.value, known), before[name].value) if ready else None
            if forms is None:
                solved = False
                # one symbol for each loop and turn of it, so that nothing is said by two of them being the same
                place = tuple(map(Var, (*cells.formals, *point.extents)))
                turn = Read(f"{previous[name]} in{UNSOLVED}", (*place, Var(axis.name)), cells.local.dtype)
                forms = turn, Read(f"{previous[name]}{UNSOLVED}", place, cells.local.dtype)
            forms = run.named(cells, forms[0], (*point.axes, axis)), run.named(cells, forms[1], point.axes)
            formals = cells.formals + (run.threads if cells.private else ())
            begin[name] = replace(cells, formals=formals, value=run.settled(cells, forms[0], point.inside(axis)))
            after[name] = replace(cells, value=run.settled(cells, forms[1], point))
            del waiting[name]
    return begin, after, solved
