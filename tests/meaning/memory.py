"""What threads share, and who has been there.

Comes in: accesses, each by a thread of a block, at a moment. Goes out: values; or a `Fault`, where a cell is outside, was never written, or
two threads meet at it. The one idea: two accesses are ordered if a barrier of both threads stands between them, and by nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.meaning.certain import Value
from tests.meaning.values import UNDEFINED, CannotJudge

WARP = 32
READ, STORE = "read", "store"  # an atomic update is the name of its monoid


class Fault(Exception):
    """What no machine may do."""


@dataclass(slots=True)
class Moment:
    """Where a thread is: its launch and block, its number there, and how many barriers of the block and of its warp it has passed."""

    block: int
    thread: int
    passed: int = 0
    warp_passed: int = 0

    def key(self) -> tuple[int, int, int, int]:
        return self.block, self.thread, self.passed, self.warp_passed


def ordered(a: tuple[int, int, int, int], b: tuple[int, int, int, int]) -> bool:
    """Whether two moments of one launch come one after the other on every machine."""
    if a[0] != b[0]:
        return False
    if a[1] == b[1] or a[2] != b[2]:
        return True
    return a[1] // WARP == b[1] // WARP and a[3] != b[3]


@dataclass(slots=True)
class Array:
    """Cells with what they hold and, where threads share them, who has been there in this launch. `once`: an output or a workspace."""

    name: str
    extents: tuple[int, ...]
    shared: bool = False
    once: bool = False
    cells: dict[tuple[int, ...], Value] = field(default_factory=dict)
    visits: dict[tuple[int, ...], list[tuple[str, tuple[int, int, int, int]]]] = field(default_factory=dict)
    loose: bool = False  # stored twice, or read and stored, in one launch, though in order: right, but nothing that is promised

    def place(self, index: tuple[Value, ...]) -> tuple[int, ...]:
        """The cell of an index, inside of the array."""
        place = tuple(i for i, _ in index)
        if any(i is UNDEFINED for i in place):
            raise Fault(f"{self.name} is accessed at an undefined index")
        if not all(0 <= i < n for i, n in zip(place, self.extents, strict=True)):
            raise Fault(f"{self.name}{list(place)} is outside of {list(self.extents)}")
        if not all(sure for _, sure in index):
            raise CannotJudge("an index that rounding decides")
        return place

    def read(self, place: tuple[int, ...], by: Moment) -> Value:
        """What a cell holds."""
        self.visit(READ, place, by)
        if place not in self.cells:
            raise Fault(f"{self.name}{list(place)} is read, which nobody wrote")
        return self.cells[place]

    def visit(self, kind: str, place: tuple[int, ...], by: Moment) -> None:
        """Notes an access."""
        if not self.shared:
            return
        now, before = by.key(), self.visits.setdefault(place, [])
        for other, then in before:
            if other == kind and kind != STORE:
                continue
            if not ordered(then, now):
                raise Fault(f"{self.name}{list(place)}: a {other} of thread {then[:2]} meets a {kind} of thread {now[:2]}")
            self.loose |= self.once
        if (kind, now) not in before:
            before.append((kind, now))

    def launched(self) -> None:
        """A launch begins: all that was is before it."""
        self.visits = {}
