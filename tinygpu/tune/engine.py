"""Engines: who is asked for states, and told what came of them.

    ask() → state, or nothing more          tell(state, ratio)

Comes in: a space of states. Goes out: states to try. The one idea: all of them draw from one table of legal actions, so an engine is a few lines about where to go on; and what
chance does is said by its seed, so a search can be made again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Protocol

from tinygpu.tune.beam import Beam
from tinygpu.tune.bound import Bound
from tinygpu.tune.evolve import Evolution
from tinygpu.tune.mcts import Tree
from tinygpu.tune.moves import Space
from tinygpu.tune.policy import Policy
from tinygpu.tune.state import State
from tinygpu.tune.walks import Cost, Exhaustive, Walks


class Engine(Protocol):
    """Asked and told. One that may come to an end has an `end`: the sentence that says of what."""

    def ask(self) -> State | None:
        """A state to try; None where there is no other one."""

    def tell(self, state: State, ratio: float | None) -> None:
        """Its time, as a part of the incumbent's or, where nothing is timed, in predicted seconds; None where it has none."""


ENGINES: Mapping[str, Callable[[Space, Random, Cost], Engine]] = {
    "evolve": Evolution,
    "beam": Beam,
    "policy": Policy,
    "mcts": Tree,
    "bound": Bound,
    "exhaustive": Exhaustive,
    "random": Walks,
}


def ending(engine: Engine) -> str:
    """A line on why an engine has no other state; nothing of one that has."""
    found = getattr(engine, "end", "")
    return f"the search is at its end: {found}\n" if found else ""
