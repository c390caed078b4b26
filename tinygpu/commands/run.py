"""`tinygpu run`: prove a machine, build it, run it on random arrays, compare it with its equation, time it.

Comes in: a spec and sizes. Goes out: what was proved, whether every compared element agrees, the time, and the ratio to numpy where
numpy has a call for the op. The one idea: the number printed is of the very module that `build` writes.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

from tinygpu.category.term import TRUE, App, Fold, Read, Var, text
from tinygpu.commands import theorems
from tinygpu.commands.common import add_format, add_time, show
from tinygpu.commands.compared import NOT_COMPARED, Run, compare_with_equation, with_sizes
from tinygpu.commands.data import Given, add_data, arrays, given, known
from tinygpu.commands.families import pointed
from tinygpu.commands.first import MADE, with_machines
from tinygpu.commands.judged import Judged, exit_code, judge, line, width_of
from tinygpu.commands.specs import joined_among, load_sound, names_of, sized, words
from tinygpu.commands.theorems import Believed
from tinygpu.commands.together import Progress
from tinygpu.diagnostic import TinygpuError
from tinygpu.record import dataclass

if TYPE_CHECKING:
    from tinygpu.model.machine import Machine
    from tinygpu.model.op import Op
    from tinygpu.proof.choice import Covered
    from tinygpu.proof.pipeline import Linked

EXAMPLE = "tinygpu run specs/matmul.tgpu M=512 N=512 K=512"

FEWER, SMALLEST = 16, 64  # how many times smaller sizes are, where at others nothing could be compared, and when that is over
Yardsticks = dict[str, tuple[str, float] | None]  # numpy's own call for an op at its sizes, and its best time


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", help="a spec, or - for standard input")
    parser.add_argument(
        "words", nargs="*", metavar="SIZE=VALUE | MACHINE", help="sizes (M=512), and machines, choices or pipelines to run (all)"
    )
    add_data(parser)
    parser.add_argument("--device", choices=("auto", "cpu", "gpu"), default="auto", help="where to run (a GPU if there is one)")
    parser.add_argument("--seed", type=int, default=0, help="of the random arrays (0)")
    add_time(parser)
    add_format(parser)


def run(arguments: argparse.Namespace) -> int:
    from tinygpu.proof.choice import Covered
    from tinygpu.proof.pipeline import Linked

    specs, sources = load_sound([arguments.path])
    with Progress() as now:
        here = "" if arguments.device != "cpu" and gpu_arrays() else "cpu"
        made = [with_machines(spec, arguments.time, now, here) for spec in specs]
    for added in (added for _, added in made if added):
        print(f"{MADE}\n\n{added}")
    specs = tuple(spec for spec, _ in made)
    given_here, names = words(arguments.words)
    specs, sizes = pointed(specs, given_here, names)
    data = given(arguments, sizes)
    machines = sized(specs, names, data.sizes)
    chosen = [one for spec in specs for one in joined_among(spec, machines, names)]
    known((*machines, *chosen), data)
    judged, decided = [], list[Believed]()
    with Progress() as now:
        for choice in chosen:
            now(f"checking {choice.title}")
            decided.append(theorems.judge(arguments.path, choice, limit=arguments.time))
        for number, machine in enumerate(machines, 1):
            now(f"checking {machine.title} ({number} of {len(machines)})")
            judged.append(judge(arguments.path, machine, limit=arguments.time))
    found = (*(d for c in decided for d in c.diagnostics), *(d for j in judged for d in j.diagnostics))
    show(dict.fromkeys(found), arguments.output_format, sources)
    width = max(width_of(machines), *(len(theorems.heading(c)) for c in chosen), 0)
    for stated in {c.theorem.name: c for c in decided}.values():  # for each dtype they say the same
        print(theorems.line(stated, width))
    for one in judged:
        print(line(one, width))
    proved = [j for j in judged if j.word == "proved"]
    asked = [j.machine for j in proved if not names or {*names} & {*names_of(j.machine)}]
    right = [c.found for c in decided if isinstance(c.found, Covered | Linked)]
    fitting = [one for one in right if one.about.among(j.machine for j in proved)]
    ran = run_all(proved, asked, fitting, data, arguments) if proved else ()
    return exit_code([*(c.word for c in decided), *(j.word for j in judged), *ran])


def run_all(
    judged: Sequence[Judged],
    asked: Sequence[Machine],
    joined: Sequence[Covered | Linked],
    data: Given,
    arguments: argparse.Namespace,
) -> list[str]:
    """Build machines, and choices and pipelines of them, and run every one that is asked for, every case of a choice, and every pipeline, on the same arrays; of
    each the verdict of its comparison."""
    from tinygpu import pipeline
    from tinygpu.commands.cases import runs
    from tinygpu.commands.make import module_name, ready, titled
    from tinygpu.emit.joined import proved
    from tinygpu.emit.module import launcher_names, surprises
    from tinygpu.run.load import load

    gpu = arguments.device != "cpu" and gpu_arrays()
    if arguments.device == "gpu" and not gpu:
        title = "no GPU that can be used: it needs numba-cuda, cuda-core, and CuPy or torch"
        help = "pip install 'tinygpu[cuda,torch]' brings these; without a GPU leave out --device gpu, to run on the CPU"
        raise TinygpuError.of("TG907", title, help=help)
    limit, last = arguments.time * len(judged), judged[-1].machine
    built = pipeline.timely(limit, last, partial(ready, list(judged)))
    if not gpu:
        show((d for one in built for d in surprises(one)), arguments.output_format)
    text = pipeline.timely(limit, last, partial(pipeline.sound, titled(arguments.path), built, joined))
    module = load(text, module_name(arguments.path).removesuffix(".py"))
    names = launcher_names([*(j.machine for j in judged), *proved(joined)])
    yardsticks: Yardsticks = {}
    found = []
    print(f"\non {gpu.name if gpu else 'the CPU'}:")
    usual = Run(last, built[0].program, {}, arguments.seed, data, "gpu" if gpu else "cpu", arguments.time)
    every = [*runs(built, asked, joined, names, usual)]
    width = max((len(one.machine.title) for one, _ in every), default=0)
    for a_run, name in every:
        try:
            word, said = run_one(a_run, getattr(module, name), gpu, yardsticks, width)
            print(said, flush=True)
            found.append(word)
        except TinygpuError as error:  # the others are run
            print(f"  {a_run.machine.title:<{width}}  not run")
            show(error.diagnostics, arguments.output_format)
            found.append("error")
    return found


@dataclass(frozen=True, slots=True)
class Called:
    """A run that was made: its arguments and results, of seconds, and what is wrong, or how far it agrees."""

    one: Run
    inputs: dict[str, Any]
    again: Callable[[], Any]
    results: list[Any]
    seconds: float
    wrong: list[Any]
    compared: str


def run_one(one: Run, launcher: Any, gpu: Any, yardsticks: Yardsticks, width: int) -> tuple[str, str]:
    """One machine: its first call, the comparison, its best time, and numpy's on the same arrays. It is unknown where nothing could be compared; where
    nobody says sizes, that is so of none that are large, as a long sum may be anything."""
    found = called(with_sizes(one), launcher, gpu)
    first, largest = found.seconds, max(found.one.sizes.values(), default=1)
    while found.compared.startswith(NOT_COMPARED) and largest > SMALLEST and not (one.data.sizes or one.data.arrays):
        with suppress(TinygpuError):  # there may be none that are smaller
            found = called(with_sizes(one, largest // FEWER), launcher, gpu)
        largest //= FEWER
    op, sizes = one.machine.op, found.one.sizes
    synchronise = gpu.wait if gpu else lambda: None
    seconds = best_seconds(lambda: (found.again(), synchronise()))
    at = ", ".join(f"{k}={v}" for k, v in sizes.items())
    if (key := f"{op.name} {at}") not in yardsticks:
        yardsticks[key] = None if gpu else numpys(op, found.inputs, found.results[0])
    verdict = f"WRONG: {found.wrong[0]}" if found.wrong else found.compared
    told = f"{seconds * 1e3:.3g} ms, {speed(op, sizes, seconds, yardsticks[key])}; {verdict}; first call {first:.2g} s"
    word = "refuted" if found.wrong else "unknown" if found.compared.startswith(NOT_COMPARED) else "proved"
    return word, f"  {one.machine.title:<{width}}  {at}: {told}"


def called(one: Run, launcher: Any, gpu: Any) -> Called:
    """One call, compared. Raises TG905 where it cannot be made at these sizes."""
    from tinygpu.model.solved import solve
    from tinygpu.simulate.fault import SimulationBudget

    op, sizes = one.machine.op, one.sizes
    try:
        inputs = arrays(op, sizes, one.data, one.seed)
        given = [gpu.put(inputs[t.name]) if gpu and t.shape else inputs[t.name] for t in op.inputs]
        missing = {s: sizes[s] for s in solve(op)[1]}  # that no input tells
        start = time.perf_counter()
        out = launcher(*given, **missing)
        seconds = time.perf_counter() - start
    except (ValueError, MemoryError, SimulationBudget) as error:  # sizes that the launcher refuses are the user's
        raise TinygpuError.of("TG905", str(error) or "not enough memory", help="choose other sizes") from None
    results = [gpu.get(o) if gpu else o for o in (out if isinstance(out, tuple) else (out,))]
    wrong, compared = compare_with_equation(one, inputs, dict(zip((t.name for t in op.outputs), results, strict=True)))
    return Called(one, inputs, lambda: launcher(*given, out=out, **missing), results, seconds, wrong, compared)


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
    """The shortest of repeated calls, for about `total` seconds, at least three of them where that takes no longer than a few seconds."""
    best, began, count = float("inf"), time.perf_counter(), 0
    while not count or (count < 3 and best < total) or (time.perf_counter() - began < total and count < most):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
        count += 1
    return best
