"""The clock of a host: steps of trials, of which any number may be under way, but nothing beside one that is timed.

    beside : prove, emit, compile, compare, ask          alone : time          a step takes its turn before it takes the clock

Comes in: steps, in whichever processes of a host. Goes out: what each took, and what was waited for. The one idea: a lock of files belongs to a process and goes with it, so whoever is killed lets
go; and whoever waits for the clock holds the turn, so that nobody who comes later goes before.
"""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tinygpu.record import dataclass


@contextlib.contextmanager
def clocked(alone: bool = False) -> Iterator[float]:
    """The clock of this host, shared, or alone; yields the seconds that were waited for it, which no deadline counts."""
    import fcntl

    left, _ = signal.setitimer(signal.ITIMER_REAL, 0)
    start = time.perf_counter()
    turn = _locked("turn", fcntl.LOCK_EX)
    clock = _locked("clock", fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
    os.close(turn)
    try:
        signal.setitimer(signal.ITIMER_REAL, left)
        yield time.perf_counter() - start
    finally:
        os.close(clock)


def _locked(name: str, how: int) -> int:
    """An open file that is locked until it is closed."""
    import fcntl

    file = os.open(Path(tempfile.gettempdir()) / f"tinygpu-{os.getuid()}.{name}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(file, how)
    return file


@dataclass(slots=True)
class Steps:
    """Says what each step took, in seconds, and what all of them have waited for."""

    say: Callable[..., None]
    waited: float = 0.0

    @contextlib.contextmanager
    def step(self, name: str, alone: bool = False) -> Iterator[None]:
        """A step, with the clock."""
        with clocked(alone) as waited:
            self.waited += waited
            start = time.perf_counter()
            try:
                yield
            finally:
                self.say(**{name: time.perf_counter() - start, "wait": self.waited})
