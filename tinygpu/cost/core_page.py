"""A cost on a CPU as a page of text: what cores load and store, how many numbers at once, what they compute, and what no run is faster than.

Comes in: a cost of a program as it is laid out for a CPU, and the CPU, if one is named. Goes out: lines. The one idea: the page is that of a GPU with vectors in place of warps, so what is the same is made by the same functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from tinygpu.cost.bound import bounds_on_cpu, issued, memory
from tinygpu.cost.counted import Count, added
from tinygpu.cost.measure import Cost, Line
from tinygpu.cost.table import ELEMENT, arithmetic, at_most, bytes_of, form, grid_of, ratio, seconds_of
from tinygpu.cost.vectors import bytes_of_core
from tinygpu.cost.warps import known
from tinygpu.hardware.processor import Processor


def core_page(cost: Cost, title: str, vectors: Processor, cpu: Processor | None) -> str:
    """The whole page; `vectors` says how long they are, where no CPU is named."""
    at = ", ".join(f"{name} = {value}" for name, value in cost.sizes.items())
    where = f", on {cpu.name}" if cpu else f", in vectors of {vectors.vector_bytes} bytes"
    parts = [[f"{title}   predicted{' at ' * bool(at)}{at}{where}, as a CPU runs it"], turns(cost, vectors, cpu), tensors(cost)]
    parts += [accesses_of_core(cost, False), accesses_of_core(cost, True), share(cost), arithmetic(cost)]
    parts += [no_faster(cost, cpu)] if cpu else []
    return "\n\n".join("\n".join(part) for part in parts if part)


def turns(cost: Cost, vectors: Processor, cpu: Processor | None) -> list[str]:
    """What cores do at once: the turns of each launch, in which rounds they go, and what a core has of its own."""
    lines = []
    for place, one in enumerate(cost.launches, 1):
        head = "launch" if len(cost.launches) == 1 else f"launch {place}"
        many = one.blocks.number
        words = f"{at_most(one.blocks)} turn{'s' * (many != 1)} of a core"
        if one.blocks.closed is not None and not one.blocks.closed.is_number:
            words += f" = {form(one.blocks)}"
        lines.append(f"{head:<11}{words}")
        if cpu and many:
            rounds = many / cpu.cores
            last = f", the last {rounds - (ceil(rounds) - 1):.0%} full" if rounds > 1 else ""
            lines.append(f"{'':<11}{cpu.cores} core{'s' * (cpu.cores != 1)}: {rounds:.3g} round{'s' * (rounds != 1)}{last}")
        if size := bytes_of_core(cost.program, one.launch, vectors):
            lines.append(f"{'':<11}{bytes_of(size)} of a core's own, beside its registers")
    return lines


def tensors(cost: Cost) -> list[str]:
    """Each tensor: the bytes that cores load or store, those of each element once."""
    rows = [["memory", "", "asked", "once", "×", "asked, in bytes"]]
    for flow in cost.flows:
        asked, verb = flow.asked * flow.item, "written" if flow.stores else "read"
        times = asked.number / flow.once if asked.number is not None and flow.once else None
        once = ["", ""] if flow.role == "workspace" else [bytes_of(flow.once), ratio(times)]
        rows.append([f"  {flow.array}", verb, at_most(asked, bytes_of), *once, form(asked)])
    if len(cost.flows) > 1 and cost.once:
        asked = added(flow.asked * flow.item for flow in cost.flows)
        times = asked.number / cost.once if asked.number is not None else None
        rows.append(["  all", "", at_most(asked, bytes_of), bytes_of(cost.once), ratio(times), ""])
    return grid_of(rows, (2, 3, 4))


def accesses_of_core(cost: Cost, own: bool) -> list[str]:
    """Each access to memory, or to a core's own arrays: the line of the text, the elements, how many at once, and how often."""
    lines = [one for one in cost.lines if one.shared == own and (one.tally is None or one.tally.requests)]
    rows = [["a core's own" if own else "accesses", "", "line", "elements", "at once", "issued"]]
    for one in lines:
        element = one.element if len(one.element) <= ELEMENT else one.element[: ELEMENT - 1] + "…"
        verb = "atomic" if one.access.atomic else "stored" if one.access.stores else "loaded"
        rows.append(
            [f"  {element}", verb, str(one.span.line or ""), at_most(one.asked), str(one.access.lanes), at_most(_issued(one))]
        )
    return grid_of(rows, (2, 3, 4, 5)) if lines else []


def _issued(one: Line) -> Count:
    return Count(None, None) if one.tally is None else Count(None, one.tally.requests, one.tally.exact)


def share(cost: Cost) -> list[str]:
    """All loads and all stores, and how many of their elements move in vectors."""
    every = [f"{at_most(added(map(_issued, mine)))} {verb}" for stores, verb in ((False, "loads"), (True, "stores"))
             if (mine := [one for one in cost.lines if one.access.stores == stores])]  # fmt: skip
    elements = [known(one.asked.number for one in cost.lines if wide in (None, one.access.lanes > 1)) for wide in (None, True)]
    wide = f", {elements[1] / elements[0]:.0%} of what they move in vectors" if elements[0] and elements[1] is not None else ""
    return [f"{' and '.join(every)}{wide}"] if every else []


def no_faster(cost: Cost, cpu: Processor) -> list[str]:
    """The time that no run can beat, by what bounds it; and beside it what depends on caches, or on the compiler."""
    every = bounds_on_cpu(cost, cpu)
    rows = [[f"  {b.what}", seconds_of(b.seconds), ""] for b in every]
    again = memory(cost.program, cost.sizes, cpu)
    kept = f"(of the run before, {bytes_of(cpu.cache_bytes)})"
    rows.append([f"  {again.what}", seconds_of(again.seconds) if again.seconds else "none", kept])
    rows += [
        [f"  {what} as they are issued", seconds_of(s), "(a compiler may leave some out)"] for what, s in issued(cost, cpu).items()
    ]
    return [f"no faster than {seconds_of(every[0].seconds)}", *grid_of(rows, (1,)), f"  {peaks(cpu)}"]


def peaks(cpu: Processor) -> str:
    """What is assumed of a CPU, in a line."""
    said: Sequence[str] = (
        f"{cpu.cores} core{'s' * (cpu.cores != 1)} at {cpu.clock_hertz / 1e9:.3g} GHz",
        f"{cpu.pipes} instructions of {cpu.lanes(4)} f32 a clock",
        f"{bytes_of(cpu.memory_bytes_per_second)} a second of memory",
    )
    return f"its peaks are {', '.join(said)}; --peaks says others"
