"""A diagnostic for a person: title, place, lines with underlines, the smallest counterexample, a fix, a page to read.

Comes in: one `Diagnostic` and the texts it points into. Goes out: the message of `docs/tour.md`, coloured or not.
The one idea: the reader sees their own lines and names; nothing of the inside of tinygpu is ever in it.
"""

from __future__ import annotations

from collections.abc import Mapping

from tinygpu.diagnostic import Case, Diagnostic, Span
from tinygpu.report.snippet import Paint, by_file, snippet, width

VERDICT_COLUMN = 82
RED, YELLOW, GREEN, CYAN, BLUE = "31", "33", "32", "36", "34"
VERDICT_COLOR = {"refuted": RED, "error": RED, "unknown": YELLOW, "note": CYAN, "proved": GREEN}


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
    tail.append(("more", f"tinygpu explain {diagnostic.code}"))
    rows.append("")
    for name, text in tail:
        head, *others = text.split("\n")
        rows.append(f"  {paint('strong', name)}: {head}")
        rows.extend(f"        {other}".rstrip() for other in others)
    return "\n".join(rows)


def location(span: Span) -> str:
    """`specs/matmul.tgpu:7:3`, or `line 7:3` for a text without a name.

    >>> location(Span("a.tgpu", 0, 1, 7, 3, 7, 4))
    'a.tgpu:7:3'
    """
    return f"{span.file}:{span.line}:{span.column}" if span.file else f"line {span.line}:{span.column}"


def _headline(diagnostic: Diagnostic, paint: Paint) -> str:
    plain = f"{diagnostic.code} {diagnostic.title}"
    gap = " " * max(2, VERDICT_COLUMN - width(plain))
    return paint("title", plain) + gap + paint("verdict", f"[{diagnostic.verdict}]")


def _places(diagnostic: Diagnostic, sources: Mapping[str, str], paint: Paint) -> list[str]:
    """For each file: where, and the lines. The first label's file comes first."""
    rows: list[str] = []
    primary = diagnostic.labels[0] if diagnostic.labels else None
    for file, labels in by_file(diagnostic.labels).items():
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
