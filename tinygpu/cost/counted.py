"""Counts: how often something happens, as a closed form over the sizes, as a number at given sizes, or both.

Comes in: places of a program, sizes. Goes out: counts that add and multiply. The one idea: the two are found in different ways and are
both exact; where a condition is data a count is an upper bound, and says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tinygpu.category.term import TRUE, App, Const, Term, Var, conjuncts
from tinygpu.cost.closed import Closed, closed, natural
from tinygpu.cost.counting import count
from tinygpu.cost.sites import Where
from tinygpu.cost.warps import points
from tinygpu.program.step import Program
from tinygpu.record import dataclass, field


@dataclass(frozen=True, slots=True)
class Count:
    """`closed` is None where no form was seen, `number` where there was too much to count; not `exact` is at most."""

    closed: Closed | None
    number: int | None
    exact: bool = True

    def __mul__(self, by: int) -> Count:
        return Count(
            None if self.closed is None else self.closed * by, None if self.number is None else self.number * by, self.exact
        )

    def __add__(self, other: Count) -> Count:
        forms, numbers = (self.closed, other.closed), (self.number, other.number)
        whole = None if forms[0] is None or forms[1] is None else forms[0] + forms[1]
        total = None if numbers[0] is None or numbers[1] is None else numbers[0] + numbers[1]
        return Count(whole, total, self.exact and other.exact)


NOTHING = Count(Closed(), 0)


def added(counts: Iterable[Count]) -> Count:
    """Their sum.

    >>> added([Count(closed(2), 2), Count(None, 3, False)])
    Count(closed=None, number=5, exact=False)
    """
    total = NOTHING
    for one in counts:
        total = total + one
    return total


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
            if form is not None:
                self.kept[key] = Count(form, form.number(self.sizes))
            else:
                number = points(self.program, where, self.sizes)
                self.kept[key] = Count(None, None, False) if number is None else Count(None, *number)
        return self.kept[key]

    def one_thread(self, where: Where) -> Count:
        """How often one thread comes to a place: at most, where that is under a guard or the loops are not the same for all."""
        form = count(where.axes, TRUE, smallest(self.program))
        if form is None or any(f for f, _ in form.parts if any(isinstance(x, Var) and x.name not in self.sizes for x in f)):
            return Count(None, None, False)
        return Count(form, form.number(self.sizes), where.guard == TRUE)


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
    whole = closed(1)
    for extent in shape:
        whole = whole * natural(closed(extent), {})
    return Count(whole, whole.number(sizes))
