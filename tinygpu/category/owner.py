"""Owner maps: an index as a product of factors, and a group of indices as one flattened range, cut into factors.

Comes in: indices and the factors that they are cut into, slowest first, whose extents may be terms over the sizes.
Goes out: the arrow `factors → indices` with its guard. The one idea: a tower of splits is one numeral, so its inverse is one division and one
remainder for each digit; and indices that are flattened are digits of their number.
"""

from __future__ import annotations

from collections.abc import Iterable

from tinygpu.category.decide import holds
from tinygpu.category.region import Region, points
from tinygpu.category.simplify import simplify
from tinygpu.category.term import TRUE, Axis, Term, Var, ceildiv, conjuncts, lift
from tinygpu.record import dataclass


@dataclass(frozen=True, slots=True)
class Arrow:
    """`domain → codomain`: a term for each axis of the codomain, over the axes of the domain and the sizes. Nothing is claimed of it: that
    each point of an output has one owner is proved of the program."""

    domain: Region
    codomain: tuple[Axis, ...]
    terms: tuple[Term, ...]

    @property
    def by_axis(self) -> dict[str, Term]:
        """The terms, by the names of their axes."""
        return {a.name: t for a, t in zip(self.codomain, self.terms, strict=True)}


def row_major(axes: Iterable[Axis]) -> Term:
    """The number whose digits the factors are, slowest first.

    >>> from tinygpu.category.term import Const, text
    >>> text(row_major((Axis("y", Const(8)), Axis("x", Const(32)))))
    'y*32 + x'
    """
    number: Term = lift(0)
    for axis in axes:
        number = number * axis.extent + Var(axis.name)
    return number


def cut(number: Term, axes: tuple[Axis, ...]) -> tuple[Term, ...]:
    """The digits of a number, one for each axis, slowest first: its weight divided out, and what is above it taken off."""
    terms: list[Term] = []
    weight: Term = lift(1)
    for axis in reversed(axes):
        digit = number // weight
        terms.append(digit if axis is axes[0] else digit % axis.extent)
        weight = axis.extent * weight
    return tuple(reversed(terms))


def digits(indices: tuple[Axis, ...], factors: tuple[Axis, ...], where: Term = TRUE) -> Arrow:
    """`(i, j) = (g, t, v)`, or `i = (g, t, v)`: the flattened range of the indices, cut into the factors.

    >>> from tinygpu.category.term import text
    >>> i, j = Axis("i", Var("M")), Axis("j", Var("N"))
    >>> g, v = Axis("g", ceildiv(Var("M") * Var("N"), 4), "grid"), Axis("v", lift(4), "vector")
    >>> owner = digits((i, j), (g, v))
    >>> [text(t) for t in (*owner.terms, *owner.domain.guard)]
    ['(g*4 + v) // N', '(g*4 + v) % N', 'g*4 + v < M*N']
    >>> t = Axis("t", lift(256), "block")
    >>> digits((Axis("i", lift(1024)),), (t, v)).domain.guard, digits((i,), ()).terms
    ((), (Const(value=0, dtype='index'),))
    """
    number = row_major(factors)
    inside = number < points(indices)
    covered = holds(inside, Region(factors, conjuncts(where)))
    return Arrow(Region(factors, () if covered else (inside,)), indices, cut(number, indices))


def inferred(extent: Term, others: tuple[Axis, ...], where: Term = TRUE) -> Term:
    """The extent that the one unnamed factor must have so that the factors cover the index: `⌈n / ∏ others⌉`.

    >>> from tinygpu.category.term import text
    >>> text(inferred(Var("n"), (Axis("t", lift(256)), Axis("v", lift(4))))), text(inferred(lift(4096), (Axis("t", lift(256)),)))
    ('ceil(n / 1024)', '16')
    """
    return simplify(ceildiv(extent, points(others)), Region((), conjuncts(where)))
