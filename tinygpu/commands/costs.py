"""What `tinygpu show --cost` and `tinygpu check --notes` say: the cost of a machine at some sizes, on a device if one is named.

Comes in: machines, sizes, the name of a device or an architecture. Goes out: pages, plain data, notes.
The one idea: what would need a guess is left out: no registers without the assembler, no bound without a device.
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
from tinygpu.cost.data import as_data
from tinygpu.cost.measure import Cost, measure
from tinygpu.cost.notes import notes
from tinygpu.cost.on_device import Filled, filled
from tinygpu.cost.table import page
from tinygpu.diagnostic import Diagnostic, TinygpuError
from tinygpu.hardware.arch import ARCHITECTURES, CPU, Device, device_named, devices, runs_on
from tinygpu.report import report, wants_color
from tinygpu.report.formats import as_dict

if TYPE_CHECKING:
    from tinygpu.model.machine import Machine

USUAL = {1: 1 << 22, 2: 2048, 3: 4096}  # a size, by how many there are
MOST = 1 << 26  # elements of an array, where nobody gives its size


def costs(arguments: argparse.Namespace, specs: Sequence[pipeline.Loaded], sources: dict[str, str]) -> int:
    """The cost of each machine, with its notes under it; one document for a machine that reads."""
    words_, names = words([*arguments.machines, *arguments.cost])
    specs, given = pointed(specs, words_, names)
    machines, (arch, device), style = sized(specs, names, given), target_named(arguments.device), arguments.output_format
    shown: list[Any] = []
    for machine in machines:
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
    if machine.arch == CPU:
        return "is on cpu, which has no warps and no sectors to count"
    runs = not arch or runs_on(machine.arch, arch)
    return "" if runs else f"is on {machine.arch}, and does not run on {device.name if device else arch}"


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
