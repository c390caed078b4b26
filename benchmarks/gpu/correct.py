"""Whether every machine computes its equation on this GPU: fresh random inputs, poisoned outputs, odd sizes, the equation in float64.

Comes in: a machine that is ready. Goes out: what is wrong, in words; nothing where nothing is.
The one idea: the sizes are chosen so that every border is met, and nothing that was not written can pass for a result.
"""

from __future__ import annotations

import math
import multiprocessing
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.gpu.device import Gpu, in_a_line
from benchmarks.gpu.ready import Made, bound, program
from tinygpu.category.term import reads
from tinygpu.category.to_numpy import evaluate
from tinygpu.model.op import Op
from tinygpu.program.step import Program
from tinygpu.simulate.inputs import random_inputs
from tinygpu.simulate.reference import reference
from tinygpu.simulate.tolerance import compare, tolerance

SIZES: dict[int, list[tuple[int, ...]]] = {
    0: [()],
    1: [(1021,), (1024,), (16411,), (3,), (4096,)],
    2: [(129, 33), (5, 260), (7, 1031), (64, 64), (1, 1), (32, 1024)],
    3: [(33, 17, 65), (5, 130, 31), (64, 64, 64), (16, 8, 24), (1, 1, 1)],
    4: [(3, 9, 33, 4), (2, 17, 66, 9), (4, 8, 16, 8), (1, 1, 1, 1)],
    5: [(2, 3, 5, 7, 3), (2, 4, 8, 16, 4), (1, 1, 1, 1, 1)],
}
PATIENCE = 60  # seconds for a machine
EACH = 3  # sizes of a machine
MOST_SECONDS = 2.0  # for the equation at one more size
_KNOWN: dict[Any, tuple[Any, Any]] = {}


def sizes_of(work: Program) -> Iterator[dict[str, int]]:
    """The first few of the sizes that the machine takes."""
    count = 0
    for numbers in SIZES[len(work.op.sizes)]:
        sizes = dict(zip(work.op.sizes, numbers, strict=True))
        if count < EACH and admits(work, sizes):
            count += 1
            yield sizes


def admits(work: Program, sizes: dict[str, int]) -> bool:
    """Whether the machine takes these sizes: what it asks of data is another thing."""
    return all(bool(evaluate(where, dict(sizes))) for where in (*work.op.where, *work.where) if not reads(where))


def wrong(gpu: Gpu, ready: Made, seed: int) -> str:
    """What the machine gets wrong; nothing where it is right at all sizes. Raises what a launch raises."""
    work = program(ready.spec, ready.title)
    tried, spent = 0, (1, 0.0)
    for sizes in sizes_of(work):
        if tried and predicted(spent, sizes) > MOST_SECONDS:
            continue
        start = time.perf_counter()
        inputs, want = known(ready.spec, work.op, tuple(sizes.items()), seed)
        spent = math.prod(sizes.values()), time.perf_counter() - start
        given = {t.name: on_gpu(gpu, inputs[t.name], t.dtype) if t.shape else inputs[t.name].item() for t in work.op.inputs}
        run = bound(gpu, ready, sizes, given)
        run.call()
        got = {t.name: from_gpu(a.get(), t.dtype) for t, a in zip(work.op.outputs, run.outputs, strict=True)}
        relative, absolute = tolerance(work.op, sizes)
        differs = compare(work.op, got, want, rtol=relative, atol=absolute, cap=1)
        if differs:
            return f"at {', '.join(f'{n} = {v}' for n, v in sizes.items())}: {differs[0]}"
        tried += 1
    return "" if tried else "takes none of the sizes that are tried"


class Judge:
    """`machine → what is wrong with it`, by a process of its own: after an illegal address nothing in a process works, and a kernel that does
    not end holds it for ever. Either is the machine's fault, and the next one has a new process."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.process: Any = None
        self.pipe: Any = None

    def __call__(self, ready: Made) -> str:
        if self.process is None:
            context = multiprocessing.get_context("spawn")
            self.pipe, other = context.Pipe()
            self.process = context.Process(target=judged, args=(other, self.seed), daemon=True)
            self.process.start()
            other.close()
        why, alive = f"no answer in {PATIENCE} s", False
        try:
            self.pipe.send(ready)
            if self.pipe.poll(PATIENCE):
                why, alive = self.pipe.recv()
        except (EOFError, OSError):
            why = "its process died"
        if not alive:
            self.close()
        return str(why)

    def close(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.pipe.close()
            self.process = None


def judged(pipe: Any, seed: int) -> None:
    """The process of a judge: one machine after the other, while the GPU answers."""
    gpu = Gpu()
    while True:
        ready = pipe.recv()
        why = said(gpu, ready, seed)
        alive = not why or gpu.alive()
        pipe.send((why, alive))


def said(gpu: Gpu, ready: Made, seed: int) -> str:
    """What is wrong with a machine, which is also what a launch raises."""
    try:
        return wrong(gpu, ready, seed)
    except Exception as error:  # noqa: BLE001  # a launch that fails is wrong
        return in_a_line(error)


def predicted(spent: tuple[int, float], sizes: dict[str, int]) -> float:
    """Seconds that the equation may take at these sizes, after what it took at others: a prefix sum takes the square of its length.

    >>> predicted((1000, 0.5), {"n": 4000})
    8.0
    """
    return float(spent[1] * max(1.0, math.prod(sizes.values()) / max(1, spent[0])) ** 2)


def known(spec: str, op: Op, sizes: tuple[tuple[str, int], ...], seed: int) -> tuple[Any, Any]:
    """Inputs and exact outputs, the same for all machines of an op; the last few are kept."""
    key = spec, op.name, sizes, seed
    if key not in _KNOWN:
        if len(_KNOWN) >= 16:
            _KNOWN.clear()
        inputs = random_inputs(op, dict(sizes), seed)
        _KNOWN[key] = inputs, reference(op, dict(sizes), inputs)
    return _KNOWN[key]


def on_gpu(gpu: Gpu, values: Any, dtype: str) -> Any:
    """A numpy array on the GPU; bf16 by its bits."""
    held = np.asarray(values)
    if dtype == "bf16":
        held = held.view(np.uint16) if held.dtype.itemsize == 2 else (held.view(np.uint32) >> 16).astype(np.uint16)
    return gpu.empty(held.shape, dtype).put(held)


def from_gpu(values: Any, dtype: str) -> Any:
    """What came back, as numbers."""
    return (values.astype(np.uint32) << 16).view(np.float32) if dtype == "bf16" else values
