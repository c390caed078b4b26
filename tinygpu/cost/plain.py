"""A cost as plain data, for other programs.

Comes in: a cost, and what is known of a device. Goes out: dictionaries, lists, numbers and text, as JSON has them.
The one idea: the same numbers as on the page; null is what is not known, and `exact` is false where a number is at most.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinygpu.cost.closed import shown
from tinygpu.cost.counting import Count
from tinygpu.cost.measure import Cost, Flow, LaunchCost, Line
from tinygpu.cost.predict import Filled, bounds, turns_of_banks, without_caches
from tinygpu.hardware.arch import Device


def as_data(cost: Cost, device: Device | None = None, arch: str = "", on: Sequence[Filled] = ()) -> dict[str, Any]:
    """Everything that the page says."""
    return {
        "predicted": True,
        "sizes": dict(cost.sizes),
        "wide": cost.wide,
        "launches": [_launch(one) for one in cost.launches],
        "memory": [_flow(one) for one in cost.flows],
        "moved_bytes": cost.moved,
        "once_bytes": cost.once,
        "accesses": [_line(one) for one in cost.lines],
        "operations": [{"kind": kind, "dtype": dtype, **_count(count)} for kind, dtype, count in cost.operations],
        "flops": _count(cost.flops),
        "outputs": cost.outputs.number,
        "arch": arch or None,
        "device": device.name if device else None,
        "occupancy": [_filled(one) for one in on],
        "bounds": [{"what": b.what, "seconds": b.seconds} for b in bounds(cost, device)] if device else [],
        "without_caches_seconds": without_caches(cost, device) if device else None,
        "turns_of_banks_seconds": turns_of_banks(cost, device) if device else None,
    }


def _count(count: Count) -> dict[str, Any]:
    return {"number": count.number, "exact": count.exact, "form": None if count.closed is None else shown(count.closed)}


def _launch(one: LaunchCost) -> dict[str, Any]:
    meets = {"barriers": one.barriers, "warp_barriers": one.warp_barriers, "shuffles": one.shuffles}
    each = {f"{name}_a_thread": _count(count) for name, count in meets.items()}
    return {"blocks": _count(one.blocks), "threads": one.threads, "shared_bytes": one.shared_bytes, **each}


def _flow(flow: Flow) -> dict[str, Any]:
    return {
        "array": flow.array,
        "role": flow.role,
        "stores": flow.stores,
        "element_bytes": flow.item,
        "asked_elements": _count(flow.asked),
        "moved_bytes": flow.moved,
        "once_bytes": flow.once,
        "times": flow.times,
    }


def _line(line: Line) -> dict[str, Any]:
    tally = line.tally
    return {
        "launch": line.launch + 1,
        "line": line.span.line or None,
        "element": line.element,
        "space": line.space,
        "stores": line.stores,
        "atomic": line.atomic,
        "thread_bytes": list(line.widths),
        "asked_elements": _count(line.asked),
        "requests": tally.requests if tally else None,
        "exact": tally.exact if tally else None,
        "turns" if line.space == "shared" else "sectors": tally.units if tally else None,
        "at_best": tally.fewest if tally else None,
        "worst": tally.worst if tally else None,
    }


def _filled(one: Filled) -> dict[str, Any]:
    code, held = one.assembled, one.resident
    return {
        "registers": code.registers if code else None,
        "spill_bytes": code.spill_bytes if code else None,
        "shared_bytes": code.shared_bytes if code else None,
        "blocks_at_once": held.blocks if held else None,
        "warps": held.warps if held else None,
        "most_warps": held.most if held else None,
        "limit": held.because if held else None,
        "waves": one.waves,
        "tail": one.tail,
    }
