"""`tinygpu run`: prove a machine, build it, run it on random arrays, compare it with its equation, time it.

Comes in: a spec and sizes. Goes out: what was proved, whether every compared element agrees, the time, and the ratio to numpy where
numpy has a call for the op. The one idea: the number printed is of the very module that `build` writes.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

from tinygpu.category.term import TRUE, App, Fold, Read, Var, text
from tinygpu.commands.common import add_format, show
from tinygpu.commands.data import Given, add_data, arrays, given, known, told
from tinygpu.commands.specs import Judged, exit_code, judge, line, load_sound, sized, usual_sizes, width_of, words
from tinygpu.commands.together import Progress
from tinygpu.diagnostic import TinygpuError
from tinygpu.record import dataclass

if TYPE_CHECKING:
    from tinygpu.model.machine import Machine
    from tinygpu.model.op import Op
    from tinygpu.program.step import Program

EXAMPLE = "tinygpu run specs/matmul.tgpu M=512 N=512 K=512"
MODERATE = 1 << 25  # elements of an array, where nobody gives its size
STEPS = {"cpu": 1 << 40, "gpu": 1 << 44}  # of one assignment, by all threads: minutes, where others may be years
SAMPLED = 2000  # elements of each output that are compared with the equation, where there are more
DEFAULT = {1: 1 << 22, 2: 2048, 3: 512, 4: 96}  # a size, by how many there are
NOT_COMPARED = "not compared"
STEPWISE = 64  # where an equation has to be followed step by step


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", help="a spec, or - for standard input")
    parser.add_argument("words", nargs="*", metavar="SIZE=VALUE | MACHINE", help="sizes (M=512), and machines to run (all)")
    add_data(parser)
    parser.add_argument("--device", choices=("auto", "cpu", "gpu"), default="auto", help="where to run (a GPU if there is one)")
    parser.add_argument("--seed", type=int, default=0, help="of the random arrays (0)")
    add_format(parser)


def run(arguments: argparse.Namespace) -> int:
    specs, sources = load_sound([arguments.path])
    sizes, names = words(arguments.words)
    data = given(arguments, sizes)
    machines = sized(specs, names, data.sizes)
    known(machines, data)
    judged = []
    with Progress() as now:
        for number, machine in enumerate(machines, 1):
            now(f"checking {machine.title} ({number} of {len(machines)})")
            judged.append(judge(arguments.path, machine))
    show((d for j in judged for d in j.diagnostics), arguments.output_format, sources)
    width = width_of(machines)
    for one in judged:
        print(line(one, width))
    proved = [j for j in judged if j.word == "proved"]
    return exit_code([*(j.word for j in judged), *(run_all(proved, data, arguments) if proved else ())])


def run_all(judged: Sequence[Judged], data: Given, arguments: argparse.Namespace) -> list[str]:
    """Build and run every machine on the same arrays; of each the verdict of its comparison."""
    from tinygpu import pipeline
    from tinygpu.commands.make import module_name, ready, titled
    from tinygpu.emit.module import launcher_names
    from tinygpu.run.load import load

    gpu = arguments.device != "cpu" and gpu_arrays()
    if arguments.device == "gpu" and not gpu:
        title = "no GPU that can be used: it needs numba-cuda, cuda-core, and CuPy or torch"
        raise TinygpuError.of("TG907", title, help="leave out --device gpu to run on the CPU")
    built = ready(list(judged))
    module = load(pipeline.sound(titled(arguments.path), built), module_name(arguments.path).removesuffix(".py"))
    names = launcher_names([j.machine for j in judged])
    yardsticks: dict[str, tuple[str, float] | None] = {}  # numpy's own call for an op, and its best time
    found = []
    print(f"\non {gpu.name if gpu else 'the CPU'}:")
    width = max(len(j.machine.title) for j in judged)
    for one, name, made in zip(judged, names, built, strict=True):
        op = one.machine.op
        sizes = usual_sizes(op, told(op, data), DEFAULT.get(len(op.sizes), 32) if not op.states else STEPWISE, MODERATE)
        affordable(one.machine, sizes, "gpu" if gpu else "cpu")
        computed = made.program if gpu else made.cpu or made.program
        one_run = Run(one.machine, computed, sizes, arguments.seed, data)
        found.append(run_one(one_run, getattr(module, name), gpu, yardsticks, width))
    return found


@dataclass(frozen=True, slots=True)
class Run:
    """A machine with the program that is run for it, and the sizes and the data that it is run on."""

    machine: Machine
    program: Program
    sizes: dict[str, int]
    seed: int
    data: Given


def run_one(one: Run, launcher: Any, gpu: Any, yardsticks: dict[str, tuple[str, float] | None], width: int) -> str:
    """One machine: its first call, the comparison, its best time, and numpy's on the same arrays. It is unknown where nothing could be compared."""
    from tinygpu.schedule.contract import solve
    from tinygpu.simulate.fault import SimulationBudget

    op, sizes = one.machine.op, one.sizes
    try:
        inputs = arrays(op, sizes, one.data, one.seed)
        given = [gpu.put(inputs[t.name]) if gpu and t.shape else inputs[t.name] for t in op.inputs]
        missing = {s: sizes[s] for s in solve(op)[1]}  # that no input tells
        start = time.perf_counter()
        out = launcher(*given, **missing)
        first = time.perf_counter() - start
    except (ValueError, MemoryError, SimulationBudget) as error:  # sizes that the launcher refuses are the user's
        raise TinygpuError.of("TG905", str(error) or "not enough memory", help="choose other sizes") from None
    results = [gpu.get(o) if gpu else o for o in (out if isinstance(out, tuple) else (out,))]
    wrong, compared = compare_with_equation(one, inputs, dict(zip((t.name for t in op.outputs), results, strict=True)))
    synchronise = gpu.wait if gpu else lambda: None
    seconds = best_seconds(lambda: (launcher(*given, out=out, **missing), synchronise()))
    if op.name not in yardsticks:
        yardsticks[op.name] = None if gpu else numpys(op, inputs, results[0])
    said = speed(op, sizes, seconds, yardsticks[op.name])
    at = ", ".join(f"{k}={v}" for k, v in sizes.items())
    verdict = compared if not wrong else f"WRONG: {wrong[0]}"
    print(f"  {one.machine.title:<{width}}  {at}: {seconds * 1e3:.3g} ms, {said}; {verdict}; first call {first:.2g} s")
    sys.stdout.flush()
    return "refuted" if wrong else "unknown" if compared.startswith(NOT_COMPARED) else "proved"


