"""`tinygpu show`: a machine at each stage of the pipeline, and why a theorem holds.

Comes in: a spec, which machines, which stages. Goes out: text to read. The one idea: what is printed is what is proved and emitted,
not a drawing of it; the program parses back.
"""

from __future__ import annotations

import argparse
from contextlib import suppress
from typing import TYPE_CHECKING

from tinygpu.commands.common import PROVED, add_format
from tinygpu.commands.families import pinned_specs
from tinygpu.commands.first import MADE, with_machines
from tinygpu.commands.specs import chosen, load_sound, words
from tinygpu.commands.theorems import judge, reasons, stated
from tinygpu.diagnostic import TinygpuError
from tinygpu.hardware.arch import CPU
from tinygpu.model.adjoint import Rough, adjoint
from tinygpu.model.gradient import Gradient
from tinygpu.model.theorem import Theorem

if TYPE_CHECKING:
    from tinygpu.model.machine import Launch, Machine, Phase
    from tinygpu.model.pipeline import Claimed
    from tinygpu.pipeline import Loaded

EXAMPLE = "tinygpu show specs/matmul.tgpu matmul_tile --program"
STAGES = ("work", "view", "program", "cuda", "cpu")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", help="a spec, or - for standard input")
    parser.add_argument(
        "machines",
        nargs="*",
        metavar="MACHINE",
        help="a machine, an op for all of its machines, a theorem, a lemma or a choice (all machines); free numbers, T=16",
    )
    parser.add_argument(
        "--cost", nargs="*", metavar="SIZE=VALUE", help="what it moves and computes, predicted, at these sizes (M=4096 N=4096)"
    )
    parser.add_argument(
        "--device",
        metavar="NAME",
        help="with --cost: on a device (h100, a100, rtx4090, …), an architecture (sm_90, cpu) or a CPU (cpu-avx2, a file of your own)",
    )
    parser.add_argument(
        "--peaks", nargs="+", default=[], metavar="PEAK=VALUE", help="with a CPU: what yours does (cores=2 clock_hertz=3.5e9)"
    )
    parser.add_argument("--work", action="store_true", help="the work object, and where each index goes")
    parser.add_argument(
        "--view", action="store_true", help="its factors in the words of other schedulers: global, local, reduce, upcast, …"
    )
    parser.add_argument("--program", action="store_true", help="what each thread does, as it is proved (the default)")
    parser.add_argument("--cuda", action="store_true", help="the CUDA kernels, as emitted")
    parser.add_argument("--cpu", action="store_true", help="the CPU kernel, as emitted")
    add_format(parser)


def run(arguments: argparse.Namespace) -> int:
    specs, sources = load_sound([arguments.path])
    made = [with_machines(spec) for spec in specs]
    specs, texts = tuple(spec for spec, _ in made), [f"{MADE}\n\n{text}" for _, text in made if text]
    if arguments.cost is not None:
        from tinygpu.commands.costs import costs

        return costs(arguments, specs, sources)
    if arguments.device is not None or arguments.peaks:
        raise TinygpuError.of("TG905", "--device and --peaks go with --cost", help="say --cost --device NAME")
    given, listed = words(arguments.machines)
    specs = pinned_specs(specs, given, listed)
    stages = [stage for stage in STAGES if getattr(arguments, stage)] or ["program"]
    pages = [(spec, one) for spec, one in stated(specs, ()) if one.name in listed]
    names = [name for name in listed if name not in {one.name for _, one in pages}]
    machines = chosen(specs, names) if names or not pages else ()
    texts += [theorem_text(spec, one) for spec, one in pages]
    for _, machine in machines:
        for stage in stages:
            title = f"# {machine.heading}" + (f" — {stage}" if len(stages) > 1 else "")
            texts.append((f"{title}\n" if len(machines) * len(stages) > 1 else "") + stage_text(machine, stage))
    print("\n\n".join(text.strip("\n") for text in texts))
    return PROVED


