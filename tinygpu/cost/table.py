"""A cost as a page of text: what is moved, how, what is computed, what waits, and what a device makes of it.

Comes in: a cost, and what is known of a device. Goes out: lines. The one idea: every number is exact, or says `at most`, or is not there; a closed form
stands beside the number that it gives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tinygpu.category.term import Axis
from tinygpu.cost.closed import closed, shown
from tinygpu.cost.counted import Count, added
from tinygpu.cost.measure import Cost
from tinygpu.cost.on_device import Bound, Filled, bounds, fits_in_cache, hidden, turns_of_banks, without_caches
from tinygpu.hardware.arch import Device

ELEMENT = 44  # columns of an element; a longer one is cut
KIND = {
    "tensor": "tensor multiply-add",
    "fma": "fused multiply-add",
    "special": "exp, log, sqrt, …",
    "divide": "division",
    "compare": "min, max, compare, choose",
}

UNITS = ("", "k", "M", "G", "T", "P", "E")  # powers of 1000, as data sheets give them


def amount(value: float | None) -> str:
    """A count: all at_most up to a hundred thousand, then three with a unit.

    >>> amount(4096), amount(134_217_728), amount(None), amount(999_999)
    ('4096', '134 M', '?', '1 M')
    """
    if value is None:
        return "?"
    if value < 100_000:
        return f"{value:.0f}"
    return _short(value).strip()


def _short(value: float) -> str:
    step = 0
    while float(f"{value:.3g}") >= 1000 and step + 1 < len(UNITS):
        value, step = value / 1000, step + 1
    return f"{value:.3g} {UNITS[step]}"


def bytes_of(value: float | None) -> str:
    """Bytes.

    >>> bytes_of(67_108_864), bytes_of(12), bytes_of(None), bytes_of(1000)
    ('67.1 MB', '12 B', '?', '1 kB')
    """
    return "?" if value is None else _short(value) + "B"


def ratio(value: float | None) -> str:
    """A ratio.

    >>> ratio(1.0), ratio(32.04), ratio(131072.0), ratio(None)
    ('1', '32', '131 k', '?')
    """
    return f"{value:.3g}" if value is not None and value < 1000 else amount(value)


def seconds_of(value: float) -> str:
    """A time.

    >>> seconds_of(0.00206), seconds_of(6e-8), seconds_of(1.5)
    ('2.06 ms', '60 ns', '1.5 s')
    """
    for unit in ("s", "ms", "µs"):
        if value >= 1:
            return f"{value:.3g} {unit}"
        value *= 1000
    return f"{value:.3g} ns"


def page(cost: Cost, title: str, device: Device | None = None, arch: str = "", on: Sequence[Filled] = ()) -> str:
    """The whole page."""
    at = ", ".join(f"{name} = {value}" for name, value in cost.sizes.items())
    where = f", on {device.name} ({device.arch})" if device else f", on {arch}" if arch else ""
    parts = [[f"{title}   predicted{' at ' * bool(at)}{at}{where}"], launches(cost), memory(cost)]
    parts += [accesses(cost, False), accesses(cost, True), arithmetic(cost)]
    parts += [filling(cost, on, device)] if on else []
    parts += [copies(cost, on, device)]
    parts += [bound(cost, device)] if device else []
    return "\n\n".join("\n".join(part) for part in parts if part)


def grid_of(rows: list[list[str]], right: Sequence[int]) -> list[str]:
    """Columns that are as wide as they have to be; those of `right` are numbers. The first row is the heading."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [c.rjust(w) if n in right else c.ljust(w) for n, (c, w) in enumerate(zip(row, widths, strict=True))]
        lines.append("  ".join(cells).rstrip())
    return lines


def form(count: Count) -> str:
    """The closed form, if there is one that is not a mere number."""
    return "" if count.closed is None or count.closed.is_number else shown(count.closed)


def at_most(count: Count, figure: Callable[[float], str] = amount) -> str:
    """The number, with `≤` where it is at most that."""
    return "?" if count.number is None else ("" if count.exact else "≤ ") + figure(count.number)


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
        registers = [f"{count} {name}" for name, count in one.fragments.items()]
        found += (
            [f"{'':<11}{sum(one.fragments.values())} registers of fragments a thread: {', '.join(registers)}"] if registers else []
        )
    return found


def _many(count: Count, what: str) -> str:
    return f"{at_most(count)} {what}{'s' * (count.number != 1)}"


def _axes(axes: tuple[Axis, ...]) -> str:
    return " × ".join(shown(closed(a.extent)) for a in axes) or "1"


