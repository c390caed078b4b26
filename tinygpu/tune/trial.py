"""One candidate in a process of its own: proved, built, compared with the incumbent, and timed in turns with it.

    text ─check→ proof ─emit→ module ─load→ call          ratio = median(ours) / median(the incumbent's), of calls in turns

Comes in: a `Job`. Goes out: what was said until it ended, or until its time was over. The one idea: whatever a candidate does, it does to its own process; what it had said by then counts, and no
time is kept that was not taken beside the incumbent's.
"""

from __future__ import annotations

import importlib
import inspect
import os
import pickle
import signal
import statistics
import threading
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any

from tinygpu.record import dataclass, field
from tinygpu.tune.clock import Steps
from tinygpu.tune.host import Host, here

END = b"\0END\0"
STEPS = ("check", "emit", "compile", "compare", "time")  # of a trial, in order; and what was waited
OPEN = 1 << 16  # files that a process may have open
FORKING = threading.Lock()  # a child forked meanwhile would keep the pipe of another one open
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
    """A spec with a machine, of one of its ops if it has several, at some sizes, against an incumbent."""

    text: str
    machine: str
    sizes: Mapping[str, int]
    rival: Kernel | None = None
    seconds: float = 0.8
    op: str = ""
    below: float | None = None  # the incumbent's seconds: what cannot take less is not timed
    timed: Mapping[str, float] = field(default_factory=dict)  # ratios by layout: what a CPU runs alike is not timed again


@dataclass(frozen=True, slots=True)
class Said:
    """What is known of a candidate: a verdict, or `bounded`, `same`, `late`, `crash`, `wrong`, `killed`; its time as a part of the incumbent's, its seconds, what each step took, where,
    and the key of what a CPU runs."""

    verdict: str
    why: str = ""
    ratio: float | None = None
    seconds: float | None = None
    rounds: int = 0
    kernel: Kernel | None = None
    steps: Mapping[str, float] = field(default_factory=dict)
    host: Host | None = None
    layout: str = ""


def attempted(job: Job, limit: float) -> Said:
    """What a process says of a job in at most so many seconds, without those that it waited."""
    with FORKING:
        _warm()
    start = time.perf_counter()
    found = in_process(lambda say: _tried(job, say), limit)
    took = time.perf_counter() - start
    verdict = found.pop("verdict", "crash")
    if "killed" in found:
        verdict = "killed"
    elif "error" in found:
        verdict = "crash"
    elif "late" in found and verdict in ("proved", "crash"):
        verdict = "late"
    known = {name: found.get(name) for name in ("ratio", "seconds", "kernel")}
    steps = _steps(found, took, verdict in ("late", "crash"))
    why, layout = str(found.get("error", found.get("why", ""))), str(found.get("layout", ""))
    return Said(verdict, why, rounds=int(found.get("rounds", 0)), steps=steps, host=here(), layout=layout, **known)


def _steps(found: Mapping[str, Any], took: float, ended: bool) -> dict[str, float]:
    """What each step took; of a process that ended before, the step under way took the rest."""
    steps = {name: float(found[name]) for name in (*STEPS, "wait") if name in found}
    if "compare" in steps:
        steps["compare"] -= steps.get("compile", 0.0)
    under_way = next((name for name in STEPS if name not in steps), None)
    if ended and under_way is not None:
        steps[under_way] = max(0.0, took - sum(steps.values()))
    return steps


@cache
def _warm() -> None:
    """What every candidate needs, once, before processes are forked: modules, and the tables that numba fills when it compiles its first function, in a second."""
    for name in ("tinygpu.pipeline", "tinygpu.run.load", "tinygpu.simulate.inputs", "tinygpu.proof.kernel", "z3"):
        importlib.import_module(name)
    importlib.import_module("numba").njit(lambda x: x)(0.0)


def in_process(work: Callable[[Callable[..., None]], None], limit: float) -> dict[str, Any]:
    """What `work` says, step by step, in a process that ends when its time is over: `late` then, `killed` where somebody else ended it, and `error` where it broke."""
    with FORKING, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads: none of them holds what a child needs
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            _alone(work, writing, limit)
        os.close(writing)
    with open(reading, "rb") as pipe:
        data = pipe.read()
    _, status = os.waitpid(child, 0)
    found = dict[str, Any]()
    for part in data.split(END)[:-1]:
        found |= pickle.loads(part)
    match os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0:
        case 0:
            return found
        case signal.SIGALRM:
            return found | {"late": True}
        case signal.SIGKILL | signal.SIGINT | signal.SIGTERM:
            return found | {"killed": True}
        case number:
            return found | {"error": f"ended by {signal.Signals(number).name}"}


def _alone(work: Callable[[Callable[..., None]], None], writing: int, limit: float) -> None:
    """The child: it says what it finds, and ends whatever happens; it has nothing of what its parent has open."""

    def say(**known: Any) -> None:
        os.write(writing, pickle.dumps(known) + END)

    try:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM):
            signal.signal(number, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, limit)
        os.closerange(3, writing)
        os.closerange(writing + 1, OPEN)
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

    steps = Steps(say)
    try:
        with steps.step("check"):
            (machine, *_) = (
                m for m in pipeline.load_text(job.text).machines if m.name == job.machine and job.op in ("", m.op.family)
            )
            verdict = pipeline.check(machine)
    except TinygpuError as error:
        say(verdict="refused", why=f"{error.diagnostics[0].code} {error.diagnostics[0].title}")
        return
    if not isinstance(verdict, pipeline.Proof):
        first = verdict.diagnostic if isinstance(verdict, pipeline.Refutation) else verdict.diagnostics[0]
        say(verdict=first.verdict, why=f"{first.code} {first.title}")
        return
    say(verdict="proved")
    with steps.step("emit"):
        built = pipeline.built(verdict, machine)
        key = layout(runs := built.cpu or built.program)
        say(layout=key)
        if key in job.timed:
            say(verdict="same", why="a CPU runs it as it runs one that was timed", ratio=job.timed[key])
            return
        if why := slower(runs, job.sizes, job.below):
            say(verdict="bounded", why=why)
            return
        try:
            kernel = Kernel(pipeline.sound(job.machine, [built]), launcher_names([machine])[0])
        except TinygpuError as error:  # nobody could build it
            say(verdict="refused", why=f"{error.diagnostics[0].code} {error.diagnostics[0].title}")
            return
    say(kernel=kernel)
    with steps.step("compare"):
        calls = prepared((kernel, *((job.rival,) if job.rival else ())), machine.op, job.sizes, say)
    if calls is not None:
        with steps.step("time", alone=True):
            found = timed(calls, job.seconds)
        say(**found)


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
        said = {name: sizes[name] for name in inspect.signature(launcher).parameters if name in sizes}  # that no input tells
        launcher = partial(launcher, **said)
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