def theorem_text(spec: Loaded, one: Claimed) -> str:
    """What a theorem, a lemma or a choice says, and why it holds: the form that both sides have, which laws lead there, and what had to be shown beside."""
    from tinygpu.proof.pipeline import Linked
    from tinygpu.proof.summary import stated_for

    lines = [one.text(spec.spec.tree).rstrip("\n"), "", f"# for {stated_for(one)}"]
    judged = judge(spec.path, one)
    if judged.word != "proved":
        raise TinygpuError(*judged.diagnostics)
    if isinstance(one, Theorem):
        from tinygpu.algebra.rounding import operations, rounding
        from tinygpu.algebra.theorem import forms

        lines += ["# both sides are", *(f"#   {cell} = {form}" for cell, form in forms(one))]
        for op in (one.left, one.right):
            lines += [f"# {op.family}: {operations(op)} operations"]
            lines += [f"#   {name} is at most ({bound})·u off" for name, bound in rounding(op).items()]
    if isinstance(one, Gradient):
        from tinygpu.emit.module import equations

        with suppress(Rough):  # what a lemma opens has no derivative of its own
            made = equations(adjoint(one.op, one.wanted, one.through))
            lines += ["# its adjoint, equation by equation", *(f"#   {line}" for line in made)]
    if isinstance(judged.found, Linked):
        lines += ["# where what stands between lies, from which call to which", *(f"#   {one}" for one in judged.found.arena.lines)]
    return "\n".join([*lines, "# because of", *(f"#   {reason}" for reason in reasons(judged))])


def stage_text(machine: Machine, stage: str) -> str:
    """One stage of one machine."""
    from tinygpu import pipeline

    if stage == "work":
        return "\n\n".join(work_text(machine, launch) for launch in machine.launches)
    if stage == "view":
        from tinygpu.tune.view import view

        return f"# {machine.title} gives its program itself" if machine.by_hand else view(machine)
    program = pipeline.program(machine)
    if stage == "program":
        from tinygpu.program.render import render, shown

        if machine.use is not None:  # before fragments are written out, as one would write it
            from tinygpu.derive.uses import used

            made = used(machine).program
            return shown(made.body if made else ())
        return render(program)
    if stage == "cpu":
        from tinygpu.emit.cpu import cpu_kernels

        return cpu_kernels(pipeline.on_core(next(pipeline.singles(machine), program)))
    if machine.arch == CPU:
        return f"# {machine.title} is on cpu: it has no CUDA kernels"
    from tinygpu.emit.cuda import cuda_source

    return cuda_source(program)


def work_text(machine: Machine, launch: Launch) -> str:
    """A launch: its levels, and for each equation where its indices come from.

    grid   by: ceil(M / 64), bx: ceil(N / 64)
    block  ty: 8, tx: 8                          64 threads
    C      i = (by*8 + ty)*8 + ri   where i < M
    """
    from tinygpu.category.term import text

    lines = [f"launch {launch.name}"] if len(machine.launches) > 1 else []
    levels = (("core", launch.grid),) if machine.arch == CPU else (("grid", launch.grid), ("block", launch.block))
    lines += [f"{level:<6} {', '.join(f'{a.name}: {text(a.extent)}' for a in axes) or 'one'}" for level, axes in levels]
    for phase in launch.phases:
        lines += phase_lines(phase, machine.arch)
    return "\n".join(lines)


def phase_lines(phase: Phase, arch: str = "") -> list[str]:
    """One equation: each index as a term over factors, the thread's own factors, and the guard."""
    from tinygpu.category.term import conjunction, text

    owner = phase.owner
    lines = [f"{phase.equation.target:<6} {a.name} = {text(t)}" for a, t in zip(owner.codomain, owner.terms, strict=True)]
    words = {"vector": "simd"} if arch == CPU else {}
    own = [
        f"{words.get(a.sort, a.sort)} {a.name}: {text(a.extent)}"
        for a in owner.domain.axes
        if a.sort in ("time", "register", "vector")
    ]
    if own:
        lines.append(f"{'':<6} {', '.join(own)}")
    if owner.domain.guard:
        lines.append(f"{'':<6} where {text(conjunction(*owner.domain.guard))}")
    return lines
