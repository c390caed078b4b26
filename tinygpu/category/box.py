"""Boxes, the objects: a finite list of named axes and a guard, `{ x ∈ ∏ [0, nₐ) | P(x) }`; and arrows, the index maps between them.

Comes in: axes whose extents are terms over the sizes, and a guard over the axes and the sizes.
Goes out: sub-boxes of them, what holds at their points, and maps. The one idea: a tail is not a special case, it is a guard.
"""

from __future__ import annotations

from tinygpu.category.term import TRUE, Axis, Term, Var, conjunction, lift
from tinygpu.record import dataclass


@dataclass(frozen=True, slots=True)
class Box:
    """A list of axes and a guard. The empty list is one point."""

    axes: tuple[Axis, ...] = ()
    guard: Term = TRUE

    def __post_init__(self) -> None:
        if len(set(self.names)) < len(self.axes):
            raise ValueError(f"an axis twice in a box: {', '.join(self.names)}")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the axes, in order."""
        return tuple(axis.name for axis in self.axes)

    @property
    def variables(self) -> tuple[Term, ...]:
        """The axes as terms: what the identity gives."""
        return tuple(Var(axis.name) for axis in self.axes)

    @property
    def size(self) -> Term:
        """The number of points without the guard: the product of the extents.

        >>> from tinygpu.category.term import text
        >>> text(Box((Axis("i", Var("n")), Axis("j", lift(4)))).size)
        'n*4'
        """
        total: Term = lift(1)
        for axis in self.axes:
            total = total * axis.extent
        return total

    def guarded(self, *guards: Term) -> Box:
        """The sub-box of the points where the guards hold too."""
        return Box(self.axes, conjunction(self.guard, *guards))


UNIT = Box()


@dataclass(frozen=True, slots=True)
class Arrow:
    """`domain → codomain`: a term for each axis of the codomain, over the axes of the domain and the sizes. Nothing is claimed of it: that
    each point of an output has one owner is proved of the program."""

    domain: Box
    codomain: Box
    terms: tuple[Term, ...]


def box_facts(axes: tuple[Axis, ...]) -> tuple[Term, ...]:
    """`0 ≤ a < n` for every axis of a box.

    >>> from tinygpu.category.term import text
    >>> [text(f) for f in box_facts((Axis("i", Var("n")),))]
    ['0 <= i', 'i < n']
    """
    return tuple(fact for a in axes for fact in (lift(0) <= Var(a.name), Var(a.name) < a.extent))
