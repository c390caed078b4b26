"""What can be replayed: machines with the text of their program, from specs, certificates and emitted modules.

Comes in: paths as typed. Goes out: a `Subject` for each machine; what is wrong with a module. The one idea: whatever a path is, what is replayed is a
program's own text with its op, so that nothing but that text is believed.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tinygpu import pipeline
from tinygpu.commands.common import find, place, read_text
from tinygpu.diagnostic import Diagnostic, TinygpuError
from tinygpu.model.source import said
from tinygpu.program.step import Program
from tinygpu.proof.certificate import Certificate, program_text, sha
from tinygpu.proof.certificate import read as read_certificate
from tinygpu.proof.summary import INTRODUCES
from tinygpu.record import dataclass, field, replace

if TYPE_CHECKING:
    pass


INVALID = "TG910"


@dataclass(frozen=True, slots=True)
class Subject:
    """A machine to replay: its program, as text and read; its certificate, if there is one; what does not agree; `promised` is the hash
    that an emitted module names, `alone` the program of its CPU kernels, and `module` the whole text. A theorem, a lemma or a choice has no program."""

    path: str
    machine: str
    op: str
    text: str
    program: Program | None
    certificate: Certificate | None = None
    problems: tuple[Diagnostic, ...] = ()
    promised: str = ""
    alone: Program | None = None
    module: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Shard:
    """One of several parts, whose union is the whole.

    >>> [Shard(one, 3).of(["a", "b", "c", "d"]) for one in (1, 2, 3)]
    [['a', 'd'], ['b'], ['c']]
    """

    one: int
    several: int

    def of(self, every: Sequence[str]) -> Sequence[str]:
        """The files of the part: each of them is in one part, and parts are alike in size."""
        return every[self.one - 1 :: self.several]


WHOLE = Shard(1, 1)


def subjects(paths: Sequence[str], proofs: Path, names: Sequence[str], shard: Shard = WHOLE) -> tuple[Subject, ...]:
    """`paths → subjects`, those of that part of each path's files. Raises TinygpuError with all that cannot be read."""
    found: list[Subject] = []
    problems: list[Diagnostic] = []
    for path in paths:
        try:
            for file in shard.of(files(path)):
                found += [
                    s for s in of_file(file, proofs) if not names or {s.machine, s.machine.partition("[")[0], s.op} & {*names}
                ]
        except TinygpuError as error:
            problems += error.diagnostics
    if problems:
        raise TinygpuError(*problems)
    if not found:
        what = f"no machine {', '.join(names)}" if names else "nothing to replay"
        raise TinygpuError.of("TG905", f"there is {what} in {', '.join(paths)}")
    return tuple(found)


def files(path: str) -> tuple[str, ...]:
    """The specs of a folder, or its certificates where it has no specs; a file is itself."""
    folder = Path(path)
    if os.path.isdir(path) and not any(folder.rglob("*.tgpu")):
        inside = tuple(sorted(str(p) for p in folder.rglob("*.json")))
        if not inside:
            raise TinygpuError.of("TG902", f"neither specs nor certificates are under the folder {path}")
        return inside
    return find([path])


def of_file(path: str, proofs: Path) -> Iterator[Subject]:
    """The subjects of one file."""
    text = read_text(path)
    if path.endswith(".json"):
        yield of_certificate(path, text)
    elif path.endswith(".py"):
        yield from of_module(path, text)
    else:
        yield from of_spec(pipeline.load_text(text, path), proofs)


def of_certificate(path: str, text: str) -> Subject:
    """A certificate alone: its own program is what is replayed."""
    try:
        found = read_certificate(text)
        inside = pipeline.load_text(found.program, path)
        if inside.spec.about is not None:
            return _of_theorem(path, found, inside)
        (machine,) = inside.machines
        program = pipeline.program(machine)
        if program_text(program) != found.program:
            raise ValueError("its program is not written as it would be")
    except (ValueError, TinygpuError) as error:
        raise TinygpuError.of(INVALID, f"{path} is no certificate that can be used: {error}") from None
    problems = tuple(Diagnostic(INVALID, f"{path}: {said}") for said in found.differs(program))
    return Subject(path, found.machine, found.op, found.program, program, found, problems)


def _of_theorem(path: str, found: Certificate, inside: pipeline.Loaded) -> Subject:
    """A certificate of a theorem, a lemma or a choice, the last that its text states. Raises ValueError."""
    from tinygpu.algebra.certificate import differs

    one = inside.spec.about
    if one is None or one.text(inside.spec.tree) != found.program:
        raise ValueError("its text is not written as it would be")
    problems = tuple(Diagnostic(INVALID, f"{path}: {said}") for said in differs(found, one))
    return Subject(path, found.machine, found.op, found.program, None, found, problems)


