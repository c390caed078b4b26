"""Lines of source with their underlines: the middle part of a message.

Comes in: a text and the labels that point into it. Goes out: rows `7 | code` and `  | ^^^^ text`.
The one idea: work in columns of the terminal, not in characters, so that tabs and wide letters do not shift an underline.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence

from tinygpu.diagnostic import Label
from tinygpu.record import dataclass

TAB = 4
WIDTH = 140  # a longer line is cut to a window around its first underline
LEAD = 30  # columns kept before that underline

Paint = Callable[[str, str], str]


@dataclass(frozen=True, slots=True)
class Mark:
    """An underline on one line: columns `start` to `end` (exclusive) of the shown line, with what is said of it."""

    start: int
    end: int
    text: str
    primary: bool


def cells(character: str, column: int) -> str:
    """What stands for one character of a source at a terminal: a tab is spaces, a control character is a picture of it.

    >>> cells("\\t", 1), cells("\\x1b", 0), cells("i", 0)
    ('   ', '␛', 'i')
    """
    if character == "\t":
        return " " * (TAB - column % TAB)
    if ord(character) < 32:
        return chr(0x2400 + ord(character))
    return "�" if ord(character) in range(127, 160) or unicodedata.category(character) == "Cf" else character


def width(shown: str) -> int:
    """Columns that a text takes at a terminal.

    >>> width("abc"), width("矩阵"), width("e\\u0301")
    (3, 4, 1)
    """
    if shown.isascii():
        return len(shown)
    return sum(0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF") for c in shown)


def shown_line(line: str) -> tuple[str, Sequence[int]]:
    """The line as shown, and for each character (and for the end) the column it starts at.

    >>> shown_line("a\\tb")
    ('a   b', [0, 1, 4, 5])
    """
    if line.isascii() and line.isprintable():
        return line, range(len(line) + 1)
    parts: list[str] = []
    columns = [0]
    for character in line:
        cell = cells(character, columns[-1])
        parts.append(cell)
        columns.append(columns[-1] + width(cell))
    return "".join(parts), columns


def snippet(text: str, labels: tuple[Label, ...], primary: Label | None, paint: Paint) -> list[str]:
    """The rows for the labels that point into `text`, in the order of its lines; `primary` is underlined with carets."""
    lines = text.split("\n")
    marks: dict[int, list[Mark]] = {}
    for label in labels:
        for number, mark in _marks_of(label, lines, label is primary):
            marks.setdefault(number, []).append(mark)
    gutter = len(str(max(marks, default=0)))
    blank = paint("gutter", " " * gutter + " |")
    rows: list[str] = []
    for number in sorted(marks):
        shown, _ = shown_line(lines[number - 1].rstrip("\r"))
        shown, placed = _window(shown, marks[number])
        rows.append(f"{paint('gutter', f'{number:>{gutter}} |')} {shown}".rstrip())
        rows.extend(f"{blank} {row}" for row in underline(placed, paint))
    return rows


def _marks_of(label: Label, lines: list[str], primary: bool) -> list[tuple[int, Mark]]:
    """A label as underlines: one, or for a span over several lines one on its first line and one, with the text, on its last."""
    span = label.span
    if not 1 <= span.line <= len(lines):
        return []
    first, columns = shown_line(lines[span.line - 1].rstrip("\r"))
    start = columns[min(span.column - 1, len(columns) - 1)]
    last_line = min(max(span.end_line, span.line), len(lines))
    if last_line == span.line:
        end = columns[min(max(span.end_column - 1, 0), len(columns) - 1)]
        return [(span.line, Mark(start, max(end, start + 1), label.text, primary))]
    last, last_columns = shown_line(lines[last_line - 1].rstrip("\r"))
    end = last_columns[min(max(span.end_column - 1, 0), len(last_columns) - 1)]
    indent = min(width(last) - width(last.lstrip()), max(end - 1, 0))
    return [
        (span.line, Mark(start, max(width(first.rstrip()), start + 1), "", primary)),
        (last_line, Mark(indent, max(end, indent + 1), label.text, primary)),
    ]


def _window(shown: str, marks: list[Mark]) -> tuple[str, list[Mark]]:
    """A line that is too long for a terminal, cut to the part around its first underline."""
    if width(shown) <= WIDTH:
        return shown, marks
    begin = max(0, min(m.start for m in marks) - LEAD)
    if shown.isascii():
        kept, column = [*shown[begin : begin + WIDTH]], len(shown)
    else:
        kept, column = [], 0
        for character in shown:
            if begin <= column < begin + WIDTH:
                kept.append(character)
            column += width(character)
    left, right = "…" * (begin > 0), "…" * (column > begin + WIDTH)
    shift = begin - len(left)
    limit = WIDTH + len(left)
    moved = [
        Mark(min(m.start - shift, limit), max(min(m.end - shift, limit), min(m.start - shift, limit) + 1), m.text, m.primary)
        for m in marks
    ]
    return left + "".join(kept) + right, moved


def underline(marks: list[Mark], paint: Paint) -> list[str]:
    """The rows under one line: all underlines, the last one's text after it, the others' texts hung below, rightmost first."""
    canvas = [" "] * max(m.end for m in marks)
    owner: list[bool] = [False] * len(canvas)
    for mark in sorted(marks, key=lambda m: m.primary):
        for column in range(mark.start, mark.end):
            canvas[column] = "^" if mark.primary else "-"
            owner[column] = mark.primary
    hung = sorted((m for m in marks if m.text), key=lambda m: (m.start, not m.primary, m.text))
    row = _painted(canvas, owner, paint)
    if hung and hung[-1].end == len(canvas):
        last = hung.pop()
        row += " " + paint("primary" if last.primary else "secondary", last.text)
    rows = [row]
    while hung:
        mark = hung.pop()
        stems = {m.start: m for m in hung if m.start < mark.start}
        line = "".join(_stem(stems.get(column), paint) for column in range(mark.start))
        rows.append(line + paint("primary" if mark.primary else "secondary", mark.text))
    return rows


def _stem(mark: Mark | None, paint: Paint) -> str:
    return " " if mark is None else paint("primary" if mark.primary else "secondary", "|")


def _painted(canvas: list[str], owner: list[bool], paint: Paint) -> str:
    """The underlines as text, each run of one colour painted once."""
    runs: list[str] = []
    start = 0
    for column in range(1, len(canvas) + 1):
        if column == len(canvas) or (canvas[column], owner[column]) != (canvas[start], owner[start]):
            run = "".join(canvas[start:column])
            runs.append(run if run.isspace() else paint("primary" if owner[start] else "secondary", run))
            start = column
    return "".join(runs)


def by_file(labels: tuple[Label, ...]) -> Mapping[str, tuple[Label, ...]]:
    """The labels of each file, the files in order of first mention."""
    files: dict[str, list[Label]] = {}
    for label in labels:
        if label.span.line:
            files.setdefault(label.span.file, []).append(label)
    return {name: tuple(found) for name, found in files.items()}
