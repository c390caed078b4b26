"""Whether a module is what this version writes for the programs that it names, to the character, and does what they say.

Comes in: the text of a module. Goes out: the first line that is another one, or what reading it back finds. The one idea: a module is a function of its programs, so
nobody has to understand an edit to see it: all of it (names, imports, kernels, launchers, helpers, sentences) is written again from the
programs alone, and compared. Nothing of the text is run, and nothing else of it is believed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from tinygpu import pipeline, runtime
from tinygpu.commands.subjects import Subject, launcher, launchers, parsed
from tinygpu.diagnostic import Diagnostic, Label, Span
from tinygpu.model.machine import Machine
from tinygpu.proof.certificate import misnamed
from tinygpu.record import replace

if TYPE_CHECKING:
    from tinygpu.emit.module import Built

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
    tree = parsed(path, text)
    opening = ast.get_docstring(tree) or ""
    title = TITLE.match(opening)
    if title is None:
        return None
    listed = opening[title.end() :].partition("\n\n")[2].partition("\n\n")[0]
    machines = tuple((m["name"], variant(m["variant"] or ""), m["op"]) for m in MACHINE.finditer(listed))
    return with_docstrings(title[1], machines, tuple(docstring for _, docstring in launchers(tree)))


@lru_cache(maxsize=4)
def with_docstrings(spec: str, machines: tuple[Choice, ...], docstrings: tuple[str, ...]) -> str | None:
    """The module of machines, each with the docstring that holds its programs."""
    found: list[Built] = []
    if len(machines) != len(docstrings):
        return None
    for (name, choice, op), docstring in zip(machines, docstrings, strict=True):
        said = launcher(spec, name, docstring)
        one = Machine(name, replace(said.program.op, name=op), (), variant=choice)
        if misnamed(one.title, op, said.program):
            return None
        made = pipeline.rebuilt(one, said.program, said.alone)
        if made is None:
            return None
        found.append(made)
    return pipeline.module(spec, found)


def variant(text: str) -> tuple[tuple[str, str], ...]:
    """`op=relu, T=f16`, the choice of a machine that serves several."""
    return tuple((key, value) for key, _, value in (part.partition("=") for part in text.split(", ") if part))


# ── and read back ──────────────────────────────────────────────────────────────────────────────────────────────────


def validated(found: Sequence[Subject]) -> dict[str, tuple[Diagnostic, ...]]:
    """For each module what is wrong with it. It is what this version writes for the programs that it names, to the character, or it is not
    looked at further; then its launchers and kernels are followed along these programs."""
    from tinygpu.derive.unpack import unpack
    from tinygpu.obligations.width import limits
    from tinygpu.validate.check import validate
    from tinygpu.validate.cpu import findings
    from tinygpu.validate.launcher import Expected

    modules: dict[str, list[Subject]] = {}
    for s in found:
        if s.promised:
            modules.setdefault(s.path, []).append(s)
    out: dict[str, tuple[Diagnostic, ...]] = {}
    for path, several in modules.items():
        if other := differs(several[0].module, path):
            out[path] = (other,)
            continue
        text = several[0].module
        expected = [
            Expected(s.machine, unpack(s.program), pipeline.on_core(s.alone or s.program), limits(s.program)) for s in several
        ]
        on_gpu = (*beside(path), *validate(text, expected, path))
        on_cpu = findings(text, expected, path) if not on_gpu else ()
        out[path] = (*on_gpu, *on_cpu)
    return out


def beside(path: str) -> Iterator[Diagnostic]:
    """What is to be said of the runtime in the folder of a module: it is the one that this version writes."""
    file = Path(path).with_name(f"{runtime.NAME}.py")
    if file.is_file() and file.read_bytes() != runtime.text().encode():
        helps = ("build the module again, with this version of tinygpu",)
        yield Diagnostic("TG821", f"{file} is not the runtime of this version", verdict="error", helps=helps)
