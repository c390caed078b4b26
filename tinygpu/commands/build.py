"""`tinygpu build`: proved machines as Python modules.

Comes in: specs. Goes out: one module for each, or nothing for a spec in which some machine is not proved.
The one idea: a file is written only from `Proof` values, whole, is the same for the same spec, and is read back before it is written.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from tinygpu import runtime
from tinygpu.commands.common import add_format, add_jobs, add_machine, add_paths, add_time, find, show, write
from tinygpu.commands.families import families, pinned_specs, settled_words
from tinygpu.commands.first import with_machines
from tinygpu.commands.judged import exit_code
from tinygpu.commands.make import Made, make, module_name, target
from tinygpu.commands.specs import among, joined_among, load_all, without_numbers
from tinygpu.commands.together import Progress, processes, spread, together
from tinygpu.diagnostic import Diagnostic, TinygpuError

if TYPE_CHECKING:
    from tinygpu.model.gradient import Gradient
    from tinygpu.model.machine import Machine
    from tinygpu.pipeline import Loaded

EXAMPLE = "tinygpu build specs/matmul.tgpu -o kernels/"


def configure(parser: argparse.ArgumentParser) -> None:
    add_paths(parser, "files, folders, patterns, or - for standard input; then a machine and its free numbers: tile T=16")
    help = "where to put the modules, and the runtime beside them; - prints the modules alone"
    parser.add_argument("-o", "--output", default=".", metavar="FOLDER", help=help)
    add_machine(parser)
    add_jobs(parser)
    add_time(parser)
    add_format(parser)


def run(arguments: argparse.Namespace) -> int:
    style, output = arguments.output_format, arguments.output
    paths, named, numbers = settled_words(arguments.paths)
    specs, sources, problems = whole(paths)
    names = [*arguments.machine, *named]
    specs = pinned_specs(specs, numbers, names)
    for _, family in families(specs, names):
        raise without_numbers(family)
    if output != "-":
        apart([spec.path for spec in specs])
    machines = among(specs, names, problems)

    jobs = processes(arguments.jobs)
    import_module("tinygpu.emit.module")  # here, as each of the processes would load it, which takes as long as a small machine
    import_module("tinygpu.validate.cpu")

    def one(number: int) -> Made:
        asked = [machine for of, machine in machines if of is specs[number]]
        each = spread(jobs) if len(specs) == 1 else map  # several specs are several pieces of work already
        joined = (*joined_among(specs[number], asked, arguments.machine), *gradients_among(specs[number], asked))
        return make(specs[number].path, asked, output, arguments.time, arguments.debug, each, joined)

    made = together(len(specs), one, jobs, lambda number: len(specs[number].text))
    results = []
    with Progress() as now:
        for number, spec in enumerate(specs, 1):
            now(f"building {spec.path} ({number} of {len(specs)})")
            results.append(next(made))
    show((*problems, *(d for one in results for d in one.diagnostics)), style, sources)
    words = [hand_out(spec.path, one, output, style) for spec, one in zip(specs, results, strict=True)]
    return exit_code([*(d.verdict for d in problems), *(word for one in results for _, word in one.verdicts), *words])


def gradients_among(spec: Loaded, machines: Sequence[Machine]) -> tuple[Gradient, ...]:
    """The gradients of a spec all of whose ops are computed by some of its machines."""
    there = {m.op.meant.family for m in machines} | {one.op.family for one in joined_among(spec, machines, ())}
    return tuple(one for one in spec.spec.gradients if {op.family for op in (one.op, *one.by)} <= there)


def whole(paths: Sequence[str]) -> tuple[tuple[Loaded, ...], dict[str, str], tuple[Diagnostic, ...]]:
    """The specs in which nothing is wrong, the texts of all, and what is wrong with the others, or may be with these: each is said to be not built."""
    specs: list[Loaded] = []
    problems: list[Diagnostic] = []
    texts: dict[str, str] = {}
    for path in find(paths):
        found, text, wrong = load_all([path])
        texts, problems = texts | text, [*problems, *wrong]
        if all(d.verdict != "error" for d in wrong):
            made = [with_machines(spec) for spec in found]
            for spec, added in (one for one in made if one[1]):
                print(f"{spec.path}: it has no machine; this one is made by rules and proved\n\n{added}", file=sys.stderr)
            specs += [spec for spec, _ in made]
        else:
            print(f"{path}: not built, because there are errors in it", file=sys.stderr)
    return tuple(specs), texts, tuple(problems)


def apart(paths: list[str]) -> None:
    """Raises TG905 where two specs would be one module."""
    names = [module_name(path) for path in paths]
    for number, name in enumerate(names):
        if (first := names.index(name)) < number:
            title = f"{paths[first]} and {paths[number]} would both be written to {name}"
            raise TinygpuError.of("TG905", title, help="rename one of the files, or build them into two folders")


def hand_out(path: str, made: Made, output: str, style: str) -> str:
    """Write or print a module that was read back as the programs; `proved`, or why there is none."""
    if not made.text:
        for what, words in (("is not proved", ("refuted", "unknown")), ("cannot be", ("error",))):
            if names := ", ".join(title for title, word in made.verdicts if word in words):
                print(f"{path}: not built, because {names} {what}", file=sys.stderr)
        return "proved"
    show(made.found, style, {d.span.file: made.text for d in made.found})
    for verdict, word, why in (
        ("error", "refuted", "does something else than what was proved"),
        ("unknown", "unknown", "could not be read back"),
    ):
        if any(d.verdict == verdict for d in made.found):
            print(f"{path}: not built, because the module {why}", file=sys.stderr)
            return word
    if output == "-":
        sys.stdout.write(made.text)
    else:
        write(target(path, output), made.text)
        write(target(path, output).with_name(f"{runtime.NAME}.py"), runtime.text())
        print(f"{target(path, output)}: {', '.join(title for title, _ in made.verdicts)}")
    return "proved"
