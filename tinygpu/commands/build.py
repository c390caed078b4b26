"""`tinygpu build`: proved machines as Python modules.

Comes in: specs. Goes out: one module for each, or nothing for a spec in which some machine is not proved.
The one idea: a file is written only from `Proof` values, whole, is the same for the same spec, and is read back before it is written.
"""

from __future__ import annotations

import argparse
import keyword
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tinygpu import runtime
from tinygpu.commands.common import BAD, Progress, add_format, show, write
from tinygpu.commands.specs import Judged, chosen, exit_code, judge_all, load_all
from tinygpu.diagnostic import Diagnostic, TinygpuError

if TYPE_CHECKING:
    from tinygpu.emit.module import Built

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
    parser.add_argument(
        "--machine", action="append", default=[], metavar="NAME", help="only this machine, or the machines of this op"
    )
    add_format(parser)


def run(arguments: argparse.Namespace) -> int:
    specs, sources, problems = load_all(arguments.paths)
    if problems:
        show(problems, arguments.output_format, sources)
        return BAD
    if arguments.output != "-":
        apart([spec.path for spec in specs])
    with Progress() as now:
        judged = judge_all(chosen(specs, arguments.machine), now)
    show((d for j in judged for d in j.diagnostics), arguments.output_format, sources)
    code = exit_code(j.word for j in judged)
    for spec in specs:
        mine = [j for j in judged if j.path == spec.path]
        if any(j.word != "proved" for j in mine):
            names = ", ".join(j.machine.title for j in mine if j.word != "proved")
            print(f"{spec.path}: not built, because {names} is not proved", file=sys.stderr)
        elif mine:
            code = worst(code, emit(spec.path, mine, arguments.output, arguments.output_format))
    return code


def apart(paths: list[str]) -> None:
    """Raises TG905 where two specs would be one module."""
    names = [module_name(path) for path in paths]
    for number, name in enumerate(names):
        if (first := names.index(name)) < number:
            title = f"{paths[first]} and {paths[number]} would both be written to {name}"
            raise TinygpuError(Diagnostic("TG905", title, helps=("rename one of the files, or build them into two folders",)))


def worst(code: int, word: str) -> int:
    """The exit code, when a module has this word too."""
    return code or exit_code([word])


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
        helps = ("rename the file, or print the module with -o -",)
        raise TinygpuError(Diagnostic("TG905", f"{path} cannot be a module: {stem!r} is no name in Python", helps=helps))
    if stem in IMPORTED:
        title = f"{path} cannot be a module: {stem}.py would stand before the {stem} that it imports itself"
        raise TinygpuError(Diagnostic("TG905", title, helps=("rename the file",)))
    return f"{stem}.py"


def emit(path: str, judged: list[Judged], output: str, output_format: str) -> str:
    """Write or print a module, unless its text does something else than the programs; `proved`, or why it is not all shown."""
    from tinygpu import pipeline

    target = None if output == "-" else Path(output) / module_name(path)
    text, found = pipeline.read_back(titled(path), ready(judged), str(target or "the module"))
    show(found, output_format, {d.span.file: text for d in found})
    if any(d.verdict == "error" for d in found):
        print(f"{path}: not built, because the module does something else than what was proved", file=sys.stderr)
        return "refuted"
    if target is None:
        sys.stdout.write(text)
    else:
        write(target, text)
        write(target.with_name(f"{runtime.NAME}.py"), runtime.text())
        print(f"{target}: {', '.join(j.machine.title for j in judged)}")
    return "unknown" if any(d.verdict == "unknown" for d in found) else "proved"
