"""Boxes, the objects: a finite list of named axes and a guard, `{ x ∈ ∏ [0, nₐ) | P(x) }`.

Comes in: axes whose extents are terms over the sizes, and a guard over the axes and the sizes.
Goes out: products, sub-boxes and renamings of them, and for given sizes their points.
The one idea: a tail is not a special case, it is a guard.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from typing import TypeAlias

from tinygpu.category.evaluate import evaluate
from tinygpu.category.term import TRUE, Axis, Term, Var, conjunction, lift, substitute, text, variables
from tinygpu.record import dataclass, replace

Point: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Box:
    """A list of axes and a guard. The empty list is the unit, one point, of the product `@`.

    >>> from tinygpu.category.term import Const
    >>> x, y = Box((Axis("i", Var("n")),)), Box((Axis("j", lift(4)),))
    >>> (x @ y).names, x @ UNIT == x == UNIT @ x, (x @ y) @ y.rename({"j": "k"}) == x @ (y @ y.rename({"j": "k"}))
    (('i', 'j'), True, True)
    >>> eval(repr(x)) == x
    True
    """

    axes: tuple[Axis, ...] = ()
    guard: Term = TRUE

    def __post_init__(self) -> None:
        if len(set(self.names)) < len(self.axes):
            raise ValueError(f"an axis twice in a box: {', '.join(self.names)}")

    def __str__(self) -> str:
        axes = ", ".join(f"{a.name} < {text(a.extent)}" for a in self.axes)
        return f"[{axes}]" if self.guard == TRUE else f"[{axes} | {text(self.guard)}]"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the axes, in order."""
        return tuple(axis.name for axis in self.axes)

    @property
    def extents(self) -> tuple[Term, ...]:
        """The extents of the axes, in order: terms over the sizes."""
        return tuple(axis.extent for axis in self.axes)

    @property
    def variables(self) -> tuple[Term, ...]:
        """The axes as terms: what the identity arrow gives."""
        return tuple(Var(axis.name) for axis in self.axes)

    @property
    def size(self) -> Term:
        """The number of points without the guard: the product of the extents.

        >>> text(Box((Axis("i", Var("n")), Axis("j", lift(4)))).size)
        'n*4'
        """
        total: Term = lift(1)
        for extent in self.extents:
            total = total * extent
        return total

    @property
    def free(self) -> frozenset[str]:
        """The sizes: every variable of the extents and the guard that is no axis."""
        return frozenset().union(variables(self.guard), *map(variables, self.extents)) - set(self.names)

    def axis(self, name: str) -> Axis:
        """The axis of that name. Raises KeyError."""
        for axis in self.axes:
            if axis.name == name:
                return axis
        raise KeyError(name)

    def __matmul__(self, other: Box) -> Box:
        """`X × Y`, on disjoint names: the axes of both, the guards of both."""
        return Box(self.axes + other.axes, conjunction(self.guard, other.guard))

    def guarded(self, *guards: Term) -> Box:
        """The sub-box of the points where the guards hold too."""
        return Box(self.axes, conjunction(self.guard, *guards))

    def rename(self, names: Mapping[str, str]) -> Box:
        """The box with axes renamed, in the guard too."""
        axes = tuple(replace(a, name=names.get(a.name, a.name)) for a in self.axes)
        return Box(axes, substitute(self.guard, {old: Var(new) for old, new in names.items() if old in self.names}))

    def contains(self, terms: Iterable[Term]) -> Term:
        """The guard that says that the point with these coordinates lies in the box.

        >>> text(Box((Axis("i", Var("n")),)).contains((Var("e") - 1,)))
        'e - 1 >= 0 and e - 1 < n'
        """
        terms = tuple(terms)
        ranges = (guard for a, t in zip(self.axes, terms, strict=True) for guard in (t >= 0, t < a.extent))
        return conjunction(*ranges, substitute(self.guard, dict(zip(self.names, terms, strict=True))))

    def at(self, point: Point, sizes: Mapping[str, int]) -> dict[str, int]:
        """The sizes and the coordinates of a point, by name: what terms are evaluated in."""
        return {**sizes, **dict(zip(self.names, point, strict=True))}

    def points(self, sizes: Mapping[str, int]) -> tuple[Point, ...]:
        """Every point of the box for these sizes, in row-major order, by brute force.

        >>> Box((Axis("q", lift(2)), Axis("r", lift(2))), Var("q") * 2 + Var("r") < Var("n")).points({"n": 3})
        ((0, 0), (0, 1), (1, 0))
        """
        ranges = (range(evaluate(extent, sizes)) for extent in self.extents)
        return tuple(p for p in product(*ranges) if self.guard == TRUE or evaluate(self.guard, self.at(p, sizes)))


UNIT = Box()


def box(**extents: Term | int) -> Box:
    """A box of data axes, for tests and examples.

    >>> str(box(i=Var("n"), j=4))
    '[i < n, j < 4]'
    """
    return Box(tuple(Axis(name, lift(extent)) for name, extent in extents.items()))


def box_facts(axes: tuple[Axis, ...]) -> tuple[Term, ...]:
    """`0 ≤ a < n` for every axis of a box.

    >>> [text(f) for f in box_facts((Axis("i", Var("n")),))]
    ['0 <= i', 'i < n']
    """
    return tuple(fact for a in axes for fact in (lift(0) <= Var(a.name), Var(a.name) < a.extent))
