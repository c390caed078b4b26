"""What the commands share: finding specs, showing diagnostics, progress.

Comes in: paths as typed. Goes out: texts of specs, messages on the right stream. The one idea: a path that cannot be read is
a diagnostic like any other, with a name and a way out.
"""

from __future__ import annotations

import argparse
import glob
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from types import TracebackType

from tinygpu.diagnostic import Diagnostic, TinygpuError
from tinygpu.report import FORMATS, report, wants_color
from tinygpu.report.formats import as_dict

PROVED, REFUTED, BAD, UNKNOWN = 0, 1, 2, 3
LARGEST = 1 << 24  # bytes of a file that is read


def add_format(parser: argparse.ArgumentParser) -> None:
    """The option `--output-format`."""
    parser.add_argument("--output-format", choices=FORMATS, default="human", help="how messages are written (human)")


def add_machine(parser: argparse.ArgumentParser) -> None:
    """The option `--machine`."""
    help = "only this machine, or the machines of this op"
    parser.add_argument("--machine", action="append", default=[], metavar="NAME", help=help)


def find(paths: Sequence[str]) -> tuple[str, ...]:
    """Files of specs: a folder is every `.tgpu` file under it, a pattern what it matches, `-` the standard input."""
    found: dict[str, None] = {}
    problems: list[Diagnostic] = []
    for path in paths:
        if path == "-" or os.path.isfile(path):
            found[path] = None
        elif os.path.isdir(path):
            inside = sorted(str(p) for p in Path(path).rglob("*.tgpu") if p.is_file())
            found.update(dict.fromkeys(inside))
            if not inside:
                problems.append(Diagnostic("TG902", f"no .tgpu file under the folder {path}"))
        elif matched := [p for p in sorted(glob.glob(path, recursive=True)) if os.path.isfile(p)]:
            found.update(dict.fromkeys(matched))
        else:
            problems.append(_missing(path))
    if problems:
        raise TinygpuError(*problems)
    return tuple(found)


def _missing(path: str) -> Diagnostic:
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


def read_text(path: str) -> str:
    """The text of a spec; `-` is the standard input. Raises TG903 for what cannot be read, is no UTF-8, is too large, or is no text."""
    try:
        with nullcontext(sys.stdin.buffer) if path == "-" else open(path, "rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise TinygpuError.of("TG903", f"{path} cannot be read: {reason.lower()}") from None
    if len(data) > LARGEST:
        raise TinygpuError.of("TG903", f"{path} cannot be read: it has more than {LARGEST} bytes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        title = f"{path} is not UTF-8: byte {data[error.start]:#04x} in line {line}"
        raise TinygpuError.of("TG903", title, help="save the file as UTF-8") from None
    return text.replace("\r\n", "\n")


def write(path: Path, text: str) -> None:
    """Write an output whole. Raises TG904 for a place that cannot be written."""
    from tinygpu.run.load import write_whole

    try:
        write_whole(path, text)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise TinygpuError.of("TG904", f"{brief(str(path))} cannot be written: {reason}") from None


def show(diagnostics: Iterable[Diagnostic], style: str, sources: dict[str, str] | None = None) -> None:
    """Print diagnostics: to standard error for a person, to standard output for a machine."""
    stream = sys.stderr if style in ("human", "concise") else sys.stdout
    found = tuple(diagnostics)
    text = report(found, texts(found) | (sources or {}), style, wants_color(stream))
    if text:
        print(text, file=stream)


def print_json(parts: Mapping[str, object], diagnostics: Iterable[Diagnostic] | None = None) -> None:
    """Print a document for a machine that reads, with the diagnostics that go with it."""
    found = {} if diagnostics is None else {"diagnostics": [as_dict(d) for d in diagnostics]}
    print(json.dumps({"version": 1, **parts, **found}, indent=2, ensure_ascii=False))


def texts(diagnostics: Iterable[Diagnostic]) -> dict[str, str]:
    """The texts of the files that diagnostics point into, those that can still be read."""
    out: dict[str, str] = {}
    for name in sorted({label.span.file for d in diagnostics for label in d.labels}):
        if name and name != "-" and os.path.isfile(name):
            try:
                out[name] = read_text(name)
            except TinygpuError:
                continue
    return out


class Progress:
    """Says on standard error what is being done, once a second has passed: `with Progress() as now: now("matmul_tile")`."""

    def __init__(self, patience: float = 1.0):
        self.patience, self.doing, self.began = patience, "", time.perf_counter()
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)
        self.live = sys.stderr.isatty()

    def __enter__(self) -> Callable[[str], None]:
        self.thread.start()

        def now(what: str) -> None:
            self.doing = what

        return now

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.over.set()
        self.thread.join()

    def _watch(self) -> None:
        """A line that is written over at a terminal; elsewhere one line for each thing that takes long."""
        said = ""
        while not self.over.wait(self.patience):
            if self.live:
                print(f"\r\x1b[K{self.doing} … {time.perf_counter() - self.began:.0f} s", end="", file=sys.stderr, flush=True)
            elif self.doing != said:
                print(f"{self.doing} …", file=sys.stderr, flush=True)
            said = self.doing
        if said and self.live:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
