"""The check of an emitted module against the programs of its machines.

    validate(text, machines) = ()        only if every launcher of the text does, for all sizes, what its program does

Comes in: the text of a module, and for each launcher its program. Goes out: diagnostics that name lines of the text.
The one idea: the text is all that is run, so the text is what is checked; what cannot be read is refused like what is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tinygpu.diagnostic import Diagnostic
from tinygpu.program.step import Program
from tinygpu.validate.module import Module, read


@dataclass(frozen=True, slots=True)
class Expected:
    """What is to stand behind a name of the module: the program that was proved, with a cell for each component of a value, and the
    program of the CPU kernels, which may be another one. These are `Built.program` and `Built.cpu` of the emitter, and its names."""

    name: str
    program: Program
    cpu: Program | None = None


def validate(text: str, machines: Sequence[Expected], file: str = "") -> tuple[Diagnostic, ...]:
    """What is wrong with the text of a module of these machines; nothing where it does what they say. Raises SyntaxError."""
    module = read(text, file)
    return tuple(d for expected in machines for d in launcher(module, expected))


def launcher(module: Module, expected: Expected) -> tuple[Diagnostic, ...]:
    """What is wrong with one launcher and its kernels."""
    raise NotImplementedError("the kernels are not read yet")
