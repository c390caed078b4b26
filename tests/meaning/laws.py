"""The laws of a monoid, tried: associative, a unit, an invariant that is kept, and a value everywhere.

Comes in: a monoid with components. Goes out: what fails, or nothing. The one idea: a law that is false is false at small numbers.
"""

from __future__ import annotations

import itertools
import random
from fractions import Fraction
from typing import Any

from tests.meaning.certain import Value, is_undefined
from tests.meaning.equations import Plain
from tests.meaning.machine import equal
from tests.meaning.terms import evaluate, joined, unit_of
from tests.meaning.values import INF, WIDTH, ends
from tinygpu.category.monoid import Carrier
from tinygpu.category.node import BOOL

TRIPLES = 60


def carrier(monoid: Carrier, chance: random.Random) -> list[Value]:
    """Values of the carrier: numbers, and the infinity of the unit, that satisfy the invariant."""
    columns: list[list[Any]] = []
    for (_, dtype), unit in zip(monoid.components, monoid.identity, strict=True):
        plain = samples(dtype)
        columns.append([*plain, unit.value] if unit.value in (INF, -INF) else plain)
    rows = list(itertools.product(*columns))
    chance.shuffle(rows)
    found: list[Value] = []
    for row in rows:
        value: Value = (tuple((number, True) for number in row), True)
        if kept(monoid, value):
            found.append(value)
    return found[:24]


def samples(dtype: str) -> list[Any]:
    """A few numbers of a dtype."""
    if dtype in WIDTH:
        return [max(ends(dtype)[0], n) for n in (0, 1, 2, -1, *ends(dtype))]
    return [False, True] if dtype == BOOL else [Fraction(n) for n in (0, 1, -1, 2)]


def kept(monoid: Carrier, value: Value) -> bool:
    """Whether the invariant holds."""
    env = {part: one for (part, _), one in zip(monoid.components, value[0], strict=True)}
    return evaluate(monoid.invariant, env, Plain())[0] is True


def broken(monoid: Carrier, chance: random.Random) -> str:
    """The law that the monoid does not have, in words; nothing if none was found to fail."""
    world, values = Plain(), carrier(monoid, chance)
    unit = unit_of(monoid, monoid)
    if not kept(monoid, unit):
        return f"the unit of {monoid} does not keep its invariant"

    def join(a: Value, b: Value) -> Value:
        return joined(monoid, a, b, world)

    for a in values:
        for both in (join(a, unit), join(unit, a)):
            if is_undefined(both) or not equal(both, a):
                return f"the unit of {monoid} changes {shown(a)}"
    for given in itertools.product(*(samples(dtype) for _, dtype in monoid.parameters)):
        env = {part: (value, True) for (part, _), value in zip(monoid.parameters, given, strict=True)}
        lifted = tuple(evaluate(term, env, world) for term in monoid.lift), True
        if is_undefined(lifted) or not kept(monoid, lifted):
            return f"{monoid} lifts {given} outside of its carrier"
    for _ in range(TRIPLES if values else 0):
        a, b, c = (chance.choice(values) for _ in range(3))
        left, right = join(join(a, b), c), join(a, join(b, c))
        if is_undefined(left) or is_undefined(right):
            return f"{monoid} has no value at {shown(a)}, {shown(b)}, {shown(c)}"
        if not equal(left, right):
            return f"{monoid} is not associative at {shown(a)}, {shown(b)}, {shown(c)}"
        if not kept(monoid, join(a, b)):
            return f"{monoid} does not keep its invariant at {shown(a)}, {shown(b)}"
    return ""


def shown(value: Value) -> str:
    return "(" + ", ".join(str(number) for number, _ in value[0]) + ")"
