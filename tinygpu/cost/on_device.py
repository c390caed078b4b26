"""A cost on a device: how many blocks it holds at once, in how many waves they run, and the time that no run can beat.

Comes in: a cost, a device, what the assembler said of each launch. Goes out: predictions, each with the reason. The one idea: a bound is a division by a peak, and a
prediction that would need a guess is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from tinygpu.cost.measure import Cost, Flow
from tinygpu.cost.operations import FLOPS
from tinygpu.cost.warps import known
from tinygpu.hardware.arch import Assembled, Device, Resident, resident
from tinygpu.record import dataclass


@dataclass(frozen=True, slots=True)
class Filled:
    """A launch on a device: what a multiprocessor holds, how many waves of blocks there are. Without the assembler's report that is what fragments and
    shared memory allow: more it does not hold, if it holds all fragments at once."""

    assembled: Assembled | None
    resident: Resident | None
    blocks: int | None
    multiprocessors: int | None

    @property
    def waves(self) -> float | None:
        """Blocks by the number of those that run at once."""
        if (
            self.assembled is None
            or self.resident is None
            or not self.resident.blocks
            or self.blocks is None
            or self.multiprocessors is None
        ):
            return None
        return self.blocks / (self.resident.blocks * self.multiprocessors)

    @property
    def tail(self) -> float | None:
        """How full the last wave is."""
        return None if self.waves is None else self.waves - (-(-self.waves // 1) - 1)


@dataclass(frozen=True, slots=True)
class Hidden:
    """What hides the latency of memory, by Little's law: the bytes that a multiprocessor has under way, in so many `blocks`; those that it `needs`, latency
    times what it asks for a second; and the groups of a block that are so many."""

    underway: int
    blocks: int
    needs: float
    groups: int


@dataclass(frozen=True, slots=True)
class Bound:
    """No run is faster than `seconds`, because of `what`."""

    what: str
    seconds: float


def filled(cost: Cost, arch: str, device: Device | None, reports: Sequence[Assembled]) -> tuple[Filled, ...]:
    """Each launch on an architecture, and on a device of it."""
    found, many = [], device.multiprocessors if device else None
    said: Sequence[Assembled | None] = reports or [None] * len(cost.launches)
    for launch, report in zip(cost.launches, said, strict=True):
        registers = report.registers if report else sum(launch.fragments.values())
        held = resident(arch, launch.threads, registers, launch.shared_bytes) if launch.threads else None
        found.append(Filled(report, held, launch.blocks.number, many))
    return tuple(found)


def bounds(cost: Cost, device: Device) -> tuple[Bound, ...]:
    """The times that no run can beat, the longest first."""
    found = []
    if cost.once is not None:
        found.append(Bound("memory, each element once", cost.once / device.memory_bytes_per_second))
    clocks = device.multiprocessors * device.clock_hertz
    for dtypes, lanes, what in ((("f32", "f16", "bf16"), device.fp32_lanes, "FP32"), (("f64",), device.fp64_lanes, "FP64")):
        total = known(c.number for kind, dtype, c in cost.operations if kind in FLOPS and dtype in dtypes and c.exact)
        if total:
            found.append(Bound(f"{what} arithmetic", total / (clocks * lanes)))
    if (tensor := tensor_clocks(cost, device)) is not None:
        found.append(Bound("tensor arithmetic", tensor / clocks))
    words = [one.tally.fewest for one in cost.lines if one.shared and one.tally is not None and one.tally.exact]
    if words:
        found.append(Bound("shared memory, each word once a warp", sum(w for w in words if w is not None) / clocks))
    return tuple(sorted(found, key=lambda b: -b.seconds))


def tensor_clocks(cost: Cost, device: Device) -> float | None:
    """The clocks that one multiprocessor would take for all that instructions multiply; None where there is nothing, or no peak is known."""
    counts = [(device.tensor_flops(dtype), c) for kind, dtype, c in cost.operations if kind == "tensor" and c.exact]
    return known(each and c.number and 2 * c.number / each for each, c in counts) if counts else None  # type: ignore[no-any-return]


def hidden(cost: Cost, number: int, device: Device, on: Filled) -> Hidden | None:
    """Of a launch whose copies land later; None where there are none, or something is not known. What a machine asks for is all of its copies in the
    time that no run beats, and no more than memory gives."""
    launch, ahead = cost.launches[number], cost.launches[number].underway
    if ahead is None or on.resident is None or not launch.blocks.number or not device.memory_latency_ns or not device.copies:
        return None
    many = device.multiprocessors
    blocks = min(on.resident.blocks, -(-launch.blocks.number // many))
    asked = known(
        one.asked.number and one.asked.number * one.access.item for one in cost.lines if one.launch == number and one.copied
    )
    least = max((b.seconds for b in bounds(cost, device)), default=0)
    if not blocks or not asked or not least:
        return None
    needs = device.memory_latency_ns * 1e-9 * min(asked / least, device.memory_bytes_per_second) / many
    return Hidden(ahead.bytes * blocks, blocks, needs, ceil(needs / (blocks * ahead.largest)))


def without_caches(cost: Cost, device: Device) -> float | None:
    """The time of all sectors from memory: what a run takes at least if no cache serves anything twice."""
    return None if cost.moved is None else cost.moved / device.memory_bytes_per_second


def turns_of_banks(cost: Cost, device: Device) -> float | None:
    """The time of all turns of shared memory, as `cost.warps` counts them: hardware may serve groups that want the same together."""
    turns = known(one.tally and one.tally.units for one in cost.lines if one.shared)
    return turns / (device.multiprocessors * device.clock_hertz) if turns else None


def fits_in_cache(flow: Flow, device: Device) -> bool:
    """Whether a whole array fits into the second-level cache, which may then serve what is asked for again."""
    return flow.once is not None and flow.once <= device.l2_bytes
