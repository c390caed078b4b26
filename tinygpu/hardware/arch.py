"""What architectures allow and devices do, as data: one TOML file each, every number with the page or the data sheet it comes from.

Comes in: a name (`sm_90a`, `cpu`, nothing for the least common GPU; `h100`), a kernel's registers, shared memory and threads. Goes out: limits, peaks,
and how many blocks a multiprocessor holds. `python -m tinygpu.hardware.arch` writes `limits.json`, all architectures as one table, since reading ten
files of TOML takes a tenth of a check. The one idea: the least common architecture is the pointwise minimum, so a machine that names none fits all of
them; and the units in which registers and shared memory are set aside are the hardware's, so residency is a matter of division.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tinygpu.record import dataclass

ARCHITECTURES = ("sm_75", "sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_100", "sm_103", "sm_120")  # GPUs
CPU = "cpu"
HERE = Path(__file__).resolve().parent
WARP = 32
LIKE = {"bf16": "f16", "u8": "i8", "u4": "i4", "e5m2": "e4m3"}  # operands of tensor cores that take as long


@dataclass(frozen=True, slots=True)
class Arch:
    """The limits of one architecture; bytes and counts."""

    name: str
    threads_per_block: int
    threads_per_multiprocessor: int
    blocks_per_multiprocessor: int
    registers_per_thread: int
    registers_per_block: int
    shared_bytes_per_block: int
    shared_bytes_per_block_opt_in: int
    blocks_per_cluster: int
    grid_x: int
    grid_y: int
    block_z: int
    warp: int


@cache
def arch_named(name: str) -> Arch:
    """The limits of an architecture; `sm_90a` and `sm_100f` have those of `sm_90` and `sm_100`; the empty name has the least.

    >>> arch_named("sm_90a").blocks_per_cluster, arch_named("").threads_per_multiprocessor
    (8, 1024)
    """
    base = name.rstrip("af") if name != CPU else name
    return Arch(name or "every architecture", **_table()[base])


@cache
def _table() -> dict[str, dict[str, int]]:
    table: dict[str, dict[str, int]] = json.loads((HERE / "limits.json").read_text(encoding="utf-8"))
    return table


def table() -> str:
    """What the TOML files say, as the text of `limits.json`; the empty name has the least of the GPUs."""
    every = {name: _file(name)["limits"] for name in (*ARCHITECTURES, CPU)}
    least = {limit: min(every[name][limit] for name in ARCHITECTURES) for limit in every[CPU]}
    lines = (f"{json.dumps(name)}: {json.dumps(limits)}" for name, limits in {"": least, **every}.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _file(name: str) -> dict[str, dict[str, Any]]:
    import tomllib  # here, as limits are in every check, and files are not

    return tomllib.loads((HERE / f"{name}.toml").read_text(encoding="utf-8"))


def known(name: str) -> bool:
    """Whether an architecture is one of ours."""
    return name == CPU or name.rstrip("af") in ARCHITECTURES


def runs_on(least: str, name: str) -> str:
    """The architecture for which a kernel that was made for `least` is assembled on another one: with its letter; empty where it does not run there.

    >>> runs_on("sm_90a", "sm_90"), runs_on("sm_80", "sm_90"), runs_on("", "sm_75"), runs_on("sm_90a", "sm_100"), runs_on("sm_90", "sm_80"), runs_on("sm_100f", "sm_103")
    ('sm_90a', 'sm_90', 'sm_75', '', '', 'sm_103f')
    """
    (first, letter), here = ((least.rstrip("af"), least[len(least.rstrip("af")) :]) if least else ("", "")), name.rstrip("af")
    wanted, there = (int(one.removeprefix("sm_") or 0) for one in (first, here))
    same = there == wanted if letter == "a" else there // 10 == wanted // 10 if letter else True
    return (here + letter if letter else name) if same and there >= wanted else ""


def copies_later(name: str) -> bool:
    """Whether an architecture has copies that land later; the empty name is every one that has.

    >>> copies_later("sm_75"), copies_later("sm_90a"), copies_later(""), copies_later(CPU)
    (False, True, True, False)
    """
    return name != CPU and int(name.removeprefix("sm_").rstrip("af") or 80) >= 80


@dataclass(frozen=True, slots=True)
class Device:
    """Peaks: bytes and clocks a second, instructions a clock and multiprocessor; of tensor cores operations, by the dtypes of operands and of
    sums. The latency is that of an idle memory, where somebody has measured it."""

    name: str
    arch: str
    multiprocessors: int
    clock_hertz: int
    memory_bytes_per_second: int
    l2_bytes: int
    fp32_lanes: int
    fp64_lanes: int
    tensor: Mapping[str, Mapping[str, int]]
    memory_latency_ns: int | None = None

    @property
    def copies(self) -> bool:
        """Whether it has copies that land later.

        >>> device_named("t4").copies, device_named("a100").copies
        (False, True)
        """
        return copies_later(self.arch)

    def tensor_flops(self, dtypes: str) -> int | None:
        """Operations of the tensor cores of a multiprocessor in a clock, `operands→sums`; None where no peak is known.

        >>> [device_named(name).tensor_flops("f16→f32") for name in ("h100", "a100", "rtx4090", "l4")], device_named("a100").tensor_flops("e5m2→f32")
        ([4096, 2048, 512, 1024], None)
        """
        factors, sums = dtypes.split("→")
        first = factors.split("·")[0]
        return self.tensor.get(LIKE.get(first, first), {}).get(sums)

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
class Assembled:
    """What the assembler says of a kernel: registers of a thread, bytes of spills, of stack, of a block's shared memory, of local memory."""

    registers: int
    spill_bytes: int
    stack_bytes: int
    shared_bytes: int
    local_bytes: int = 0
    kernel: str = ""


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
    ('a100', 'b200', 'h100', 'h200', 'l4', 'orin', 'rtx3090', 'rtx4090', 'rtxpro6000', 't4')
    """
    return tuple(sorted(path.stem.removeprefix("device_") for path in HERE.glob("device_*.toml")))


@cache
def device_named(name: str) -> Device | None:
    """The device, or None for a name that is none."""
    if name not in devices():
        return None
    said = _file(f"device_{name}")
    return Device(**said["device"], tensor=said.get("tensor") or _file(said["device"]["arch"]).get("tensor", {}))


@cache
def room_of(arch: str) -> Room:
    """What a multiprocessor of an architecture has for its blocks."""
    return Room(**_file(arch.rstrip("af"))["occupancy"])


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


if __name__ == "__main__":
    (HERE / "limits.json").write_text(table(), encoding="utf-8")
