"""What `tinygpu show --cost` and `tinygpu check --notes` say: the cost of a machine at some sizes, on a device if one is named.

Comes in: machines, sizes, the name of a device or an architecture. Goes out: a page, plain data, notes.
The one idea: what would need a guess is left out: no registers without the assembler, no bound without a device.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tinygpu.commands.specs import usual_sizes
from tinygpu.cost.measure import Cost, measure
from tinygpu.cost.notes import notes
from tinygpu.cost.predict import Assembled, Filled, filled
from tinygpu.cost.table import as_data, page
from tinygpu.diagnostic import Diagnostic, TinygpuError
from tinygpu.hardware.arch import ARCHITECTURES, Device, device_named, devices
from tinygpu.record import dataclass

if TYPE_CHECKING:
    from tinygpu.model.machine import Machine
    from tinygpu.program.step import Program

USUAL = {1: 1 << 22, 2: 2048, 3: 4096}  # a size, by how many there are
MOST = 1 << 26  # elements of an array, where nobody gives its size


@dataclass(frozen=True, slots=True)
class Target:
    """What a cost is predicted for: nothing, an architecture, or a device of it."""

    arch: str = ""
    device: Device | None = None


def target_named(name: str | None) -> Target:
    """`h100` or `sm_90` → what is known of it. Raises TG905 for another name."""
    if name is None:
        return Target()
    if (device := device_named(name)) is not None:
        return Target(device.arch, device)
    if name.rstrip("af") in ARCHITECTURES:
        return Target(name)
    helps = (f"the devices are {', '.join(devices())}; the architectures {', '.join(ARCHITECTURES)}",)
    raise TinygpuError(Diagnostic("TG905", f"there is no device {name}", helps=helps))


def cost_of(machine: Machine, given: Mapping[str, int], target: Target) -> tuple[Cost, tuple[Filled, ...]]:
    """The cost of a machine, and how its launches fill a device."""
    from tinygpu import pipeline

    program, op = pipeline.program(machine), machine.op
    cost = measure(program, usual_sizes(op, given, USUAL.get(len(op.sizes), 128), MOST))
    if not target.arch:
        return cost, ()
    return cost, filled(cost, target.arch, target.device, assembled(cost.program, target.arch, bool(cost.wide)))


def assembled(program: Program, arch: str, wide: bool) -> tuple[Assembled, ...]:
    """What the assembler says of each launch; nothing where it is not installed, or knows no such architecture."""
    import importlib.util

    if importlib.util.find_spec("numba_cuda") is None or importlib.util.find_spec("cuda") is None:
        return ()
    from tinygpu.hardware.gate import gate
    from tinygpu.program.arrays import shared_places

    number = int(arch.removeprefix("sm_").rstrip("af"))
    reports = gate([program], (number // 10, number % 10), 32, wide)
    return tuple(
        Assembled(r.registers, r.spill_bytes, r.stack_bytes, shared_places(launch)[1])
        for r, launch in zip(reports, program.launches, strict=True)
    )


def cost_page(machine: Machine, given: Mapping[str, int], target: Target) -> tuple[str, tuple[Diagnostic, ...]]:
    """The page of a machine, and its notes."""
    cost, on = cost_of(machine, given, target)
    return page(cost, f"{machine.title} : {machine.op.name}", target.device, target.arch, on), notes(cost, target.device, on)


def cost_data(machine: Machine, given: Mapping[str, int], target: Target) -> tuple[dict[str, Any], tuple[Diagnostic, ...]]:
    """The same as plain data."""
    cost, on = cost_of(machine, given, target)
    data = {"machine": machine.title, "op": machine.op.name, **as_data(cost, target.device, target.arch, on)}
    return data, notes(cost, target.device, on)


def notes_of(machine: Machine) -> Sequence[Diagnostic]:
    """The notes on a machine at usual sizes, for no device."""
    cost, on = cost_of(machine, {}, Target())
    return notes(cost, None, on)
