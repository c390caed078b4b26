"""The check of an emitted module against the programs of its machines.

    validate(text, machines) = ()        only if every launcher of the text does on a GPU, for all sizes, what its program does

Comes in: the text of a module, and for each launcher its program. Goes out: diagnostics that name lines of the text.
The one idea: the text is all that is run, so the text is what is checked; what cannot be read is refused like what is wrong.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from tinygpu.diagnostic import Diagnostic, Label, Span
from tinygpu.schedule.joined import Calls, Cases
from tinygpu.validate.joined import decides
from tinygpu.validate.kernel import kernel
from tinygpu.validate.launcher import Expected, dispatched, keyed, launched
from tinygpu.validate.module import Module, check, missing, read
from tinygpu.validate.typed import Differs


def validate(
    text: str,
    machines: Sequence[Expected],
    file: str = "",
    joined: Sequence[Cases | Calls] = (),
    gradients: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
) -> tuple[Diagnostic, ...]:
    """What is wrong with the text of a module of these machines, and of choices and pipelines of them; nothing where it does what they say."""
    try:
        module = read(text, file)
    except SyntaxError as error:
        line = error.lineno or 1
        label = Label(Span(file, 0, 0, line, 1, line, 1), error.msg)
        return (Diagnostic("TG823", "the module could not be read back", (label,), "error"),)
    programs = {m.name: m.program for m in machines} | {c.name: c.program for c in joined}
    found = [
        diagnostic(module, "TG821", "the module", d) for d in check(module, programs, {*dispatched(module, programs)}, gradients)
    ]
    found += [d for expected in machines for d in launcher(module, expected)]
    found += [d for one in joined for d in joining(module, one, [*(m.name for m in machines), *(o.name for o in joined)])]
    return tuple(found) or tuple(diagnostic(module, "TG821", "the module", d) for d in missing(module))


def launcher(module: Module, expected: Expected) -> Iterator[Diagnostic]:
    """What is wrong with one launcher and its kernels: of each the first difference, as the others follow from it."""
    function = module.functions.get(expected.name)
    if function is None:
        yield module.wrong("TG822", f"there is no {expected.name}", ast.Pass(lineno=1, col_offset=0), "in this module")
        return
    try:
        found = launched(module, expected, function)
    except Differs as difference:
        yield diagnostic(module, "TG822", expected.name, difference)
        return
    wrong = False
    for maker, launch, given in found.kernels:
        try:
            kernel(maker, found.program, launch, given)
        except Differs as difference:
            wrong = True
            yield diagnostic(module, "TG820", maker.name.replace("_kernel", ""), difference)
    if not wrong:
        try:
            keyed(module, found)
        except Differs as difference:
            yield diagnostic(module, "TG822", expected.name, difference)


def joining(module: Module, one: Cases | Calls, launchers: Sequence[str]) -> Iterator[Diagnostic]:
    """What is wrong with the launcher of a choice or a pipeline."""
    try:
        decides(module, one, launchers)
    except Differs as difference:
        yield diagnostic(module, "TG822", one.name, difference)


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
