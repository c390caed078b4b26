"""Work that takes long: on several cores, with the same answers in the same order, and saying meanwhile what is being done.

Comes in: how many pieces of work there are, and what does one. Goes out: the answers, one after the other. The one idea: a forked process has
all that was read and derived before, takes pieces from a pipe that all share, as this one does while it waits, and sends answers through one of
its own; a piece that ends without an answer, for whatever reason, is done here again, so that nothing is lost and errors are raised where they always are.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pickle
import re
import select
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any, TypeVar

from tinygpu.category.deadline import LATEST
from tinygpu.proof.words import INTERNAL
from tinygpu.report import at_terminal

T = TypeVar("T")

NUMBER = 4  # bytes of the number of a piece, and of the length of an answer
FEW = 8  # pieces for each process: with more the first answer would be long in coming, and the last piece matters little
MOST = 1 << 13  # pieces whose numbers a pipe holds
DIES_WITH_PARENT = 1  # PR_SET_PDEATHSIG of Linux
ROOM = 1031, 1 << 20  # F_SETPIPE_SZ of Linux, and bytes of answers that nobody has taken yet
LONG = 10  # turns after which it is said at what a piece of work is
BAR = 10  # characters
CLEAR = "\r\x1b[K"  # what takes back the line of a terminal
MANY = 64  # processes that may be asked for where there are fewer cores
WATCHES = "says what is being done"  # the name of a thread that holds nothing while a process is forked
SAYING = threading.Lock()


def cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processes(asked: int) -> int:
    """How many processes work at once: one for each core, or as many as are asked for, but not thousands."""
    return min(asked, max(MANY, cores())) if asked else cores()


def together(count: int, work: Callable[[int], T], jobs: int, size: Callable[[int], int] = lambda _: 0) -> Iterator[T]:
    """`work(0), …, work(count − 1)` by up to `jobs` processes, this one among them, few pieces the largest first; by this one alone where there is nothing to gain, or
    where a process cannot safely be forked: elsewhere than on Linux, or with threads.

    >>> list(together(3, lambda number: number * number, 2)), list(together(2, str, 1))
    ([0, 1, 4], ['0', '1'])
    """
    if min(count, jobs) < 2 or count > MOST or sys.platform != "linux" or threaded():
        return map(work, range(count))
    queue, fill = os.pipe()
    order: Sequence[int] = range(count)
    if count <= FEW * jobs:  # else the longest may be begun when the others are done
        order = sorted(order, key=size, reverse=True)
    os.write(fill, b"".join(number.to_bytes(NUMBER, "little") for number in order))
    os.close(fill)
    return _answers(count, work, queue, [_forked(queue, work) for _ in range(min(count, jobs) - 1)])


def spread(jobs: int) -> Callable[[Callable[[Any], T], Sequence[Any]], Iterator[T]]:
    """`map` of a function over a sequence, by up to so many processes.

    >>> list(spread(2)(str, (1, 2, 3)))
    ['1', '2', '3']
    """
    return lambda work, items: together(len(items), lambda number: work(items[number]), jobs)


def threaded() -> bool:
    """Whether there are threads that may hold something while a process is forked."""
    return any(one is not threading.current_thread() and one.name != WATCHES for one in threading.enumerate())


def _answers(count: int, work: Callable[[int], T], queue: int, processes: list[tuple[int, int]]) -> Iterator[T]:
    try:
        yield from _in_order(count, work, queue, {answers: b"" for _, answers in processes})
    finally:
        os.close(queue)
        for process, answers in processes:
            os.close(answers)
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(process, 0)


def _forked(queue: int, work: Callable[[int], T]) -> tuple[int, int]:
    """A process that works until nothing is left to do, and where its answers arrive."""
    import fcntl  # which is Linux's

    answers, send = os.pipe()
    with contextlib.suppress(OSError):
        fcntl.fcntl(send, ROOM[0], ROOM[1])
    parent = os.getpid()
    with SAYING:
        process = os.fork()
    if process:
        os.close(send)
        return process, answers
    try:
        ctypes.CDLL(None).prctl(DIES_WITH_PARENT, signal.SIGKILL)
        while (piece := os.read(queue, NUMBER)) and os.getppid() == parent:
            answer = pickle.dumps(work(int.from_bytes(piece, "little")))
            rest = memoryview(piece + len(answer).to_bytes(NUMBER, "little") + answer)
            while rest:
                rest = rest[os.write(send, rest) :]
    finally:
        os._exit(0)  # says nothing: what is not answered is asked again, and what the parent has yet to print is not printed twice


def _in_order(count: int, work: Callable[[int], T], queue: int, open: dict[int, bytes]) -> Iterator[T]:
    """The answers, each as soon as it and all before it are there; as long as one is not, the next piece is done here."""
    found: dict[int, T] = {}
    for number in range(count):
        while number not in found and (piece := os.read(queue, NUMBER)):
            with contextlib.suppress(Exception):  # which is raised where its answer is asked for
                found[int.from_bytes(piece, "little")] = work(int.from_bytes(piece, "little"))
            _arrived(open, found, 0)
        while number not in found and open:
            _arrived(open, found, None)
        yield found.pop(number) if number in found else work(number)


def _arrived(open: dict[int, bytes], found: dict[int, T], wait: float | None) -> None:
    """What processes have answered: it is waited for so long, or for ever."""
    for answers in select.select(list(open), [], [], wait)[0]:
        read = os.read(answers, ROOM[1])
        open[answers] += read
        if not read:
            del open[answers]
        else:
            open[answers] = _taken(open[answers], found)


def _taken(read: bytes, found: dict[int, T]) -> bytes:
    """What is left after whole answers are taken out."""
    while len(read) >= 2 * NUMBER:
        end = 2 * NUMBER + int.from_bytes(read[NUMBER : 2 * NUMBER], "little")
        if len(read) < end:
            break
        found[int.from_bytes(read[:NUMBER], "little")] = pickle.loads(read[2 * NUMBER : end])
        read = read[end:]
    return read


def under_way() -> str:
    """The claim that this process is at, in so far as it is one of the spec, and the line that it is about."""
    what, labels = LATEST[0]
    place = next((f"line {label.span.line}" for label in labels if label.span.line), "")
    return ": ".join(part for part in (place, "" if INTERNAL.search(what) else what) if part)


class Progress:
    """Says at a terminal what is being done, once a second has passed, and after ten of them at what it is: `with Progress() as now: now("matmul_tile")`.
    Into a pipe it says nothing."""

    def __init__(self, patience: float = 1.0):
        self.patience, self.doing, self.began = patience, "", time.perf_counter()
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True, name=WATCHES)
        self.live = at_terminal(sys.stderr)

    def __enter__(self) -> Callable[[str], None]:
        if self.live:
            self.thread.start()

        def now(what: str) -> None:
            self.doing = what

        return now

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.over.set()
        if self.live:
            self.thread.join()

    def _watch(self) -> None:
        """One line, which is written over."""
        said, turn = "", 0
        while not self.over.wait(self.patience):
            turn, seconds = turn + 1 if self.doing == said else 0, time.perf_counter() - self.began
            part = f": {under_way()}" if turn >= LONG else ""
            text = f"{bar(self.doing)}{self.doing} … {seconds:.0f} s{part}"[: shutil.get_terminal_size().columns - 1]
            with SAYING:
                print(f"{CLEAR}{text}", end="", file=sys.stderr, flush=True)
            said = self.doing
        if said:
            print(CLEAR, end="", file=sys.stderr, flush=True)


def bar(doing: str) -> str:
    """What is done before this one, where that is said.

    >>> bar("checking scale (3 of 10)"), bar("reading")
    ('[##........] ', '')
    """
    found = re.search(r"\((\d+) of (\d+)\)$", doing)
    done = BAR * (int(found[1]) - 1) // max(1, int(found[2])) if found else 0
    return f"[{'#' * done}{'.' * (BAR - done)}] " if found else ""
