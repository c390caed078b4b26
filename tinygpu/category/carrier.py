"""What the monoid of a carrier makes of values, as terms: one value of an element, one of two, and what a fold gives.

Comes in: a carrier and values. Goes out: terms for their components. The one idea: each part of a carrier is a term over its variables.
"""

from __future__ import annotations

from collections.abc import Iterable

from tinygpu.category.monoid import LEFT, RIGHT, Carrier, pack
from tinygpu.category.term import Term, substitute


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
