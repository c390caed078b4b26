"""Where engines begin, and the two plainest of them: walks at random, and all there is.

    starts = identity ⊎ what rules make of the op          random: a start and some actions          exhaustive: every state within a few actions of the identity

Comes in: a space. Goes out: states. The one idea: a state of any device is a state of a CPU too, so a walk begins where a person would, and goes on by the actions of the state's own device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import TypeAlias

from tinygpu.record import dataclass, field, replace
from tinygpu.tune.actions import Action, Carry, Edit, Merge, Number, Say, Split, Swap, Unsay, done, free_name
from tinygpu.tune.clauses import sayable
from tinygpu.tune.facts import Names, group_of
from tinygpu.tune.moves import DEEPEST, Space, levels
from tinygpu.tune.rules import WIDE
from tinygpu.tune.state import Factor, State

Cost: TypeAlias = Callable[[State], float]  # a prediction
STEPS = (4, 14)  # of a walk
NEAR, SMALL = 2, (2, 4, 16)  # how many actions away from the identity all states are, and with which numbers


def walked(space: Space, state: State, steps: int, chance: Random) -> State:
    """A state that so many actions lead to."""
    for _ in range(steps):
        found = space.step(state, chance)
        state = found[1] if found else state
    return state


@dataclass(slots=True)
class Walks:
    """States at the end of random walks, each from one of the starts."""

    space: Space
    chance: Random
    cost: Cost
    begin: tuple[State, ...] = ()

    def __post_init__(self) -> None:
        self.begin = self.begin or self.space.starts

    def ask(self) -> State | None:
        return walked(self.space, self.chance.choice(self.begin), self.chance.randint(*STEPS), self.chance)

    def tell(self, state: State, ratio: float | None) -> None:
        """Nothing is learnt."""


@dataclass(slots=True)
class Exhaustive:
    """Every state that is a few actions away from the identity, the least predicted first, and then nothing."""

    space: Space
    chance: Random
    cost: Cost
    near: int = NEAR
    waiting: list[State] | None = None
    every: int = field(default=0)

    def ask(self) -> State | None:
        if self.waiting is None:
            self.waiting = sorted(within(self.space, self.near), key=self.cost)
            self.every = len(self.waiting)
        return self.waiting.pop(0) if self.waiting else None

    def tell(self, state: State, ratio: float | None) -> None:
        """Everything is asked for, whatever comes of it."""

    @property
    def end(self) -> str:
        """Of what there is nothing left; nothing while there is."""
        if self.waiting is None or self.waiting:
            return ""
        return f"all {self.every} states within {self.near} actions of the identity, with the numbers {', '.join(map(str, SMALL))}"


def within(space: Space, near: int, numbers: Sequence[int] = SMALL) -> list[State]:
    """All legal states so many actions away from the identity, or fewer."""
    found = dict.fromkeys([space.identity()])
    front = [*found]
    for _ in range(near):
        front = [*dict.fromkeys(s for one in front for _, s in steps(space, one, numbers) if s not in found)]
        found |= dict.fromkeys(front)
    return [*found]


def steps(space: Space, state: State, numbers: Sequence[int] = SMALL) -> Iterator[tuple[Action, State]]:
    """Every legal edit of a state, with such numbers, and where it leads."""
    for number in range(len(state.nests)):
        for edit in edits(space, state, number, numbers):
            found = done(state, Action(number, edit))
            if found is not None and found[0] != state and space.legal(found[0]):
                yield Action(number, edit), found[0]


def edits(space: Space, state: State, number: int, numbers: Sequence[int]) -> Iterator[Edit]:
    """Every edit of a launch, legal or not, but those of clauses that are there."""
    nest, op = state.nests[number], space.of(state)
    taken, turns = frozenset(Names(op).taken), range(len(nest.order) + 1)
    for index, cut in nest.cuts:
        for level in levels(state.device):
            factor = Factor(free_name(nest, index, level[0], taken), level)
            places = range(1, len(cut) + 1) if len(cut) < DEEPEST else ()
            yield from (
                Split(index, p, replace(factor, extent=n), t) for p in places for n in WIDE.get(level, numbers) for t in turns
            )
            yield from (Carry(index, p, level, t) for p in range(len(cut)) for t in turns)
        for place, digit in enumerate(cut):
            yield Merge(index, place)
            yield from (Number(index, place, n) for n in WIDE.get(digit.level, numbers))
    yield from (Swap(a, b) for b in range(len(nest.order)) for a in range(b))
    for clause in sayable(op, nest, group_of(op, nest.equations), state.device):
        yield from (Say(clause, place) for place in range(len(nest.said) + 1))
    yield from (Unsay(place) for place in range(len(nest.said)))
