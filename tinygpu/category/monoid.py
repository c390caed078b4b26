"""Monoids: what reductions combine with. An operation, its unit in each dtype, and the laws it has.

Comes in: the name of a fold (`sum prod max min any all`). Goes out: the operation on terms and what may be done with it.
The one idea: a level of a machine may combine in whatever way the laws of the monoid allow, and in no other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tinygpu.category.term import BOOL, FLOATS, INDEX, INTEGERS, App, Const, Term

NUMBERS = (*FLOATS, *INTEGERS, INDEX)
INFINITY = float("inf")


@dataclass(frozen=True, slots=True)
class Monoid:
    """`(V, op, unit)`. `units` maps the dtypes that have a unit to it.

    >>> from tinygpu.category.term import text, Var
    >>> add = MONOIDS["sum"]
    >>> text(add.combine(Var("a", "f32"), Var("b", "f32"))), add.unit("f32"), MONOIDS["max"].unit("i32")
    ('a + b', Const(value=0.0, dtype='f32'), None)
    """

    name: str
    op: str
    units: Mapping[str, int | float | bool] = field(hash=False)
    idempotent: bool = False
    commutative: bool = True
    associative: bool = True

    def unit(self, dtype: str) -> Const | None:
        """The value that changes nothing, or None: an integer maximum has none, so its fold needs an extent of at least 1."""
        return Const(self.units[dtype], dtype) if dtype in self.units else None

    def combine(self, a: Term, b: Term) -> Term:
        """`a ⊕ b`, in the dtype of `a`."""
        return App(self.op, (a, b), a.dtype)

    def accepts(self, dtype: str) -> bool:
        """Whether values of this dtype can be folded: truth values with any and all, numbers with the others."""
        return (dtype == BOOL) == (self.op in ("or", "and"))


def _numbers(value: int) -> dict[str, int | float | bool]:
    """The same number as the unit of every numeric dtype."""
    return {dtype: float(value) if dtype in FLOATS else value for dtype in NUMBERS}


MONOIDS: Mapping[str, Monoid] = {
    monoid.name: monoid
    for monoid in (
        Monoid("sum", "add", _numbers(0)),
        Monoid("prod", "mul", _numbers(1)),
        Monoid("max", "max", dict.fromkeys(FLOATS, -INFINITY), idempotent=True),
        Monoid("min", "min", dict.fromkeys(FLOATS, INFINITY), idempotent=True),
        Monoid("any", "or", {BOOL: False}, idempotent=True),
        Monoid("all", "and", {BOOL: True}, idempotent=True),
    )
}
