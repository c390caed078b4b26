"""What the commands share: options, finding and writing files, showing diagnostics.

Comes in: paths as typed. Goes out: texts of specs, messages on the right stream. The one idea: a path that cannot be read is
a diagnostic like any other, with a name and a way out.
"""

from __future__ import annotations

import argparse
import gc
import glob
import json
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from tinygpu.category.deadline import TIME
from tinygpu.category.solver import roomy
from tinygpu.diagnostic import Diagnostic, TinygpuError
from tinygpu.report import FORMATS, report, wants_color
from tinygpu.report.formats import as_dict
from tinygpu.syntax.files import place as place_of
from tinygpu.syntax.files import read_text as read_text

if TYPE_CHECKING:
    pass

PROVED, REFUTED, BAD, UNKNOWN = 0, 1, 2, 3


def prepare() -> None:
    """How every process of a command begins: it makes many small terms and few cycles, so that collecting often costs a fifth of its time."""
    gc.set_threshold(500_000, 50, 50)
    roomy()


def add_format(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--output-format", choices=FORMATS, default="human", help="how messages are written (human)")


def add_machine(parser: argparse.ArgumentParser) -> None:
    help = "only this machine, or the machines of this op"
    parser.add_argument("--machine", action="append", default=[], metavar="NAME", help=help)


def add_paths(
    parser: argparse.ArgumentParser, help: str = "files, folders, patterns, or - for standard input", many: str = "+"
) -> None:
    parser.add_argument("paths", nargs=many, metavar="PATH", help=help)


def add_jobs(parser: argparse.ArgumentParser, help: str = "processes, on Linux (default: one a core)") -> None:
    parser.add_argument("--jobs", type=int, default=0, metavar="N", help=help)


def add_time(parser: argparse.ArgumentParser) -> None:
    help = f"the most that a machine may take; what takes longer is unknown ({TIME:g})"
    parser.add_argument("--time", type=seconds, default=TIME, metavar="SECONDS", help=help)


def seconds(text: str) -> float:
    """A length of time that somebody typed. Raises ValueError, which argparse makes a message of."""
    found = float(text)
    if not found > 0:
        raise ValueError(text)
    return found


def bug(error: Exception) -> Diagnostic:
    """What is said of an exception that should not have been."""
    what = f"{type(error).__name__}: {error}".split("\n")[0][:200]
    helps = (
        "nothing was proved and nothing was written by this command; the input may well be right",
        "run it again with --debug, and report what it prints together with the input",
    )
    return Diagnostic("TG901", "a bug of tinygpu", notes=(what, *getattr(error, "__notes__", ())), helps=helps)


class Timed(Protocol):
    """A verdict that took a while, or is kept."""

    @property
    def seconds(self) -> float: ...
    @property
    def kept(self) -> bool: ...


def how_long(one: Timed) -> str:
    """How long a verdict took; of one of an earlier process that it is kept."""
    return "kept" if one.kept else f"{one.seconds:.2f} s"


def find(paths: Sequence[str]) -> tuple[str, ...]:
    """Files of specs: a folder is every `.tgpu` file under it, a pattern what it matches, `-` the standard input."""
    found: dict[str, None] = {}
    problems: list[Diagnostic] = []
    for path in paths:
        if path == "-" or os.path.isfile(path):
            inside = [path]
        elif os.path.isdir(path):
            inside = sorted(str(p) for p in Path(path).rglob("*.tgpu") if p.is_file())
        else:
            inside = [p for p in sorted(glob.glob(path, recursive=True)) if os.path.isfile(p)]
        found |= dict.fromkeys(inside)
        if not inside:
            problems.append(_missing(path))
    if problems:
        raise TinygpuError(*problems)
    return tuple(found)


def _missing(path: str) -> Diagnostic:
    if os.path.isdir(path):
        return Diagnostic("TG902", f"no .tgpu file under the folder {path}")
    if os.path.lexists(path):
        return Diagnostic("TG903", f"{path} is neither a file nor a folder that can be read")
    near = sorted(str(p) for p in Path(path).parent.glob("*.tgpu")) if os.path.isdir(Path(path).parent) else []
    helps = (f"there is {', '.join(near[:5])}",) if near else ("start one with: tinygpu new my_op",)
    return Diagnostic("TG902", f"there is no file {brief(path)}", helps=helps)


def brief(text: str) -> str:
    """What somebody typed, in a message: of a long text its beginning.

    >>> brief("M=512"), brief("9" * 1000)
    ('M=512', '9999999999999999999999999999999999999999… of 1000 characters')
    """
    return text if len(text) <= 200 else f"{text[:40]}… of {len(text)} characters"


def nearby(path: str | Path) -> str:
    """A path as one types it from here; whole where it lies on another drive."""
    try:
        return os.path.relpath(path)
    except ValueError:
        return str(path)


def write(path: Path, text: str) -> None:
    """Write an output whole. Raises TG904 for a place that cannot be written."""
    from tinygpu.runtime.cubins import _write_whole

    try:
        _write_whole(path, text.encode())
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise TinygpuError.of("TG904", f"{brief(str(path))} cannot be written: {reason}") from None


def show(diagnostics: Iterable[Diagnostic], style: str, sources: Mapping[str, str] | None = None) -> None:
    """Print diagnostics: to standard error for a person, to standard output for a machine."""
    stream = sys.stderr if style in ("human", "concise") else sys.stdout
    found = tuple(diagnostics)
    text = report(found, texts(found) | dict(sources or {}), style, wants_color(stream))
    if text:
        print(text, file=stream)


def print_json(parts: Mapping[str, object], diagnostics: Iterable[Diagnostic] | None = None) -> None:
    """Print a document for a machine that reads, with the diagnostics that go with it."""
    found = {} if diagnostics is None else {"diagnostics": [as_dict(d) for d in diagnostics]}
    print(json.dumps({"version": 1, **parts, **found}, indent=2, ensure_ascii=False))


def texts(diagnostics: Iterable[Diagnostic]) -> dict[str, str]:
    """The texts of the files that diagnostics point into, those that can still be read."""
    out: dict[str, str] = {}
    for name in {label.span.file for d in diagnostics for label in d.places}:
        if name != "-" and place_of(name).is_file():
            with suppress(TinygpuError):
                out[name] = read_text(name)
    return out


def place(folder: Path, path: str, title: str) -> Path:
    """Where the certificate of a machine, a theorem or a lemma lies.

    >>> place(Path("proofs"), "specs/cast.tgpu", "narrow[op=f, T=f16]").as_posix()
    'proofs/cast/narrow_op_f_T_f16.json'
    """
    name = re.sub(r"\W+", "_", title, flags=re.ASCII).strip("_")
    return folder / ("standard_input" if path == "-" else Path(path).stem) / f"{name}.json"
