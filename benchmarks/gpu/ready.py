"""What is made ready before anything runs: every machine proved, emitted and compiled for the GPU at hand, by all cores.

Comes in: the names of specs, an architecture. Goes out: for each machine the text of its module, and machine code on the disk.
The one idea: proving and compiling need no GPU, so they are done by processes that never see it, and the GPU waits for nobody.
"""

from __future__ import annotations

import inspect
import multiprocessing
import os
import time
from collections.abc import Generator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import cache
from typing import Any

from benchmarks.case import ROOT
from benchmarks.gpu.device import DeviceArray, Gpu, in_a_line
from tinygpu import pipeline
from tinygpu.category.evaluate import evaluate
from tinygpu.hardware.arch import CPU
from tinygpu.model.machine import Machine
from tinygpu.program.step import Program
from tinygpu.run.load import load


@dataclass(frozen=True, slots=True)
class Made:
    """A machine ready to be called: `refused` says why it is not. `seconds` are those of its proof, and of compiling its kernels."""

    spec: str
    title: str
    launcher: str = ""
    text: str = ""
    refused: str = ""
    seconds: tuple[float, float] = (0.0, 0.0)


def specs() -> list[str]:
    """All specs, by name."""
    return sorted(path.stem for path in (ROOT / "specs").glob("*.tgpu"))


@cache
def machines(spec: str) -> dict[str, Machine]:
    """The machines of a spec by title."""
    return {m.title: m for m in pipeline.load(ROOT / "specs" / f"{spec}.tgpu").machines}


@cache
def program(spec: str, title: str) -> Program:
    """The program that runs: with a cell for each component of a value."""
    from tinygpu.derive.unpack import unpack

    return unpack(pipeline.program(machines(spec)[title]))


def make(spec: str, arch: tuple[int, int], titles: Sequence[str] | None = None) -> list[Made]:
    """The machines of a spec, one after the other. Raises nothing: what goes wrong is written down."""
    found = []
    for title in machines(spec) if titles is None else titles:
        try:
            found.append(made(spec, title, arch))
        except Exception as error:  # noqa: BLE001  # one machine that cannot be made is a row of the table
            found.append(Made(spec, title, refused=in_a_line(error)))
    return found


def made(spec: str, title: str, arch: tuple[int, int]) -> Made:
    """One machine: proved for all sizes, emitted, and its kernels for 32-bit indices in the cache on the disk."""
    from tinygpu.emit.module import Built, launcher_names
    from tinygpu.obligations.width import limits

    machine = machines(spec)[title]
    if program(spec, title).arch == CPU:
        return Made(spec, title, refused="is for a CPU")
    start = time.perf_counter()
    verdict = pipeline.check(machine)
    proved = time.perf_counter()
    if not isinstance(verdict, pipeline.Proof):
        return Made(spec, title, refused=f"not proved: {type(verdict).__name__}")
    numbers = program(spec, title)
    text = pipeline.module(title, [Built(machine, numbers, (), limits(numbers))])
    compiled = time.perf_counter()
    for kernel in kernels(text, spec):
        for wide in (True, False):
            kernel.cubin(arch, 32, wide)
    return Made(spec, title, launcher_names([machine])[0], text, "", (proved - start, time.perf_counter() - compiled))


def kernels(text: str, name: str) -> list[Any]:
    """The compiled kernels of a module."""
    module = load(text, name)
    return [one for name, value in vars(module).items() if name.endswith("_launch") for one in value.cuda]


def all_made(order: Sequence[str], arch: tuple[int, int], workers: int | None = None) -> Generator[list[Made], None, None]:
    """The machines of each spec, in this order, as they come; they are begun at once. `workers` is 0 for this process alone."""
    if workers == 0:
        return (make(spec, arch) for spec in order)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    pool = ProcessPoolExecutor(workers or min(16, cores), multiprocessing.get_context("spawn"))
    return drained(pool, arch, {spec: pool.submit(make, spec, arch) for spec in order})


def drained(
    pool: ProcessPoolExecutor, arch: tuple[int, int], waiting: dict[str, Future[list[Made]]]
) -> Generator[list[Made], None, None]:
    """The results in order; what processes that died leave is made here. Closing it ends them."""
    try:
        for spec, future in waiting.items():
            try:
                found = future.result()
            except BrokenProcessPool:
                found = make(spec, arch)
            yield found
    finally:
        workers = list((getattr(pool, "_processes", None) or {}).values())
        pool.shutdown(wait=False, cancel_futures=True)
        for worker in workers:
            worker.terminate()


@dataclass(frozen=True, slots=True)
class Bound:
    """A launcher with arrays on a GPU: calling it launches, and `outputs` are what it writes."""

    call: Any
    inputs: dict[str, Any]
    outputs: tuple[DeviceArray, ...]


def bound(gpu: Gpu, ready: Made, sizes: dict[str, int], inputs: dict[str, Any]) -> Bound:
    """The launcher with these inputs (arrays on the GPU, numbers), poisoned outputs and workspaces, on the GPU's stream."""
    launcher = getattr(load(ready.text, ready.spec), ready.launcher)
    work = program(ready.spec, ready.title)

    def space(extents: Any, dtype: str) -> DeviceArray:
        return gpu.empty(tuple(int(evaluate(e, sizes)) for e in extents), dtype).poison()

    outputs = tuple(space(t.shape, t.dtype) for t in work.op.outputs)
    spaces = tuple(space(w.extents, w.dtype) for w in work.workspaces)
    accepted = inspect.signature(launcher).parameters
    keywords: dict[str, Any] = {name: size for name, size in sizes.items() if name in accepted and name not in inputs}
    keywords |= {"out": outputs[0] if len(outputs) == 1 else outputs, "stream": gpu.stream}
    if spaces:
        keywords["workspace"] = spaces[0] if len(spaces) == 1 else spaces
    given = tuple(inputs[t.name] for t in work.op.inputs)
    return Bound(lambda: launcher(*given, **keywords), inputs, outputs)
