"""Copies under way: what a block has begun to copy and not waited for.

    copy; commit; copy; commit; for ko { wait 1; copy; commit; … }        two groups, of three the third has landed

Comes in: a launch at sizes, and which of its copies land later. Goes out: the most bytes at once, and their groups. The one idea: a wait leaves the last
groups, so a long loop is gone through, in its middle, until a turn begins as the one before; and a block in the middle copies as much as any.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from math import prod
from typing import TypeAlias

import numpy as np

from tinygpu.category.dtype import BYTES
from tinygpu.category.evaluate import evaluate as number
from tinygpu.category.term import TRUE, App, Axis, Term, conjunction
from tinygpu.category.to_numpy import evaluate
from tinygpu.cost.parts import POINTS, Unclear, enumerated, extents_of, permissive
from tinygpu.program.call import Commit, Wait
from tinygpu.program.step import Array, Assign, For, If, Launch, Step, steps
from tinygpu.record import dataclass

MANY = 64  # turns of a loop: in more of them those in the middle are alike, or it waits for nothing
Groups: TypeAlias = tuple[int, ...]  # their bytes, the last of which is open
Copied: TypeAlias = Set[tuple[str, tuple[Term, ...]]]  # elements of a block that the hardware copies


@dataclass(frozen=True, slots=True)
class Underway:
    """The most bytes that a block has under way at once, the number of their groups, the bytes of the largest."""

    bytes: int
    groups: int
    largest: int


def underway(launch: Launch, copied: Copied, known: Mapping[str, Array], sizes: Mapping[str, int]) -> Underway | None:
    """None where no copy lands later, or that is too much to look at."""
    if not copied:
        return None
    values = {**sizes}
    try:
        for axis in (*launch.grid, *launch.turns):
            if (extent := number(axis.extent, values)) < 1:
                return None
            values[axis.name] = extent // 2
        walk = _Walk(launch.block, copied, known)
        walk.body(launch.body, (0,), values)
    except Unclear:
        return None
    return Underway(sum(walk.most), sum(1 for group in walk.most if group), max(walk.most)) if any(walk.most) else None


@dataclass(slots=True)
class _Walk:
    block: tuple[Axis, ...]
    copied: Copied
    known: Mapping[str, Array]
    most: Groups = ()

    def body(self, body: tuple[Step, ...], groups: Groups, at: Mapping[str, int], where: Term = TRUE) -> Groups:
        """What is under way behind steps, which are done where a condition holds."""
        for step in body:
            match step:
                case Commit("copy"):
                    groups = (*groups, 0)
                case Wait(count, "copy"):
                    groups = groups[-count - 1 :]
                case For(axis, inner) if counts(inner):
                    groups = self.loop(axis, inner, groups, at, where)
                case If(guard, inner) if counts(inner):
                    groups = (
                        self.body(inner, groups, at, both) if self.points((), both := conjunction(where, guard), at) else groups
                    )
                case _:
                    groups = (*groups[:-1], groups[-1] + self.bytes((step,), (), where, at))
            self.most = max(self.most, groups, key=sum)
        return groups

    def loop(self, axis: Axis, inner: tuple[Step, ...], groups: Groups, at: Mapping[str, int], where: Term) -> Groups:
        """A loop in which groups end."""
        turns = number(axis.extent, at)
        for turn in range(turns):
            before, groups = groups, self.body(inner, groups, {**at, axis.name: turn if turns <= MANY else turns // 2}, where)
            if turns > MANY and groups == before:
                break
            if turn > MANY:
                raise Unclear
        return groups

    def bytes(self, body: tuple[Step, ...], axes: tuple[Axis, ...], guard: Term, at: Mapping[str, int]) -> int:
        """What the block begins to copy there."""
        total = 0
        for step in body:
            match step:
                case For(axis, inner):
                    total += self.bytes(inner, (*axes, axis), guard, at)
                case If(condition, inner):
                    total += self.bytes(inner, axes, conjunction(guard, condition), at)
                case Assign(target, index, value) if (target, index) in self.copied:
                    inside = value.args[0] if isinstance(value, App) and value.op == "select" else TRUE
                    here = conjunction(guard, step.guard, inside)
                    total += BYTES[self.known[target].dtype] * self.points(axes, here, at)
        return total

    def points(self, axes: tuple[Axis, ...], guard: Term, at: Mapping[str, int]) -> int:
        """How often the threads of the block come there together."""
        extents, more = extents_of((*self.block, *axes), at)
        if (many := prod(extents.values())) > POINTS:
            raise Unclear
        inside = evaluate(conjunction(*more, permissive(guard, True)), {**at, **enumerated(extents)})
        return int(np.broadcast_to(np.asarray(inside, bool), (many,)).sum())


def counts(body: tuple[Step, ...]) -> bool:
    """Whether groups of copies end there, or are waited for."""
    return any(isinstance(step, Commit | Wait) for step in steps(body))
