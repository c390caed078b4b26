"""Diagnostics as people and machines see them.

Comes in: diagnostics made by hand. Goes out: golden texts, and properties of every format.
The one idea: the look of a message is compared as a whole; the rules behind it (columns, escapes, schemas) one by one.
"""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinygpu.diagnostic import NOWHERE, Case, Diagnostic, Label, Span
from tinygpu.report import FORMATS, concise, github, render, report, wants_color
from tinygpu.report.human import width

FILE = "specs/matmul.tgpu"
TEXT = """op matmul(A: f32[M, K]) {
machine m : matmul {
  work     grid = (by, bx), block = (ty: 16, tx: 16)



  compute  i = by*64 + ty % 8*8 + ri
}
"""


def at(line: int, part: str, text: str = "", source: str = TEXT, file: str = FILE) -> Label:
    """The label on `part` in a line of a source."""
    lines = source.split("\n")
    column = lines[line - 1].index(part)
    start = sum(len(x) + 1 for x in lines[: line - 1]) + column
    return Label(Span(file, start, start + len(part), line, column + 1, line, column + 1 + len(part)), text)


def written_twice(*more: Label) -> Diagnostic:
    labels = (at(7, "i = by*64 + ty % 8*8 + ri", "… but only ty % 8 reaches i"), at(3, "ty: 16", "ty takes 16 values …"), *more)
    rows = (("M, N, K", ("1, 1, 1",)), ("thread", ("(ty 0, tx 0)", "(ty 8, tx 0)")), ("element", ("C[0, 0]", "C[0, 0]")))
    helps = ("give block 8 rows (ty: 8), or let i = by*128 + ty*8 + ri",)
    return Diagnostic("TG203", "two threads write the same element of C", labels, "refuted", Case(rows), (), helps)


@pytest.mark.parametrize("style", FORMATS)
def test_every_format_of_a_refutation(style, golden):
    golden(f"report/refuted.{style}.txt", report([written_twice()], {FILE: TEXT}, style) + "\n")


def test_labels_on_one_line_are_stacked(golden):
    found = written_twice(at(3, "tx: 16", "and tx 16 more"), at(3, "by", "a row of blocks"))
    golden("report/stacked.txt", render(found, {FILE: TEXT}) + "\n")


def test_a_span_over_lines_is_underlined_at_both_ends(golden):
    start, end = at(2, "machine m"), at(8, "}")
    found = Diagnostic("TG301", "a machine without a launch", (Label(start.span.to(end.span), "all of it"),))
    golden("report/lines.txt", render(found, {FILE: TEXT}) + "\n")


def test_two_files_and_one_that_is_gone(golden):
    labels = (at(2, "machine", "here"), at(1, "op", "there", file="lib.tgpu"), at(1, "op", "and there", file="gone.tgpu"))
    golden("report/files.txt", render(Diagnostic("TG110", "defined twice", labels), {FILE: TEXT, "lib.tgpu": TEXT}) + "\n")


@pytest.mark.parametrize("line", ["\tx = q", "矩阵 = q", "e\u0301 = q", "\x1b[31m = q", "  \t a\tb = q", "🙂🙂 q"])
def test_underlines_stand_under_what_they_mean(line):
    rows = render(Diagnostic("TG101", "unknown", (at(1, "q", "this", line, "f"),)), {"f": line}).split("\n")
    code, marks = rows[2], rows[3]
    assert width(code[: code.index("q")]) == width(marks[: marks.index("^")])
    assert "\x1b" not in code and "\t" not in code


def test_a_long_line_is_cut_around_its_underline():
    line = "x" * 500 + " q " + "y" * 500
    rows = render(Diagnostic("TG101", "unknown", (at(1, "q", "this", line, "f"),)), {"f": line}).split("\n")
    assert len(rows[2]) < 160 and rows[2][rows[3].index("^")] == "q"


def test_a_place_past_the_end_points_after_the_last_token():
    span = Span("f", 3, 3, 1, 4, 1, 4)
    rows = render(Diagnostic("TG001", "expected }", (Label(span, "here"),)), {"f": "abc"}).split("\n")
    assert rows[3] == "  |    ^ here"


def test_colour_changes_nothing_but_colour():
    import re

    plain, painted = (render(written_twice(), {FILE: TEXT}, color) for color in (False, True))
    assert "\x1b[" in painted and re.sub(r"\x1b\[[0-9;]*m", "", painted) == plain


def test_no_colour_into_a_pipe_or_against_the_reader(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    assert wants_color(Terminal()) and not wants_color(io.StringIO())
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert wants_color(io.StringIO())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not wants_color(Terminal()) and not wants_color(io.StringIO())
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("FORCE_COLOR", "0")
    monkeypatch.setenv("TERM", "dumb")
    assert not wants_color(Terminal())


def test_github_escapes_what_would_end_its_command():
    found = Diagnostic("TG1", "100% of\na line", (Label(Span("a,b:c", 0, 1, 2, 3, 2, 4)),), "unknown")
    assert github(found) == "::warning file=a%2Cb%3Ac,line=2,col=3,title=TG1 unknown,endLine=2,endColumn=4::100%25 of%0Aa line"


def test_json_and_sarif_of_nothing_are_whole_documents():
    assert json.loads(report([], {}, "json"))["diagnostics"] == []
    assert json.loads(report([], {}, "sarif"))["runs"][0]["results"] == []
    assert report([], {}) == report([], {}, "concise") == ""


def test_sarif_names_every_place():
    log = json.loads(report([written_twice()], {}, "sarif"))
    (result,) = log["runs"][0]["results"]
    region = result["locations"][0]["physicalLocation"]["region"]
    assert (result["ruleId"], result["level"], region["startLine"], region["startColumn"]) == ("TG203", "error", 7, 12)
    assert TEXT[region["charOffset"] :][: region["charLength"]] == "i = by*64 + ty % 8*8 + ri"
    assert len(result["relatedLocations"]) == 1


def test_a_diagnostic_without_a_place():
    assert concise(Diagnostic("TG902", "there is no file\nx")) == "TG902 [error] there is no file x"
    assert "-->" not in render(Diagnostic("TG902", "there is no file x", (Label(NOWHERE, "x"),)), {})


@given(st.text(max_size=60), st.integers(-2, 70), st.integers(-2, 70), st.integers(0, 6), st.integers(0, 6), st.booleans())
def test_no_span_however_wrong_breaks_the_rendering(text, column, end, line, end_line, color):
    label = Label(Span("f", column, end, line, column, end_line, end), text)
    for style in FORMATS:
        report([Diagnostic("TG1", text, (label, label), "note", Case(((text, (text, text)),)))], {"f": text}, style, color)
