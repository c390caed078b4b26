"""What nobody can know: the truth of a comparison of undefined values, and of one that rounding decides.

Comes in: the answers of a run before. Goes out: answers, and the runs that have others. The one idea: a run is a path in a tree of answers;
a program is right if it is right on every path. The first answer is the one of the reals, where there is one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.meaning.certain import Rounded
from tests.meaning.values import INF, CannotJudge, less, same
from tests.meaning.values import number as real

PATHS, LONG = 24, 400


@dataclass(slots=True)
class Oracle:
    """The answers of one run: those that are given, then `later` for all others. `soft`: rounding gave one of them, and values may be others."""

    given: tuple[int, ...] = ()
    later: int = 0
    soft: bool = False
    made: list[tuple[int, int]] = field(default_factory=list)
    tests: dict[tuple[Any, Any, Any], bool] = field(default_factory=dict)

    def choose(self, count: int, soft: bool = False) -> int:
        """One of so many answers."""
        number = len(self.made)
        if number >= LONG:
            raise CannotJudge("more undefined comparisons than are followed")
        answer = self.given[number] if number < len(self.given) else min(self.later, count - 1)
        self.made.append((answer, count))
        self.soft |= soft and answer != 0
        return answer

    def test(self, held: bool, test: Rounded) -> bool:
        """The truth of a test of rounded values, which holds of the reals or not. One float is one number, whatever it is: its tests agree."""
        if not isinstance(test.origin, tuple):
            return held ^ bool(self.choose(2, soft=True))
        found = self.implied(test.origin)
        if found is None:
            found = held ^ test.negative ^ bool(self.choose(2, soft=True))
            self.tests[test.origin] = found
        return found ^ test.negative

    def implied(self, test: tuple[Any, Any, Any]) -> bool | None:
        """What the answers so far say of `a < b` or `a == b`."""
        if test in self.tests:
            return self.tests[test]
        value = next((side for side in test[1:] if isinstance(side, tuple)), None)
        if value is None or all(isinstance(side, tuple) for side in test[1:]):
            return None
        low, high = self.between(value)
        op, a, b = test
        if a == value:  # value < b, value == b
            number, reach = b, ((-1 if op == "lt" else 0),)
        else:
            number, reach = a, ((1 if op == "lt" else 0),)
        sides = {s for s in (-1, 0, 1) if possible(s, number, low, high)}  # where the value may lie: below, at, above the number
        if not sides:
            return None
        return True if sides <= set(reach) else False if not sides & set(reach) else None

    def between(self, value: tuple[Any, bool]) -> tuple[tuple[Any, bool], tuple[Any, bool]]:
        """The least and the greatest that a value may be, and whether it may be that itself."""
        low: tuple[Any, bool] = (real(-INF), True)
        high: tuple[Any, bool] = (real(INF), True)
        for (op, a, b), holds in self.tests.items():
            number = b if a == value else a
            if value not in (a, b) or isinstance(number, tuple):
                continue
            if op == "eq":
                low, high = ((number, True), (number, True)) if holds else (low, high)
            elif (a == value) == holds:  # value < number, or value <= number
                high = (number, not holds) if less(number, high[0]) or (same(number, high[0]) and holds) else high
            else:
                low = (number, not holds) if less(low[0], number) or (same(number, low[0]) and holds) else low
        return low, high


def possible(side: int, number: Any, low: tuple[Any, bool], high: tuple[Any, bool]) -> bool:
    """Whether something between two ends may lie below, at, or above a number."""
    if side:
        return less(low[0], number) if side < 0 else less(number, high[0])
    above = less(low[0], number) or (low[1] and same(low[0], number))
    return above and (less(number, high[0]) or (high[1] and same(number, high[0])))


def paths() -> Iterator[Oracle]:
    """Runs, until there are no other answers or enough were tried: the last answers change first; one run has all answers changed."""
    first = Oracle()
    yield first
    if not first.made:
        return
    yield Oracle(later=1)
    past = first
    for _ in range(PATHS):
        answers = list(past.made)
        while answers and answers[-1][0] + 1 >= answers[-1][1]:
            answers.pop()
        if not answers:
            return
        answers[-1] = (answers[-1][0] + 1, answers[-1][1])
        past = Oracle(tuple(answer for answer, _ in answers))
        yield past
