"""A case on the GPU: its arrays, its contestants in turns, what came out looked at, and its rows.

Comes in: a case, the machines that are ready, the peers. Goes out: a row for each machine with its goals, and whether each is met.
The one idea: all contestants read the same memory; a machine whose result is wrong at these sizes has no time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.gpu.cases import COPY, CUB, CUBLAS, FLASH, READ, Goal, GpuCase, moved_bytes
from benchmarks.gpu.correct import from_gpu
from benchmarks.gpu.device import PERIOD, TYPES, DeviceArray, Gpu, in_a_line
from benchmarks.gpu.peers import Library
from benchmarks.gpu.ready import Bound, Made, bound, program
from benchmarks.gpu.timing import ROUNDS, Contestant, Timed, sets, timed
from tinygpu.category.evaluate import evaluate
from tinygpu.model.op import Op
from tinygpu.simulate.reference import reference
from tinygpu.simulate.tolerance import compare

SAMPLED = 64
CLOSE = {"f32": (1e-4, 1e-5), "f16": (2.0**-10, 1e-5), "bf16": (2.0**-7, 1e-5)}  # of a value, and of the largest
EPS = 1e-5
WIDTH = {dtype: np.dtype(text).itemsize for dtype, text in TYPES.items()}
PEERS = {CUB: ("CuPy", "torch eager"), CUBLAS: ("torch eager", "CuPy"), FLASH: ("torch eager",)}  # whose calls are the library's


@dataclass(frozen=True, slots=True)
class Ceilings:
    """Bytes a second: of a copy, read and written together, and of reading alone; operations a second of a product; None where not known."""

    copy: float | None = None
    read: float | None = None
    product: float | None = None


def filled(gpu: Gpu, case: GpuCase, name: str, shape: tuple[int, ...], dtype: str, sizes: dict[str, int]) -> DeviceArray:
    """An input: some drawn elements, again and again, which are copied within the GPU."""
    chance = np.random.default_rng([len(case.name), *name.encode()])
    array = gpu.empty(shape, dtype)
    count = min(PERIOD, array.nbytes // array.itemsize)
    if name in case.draw:
        block = case.draw[name](chance, count, sizes)
    else:
        block = chance.standard_normal(count, dtype=np.float32)
        block = (block.view(np.uint32) >> 16).astype(np.uint16) if dtype == "bf16" else block.astype(TYPES[dtype])
    return gpu.repeat(array, block)


def inputs_of(gpu: Gpu, case: GpuCase, op: Op, sizes: dict[str, int]) -> dict[str, Any]:
    """All inputs: arrays on the GPU, and numbers."""
    shapes = {t.name: tuple(int(evaluate(e, sizes)) for e in t.shape) for t in op.inputs}
    numbers = {"eps": EPS}
    return {
        t.name: filled(gpu, case, t.name, shapes[t.name], t.dtype, sizes) if t.shape else numbers.get(t.name, 1.5)
        for t in op.inputs
    }


def race(gpu: Gpu, case: GpuCase, sizes: dict[str, int], ready: Sequence[Made], peers: Sequence[Library], ceilings: Ceilings, l2: int,
         rounds: int = ROUNDS) -> list[dict[str, Any]]:  # fmt: skip
    """The rows of a case: its machines, the fastest first, with the peers' times beside them."""
    op = program(ready[0].spec, ready[0].title).op
    each = moved_bytes(op, sizes, WIDTH)
    held = [inputs_of(gpu, case, op, sizes) for _ in range(sets(l2, each, gpu.free_bytes()))]
    runs = {m.title: [bound(gpu, m, sizes, inputs) for inputs in held] for m in ready}
    right = expected(op, case, sizes, held[0])
    wrong = {m.title: right.wrong(runs[m.title][0]) for m in ready}
    del right
    found = timed(gpu, contestants(gpu, case, {t: r for t, r in runs.items() if not wrong[t]}, peers, held), rounds)
    theirs = {library.name: found[library.name] for library in peers if library.name in found}
    rows = [row(case, m, sizes, op, found.get(m.title, Timed(wrong=wrong[m.title])), theirs, ceilings) for m in ready]
    return sorted(rows, key=lambda r: r.get("us", float("inf")))


def contestants(
    gpu: Gpu, case: GpuCase, runs: Mapping[str, list[Bound]], peers: Sequence[Library], held: Sequence[Mapping[str, Any]]
) -> list[Contestant]:
    """Ours, and the peers that have something for the case; peers write where one of ours has written."""
    found = [Contestant(title, [run.call for run in bounds], gpu.captured) for title, bounds in runs.items()]
    if runs:
        first = next(iter(runs.values()))
        theirs = [(inputs, run.outputs) for inputs, run in zip(held, first, strict=True)]
        found += [one for library in peers for one in [library.contestant(case.peers, theirs)] if one]
    return found


