"""Where machines lie under the roofs of a device or of a CPU: divisions of what is counted by peaks.

    operations a second  ≤  min(peak, operations a byte · bytes a second)

Comes in: a cost, a device or a CPU. Goes out: points and roofs. The one idea: the full point divides by what no run takes less than, the hollow one by all that is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tinygpu.cost.bound import bounds_on_cpu, lanes_a_second
from tinygpu.cost.measure import Cost
from tinygpu.cost.on_device import Bound, bounds, without_caches
from tinygpu.cost.warps import known
from tinygpu.hardware.arch import Device
from tinygpu.hardware.processor import Processor
from tinygpu.program.step import Program
from tinygpu.record import dataclass
from tinygpu.simulate.usual import usual_sizes

USUAL = {1: 1 << 22, 2: 2048, 3: 4096}  # a size, by how many there are
MOST = 1 << 26  # elements of an array, where nobody gives its size


@dataclass(frozen=True, slots=True)
class Point:
    """A machine: operations a byte and a second, if each byte is moved once, and if no cache serves any; the seconds of both, and what keeps it from less."""

    title: str
    best: tuple[float, float]
    worst: tuple[float, float] | None
    seconds: tuple[float, float | None]
    because: str


def sizes_of(program: Program, given: Mapping[str, int]) -> dict[str, int]:
    """The sizes given, and for the others those at which kernels are usually compared."""
    op = program.op
    return usual_sizes(op, given, USUAL.get(len(op.sizes), 128), MOST, program.where) or {s: given.get(s, 128) for s in op.sizes}


def point(title: str, cost: Cost, device: Device | Processor) -> Point | None:
    """Where a machine lies; None where it computes no floats, or something of it is data."""
    flops, found, slow = cost.flops.number, least_times(cost, device), all_of_it(cost, device)
    if not flops or not found or not cost.once:
        return None
    least = found[0].seconds
    worst = (flops / slow[0], flops / max(least, slow[1])) if slow else None
    return Point(title, (flops / cost.once, flops / least), worst, (least, max(least, slow[1]) if slow else None), found[0].what)


def least_times(cost: Cost, device: Device | Processor) -> tuple[Bound, ...]:
    """The times that no run can beat, the longest first."""
    return bounds_on_cpu(cost, device) if isinstance(device, Processor) else bounds(cost, device)


def all_of_it(cost: Cost, device: Device | Processor) -> tuple[int, float] | None:
    """The bytes that memory gives and takes if no cache serves anything twice, and their time: sectors of a GPU, elements of a core."""
    if not isinstance(device, Processor):
        seconds = without_caches(cost, device)
        return (cost.moved, seconds) if cost.moved and seconds else None
    asked = known(f.asked.number and f.asked.number * f.item for f in cost.flows)
    return (asked, asked / device.memory_bytes_per_second) if asked else None


def roofs(device: Device | Processor, costs: Sequence[Cost]) -> dict[str, float]:
    """The peaks that some machine could come to, operations a second: of products that are added, two a lane."""
    rows = [row for cost in costs for row in cost.operations]
    if isinstance(device, Processor):
        dtypes = ["f64" if any(dtype == "f64" for _, dtype, _ in rows) else "f32"]
        return {dtype: 2 * lanes_a_second(device, dtype, None) for dtype in dtypes}
    found = {"FP32": float(device.fp32_flops)}
    clocks = device.multiprocessors * device.clock_hertz
    for kind, dtype, _ in rows:
        if kind == "tensor" and (each := device.tensor_flops(dtype)):
            found[f"tensor {dtype}"] = float(each * clocks)
        if dtype == "f64" and device.fp64_lanes:
            found["FP64"] = 2.0 * device.fp64_lanes * clocks
    return found
