"""`tinygpu tune --cost-only`: machines for a device that is not here, ordered by what no run of them is faster than.

Comes in: an op, its sizes, the name of a device. Goes out: the best machine as text, marked as predicted. The one idea: what is not timed is not called fast.
"""

from __future__ import annotations

import argparse
from random import Random
from typing import TYPE_CHECKING

from tinygpu.commands.common import PROVED
from tinygpu.commands.first import add_machine, fresh_name
from tinygpu.commands.specs import text_of
from tinygpu.commands.together import Progress
from tinygpu.commands.tuned import renamed_to, said
from tinygpu.diagnostic import TinygpuError

if TYPE_CHECKING:
    from tinygpu.hardware.arch import Device
    from tinygpu.model.op import Op
    from tinygpu.pipeline import Loaded


def target(name: str, cost_only: bool) -> Device | None:
    """The device that is not here; None for the CPU. Raises TG905 for what is neither timed nor costed."""
    from tinygpu.hardware.arch import device_named, devices

    if name == "cpu" and not cost_only:
        return None
    device = device_named(name)
    if device is None:
        title = "a CPU is timed, and not costed" if name == "cpu" else f"there is no device {name}"
        raise TinygpuError.of("TG905", title, help=f"the devices are {', '.join(devices())}")
    if not cost_only:
        raise TinygpuError.of(
            "TG907", f"{name} is not timed from here", help="say --cost-only: machines are proved, assembled and ordered by cost"
        )
    return device


def predict(arguments: argparse.Namespace, into: Loaded, op: Op, sizes: dict[str, int], device: Device) -> int:
    """Machines for a device that is not here, with what no run of them is faster than."""
    from tinygpu.cost.footprint import on_gpu
    from tinygpu.tune.bound import Bound, Floor
    from tinygpu.tune.costed import costed
    from tinygpu.tune.engine import ENGINES, ending
    from tinygpu.tune.moves import Space
    from tinygpu.tune.predict import predicted

    with Progress() as now:
        space = Space(op, device.arch, (), tuple(sizes.items()))
        core = on_gpu(device)
        cost = lambda state: predicted(state, space.of(state), sizes, core)  # noqa: E731
        engine = ENGINES[arguments.engine or "beam"](space, Random(arguments.seed), cost)
        if isinstance(engine, Bound):
            engine.floor = Floor.of(space, text_of(op), sizes, device).seconds
        found, looked = costed(engine, text_of(op), sizes, device, arguments.budget, arguments.wanted, now)
    print(
        f"{op.family} at {said(sizes)} on {device.name}, predicted: {len(found)} proved and assembled without spills, of {looked}"
    )
    for number, one in enumerate(found, 1):
        beside = f"banks {one.banks * 1e3:.3g} ms, memory without caches {one.moved * 1e3:.3g} ms, {one.registers} registers"
        print(f"  {number:2}  no faster than {one.bound * 1e3:.3g} ms ({one.why}); {beside}")
    print(ending(engine), end="")
    if not found:
        raise TinygpuError.of(
            "TG914", f"no machine of {op.family} was proved and assembled in time", help="--budget gives it more seconds"
        )
    name = fresh_name(into, f"{op.family}_predicted")
    text = f"# Predicted for {device.name} at {said(sizes)}, and not timed: no faster than {found[0].bound * 1e3:.3g} ms.\n"
    text += renamed_to(found[0].machine, name)
    print()
    add_machine(into, text)
    return PROVED
