"""The process that proves for an editor.

Comes in: jobs, on standard input. Goes out: verdicts and costs, on standard output, each as soon as it is there. The one idea: this process has everything imported and has proved
something once, and forks one for each job; a job is ended by ending its process, and what it has found by then is kept.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import os
import pickle
import select
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from tinygpu.commands.common import bug, prepare
from tinygpu.commands.together import DIES_WITH_PARENT
from tinygpu.lsp.read import load, without_broken
from tinygpu.lsp.verdicts import Job, judged

LENGTH = 4  # bytes of the length of a message
HEAVY = (
    "proof.check",
    "proof.summary",
    "proof.certificate",
    "proof.counterexample",
    "commands.kept",
    "commands.costs",
    "algebra.verdict",
)
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
    if sys.platform == "linux":
        serve()
        return
    while message := read_whole(sys.stdin.fileno()):  # elsewhere a job is not ended before it is done
        work(pickle.loads(message), lambda found: _write(sys.stdout.fileno(), found))


def warm() -> None:
    """What every job would do first: imports, the parser, the solver, a counterexample."""
    for name in HEAVY:
        importlib.import_module(f"tinygpu.{name}")
    from tinygpu import pipeline

    for machine in pipeline.load_text(WARM).machines:
        pipeline.check(machine)
    gc.freeze()  # what is shared by all that are forked is looked at by none


def serve() -> None:
    """Jobs in processes of their own: of each text the latest."""
    running: dict[int, tuple[str, int]] = {}  # where answers arrive, with the text that they are of, and the process
    source, out = sys.stdin.fileno(), sys.stdout.fileno()
    while True:
        for ready in select.select([source, *running], [], [])[0]:
            if ready != source:
                if part := os.read(ready, 1 << 16):
                    _forward(ready, part, out)
                else:
                    _end(running, ready)
                continue
            message = read_whole(source)
            if not message:
                return
            job: Job = pickle.loads(message)
            for answers in [n for n, (uri, _) in running.items() if uri == job.uri]:
                _end(running, answers)
            if job.wanted or job.costs:
                running |= _forked(job)


def _forward(answers: int, begun: bytes, out: int) -> None:
    """A whole message goes on; of one that is not whole, because its process ends, nothing does."""
    while len(begun) < LENGTH or len(begun) < LENGTH + int.from_bytes(begun[:LENGTH], "little"):
        part = os.read(answers, 1 << 16)
        if not part:
            return
        begun += part
    length = LENGTH + int.from_bytes(begun[:LENGTH], "little")
    _all(out, begun[:length])
    if begun[length:]:
        _forward(answers, begun[length:], out)


def _end(running: dict[int, tuple[str, int]], answers: int) -> None:
    """A job is over."""
    _, process = running.pop(answers)
    os.close(answers)
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)
    with suppress(ChildProcessError):
        os.waitpid(process, 0)


def _forked(job: Job) -> dict[int, tuple[str, int]]:
    """A process that does a job, and where its answers arrive."""
    answers, send = os.pipe()
    process = os.fork()
    if process:
        os.close(send)
        return {answers: (job.uri, process)}
    try:
        ctypes.CDLL(None).prctl(DIES_WITH_PARENT, signal.SIGKILL)
        os.dup2(os.open(os.devnull, os.O_RDWR), sys.stdout.fileno())  # who prints is not understood
        work(job, lambda found: _write(send, found))
    except Exception as error:  # a bug of ours becomes a message
        _write(send, (job.uri, job.number, bug(error)))
        raise
    finally:
        os._exit(0)


def work(job: Job, send: Callable[[Any], None]) -> None:
    """A job, each of its answers when it is there; the end is one, too."""
    spec, _ = load(without_broken(job.text, job.path)[0], job.path)
    if spec is not None:
        for found in judged(spec, job):
            send((job.uri, job.number, found))
    send((job.uri, job.number, None))


def _write(target: int, message: Any) -> None:
    data = pickle.dumps(message)
    _all(target, len(data).to_bytes(LENGTH, "little") + data)


def _all(target: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(target, rest) :]


def read_whole(source: int) -> bytes:
    """The next message; nothing at the end."""
    head = _exactly(source, LENGTH)
    return _exactly(source, int.from_bytes(head, "little")) if head else b""


def _exactly(source: int, length: int) -> bytes:
    """So many bytes; nothing where they end before."""
    read = b""
    while len(read) < length:
        part = os.read(source, length - len(read))
        if not part:
            return b""
        read += part
    return read


if __name__ == "__main__":
    main()
