"""What no run is faster than, as numbers of seconds: of a proved program, or of every machine of an op.

    seconds ≥ Σ launches: instructions / (cores that have something to do · lanes · instructions a clock · clocks)
    seconds ≥ (bytes once − bytes that caches keep) / bytes a second

Comes in: a program or an op, sizes, a device or a CPU. Goes out: the longest of these, and each with its reason. The one idea: what is divided is never more than what runs, and what it is divided by is a peak,
so a bound errs on one side; where peaks are peaks, a machine whose bound is above the time of another one is slower.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from tinygpu.category.dtype import BYTES
from tinygpu.category.evaluate import evaluate
from tinygpu.cost.least import instructions, operations
from tinygpu.cost.measure import Cost
from tinygpu.cost.on_device import Bound
from tinygpu.cost.whole import bytes_once
from tinygpu.hardware.arch import Device
from tinygpu.hardware.processor import Processor
from tinygpu.model.op import Op
from tinygpu.program.lanes import instances
from tinygpu.program.step import Program

WORD = 4  # bytes that a lane takes at least: halves are computed as f32


def bound(what: Program | Op, sizes: Mapping[str, int], device: Device | Processor) -> float:
    """The seconds that no run takes less than, one after another on the same arrays: of a program, or of any machine that evaluates the equations of an op.

    An op's is a bound of every machine of these equations, and of none that goes by a theorem to others: of `(A + B)·C` no machine of `A·C + B·C` is spoken of.
    """
    return max((one.seconds for one in (arithmetic(what, sizes, device), memory(what, sizes, device))), default=0.0)


def arithmetic(what: Program | Op, sizes: Mapping[str, int], device: Device | Processor) -> Bound:
    """All instructions, at the peak of those cores that have a turn of the grid to do; of a program for registers of any length, for those with which it has least to do."""
    found = []
    for one in (what,) if isinstance(what, Op) else instances(what):
        seconds = 0.0
        for (launch, dtype), many in instructions(operations(one, sizes)).items():
            seconds += many / lanes_a_second(device, dtype, None if isinstance(one, Op) else turns_of(one, launch, sizes))
        found.append(seconds)
    return Bound("arithmetic", min(found))


def memory(what: Program | Op, sizes: Mapping[str, int], device: Device | Processor) -> Bound:
    """What caches cannot have kept from the run before."""
    once = bytes_once(what if isinstance(what, Op) else what.op, sizes)
    kept = device.cache_bytes if isinstance(device, Processor) else device.l2_bytes
    return Bound("memory, what caches do not keep", max(0, once - kept) / device.memory_bytes_per_second)


def turns_of(program: Program, launch: int, sizes: Mapping[str, int]) -> int:
    """The points of a launch's grid."""
    return prod(max(0, int(evaluate(a.extent, sizes))) for a in program.launches[launch].grid)


def lanes_a_second(device: Device | Processor, dtype: str, turns: int | None) -> float:
    """Instructions of one lane a second."""
    if isinstance(device, Processor):
        return device.clocks(turns or device.cores) * device.pipes * device.lanes(max(WORD, BYTES[dtype]))
    tensor = max((each for sums in device.tensor.values() for each in sums.values()), default=0) // 2
    lanes = max(device.fp32_lanes, device.fp64_lanes, tensor)  # an instruction of the hardware may do what an equation says
    return min(device.multiprocessors, turns or device.multiprocessors) * device.clock_hertz * lanes


def bounds_on_cpu(cost: Cost, cpu: Processor) -> tuple[Bound, ...]:
    """The times that no run of a program on a CPU can beat, the longest first; memory as a run finds it that is the first one."""
    found = [arithmetic(cost.program, cost.sizes, cpu)]
    if once := bytes_once(cost.program.op, cost.sizes):
        found.append(Bound("memory, each element once", once / cpu.memory_bytes_per_second))
    return tuple(sorted(found, key=lambda b: -b.seconds))


def issued(cost: Cost, cpu: Processor) -> Mapping[str, float]:
    """The time of all loads and of all stores, as the program says them: a compiler may leave some out."""
    out: dict[str, float] = {}
    for stores, what, peak in ((False, "loads", cpu.loads), (True, "stores", cpu.stores)):
        seconds = 0.0
        for number, launch in enumerate(cost.launches):
            mine = [one for one in cost.lines if one.launch == number and one.access.stores == stores]
            if any(one.tally is None for one in mine):
                break
            many = sum(one.tally.requests for one in mine if one.tally)
            seconds += many / (cpu.clocks(launch.blocks.number or 1) * peak)
        else:
            out[what] = seconds
    return out
