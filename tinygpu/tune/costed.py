"""A target that is not here: machines by what they cost there, proved, assembled, and never timed.

    state ─check→ proof ─assemble→ registers, spills;  ─count→ no faster than …          the least bound first, each marked as predicted

Comes in: an engine, an op, sizes, a device. Goes out: `Costed` machines. The one idea: what a machine cannot be faster than is arithmetic, so what is kept needs no clock; what it takes is not said.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from math import inf

from tinygpu.hardware.arch import Device
from tinygpu.record import dataclass
from tinygpu.tune.engine import Engine
from tinygpu.tune.kinds import Asked, Kinds, alone
from tinygpu.tune.search import CANDIDATE
from tinygpu.tune.trial import in_process

LIMIT = 30.0  # seconds of a candidate


@dataclass(frozen=True, slots=True)
class Costed:
    """A machine that is proved and assembled: no run is faster than `bound`; shared memory takes `banks` by turns of its banks, memory `moved` if no cache
    helps, in seconds."""

    machine: str
    bound: float
    banks: float
    moved: float
    why: str
    registers: int
    spilled: int

    @property
    def predicted(self) -> float:
        """What it is ordered by: the largest of the three."""
        return max(self.bound, self.banks, self.moved)


def costed(
    engine: Engine, text: str, sizes: Mapping[str, int], device: Device, budget: float, wanted: int, say: Callable[[str], None]
) -> tuple[list[Costed], int]:
    """As many machines as are wanted, those with spills left out, the best first; and how many were looked at."""
    end, seen, found, kinds = time.monotonic() + budget, set[str](), list[Costed](), Kinds(text)
    while len(found) < wanted and (left := end - time.monotonic()) > 0:
        if (state := engine.ask()) is None:
            break
        machine = state.text(CANDIDATE)
        if machine in seen:
            continue
        seen.add(machine)
        best = min((one.predicted for one in found), default=inf)
        work = partial(_counted, kinds.asked(state), machine, sizes, device, best)
        known = in_process(work, min(LIMIT, max(1.0, left)))
        kinds.said(state, known)
        fits = "bound" in known and not known["spilled"]
        if fits:
            found.append(
                Costed(machine, **{name: known[name] for name in ("bound", "banks", "moved", "why", "registers", "spilled")})
            )
        engine.tell(state, found[-1].predicted if fits else None)
        say(f"{len(found)} of {wanted}, of {len(seen)} that were looked at")
    found.sort(key=lambda one: one.predicted)
    while found and alone(text, found[0].machine, CANDIDATE) is None:  # what is written is proved by itself
        found.pop(0)
    return found, len(seen)


def _counted(asked: Asked, machine: str, sizes: Mapping[str, int], device: Device, best: float, tell: Callable[..., None]) -> None:
    """What is known of one; nothing of one that is not proved, or whose bound is above what the best so far is predicted to take: it would stand
    behind it, whatever the assembler says."""
    from tinygpu.cost.measure import measure
    from tinygpu.cost.on_device import bounds, filled, turns_of_banks, without_caches
    from tinygpu.hardware.arch import runs_on
    from tinygpu.run.gate import assembled

    proof = asked.proof(machine, CANDIDATE, tell)
    if proof is None:
        return
    cost = measure(proof.program, dict(sizes))
    every = bounds(cost, device)
    if not every or every[0].seconds > best:
        return
    on = filled(cost, device.arch, device, assembled(cost.program, runs_on(proof.program.arch, device.arch), bool(cost.wide)))
    if any(launch.assembled is None for launch in on):
        return
    registers = max(launch.assembled.registers for launch in on if launch.assembled)
    spilled = sum(launch.assembled.spill_bytes for launch in on if launch.assembled)
    banks, moved = turns_of_banks(cost, device) or 0.0, without_caches(cost, device) or 0.0
    tell(bound=every[0].seconds, why=every[0].what, banks=banks, moved=moved, registers=registers, spilled=spilled)
