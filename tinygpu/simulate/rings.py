"""Rings in a run: in which section lanes are, at which turn, and what the threads of one role know of those of the other.

    who enters turn x knows what the others knew when they gave away the slot that it waited for

Comes in: the sections of a launch, and the calls of lanes. Goes out: the clock of a ring's turns, and what was told. The one idea: lanes are in step here, so the
edges of a ring are looked up, and never waited for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from tinygpu.category.number import Array
from tinygpu.program.call import FILL, TENSOR, USE, Enter, Leave
from tinygpu.program.ring import Section
from tinygpu.record import dataclass, field
from tinygpu.simulate.group import Group

if TYPE_CHECKING:
    from tinygpu.simulate.landing import Told

Role: TypeAlias = tuple[str, str]  # a ring, and what is done with its slots


def box(ring: str) -> str:
    """What counts the boxes that fill a ring."""
    return f"{TENSOR} {ring}"


@dataclass(slots=True)
class Turns:
    """The number below which the boxes of a ring have landed, as each lane knows it: by what it entered, or was told at a barrier."""

    lanes: Group
    own: Array

    def known(self, of: Array, by: Array) -> Array:
        """As those who ask know it, whoever began it."""
        return np.asarray(self.own[by])

    def barrier(self, scope: str, mask: Array) -> None:
        """Those of a block tell each other."""
        if scope == "block":
            self.own = np.where(mask, self.lanes.of_blocks(self.own).max(-1)[self.lanes.block], self.own)


@dataclass(slots=True)
class Rings:
    """Of a group: the sections of each role; who is of a role; what its threads knew when they gave a slot away; and where lanes are, at which turn."""

    sections: Mapping[Role, Section]
    members: dict[Role, Array] = field(default_factory=dict)
    given: dict[tuple[Role, int], dict[str, Array]] = field(default_factory=dict)
    here: Section | None = None
    turn: int = 0

    @property
    def role(self) -> Role | None:
        """In which section lanes are."""
        return None if self.here is None else (self.here.enter.ring, self.here.enter.way)

    def enter(self, step: Enter, turn: int, mask: Array, told: Mapping[str, Told], boxes: Turns) -> None:
        """The lanes of the mask have waited for a slot, and know what they were told by who gave it away."""
        role = step.ring, step.way
        self.here, self.turn, self.members[role] = self.sections[role], turn, mask
        boxes.own = np.where(mask, np.maximum(boxes.own, self.landed(turn)), boxes.own)
        for way in (FILL, USE):
            for name, numbers in self.given.get(((step.ring, way), self.since(way)), {}).items():
                told[name].far[step.ring, way, step.way] = self.members[step.ring, way], mask, numbers

    def landed(self, turn: int) -> int:
        """Below which turn boxes have landed, as who enters this one knows."""
        assert self.here is not None, "it was entered"
        return turn + 1 if self.here.enter.way == USE else turn - self.here.slots + 1

    def since(self, way: str) -> int:
        """The last turn of a role that is over where lanes are now."""
        assert self.here is not None, "it was entered"
        behind = self.sections[self.here.enter.ring, way].leave.behind
        return self.turn if (way, self.here.enter.way) == (FILL, USE) else self.turn - self.here.slots + behind

    def leave(self, step: Leave, told: Mapping[str, Told]) -> None:
        """They give it away."""
        self.given[(step.ring, step.way), self.turn] = {name: one.own.copy() for name, one in told.items()}
        self.here = None

    def before(self, other: Role | None) -> int | None:
        """From which turn on what was done in a section is not ordered before what is done here; none where it is not this ring's section."""
        if self.here is None or other is None or other[0] != self.here.enter.ring:
            return None
        return self.turn + 1 if (other[1], self.here.enter.way) == (FILL, USE) else self.turn - self.here.slots + 1
