"""An evolution: children of the best so far.

    first the starts and what a beam finds; then of several children of a good parent one that is predicted to be good

Comes in: a space, a prediction, and what came of the states that were asked for. Goes out: states. The one idea: what is timed corrects what is predicted, since only what was fast has children.
"""

from __future__ import annotations

from bisect import insort
from random import Random

from tinygpu.record import dataclass, field
from tinygpu.tune.beam import Beam
from tinygpu.tune.moves import Space
from tinygpu.tune.state import State
from tinygpu.tune.walks import STEPS, Cost, walked

SEEDS, LITTER = 16, 12  # what a beam begins it with, and children of which one is tried
BEST, CHILDREN = 8, 3  # parents of the next states, and of how many one is drawn at random


@dataclass(slots=True)
class Evolution:
    """First the starts and what a beam finds; then children of the best so far by one to three actions, of several one of the least predicted cost, and one in
    three the end of a walk."""

    space: Space
    chance: Random
    cost: Cost
    found: list[tuple[float, State]] = field(default_factory=list)
    first: list[State] | None = None
    parents: dict[State, tuple[State, str]] = field(default_factory=dict)

    def ask(self) -> State | None:
        if self.first is None:
            seeds = Beam(self.space, self.chance, self.cost).searched()[:SEEDS]
            self.first = [*dict.fromkeys((*self.space.starts, *seeds))]
        if self.first:
            return self.first.pop(0)
        if not self.found or self.chance.randrange(CHILDREN) == 0:
            return walked(self.space, self.space.identity(), self.chance.randint(*STEPS), self.chance)
        parent = self.chance.choice(self.found[:BEST])[1]
        children = dict(self.child(parent) for _ in range(LITTER))
        chosen = self.chance.choice(sorted(children, key=self.cost)[: max(1, LITTER // 4)])
        self.parents.setdefault(chosen, (parent, children[chosen]))
        return chosen

    def child(self, state: State) -> tuple[State, str]:
        """A few actions away, and which."""
        done = list[str]()
        for _ in range(self.chance.choice((1, 1, 2, 3))):
            step = self.space.step(state, self.chance)
            state, done = (step[1], [*done, str(step[0])]) if step else (state, done)
        return state, ", ".join(done)

    def tell(self, state: State, ratio: float | None) -> None:
        if ratio is not None:
            insort(self.found, (ratio, state), key=lambda one: one[0])

    def origin(self, state: State) -> tuple[State, str] | None:
        """The parent of a state that was asked, and the actions that lead to it."""
        return self.parents.get(state)
