"""One operation of the gallery: checked, built, read back, run and compared.

Comes in: a row. Goes out: what came of it. The one idea: a row that is not proved is not built, one that is not equal is not timed, and
whatever goes wrong is said in its row alone.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.case import ROOT, Array, differs, poisoned
from benchmarks.gallery.rows import ROWS, Row
from benchmarks.rounds import Race, race
from tinygpu import pipeline
from tinygpu.category.evaluate import evaluate
from tinygpu.category.number import outside_dtype
from tinygpu.category.term import FLOATS
from tinygpu.model.machine import Machine
from tinygpu.model.op import Op
from tinygpu.run.load import load
from tinygpu.simulate.reference import reference

LIMIT = 60.0  # seconds of a build


@dataclass(frozen=True, slots=True)
class Made:
    """The verdict of a row, and its module where it has one; `text` is empty where it has none, and `problem` says why."""

    verdict: str
    check_seconds: float
    obligations: int = 0
    build_seconds: float = 0.0
    launcher: str = ""
    text: str = ""
    problem: str = ""


def machine_of(row: Row) -> Machine:
    """The machine of a row, for its op."""
    spec = pipeline.load(ROOT / "specs" / f"level{row.level}" / f"{row.spec}.tgpu")
    return next(m for m in spec.machines if m.name == row.machine and m.op.name == row.op)


def made(row: Row) -> Made:
    """`row → verdict and module`. A verdict other than `proved` comes with its first sentence."""
    from tinygpu.diagnostic import TinygpuError
    from tinygpu.emit.module import launcher_names

    start = time.perf_counter()
    machine = machine_of(row)
    verdict = pipeline.check(machine)
    seconds = time.perf_counter() - start
    if not isinstance(verdict, pipeline.Proof):
        said = "; ".join(
            d.title for d in (verdict.diagnostics[:2] if isinstance(verdict, pipeline.Unknown) else (verdict.diagnostic,))
        )
        return Made(type(verdict).__name__.lower(), seconds, problem=said)
    start = time.perf_counter()
    try:
        proof = verdict
        text = pipeline.timely(LIMIT, machine, lambda: pipeline.sound(row.op, [pipeline.built(proof, machine)]))
    except TinygpuError as error:
        said = "; ".join(d.title for d in error.diagnostics[:2])
        return Made("proved", seconds, len(verdict.theorems), time.perf_counter() - start, problem=said)
    return Made("proved", seconds, len(verdict.theorems), time.perf_counter() - start, launcher_names([machine])[0], text)


def made_at(number: int) -> Made:
    """For a process of its own, to which a row goes by number."""
    try:
        found = made(ROWS[number])
    except Exception as error:  # noqa: BLE001  # whatever goes wrong with one is said in its row
        found = Made("error", 0.0, problem=f"{type(error).__name__}: {error}")
    row = ROWS[number]
    print(
        f"{row.name}: {found.verdict}, {found.check_seconds:.2f} s, built in {found.build_seconds:.2f} s {found.problem}",
        file=sys.stderr,
        flush=True,
    )
    return found


def inputs_of(op: Op, row: Row, sizes: Mapping[str, int]) -> dict[str, Any]:
    """The same values every time, in the op's order."""
    chance = np.random.default_rng(0)
    found: dict[str, Any] = {}
    for tensor in op.inputs:
        shape = tuple(int(evaluate(e, dict(sizes))) for e in tensor.shape)
        draw = row.draw.get(tensor.name)
        if callable(draw):
            found[tensor.name] = draw(chance, shape, sizes)
        elif draw is not None:
            found[tensor.name] = draw
        else:
            found[tensor.name] = chance.standard_normal(shape, dtype=np.float32).astype(outside_dtype(tensor.dtype), copy=False)
    return found


def calls(ready: Made, sizes: Mapping[str, int], inputs: Mapping[str, Any]) -> Callable[[], Any]:
    """The whole call that a user makes; sizes that no input tells go by keyword."""
    launcher = getattr(load(ready.text, ready.launcher), ready.launcher)
    keywords = {name: sizes[name] for name in inspect.signature(launcher).parameters if name in sizes}
    return lambda: launcher(*inputs.values(), **keywords)


def outputs(op: Op, sizes: Mapping[str, int]) -> tuple[Array, ...]:
    return tuple(poisoned(tuple(int(evaluate(e, dict(sizes))) for e in t.shape), outside_dtype(t.dtype)) for t in op.outputs)


def equal_to_equation(row: Row, ready: Made) -> str:
    """Where the kernel differs from the equation at small sizes: empty where it does not."""
    op = machine_of(row).op
    sizes = next(small for small in map(row.small, range(7, 64)) if all(evaluate(said, small) for said in op.where))
    inputs = inputs_of(op, row, sizes)
    arrays = {name: np.asarray(a) for name, a in inputs.items()}
    wide = {t.name: arrays[t.name] for t in op.inputs}
    want = reference(op, sizes, wide)
    return compared(op, calls(ready, sizes, inputs)(), [want[t.name] for t in op.outputs])


def compared(op: Op, got: Any, want: list[Any]) -> str:
    found = got if isinstance(got, tuple) else (got,)
    exact = [np.asarray(w, np.float64) if t.dtype in FLOATS else np.asarray(w) for t, w in zip(op.outputs, want, strict=True)]
    shapes = [np.shape(g) == w.shape for g, w in zip(found, exact, strict=True)]
    if not all(shapes):
        return f"shapes {[np.shape(g) for g in found]}, not {[w.shape for w in exact]}"
    return differs(tuple(map(np.asarray, found)), tuple(exact))


def against_torch(row: Row, ready: Made, rounds: int, seconds: float) -> tuple[str, Race | None]:
    """Where it differs from torch at the row's sizes, or how the two compare; nothing where torch is not installed."""
    if importlib.util.find_spec("torch") is None:
        return "", None
    import torch

    torch.set_grad_enabled(False)
    torch.set_num_threads(2)
    op, sizes = machine_of(row).op, dict(row.sizes)
    inputs = inputs_of(op, row, sizes)
    given = {**sizes, **{n: torch.from_numpy(v) if isinstance(v, np.ndarray) and v.shape else v for n, v in inputs.items()}}
    wide = {n: v.double() if getattr(v, "dtype", None) == torch.float32 else v for n, v in given.items()}
    theirs, ours = lambda: row.torch(torch, given), calls(ready, sizes, inputs)
    wrong = compared(op, ours(), [row.torch(torch, wide).numpy()])
    return wrong, None if wrong else race(ours, theirs, rounds, seconds)
