"""A cost as plain data: dictionaries, lists, numbers and text, as JSON has them.

Comes in: a cost, and what is known of a device. Goes out: everything that the page says. The one idea: a column is a name and the path of a field; what is not
known is null.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

from tinygpu.cost.closed import shown
from tinygpu.cost.counted import Count
from tinygpu.cost.measure import Cost, Line
from tinygpu.cost.on_device import Filled, bounds, hidden, turns_of_banks, without_caches
from tinygpu.hardware.arch import Device

MEETINGS = {f"{name}_a_thread": name for name in ("barriers", "warp_barriers", "shuffles")}
LAUNCH = {"blocks": "blocks", "threads": "threads", "shared_bytes": "shared_bytes", **MEETINGS,
          "fragment_registers": "fragments", "under_way_bytes": "underway.bytes", "under_way_groups": "underway.groups"}  # fmt: skip
FLOW = {"array": "array", "role": "role", "stores": "stores", "element_bytes": "item", "asked_elements": "asked", "moved_bytes": "moved",
        "once_bytes": "once", "times": "times"}  # fmt: skip
LINE = {"element": "element", "space": "access.array.space.name", "stores": "access.stores", "atomic": "access.atomic", "by": "access.by", "thread_bytes": "widths", "asked_elements": "asked",
        "requests": "tally.requests", "exact": "tally.exact"}  # fmt: skip
FILLED = {"registers": "assembled.registers", "spill_bytes": "assembled.spill_bytes", "shared_bytes": "assembled.shared_bytes",
          "blocks_at_once": "resident.blocks", "warps": "resident.warps", "most_warps": "resident.most", "limit": "resident.because",
          "waves": "waves", "tail": "tail"}  # fmt: skip
HIDDEN = {"under_way_bytes": "underway", "blocks": "blocks", "needed_bytes": "needs", "needed_groups": "groups"}


def as_data(cost: Cost, device: Device | None = None, arch: str = "", on: Sequence[Filled] = ()) -> dict[str, Any]:
    """Everything that the page says."""
    return {
        "predicted": True,
        "sizes": dict(cost.sizes),
        "wide": cost.wide,
        "launches": [columns(one, LAUNCH) for one in cost.launches],
        "memory": [columns(flow, FLOW) for flow in cost.flows],
        "moved_bytes": cost.moved,
        "once_bytes": cost.once,
        "accesses": [_line(one) for one in cost.lines],
        "descriptors": [{"array": name, **_count(count)} for name, count in cost.tiles],
        "operations": [{"kind": kind, "dtype": dtype, **_count(count)} for kind, dtype, count in cost.operations],
        "flops": _count(cost.flops),
        "outputs": cost.outputs.number,
        "arch": arch or None,
        "device": device.name if device else None,
        "occupancy": [columns(one, FILLED) for one in on],
        "latency": [columns(hidden(cost, n, device, one), HIDDEN) for n, one in enumerate(on)] if device else [],
        "bounds": [{"what": b.what, "seconds": b.seconds} for b in bounds(cost, device)] if device else [],
        "without_caches_seconds": without_caches(cost, device) if device else None,
        "turns_of_banks_seconds": turns_of_banks(cost, device) if device else None,
    }


def columns(one: Any, named: Mapping[str, str]) -> dict[str, Any]:
    """Fields, and fields of fields, under other names; null where nothing is known."""
    found = {name: reduce(lambda at, field: at and getattr(at, field), path.split("."), one) for name, path in named.items()}
    return {name: _count(value) if isinstance(value, Count) else value for name, value in found.items()}


def _count(count: Count) -> dict[str, Any]:
    return {"number": count.number, "exact": count.exact, "form": None if count.closed is None else shown(count.closed)}


def _line(line: Line) -> dict[str, Any]:
    units = {"turns" if line.shared else "sectors": "tally.units", "at_best": "tally.fewest", "worst": "tally.worst"}
    return {"launch": line.launch + 1, "line": line.span.line or None, **columns(line, LINE | units)}
