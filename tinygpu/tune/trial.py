"""One candidate in a process of its own: proved, built, compared with the incumbent, and timed in turns with it.

    text ─check→ proof ─emit→ module ─load→ call          ratio = median(ours) / median(the incumbent's), of calls in turns

Comes in: a `Job`. Goes out: what was said until it ended, or until its time was over. The one idea: whatever a candidate does, it does to its own process; what it had said by then counts, and no
time is kept that was not taken beside the incumbent's.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tinygpu.record import dataclass, field

END = b"\0END\0"
SLOW = 8  # times as slow as the incumbent: enough is known
FEWEST, MOST = 3, 15  # rounds of a trial
NEAR = 1e-2  # of the largest element: what rounding does to any order of a sum is less


@dataclass(frozen=True, slots=True)
class Kernel:
    """A module, and its launcher."""

    module: str
    launcher: str


@dataclass(frozen=True, slots=True)
class Job:
    """A spec with a machine, at some sizes, against an incumbent."""

    text: str
    machine: str
    sizes: Mapping[str, int]
    rival: Kernel | None = None
    seconds: float = 0.8
    below: float | None = None  # the incumbent's seconds: what cannot take less is not timed
    timed: Mapping[str, float] = field(default_factory=dict)  # ratios by layout: what a CPU runs alike is not timed again


@dataclass(frozen=True, slots=True)
class Said:
    """What is known of a candidate: a verdict, or `bounded`, `same`, `late`, `crash`, `wrong`; its time as a part of the incumbent's, its seconds, and what each step took."""

    verdict: str
    why: str = ""
    ratio: float | None = None
    seconds: float | None = None
    rounds: int = 0
    kernel: Kernel | None = None
    steps: Mapping[str, float] = field(default_factory=dict)
    layout: str = ""


def attempted(job: Job, limit: float) -> Said:
    """What a process says of a job in at most so many seconds."""
    found = in_process(lambda say: _tried(job, say), limit)
    verdict = found.pop("verdict", "crash")
    if "error" in found:
        verdict = "crash"
    elif "late" in found and verdict in ("proved", "crash"):
        verdict = "late"
    known = {name: found.get(name) for name in ("ratio", "seconds", "kernel")}
    steps = {name: value for name, value in found.items() if name in ("check", "emit", "compile")}
    why, layout = (str(found.get(name, "")) for name in ("why", "layout"))
    why = str(found.get("error", why))
    return Said(verdict, why, rounds=int(found.get("rounds", 0)), steps=steps, layout=layout, **known)


def in_process(work: Callable[[Callable[..., None]], None], limit: float) -> dict[str, Any]:
    """What `work` says, step by step, in a process that is killed when its time is over: `late` then, and `error` where it broke."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _alone(work, writing)
    os.close(writing)
    data, end, found = b"", time.monotonic() + limit, dict[str, Any]()
    while True:
        ready, _, _ = select.select([reading], [], [], max(0.0, end - time.monotonic()))
        if not ready:
            os.kill(child, signal.SIGKILL)
            found["late"] = True
            break
        more = os.read(reading, 1 << 20)
        if not more:
            break
        data += more
    os.waitpid(child, 0)
    os.close(reading)
    for part in data.split(END)[:-1]:
        found |= pickle.loads(part)
    return found


def _alone(work: Callable[[Callable[..., None]], None], writing: int) -> None:
    """The child: it says what it finds, and ends whatever happens."""

    def say(**known: Any) -> None:
        os.write(writing, pickle.dumps(known) + END)

    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        work(say)
    except Exception as error:  # noqa: BLE001  # a candidate may do anything: what it did is said
        say(error=f"{type(error).__name__}: {error}"[:300])
    finally:
        os._exit(0)


def _tried(job: Job, say: Callable[..., None]) -> None:
    from tinygpu import pipeline
    from tinygpu.diagnostic import TinygpuError
    from tinygpu.emit.module import launcher_names
    from tinygpu.tune.prune import layout, slower

    start = time.perf_counter()
    try:
        (machine, *_) = (m for m in pipeline.load_text(job.text).machines if m.name == job.machine)
        verdict = pipeline.check(machine)
    except TinygpuError as error:
        say(verdict="refused", why=f"{error.diagnostics[0].code} {error.diagnostics[0].title}", check=time.perf_counter() - start)
        return
    if not isinstance(verdict, pipeline.Proof):
        first = verdict.diagnostic if isinstance(verdict, pipeline.Refutation) else verdict.diagnostics[0]
        say(verdict=first.verdict, why=f"{first.code} {first.title}", check=time.perf_counter() - start)
        return
    say(verdict="proved", check=time.perf_counter() - start)
    start = time.perf_counter()
    built = pipeline.built(verdict, machine)
    key = layout(runs := built.cpu or built.program)
    say(layout=key)
    if key in job.timed:
        say(verdict="same", why="a CPU runs it as it runs one that was timed", ratio=job.timed[key])
        return
    if why := slower(runs, job.sizes, job.below):
        say(verdict="bounded", why=why)
        return
    text = pipeline.module(job.machine, [built])
    kernel = Kernel(text, launcher_names([machine])[0])
    say(kernel=kernel, emit=time.perf_counter() - start)
    calls = prepared((kernel, *((job.rival,) if job.rival else ())), machine.op, job.sizes, say)
    if calls is not None:
        say(**timed(calls, job.seconds))


def prepared(
    kernels: Sequence[Kernel], op: Any, sizes: Mapping[str, int], say: Callable[..., None]
) -> list[Callable[[], Any]] | None:
    """The calls of kernels on the same arrays; None where their results differ, which is said."""
    import numpy as np

    from tinygpu.run.load import load
    from tinygpu.simulate.inputs import random_inputs

    inputs = random_inputs(op, sizes)
    arguments = [inputs[t.name] for t in op.inputs]
    calls: list[Callable[[], Any]] = []
    first: list[Any] | None = None
    for kernel in kernels:
        launcher = getattr(load(kernel.module), kernel.launcher)
        start = time.perf_counter()
        out = launcher(*arguments)
        if first is None:
            say(compile=time.perf_counter() - start)
        results = list(out) if isinstance(out, tuple) else [out]
        mine = [np.asarray(r, np.float64) for r in results]
        first = first or mine
        if any(
            np.abs(a - b).max(initial=0.0) > NEAR * (np.abs(a).max(initial=0.0) + 1e-9) for a, b in zip(first, mine, strict=True)
        ):
            say(verdict="wrong", why="its results are not the incumbent's")
            return None
        calls.append(lambda launcher=launcher, out=out: launcher(*arguments, out=out))  # type: ignore[misc]
    return calls


def timed(calls: Sequence[Callable[[], Any]], limit: float) -> dict[str, Any]:
    """Seconds of the first of two calls that are made in turns, and its part of the other one's."""
    taken: list[list[float]] = [[] for _ in calls]
    end = time.perf_counter() + limit
    while len(taken[0]) < MOST and (len(taken[0]) < FEWEST or time.perf_counter() < end):
        for call, mine in zip(calls, taken, strict=True):
            start = time.perf_counter()
            call()
            mine.append(time.perf_counter() - start)
        if len(calls) > 1 and len(taken[0]) > 1 and min(taken[0]) > SLOW * min(taken[1]):
            break
    medians = [statistics.median(one) for one in taken]
    ratio = {"ratio": medians[0] / medians[1]} if len(calls) > 1 else {}
    return {"seconds": medians[0], "rounds": len(taken[0]), **ratio}
