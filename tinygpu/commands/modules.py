"""Emitted modules, written again and read back.

Comes in: the text of a module. Goes out: the first line that this version would not write, or what its kernels do otherwise than its programs say. The one idea: a module is a
function of its programs, so nobody has to understand an edit to see it: all of it (names, imports, kernels, launchers, helpers, sentences) is written again from the programs
alone, and compared.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from tinygpu import pipeline, runtime
from tinygpu.algebra.theorem import Proved
from tinygpu.algebra.verdict import judged
from tinygpu.category.dtype import DTYPES
from tinygpu.commands.subjects import Subject, launcher, launchers, parsed
from tinygpu.diagnostic import Diagnostic, Label, Span
from tinygpu.emit.gradients import STATED
from tinygpu.emit.joined import Joined
from tinygpu.model.choice import Choice, choices_of
from tinygpu.model.gradient import Gradient, gradient_of
from tinygpu.model.lemma import Lemma, lemma_of
from tinygpu.model.machine import Machine
from tinygpu.model.monoid import monoids_of
from tinygpu.model.ops import chains_of, pipelines_of
from tinygpu.model.pipeline import Pipeline
from tinygpu.model.problems import Problems
from tinygpu.model.served import Instance
from tinygpu.proof.certificate import misnamed
from tinygpu.proof.choice import CASES, Covered
from tinygpu.proof.pipeline import CALLS, Linked
from tinygpu.record import replace
from tinygpu.syntax import tree
from tinygpu.syntax.parse import parse

if TYPE_CHECKING:
    from tinygpu.emit.module import Built

CODE = "TG824"
Listed = tuple[str, tuple[tuple[str, str], ...], str]  # a machine's name, its variant, its op
TITLE = re.compile(r"Kernels of (.*?), emitted by tinygpu;", re.DOTALL)
MACHINE = re.compile(
    r"^  (?P<name>\w+)(?:\[(?P<variant>\w+=\w+(?:, \w+=\w+)*)\])? : (?P<op>\w+(?:\[\w+(?:, \w+)*\])?)(?: via \w+)?$",
    re.MULTILINE | re.ASCII,
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
    spec, machines, joined = made_of(text, path)
    return pipeline.module(spec, machines, joined) if machines else None


def made_of(text: str, path: str) -> tuple[str, tuple[Built, ...], tuple[Joined, ...]]:
    """The spec that a module names, its machines and the choices and pipelines of them, proved again; none where there is anything wrong with one of them."""
    module = parsed(path, text)
    opening = ast.get_docstring(module) or ""
    title = TITLE.match(opening)
    if title is None:
        return "", (), ()
    listed = opening[title.end() :].partition("\n\n")[2].partition("\n\n")[0]
    machines = tuple((m["name"], variant(m["variant"] or ""), m["op"]) for m in MACHINE.finditer(listed))
    built = with_docstrings(title[1], machines, tuple(docstring for _, docstring in launchers(module)))
    docstrings = (ast.get_docstring(node) or "" for node in module.body if isinstance(node, ast.FunctionDef))
    texts = tuple(dict.fromkeys(one.partition(mark)[2] for one in docstrings for mark in (CASES, CALLS) if mark in one))
    texts = (*texts, *filter(None, (opening.partition(STATED)[2],)))
    joined = joined_of_texts([b.machine for b in built], texts) if built else ()
    return title[1], () if joined is None else built, joined or ()


def joined_of_texts(machines: Sequence[Machine], texts: Sequence[str]) -> tuple[Joined, ...] | None:
    """Choices and pipelines of machines, from the texts of their cases and calls, and gradients of their ops, proved again; None where one is not. Raises TinygpuError for what cannot be read."""
    served: dict[str, dict[str, Instance]] = {}
    for machine in machines:
        dtypes = tuple(pair for pair in machine.variant if pair[1] in DTYPES)
        served.setdefault(machine.op.family, {}).setdefault(machine.op.name, Instance(machine.op.meant, dtypes))
    every: dict[str, list[Instance] | None] = {family: [*ops.values()] for family, ops in served.items()}
    callees, gradients, problems = list[Machine | Choice | Pipeline](machines), list[Gradient](), Problems()
    ops = tuple(dict.fromkeys(d for m in machines for d in m.op.meant.source if not isinstance(d, tree.Theorem | tree.Lemma)))
    file = tree.File(ops)
    lemmas = list[Lemma]()
    for declared in (one for text in texts for one in parse(text).declarations):
        before = len(callees) + len(gradients) + len(lemmas)
        match declared:
            case tree.Choice():
                callees += choices_of(declared, every, machines, [m.name for m in machines], {}, problems)
            case tree.Pipeline():
                file, chains = chains_of(
                    tree.File((*file.declarations, declared)), every, monoids_of(file, {}, problems), set(), ()
                )
                callees += pipelines_of(file, chains, every, tuple(callees), {}, problems)[1]
                file = replace(file, declarations=tuple(d for d in file.declarations if d is not declared))
            case tree.Lemma():
                lemmas += filter(None, (lemma_of(declared, monoids_of(file, {}, problems)),))
            case tree.Gradient():
                called = {family: [i.op for i in several or ()] for family, several in every.items()}
                made = gradient_of(declared, called, lemmas, problems)
                gradients += [made] if made else []
        if len(callees) + len(gradients) + len(lemmas) == before:
            return None
    known = [judged(one) for one in (*callees, *gradients) if not isinstance(one, Machine)]
    proved = [one for one in known if isinstance(one, Covered | Linked | Proved)]
    return tuple(proved) if len(proved) == len(known) else None


@lru_cache(maxsize=4)
def with_docstrings(spec: str, machines: tuple[Listed, ...], docstrings: tuple[str, ...]) -> tuple[Built, ...]:
    """Machines, each with the docstring that holds its programs; none where one is not as it is named, or not proved."""
    found: list[Built] = []
    if len(machines) != len(docstrings):
        return ()
    for (name, choice, op), docstring in zip(machines, docstrings, strict=True):
        said = launcher(spec, name, docstring)
        assert said.program is not None, "of a launcher"
        one = Machine(name, replace(said.program.op, name=op), (), where=said.program.where, variant=choice)
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
        _, machines, joined = made_of(text, path)
        on_gpu = (*beside(path), *pipeline.validate(text, machines, path, joined))
        out[path] = on_gpu or pipeline.validate_cpu(text, machines, path)
    return out


def beside(path: str) -> Iterator[Diagnostic]:
    """What is to be said of the runtime in the folder of a module: it is the one that this version writes."""
    file = Path(path).with_name(f"{runtime.NAME}.py")
    if file.is_file() and file.read_bytes() != runtime.text().encode():
        helps = ("build the module again, with this version of tinygpu",)
        yield Diagnostic("TG821", f"{file} is not the runtime of this version", verdict="error", helps=helps)