def affordable(machine: Machine, sizes: dict[str, int], device: str) -> None:
    """Raises TG905 where a call would not end while somebody waits for it."""
    from tinygpu.pipeline import program
    from tinygpu.simulate.sizes import lane_steps

    if lane_steps(program(machine), sizes) > STEPS[device]:
        at = ", ".join(f"{name}={size}" for name, size in sizes.items()) or "its one size"
        title = f"{machine.title} would make more than {STEPS[device]} steps at {at}"
        raise TinygpuError.of("TG905", title, help="choose smaller sizes, if the loops do not have their lengths in the spec")


def compare_with_equation(one: Run, inputs: dict[str, Any], results: dict[str, Any]) -> tuple[list[Any], str]:
    """`(mismatches, at how many elements it agrees otherwise)` with the equation in float64; a mismatch is further away than rounding brings it, and an element
    that rounding may bring anywhere was not compared."""
    import numpy as np

    from tinygpu.simulate.bounded import bounded, chain
    from tinygpu.simulate.tolerance import compare

    chance = np.random.default_rng(one.seed + 1)
    sample: dict[str, tuple[Any, ...]] = {}
    for name, array in results.items():
        flat = np.arange(array.size) if array.size <= SAMPLED else chance.integers(0, array.size, SAMPLED)
        sample[name] = np.unravel_index(flat, array.shape) if array.shape else ()
    want, most = bounded(one.machine.op, one.sizes, inputs, sample, chain((one.program,), one.sizes))
    wrong = compare(one.machine.op, results, want, sample=sample, bounds=most)
    count = sum(min(SAMPLED, array.size) for array in results.values())
    told = sum(int(np.isfinite(np.broadcast_to(most[name], want[name].shape)).sum()) for name in want)
    sampled = any(array.size > SAMPLED for array in results.values())
    return wrong, agreement(told, count, "random elements" if sampled else "elements")


def agreement(told: int, count: int, elements: str) -> str:
    """At how many elements a run agrees, where rounding has a bound at so many of those that were looked at.

    >>> agreement(3, 3, "elements"), agreement(3, 3, "random elements")
    ('agrees at all 3 elements', 'agrees at 3 random elements')
    >>> agreement(1, 3, "elements"), agreement(0, 3, "elements")
    ('agrees at 1 of 3 elements, rounding has no bound at the others', 'not compared: rounding has no bound at any of 3 elements')
    """
    if not count:
        return "has no elements to compare"
    if told == count:
        return f"agrees at {'all ' if elements == 'elements' else ''}{count} {elements}"
    if not told:
        return f"{NOT_COMPARED}: rounding has no bound at any of {count} {elements}"
    return f"agrees at {told} of {count} {elements}, rounding has no bound at the others"


