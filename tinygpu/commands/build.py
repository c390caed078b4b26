"""`tinygpu build`: proved machines as Python modules.

Comes in: specs. Goes out: one module for each, or nothing for a spec in which some machine is not proved.
The one idea: a file is written only from `Proof` values, whole, is the same for the same spec, and is read back before it is written.
"""

from __future__ import annotations

import argparse
import keyword
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tinygpu import runtime
from tinygpu.commands.common import add_format, add_jobs, add_machine, add_paths, show, write
from tinygpu.commands.specs import Judged, chosen, exit_code, judge, load_sound
from tinygpu.commands.together import Progress, processes, together
from tinygpu.diagnostic import Diagnostic, TinygpuError
from tinygpu.record import dataclass, replace

if TYPE_CHECKING:
    from tinygpu.emit.module import Built
    from tinygpu.model.machine import Machine

EXAMPLE = "tinygpu build specs/matmul.tgpu -o kernels/"


def configure(parser: argparse.ArgumentParser) -> None:
    add_paths(parser)
    help = "where to put the modules, and the runtime beside them; - prints the modules alone"
    parser.add_argument("-o", "--output", default=".", metavar="FOLDER", help=help)
    add_machine(parser)
    add_jobs(parser)
    add_format(parser)


def run(arguments: argparse.Namespace) -> int:
    style, output = arguments.output_format, arguments.output
    specs, sources = load_sound(arguments.paths)
    if output != "-":
        apart([spec.path for spec in specs])
    machines = chosen(specs, arguments.machine)

    def one(number: int) -> Made:
        return make(specs[number].path, [machine for of, machine in machines if of is specs[number]], output)

    made = together(len(specs), one, processes(arguments.jobs), lambda number: len(specs[number].text))
    results = []
    with Progress() as now:
        for number, spec in enumerate(specs, 1):
            now(f"building {spec.path} ({number} of {len(specs)})")
            results.append(next(made))
    show((d for one in results for d in one.diagnostics), style, sources)
    words = [hand_out(spec.path, one, output, style) for spec, one in zip(specs, results, strict=True)]
    return exit_code(word for one in results for _, word in one.verdicts) or exit_code(words)


@dataclass(frozen=True, slots=True)
class Made:
    """What came of a spec: the titles of its machines that were asked for, each with a word for what came of it, what is said of them, and where
    all are proved the text of the module and what is said of that."""

    verdicts: tuple[tuple[str, str], ...]
    diagnostics: tuple[Diagnostic, ...]
    text: str = ""
    found: tuple[Diagnostic, ...] = ()


def make(path: str, machines: Sequence[Machine], output: str) -> Made:
    """One spec proved, printed and read back; nothing is printed of it where a machine is not proved."""
    from tinygpu import pipeline

    judged = [judge(path, machine) for machine in machines]
    made = Made(tuple((j.machine.title, j.word) for j in judged), tuple(d for j in judged for d in j.diagnostics))
    if not judged or any(j.word != "proved" for j in judged):
        return made
    text, found = pipeline.read_back(titled(path), ready(judged), "the module" if output == "-" else str(target(path, output)))
    return replace(made, text=text, found=found)


def apart(paths: list[str]) -> None:
    """Raises TG905 where two specs would be one module."""
    names = [module_name(path) for path in paths]
    for number, name in enumerate(names):
        if (first := names.index(name)) < number:
            title = f"{paths[first]} and {paths[number]} would both be written to {name}"
            raise TinygpuError.of("TG905", title, help="rename one of the files, or build them into two folders")


def module_text(path: str, judged: list[Judged]) -> str:
    """`proved machines of one spec → text of its module`. Raises TinygpuError where it is not what was proved."""
    from tinygpu import pipeline

    return pipeline.sound(titled(path), ready(judged))


def titled(path: str) -> str:
    """What a module says that it is made of."""
    return Path(path).name if path != "-" else "the standard input"


def ready(judged: list[Judged]) -> list[Built]:
    """The machines that are proved, as the emitter takes them."""
    from tinygpu import pipeline

    return [pipeline.built(j.verdict, j.machine) for j in judged if isinstance(j.verdict, pipeline.Proof)]


def module_name(path: str) -> str:
    """The file of a spec's module: `matmul.py`, and `_2d.py` of a spec that begins with a digit. Raises TG905 for a name that Python cannot
    import.

    >>> module_name("specs/matmul.tgpu"), module_name("100_relu.tgpu")
    ('matmul.py', '_100_relu.py')
    """
    stem = "kernels" if path == "-" else Path(path).stem
    stem = f"_{stem}" if stem[:1].isdigit() else stem
    if not stem.isidentifier() or keyword.iskeyword(stem):
        title = f"{path} cannot be a module: {stem!r} is no name in Python"
        raise TinygpuError.of("TG905", title, help="rename the file, or print the module with -o -")
    if stem in ("numba", "numpy", runtime.NAME):  # which the module itself imports
        title = f"{path} cannot be a module: {stem}.py would stand before the {stem} that it imports itself"
        raise TinygpuError.of("TG905", title, help="rename the file")
    return f"{stem}.py"


def target(path: str, output: str) -> Path:
    """Where the module of a spec is written."""
    return Path(output) / module_name(path)


def hand_out(path: str, made: Made, output: str, style: str) -> str:
    """Write or print a module, unless its text does something else than the programs; `proved`, or why it is not all shown."""
    if not made.text:
        if names := ", ".join(title for title, word in made.verdicts if word != "proved"):
            print(f"{path}: not built, because {names} is not proved", file=sys.stderr)
        return "proved"
    show(made.found, style, {d.span.file: made.text for d in made.found})
    if any(d.verdict == "error" for d in made.found):
        print(f"{path}: not built, because the module does something else than what was proved", file=sys.stderr)
        return "refuted"
    if output == "-":
        sys.stdout.write(made.text)
    else:
        write(target(path, output), made.text)
        write(target(path, output).with_name(f"{runtime.NAME}.py"), runtime.text())
        print(f"{target(path, output)}: {', '.join(title for title, _ in made.verdicts)}")
    return "unknown" if any(d.verdict == "unknown" for d in made.found) else "proved"
