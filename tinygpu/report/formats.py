"""A diagnostic for machines: one line, JSON, SARIF 2.1.0, the annotations of GitHub.

Comes in: `Diagnostic` values. Goes out: text that editors, scripts and continuous integration read.
The one idea: these are plain serialisations; columns count characters from 1, ends are exclusive.
"""

from __future__ import annotations

import json
from typing import Any

from tinygpu.diagnostic import Diagnostic, Label, Span
from tinygpu.record import parts

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
SARIF_LEVEL = {"error": "error", "refuted": "error", "unknown": "warning", "warning": "warning", "note": "note"}
GITHUB_LEVEL = {"error": "error", "refuted": "error", "unknown": "warning", "warning": "warning", "note": "notice"}


def concise(diagnostic: Diagnostic) -> str:
    """One line: `specs/a.tgpu:7:3: TG203 [refuted] title`.

    >>> from tinygpu.diagnostic import Span
    >>> concise(Diagnostic("TG203", "written twice", (Label(Span("a.tgpu", 0, 1, 7, 3, 7, 4)),), "refuted"))
    'a.tgpu:7:3: TG203 [refuted] written twice'
    """
    span = diagnostic.span
    place = f"{span.file or '<text>'}:{span.line}:{span.column}: " if span.line else ""
    return f"{place}{diagnostic.code} [{diagnostic.verdict}] {_one_line(diagnostic.title)}"


def github(diagnostic: Diagnostic) -> str:
    """A workflow command that GitHub shows beside the line: `::error file=…,line=…::title`."""
    span = diagnostic.span
    fields = {"title": f"{diagnostic.code} {diagnostic.verdict}"}
    if span.line:
        fields = {"file": span.file, "line": str(span.line), "col": str(span.column)} | fields
        fields |= {"endLine": str(span.end_line)} if span.end_line else {}
        fields |= {"endColumn": str(span.end_column)} if span.end_line == span.line else {}
    properties = ",".join(f"{key}={_escape_property(value)}" for key, value in fields.items() if value)
    level = GITHUB_LEVEL.get(diagnostic.verdict, "error")
    return f"::{level} {properties}::{_escape(_message(diagnostic))}"


def to_json(diagnostics: tuple[Diagnostic, ...]) -> str:
    """A JSON document: `{"version": 1, "diagnostics": […]}`."""
    return json.dumps({"version": 1, "diagnostics": [as_dict(d) for d in diagnostics]}, indent=2, ensure_ascii=False)


def as_dict(diagnostic: Diagnostic) -> dict[str, Any]:
    """One diagnostic as plain data."""
    case = diagnostic.case
    return {
        "code": diagnostic.code,
        "title": diagnostic.title,
        "verdict": diagnostic.verdict,
        "labels": [{**placed(label.span), "text": label.text} for label in diagnostic.places],
        "counterexample": None if case is None else [{"name": name, "values": list(values)} for name, values in case.rows],
        "notes": list(diagnostic.notes),
        "helps": list(diagnostic.helps),
        "fixes": [{"title": fix.title, **placed(fix.span), "text": fix.text, "word": fix.word} for fix in diagnostic.fixes],
    }


def placed(span: Span) -> dict[str, Any]:
    """A place as plain data."""
    return {name: part for name, part in parts(span).items() if name != "origin"}


def to_sarif(diagnostics: tuple[Diagnostic, ...]) -> str:
    """A SARIF 2.1.0 log with one run."""
    rules = [{"id": code, "helpUri": f"tinygpu:explain/{code}"} for code in sorted({d.code for d in diagnostics})]
    run = {
        "tool": {"driver": {"name": "tinygpu", "rules": rules}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(d) for d in diagnostics],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False)


def _result(diagnostic: Diagnostic) -> dict[str, Any]:
    found = [label for label in diagnostic.places if label.span.line]
    result: dict[str, Any] = {
        "ruleId": diagnostic.code,
        "level": SARIF_LEVEL.get(diagnostic.verdict, "error"),
        "message": {"text": _message(diagnostic)},
        "locations": [_location(label) for label in found[:1]],
        "properties": {"verdict": diagnostic.verdict},
    }
    if len(found) > 1:
        result["relatedLocations"] = [{"id": n, **_location(label)} for n, label in enumerate(found[1:])]
    return result


def _location(label: Label) -> dict[str, Any]:
    span = label.span
    region = {
        "startLine": span.line,
        "startColumn": span.column,
        "charOffset": span.start,
        "charLength": max(0, span.end - span.start),
    }
    if span.end_line:
        region |= {"endLine": span.end_line, "endColumn": span.end_column}
    physical = {"artifactLocation": {"uri": span.file.replace("\\", "/")}, "region": region}
    return {"physicalLocation": physical, **({"message": {"text": label.text}} if label.text else {})}


def _message(diagnostic: Diagnostic) -> str:
    """The title, what the first label says, the smallest case and the helps, on lines of their own."""
    lines = [diagnostic.title, *(label.text for label in diagnostic.places if label.text)]
    if diagnostic.case is not None:
        lines += [f"{name}: {' and '.join(values)}" for name, values in diagnostic.case.rows]
    lines += [f"note: {note}" for note in diagnostic.notes] + [f"help: {help}" for help in diagnostic.helps]
    return "\n".join(lines)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape(text).replace(":", "%3A").replace(",", "%2C")
