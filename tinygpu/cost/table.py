"""A cost as a page of text: what is moved, how, what is computed, what waits, and what a device makes of it.

Comes in: a cost, and what is known of a device. Goes out: lines. The one idea: every number is exact, or says `at most`, or is not there;
a closed form stands beside the number that it gives.
"""

from __future__ import annotations

from collections.abc import Sequence

from tinygpu.category.dtype import BYTES
from tinygpu.category.term import Axis
from tinygpu.cost.closed import closed, shown
from tinygpu.cost.counting import Count
from tinygpu.cost.figures import amount, bytes_of, ratio, seconds_of
from tinygpu.cost.measure import Cost, Flow, Line
from tinygpu.cost.predict import Bound, Filled, bounds, fits_in_cache, turns_of_banks, without_caches
from tinygpu.hardware.arch import Device

ELEMENT = 44  # columns of an element; a longer one is cut
KIND = {"fma": "fused multiply-add", "special": "exp, log, sqrt, …", "divide": "division", "compare": "min, max, compare, choose"}


def page(cost: Cost, title: str, device: Device | None = None, arch: str = "", on: Sequence[Filled] = ()) -> str:
    """The whole page."""
    at = ", ".join(f"{name} = {value}" for name, value in cost.sizes.items())
    where = f", on {device.name} ({device.arch})" if device else f", on {arch}" if arch else ""
    parts = [[f"{title}   predicted{' at ' * bool(at)}{at}{where}"], launches(cost), memory(cost), accesses(cost)]
    parts += [shared(cost), arithmetic(cost)]
    parts += [filling(cost, on, device)] if on else []
    parts += [bound(cost, device)] if device else []
    return "\n\n".join("\n".join(part) for part in parts if part)


def grid_of(lines: list[list[str]], right: Sequence[int]) -> list[str]:
    """Columns that are as wide as they have to be; those of `right` are numbers."""
    widths = [max(len(row[n]) for row in lines) for n in range(len(lines[0]))]
    out = []
    for row in lines:
        cells = [c.rjust(w) if n in right else c.ljust(w) for n, (c, w) in enumerate(zip(row, widths, strict=True))]
        out.append(("  " + "  ".join(cells)).rstrip())
    return out


def form(count: Count, by: int = 1) -> str:
    """The closed form, if there is one that is not a mere number."""
    return "" if count.closed is None or count.closed.is_number else shown(count.closed * by)


def number(count: Count) -> str:
    """The number, with `≤` where it is at most that."""
    return "?" if count.number is None else ("" if count.exact else "≤ ") + amount(count.number)


def launches(cost: Cost) -> list[str]:
    """Grid and block of each launch, and how often a thread meets others."""
    found = []
    for place, one in enumerate(cost.launches, 1):
        head = "launch" if len(cost.launches) == 1 else f"launch {place}"
        wide = {True: "wide accesses", False: "no wide accesses at these sizes", None: ""}[cost.wide]
        said = f"{_many(one.blocks, 'block')} of {_many(Count(None, one.threads), 'thread')}"
        found.append(f"{head:<11}{said}{', ' + wide if wide else ''}")
        found.append(f"{'':<11}grid {_axes(one.launch.grid)}, block {_axes(one.launch.block)}")
        meets = (("barrier", one.barriers), ("warp barrier", one.warp_barriers), ("shuffle", one.shuffles))
        each = [f"{_many(c, what)}{' = ' + form(c) if form(c) else ''}" for what, c in meets if c.number != 0]
        found += [f"{'':<11}{', '.join(each)} a thread"] if each else []
    return found


def _many(count: Count, what: str) -> str:
    return f"{number(count)} {what}{'s' * (count.number != 1)}"


def _axes(axes: tuple[Axis, ...]) -> str:
    return " × ".join(shown(closed(a.extent)) for a in axes) or "1"


def memory(cost: Cost) -> list[str]:
    """Each global array: the bytes that threads ask for, those of the sectors moved, those of each element once."""
    rows = [["global memory", "", "asked", "moved", "once", "×", "asked, in bytes"]]
    for flow in cost.flows:
        rows.append(
            [
                f"  {flow.array}",
                "written" if flow.stores else "read",
                _asked(flow),
                bytes_of(flow.moved),
                "" if flow.role == "workspace" else bytes_of(flow.once),
                "" if flow.role == "workspace" else ratio(flow.times),
                form(flow.asked, flow.item),
            ]
        )
    if len(cost.flows) > 1 and cost.once:
        asked = [f.asked.number * f.item if f.asked.number is not None else None for f in cost.flows]
        total = None if None in asked else sum(a for a in asked if a is not None)
        times = cost.moved / cost.once if cost.moved is not None else None
        bounded = "" if all(f.asked.exact for f in cost.flows) else "≤ "
        rows.append(["  all", "", bounded + bytes_of(total), bytes_of(cost.moved), bytes_of(cost.once), ratio(times), ""])
    return [line.removeprefix("  ") for line in grid_of(rows, (2, 3, 4, 5))]


def _asked(flow: Flow) -> str:
    known = None if flow.asked.number is None else flow.asked.number * flow.item
    return ("" if flow.asked.exact else "≤ ") + bytes_of(known)


def accesses(cost: Cost) -> list[str]:
    """Each access to global memory: the line of the text, the bytes of a thread, the sectors of a request and the fewest it could be."""
    rows = [["accesses", "", "line", "bytes", "requests", "sectors each", "at best"]]
    for one in (line for line in cost.lines if line.space != "shared"):
        tally = one.tally
        if tally is not None and not tally.requests:
            continue
        units, fewest = (None, None) if tally is None else (tally.units, tally.fewest)
        each, best = (_each(v, tally.requests) if tally and v is not None else "" for v in (units, fewest))
        rows.append(
            [
                f"  {_cut(one.element)}",
                _verb(one),
                str(one.span.line or ""),
                " or ".join(map(str, one.widths)),
                "?" if tally is None else ("" if tally.exact else "≤ ") + amount(tally.requests),
                each or "depends on data",
                best,
            ]
        )
    return [line.removeprefix("  ") for line in grid_of(rows, (2, 3, 4, 5, 6))] if len(rows) > 1 else []


