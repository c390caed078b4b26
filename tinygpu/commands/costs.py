"""What `tinygpu show --cost` and `tinygpu check --notes` say: the cost of a machine at some sizes, on a device if one is named.

Comes in: machines, sizes, the name of a device, an architecture or a CPU. Goes out: pages, plain data, notes.
The one idea: what would need a guess is left out: no registers without the assembler, no bound without a device; of a CPU the program is counted that it runs, which is a layout of the machine's.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tinygpu import pipeline
from tinygpu.commands.common import PROVED, print_json
from tinygpu.commands.families import pointed
from tinygpu.commands.specs import sized, usual_sizes, words
from tinygpu.cost.bound import bounds_on_cpu
from tinygpu.cost.core_page import core_page
from tinygpu.cost.data import as_data
from tinygpu.cost.measure import Cost, measure
from tinygpu.cost.notes import notes
from tinygpu.cost.on_device import Filled, filled
from tinygpu.cost.table import page
from tinygpu.diagnostic import Diagnostic, TinygpuError
from tinygpu.hardware.arch import ARCHITECTURES, CPU, Device, device_named, devices, runs_on
from tinygpu.hardware.processor import LEADS, OWN, Processor, overruled, processor_named, processors
from tinygpu.report import report, wants_color
from tinygpu.report.formats import as_dict

if TYPE_CHECKING:
    from tinygpu.model.machine import Machine

USUAL = {1: 1 << 22, 2: 2048, 3: 4096}  # a size, by how many there are
WIDE = "cpu-avx512"  # whose vectors are counted where no CPU is named
MOST = 1 << 26  # elements of an array, where nobody gives its size


def costs(arguments: argparse.Namespace, specs: Sequence[pipeline.Loaded], sources: dict[str, str]) -> int:
    """The cost of each machine, with its notes under it; one document for a machine that reads."""
    words_, names = words([*arguments.machines, *arguments.cost])
    specs, given = pointed(specs, words_, names)
    machines, style = sized(specs, names, given), arguments.output_format
    cpu = cpu_named(arguments.device, arguments.peaks)
    arch, device = (CPU, None) if cpu or arguments.device == CPU else target_named(arguments.device)
    shown: list[Any] = []
    for machine in machines:
        if arch == CPU or (machine.arch == CPU and not arch):
            shown += on_cpu(machine, given, cpu, style)
            continue
        if reason := uncounted(machine, arch, device):
            shown += [f"{machine.heading}   {reason}"] * (style != "json")
            continue
        cost, on = cost_of(machine, given, arch, device)
        said = notes(cost, device, on)
        if style == "json":
            head = {"machine": machine.title, "op": machine.op.name}
            shown.append({**head, **as_data(cost, device, arch, on), "notes": [as_dict(note) for note in said]})
            continue
        text = report(said, sources, style, wants_color(sys.stdout))
        shown.append(page(cost, machine.heading, device, arch, on) + f"\n\n{text}" * bool(text))
    if style == "json":
        print_json({"costs": shown})
    else:
        print("\n\n\n".join(shown))
    return PROVED


def uncounted(machine: Machine, arch: str, device: Device | None) -> str:
    """Why a machine has no cost on what was named; empty where it has."""
    runs = not arch or (machine.arch != CPU and runs_on(machine.arch, arch))
    return "" if runs else f"is on {machine.arch}, and does not run on {device.name if device else arch}"


def target_named(name: str | None) -> tuple[str, Device | None]:
    """`h100` or `sm_90` → an architecture, and the device of it that is meant. Raises TG905 for another name."""
    if name is None:
        return "", None
    if (device := device_named(name)) is not None:
        return device.arch, device
    if name.rstrip("af") in ARCHITECTURES:
        return name, None
    help = f"the devices are {', '.join((*devices(), *processors()))}; the architectures {', '.join((*ARCHITECTURES, CPU))}"
    raise TinygpuError.of("TG905", f"there is no device {name}", help=help)


def cpu_named(name: str | None, peaks: Sequence[str]) -> Processor | None:
    """`cpu-avx2`, or the path of a file → a CPU, with some of its peaks as they are given. Raises TG905 where it is none, or they are."""
    is_cpu = (name is not None and name.startswith(LEADS)) or (name is not None and name.endswith(OWN))
    if peaks and not is_cpu:
        help = f"say --device {processors()[-1]} or the path of a file, and then --peaks cores=2 clock_hertz=3e9"
        raise TinygpuError.of("TG905", "--peaks goes with a CPU", help=help)
    if not is_cpu:
        return None
    given = dict(word.partition("=")[::2] for word in peaks)
    return overruled(processor_named(str(name)), given)


def on_cpu(machine: Machine, given: Mapping[str, int], cpu: Processor | None, style: str) -> list[Any]:
    """The cost of a machine as a CPU runs it: a page, or plain data."""
    op, vectors = machine.op, cpu or processor_named(WIDE)
    program = pipeline.on_core(next(pipeline.singles(machine), pipeline.program(machine)))
    if any(launch.block for launch in program.launches):
        reason = "works together as blocks of threads, which a CPU runs in turn: that is not counted"
        return [f"{machine.heading}   {reason}"] * (style != "json")
    cost = measure(program, usual_sizes(op, given, USUAL.get(len(op.sizes), 128), MOST), vectors)
    if style != "json":
        return [core_page(cost, machine.heading, vectors, cpu)]
    bounds = [{"what": b.what, "seconds": b.seconds} for b in bounds_on_cpu(cost, cpu)] if cpu else []
    about = {"device": cpu.name if cpu else None, "vector_bytes": vectors.vector_bytes, "bounds": bounds}
    return [{"machine": machine.title, "op": op.name, **as_data(cost, arch=CPU), **about, "notes": []}]


def cost_of(machine: Machine, given: Mapping[str, int], arch: str, device: Device | None) -> tuple[Cost, tuple[Filled, ...]]:
    """The cost of a machine, and how its launches fill a device."""
    op = machine.op
    cost = measure(pipeline.program(machine), usual_sizes(op, given, USUAL.get(len(op.sizes), 128), MOST))
    if not arch:
        return cost, ()
    from tinygpu.run.gate import assembled

    return cost, filled(cost, arch, device, assembled(cost.program, runs_on(machine.arch, arch), bool(cost.wide)))


def notes_of(machine: Machine) -> tuple[Diagnostic, ...]:
    """The notes on a machine at usual sizes, for no device."""
    return notes(cost_of(machine, {}, "", None)[0])
