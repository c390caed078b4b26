"""`tinygpu build`: proved machines as Python modules.

Comes in: specs. Goes out: one module for each, or nothing for a spec in which some machine is not proved.
The one idea: a file is written only from `Proof` values, whole, is the same for the same spec, and is read back before it is written.
"""

from __future__ import annotations

import argparse
import keyword
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tinygpu import runtime
from tinygpu.commands.common import BAD, Progress, add_format, add_machine, show, write
from tinygpu.commands.specs import Judged, chosen, exit_code, judge, load_all
from tinygpu.commands.together import processes, together
from tinygpu.diagnostic import Diagnostic, TinygpuError
from tinygpu.record import dataclass, replace

if TYPE_CHECKING:
    from tinygpu.emit.module import Built
    from tinygpu.model.machine import Machine
    from tinygpu.pipeline import Loaded

IMPORTED = ("numba", "numpy", runtime.NAME)  # by the module itself

EXAMPLE = "tinygpu build specs/matmul.tgpu -o kernels/"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", metavar="PATH", help="files, folders, patterns, or - for standard input")
    parser.add_argument(
        "-o",
        "--output",
        default=".",
        metavar="FOLDER",
        help="where to put the modules, and the runtime beside them; - prints the modules alone",
    )
    add_machine(parser)
    parser.add_argument("--jobs", type=int, default=0, metavar="N", help="processes, on Linux (default: one a core)")
    add_format(parser)


def run(arguments: argparse.Namespace) -> int:
    style = arguments.output_format
    specs, sources, problems = load_all(arguments.paths)
    if problems:
        show(problems, style, sources)
        return BAD
    if arguments.output != "-":
        apart([spec.path for spec in specs])
    machines = chosen(specs, arguments.machine)
    made = make_all(specs, machines, arguments.output, processes(arguments.jobs))
    with Progress() as now:
        results = []
        for number, spec in enumerate(specs, 1):
            now(f"building {spec.path} ({number} of {len(specs)})")
            results.append(next(made))
    show((d for one in results for d in one.diagnostics), style, sources)
    words = [hand_out(spec.path, one, arguments.output, style) for spec, one in zip(specs, results, strict=True)]
    return exit_code(word for one in results for word in one.words) or exit_code(words)


@dataclass(frozen=True, slots=True)
class Made:
    """What came of a spec: a word for each of its machines that was asked for, what is said of them, and where all are proved the text of
    the module and what is said of that."""

    titles: tuple[str, ...]
    words: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...]
    text: str = ""
    found: tuple[Diagnostic, ...] = ()


def make_all(specs: Sequence[Loaded], machines: Sequence[tuple[Loaded, Machine]], output: str, jobs: int) -> Iterator[Made]:
    """Every spec proved, printed and read back, on several cores, in order."""

    def one(number: int) -> Made:
        spec = specs[number]
        return make(spec.path, [machine for of, machine in machines if of is spec], output)

    return together(len(specs), one, jobs, lambda number: len(specs[number].text))


def make(path: str, machines: Sequence[Machine], output: str) -> Made:
    """One spec: nothing is printed of it where a machine is not proved."""
    from tinygpu import pipeline

    judged = [judge(path, machine) for machine in machines]
    made = Made(
        tuple(j.machine.title for j in judged),
        tuple(j.word for j in judged),
        tuple(d for j in judged for d in j.diagnostics),
    )
    if not judged or set(made.words) != {"proved"}:
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
    """The file of a spec's module: `matmul.py`. Raises TG905 for a name that Python cannot import."""
    stem = "kernels" if path == "-" else Path(path).stem
    if not stem.isidentifier() or keyword.iskeyword(stem):
        title = f"{path} cannot be a module: {stem!r} is no name in Python"
        raise TinygpuError.of("TG905", title, help="rename the file, or print the module with -o -")
    if stem in IMPORTED:
        title = f"{path} cannot be a module: {stem}.py would stand before the {stem} that it imports itself"
        raise TinygpuError.of("TG905", title, help="rename the file")
    return f"{stem}.py"


def target(path: str, output: str) -> Path:
    """Where the module of a spec is written."""
    return Path(output) / module_name(path)


def hand_out(path: str, made: Made, output: str, style: str) -> str:
    """Write or print a module, unless its text does something else than the programs; `proved`, or why it is not all shown."""
    if not made.text:
        if names := ", ".join(title for title, word in zip(made.titles, made.words, strict=True) if word != "proved"):
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
        print(f"{target(path, output)}: {', '.join(made.titles)}")
    return "unknown" if any(d.verdict == "unknown" for d in made.found) else "proved"
