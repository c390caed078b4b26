"""Points: for each name of a term one number, or a list with one for each of some points.

Comes in: columns of numbers. Goes out: the points that a guard leaves, or those of a box around them. The one idea: the columns of what is left are
taken on demand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod

from tinygpu.category.listed import Listed


class Points:
    """`size` points and for each name a number or a list of `size` numbers; some of another's points, `picks`, take its columns on demand.

    `seen` are the variables of the guards that left these points.

    >>> few = Points(4, {"i": [0, 1, 2, 3], "n": 7}).some([1, 3])
    >>> few.size, few["i"], few["n"]
    (2, [1, 3], 7)
    """

    __slots__ = ("columns", "parent", "picks", "seen", "size")

    def __init__(
        self,
        size: int,
        columns: dict[str, Listed],
        parent: Points | None = None,
        picks: list[int] | None = None,
        seen: frozenset[str] = frozenset(),
    ) -> None:
        self.size, self.columns, self.parent, self.picks, self.seen = size, columns, parent, picks, seen

    def __getitem__(self, name: str) -> Listed:
        if name in self.columns:
            return self.columns[name]
        if self.parent is None:
            raise KeyError(name)
        found = self.parent[name]
        if isinstance(found, list) and self.picks is not None:
            found = self.columns[name] = [found[i] for i in self.picks]
        return found

    def some(self, picks: list[int], seen: frozenset[str] = frozenset()) -> Points:
        """The points of these numbers, left by a guard over these variables."""
        return Points(len(picks), {}, self, None if len(picks) == self.size else picks, self.seen | seen)

    def bound(self, **columns: Listed) -> Points:
        """The same points with more names."""
        return Points(self.size, columns, self, None, self.seen)

    def times(self, axes: Iterable[str], box: tuple[int, ...], outer: bool = False) -> Points:
        """Every point with every point of a box; the box's points are the outer loop, or the inner one."""
        count, turns, columns = prod(box), 1, {}
        for name, extent in zip(axes, box, strict=True):
            inner = count // (turns * max(1, extent))
            column = [k for _ in range(turns) for k in range(extent) for _ in range(inner)]
            columns[name] = [k for k in column for _ in range(self.size)] if outer else column * self.size
            turns *= extent
        one = range(self.size)
        picks = [p for _ in range(count) for p in one] if outer else [p for p in one for _ in range(count)]
        return Points(len(picks), columns, self, picks, self.seen)


def constants(values: Mapping[str, int]) -> Points:
    """One point with these values."""
    return Points(1, dict(values))
