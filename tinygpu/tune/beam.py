"""A beam: the best by prediction among those that are one action away from the best before, turn by turn.

    front ↦ the best of front ∪ {one action of each}

Comes in: a space and a prediction. Goes out: states, best first. The one idea: what differs in numbers alone is of one kind, and of a kind two are enough to know it.
"""

from __future__ import annotations

from collections import Counter
from random import Random

from tinygpu.record import dataclass
from tinygpu.tune.moves import Space
from tinygpu.tune.state import State
from tinygpu.tune.walks import STEPS, Cost, walked

WIDTH, DEPTH, ALIKE = 24, 12, 2  # of a beam, and how many of one kind it gives


@dataclass(slots=True)
class Beam:
    """It searches before anything is tried, and asks for at most two of each kind; behind these for ends of walks."""

    space: Space
    chance: Random
    cost: Cost
    waiting: list[State] | None = None

    def ask(self) -> State | None:
        if self.waiting is None:
            self.waiting = self.searched()
        if self.waiting:
            return self.waiting.pop(0)
        return walked(self.space, self.space.identity(), self.chance.randint(*STEPS), self.chance)

    def tell(self, state: State, ratio: float | None) -> None:
        """It has been searched before anything is tried."""

    def searched(self) -> list[State]:
        """States, best first."""
        front = [*self.space.starts]
        costs = {s: self.cost(s) for s in front}
        for _ in range(DEPTH):
            found = (self.space.step(one, self.chance) for one in front for _ in range(WIDTH))
            after = dict.fromkeys(step[1] for step in found if step)
            costs |= {s: self.cost(s) for s in after if s not in costs}
            front = sorted(dict.fromkeys((*front, *after)), key=lambda s: costs[s])[:WIDTH]
        kinds, out = Counter[object](), list[State]()
        for state in sorted(costs, key=lambda s: costs[s]):
            kinds[kind(state)] += 1
            out += [state] if kinds[kind(state)] <= ALIKE else []
        return out


def kind(state: State) -> tuple[object, ...]:
    """What states have in common that differ in numbers: who carries the digits of each index, and how many tiles there are."""
    return tuple((tuple((i, tuple(f.level for f in cut)) for i, cut in n.cuts), len(n.stages)) for n in state.nests)
