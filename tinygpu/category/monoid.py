"""Monoids: what reductions combine with. An operation, its unit in each dtype, and the laws it has.

Comes in: the name of a fold (`sum prod max min any all`, or that of a carrier). Goes out: the operation on terms and what may be done
with it. The one idea: a level of a machine may combine in whatever way the laws of the monoid allow, and in no other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tinygpu.category.carrier import CARRIERS, Carrier, pack
from tinygpu.category.term import BOOL, FLOATS, INDEX, INTEGERS, App, Const, Term, substitute
from tinygpu.diagnostic import NOWHERE, Span
from tinygpu.record import dataclass, field

NUMBERS = (*FLOATS, *INTEGERS, INDEX)
INFINITY = float("inf")
LEFT, RIGHT = "a", "b"  # the two values of a combine


@dataclass(frozen=True, slots=True)
class Definition:
    """A monoid on a carrier, each part with one term for each component.

    `unit` are constants; `lift` speaks of the parameters, `combine` of the carrier's variables `a` and `b`, `invariant` and `results` of
    the components by name. A component holds finite numbers, and the infinity that is its unit. `results` is what a fold gives.
    """

    carrier: Carrier
    unit: tuple[Const, ...]
    parameters: tuple[tuple[str, str], ...]
    lift: tuple[Term, ...]
    combine: tuple[Term, ...]
    invariant: Term
    results: tuple[Term, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    def combined(self, a: Term, b: Term) -> tuple[Term, ...]:
        """The components of `a ⊕ b`."""
        return tuple(substitute(term, {LEFT: a, RIGHT: b}) for term in self.combine)

    def lifted(self, values: tuple[Term, ...]) -> Term:
        """The carrier's value for one element of a fold."""
        bind = {name: value for (name, _), value in zip(self.parameters, values, strict=True)}
        return pack(tuple(substitute(term, bind) for term in self.lift), self.carrier.name)

    def result(self, value: Term) -> tuple[Term, ...]:
        """What a fold gives, from its value."""
        parts = self.carrier.parts(value)
        bind = {name: part for (name, _), part in zip(self.carrier.components, parts, strict=True)}
        return tuple(substitute(term, bind) for term in self.results)


@dataclass(frozen=True, slots=True)
class Monoid:
    """`(V, op, unit)`. `units` maps the dtypes that have a unit to it; a carrier's monoid has a `definition` instead.

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
    definition: Definition | None = None

    def unit(self, dtype: str) -> Term | None:
        """The value that changes nothing, or None: an integer maximum has none, so its fold needs an extent of at least 1."""
        if self.definition is not None:
            return pack(self.definition.unit, self.name) if dtype == self.name else None
        return Const(self.units[dtype], dtype) if dtype in self.units else None

    def combine(self, a: Term, b: Term) -> Term:
        """`a ⊕ b`, in the dtype of `a`."""
        return App(self.op, (a, b), a.dtype)

    def accepts(self, dtype: str) -> bool:
        """Whether values of this dtype can be folded: its carrier's, truth values with any and all, numbers with the others."""
        if self.definition is not None:
            return dtype == self.name
        return dtype == BOOL if self.op in ("or", "and") else dtype in NUMBERS


def _numbers(value: int) -> dict[str, int | float | bool]:
    """The same number as the unit of every numeric dtype."""
    return {dtype: float(value) if dtype in FLOATS else value for dtype in NUMBERS}


SCALARS: Mapping[str, Monoid] = {
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
MONOIDS: dict[str, Monoid] = dict(SCALARS)  # the registry: with the carriers' monoids that were met so far


def intern(name: str, components: tuple[tuple[str, str], ...], make: Callable[[Carrier], Monoid | None]) -> Monoid | None:
    """The registered monoid that `make` gives on a carrier of that name; None where it gives none.

    One that says the same is the same monoid. One that says something else under a name that is taken gets a name of its own: a
    fold's monoid is a name, and a process may read several files.
    """
    number, free = 1, name
    while True:
        known = CARRIERS.get(free)
        carrier = Carrier(free, components, name)
        if known is None or known == carrier:
            CARRIERS[free] = carrier
            made = make(carrier)
            if made is not None and MONOIDS.get(free, made) == made:
                if made.definition is not None and made.definition.span is not NOWHERE:
                    MONOIDS[free] = made  # read anew: what is said of it is said of the file at hand
                return MONOIDS.setdefault(free, made)
            if known is None:
                del CARRIERS[free]
            if made is None:
                return None
        number += 1
        free = f"{name}_{number}"
