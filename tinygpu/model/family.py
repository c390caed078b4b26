"""A machine with free numbers at a point.

    skeleton × (T ↦ 16, R ↦ 8)  ⟼  machine[T=16, R=8]

Comes in: a skeleton, and a number for each name. Goes out: the machine that its text is with these numbers. The one idea: it is elaborated as any other is.
"""

from __future__ import annotations

from collections.abc import Mapping

from tinygpu.category.term import text
from tinygpu.diagnostic import TinygpuError
from tinygpu.model.elaborate import elaborate
from tinygpu.model.free import Skeleton, fact_at, pinned
from tinygpu.model.machine import Machine


def machine_at(skeleton: Skeleton, numbers: Mapping[str, int]) -> Machine:
    """`skeleton, numbers → machine`. Raises TinygpuError where it is none with these."""
    values = {name: numbers[name] for name in skeleton.names}
    for fact in (f for f in skeleton.where if not fact_at(f, values)):
        title = f"{skeleton.title} has no machine with {_said(values)}"
        raise TinygpuError.of("TG167", title, skeleton.span, f"{text(fact)} does not hold", "give other numbers")
    spec = elaborate(pinned(skeleton.file, numbers))
    for machine in spec.machines:
        if machine.name == skeleton.name and {*skeleton.variant} <= {*machine.variant} and machine.op.name == skeleton.op.name:
            return machine
    raise TinygpuError.of("TG167", f"{skeleton.title} has no machine with {_said(values)}", skeleton.span)


def _said(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{name}={number}" for name, number in numbers.items())
