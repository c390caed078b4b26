"""Where the large parts of a term were come to, by those who go through it and ask something of each part at the region where it is evaluated.

Comes in: a part and a region. Goes out: the region to look at it at, or nothing. The one idea: a value in which much is shared is come to in as
many ways as it has parts when it is written out, and what is shown where less is known holds where more is.
"""

from __future__ import annotations

from tinygpu.category.region import Region
from tinygpu.category.term import Term

LARGE = 100  # parts of a term, written out, that is not looked at again where less is asked
WAYS = 4  # to such a term, each at its own region; of all others one region


class Visited:
    """Where the large parts of a term were come to: what is shown of one where it was holds wherever more is known, and of one that is come to in
    many ways it is to be shown by what is known in all of them. Where `given`, nothing is to be shown: the others are left out."""

    def __init__(self, given: bool = False) -> None:
        self.given = given
        self.found: dict[int, tuple[Term, list[Region]]] = {}  # with the term, as a number is another one's when it is gone

    def next(self, term: Term, here: Region) -> Region | None:
        """Where to look at a term that is come to; None where that was done.

        >>> from tinygpu.category.term import App, Var
        >>> visited, x = Visited(), Var("x", "f32")
        >>> for _ in range(20):
        ...     x = App("add", (x, x), "f32")
        >>> conditions = [Var("n") > k for k in range(6)]
        >>> found = [visited.next(x, Region((), (g,))) for g in conditions]
        >>> [len(where.guard) if where else None for where in found]
        [1, 1, 1, 1, 0, None]
        """
        if term.parts < LARGE:
            return here
        found = self.found.setdefault(id(term), (term, []))[1]
        if any(here.within(there) for there in found):
            return None
        if len(found) >= WAYS:
            if self.given:
                return None
            here = Region(
                tuple(a for a in here.axes if all(a in there.axes for there in found)),
                tuple(g for g in here.guard if all(g in there.guard for there in found)),
            )
        found.append(here)
        return here
