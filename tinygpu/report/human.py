"""A diagnostic for a person: title, place, lines with underlines, the smallest counterexample, a fix, a page to read.

Comes in: one `Diagnostic` and the texts it points into. Goes out: the message of `docs/tour.md`, coloured or not.
The one idea: the reader sees their own lines and names; nothing of the inside of tinygpu is ever in it. Underlines are in columns of the terminal, not
in characters, so that tabs and wide letters do not shift them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence

from tinygpu.diagnostic import Case, Diagnostic, Label, Span
from tinygpu.record import dataclass

LIMITED = ("TG109", "TG155", "TG159")  # what the page of limits speaks of
VERDICT_COLUMN = 82
RED, YELLOW, GREEN, CYAN, BLUE = "31", "33", "32", "36", "34"
VERDICT_COLOR = {"refuted": RED, "error": RED, "unknown": YELLOW, "warning": YELLOW, "note": CYAN, "proved": GREEN}


def render(diagnostic: Diagnostic, sources: Mapping[str, str], color: bool = False) -> str:
    """`Diagnostic × (file ↦ text) → message`, several lines without a final newline.

    >>> from tinygpu.diagnostic import Label
    >>> text = "z[i] = a * q[i]\\n"
    >>> print(render(Diagnostic("TG101", "unknown name q", (Label(Span("f", 11, 12, 1, 12, 1, 13), "no tensor q"),)), {"f": text}))
    TG101 unknown name q                                                              [error]
     --> f:1:12
    1 | z[i] = a * q[i]
      |            ^ no tensor q
    <BLANKLINE>
      more: tinygpu explain TG101
    """
    paint = _painter(diagnostic.verdict, color)
    rows = [_headline(diagnostic, paint), *_places(diagnostic, sources, paint)]
    if diagnostic.case is not None:
        rows += ["", "  " + paint("strong", "smallest counterexample"), *_table(diagnostic.case)]
    tail = [("note", n) for n in diagnostic.notes] + [("help", h) for h in diagnostic.helps]
    tail.append(("more", ", ".join(f"tinygpu explain {page}" for page in pages_of(diagnostic))))
    rows.append("")
    for name, text in tail:
        head, *others = text.split("\n")
        rows.append(f"  {paint('strong', name)}: {head}")
        rows.extend(f"        {other}".rstrip() for other in others)
    return "\n".join(rows)


def pages_of(diagnostic: Diagnostic) -> list[str]:
    """The pages to read on: that of its code, and the one about all that is unknown, or refused.

    >>> pages_of(Diagnostic("TG502", "", verdict="unknown")), pages_of(Diagnostic("TG109", "")), pages_of(Diagnostic("TG101", ""))
    (['TG502', 'unknown'], ['TG109', 'limits'], ['TG101'])
    """
    beside = "unknown" if diagnostic.verdict == "unknown" else "limits" if diagnostic.code in LIMITED else ""
    return [diagnostic.code, *([beside] if beside else [])]


def location(span: Span) -> str:
    """`specs/matmul.tgpu:7:3`, or `line 7:3` for a text without a name.

    >>> location(Span("a.tgpu", 0, 1, 7, 3, 7, 4))
    'a.tgpu:7:3'
    """
    return f"{span.file}:{span.line}:{span.column}" if span.file else f"line {span.line}:{span.column}"


def _headline(diagnostic: Diagnostic, paint: Paint) -> str:
    gap = " " * max(2, VERDICT_COLUMN - width(diagnostic.headline))
    return paint("title", diagnostic.headline) + gap + paint("verdict", f"[{diagnostic.verdict}]")


def _places(diagnostic: Diagnostic, sources: Mapping[str, str], paint: Paint) -> list[str]:
    """For each file: where, and the lines. The first label's file comes first."""
    rows: list[str] = []
    primary = diagnostic.labels[0] if diagnostic.labels else None
    for file, labels in by_file(diagnostic.places).items():
        rows.append(paint("gutter", " -->" if not rows else " :::") + f" {location(labels[0].span)}")
        if file in sources:
            rows.extend(snippet(sources[file], labels, primary, paint))
        else:
            rows.extend(f"  {label.text}" for label in labels if label.text)
    return rows


def _table(case: Case) -> list[str]:
    """The rows of a counterexample: names, then one value, or two side by side."""
    name_width = max((width(name) for name, _ in case.rows), default=0)
    value_width = max((width(values[0]) for _, values in case.rows if len(values) > 1), default=0)
    rows = []
    for name, values in case.rows:
        head = f"    {name}{' ' * (name_width - width(name))}   "
        if len(values) > 1:
            pad = " " * (value_width - width(values[0]))
            rows.append(head + values[0] + pad + "".join(f"     and {value}" for value in values[1:]))
        else:
            rows.append((head + "".join(values)).rstrip())
    return rows


def _painter(verdict: str, color: bool) -> Paint:
    """How a part of a message is coloured: not at all, or with ANSI escapes."""
    hue = VERDICT_COLOR.get(verdict, RED)
    styles = {"title": "1", "verdict": f"1;{hue}", "primary": f"1;{hue}", "secondary": f"1;{BLUE}", "gutter": BLUE, "strong": "1"}

    def paint(part: str, text: str) -> str:
        return f"\x1b[{styles[part]}m{text}\x1b[0m" if color and text else text

    return paint


# ── lines with their underlines ──────────────────────────────────────────────────────────────────────────────────────


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
