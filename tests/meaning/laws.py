"""The laws of a monoid, tried on numbers of its own choice: associative, a unit, an invariant that is kept, and a value everywhere.

Comes in: a monoid with components. Goes out: what fails, or nothing. The one idea: a law that is false is false at small numbers, or at the ends.
"""

from __future__ import annotations

import itertools
import random

from tests.meaning.values import INF, WIDTH, ends
from tinygpu.category.carrier import Values, allowed, broken
from tinygpu.category.monoid import Carrier
from tinygpu.category.node import BOOL

LAWS, MOST = ("invariant", "lift", "unit", "associative"), 12


def samples(dtype: str) -> tuple[float | int | bool, ...]:
    """A few numbers of a dtype."""
    if dtype in WIDTH:
        return tuple(dict.fromkeys(max(ends(dtype)[0], n) for n in (0, 1, 2, -1, *ends(dtype))))
    return (False, True) if dtype == BOOL else (0.0, 1.0, -1.0, 2.0)


def carried(monoid: Carrier, chance: random.Random) -> list[Values]:
    """Values of the carrier: numbers, and the infinity of the unit, that satisfy the invariant."""
    columns = [
        (*samples(dtype), *((unit.value,) if unit.value in (INF, -INF) else ()))
        for (_, dtype), unit in zip(monoid.components, monoid.identity, strict=True)
    ]
    rows = [row for row in itertools.product(*columns) if allowed(monoid, row)]
    return chance.sample(rows, min(MOST, len(rows)))


def fails(monoid: Carrier, chance: random.Random) -> str:
    """The law that the monoid does not have, in words; nothing if none was found to fail."""
    if not allowed(monoid, tuple(c.value for c in monoid.identity)):
        return f"the unit of {monoid} does not keep its invariant"
    for law in LAWS:
        if (found := broken(monoid, law, carried(monoid, chance))) is not None:
            return f"{monoid} has not the law {law}, at {found}"
    return ""
