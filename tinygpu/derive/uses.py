"""Machines that use an instruction: which text their program is.

    use mma(…) by lane    ↦    a program whose instructions are over when they are done, or land later

Comes in: a machine in which one thread does what the lanes of an instruction do. Goes out: the same with its program. The one idea: both are one text, but for
what is under way.
"""

from __future__ import annotations

from tinygpu.derive.factors import names_taken
from tinygpu.derive.late import Late
from tinygpu.derive.match import matched
from tinygpu.derive.use import Text
from tinygpu.model.machine import Machine
from tinygpu.model.problems import Problems
from tinygpu.record import replace
from tinygpu.syntax import tree


def used(machine: Machine) -> Machine:
    """`machine → the same with the program that its instruction makes of it`. Raises TinygpuError, TG184."""
    problems = Problems()
    found = matched(machine, problems)
    problems.stop()
    assert found is not None and machine.use is not None
    text = (Late if found.instruction.unit else Text)(found, names_taken(machine))
    body, launch = text.body(), machine.launches[0]
    groups = (text.roles.groups,) if text.roles else launch.block
    whole = replace(launch, block=(*groups, *machine.use.lanes), phases=(), stages=(), time=())
    return replace(machine, launches=(whole,), program=tree.ProgramClause(body, span=machine.use.span), use=None)
