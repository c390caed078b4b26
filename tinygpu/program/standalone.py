"""A program as a spec of its own: the operation it computes, and an explicit machine.

Comes in: a program. Goes out: text that parses, and whose one machine has an equal program. The one idea: what was proved can be read,
kept, and proved again without the spec that it came from.
"""

from __future__ import annotations

from tinygpu.model.source import needed
from tinygpu.program.render import to_machine
from tinygpu.program.step import Program
from tinygpu.record import replace
from tinygpu.syntax.format import format_file
from tinygpu.syntax.tree import File


def standalone(program: Program, beside: tuple[Program, ...] = ()) -> str:
    """`program → text`, and of programs `beside` it for the same op. Raises ValueError for an op that no text declares.

    >>> from tinygpu.model.op import Op
    >>> standalone(Program("m", Op("o", (), (), (), (), ()), ()))
    Traceback (most recent call last):
    ...
    ValueError: the op o was not made of a text
    """
    if not program.op.source:
        raise ValueError(f"the op {program.op.name} was not made of a text")
    machines = tuple(to_machine(p) for p in (program, *beside))
    machines = tuple(replace(m, name=f"{machines[0].name}_{n}" if n else m.name) for n, m in enumerate(machines))
    return format_file(File((*needed(program.op.source, *machines), *machines)))
