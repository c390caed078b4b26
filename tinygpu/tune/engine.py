"""Engines: who is asked for states, and told what came of them.

    ask() → state          tell(state, ratio)

Comes in: a space of states. Goes out: states to try. The one idea: all of them draw from one table of legal actions, so an engine is a few lines about where to go on.
"""

from __future__ import annotations

from bisect import insort
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Protocol, TypeAlias

from tinygpu.record import dataclass, field
from tinygpu.tune.moves import Space
from tinygpu.tune.state import State

Cost: TypeAlias = Callable[[State], float]  # a prediction
WIDTH, DEPTH, ALIKE = 24, 12, 2  # of a beam, and how many of one kind it gives
SEEDS, LITTER = 16, 12  # of an evolution: what a beam begins it with, and children of which one is tried
BEST, CHILDREN = 8, 3  # parents of the next states, and of how many one is drawn at random
STEPS = (4, 14)  # of a walk from the identity


class Engine(Protocol):
    """Asked and told."""

    def ask(self) -> State:
        """A state to try."""

    def tell(self, state: State, ratio: float | None) -> None:
        """Its time as a part of the incumbent's; None where it has none."""


@dataclass(slots=True)
class Walks:
    """States at the end of random walks."""

    space: Space
    chance: Random
    cost: Cost

    def ask(self) -> State:
        return self.space.walk(self.chance, self.chance.randint(*STEPS))

    def tell(self, state: State, ratio: float | None) -> None:
        """Nothing is learnt."""


@dataclass(slots=True)
class Beam:
    """The best by prediction among those that are one action away from the best before, turn by turn; at most two of each kind are asked."""

    space: Space
    chance: Random
    cost: Cost
    waiting: list[State] | None = None

    def ask(self) -> State:
        if self.waiting is None:
            self.waiting = self.searched()
        return self.waiting.pop(0) if self.waiting else self.space.walk(self.chance, self.chance.randint(*STEPS))

    def tell(self, state: State, ratio: float | None) -> None:
        """It has been searched before anything is tried."""

    def searched(self) -> list[State]:
        """States, best first."""
        start = self.space.identity()
        costs = {start: self.cost(start)}
        front = [start]
        for _ in range(DEPTH):
            after = {s for one in front for _ in range(WIDTH) if (step := self.space.step(one, self.chance)) for s in (step[1],)}
            costs |= {s: self.cost(s) for s in after if s not in costs}
            front = sorted({*front, *after}, key=lambda s: costs[s])[:WIDTH]
        kinds, out = Counter[object](), list[State]()
        for state in sorted(costs, key=lambda s: costs[s]):
            kinds[kind(state)] += 1
            out += [state] if kinds[kind(state)] <= ALIKE else []
        return out


def kind(state: State) -> tuple[object, ...]:
    """What states have in common that differ in numbers: who carries the digits of each index, and how many tiles there are."""
    return tuple((tuple((i, tuple(f.level for f in cut)) for i, cut in n.cuts), len(n.stages)) for n in state.nests)


@dataclass(slots=True)
class Evolution:
    """First what a beam finds; then children of the best so far by one to three actions, of several that of the least predicted cost, and one in three the
    end of a walk."""

    space: Space
    chance: Random
    cost: Cost
    found: list[tuple[float, State]] = field(default_factory=list)
    first: list[State] | None = None
    parents: dict[State, tuple[State, str]] = field(default_factory=dict)

    def ask(self) -> State:
        if self.first is None:
            self.first = Beam(self.space, self.chance, self.cost).searched()[:SEEDS]
        if self.first:
            return self.first.pop(0)
        if not self.found or self.chance.randrange(CHILDREN) == 0:
            return self.space.walk(self.chance, self.chance.randint(*STEPS))
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


ENGINES = {"evolve": Evolution, "beam": Beam, "random": Walks}
