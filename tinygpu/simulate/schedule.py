"""Orders of threads that are not lockstep: between barriers some threads run ahead of the others.

Comes in: the steps of a launch and a seed. Goes out: pieces of a body, and for each the parts of the threads that run it one after the other.
The one idea: what has no barrier inside may be run by one half of the warps to its end and then by the other, and what has no warp barrier
and no shuffle inside, by one half of the threads, whichever half that is; so a program that only lockstep makes right goes wrong here.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

import numpy as np

from tinygpu.category.number import Array
from tinygpu.program.call import Sync
from tinygpu.program.step import Step, steps
from tinygpu.program.traverse import meets, reads_of, written
from tinygpu.record import dataclass, field
from tinygpu.simulate.group import Group

LEVELS = ("block", "warp", "thread")


@dataclass(slots=True)
class Schedule:
    """A permuted order. `level`: within what the threads at hand run in step. `known`: of each step, what it needs and touches."""

    chance: np.random.Generator
    shared: frozenset[str]
    level: str = "block"
    known: dict[int, tuple[str, bool]] = field(default_factory=dict)

    def pieces(self, body: tuple[Step, ...]) -> Iterator[tuple[tuple[Step, ...], bool]]:
        """The body in pieces; True for those that parts of the threads may run one after the other."""
        for together, run in groupby(body, lambda step: LEVELS.index(self._needs(step)[0]) <= LEVELS.index(self.level)):
            if together:
                yield from (((step,), False) for step in run)
            else:
                piece = tuple(run)
                yield piece, any(self._needs(step)[1] for step in piece)

    def parts(self, group: Group) -> tuple[Array, Array]:
        """Two halves of the lanes by chance, of whole warps where those must stay together."""
        if self.level == "block":
            warps = self.chance.integers(0, 2, (len(group.blocks), group.warps)).astype(np.bool_)
            first = warps[group.block, group.thread // 32]
        else:
            first = self.chance.integers(0, 2, group.lanes).astype(np.bool_)
        return first, np.logical_not(first)

    def within(self) -> Schedule:
        """The order inside a part."""
        return Schedule(self.chance, self.shared, LEVELS[LEVELS.index(self.level) + 1], self.known)

    def _needs(self, step: Step) -> tuple[str, bool]:
        """Who must run the step together (`block`, `warp` or `thread`), and whether it touches what threads share."""
        if id(step) not in self.known:
            inner = tuple(steps((step,)))
            scope = "thread"
            if any(isinstance(s, Sync) and s.scope == "block" for s in inner):
                scope = "block"
            elif any(meets(s) for s in inner):
                scope = "warp"
            names = written(inner) | {r.tensor for s in inner for r in reads_of(s)}
            self.known[id(step)] = scope, not self.shared.isdisjoint(names)
        return self.known[id(step)]
