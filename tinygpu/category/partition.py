"""Partitions: a box cut into classes with fibres, `X ↪ P × F`, nested as often as there are levels.

Comes in: an arrow that cuts and the names of its axes that number the classes. Goes out: the quotient map, the fibres, finer partitions.
The one idea: a level of a machine is one cut, its classes are the workers and its fibres what each of them does.
"""

from __future__ import annotations

from tinygpu.category.arrow import Arrow, identity
from tinygpu.category.box import UNIT, Box
from tinygpu.category.generators import permute, project, split
from tinygpu.category.term import TRUE, Axis, Term
from tinygpu.record import dataclass


@dataclass(frozen=True, slots=True)
class Partition:
    """`cut : X ↪ P × F`, where `classes` are the names of P.

    >>> from tinygpu.category.box import box
    >>> from tinygpu.category.term import Var
    >>> blocks = by_split(box(i=Var("n")).axis("i"), 256, "b", "t")
    >>> print(blocks.quotient)
    [i < n] → [b < ceil(n / 256)] : (i // 256)
    >>> warps = blocks.refine("t", 32, "w", "lane")
    >>> warps.cut.codomain.names, warps.cut.iso, warps.classes
    (('b', 'w', 'lane'), True, ('b',))
    """

    cut: Arrow
    classes: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.cut.mono or not set(self.classes) <= set(self.cut.codomain.names):
            raise ValueError(f"{', '.join(self.classes)} are no classes of {self.cut}")

    @property
    def fibres(self) -> tuple[str, ...]:
        """The names of F."""
        return tuple(name for name in self.cut.codomain.names if name not in self.classes)

    @property
    def quotient(self) -> Arrow:
        """`X → P`: the class of a point."""
        return self.cut >> project(self.cut.codomain, *self.fibres)

    def refine(self, name: str, by: Term | int, outer: str, inner: str, where: Term = TRUE) -> Partition:
        """The partition with one of its axes split again; both parts are classes if it was one."""
        box = self.cut.codomain
        finer = split(box.axis(name), by, outer, inner, where)
        position = box.names.index(name)
        before, after = (identity(Box(axes)) for axes in (box.axes[:position], box.axes[position + 1 :]))
        whole = (before @ finer @ after).restrict(box.guard)
        names = [n for c in self.classes for n in ((outer, inner) if c == name else (c,))]
        return Partition(self.cut >> whole, tuple(names))

    def coarsen(self, *names: str) -> Partition:
        """The partition whose classes are numbered by fewer of the axes."""
        return Partition(self.cut, tuple(c for c in self.classes if c in names))

    def times(self, other: Partition) -> Partition:
        """Two partitions side by side: `X × X' ↪ (P × P') × (F × F')`, axes in that order."""
        both = self.cut @ other.cut
        classes, fibres = self.classes + other.classes, self.fibres + other.fibres
        return Partition(both >> permute(both.codomain, *classes, *fibres), classes)


def by_split(axis: Axis, by: Term | int, outer: str, inner: str, where: Term = TRUE) -> Partition:
    """Classes of `by` neighbours: the outer digit is the class, the inner one the place in it."""
    return Partition(split(axis, by, outer, inner, where), (outer,))


def one_class(box: Box) -> Partition:
    """Everything in one class: the partition that a single worker makes."""
    return Partition(identity(box), UNIT.names)
