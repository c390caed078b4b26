"""What nobody can know: the truth of a comparison of undefined values, and of one that rounding decides.

Comes in: the answers of a run before. Goes out: answers, and the runs that have others. The one idea: a run is a path in a tree of answers;
a program is right if it is right on every path. The first answer is the one of the reals, where there is one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.meaning.values import CannotJudge

PATHS, LONG = 24, 400


@dataclass(slots=True)
class Oracle:
    """The answers of one run: those that are given, then `later` for all others. `soft`: one of them changes values only."""

    given: tuple[int, ...] = ()
    later: int = 0
    soft: bool = False
    made: list[tuple[int, int]] = field(default_factory=list)

    def choose(self, count: int, soft: bool = False) -> int:
        """One of so many answers."""
        number = len(self.made)
        if number >= LONG:
            raise CannotJudge("more undefined comparisons than are followed")
        answer = self.given[number] if number < len(self.given) else min(self.later, count - 1)
        self.made.append((answer, count))
        self.soft |= soft and answer != 0
        return answer


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
