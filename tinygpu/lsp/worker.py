"""The process that proves for an editor.

Comes in: jobs, on standard input. Goes out: verdicts and costs, on standard output, each as soon as it is there. The one idea: this process has everything imported and has proved
something once, and forks those that work; one that has done a job does the next one of the same text, for it remembers what solvers have answered; it gives up a job that nobody wants any more,
or is ended if it cannot soon, and what it has found by then is kept.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import math
import os
import select
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import Any

from tinygpu.category.deadline import UNWANTED, Withdrawn
from tinygpu.commands.common import bug, prepare
from tinygpu.commands.together import DIES_WITH_PARENT
from tinygpu.diagnostic import Diagnostic
from tinygpu.lsp.pipes import receive, send
from tinygpu.lsp.read import what_is_right
from tinygpu.lsp.verdicts import Job, judged
from tinygpu.record import dataclass
from tinygpu.run.verdicts import version

IDLE = 3  # processes that wait for a job
GRACE = 0.1  # seconds in which a process gives up a job: what solvers are at, it does not
HEAVY = (
    "proof.check",
    "proof.summary",
    "proof.certificate",
    "proof.counterexample",
    "commands.kept",
    "commands.costs",
    "algebra.verdict",
)
ENDED = Diagnostic("TG937", "the process that proves has ended", helps=("the next change begins it again",))
WARM = """op f(x: f32[R, N]) -> (y: f32[R]) { y[r] = sum[j] x[r, j] }
machine a : f {
  work grid = (g), block = (w: 4, lane: 32)
  compute r = (g, w), j = (c, lane, v: 4)
  time c
  vector v
}
machine b : f {
  work grid = (g: ceil(R / 64)), block = (t: 64)
  program { y[g*64 + t] = 0.0 }
}
"""


def main() -> None:
    """Works until nobody sends anything any more."""
    prepare()
    warm()
    with suppress(EOFError, BrokenPipeError):
        if sys.platform == "linux":
            Pool().serve()
        while True:  # elsewhere a job is not ended before it is done
            work(receive(sys.stdin.fileno()), lambda found: send(sys.stdout.fileno(), found))


def warm() -> None:
    """What every job would do first: imports, the parser, the solver, a counterexample."""
    for name in HEAVY:
        importlib.import_module(f"tinygpu.{name}")
    from tinygpu import pipeline

    for machine in pipeline.load_text(WARM).machines:
        pipeline.check(machine)
    version()
    gc.freeze()  # what is shared by all that are forked is looked at by none


def work(job: Job, answer: Callable[[Any], None]) -> None:
    """A job, each of its answers when it is there; the end is one, too."""
    spec, _, _ = what_is_right(job.text, job.path)
    for found in judged(spec, job):
        answer((job.uri, job.number, found))
    answer((job.uri, job.number, None))


@dataclass(slots=True)
class Child:
    """A process, what it is told through, its job or its last one, whether it is at it, and the job that is wanted instead, since when."""

    process: int
    line: socket.socket
    job: Job = Job("", 0, "", "")
    busy: bool = False
    next: Job | None = None
    since: float = math.inf

    def give(self, job: Job) -> None:
        """Has it do a job, or give up the one that it is at, for this one."""
        if self.busy:
            self.next, self.since = job, min(self.since, monotonic())
            os.kill(self.process, signal.SIGUSR1)
        else:
            self.job, self.busy, self.next, self.since = job, True, None, math.inf
            send(self.line.fileno(), job)

    def heard(self, found: tuple[str, int, Any]) -> None:
        """Takes notice of an answer: at the end of a job there is none."""
        self.busy = found[2] is not None
        if not self.busy and self.next is not None:
            self.give(self.next)


class Pool:
    """The processes that work, the latest last."""

    def __init__(self) -> None:
        self.children: list[Child] = []

    def serve(self) -> None:
        """Hands jobs out, and answers on. Raises EOFError where there are no more jobs."""
        while True:
            lines = {child.line.fileno(): child for child in self.children}
            hurry = any(child.since < math.inf for child in self.children)
            for ready in select.select([sys.stdin.fileno(), *lines], [], [], GRACE if hurry else None)[0]:
                if ready in lines:
                    self.answered(lines[ready])
                else:
                    self.begin(receive(ready))
                    break  # some of those that are ready may be gone
            for late in [c for c in self.children if c.since + GRACE < monotonic()]:
                self.end(late)
                self.begin(late.next or late.job)

    def answered(self, child: Child) -> None:
        """An answer goes on; of one that ends, nothing does."""
        try:
            found = receive(child.line.fileno())
        except (EOFError, OSError):  # it has ended by itself, or the system has ended it
            self.end(child)
            if child.next is not None:
                self.begin(child.next)
            elif child.busy:
                send(sys.stdout.fileno(), (child.job.uri, child.job.number, ENDED))
            return
        child.heard(found)
        send(sys.stdout.fileno(), found)

    def begin(self, job: Job) -> None:
        """A job for whoever is at one of the same text, or has done one, or is free, or is made."""
        same = next((c for c in self.children if c.job.uri == job.uri), None)
        idle = [c for c in self.children if not c.busy]
        child = same or (idle[0] if len(idle) >= IDLE else None) or self.fork()
        self.children = [*(c for c in self.children if c is not child), child]
        child.give(job)

    def end(self, child: Child) -> None:
        """A process is over."""
        self.children.remove(child)
        child.line.close()
        with suppress(ProcessLookupError):
            os.kill(child.process, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(child.process, 0)

    def fork(self) -> Child:
        """A process that does jobs. What is unwanted is known from its first moment on: else the signal that says so would end it."""
        signal.signal(signal.SIGUSR1, lambda number, _: UNWANTED.append(number))
        mine, other = socket.socketpair()
        process = os.fork()
        if process:
            other.close()
            return Child(process, mine)
        try:
            ctypes.CDLL(None).prctl(DIES_WITH_PARENT, signal.SIGKILL)
            os.dup2(os.open(os.devnull, os.O_RDWR), sys.stdout.fileno())  # who prints is not understood
            line = other.fileno()
            while True:
                job = receive(line)
                UNWANTED.clear()
                try:
                    work(job, lambda found: send(line, found))
                except Withdrawn:
                    send(line, (job.uri, job.number, None))
                except Exception as error:  # a bug of ours becomes a message
                    send(line, (job.uri, job.number, bug(error)))
                    send(line, (job.uri, job.number, None))
                    raise
        finally:
            os._exit(0)


if __name__ == "__main__":
    main()