def memory(cost: Cost) -> list[str]:
    """Each global array: the bytes that threads ask for, those of the sectors moved, those of each element once."""
    rows = [["global memory", "", "asked", "moved", "once", "×", "asked, in bytes"]]
    for flow in cost.flows:
        asked, verb = flow.asked * flow.item, "written" if flow.stores else "read"
        once = ["", ""] if flow.role == "workspace" else [bytes_of(flow.once), ratio(flow.times)]
        rows.append([f"  {flow.array}", verb, at_most(asked, bytes_of), bytes_of(flow.moved), *once, form(asked)])
    if len(cost.flows) > 1 and cost.once:
        asked = added(flow.asked * flow.item for flow in cost.flows)
        times = cost.moved / cost.once if cost.moved is not None else None
        rows.append(["  all", "", at_most(asked, bytes_of), bytes_of(cost.moved), bytes_of(cost.once), ratio(times), ""])
    return grid_of(rows, (2, 3, 4, 5))


def accesses(cost: Cost, shared: bool) -> list[str]:
    """Each access to global memory, or to shared memory: the line of the text, the bytes of a thread, requests or all bytes, the sectors or turns
    of a request and the fewest it could be, and the turns that a group of lanes takes at worst."""
    heading = ["shared memory", "", "line", "bytes", "asked", "turns each", "at best", "ways"]
    rows = [heading if shared else ["accesses", "", "line", "bytes", "requests", "sectors each", "at best"]]
    for one in (line for line in cost.lines if line.shared == shared):
        tally = one.tally
        if tally is not None and not tally.requests:
            continue
        element = one.element if len(one.element) <= ELEMENT else one.element[: ELEMENT - 1] + "…"
        verb = one.access.by or ("atomic" if one.access.atomic else "written" if one.access.stores else "read")
        asked = Count(None, None) if tally is None else Count(None, tally.requests, tally.exact)
        many = at_most(one.asked * one.access.item, bytes_of) if shared else at_most(asked)
        each, best = "depends on data", ""
        if tally is not None and tally.units is not None and tally.fewest is not None:
            each, best = f"{tally.units / tally.requests:.3g}", f"{tally.fewest / tally.requests:.3g}"
        ways = [] if not shared else [""] if tally is None or tally.worst is None else [str(tally.worst)]
        rows.append([f"  {element}", verb, str(one.span.line or ""), " or ".join(map(str, one.widths)), many, each, best, *ways])
    for name, count in cost.tiles if shared else ():
        rows.append([f"  {name}", "by descriptors", "", "", at_most(count, bytes_of), "", "", ""])
    held = " + ".join(bytes_of(c.shared_bytes) for c in cost.launches if c.shared_bytes) if shared else ""
    lines = grid_of(rows, range(2, len(rows[0]))) if len(rows) > 1 else []
    return [*lines, f"  {held} a block"] if held else lines


def arithmetic(cost: Cost) -> list[str]:
    """Operations by kind, and how many there are to a byte."""
    if not cost.operations:
        return []
    rows = [["arithmetic", "", "in all", "an output", "in all, as a form"]]
    for kind, dtype, count in cost.operations:
        outputs = cost.outputs.number
        each = "" if count.number is None or not outputs else f"{count.number / outputs:.4g}"
        rows.append([f"  {KIND.get(kind, kind)}", dtype, at_most(count), each, form(count)])
    lines = grid_of(rows, (2, 3))
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
        if one.resident is None or one.assembled is None:
            most = f"{one.resident.blocks} blocks at once or fewer (by {one.resident.because}); " if one.resident else ""
            lines.append(f"{head:<11} {most}registers are not known without the assembler (pip install 'tinygpu[cuda]')")
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


def copies(cost: Cost, on: Sequence[Filled], device: Device | None) -> list[str]:
    """What is under way of each launch whose copies land later, and what would hide the latency of memory."""
    lines = []
    for number, one in enumerate(cost.launches):
        if one.underway is None:
            continue
        head = "under way" if len(cost.launches) == 1 else f"under way {number + 1}"
        largest, groups = bytes_of(one.underway.largest), _many(Count(None, one.underway.groups), "group")
        lines.append(f"{head:<11} {bytes_of(one.underway.bytes)} of copies a block, in {groups} of up to {largest}")
        if device and on and (found := hidden(cost, number, device, on[number])) is not None:
            blocks, enough = _many(Count(None, found.blocks), "block"), _many(Count(None, found.groups), "group")
            lines.append(f"{'':<11} {bytes_of(found.underway)} a multiprocessor, by {blocks}")
            lines.append(
                f"{'':<11} {bytes_of(found.needs)} hide the {device.memory_latency_ns} ns that memory takes: {enough} a block"
            )
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
    tensor = {d: each for kind, d, _ in cost.operations if kind == "tensor" and (each := device.tensor_flops(d))}
    peak, each = max(tensor.items(), key=lambda one: one[1]) if tensor else ("FP32", 2 * device.fp32_lanes)
    ridge = each * device.multiprocessors * device.clock_hertz / device.memory_bytes_per_second
    return [*lines, *grid_of(rows, (1,)), f"  its {peak} peak takes {ridge:.3g} operations a byte; peaks are of its data sheet"]
