"""Folds across the threads of a block: shuffles inside a warp, a shared array across warps.

Comes in: accumulators, one a thread, that hold each thread's own part of a fold. Goes out: steps after which every thread of the
fold holds the whole. The one idea: a factor is split into the part that walks along the lanes of one warp, where a butterfly
combines, and the part that does not, whose entries go through memory; every thread takes part, tails with the unit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import gcd, prod

from tinygpu.category.monoid import as_monoid, neutral
from tinygpu.category.term import App, Axis, Const, Fold, Read, Term, Var, conjunction, equal, lift
from tinygpu.derive.nest import Build, cells, loops, point
from tinygpu.diagnostic import Span
from tinygpu.model.problems import refused
from tinygpu.program.call import Sync
from tinygpu.program.space import SHARED
from tinygpu.program.step import Array, Assign, Step
from tinygpu.record import dataclass, replace

WARP = 32
UNROLLED = 64  # entries of a shared array up to here are folded by an unrolled loop


@dataclass(frozen=True, slots=True)
class Split:
    """A block factor of a fold as `q·lanes + l`: `l` runs along the lanes of a warp, `stride` apart; `q` does not."""

    axis: Axis
    lanes: int
    stride: int

    @property
    def entries(self) -> int:
        """The extent of `q`."""
        return extent(self.axis) // self.lanes

    @property
    def distances(self) -> tuple[int, ...]:
        """How far apart the lanes are that meet in a butterfly, the largest first.

        >>> Split(Axis("t", Const(256)), 32, 1).distances, Split(Axis("y", Const(4)), 4, 8).distances
        ((16, 8, 4, 2, 1), (16, 8))
        """
        steps = self.lanes.bit_length() - 1
        return tuple(self.stride << k for k in reversed(range(steps)))


def extent(axis: Axis) -> int:
    """The extent of a block factor, which is a number."""
    assert isinstance(axis.extent, Const), "block factors have constant extents"
    return int(axis.extent.value)


def lanes(axis: Axis, stride: int) -> int:
    """How many neighbours along a block factor lie in one warp, at a power of two from each other.

    >>> t = Axis("t", Const(256), "block")
    >>> lanes(t, 1), lanes(t, 8), lanes(t, 32), lanes(Axis("t", Const(24)), 1), lanes(Axis("t", Const(96)), 1), lanes(t, 3)
    (32, 4, 1, 1, 32, 1)
    """
    size = extent(axis)
    if WARP % stride:
        return 1
    even = size & (size - 1) == 0 or size * stride % WARP == 0
    return gcd(size, WARP // stride) if even else 1


def strides(block: Sequence[Axis]) -> dict[str, int]:
    """How far apart neighbours along each factor of a block are, in threads."""
    found: dict[str, int] = {}
    step = 1
    for axis in reversed(block):
        found[axis.name] = step
        step *= extent(axis)
    return found


def splits(block: Sequence[Axis], fold: Fold, ways: Mapping[str, str]) -> tuple[Split, ...]:
    """The block factors of a fold, each split. Raises TG535 where a shuffle is asked for and the factor leaves the warp."""
    found: list[Split] = []
    for axis in (a for a in block if a.name in {one.name for one in fold.axes}):
        stride, way = strides(block)[axis.name], ways.get(axis.name, "")
        near = lanes(axis, stride)
        if way == "shuffle" and near < extent(axis):
            words = {"name": axis.name, "monoid": fold.monoid, "threads": extent(axis), "apart": stride}
            raise refused("TG535.warp", fold.span, **words)
        found.append(Split(axis, 1 if way == "shared" else near, stride))
    return tuple(found)


def collective(fold: Fold) -> bool:
    """Whether threads of a block share the fold."""
    return any(a.sort == "block" for a in fold.axes)


def first_lane(block: Sequence[Axis], moved: Sequence[Axis]) -> Term:
    """The lane at which those of some factors that lie in one warp begin.

    >>> from tinygpu.category.term import text
    >>> w, y, x = (Axis(n, Const(e), "block") for n, e in (("w", 4), ("y", 4), ("x", 8)))
    >>> text(first_lane((w, y, x), (x,))), text(first_lane((w, y, x), (y, x)))
    ('y*8', '0')
    """
    names = {a.name for a in moved}
    lane: Term = lift(0)
    for axis in block:
        step = strides(block)[axis.name]
        if axis.name not in names and step % WARP:
            lane = lane + Var(axis.name) * step
    return lane


@dataclass(frozen=True, slots=True)
class Meeting:
    """Accumulators of folds over the same axes, each under its name, that threads combine cell by cell (`spots` are their cells). `ways` are the
    user's words on how; `looped`: a loop stands around, so a shared array may hold what some thread still reads."""

    build: Build
    names: Mapping[Fold, str]
    spots: Sequence[Axis]
    ways: Mapping[str, str]
    looped: bool
    span: Span

    def steps(self) -> tuple[Step, ...]:
        """The steps that combine: shuffles, in the order of the lanes where a monoid does not commute; then through memory."""
        first = next(iter(self.names))
        if not collective(first):
            return ()
        parts = splits(self.build.block, first, self.ways)
        wide = tuple(one for one in parts if one.entries > 1)
        if all(as_monoid(fold.monoid).commutative for fold in self.names):
            lanes = [lift(d) for one in parts for d in one.distances]
            steps = tuple(step for lane in lanes for step in self.cells(partial(self.shuffled, way="shuffle_xor", where=lane)))
            whole: tuple[Step, ...] = ()
        else:
            steps = self.in_order(parts)
            first_of_fold = first_lane(self.build.block, [one.axis for one in parts])
            whole = self.cells(lambda fold: replace(self.shuffled(fold, "shuffle_idx", first_of_fold), update=""))
        return (*steps, *(self.through_memory(parts, wide) if wide else whole))

    def cells(self, each: Callable[[Fold], Assign]) -> tuple[Step, ...]:
        """An assignment for each fold, at every cell."""
        return cells(self.build, self.spots, tuple(map(each, self.names)), self.span)

    def own(self, fold: Fold) -> Read:
        """A fold's accumulator."""
        return Read(self.names[fold], point(self.spots), fold.dtype)

    def shuffled(self, fold: Fold, way: str, where: Term) -> Assign:
        """`acc[] ⊕= shuffle(acc[], d)`."""
        own = self.own(fold)
        return Assign(own.tensor, own.index, App(way, (own, where), fold.dtype), fold.monoid, span=fold.span)

    def in_order(self, parts: Sequence[Split]) -> tuple[Step, ...]:
        """Trees in which each lane takes what comes next, `d = 1, 2, 4, …` along each factor: then the first lane of the fold has the whole.
        A group's lanes below `n − d` have a lane `d` on."""
        steps: list[Step] = []
        held = {fold: self.build.fresh("next") for fold in self.names}
        for fold, name in held.items():
            self.build.local(name, fold.dtype, self.spots, fold.span)
        for one, distance in [(part, d) for part in reversed(parts) for d in reversed(part.distances)]:
            for fold, name in held.items():
                own, there = self.own(fold), Var(one.axis.name) < one.lanes - distance // one.stride
                other = replace(self.shuffled(fold, "shuffle_down", lift(distance)), target=name, update="")
                take = Assign(own.tensor, own.index, replace(own, tensor=name), fold.monoid, there, fold.span)
                steps += [new for step in (other, take) for new in cells(self.build, self.spots, (step,), self.span)]
        return tuple(steps)

    def through_memory(self, parts: Sequence[Split], wide: Sequence[Split]) -> tuple[Step, ...]:
        """One thread of each group of lanes leaves its value in a shared array; after a barrier every thread folds all of them.

        The array has a thread's cells outermost and then the factors of the block in their order, so that its address is the thread number
        without what the shuffles have combined: neighbours store and take neighbours, and no bank is met twice.
        """
        build, spots = self.build, self.spots
        mine, left = {one.axis.name for one in parts}, {one.axis.name: one for one in wide}
        sort = "register" if prod(one.entries for one in wide) <= UNROLLED else "time"
        entries = {name: Axis(build.digit(name), Const(one.entries), sort, self.span) for name, one in left.items()}
        kept = [a for a in build.block if a.name in left or a.name not in mine]
        where = (*point(spots), *(Var(a.name) // left[a.name].lanes if a.name in left else Var(a.name) for a in kept))
        there = (*point(spots), *(Var(entries[a.name].name if a.name in left else a.name) for a in kept))
        extents = tuple(a.extent for a in (*spots, *(entries.get(a.name, a) for a in kept)))
        first = conjunction(*(equal(Var(one.axis.name) % one.lanes, 0) for one in parts if one.lanes > 1))
        arrays = {fold: build.fresh(f"{name}_parts") for fold, name in self.names.items()}
        build.locals += [Array(name, fold.dtype, extents, SHARED, span=fold.span) for fold, name in arrays.items()]
        leave = self.cells(lambda fold: Assign(arrays[fold], where, self.own(fold), guard=first, span=fold.span))
        reset = tuple(Assign(n, point(spots), neutral(f.monoid, f.dtype), span=f.span) for f, n in self.names.items())
        take = self.cells(
            lambda fold: replace(self.shuffled(fold, "", lift(0)), value=Read(arrays[fold], there, fold.dtype), update=fold.monoid)
        )
        barrier = Sync("block", self.span)
        before = (barrier,) if self.looped else ()
        return (
            *before,
            *leave,
            barrier,
            *cells(build, spots, reset, self.span),
            *loops(tuple(entries.values()), take, self.span),
        )
