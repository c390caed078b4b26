"""Nogoods: what was learned from a choice that is not legal.

    {T = 16, stage of A at ko}        T ≥ 40

Comes in: what was chosen. Goes out: whether a choice is one of those. The one idea: a clause speaks of a part of a choice, so it takes away all that have this part.
"""

from __future__ import annotations

from collections.abc import Mapping

from tinygpu.record import dataclass


@dataclass(frozen=True, slots=True)
class Nogood:
    """These choices together, whatever the others are, and numbers from these on, are not legal.

    >>> wide = Nogood(least=(("TX", 64), ("TY", 32)))
    >>> wide.excludes({"TX": 64, "TY": 40, "R": 1}), wide.excludes({"TX": 63, "TY": 40})
    (True, False)
    >>> Nogood((("A", "staged at ko"), ("T", 16))).excludes({"A": "staged at ko", "T": 16, "R": 2})
    True
    """

    equal: tuple[tuple[str, object], ...] = ()
    least: tuple[tuple[str, int], ...] = ()

    def excludes(self, choice: Mapping[str, object]) -> bool:
        """Whether a choice has all of it. Of one that says nothing of a name, nothing is known."""
        numbers = (choice.get(name) for name, _ in self.least)
        far = all(isinstance(n, int) and n >= low for n, (_, low) in zip(numbers, self.least, strict=True))
        return (
            bool(self.equal or self.least) and far and all(name in choice and choice[name] == value for name, value in self.equal)
        )
