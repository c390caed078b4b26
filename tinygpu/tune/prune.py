"""Which candidates are not compiled: those of which arithmetic says that they are slower, and those that a CPU runs as it runs one that was timed.

    bound(program, sizes, a CPU above all there are) > the incumbent's seconds          ⇒ it is slower
    its folds as they are written, at that CPU's peak > 8 · the incumbent's seconds      ⇒ it is, unless a compiler finds another algorithm
    the text of its kernels = the text of another one's                                 ⇒ it takes as long

Comes in: the program that a CPU runs for a candidate, sizes, what was timed. Goes out: a verdict with its reason, or nothing. The one idea: the bound divides what surely runs by peaks that no CPU has, so what is
dropped is slower whatever the clock would say; where the CPU is of a kind of which that is not known, no bound is believed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from tinygpu.cost.bound import bound
from tinygpu.cost.table import seconds_of
from tinygpu.cost.written import seconds_of_folds
from tinygpu.hardware.processor import here
from tinygpu.program.step import Program
from tinygpu.record import replace

FAR = 8  # times the incumbent's seconds: of a machine so slow nobody wants to know more


def layout(program: Program) -> str:
    """What a CPU runs for a program, as a key: machines whose loops are laid out alike have one, whatever their names."""
    from tinygpu.emit.cpu import cpu_kernels

    return hashlib.sha256(cpu_kernels(replace(program, name="layout")).encode()).hexdigest()[:32]


def slower(program: Program, sizes: Mapping[str, int], seconds: float | None) -> str:
    """Why no run takes as little as so many seconds, on the CPU that is here; empty where that is not known."""
    cpu = here()
    if cpu is None or seconds is None:
        return ""
    taken = f"and the incumbent takes {seconds_of(seconds)}"
    if (least := bound(program, sizes, cpu)) > seconds:
        return f"no run is faster than {seconds_of(least)}, {taken}"
    folds = seconds_of_folds(program, sizes, cpu)
    return f"its folds, as they are written, take {seconds_of(folds)} at the peak, {taken}" if folds > FAR * seconds else ""
