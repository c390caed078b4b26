"""Carriers: what their monoid makes of values, as terms and by hand, and its laws tried on a few numbers.

Comes in: a carrier and values. Goes out: terms for their components, or numbers. The one idea: each part of a carrier is a term over its
variables; a law that a few small numbers break needs no solver to be refused, and the numbers are the reason.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import TypeAlias

from tinygpu.category.dtype import SIGNED
from tinygpu.category.evaluate import Number, number
from tinygpu.category.monoid import LEFT, RIGHT, Carrier, pack
from tinygpu.category.term import BOOL, FLOATS, Term, substitute

Values: TypeAlias = tuple[Number, ...]
TRUTHS = (False, True)
MOST = 14  # values of a carrier that a law is tried on
SIGNS = dict.fromkeys(SIGNED, (-1,))  # of what may be below 0
LAWS = ("invariant", "lift", "associative", "unit", "commutative", "idempotent")
THIRD = "c"
OPERANDS = {
    "invariant": (LEFT, RIGHT), "associative": (LEFT, RIGHT, THIRD), "unit": (LEFT,), "commutative": (LEFT, RIGHT), "idempotent": (LEFT,)
}  # fmt: skip


def combined(carrier: Carrier, a: Term, b: Term) -> tuple[Term, ...]:
    """The components of `a ⊕ b`."""
    names = (*carrier.variables(LEFT), *carrier.variables(RIGHT))
    return _bound(carrier.combination, [v.name for v in names], (*carrier.parts(a), *carrier.parts(b)))


def lifted(carrier: Carrier, values: tuple[Term, ...]) -> Term:
    """The carrier's value for one element of a fold."""
    return pack(_bound(carrier.lift, [name for name, _ in carrier.parameters], values), carrier)


def result(carrier: Carrier, value: Term) -> tuple[Term, ...]:
    """What a fold gives, from its value."""
    return _bound(carrier.results, [name for name, _ in carrier.components], carrier.parts(value))


def _bound(terms: tuple[Term, ...], names: Iterable[str], values: Iterable[Term]) -> tuple[Term, ...]:
    given = dict(zip(names, values, strict=True))
    return tuple(substitute(term, given) for term in terms)


def sides(carrier: Carrier, law: str) -> tuple[tuple[tuple[Term, ...], tuple[Term, ...] | None], ...]:
    """The equations of a law between components, over its operands; no right side where the left one is to be a value."""
    a, b, c = (pack(carrier.variables(name), carrier) for name in (LEFT, RIGHT, THIRD))
    unit, both = pack(carrier.identity, carrier), combined(carrier, a, b)
    match law:
        case "unit":
            return (combined(carrier, unit, a), carrier.parts(a)), (combined(carrier, a, unit), carrier.parts(a))
        case "idempotent":
            return ((combined(carrier, a, a), carrier.parts(a)),)
        case "commutative":
            return ((both, combined(carrier, b, a)),)
        case "associative":
            later = pack(combined(carrier, b, c), carrier)
            return ((combined(carrier, pack(both, carrier), c), combined(carrier, a, later)),)
    return ((both, None),)


def lifts(carrier: Carrier) -> Iterator[tuple[Values, Values]]:
    """Arguments of lift, and what it makes of them."""
    names = [name for name, _ in carrier.parameters]
    for values in product(
        *((0.0, 1.0, -1.0) if d in FLOATS else TRUTHS if d == BOOL else (0, 1, 2, *SIGNS.get(d, ())) for _, d in carrier.parameters)
    ):
        yield values, tuple(number(term, dict(zip(names, values, strict=True))) for term in carrier.lift)


def allowed(carrier: Carrier, value: Values) -> bool:
    """Whether a value is one of the carrier: its components finite, or the infinity that is their unit, and the invariant true."""
    for part, unit in zip(value, carrier.identity, strict=True):
        if part != part or (part in (math.inf, -math.inf) and part != unit.value):
            return False
    names = [name for name, _ in carrier.components]
    return number(carrier.invariant, dict(zip(names, value, strict=True))) is True


def values(carrier: Carrier, most: int = MOST) -> list[Values]:
    """A few values of a carrier: what lift makes, then any small ones."""
    dtypes = [dtype for _, dtype in carrier.components]
    pools = [
        TRUTHS
        if d == BOOL
        else tuple(dict.fromkeys((u.value, *((0.0, 1.0, -1.0, 2.0, 3.0) if d in FLOATS else (0, 1, 2, 3, *SIGNS.get(d, ()))))))
        for u, d in zip(carrier.identity, dtypes, strict=True)
    ]
    unit = tuple(c.value for c in carrier.identity)
    made = [value for _, value in lifts(carrier)]
    any_ = [value for value in product(*pools) if allowed(carrier, value)]
    step = max(1, len(any_) // most)
    found = dict.fromkeys([unit, *made[: most // 2], *any_[::step]])
    return [value for value in found if allowed(carrier, value)][:most]


def close(a: Values, b: Values) -> bool:
    """Whether two values are the same but for rounding; NaN is nothing's equal."""
    return all(
        x == y or (isinstance(x, float) and math.isclose(x, y, rel_tol=1e-9, abs_tol=1e-9)) for x, y in zip(a, b, strict=True)
    )


def broken(carrier: Carrier, law: str, some: Sequence[Values] | None = None) -> tuple[Values, ...] | None:
    """Values that break a law: its operands, then its two sides (or the one value that is wrong). None where those tried do not."""
    if law == "lift":
        return next(((v, made) for v, made in lifts(carrier) if not allowed(carrier, made)), None)
    names = [[v.name for v in carrier.variables(operand)] for operand in OPERANDS[law]]
    equations = sides(carrier, law)
    most = round(MOST ** (3 / len(names)))  # of few operands more are tried
    for chosen in product(values(carrier, most) if some is None else some, repeat=len(names)):
        env = {name: value for own, of in zip(names, chosen, strict=True) for name, value in zip(own, of, strict=True)}
        for left, right in equations:
            got, *want = (tuple(number(term, env) for term in side) for side in (left, right) if side is not None)
            if not (close(got, want[0]) if want else allowed(carrier, got)):
                return (*chosen, got, *want)
    return None
