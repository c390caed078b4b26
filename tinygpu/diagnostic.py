"""What tinygpu says to people: a place in a text, and a message about it.

Comes in: a code that has a page, a title in words, labelled spans, one smallest case, helps.
Goes out: one frozen `Diagnostic`, which `tinygpu.report` renders for terminals, JSON, SARIF and GitHub.
The one idea: every stage raises or returns this value and nothing else, so no traceback reaches a user.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from tinygpu.record import dataclass, field


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Characters `start` to `end` (exclusive) of `file`, with 1-based line and column of both ends. Where a name for a term stands, `origin` is
    the place of what was written for it."""

    file: str = ""
    start: int = 0
    end: int = 0
    line: int = 0
    column: int = 0
    end_line: int = 0
    end_column: int = 0
    origin: Span | None = field(default=None, compare=False, repr=False)

    def to(self, other: Span) -> Span:
        """The span from the start of this one to the end of the other.

        >>> Span("f", 0, 1, 1, 1, 1, 2).to(Span("f", 4, 5, 1, 5, 1, 6)).end
        5
        """
        return Span(self.file, self.start, other.end, self.line, self.column, other.end_line, other.end_column)


NOWHERE = Span()


@dataclass(frozen=True, slots=True)
class Label:
    """A span and what is to be said of it."""

    span: Span
    text: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """The smallest counterexample, as rows `name: one value or two side by side`, all in the user's names."""

    rows: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class Fix:
    """A help that may be done at once: `text` for the characters of `span`, or for the `word` that first stands there."""

    title: str
    span: Span
    text: str
    word: str = ""

    def place(self, whole: str) -> tuple[int, int] | None:
        """The characters of the whole text that it is for; None where the word is not there.

        >>> Fix("", Span("f", 0, 9), "y", "x").place("max(x, 0)")
        (4, 5)
        """
        start, end = self.span.start, self.span.end
        if not self.word:
            return start, end
        found = re.search(rf"\b{re.escape(self.word)}\b", whole[start:end])
        return (start + found.start(), start + found.end()) if found else None


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One message. `verdict` is `error` (bad input), `refuted`, `unknown`, `warning`, `note`; the first label is the place that is wrong. Helps that say
    exactly what to write are `fixes` too."""

    code: str
    title: str
    labels: tuple[Label, ...] = ()
    verdict: str = "error"
    case: Case | None = None
    notes: tuple[str, ...] = ()
    helps: tuple[str, ...] = field(default=())
    fixes: tuple[Fix, ...] = ()

    @property
    def span(self) -> Span:
        return self.labels[0].span if self.labels else NOWHERE

    @property
    def places(self) -> tuple[Label, ...]:
        """The labels; behind the first one where a term of a name comes from, unless a label is there."""
        origin, found = self.span.origin, list(self.labels)
        while origin is not None:
            if all(label.span != origin for label in found):
                found.append(Label(origin, "it is defined here"))
            origin = origin.origin
        return tuple(found)

    @property
    def headline(self) -> str:
        """The code and the title; of a title with a long term in it both ends.

        >>> Diagnostic("TG101", "unknown name q").headline, len(Diagnostic("TG510", "x" * 5000).headline)
        ('TG101 unknown name q', 299)
        """
        title = self.title if len(self.title) <= 300 else f"{self.title[:200]} … {self.title[-90:]}"
        return f"{self.code} {title}"


class TinygpuError(Exception):
    """Bad input, carried to the edge of the program as diagnostics; `rest` is what could be made of what is right beside it, if anything;
    `texts` are those that the diagnostics point into, where they lie in no file.

    >>> TinygpuError.of("TG101", "unknown name q").diagnostics[0].code
    'TG101'
    """

    def __init__(self, *diagnostics: Diagnostic, texts: Mapping[str, str] | None = None):
        super().__init__("\n".join(f"{d.code} {d.title}" for d in diagnostics))
        self.diagnostics = diagnostics
        self.rest: object = None
        self.texts = texts

    @classmethod
    def of(cls, code: str, title: str, span: Span = NOWHERE, text: str = "", help: str = "", *labels: Label) -> TinygpuError:
        first = (Label(span, text),) if span is not NOWHERE else ()
        return cls(Diagnostic(code, title, first + labels, helps=(help,) if help else ()))
