"""The shipped machines as texts of explicit programs, for the second checker.

Comes in: the files of `specs`. Goes out: for each machine the text of its op, the monoids of the file, and its program.
The one idea: the second checker gets text and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from tinygpu import pipeline
from tinygpu.model.machine import Machine
from tinygpu.program.render import to_machine
from tinygpu.program.step import Program
from tinygpu.syntax import tree
from tinygpu.syntax.format import format_file
from tinygpu.syntax.parse import parse

SPECS = Path(__file__).resolve().parent.parent.parent / "specs"


def declarations(path: Path, machine: Machine) -> tuple[tree.Declaration, ...]:
    """The monoids and numbers of a file, and the op of one of its machines, at the dtype that it is for."""
    found: list[tree.Declaration] = []
    for one in parse(path.read_text(encoding="utf-8"), str(path)).declarations:
        if isinstance(one, tree.Monoid | tree.Param):
            found.append(one)
        if isinstance(one, tree.Op) and one.name == machine.op.name.partition("[")[0]:
            family = one.family and replace(one.family, dtypes=(dict(machine.variant)[one.family.variable],))
            found.append(replace(one, family=family))
    return tuple(found)


def explicit(path: Path, machine: Machine, program: Program | None = None) -> str:
    """The text of a machine with its program, or with another one."""
    return format_file(tree.File((*declarations(path, machine), to_machine(program or pipeline.program(machine)))))


def library(*stems: str) -> Iterator[tuple[str, Path, Machine]]:
    """The machines of the files with these names, or of all."""
    for path in sorted(SPECS.glob("*.tgpu")):
        if not stems or path.stem in stems:
            for machine in pipeline.load(path).machines:
                yield f"{path.stem}: {machine.title}", path, machine