def _verb(line: Line) -> str:
    return "atomic" if line.atomic else "written" if line.stores else "read"


def _cut(element: str) -> str:
    return element if len(element) <= ELEMENT else element[: ELEMENT - 1] + "…"


def _each(units: int, requests: int) -> str:
    return f"{units / requests:.3g}" if requests else "0"


def shared(cost: Cost) -> list[str]:
    """Each access to shared memory: bytes, and the turns that a group of lanes takes at worst."""
    rows = [["shared memory", "", "line", "bytes", "asked", "turns each", "at best", "ways"]]
    for one in (line for line in cost.lines if line.space == "shared"):
        tally = one.tally
        if tally is not None and not tally.requests:
            continue
        asked = None if one.asked.number is None else one.asked.number * BYTES[one.dtype]
        units, fewest = (None, None) if tally is None else (tally.units, tally.fewest)
        each, best = (_each(v, tally.requests) if tally and v is not None else "" for v in (units, fewest))
        rows.append(
            [
                f"  {_cut(one.element)}",
                _verb(one),
                str(one.span.line or ""),
                " or ".join(map(str, one.widths)),
                ("" if one.asked.exact else "≤ ") + bytes_of(asked),
                each or "depends on data",
                best,
                "" if tally is None or tally.worst is None else str(tally.worst),
            ]
        )
    bytes_held = " + ".join(bytes_of(c.shared_bytes) for c in cost.launches if c.shared_bytes)
    lines = [line.removeprefix("  ") for line in grid_of(rows, (2, 3, 4, 5, 6, 7))] if len(rows) > 1 else []
    return [*lines, f"  {bytes_held} a block"] if bytes_held else lines


def arithmetic(cost: Cost) -> list[str]:
    """Operations by kind, and how many there are to a byte."""
    if not cost.operations:
        return []
    rows = [["arithmetic", "", "in all", "an output", "in all, as a form"]]
    for kind, dtype, count in cost.operations:
        outputs = cost.outputs.number
        each = "" if count.number is None or not outputs else f"{count.number / outputs:.4g}"
        rows.append([f"  {KIND.get(kind, kind)}", dtype, number(count), each, form(count)])
    lines = [line.removeprefix("  ") for line in grid_of(rows, (2, 3))]
    flops, said = cost.flops, []
    if flops.number:
        said.append(f"{'' if flops.exact else 'at most '}{amount(flops.number)}flop")
        said += [f"{flops.number / cost.once:.3g} a byte with each element once"] if cost.once else []
        said += [f"{flops.number / cost.moved:.3g} a byte moved"] if cost.moved else []
    return [*lines, f"  {', '.join(said)}"] if said else lines


def filling(cost: Cost, on: Sequence[Filled], device: Device | None) -> list[str]:
    """What a multiprocessor holds, and the waves."""
    lines = []
    for place, one in enumerate(on, 1):
        head = "occupancy" if len(on) == 1 else f"occupancy {place}"
        if one.assembled is None or one.resident is None:
            lines.append(f"{head:<11} not known without the assembler (pip install 'tinygpu[cuda]')")
            continue
        held, code = one.resident, one.assembled
        spills = f", {code.spill_bytes} bytes spilled" if code.spill_bytes else ", no spills"
        lines.append(
            f"{head:<11} {code.registers} registers a thread{spills}, {bytes_of(code.shared_bytes)} of shared memory a block"
        )
        lines.append(
            f"{'':<11} {held.blocks} block{'s' * (held.blocks != 1)} at once, {held.warps} of {held.most} warps: "
            f"{held.share:.0%} (the limit is {held.because})"
        )
        if device and one.waves is not None and one.blocks:
            at_once = held.blocks * device.multiprocessors
            last = f", the last {one.tail:.0%} full" if one.waves > 1 and one.tail is not None else ""
            lines.append(f"{'':<11} {_many(Count(None, one.blocks), 'block')}, {at_once} at once: {one.waves:.3g} waves{last}")
    return lines


def bound(cost: Cost, device: Device) -> list[str]:
    """The time that no run can beat, by what bounds it."""
    every: tuple[Bound, ...] = bounds(cost, device)
    if not every:
        return []
    lines = [f"no faster than {seconds_of(every[0].seconds)}"]
    rows = [[f"  {b.what}", seconds_of(b.seconds), ""] for b in every]
    bare = without_caches(cost, device)
    if bare is not None and cost.once and cost.moved and cost.moved > cost.once:
        again = [f.array for f in cost.flows if (f.times or 0) > 1.01 and not fits_in_cache(f, device)]
        cache = (
            f"{bytes_of(device.l2_bytes)} of cache do not hold {', '.join(again)}" if again else "everything fits into the cache"
        )
        rows.append(["  memory, if no cache helps", seconds_of(bare), f"({cache})"])
    turns = turns_of_banks(cost, device)
    if turns is not None:
        rows.append(["  shared memory, lanes in groups", seconds_of(turns), "(each group that moves 128 bytes takes its own turn)"])
    ridge = device.fp32_flops / device.memory_bytes_per_second
    return (
        lines
        + [line.removeprefix("  ") for line in grid_of(rows, (1,))]
        + [f"  its FP32 peak takes {ridge:.3g} flop a byte; peaks are of its data sheet"]
    )
