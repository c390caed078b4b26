"""Derivation: from a machine, what every thread does, as a program.

Comes in: a machine. Goes out: a program; one with its own `program` is read, and what is derived of it is put in there. The one idea: what follows
sees a program, and cannot tell what of it was derived.
"""

from __future__ import annotations

from tinygpu.category.bounds import natural
from tinygpu.derive.factors import cleared, names_taken, pieces
from tinygpu.derive.launch import launched
from tinygpu.derive.nest import Build
from tinygpu.hardware.arch import CPU
from tinygpu.model.machine import Machine
from tinygpu.program.space import WORKSPACE
from tinygpu.program.step import Array, Program
from tinygpu.syntax.node import nodes
from tinygpu.syntax.tree import Evaluate, LaunchClause


def derive(machine: Machine) -> Program:
    """`machine → program`. Raises TinygpuError where the machine needs what this version does not derive."""
    if machine.use is not None:
        from tinygpu.derive.uses import used

        return derive(used(machine))
    if machine.program is not None:
        from tinygpu.derive.parts import Parts
        from tinygpu.program.read import read  # most machines are derived, and a check's start-up is part of its time

        derived = any(isinstance(node, LaunchClause | Evaluate) for node in nodes(machine.program))
        return read(machine, Parts(machine, building(machine)) if derived else None)
    build = building(machine)
    course = (one for launch in machine.launches for one in (cleared(launch), pieces(launch)) if one is not None)
    launches = tuple(launched(build, machine, one) for one in course)
    workspaces = tuple(Array(t.name, t.dtype, tuple(map(natural, t.shape)), WORKSPACE, span=t.span) for t in machine.workspaces)
    return Program(machine.title, machine.op, launches, build.where, machine.arch, machine.span, workspaces)


def building(machine: Machine) -> Build:
    """What is known before the first launch is derived."""
    op = machine.op
    where = tuple(dict.fromkeys((*op.where, *machine.where)))
    build = Build(names_taken(machine), {t.name: t.shape for t in (*op.tensors, *machine.workspaces)}, frozenset(op.sizes), where)
    build.core, build.states, build.made_of = machine.arch == CPU, op.states, op.reached
    return build
