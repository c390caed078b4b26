"""Counts: how often something happens, as a closed form over the sizes, as a number at given sizes, or both.

Comes in: places of a program, sizes. Goes out: counts that add and multiply. The one idea: the two are found in different ways and are
both exact; where a condition is data a count is an upper bound, and says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod
from typing import Any

from tinygpu.category.term import TRUE, App, Const, Term, Var, conjuncts
from tinygpu.cost.closed import closed, natural, value
from tinygpu.cost.counting import count
from tinygpu.cost.sites import Where
from tinygpu.cost.warps import known, points
from tinygpu.program.step import Program
from tinygpu.record import dataclass, field


@dataclass(frozen=True, slots=True)
class Count:
    """`closed` is None where no form was seen, `number` where there was too much to count; not `exact` is at most."""

    closed: Any
    number: int | None
    exact: bool = True

    def __mul__(self, by: int) -> Count:
        return Count(self.closed and self.closed * by, self.number and self.number * by, self.exact)

    def __add__(self, other: Count) -> Count:
        return Count(known((self.closed, other.closed)), known((self.number, other.number)), self.exact and other.exact)


def added(counts: Iterable[Count]) -> Count:
    """Their sum.

    >>> added([Count(2, 2), Count(None, 3, False)])
    Count(closed=None, number=5, exact=False)
    """
    return sum(counts, NOTHING)


NOTHING = Count(closed(0), 0)


@dataclass(slots=True)
class Counter:
    """Counts places of one program at some sizes; equal places once."""

    program: Program
    sizes: Mapping[str, int]
    kept: dict[tuple[object, ...], Count] = field(default_factory=dict)

    def threads(self, where: Where) -> Count:
        """How often all threads together come to a place."""
        launch = self.program.launches[where.launch]
        key = where.launch, where.axes, where.guard
        if key not in self.kept:
            form = count((*launch.grid, *launch.block, *where.axes), where.guard, smallest(self.program))
            counted = (value(form, self.sizes), True) if form is not None else points(self.program, where, self.sizes)
            self.kept[key] = Count(form, *(counted or (None, False)))
        return self.kept[key]

    def one_thread(self, where: Where) -> Count:
        """How often one thread comes to a place: at most, where that is under a guard or the loops are not the same for all."""
        form = count(where.axes, TRUE, smallest(self.program))
        if form is None or {s.name for s in form.free_symbols} - self.sizes.keys():
            return Count(None, None, False)
        return Count(form, value(form, self.sizes), where.guard == TRUE)


def smallest(program: Program) -> dict[str, int]:
    """How small each size can be, where a condition says so.

    >>> from tinygpu.model.op import Op
    >>> smallest(Program("p", Op("o", ("n",), (), (), (), ()), (), (Var("n") >= 2,)))
    {'n': 2}
    """
    found: dict[str, int] = {}
    for guard in (*program.op.where, *program.where):
        for condition in conjuncts(guard):
            match condition:
                case App("ge", (Var(name), Const(int(low)))) | App("le", (Const(int(low)), Var(name))):
                    found[name] = max(low, found.get(name, 0))
                case App("gt", (Var(name), Const(int(low)))) | App("lt", (Const(int(low)), Var(name))):
                    found[name] = max(low + 1, found.get(name, 0))
    return found


def size_of(shape: tuple[Term, ...], sizes: Mapping[str, int]) -> Count:
    """The elements of an array, or the points of a grid; an extent below 0 is 0."""
    whole = closed(1) * prod(natural(closed(extent), {}) for extent in shape)
    return Count(whole, value(whole, sizes))
