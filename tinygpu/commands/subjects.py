"""What can be replayed: machines with the text of their program, from specs, certificates and emitted modules.

Comes in: paths as typed. Goes out: a `Subject` for each machine; what is wrong with a module. The one idea: whatever a path is, what is replayed is a
program's own text with its op, so that nothing but that text is believed. A module is a function of its programs, so nobody has to understand an edit to
see it: all of it (names, imports, kernels, launchers, helpers, sentences) is written again from the programs alone, and compared.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from tinygpu import pipeline, runtime
from tinygpu.commands.common import find, place, read_text
from tinygpu.diagnostic import Diagnostic, Label, Span, TinygpuError
from tinygpu.model.machine import Machine
from tinygpu.model.op import said
from tinygpu.program.step import Program
from tinygpu.proof.certificate import Certificate, misnamed, program_text, sha
from tinygpu.proof.certificate import read as read_certificate
from tinygpu.proof.summary import INTRODUCES
from tinygpu.record import dataclass, field, replace

if TYPE_CHECKING:
    from tinygpu.emit.module import Built


INVALID = "TG910"


@dataclass(frozen=True, slots=True)
class Subject:
    """A machine to replay: its program, as text and read; its certificate, if there is one; what does not agree; `promised` is the hash
    that an emitted module names, `alone` the program of its CPU kernels, and `module` the whole text."""

    path: str
    machine: str
    op: str
    text: str
    program: Program
    certificate: Certificate | None = None
    problems: tuple[Diagnostic, ...] = ()
    promised: str = ""
    alone: Program | None = None
    module: str = field(default="", repr=False)


def subjects(paths: Sequence[str], proofs: Path, names: Sequence[str]) -> tuple[Subject, ...]:
    """`paths → subjects`. Raises TinygpuError with all that cannot be read."""
    found: list[Subject] = []
    problems: list[Diagnostic] = []
    for path in paths:
        try:
            for file in files(path):
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
        (machine,) = pipeline.load_text(found.program, path).machines
        program = pipeline.program(machine)
        if program_text(program) != found.program:
            raise ValueError("its program is not written as it would be")
    except (ValueError, TinygpuError) as error:
        raise TinygpuError.of(INVALID, f"{path} is no certificate that can be used: {error}") from None
    problems = tuple(Diagnostic(INVALID, f"{path}: {said}") for said in found.differs(program))
    return Subject(path, found.machine, found.op, found.program, program, found, problems)


def of_spec(spec: pipeline.Loaded, proofs: Path) -> Iterator[Subject]:
    """Every machine of a spec, with its certificate from the folder of proofs where there is one."""
    for machine in spec.machines:
        program = pipeline.program(machine)
        text, file = program_text(program), place(proofs, spec.path, machine)
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


# ── modules written again ────────────────────────────────────────────────────────────────────────────────────────────


CODE = "TG824"
Choice = tuple[str, tuple[tuple[str, str], ...], str]  # a machine's name, its variant, its op
TITLE = re.compile(r"Kernels of (.*?), emitted by tinygpu;", re.DOTALL)
MACHINE = re.compile(
    r"^  (?P<name>\w+)(?:\[(?P<variant>\w+=\w+(?:, \w+=\w+)*)\])? : (?P<op>\w+(?:\[\w+\])?)$", re.MULTILINE | re.ASCII
)


def differs(text: str, path: str) -> Diagnostic | None:
    """The first line of a module that this version would not write; None where it would write all of it."""
    wanted = rewritten(text, path)
    if text == wanted:
        return None
    helps = ("build it again from its spec, with this version of tinygpu",)
    if wanted is None:
        title = f"{path} does not say what it is made of, or names its programs otherwise, or they are not proved"
        return Diagnostic(CODE, title, (Label(Span(path, 0, 0, 1, 1, 1, 1), "here"),), "error", helps=helps)
    ours, theirs = text.split("\n"), wanted.split("\n")
    at = next((n for n, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b), min(len(ours), len(theirs)))
    start, line = sum(len(one) + 1 for one in ours[:at]), ours[at] if at < len(ours) else ""
    span = Span(path, min(start, len(text)), min(start + len(line), len(text)), at + 1, 1, at + 1, len(line) + 1)
    note = f"for its programs this version writes: {theirs[at].strip()!r}" if at < len(theirs) else "there the module ends"
    title = f"{path} is not what is written for its programs"
    return Diagnostic(CODE, title, (Label(span, "this line is another one"),), "error", notes=(note,), helps=helps)


def rewritten(text: str, path: str) -> str | None:
    """What this version writes for the programs that a module names; None where it does not name them, names them otherwise than they are
    named, or they are not proved. Raises TinygpuError where the text, or a program in it, cannot be read."""
    spec, machines = made_of(text, path)
    return pipeline.module(spec, machines) if machines else None


def made_of(text: str, path: str) -> tuple[str, tuple[Built, ...]]:
    """The spec that a module names, and its machines, proved again; none where there is anything wrong with one of them."""
    tree = parsed(path, text)
    opening = ast.get_docstring(tree) or ""
    title = TITLE.match(opening)
    if title is None:
        return "", ()
    listed = opening[title.end() :].partition("\n\n")[2].partition("\n\n")[0]
    machines = tuple((m["name"], variant(m["variant"] or ""), m["op"]) for m in MACHINE.finditer(listed))
    return title[1], with_docstrings(title[1], machines, tuple(docstring for _, docstring in launchers(tree)))


@lru_cache(maxsize=4)
def with_docstrings(spec: str, machines: tuple[Choice, ...], docstrings: tuple[str, ...]) -> tuple[Built, ...]:
    """Machines, each with the docstring that holds its programs; none where one is not as it is named, or not proved."""
    found: list[Built] = []
    if len(machines) != len(docstrings):
        return ()
    for (name, choice, op), docstring in zip(machines, docstrings, strict=True):
        said = launcher(spec, name, docstring)
        one = Machine(name, replace(said.program.op, name=op), (), variant=choice)
        made = None if misnamed(one.title, op, said.program) else pipeline.rebuilt(one, said.program, said.alone)
        found += [made] if made else []
    return tuple(found) if len(found) == len(machines) else ()


def variant(text: str) -> tuple[tuple[str, str], ...]:
    """`op=relu, T=f16`, the choice of a machine that serves several."""
    return tuple((key, value) for key, _, value in (part.partition("=") for part in text.split(", ") if part))


# ── and read back ──────────────────────────────────────────────────────────────────────────────────────────────────


def validated(found: Sequence[Subject]) -> dict[str, tuple[Diagnostic, ...]]:
    """For each module what is wrong with it. It is what this version writes for the programs that it names, to the character, or it is not
    looked at further; then its launchers and kernels are followed along these programs."""
    out: dict[str, tuple[Diagnostic, ...]] = {}
    for path, text in {s.path: s.module for s in found if s.promised}.items():
        if other := differs(text, path):
            out[path] = (other,)
            continue
        _, machines = made_of(text, path)
        on_gpu = (*beside(path), *pipeline.validate(text, machines, path))
        out[path] = on_gpu or pipeline.validate_cpu(text, machines, path)
    return out


def beside(path: str) -> Iterator[Diagnostic]:
    """What is to be said of the runtime in the folder of a module: it is the one that this version writes."""
    file = Path(path).with_name(f"{runtime.NAME}.py")
    if file.is_file() and file.read_bytes() != runtime.text().encode():
        helps = ("build the module again, with this version of tinygpu",)
        yield Diagnostic("TG821", f"{file} is not the runtime of this version", verdict="error", helps=helps)
