"""A policy: which of a handful of legal edits is likely to lead somewhere.

    P(edit) ∝ exp Σ weights of what it is          what it is: its kind, the role of its index, the level, the number, and what the state has already

Comes in: a state and edits of it. Goes out: chances. The one idea: it is told roles and never names, so what is learnt of one op at some sizes is of use to others.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from math import exp, log2, prod
from pathlib import Path
from random import Random

from tinygpu.record import dataclass
from tinygpu.tune.actions import Action, Carry, Merge, Number, Restate, Say, Split, Swap
from tinygpu.tune.moves import Space
from tinygpu.tune.placed import Placed
from tinygpu.tune.rules import matching
from tinygpu.tune.state import Factor, State
from tinygpu.tune.walks import Cost

SHIPPED = Path(__file__).with_name("policy.json")
EDITS, HANDFUL = 12, 16  # of a rollout, and among how many each is chosen
TRIES = 8  # rollouts that end where another one did
SORTS = {
    "grid": "outer",
    "cluster": "outer",
    "core": "outer",
    "box": "register",
    "simd": "wide",
    "vector": "wide",
}  # levels that are one to a policy
Weights = Mapping[str, float]


@cache
def shipped() -> Weights:
    """The weights that come with the package, by name."""
    found: dict[str, float] = json.loads(SHIPPED.read_text(encoding="utf-8"))["weights"]
    return found


def roles(space: Space, state: State) -> tuple[Mapping[str, str], ...]:
    """What each index is in each launch: of elements or folded, and whether memory lies along it."""
    op = space.of(state)
    return tuple(_roles(Placed(n, g, state.device, op)) for n, g in zip(state.nests, matching(state, op), strict=True))


def _roles(it: Placed) -> Mapping[str, str]:
    said = {i: "fold" if i in it.folds else "output" for i, _ in it.nest.cuts}
    return {i: f"fast {role}" if i in it.fast else role for i, role in said.items()}


def traits(state: State, action: Action, known: Sequence[Mapping[str, str]]) -> Iterator[str]:
    """What an edit is, in words that are the same for all ops: each has a weight."""
    edit, nest = action.edit, state.nests[action.nest]
    kind = type(edit).__name__.lower()
    yield kind
    match edit:
        case Split(index, _, factor, _):
            yield from _placed(state, action, known, index, factor)
        case Carry(index, place, level, _):
            yield from _placed(state, action, known, index, Factor("", level, dict(nest.cuts)[index][place].extent))
        case Number(index, place, extent):
            yield from _placed(state, action, known, index, Factor("", dict(nest.cuts)[index][place].level, extent))
        case Merge(index, place):
            yield f"merge {sort_of(dict(nest.cuts)[index][place].level)}"
        case Swap(first, second):
            owner = {f.name: index for index, cut in nest.cuts for f in cut}
            a, b = (known[action.nest].get(owner[nest.order[n]], "output").split()[-1] for n in (first, second))
            yield f"swap {a} with {b}"
        case Say(clause) | Restate(_, clause):
            yield f"{kind} {type(clause).__name__.lower()} beside {min(2, len(nest.said))}"


def _placed(state: State, action: Action, known: Sequence[Mapping[str, str]], index: str, factor: Factor) -> Iterator[str]:
    """A digit at a level: whose, how far, and beside what."""
    sort, nest = sort_of(factor.level), state.nests[action.nest]
    yield f"{known[action.nest].get(index, 'output')} at {sort}"
    if factor.extent:
        yield f"{'wide' if sort == 'wide' else 'number'} {min(9, round(log2(factor.extent)))}"
    if sort == "wide":
        yield f"wide {'again' if any(sort_of(f.level) == 'wide' for f in nest.factors) else 'first'}"
    if sort == "register":
        cells = prod(f.extent or 1 for f in nest.factors if f.level == "register")
        yield f"register beside {min(3, round(log2(cells)) // 2)}"


def sort_of(level: str) -> str:
    """Levels that are one to whoever learns."""
    return SORTS.get(level, level)


def chances(weights: Weights, each: Sequence[Sequence[str]]) -> list[float]:
    """How likely each edit is, given what it is.

    >>> chances({"split": 0.0, "wide first": 1.0}, [["split"], ["split", "wide first"]])[1] > 0.7
    True
    """
    scores = [sum(weights.get(name, 0.0) for name in names) for names in each]
    powers = [exp(score - max(scores)) for score in scores]
    return [one / sum(powers) for one in powers]


@dataclass(frozen=True, slots=True)
class Choice:
    """A step of a rollout: what each edit of the handful was, how likely, and which one was taken."""

    traits: list[list[str]]
    chances: list[float]
    taken: int


def handful(space: Space, state: State, chance: Random) -> list[tuple[Action, State]]:
    """Some legal edits of a state, and where they lead."""
    found = (space.step(state, chance) for _ in range(HANDFUL))
    return [step for step in found if step is not None]


def rollout(space: Space, state: State, weights: Weights, cost: Cost, chance: Random) -> tuple[State, float, list[Choice]]:
    """The state of the least cost on a way of some edits from a state, its cost, and what was chosen."""
    best, least, made = state, cost(state), list[Choice]()
    for _ in range(EDITS):
        some = handful(space, state, chance)
        if not some:
            break
        known = roles(space, state)
        each = [[*traits(state, action, known)] for action, _ in some]
        odds = chances(weights, each)
        (taken,) = chance.choices(range(len(some)), odds)
        made.append(Choice(each, odds, taken))
        state = some[taken][1]
        if (now := cost(state)) < least:
            best, least = state, now
    return best, least, made


@dataclass(slots=True)
class Policy:
    """Ends of rollouts from the starts, with the shipped weights."""

    space: Space
    chance: Random
    cost: Cost
    weights: Weights | None = None
    begin: tuple[State, ...] = ()
    asked: frozenset[State] = frozenset()

    def __post_init__(self) -> None:
        self.begin = self.begin or self.space.starts
        self.weights = shipped() if self.weights is None else self.weights

    def ask(self) -> State | None:
        for _ in range(TRIES):
            best, *_ = rollout(self.space, self.chance.choice(self.begin), self.weights or {}, self.cost, self.chance)
            if best not in self.asked:
                break
        self.asked |= {best}
        return best

    def tell(self, state: State, ratio: float | None) -> None:
        """It was trained before; what is told corrects whoever asks."""
