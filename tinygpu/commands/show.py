"""`tinygpu show`: a machine at each stage of the pipeline, and what it costs at some sizes, on a device if one is named.

Comes in: a spec, which machines, which stages. Goes out: text to read, or plain data. The one idea: what is printed is what is proved and
emitted, not a drawing of it; the program parses back.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tinygpu.commands.common import PROVED, add_format, print_json
from tinygpu.commands.specs import chosen, load_sound, sized, usual_sizes, words
from tinygpu.diagnostic import Diagnostic, TinygpuError
from tinygpu.hardware.arch import ARCHITECTURES, CPU, Device, device_named, devices
from tinygpu.report import report, wants_color

if TYPE_CHECKING:
    from tinygpu.cost.measure import Cost
    from tinygpu.cost.predict import Assembled, Filled
    from tinygpu.model.machine import Launch, Machine, Phase
    from tinygpu.pipeline import Loaded
    from tinygpu.program.step import Program

EXAMPLE = "tinygpu show specs/matmul.tgpu matmul_tile --program"
STAGES = ("work", "program", "cuda", "cpu")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", help="a spec, or - for standard input")
    parser.add_argument("machines", nargs="*", metavar="MACHINE", help="a machine, or an op for all of its machines (all)")
    parser.add_argument(
        "--cost", nargs="*", metavar="SIZE=VALUE", help="what it moves and computes, predicted, at these sizes (M=4096 N=4096)"
    )
    parser.add_argument(
        "--device", metavar="NAME", help="with --cost: on a device (h100, a100, rtx4090, …) or an architecture (sm_90)"
    )
    parser.add_argument("--work", action="store_true", help="the work object, and where each index goes")
    parser.add_argument("--program", action="store_true", help="what each thread does, as it is proved (the default)")
    parser.add_argument("--cuda", action="store_true", help="the CUDA kernels, as emitted")
    parser.add_argument("--cpu", action="store_true", help="the CPU kernel, as emitted")
    add_format(parser)


def run(arguments: argparse.Namespace) -> int:
    specs, sources = load_sound([arguments.path])
    if arguments.cost is not None:
        return costs(arguments, specs, sources)
    if arguments.device is not None:
        raise TinygpuError.of("TG905", "--device goes with --cost", help="say --cost --device NAME")
    stages = [stage for stage in STAGES if getattr(arguments, stage)] or ["program"]
    machines = chosen(specs, arguments.machines)
    texts = []
    for _, machine in machines:
        for stage in stages:
            title = f"# {machine.title} : {machine.op.name}" + (f" — {stage}" if len(stages) > 1 else "")
            texts.append((f"{title}\n" if len(machines) * len(stages) > 1 else "") + stage_text(machine, stage))
    print("\n\n".join(text.strip("\n") for text in texts))
    return PROVED


def stage_text(machine: Machine, stage: str) -> str:
    """One stage of one machine."""
    from tinygpu import pipeline

    if stage == "work":
        return "\n\n".join(work_text(machine, launch) for launch in machine.launches)
    program = pipeline.program(machine)
    if stage == "program":
        from tinygpu.program.render import render

        return render(program)
    if stage == "cpu":
        from tinygpu.emit.cpu import cpu_kernels

        return cpu_kernels(pipeline.on_core(next(pipeline.singles(machine), program))).text
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


# ── costs ──────────────────────────────────────────────────────────────────────────────────────────────────────────

USUAL = {1: 1 << 22, 2: 2048, 3: 4096}  # a size, by how many there are
MOST = 1 << 26  # elements of an array, where nobody gives its size


def costs(arguments: argparse.Namespace, specs: Sequence[Loaded], sources: dict[str, str]) -> int:
    """The cost of each machine, with its notes under it; one document for a machine that reads."""
    from tinygpu.cost.notes import notes
    from tinygpu.cost.table import as_data, page
    from tinygpu.report.formats import as_dict

    given, names = words([*arguments.machines, *arguments.cost])
    machines, (arch, device), style = sized(specs, names, given), target_named(arguments.device), arguments.output_format
    shown: list[Any] = []
    for machine in machines:
        if machine.arch == CPU:
            if style != "json":
                shown.append(f"{machine.title} : {machine.op.name}   is on cpu, which has no warps and no sectors to count")
            continue
        cost, on = cost_of(machine, given, arch, device)
        said = notes(cost, device, on)
        if style == "json":
            head = {"machine": machine.title, "op": machine.op.name}
            shown.append({**head, **as_data(cost, device, arch, on), "notes": [as_dict(note) for note in said]})
            continue
        text = report(said, sources, style, wants_color(sys.stdout))
        shown.append(page(cost, f"{machine.title} : {machine.op.name}", device, arch, on) + f"\n\n{text}" * bool(text))
    if style == "json":
        print_json({"costs": shown})
    else:
        print("\n\n\n".join(shown))
    return PROVED


def target_named(name: str | None) -> tuple[str, Device | None]:
    """`h100` or `sm_90` → an architecture, and the device of it that is meant. Raises TG905 for another name."""
    if name is None:
        return "", None
    if (device := device_named(name)) is not None:
        return device.arch, device
    if name.rstrip("af") in ARCHITECTURES:
        return name, None
    help = f"the devices are {', '.join(devices())}; the architectures {', '.join(ARCHITECTURES)}"
    raise TinygpuError.of("TG905", f"there is no device {name}", help=help)


def cost_of(machine: Machine, given: Mapping[str, int], arch: str, device: Device | None) -> tuple[Cost, tuple[Filled, ...]]:
    """The cost of a machine, and how its launches fill a device. What would need a guess is left out: no registers without the assembler, no
    bound without a device."""
    from tinygpu import pipeline
    from tinygpu.cost.measure import measure
    from tinygpu.cost.predict import filled

    op = machine.op
    cost = measure(pipeline.program(machine), usual_sizes(op, given, USUAL.get(len(op.sizes), 128), MOST))
    return cost, filled(cost, arch, device, assembled(cost.program, arch, bool(cost.wide))) if arch else ()


def assembled(program: Program, arch: str, wide: bool) -> tuple[Assembled, ...]:
    """What the assembler says of each launch; nothing where it is not installed, or knows no such architecture."""
    import importlib.util

    if importlib.util.find_spec("numba_cuda") is None or importlib.util.find_spec("cuda") is None:
        return ()
    from tinygpu.cost.predict import Assembled
    from tinygpu.hardware.gate import gate
    from tinygpu.program.arrays import shared_places

    number = int(arch.removeprefix("sm_").rstrip("af"))
    reports = gate([program], (number // 10, number % 10), 32, wide)
    return tuple(
        Assembled(r.registers, r.spill_bytes, r.stack_bytes, shared_places(launch)[1])
        for r, launch in zip(reports, program.launches, strict=True)
    )


def notes_of(machine: Machine) -> tuple[Diagnostic, ...]:
    """The notes on a machine at usual sizes, for no device."""
    from tinygpu.cost.notes import notes

    return notes(cost_of(machine, {}, "", None)[0])
