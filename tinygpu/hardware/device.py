"""Devices by name, as data: what a bound of a kernel's speed needs, and how many blocks of a kernel a multiprocessor holds at once.

Comes in: a name (`h100`, or an architecture such as `sm_90`), a kernel's registers, shared memory and threads. Goes out: peaks, residency.
The one idea: every number is of a data sheet whose name stands in the file; the units in which registers and shared memory are set aside
are the hardware's, so residency is a matter of division.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files

from tinygpu.hardware.arch import Arch, arch_named, known
from tinygpu.record import dataclass

WARP = 32


@dataclass(frozen=True, slots=True)
class Device:
    """Peaks: bytes and clocks a second, instructions a clock and multiprocessor."""

    name: str
    arch: str
    multiprocessors: int
    clock_hertz: int
    memory_bytes_per_second: int
    l2_bytes: int
    fp32_lanes: int
    fp64_lanes: int

    @property
    def fp32_flops(self) -> int:
        """Floating-point operations a second, if all are fused.

        >>> round(device_named("h100").fp32_flops / 1e12, 1)
        66.9
        """
        return 2 * self.fp32_lanes * self.multiprocessors * self.clock_hertz


@dataclass(frozen=True, slots=True)
class Room:
    """What the blocks of a multiprocessor share; registers, bytes and counts."""

    registers_per_multiprocessor: int
    register_unit: int
    partitions: int
    shared_bytes_per_multiprocessor: int
    shared_reserved_bytes: int
    shared_unit: int


@dataclass(frozen=True, slots=True)
class Resident:
    """How many blocks a multiprocessor holds, their warps, the warps it could hold, and what keeps it from more."""

    blocks: int
    warps: int
    most: int
    because: str

    @property
    def share(self) -> float:
        """The occupancy."""
        return self.warps / self.most


def devices() -> tuple[str, ...]:
    """The names that are known.

    >>> devices()
    ('a100', 'h100', 'h200', 'l4', 'rtx3090', 'rtx4090', 't4')
    """
    found = (f.name for f in files("tinygpu.hardware").iterdir())
    return tuple(sorted(n.removeprefix("device_").removesuffix(".toml") for n in found if n.startswith("device_")))


@cache
def device_named(name: str) -> Device | None:
    """The device, or None for a name that is none."""
    if name not in devices():
        return None
    data = tomllib.loads(files("tinygpu.hardware").joinpath(f"device_{name}.toml").read_text(encoding="utf-8"))
    return Device(**data["device"])


@cache
def room_of(arch: str) -> Room:
    """What a multiprocessor of an architecture has for its blocks."""
    base = arch.rstrip("af")
    data = tomllib.loads(files("tinygpu.hardware").joinpath(f"{base}.toml").read_text(encoding="utf-8"))
    return Room(**data["occupancy"])


def resident(arch: str, threads: int, registers: int, shared_bytes: int) -> Resident:
    """`threads of a block × registers of a thread × shared bytes of a block → what a multiprocessor holds of them`.

    >>> resident("sm_90", 256, 128, 0), resident("sm_80", 32, 32, 0).because, resident("sm_90", 256, 32, 100_000).blocks
    (Resident(blocks=2, warps=16, most=64, because='registers'), 'blocks', 2)
    """
    if not known(arch):
        raise KeyError(arch)
    limits: Arch = arch_named(arch)
    room, warps = room_of(arch), -(-threads // WARP)
    most = limits.threads_per_multiprocessor // WARP
    each = _up(registers * WARP, room.register_unit)
    in_registers = room.registers_per_multiprocessor // room.partitions // each * room.partitions if each else most
    shared = _up(shared_bytes + room.shared_reserved_bytes, room.shared_unit)
    fits = {
        "threads": most // warps,
        "registers": in_registers // warps,
        "shared memory": room.shared_bytes_per_multiprocessor // shared if shared else most,
        "blocks": limits.blocks_per_multiprocessor,
    }
    because = min(fits, key=lambda what: fits[what])
    return Resident(fits[because], fits[because] * warps, most, because)


def _up(value: int, unit: int) -> int:
    return -(-value // unit) * unit
