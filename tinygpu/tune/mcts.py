"""A tree of actions, in the form of AlphaZero: what an action leads to is known, so nothing has to be learnt of it.

    value = −log cycles          which child: value + c · prior · √(visits of all) / (1 + visits), values between the least and the most that were met

Comes in: a space, a prediction, and what came of the states that were asked for. Goes out: states. The one idea: priors are the policy's, values are predicted and then corrected by what is timed, so the
tree grows where either has reason to look.
"""

from __future__ import annotations

from math import inf, log, sqrt
from random import Random
from statistics import median

from tinygpu.record import dataclass, field
from tinygpu.tune.moves import Space
from tinygpu.tune.policy import Weights, chances, handful, roles, shipped, traits
from tinygpu.tune.state import State
from tinygpu.tune.walks import Cost

SIMULATIONS, CURIOUS, DEEP = 48, 1.25, 16  # between two states that are asked for; how much a prior counts; actions from a start


@dataclass(slots=True, eq=False)
class Node:
    """A state that the tree has reached, with how likely the policy was to go there."""

    state: State | None
    prior: float
    children: list[Node] | None = None
    visits: int = 0
    total: float = 0.0

    @property
    def mean(self) -> float:
        """Of the values below it."""
        return self.total / self.visits if self.visits else -inf


@dataclass(slots=True)
class Tree:
    """Simulations, and after some of them the least predicted state that was not asked for."""

    space: Space
    chance: Random
    cost: Cost
    root: Node = field(default_factory=lambda: Node(None, 1.0))
    weights: Weights = field(default_factory=shipped)
    paths: dict[State, list[Node]] = field(default_factory=dict)
    waiting: dict[State, float] = field(default_factory=dict)
    shifts: list[float] = field(default_factory=list)
    low: float = inf
    high: float = -inf

    begin: tuple[State, ...] = ()

    def __post_init__(self) -> None:
        first = self.begin or self.space.starts
        self.root.children = [Node(s, 1 / len(first)) for s in first]

    def ask(self) -> State | None:
        for _ in range(SIMULATIONS):
            self.simulate()
        if not self.waiting:
            return None
        best = min(self.waiting, key=lambda s: self.waiting[s])
        del self.waiting[best]
        return best

    def tell(self, state: State, ratio: float | None) -> None:
        """A time counts like a visit, on the scale of what is predicted."""
        if state in self.paths and ratio is not None:
            predicted = log(self.cost(state))
            self.shifts.append(log(ratio) - predicted)
            self.back(self.paths[state], median(self.shifts) - log(ratio))

    def simulate(self) -> None:
        """Down to a state that is new, and its value back."""
        path = [self.root]
        while path[-1].children and len(path) <= DEEP:
            path.append(max(path[-1].children, key=lambda child: self.worth(path[-1], child)))
        leaf = path[-1]
        assert leaf.state is not None
        cycles = self.cost(leaf.state)
        if leaf.state not in self.paths:
            self.paths[leaf.state], self.waiting[leaf.state] = path, cycles
        if leaf.children is None and len(path) <= DEEP:
            leaf.children = self.grown(leaf.state)
        self.back(path, -log(cycles))

    def worth(self, parent: Node, child: Node) -> float:
        """How much a child is to be looked at."""
        value = (child.mean - self.low) / (self.high - self.low) if child.visits and self.high > self.low else 0.5
        return value + CURIOUS * child.prior * sqrt(parent.visits) / (1 + child.visits)

    def grown(self, state: State) -> list[Node]:
        """A handful of legal actions, each once, with the policy's chances."""
        some = {after: action for action, after in handful(self.space, state, self.chance)}
        known = roles(self.space, state)
        odds = chances(self.weights, [[*traits(state, action, known)] for action in some.values()]) if some else []
        return [Node(after, odd) for after, odd in zip(some, odds, strict=True)]

    def back(self, path: list[Node], value: float) -> None:
        """A value, to all that lead to it."""
        self.low, self.high = min(self.low, value), max(self.high, value)
        for node in path:
            node.visits += 1
            node.total += value
