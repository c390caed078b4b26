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
from tinygpu.model.collective import TOGETHER
from tinygpu.program.call import Call, Enter, Leave
from tinygpu.program.step import Step, steps
from tinygpu.program.traverse import meets, reads_of, written
from tinygpu.record import dataclass, field
from tinygpu.simulate.group import Group

LEVELS = ("block", *sorted(TOGETHER, key=TOGETHER.__getitem__, reverse=True), "thread")  # a block, a warpgroup, a warp


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
        """Two halves of the lanes by chance, of whole warps, or groups of them, where those must stay together."""
        if self.level in TOGETHER:
            each = TOGETHER[self.level]
            some = self.chance.integers(0, 2, (len(group.blocks), -(-group.threads // each))).astype(np.bool_)
            first = some[group.block, group.thread // each]
        else:
            first = self.chance.integers(0, 2, group.lanes).astype(np.bool_)
        return first, np.logical_not(first)

    def within(self, piece: tuple[Step, ...]) -> Schedule:
        """The order inside a part of those that run a piece: one of warps, but where more of them do something together, and then one of threads."""
        needed = {"warp", "thread", *(self._needs(step)[0] for step in piece)}
        level = next(one for one in LEVELS[LEVELS.index(self.level) + 1 :] if one in needed)
        return Schedule(self.chance, self.shared, level, self.known)

    def _needs(self, step: Step) -> tuple[str, bool]:
        """Who must run the step together (`block`, `warp` or `thread`), and whether it touches what threads share."""
        if id(step) not in self.known:
            inner = tuple(steps((step,)))
            said = {s.together for s in inner if isinstance(s, Call)} | ({"warp"} if any(map(meets, inner)) else set())
            said |= {"block"} if any(isinstance(s, Enter | Leave) for s in inner) else set()  # whose edges are looked up in step
            scope = next((level for level in LEVELS if level in said), "thread")
            names = written(inner) | {r.tensor for s in inner for r in reads_of(s)}
            self.known[id(step)] = scope, not self.shared.isdisjoint(names)
        return self.known[id(step)]