def _theorems(spec: pipeline.Loaded, proofs: Path) -> Iterator[Subject]:
    """The lemmas, theorems and choices of a spec."""
    for one in spec.spec.stated:
        text, file = one.text(spec.spec.tree), place(proofs, spec.path, one.title)
        certificate, problems = None, tuple[Diagnostic, ...]()
        if os.path.isfile(file):
            try:
                certificate = read_certificate(read_text(str(file)))
                problems = _of_theorem(str(file), certificate, pipeline.load_text(certificate.program, str(file))).problems
                problems += () if certificate.program == text else (_stale(file, "text", one.title),)
            except (ValueError, TinygpuError) as error:
                problems = (Diagnostic(INVALID, f"{file}: {error}"),)
        yield Subject(spec.path, one.title, one.said, text, None, certificate, problems)


def of_spec(spec: pipeline.Loaded, proofs: Path) -> Iterator[Subject]:
    """Every theorem, lemma, choice and machine of a spec, with its certificate from the folder of proofs where there is one."""
    yield from _theorems(spec, proofs)
    for machine in spec.machines:
        program = pipeline.program(machine)
        text, file = program_text(program), place(proofs, spec.path, machine.title)
        certificate, problems = None, list[Diagnostic]()
        if os.path.isfile(file):  # a name that is too long is none
            try:
                certificate = read_certificate(read_text(str(file)))
                if certificate.program != text:
                    problems.append(_stale(file, "program", machine.title))
                elif certificate.source != sha(said(spec.spec.tree, machine.name)):
                    problems.append(_stale(file, "text", machine.title))
                else:
                    names = (("machine", certificate.machine, machine.title), ("op", certificate.op, machine.op.name))
                    wrong = [
                        *certificate.differs(program),
                        *(f"its {what}: {a}; the spec's: {b}" for what, a, b in names if a != b),
                    ]
                    problems += [Diagnostic(INVALID, f"{file}: {one}") for one in wrong]
            except ValueError as error:
                problems.append(Diagnostic(INVALID, f"{file}: {error}"))
        yield Subject(spec.path, machine.title, machine.op.name, text, program, certificate, tuple(problems))


def _stale(file: Path, what: str, machine: str) -> Diagnostic:
    helps = ("write it again: tinygpu check specs --certify proofs",)
    return Diagnostic(INVALID, f"{file} is a certificate of another {what} than that of {machine}", helps=helps)


def of_module(path: str, text: str) -> Iterator[Subject]:
    """Every launcher of an emitted module, with the program and the hash that its docstring names."""
    found = [replace(launcher(path, name, docstring), module=text) for name, docstring in launchers(parsed(path, text))]
    if not found:
        title = f"no launcher in {path} names its program"
        raise TinygpuError.of(INVALID, title, help="replay takes modules that tinygpu build wrote, specs, and certificates")
    yield from found


def launchers(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The functions at the top whose docstring has programs, each with its docstring."""
    for node in tree.body:
        docstring = ast.get_docstring(node) if isinstance(node, ast.FunctionDef) else None
        if isinstance(node, ast.FunctionDef) and docstring and INTRODUCES in docstring:
            yield node.name, docstring


def parsed(path: str, text: str) -> ast.Module:
    """A module's tree. Raises TG903 for what is no Python, or nests more deeply than Python reads."""
    try:
        return ast.parse(text)
    except SyntaxError as error:
        said = f"{error.msg} in line {error.lineno}"
    except (ValueError, RecursionError, MemoryError) as error:
        said = str(error) or "it nests too deeply"
    raise TinygpuError.of("TG903", f"{path} is no Python: {said}")


def launcher(path: str, name: str, docstring: str) -> Subject:
    """One launcher: the text after the words that introduce its program, and the program of its CPU kernels, where that is another one. A
    launcher checks what its program needs, so the other has to be one that needs no more, for the same op."""
    text = docstring.partition(INTRODUCES)[2].strip("\n") + "\n"
    promised = re.search(r"Certificate ([0-9a-f]+)\.", docstring)
    try:
        programs = [pipeline.program(machine) for machine in pipeline.load_text(text, f"{path}:{name}").machines]
    except TinygpuError as error:
        raise TinygpuError.of(INVALID, f"the program of {name} in {path} cannot be read: {error}") from None
    if not programs or len(programs) > 2:
        said = f"{name} in {path} has one program, and perhaps one for the CPU, not {len(programs)}"
        raise TinygpuError.of(INVALID, said)
    program, alone = programs[0], programs[1] if len(programs) == 2 else None
    if alone is not None and not alone.serves(program):
        said = f"the program of {name} in {path} for the CPU is of another op, or has a precondition that {name} does not check"
        raise TinygpuError.of(INVALID, said)
    hash_ = promised[1] if promised else "none"
    return Subject(path, name, program.op.name, program_text(program), program, None, (), hash_, alone)
