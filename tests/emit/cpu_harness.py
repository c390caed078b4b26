"""Running emitted CPU text in tests: programs from text, kernels without the cost of compiling the parallel driver.

Goes out: `programs(text)`, `kernel(program)`, `run(program, sizes, inputs)`.
The one idea: items are run in two uneven parts in one thread, so that what a part computes may not depend on the others; and machines
whose text is the same are compiled once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numba
import numpy as np

from tests.emit.interpreter import apart
from tests.program.library import machines
from tinygpu import runtime
from tinygpu.category.number import outside_dtype
from tinygpu.category.to_numpy import evaluate
from tinygpu.derive.derive import derive
from tinygpu.derive.unpack import unpack
from tinygpu.emit.cpu import cpu_kernels
from tinygpu.emit.python import identifier
from tinygpu.program.step import Program
from tinygpu.schedule.cpu import on_cpu

Array = np.ndarray[Any, Any]
COMPILED: dict[str, Callable[..., None]] = {}


def programs(text: str) -> dict[str, Program]:
    """The program of every machine in the text, by title."""
    return {title: derive(machine) for title, machine in machines(text).items()}


def laid(built: Program) -> Program:
    """The best program that a CPU may run it as; that it is proved is for others to see."""
    return next(on_cpu(built))


def laid_kernels(built: Program) -> str:
    """The CPU kernels of a program that is laid out for a CPU first."""
    return cpu_kernels(laid(built))


def kernel(built: Program) -> Callable[..., None]:
    """`NAME_cpu` of the emitted text, with its items run in two parts by this thread."""
    name, kernels = identifier(built.name), laid_kernels(built)
    text = re.sub(rf"\b{re.escape(name)}(?=_)", "kernel", kernels)
    if text not in COMPILED:
        names = called()
        exec(compile(text, name, "exec"), names)
        for driver in [n for n in names if n.endswith("_parallel")]:
            work = driver.replace("_parallel", "_work")
            names[driver] = in_two_parts(names[work])
            names[work] = partial(_alone, names[driver])
        COMPILED[text] = names["kernel_cpu"]
    return COMPILED[text]


def called() -> dict[str, Any]:
    """All that kernels call, which numba compiles once for all of them."""
    ours = {name: getattr(runtime.loaded(), name) for name in runtime.offered()}
    return {**ours, "np": np, "njit": numba.njit, "prange": numba.prange, "get_num_threads": numba.get_num_threads}


def _alone(driver: Callable[..., None], first: int, last: int, *arguments: Any) -> None:
    """What the entry does where there is little to do: all items, in two parts too."""
    assert first == 0
    driver(last, 1, *arguments)


def in_two_parts(work: Callable[..., None]) -> Callable[..., None]:
    def driver(items: int, parts: int, *arguments: Any) -> None:
        assert parts >= 1
        work(items // 3, items, *arguments)
        work(0, items // 3, *arguments)

    return driver


def run(
    built: Program, sizes: Mapping[str, int], inputs: Mapping[str, Any], entry: Callable[..., None] | None = None
) -> dict[str, Array]:
    """The outputs, of the dtypes that people use, filled with 7 before."""
    outputs = {}
    for t in built.op.outputs:
        shape = tuple(max(0, int(evaluate(e, dict(sizes)))) for e in t.shape)
        outputs[t.name] = np.full(shape, 7).astype(outside_dtype(t.dtype))
        if t.strided:
            outputs[t.name] = apart(outputs[t.name])
    for name, source in built.op.continued.items():
        outputs[name][...] = inputs[source]
    given = [
        (apart(inputs[t.name]) if t.strided else inputs[t.name]) if t.shape else np.asarray(inputs[t.name])[()]
        for t in built.op.inputs
    ]
    spare = [
        np.full([int(evaluate(e, dict(sizes))) for e in w.extents], 7).astype(outside_dtype(w.dtype))
        for w in unpack(built).workspaces
    ]
    (entry or kernel(built))(*given, *outputs.values(), *spare, *(sizes[name] for name in built.op.sizes))
    return outputs
