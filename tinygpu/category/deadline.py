"""How long, and how much memory, a piece of work may take: the outer fence of what budgets of steps do not bound.

Comes in: seconds. Goes out: what the work gives, or `Expired` with what was being done. The one idea: the few functions that everything long
goes through look at the clock, in a context of whoever works, so nobody hands a limit on; and what ends so is an exception, so it is no answer
that anybody could remember.

>>> with within(60): look()
>>> with within(0), about("that no two threads meet"):
...     look()
Traceback (most recent call last):
tinygpu.category.deadline.Expired: the time limit of 0 s was over
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from mmap import PAGESIZE
from time import monotonic

from tinygpu.diagnostic import Label

TIME = 120.0  # seconds for a machine: several times what any machine of `specs/` takes
ROOM = 3 << 29  # bytes that the work may add to what the process holds
OFTEN = 0.05  # seconds from one look at the memory to the next
SLACK = 0.02  # seconds that a solver gets beyond the limit, so that it is over when it gives up for it
Doing = tuple[str, tuple[Label, ...]]  # a sentence, and where
NOTHING: Doing = ("", ())


class Expired(Exception):
    """The limit was reached; `what` was being done, at `labels`."""

    def __init__(self, reason: str, what: str, labels: tuple[Label, ...]) -> None:
        super().__init__(reason)
        self.what, self.labels = what, labels


class Withdrawn(BaseException):
    """Nobody wants any more what was being done."""


class Fence:
    """A limit: when it is over, what the process held before, when to look again, and what is being done."""

    __slots__ = ("before", "doing", "end", "next", "seconds")
    doing: Doing

    def __init__(self, seconds: float, around: Fence | None) -> None:
        self.seconds, self.doing = seconds, around.doing if around else NOTHING
        self.end, self.before, self.next = monotonic() + seconds, resident(), 0.0
        if around is not None and around.end < self.end:  # who works for somebody has no more time than that one
            self.end, self.seconds = around.end, around.seconds

    def look(self, now: float) -> None:
        """Raises Expired where the limit is reached."""
        self.next = min(now + OFTEN, self.end)
        if now >= self.end:
            raise Expired(f"the time limit of {self.seconds:g} s was over", *self.doing)
        if resident() - self.before > ROOM:
            self.full()

    def full(self) -> None:
        """Says that no memory is left."""
        raise Expired(f"it took more than {ROOM / 1e9:.1f} GB of memory", *self.doing)


FENCE: ContextVar[Fence | None] = ContextVar("fence", default=None)
UNWANTED: list[int] = []  # the signals that said so
LATEST: list[Doing] = [NOTHING]  # of this process, for another thread that says what takes long


def look() -> None:
    """Raises Expired where the work around has taken too long, or too much memory, and Withdrawn where nobody wants it any more."""
    if UNWANTED:
        raise Withdrawn
    fence = FENCE.get()
    if fence is not None and (now := monotonic()) >= fence.next:
        fence.look(now)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """The work inside may take so long, and no longer than what is around it may."""
    token = FENCE.set(Fence(seconds, FENCE.get()))
    try:
        yield
    finally:
        FENCE.reset(token)


def doing(what: str, labels: tuple[Label, ...]) -> None:
    """What the work is about from now on, for the message if it takes too long."""
    if (fence := FENCE.get()) is not None:
        fence.doing = LATEST[0] = what, labels


@contextmanager
def about(what: str, labels: tuple[Label, ...] = ()) -> Iterator[None]:
    """What the work inside is about; where it is ended, that stays."""
    fence = FENCE.get()
    before = fence.doing if fence else NOTHING
    doing(what, labels)
    yield
    doing(*before)


def left() -> float:
    """Seconds that are left, infinitely many where there is no limit."""
    fence = FENCE.get()
    return math.inf if fence is None else max(0.0, fence.end - monotonic())


def room() -> int:
    """Bytes that the work may still add; where there is no limit, as many as any work may."""
    fence = FENCE.get()
    return ROOM if fence is None else max(0, ROOM - resident() + fence.before)


def full() -> None:
    """What was done needs more than `room()`: raises Expired where there is a limit."""
    if (fence := FENCE.get()) is not None:
        fence.full()


def resident() -> int:
    """Bytes that the process holds; 0 where the system does not say it as Linux does."""
    with suppress(OSError, ValueError, IndexError), open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * PAGESIZE
    return 0
