"""Free numbers of a machine: names that stand for all numbers of a range.

    param T >= 1        param R in 1..16        where T * T <= 1024

Comes in: the tree of a machine, and the params of its file. Goes out: its free numbers, what is asked of them, points at which it is one machine. The one idea: a machine
with free numbers is, at a point, a machine with sets of one number; so nobody after this knows of free numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import count
from math import gcd
from typing import Any, TypeAlias

from tinygpu.category.evaluate import evaluate
from tinygpu.category.term import Const, Term, Var, conjuncts, variables
from tinygpu.diagnostic import NOWHERE, Span
from tinygpu.model.clauses import Params, names_in
from tinygpu.model.op import Op
from tinygpu.model.problems import UNKNOWN, Problems
from tinygpu.model.scope import Scope
from tinygpu.model.value import condition, index
from tinygpu.record import dataclass, field, replace
from tinygpu.syntax import tree
from tinygpu.syntax.node import nodes, rewritten

Points: TypeAlias = tuple[tuple[int, ...], ...]
RISING = 3  # points at which a machine is looked at, so that a number that stands in it tells what it is made of; and one more
TRIED = 20_000  # numbers that are looked at for a point
NEAR, FAR = 32, 1024  # numbers of a range, from its least one on, that are looked at first, and that are looked at


@dataclass(frozen=True, slots=True)
class Free:
    """A free number: a name, and its range; `high` is None where there is no largest one."""

    name: str
    low: int
    high: int | None
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    @property
    def facts(self) -> tuple[Term, ...]:
        """That it is in its range."""
        most = () if self.high is None else (Var(self.name) <= self.high,)
        return (Var(self.name) >= self.low, *most)

    @property
    def written(self) -> str:
        """`R in 1..16`, `T >= 1`."""
        return f"{self.name} >= {self.low}" if self.high is None else f"{self.name} in {self.low}..{self.high}"

    def near(self) -> range:
        """The first numbers of its range."""
        return range(self.low, self.low + FAR if self.high is None else min(self.high + 1, self.low + FAR))


@dataclass(frozen=True, slots=True)
class Skeleton:
    """A machine with free numbers, of one op: what is asked of them alone, and points where that holds, each for the numbers in order. `variant` is what else
    tells it apart; `file` has its declaration, and what that needs."""

    name: str
    op: Op
    numbers: tuple[Free, ...]
    where: tuple[Term, ...]
    points: Points
    variant: tuple[tuple[str, str], ...] = ()
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    file: tree.File = field(default=tree.File(()), compare=False, repr=False)

    @property
    def title(self) -> str:
        """As machines have one."""
        chosen = ", ".join(f"{name}={value}" for name, value in self.variant)
        return f"{self.name}[{chosen}]" if chosen else self.name

    @property
    def heading(self) -> str:
        """`tile : matmul`."""
        return f"{self.title} : {self.op.name}"

    @property
    def names(self) -> tuple[str, ...]:
        """Of its numbers."""
        return tuple(one.name for one in self.numbers)

    def named(self, point: Sequence[int]) -> dict[str, int]:
        """A point by the names of the numbers."""
        return dict(zip(self.names, point, strict=True))


def free_of(machine: tree.Machine, file: Params) -> dict[str, tree.Param]:
    """The params that a machine speaks of, if some are free; by name, those of the file first."""
    own = {p.name: p for p in nodes(machine.clauses) if isinstance(p, tree.Param)}
    names = set(names_in((machine.clauses, machine.where)))
    for name in reversed(list(file)):
        names |= set(names_in(file[name])) if name in names else set()
    found = {n: p for n, p in {**file, **own}.items() if n in names}
    return found if any(p.low is not None for p in found.values()) else {}


def numbers_of(
    machine: tree.Machine, params: Params, problems: Problems
) -> tuple[tuple[Free, ...], tuple[Term, ...], Points] | None:
    """The free numbers of a machine, what it asks of them alone, and points where that holds; None after a message."""
    before, numbers = len(problems), []
    for param in params.values():
        if param.low is not None:
            numbers.append(_free(param, problems))
        elif param.value is None:
            problems.say("TG166.sets", param.span, name=param.name)
    values = _worth(params)
    for condition_ in (node.condition for node in nodes(machine.clauses) if isinstance(node, tree.IfClause)):
        if any(variables(values[name]) for name in names_in(condition_) if name in values):
            problems.say("TG166.decides", condition_.span)
    if len(problems) > before:
        return None
    where = tuple(f for one in numbers for f in one.facts) + _asked(machine, values)
    points = generic(numbers, where)
    if len(points) < 2:
        place = next(p.span for p in params.values() if p.low is not None)
        problems.say("TG166.few" if points else "TG166.none", place, names=[n.name for n in numbers])
        return None
    return tuple(numbers), where, points


def _free(param: tree.Param, problems: Problems) -> Free:
    """A free number; with a message where its range is none."""
    ends = [None if expr is None else index(expr, Scope(Problems()).inside_brackets()) for expr in (param.low, param.high)]
    for end, expr in zip(ends, (param.low, param.high), strict=True):
        if end is not None and (not isinstance(end, Const) or end.dtype == UNKNOWN or not isinstance(end.value, int)):
            assert expr is not None
            problems.say("TG166.end", expr.span, name=param.name)
            return Free(param.name, 1, None)
    low, high = (None if end is None else int(end.value) for end in ends)  # type: ignore[union-attr]
    if low is None or low < 1 or (high is not None and high < low):
        problems.say("TG166.range", param.span, name=param.name)
    return Free(param.name, low or 1, high, param.span)


def _worth(params: Params) -> dict[str, Term]:
    """What each param is, as a term over the free numbers."""
    values: dict[str, Term] = {}
    for name, param in params.items():
        scope = Scope(Problems(), values=values).inside_brackets()
        values[name] = Var(name) if param.value is None else index(param.value, scope)
    return values


def _asked(machine: tree.Machine, values: Mapping[str, Term]) -> tuple[Term, ...]:
    """What a machine's preconditions say of its numbers alone; what is wrong in them is said where the machine is elaborated."""
    clauses = (c for c in machine.clauses if isinstance(c, tree.Where))
    asked = (*machine.where, *(e for c in clauses for e in c.conditions))
    scope = Scope(Problems(), values=values).inside_brackets()
    return tuple(p for e in asked if set(names_in(e)) <= set(values) for p in conjuncts(condition(e, scope)))


