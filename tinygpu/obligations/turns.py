"""The cells of a loop, each found when it is asked for: what they hold before a turn, and after the loop.

    before turn x, after the loop  =  close(x, previous, what a turn makes of it, what is there before the loop)

Comes in: the cells before a loop, and at the end of a turn, over placeholders for those before it. Goes out: cells. The one idea: most of what a turn leaves
is written again before it is read, so what a cell holds is found out when somebody reads it, and of the others what that is made of.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from graphlib import CycleError, TopologicalSorter
from typing import Any, Protocol, TypeVar

from tinygpu.category.region import Region
from tinygpu.category.term import Axis, Term, tensors
from tinygpu.model.op import Op
from tinygpu.obligations.anew import partly, renewed
from tinygpu.obligations.cells import Cells, State, itself
from tinygpu.obligations.induced import begun
from tinygpu.obligations.recurrence import close
from tinygpu.obligations.trace import replaced, unsolved
from tinygpu.record import dataclass, field, replace

T = TypeVar("T")
BEGIN, AFTER = 0, 1


class Running(Protocol):
    """The execution that is at the loop."""

    @property
    def op(self) -> Op: ...
    @property
    def threads(self) -> tuple[str, ...]: ...
    def settled(self, cells: Cells, value: Term, axes: tuple[Axis, ...]) -> Term: ...
    def named(self, cells: Cells, value: Term, axes: tuple[Axis, ...]) -> Term: ...


def once(method: Callable[..., T]) -> Callable[..., T]:
    """What is asked of a loop is found once."""

    @wraps(method)
    def kept(self: Turns, *about: Any) -> T:
        key = (method.__name__, *about)
        if key not in self.found:
            self.found[key] = method(self, *about)
        return self.found[key]  # type: ignore[no-any-return]

    return kept


@dataclass(slots=True, eq=False)
class Turns:
    """A loop over an axis at a point: its cells `before` it and at the `ends` of a turn, over the placeholders `previous`."""

    run: Running
    axis: Axis
    point: Region
    previous: dict[str, str]
    before: State
    ends: State
    found: dict[tuple[Any, ...], Any] = field(default_factory=dict, repr=False)

    def states(self) -> tuple[State, State]:
        """The cells before a turn, by their placeholders, and after the loop."""
        begin = {p: self.turning(n, partial(self.left, n, BEGIN)) for n, p in self.previous.items()}
        return begin, {n: replace(self.ends[n], content=partial(self.left, n, AFTER)) for n in self.previous}

    def solved(self) -> bool:
        """Whether all have a closed form."""
        return all(self.forms(name)[1] for name in self.previous)

    @once
    def left(self, name: str, when: int) -> Term:
        """What cells hold before a turn, or after the loop."""
        cells, axes = self.ends[name], self.inside if when == BEGIN else self.point.axes
        return self.run.settled(cells, self.run.named(cells, self.forms(name)[0][when], axes), axes)

    @property
    def inside(self) -> tuple[Axis, ...]:
        """The axes around a turn."""
        return (*self.point.axes, self.axis)

    def turning(self, name: str, content: Term | Callable[[], Term]) -> Cells:
        """Cells before a turn: those of a thread are of each."""
        cells = self.ends[name]
        return replace(cells, content=content, formals=cells.formals + (self.run.threads if cells.private else ()))

    @once
    def forms(self, name: str) -> tuple[tuple[Term, Term], bool]:
        """The two forms of what cells hold, and whether they are closed: else it is one symbol for each loop and turn of it, so that nothing is said by two
        of them being the same."""
        cells, old = self.ends[name], self.old(name)
        unknown = unsolved(self.previous[name], old, (*cells.formals, *self.point.extents), self.axis)
        if not self.straight(name):
            return unknown, False
        made = {self.previous[m]: self.turning(m, self.left(m, BEGIN)) for m in self.others(name)}
        new = replaced(self.value(name), made)
        closed = close(self.axis, itself(cells, self.previous[name], self.run.threads), new, old)
        forms = closed or partly(self.axis, new, old, {*self.previous.values()}, unknown)
        return forms, forms != unknown

    @once
    def straight(self, name: str) -> bool:
        """Whether cells are in no circle of those that are made of each other, nor made of such."""
        graph, waiting = dict[str, tuple[str, ...]](), [name]
        while waiting:
            if (one := waiting.pop()) not in graph:
                graph[one] = self.others(one)
                waiting += graph[one]
        try:
            TopologicalSorter(graph).prepare()
        except CycleError:
            return False
        return True

    @once
    def others(self, name: str) -> tuple[str, ...]:
        """The other cells of which a turn makes these."""
        return tuple(m for m, placeholder in self.previous.items() if m != name and placeholder in tensors(self.value(name)))

    @once
    def value(self, name: str) -> Term:
        """What a turn makes, with what is told of others by their turns alone."""
        value = self.ends[name].value
        read = (m for m, placeholder in self.previous.items() if placeholder in tensors(value))
        return replaced(value, {self.previous[m]: cells for m in read if (cells := self.alone(m)) is not None})

    @once
    def alone(self, name: str) -> Cells | None:
        """Cells that every turn but the last makes anew, before a turn."""
        form = renewed(self.axis, self.ends[name].value, self.old(name), self.previous.values())
        return None if form is None else self.turning(name, self.run.settled(self.ends[name], form, self.inside))

    @once
    def old(self, name: str) -> Term:
        """What is there before the loop."""
        return begun(self.run.op, self.axis, self.ends[name].value, self.before[name].value)
