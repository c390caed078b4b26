"""What is under way: which groups have landed, as each thread knows it, who touches a cell before, and what units of their own do not see yet.

    the group of what is begun is the number of commits of its thread on that unit before it;  `wait n` after c commits: the groups below c − n have landed
    what a thread has written after f fences a unit sees when it is told that the thread has made more than f

Comes in: commits, waits, fences and barriers of lanes; accesses of one array. Goes out: faults. The one idea: absolute numbers. A thread knows its own;
others know what it knew at the last barrier that both have passed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from tinygpu.category.number import Array
from tinygpu.category.term import tensors
from tinygpu.program.arrays import READ
from tinygpu.program.call import ASYNC, COPY, TENSOR, UNITS, Call, Commit, Enter, Fence, Leave, Wait
from tinygpu.program.ring import Section
from tinygpu.program.space import FRAGMENT, TENSORS, Space
from tinygpu.program.step import WARP, Assign, Step
from tinygpu.record import dataclass, field
from tinygpu.simulate.box import unflat
from tinygpu.simulate.fault import EACH, At, Faults, UnderWay, Unfenced
from tinygpu.simulate.group import Execution, Group
from tinygpu.simulate.rings import Rings, Role, Turns, box

if TYPE_CHECKING:
    from tinygpu.simulate.clock import Access, Clock
    from tinygpu.simulate.shadow import Log


@dataclass(slots=True)
class Told:
    """A number of each lane that grows, as it knows it, as its warp does, and as its block does."""

    lanes: Group
    own: Array
    warp: Array
    block: Array
    far: dict[tuple[str, str, str], tuple[Array, Array, Array]] = field(
        default_factory=dict
    )  # by rings: of whom, to whom, the numbers

    @classmethod
    def of(cls, lanes: Group) -> Told:
        """All are 0."""
        none = np.zeros(lanes.lanes, np.int64)
        return cls(lanes, none, none, none)

    def grow(self, number: Array, mask: Array) -> None:
        """Of the lanes of the mask it is at least that."""
        self.own = np.where(mask, np.maximum(self.own, number), self.own)

    def barrier(self, scope: str, mask: Array) -> None:
        """They tell each other."""
        self.warp = np.where(mask, self.own, self.warp)
        self.block = np.where(mask, self.own, self.block) if scope == "block" else self.block

    def known(self, of: Array, by: Array) -> Array:
        """The numbers of some lanes, as others know them."""
        near = self.lanes.thread[of] // WARP == self.lanes.thread[by] // WARP
        found = np.asarray(np.where(of == by, self.own[of], np.where(near, self.warp[of], self.block[of])))
        for some, others, numbers in self.far.values():
            found = np.where(some[of] & others[by], np.maximum(found, numbers[of]), found)
        return found


@dataclass(slots=True)
class Groups:
    """Of each lane and unit: the groups that it has ended, and the number below which they have landed; its fences, and the copies that had landed at
    the last one of those for units of their own. `space` is that of the cells: registers, shared memory, or tensor memory, of which nothing is fenced."""

    space: Space
    ended: dict[str, Array]
    landed: dict[str, Told | Turns]
    fences: dict[str, Told]
    shown: Told
    rings: Rings

    @classmethod
    def of(cls, lanes: Group, space: Space, sections: Mapping[Role, Section]) -> Groups:
        """Nothing is under way."""
        none = np.zeros(lanes.lanes, np.int64)
        boxes = {box(ring): none for ring, _ in sections}
        landed: dict[str, Told | Turns] = {u: Told.of(lanes) for u in UNITS}
        landed |= {u: Turns(lanes, none) for u in boxes}
        fences = {u: Told.of(lanes) for u in (ASYNC, *UNITS)}
        return cls(space, dict.fromkeys(UNITS, none) | boxes, landed, fences, Told.of(lanes), Rings(sections))

    @property
    def held(self) -> bool:
        """Whether cells are registers."""
        return self.space == FRAGMENT

    @property
    def told(self) -> dict[str, Told]:
        """Each number that grows, by a name."""
        landed = {f"landed {u}": one for u, one in self.landed.items() if isinstance(one, Told)}
        return {**landed, **{f"fence {u}": one for u, one in self.fences.items()}, "shown": self.shown}

    def call(self, step: Call, mask: Array, turn: int = 0) -> None:
        """The lanes of the mask end a group, wait until some are under way, make a fence, or go on with a slot at a turn."""
        match step:
            case Enter(ring):
                boxes = self.landed[box(ring)]
                assert isinstance(boxes, Turns), "boxes are counted by turns"
                self.rings.enter(step, turn, mask, self.told, boxes)
                self.ended[box(ring)] = np.full(len(mask), turn)
            case Leave():
                self.rings.leave(step, self.told)
            case Commit(name):
                self.ended[name] = self.ended[name] + mask
            case Wait(count, name):
                told = self.landed[name]
                assert isinstance(told, Told), "groups are counted by commits"
                told.grow(self.ended[name] - count, mask)
                if name != COPY:  # a warp waits together
                    told.barrier("warp", mask)
            case Fence(name):
                self.fences[name].grow(self.fences[name].own + 1, mask)
                if name == ASYNC:
                    self.shown.grow(self.landed[COPY].own, mask)

    def barrier(self, scope: str, mask: Array) -> None:
        """They tell each other."""
        for told in (*self.landed.values(), *self.fences.values(), self.shown):
            told.barrier(scope, mask)


@dataclass(slots=True)
class Mark:
    """Of each cell who was there last: a number of the lane then, the lane, and where it was. The number of none is −1."""

    number: Array
    lane: Array
    place: Array
    point: Array

    @classmethod
    def of(cls, size: int) -> Mark:
        """Nobody was anywhere."""
        return cls(np.full(size, -1, np.int64), *(np.zeros(size, np.int64) for _ in range(3)))

    def put(self, access: Access, number: Array, place: int, backwards: bool = False) -> None:
        """These are there; of several at one cell the last one, or the first."""
        way = slice(None, None, -1 if backwards else 1)
        at, lane = access.address[way], access.lane[way]
        self.number[at], self.lane[at], self.place[at], self.point[at] = number[lane], lane, place, access.position[way]


@dataclass(slots=True)
class Flights:
    """Of one array: what was begun on its cells, by unit and whether it writes, for the first and for the last lane; what threads did themselves. `each` as in
    `Shadow`."""

    name: str
    extents: tuple[int, ...]
    size: int
    each: int
    begun: dict[tuple[str, bool, bool, bool], Mark] = field(default_factory=dict)
    touched: dict[bool, Mark] = field(default_factory=dict)
    places: list[tuple[Execution, tuple[int, ...]]] = field(default_factory=list)

    def touch(
        self, access: Access, unit: str, write: bool, clock: Clock, plain: Iterable[tuple[Log, Clock]], faults: Faults
    ) -> None:
        """An access, of a unit or of the threads themselves: faults that it makes with earlier ones."""
        groups, verb = clock.late, "writes" if write else "reads"
        assert groups is not None, "where something lands later groups are counted"
        boxes = {u for u, told in groups.landed.items() if isinstance(told, Turns)}
        unit = box(groups.rings.here.enter.ring) if unit == TENSOR and groups.rings.here else unit
        step = access.place.step
        alone = isinstance(step, Assign) and step.target == self.name not in tensors(step.value)
        for (other, writes, sums, _), mark in self.begun.items():
            if (writes or write) and faults.room(UnderWay, self.name, access.place.span):
                ordered = unit == other != COPY and sums and alone  # products of a warp on one accumulator are in order
                for point in self.early(access, mark, groups.landed[other], ordered):
                    faults.add(UnderWay(*self.case(access, point, mark), verb, other), access.place.span)
        if unit == COPY or unit in boxes:
            self.over(access, plain, unit, faults)
        if unit not in ("", COPY) and groups.space != TENSORS and faults.room(Unfenced, self.name, access.place.span):
            for mark, told in self.unseen(groups, unit, write):
                for point in self.early(access, mark, told):
                    faults.add(Unfenced(*self.case(access, point, mark), unit), access.place.span)
        self.places.append((access.place, access.shape))
        if unit:
            for backwards in (False, True):
                mark = self.begun.setdefault((unit, write, alone, backwards), Mark.of(self.size))
                mark.put(access, groups.ended[unit], len(self.places) - 1, backwards)
        else:
            fences = groups.fences["mma" if groups.held else ASYNC]
            for kind in (False, True)[: 1 + write]:  # any access, and those that write
                self.touched.setdefault(kind, Mark.of(self.size)).put(access, fences.own, len(self.places) - 1)

    def unseen(self, groups: Groups, unit: str, write: bool) -> Iterator[tuple[Mark, Told]]:
        """What a unit has to be shown before it reads, or writes, a cell."""
        if (mark := self.touched.get(not (groups.held and write))) is not None:
            yield mark, groups.fences[unit if groups.held else ASYNC]
        for (other, writes, *_), begun in self.begun.items():
            if other == COPY and writes and not groups.held:
                yield begun, groups.shown

    def early(self, access: Access, mark: Mark, told: Told | Turns, ordered: bool = False) -> Iterator[int]:
        """The first few points of an access at which a number is not passed, as the lanes there know it; of what a warp does in order, those of other warps."""
        number = mark.number[access.address]
        bad = number >= 0
        if bad.any():
            before = mark.lane[access.address]
            bad &= told.known(before, access.lane) <= number
            if ordered:
                thread = told.lanes.thread
                bad &= thread[before] // WARP != thread[access.lane] // WARP
        yield from (int(point) for point in np.flatnonzero(bad)[:EACH])

    def case(self, access: Access, point: int, mark: Mark) -> tuple[At, str, tuple[int, ...], At]:
        """Who is at a point of an access, at which cell, and who was there."""
        address = access.address[point]
        before, shape = self.places[int(mark.place[address])]
        at = access.place.at(access.shape, int(access.position[point]))
        return at, self.name, unflat(address % self.each, self.extents), before.at(shape, int(mark.point[address]))

    def over(self, access: Access, plain: Iterable[tuple[Log, Clock]], unit: str, faults: Faults) -> None:
        """Faults where the thread that begins a copy has touched the cell before, as the logs of other accesses say, with no barrier since."""
        for log, clock in plain:
            (highest, lowest), scale = log.pairs[-1], clock.scales[-1]
            rising, falling, mine = highest[access.address], lowest[access.address], scale.thread[access.lane]
            first = scale.threads(rising) == mine
            both = (rising >= scale.floor[access.lane]) & (first | (scale.threads(falling, True) == mine))
            for point in np.flatnonzero(both)[:EACH]:
                key, address = int((rising if first[point] else falling)[point]), access.address[point]
                before = clock.who(key, not first[point], int(address) // self.each)
                at = access.place.at(access.shape, int(access.position[point]))
                cell = unflat(address % self.each, self.extents)
                faults.add(UnderWay(at, self.name, cell, before, "copies over", unit), access.place.span)


def unit_of(step: Step, kind: str) -> str:
    """The unit on which a step makes an access; empty where the thread does: of a copy that lands later the target is the unit's."""
    unit = step.pending if isinstance(step, Assign) else ""
    return "" if unit == COPY and kind == READ else unit