def generic(numbers: Sequence[Free], where: Sequence[Term]) -> Points:
    """Points where all that is asked holds, no number twice at one place. They rise, and of the last one the first number is the largest, where that may be; none
    of its numbers has a factor in common with another one, where that may be.

    >>> from tinygpu.category.term import equal
    >>> T, R = Free("T", 1, None), Free("R", 1, 16)
    >>> generic((T, R), (Var("T") * Var("T") <= 1024,)), generic((Free("T", 4, 4),), ())
    (((3, 5), (5, 7), (7, 11), (31, 3)), ((4,),))
    >>> generic((T,), (equal(Var("T") % 8, 0),)), generic((T, R), (Var("T") <= Var("R"),))
    (((8,), (16,), (24,), (32,)), ((3, 5), (5, 7), (7, 11), (13, 15)))
    """
    found: list[tuple[int, ...]] = []
    rising = ((True, True, False), (True, False, False), (False, False, False))
    for ways in (*[rising] * RISING, ((False, True, True), (False, True, False), (False, False, False))):
        new = next((p for how in ways if (p := point(numbers, where, found, *how))), None)
        if new is not None and (1 not in new or len(found) < 2):
            found.append(new)
    return tuple(found)


def point(
    numbers: Sequence[Free],
    where: Sequence[Term],
    before: Sequence[tuple[int, ...]],
    rising: bool,
    apart: bool,
    falling: bool = False,
) -> tuple[int, ...] | None:
    """A point that is new at each place; `rising` above those before, `apart` with no factor in common; `falling`, its numbers are from the largest on."""
    tried, names = count(), [one.name for one in numbers]

    def further(chosen: tuple[int, ...]) -> tuple[int, ...] | None:
        place = len(chosen)
        if place == len(numbers):
            return chosen
        down = falling and place == 0
        order = sorted(numbers[place].near(), key=lambda v: (v >= numbers[place].low + NEAR, _odd(v), -v if down else v))
        for value in order:
            if next(tried) > TRIED:
                return None
            new = all(value > b[place] if rising else value != b[place] for b in before)
            if not new or (apart and any(gcd(value, c) > 1 for c in chosen)):
                continue
            here = dict(zip(names, (*chosen, value), strict=False))
            facts = (f for f in where if numbers[place].name in variables(f) and variables(f) <= here.keys())
            if all(fact_at(f, here) for f in facts) and (whole := further((*chosen, value))):
                return whole
        return None

    return further(())


@cache
def _odd(value: int) -> int:
    """Odd primes before other odd numbers, then even ones, and 1 last, since with it a product is another one."""
    prime = value > 2 and all(value % d for d in range(2, value))
    return 0 if prime else 1 if value % 2 and value > 1 else 2 if value > 1 else 3


def holds_at(where: Sequence[Term], numbers: Sequence[Free], point: Sequence[int]) -> bool:
    """Whether all that is asked of numbers holds at a point."""
    values = {one.name: number for one, number in zip(numbers, point, strict=True)}
    return all(fact_at(fact, values) for fact in where if variables(fact) <= values.keys())


def fact_at(fact: Term, values: Mapping[str, int]) -> bool:
    """Whether a condition on numbers holds; one without a value does not.

    >>> T = Var("T")
    >>> fact_at(T // (T - 1) >= 2, {"T": 1}), fact_at(T // (T - 1) >= 2, {"T": 2})
    (False, True)
    """
    try:
        return bool(evaluate(fact, values))
    except (ValueError, ZeroDivisionError):
        return False


def pinned(file: tree.File, point: Mapping[str, int]) -> tree.File:
    """The file of one machine, its free numbers as sets of one number."""

    def change(node: Any) -> Any:
        if isinstance(node, tree.Param) and node.low is not None and node.name in point:
            return replace(node, choices=(tree.Number(str(point[node.name]), span=node.span),), low=None, high=None)
        return node

    speaks = tree.Param | tree.Machine
    return replace(file, declarations=tuple(rewritten(d, change) if isinstance(d, speaks) else d for d in file.declarations))
