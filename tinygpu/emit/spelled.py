"""The names of a launcher: the user's own for sizes and arrays, wherever Python leaves them.

Comes in: a program. Goes out: for each size and tensor the name of its argument.
The one idea: a launcher is read by people who know the spec, so a name changes only where it has to.
"""

from __future__ import annotations

import json
import keyword

from tinygpu.category.names import unused
from tinygpu.emit.python import identifier
from tinygpu.program.promises import promises
from tinygpu.program.step import Program
from tinygpu.record import dataclass

KEPT = frozenset(keyword.kwlist) | {"__debug__", "out", "stream", "runtime"}


@dataclass(frozen=True, slots=True)
class Spelled:
    """A program with the Python names of its sizes and tensors."""

    program: Program
    function: str
    names: dict[str, str]


def spell(program: Program) -> Spelled:
    """The program with names that Python allows: the user's own wherever they can stay."""
    function = identifier(program.name)
    taken = KEPT | {f"{function}_launch"} | ({"workspace"} if program.workspaces else set())
    taken |= {"check_data"} if promises(program) else set()
    names: dict[str, str] = {}
    for name in dict.fromkeys([*(t.name for t in program.op.tensors), *program.op.sizes]):
        names[name] = unused(name, taken)
        taken |= {names[name]}
    return Spelled(program, function, names)


def quoted(text: str) -> str:
    """A string in Python, in double quotes."""
    return json.dumps(text, ensure_ascii=False)