def speed(op: Op, sizes: dict[str, int], seconds: float, yardstick: tuple[str, float] | None) -> str:
    """The ratio to numpy, or the bytes of the arrays in a second."""
    from tinygpu.category.dtype import BYTES
    from tinygpu.category.evaluate import evaluate

    if yardstick is not None:
        call, best = yardstick
        return f"{best / seconds:.2f} of numpy's {call} ({blas()}, {best * 1e3:.3g} ms)"
    moved = sum(BYTES[t.dtype] * prod(int(evaluate(e, sizes)) for e in t.shape) for t in op.tensors)
    return f"{moved / seconds / 1e9:.1f} GB/s"


@dataclass(frozen=True, slots=True)
class Gpu:
    """Arrays on a GPU, through torch or CuPy."""

    name: str
    put: Callable[[Any], Any]
    get: Callable[[Any], Any]
    wait: Callable[[], None]


def gpu_arrays() -> Gpu | None:
    """A library for arrays on a GPU, if there is one and a GPU; the kernels' own libraries have to be there too."""
    import importlib.util

    if importlib.util.find_spec("cuda") is None or importlib.util.find_spec("numba_cuda") is None:
        return None
    with suppress(ImportError):
        import torch

        if torch.cuda.is_available():
            name = torch.cuda.get_device_name()
            return Gpu(name, lambda a: torch.from_numpy(a).cuda(), lambda t: t.cpu().numpy(), torch.cuda.synchronize)
    with suppress(ImportError):
        import cupy

        if cupy.cuda.is_available():
            name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
            return Gpu(name, cupy.asarray, cupy.asnumpy, cupy.cuda.runtime.deviceSynchronize)
    return None


# ── what numpy itself would call ───────────────────────────────────────────────────────────────────────────────────


def baseline(op: Op) -> tuple[str, Callable[[Mapping[str, Any], Any], Any]] | None:
    """`op → numpy's own call`, its text for people and `call(inputs, out)`, for one f32 or f64 output that is a sum of products of two inputs: an
    `einsum`, or the matrix product, which everybody knows; None for anything else."""
    import numpy as np

    if len(op.outputs) != 1 or op.outputs[0].dtype not in ("f32", "f64") or len(op.equations) != 1:
        return None
    equation = op.equations[0]
    match equation.value:
        case Fold("sum", axes, guard, App("mul", (Read() as a, Read() as b))) if guard == TRUE:
            letters = {axis.name: chr(ord("a") + n) for n, axis in enumerate((*equation.axes, *axes))}
        case _:
            return None
    if not all(isinstance(t, Var) and t.name in letters for t in a.index + b.index) or len(letters) > 20:
        return None
    names = ([text(t) for t in a.index], [text(t) for t in b.index], [axis.name for axis in equation.axes])
    plain = "{},{}->{}".format(*("".join(map(letters.__getitem__, each)) for each in names))
    left, right = a.tensor, b.tensor
    if plain in ("ac,cb->ab", "abd,adc->abc", "ab,b->a"):
        return f"{left} @ {right}", lambda inputs, out: np.matmul(inputs[left], inputs[right], out=out)
    call = partial(np.einsum, plain, optimize=True)
    return f'einsum("{plain}", {left}, {right})', lambda inputs, out: call(inputs[left], inputs[right], out=out)


def numpys(op: Op, inputs: dict[str, Any], result: Any) -> tuple[str, float] | None:
    """numpy's own call for the same, and its best time, where it has one."""
    if (found := baseline(op)) is None:
        return None
    said, call = found
    out = result.copy()
    return said, best_seconds(lambda: call(inputs, out))


def blas() -> str:
    """The BLAS that numpy was built with, `scipy-openblas 0.3.30`."""
    import numpy as np

    config: Any = np.show_config(mode="dicts")
    found = config.get("Build Dependencies", {}).get("blas", {})
    return f"{found.get('name', 'unknown')} {found.get('version', '')}".strip()


def best_seconds(call: Callable[[], Any], total: float = 0.5, most: int = 200) -> float:
    """The shortest of repeated calls, for about `total` seconds, at least three calls; one call is made first and not counted."""
    call()
    best, began, count = float("inf"), time.perf_counter(), 0
    while count < 3 or (time.perf_counter() - began < total and count < most):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
        count += 1
    return best
