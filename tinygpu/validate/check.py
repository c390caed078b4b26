"""The check of an emitted module against the programs of its machines.

    validate(text, machines) = ()        only if every launcher of the text does on a GPU, for all sizes, what its program does

Comes in: the text of a module, and for each launcher its program. Goes out: diagnostics that name lines of the text.
The one idea: the text is all that is run, so the text is what is checked; what cannot be read is refused like what is wrong.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from tinygpu.derive.unpack import unpack
from tinygpu.diagnostic import Diagnostic, Label, Span
from tinygpu.program.step import Program
from tinygpu.record import dataclass, replace
from tinygpu.validate.dispatch import dispatched
from tinygpu.validate.form import formed
from tinygpu.validate.kernel import kernel
from tinygpu.validate.module import Module, read
from tinygpu.validate.shipped import check as check_helpers
from tinygpu.validate.shipped import missing
from tinygpu.validate.table import given, keyed, passed, table
from tinygpu.validate.typed import Differs


@dataclass(frozen=True, slots=True)
class Expected:
    """What is to stand behind a name of the module: the program that was proved, with a cell for each component of a value, and the
    program of the CPU kernels, which may be another one. These are `Built.program` and `Built.cpu` of the emitter, and its names."""

    name: str
    program: Program
    cpu: Program | None = None

    @property
    def on_cpu(self) -> Program:
        """The program of the CPU kernels, for the op and under the preconditions that the launcher checks: those of `program`, always."""
        return replace(self.cpu, op=self.program.op, where=self.program.where) if self.cpu else self.program


def validate(text: str, machines: Sequence[Expected], file: str = "") -> tuple[Diagnostic, ...]:
    """What is wrong with the text of a module of these machines; nothing where it does what they say."""
    try:
        module = read(text, file)
    except SyntaxError as error:
        line = error.lineno or 1
        label = Label(Span(file, 0, 0, line, 1, line, 1), error.msg)
        return (Diagnostic("TG823", "the module could not be read back", (label,), "error"),)
    programs = {m.name: m.program for m in machines}
    own = {name + part for name in programs for part in ("", "_spec", "_launch")} | {*dispatched(module, programs)}
    found = [diagnostic(module, "TG821", "the module", d) for d in check_helpers(module, own)]
    found += [d for expected in machines for d in launcher(module, expected)]
    return tuple(found) or tuple(diagnostic(module, "TG821", "the module", d) for d in missing(module))


def launcher(module: Module, expected: Expected) -> Iterator[Diagnostic]:
    """What is wrong with one launcher and its kernels: of each the first difference, as the others follow from it."""
    program = unpack(expected.program)
    function = module.functions.get(expected.name)
    if function is None:
        yield module.wrong("TG822", f"there is no {expected.name}", ast.Pass(lineno=1, col_offset=0), "in this module")
        return
    try:
        found = table(module, expected.name, function)
        formed(module, function, program, found.missing)
        facts, makers = given(module, expected.name, program, expected.on_cpu, found)
    except Differs as difference:
        yield diagnostic(module, "TG822", expected.name, difference)
        return
    wrong = False
    for made, launch, here in zip(makers, program.launches, facts, strict=False):
        try:
            kernel(made, program, launch, passed(program), here)
        except Differs as difference:
            wrong = True
            yield diagnostic(module, "TG820", made.name.replace("_kernel", ""), difference)
    if not wrong:
        try:
            keyed(module, makers, found)
        except Differs as difference:
            yield diagnostic(module, "TG822", expected.name, difference)


TITLES = {
    "TG820": "does something else than its program",
    "TG821": "is not made of the helpers that belong to it",
    "TG822": "is not launched as its program says",
    "TG823": "could not be read back",
}


def diagnostic(module: Module, code: str, name: str, difference: Differs) -> Diagnostic:
    """A difference in words: what the line does, what the program says."""
    code = "TG823" if difference.unread else code
    notes = (difference.wants,) if difference.wants else ()
    return module.wrong(code, f"{name} {TITLES[code]}", difference.node, difference.says, *notes, known=not difference.open_)