@dataclass(frozen=True, slots=True)
class Expected:
    """What the outputs have to be at these sizes: some elements of each by the equation, or numpy's own in float64."""

    op: Op
    check: str
    sample: dict[str, tuple[Any, ...]]
    want: dict[str, Any]

    def wrong(self, run: Bound) -> str:
        """What a call gets wrong; nothing where it is right. What it raises is wrong too."""
        try:
            run.call()
            got = {t.name: from_gpu(a.get(), t.dtype) for t, a in zip(self.op.outputs, run.outputs, strict=True)}
        except Exception as error:  # noqa: BLE001  # a launch that fails is a row of the table
            return in_a_line(error)
        if self.check == "sample":
            for t in self.op.outputs:
                relative, absolute = CLOSE.get(t.dtype, (0.0, 0.0))
                most = float(np.max(np.abs(np.nan_to_num(self.want[t.name])), initial=0.0))
                one = {t.name: self.want[t.name]}
                differs = compare(self.op, got, one, sample=self.sample, rtol=relative, atol=absolute * most, cap=1)
                if differs:
                    return str(differs[0])
            return ""
        ((name, want),) = self.want.items()
        return "" if np.array_equal(want, got[name]) else "not what numpy counts"


def expected(op: Op, case: GpuCase, sizes: dict[str, int], inputs: Mapping[str, Any]) -> Expected:
    """What is right for these inputs, which are copied to the host once."""
    host = {t.name: from_gpu(inputs[t.name].get(), t.dtype) if t.shape else np.float32(inputs[t.name]) for t in op.inputs}
    name, sample = op.outputs[0].name, {}
    want: dict[str, Any] = {}
    match case.check:
        case "histogram":
            count = int(evaluate(op.outputs[0].shape[0], sizes))
            want = {name: np.bincount(host["x"], minlength=count)}
        case "scan":
            want = {name: np.cumsum(host["x"], dtype=np.float64)}
        case "sum":
            want = {name: np.sum(host["x"], dtype=np.float64)}
        case _:
            chance = np.random.default_rng()
            shapes = {t.name: [int(evaluate(e, sizes)) for e in t.shape] for t in op.outputs}
            sample = {n: tuple(_places(chance, extent) for extent in shape) for n, shape in shapes.items()}
            want = reference(op, sizes, host, sample)
    return Expected(op, case.check, sample, want)


def _places(chance: np.random.Generator, extent: int) -> Any:
    """Indices of an axis: the first, the last, and others by chance."""
    return np.array([0, extent - 1, *chance.integers(0, extent, SAMPLED)])


def row(case: GpuCase, made: Made, sizes: dict[str, int], op: Op, mine: Timed, theirs: Mapping[str, Timed], ceilings: Ceilings) -> dict[str, Any]:  # fmt: skip
    """Numbers for the table and the file."""
    found: dict[str, Any] = {"case": case.name, "machine": made.title, "spec": made.spec, "sizes": sizes}
    if not mine.seconds:
        return found | {"wrong": mine.wrong}
    each = moved_bytes(op, sizes, WIDTH)
    found |= {
        "us": mine.median * 1e6,
        "spread": mine.spread,
        "rounds": len(mine.seconds),
        "gb_s": each / mine.median / 1e9,
        "graph": mine.graph,
    }
    if {"M", "N", "K"} == {*sizes}:
        found["tflop_s"] = 2 * sizes["M"] * sizes["N"] * sizes["K"] / mine.median / 1e12
    told = {
        name: {"us": t.median * 1e6, "spread": t.spread, "graph": t.graph} if t.seconds else {"wrong": t.wrong}
        for name, t in theirs.items()
    }
    return found | {"peers": told, "goals": [met(goal, mine, each, theirs, ceilings) for goal in case.goals]}


def met(goal: Goal, mine: Timed, each: int, theirs: Mapping[str, Timed], ceilings: Ceilings) -> dict[str, Any]:
    """A goal, and how much of it there is; no number where its peer is not here."""
    share: float | None = None
    if goal.of in (COPY, READ):
        most = ceilings.copy if goal.of == COPY else ceilings.read
        share = each / mine.median / most if most else None
    else:
        times = [theirs[n].median for n in PEERS.get(goal.of, (goal.of,)) if n in theirs and theirs[n].seconds]
        share = min(times) / mine.median if times else None
    return {"goal": str(goal), "share": share, "met": None if share is None else share >= goal.share}
