"""A machine with free numbers at a point.

    skeleton × (T ↦ 16, R ↦ 8)  ⟼  machine[T=16, R=8]

Comes in: a skeleton, and a number for each name. Goes out: the machine that its text is with these numbers. The one idea: it is elaborated as any other is.
"""

from __future__ import annotations

from collections.abc import Mapping

from tinygpu.diagnostic import TinygpuError
from tinygpu.model.elaborate import elaborate
from tinygpu.model.free import Skeleton, pinned
from tinygpu.model.machine import Machine


def machine_at(skeleton: Skeleton, numbers: Mapping[str, int]) -> Machine:
    """`skeleton, numbers → machine`. Raises TinygpuError where it is none with these."""
    spec = elaborate(pinned(skeleton.file, skeleton.name, numbers))
    for machine in spec.machines:
        if machine.name == skeleton.name and {*skeleton.variant} <= {*machine.variant} and machine.op.name == skeleton.op.name:
            return machine
    chosen = ", ".join(f"{name}={number}" for name, number in numbers.items())
    raise TinygpuError.of("TG167", f"{skeleton.title} is no machine with {chosen}", skeleton.span)
