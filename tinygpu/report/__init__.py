"""How a diagnostic is shown: for a person at a terminal, on one line, and for machines.

Comes in: `Diagnostic` values and the texts of the files they point into. Goes out: text.
The one idea: every format is a function of the same value, so no stage knows who is reading.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TextIO

from tinygpu.diagnostic import Diagnostic
from tinygpu.record import replace
from tinygpu.report.formats import concise, github, to_json, to_sarif
from tinygpu.report.human import render

ALIKE = 2  # mistakes that are shown where there are more of them
FORMATS = ("human", "concise", "json", "github", "sarif")

__all__ = ["FORMATS", "at_terminal", "concise", "github", "render", "report", "to_json", "to_sarif", "wants_color"]


def report(diagnostics: Iterable[Diagnostic], sources: Mapping[str, str], style: str = "human", color: bool = False) -> str:
    """`diagnostics → text` in one of FORMATS; without a final newline, and empty for no diagnostic but in `json` and `sarif`.

    >>> report([Diagnostic("TG101", "unknown name q")], {}, "concise")
    'TG101 [error] unknown name q'
    """
    found = tuple(diagnostics)
    match style:
        case "human":
            return "\n\n".join(render(d, sources, color) for d in gathered(found))
        case "concise":
            return "\n".join(map(concise, found))
        case "github":
            return "\n".join(map(github, found))
        case "json":
            return to_json(found)
        case "sarif":
            return to_sarif(found)
    raise ValueError(f"no format {style!r}: one of {', '.join(FORMATS)}")


def gathered(found: tuple[Diagnostic, ...]) -> Iterator[Diagnostic]:
    """What a person reads: of mistakes that are alike two, and how many more there are and where.

    >>> from tinygpu.diagnostic import Label, Span
    >>> many = tuple(Diagnostic("TG101", "unknown name q", (Label(Span("", n, n + 1, n, 1, n, 2)),)) for n in range(1, 6))
    >>> [d.notes for d in gathered(many)]
    [(), ('3 more like it, in lines 3, 4 and 5',)]
    """
    alike: dict[object, list[Diagnostic]] = {}
    for one in found:
        alike.setdefault((one.code, one.title, one.verdict, one.helps), []).append(one)
    for one in found:
        several = alike[one.code, one.title, one.verdict, one.helps]
        if len(several) <= ALIKE + 1 or one in several[: ALIKE - 1]:
            yield one
        elif one is several[ALIKE - 1]:
            *lines, last = dict.fromkeys(str(d.span.line) for d in several[ALIKE:])
            where = f"lines {', '.join(lines)} and {last}" if lines else f"line {last}"
            yield replace(one, notes=(*one.notes, f"{len(several) - ALIKE} more like it, in {where}"))


def wants_color(stream: TextIO) -> bool:
    """Whether what goes to `stream` is coloured: never with NO_COLOR set, into a pipe only with FORCE_COLOR, else at a terminal that can."""
    if os.environ.get("NO_COLOR"):
        return False
    return os.environ.get("FORCE_COLOR", "0") not in ("", "0") or at_terminal(stream)


def at_terminal(stream: TextIO) -> bool:
    """Whether `stream` is a terminal on which a line can be written over."""
    try:
        return os.environ.get("TERM") != "dumb" and stream.isatty()
    except ValueError:  # a closed stream
        return False
