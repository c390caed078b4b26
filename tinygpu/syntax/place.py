"""Where the parser stopped, and how a diagnostic points there.

Comes in: the word that could not stand, and the text. Goes out: a `Place`, and diagnostics at a word or behind the one before.
The one idea: an error is found at a word, but made just behind the word before; that is where the message points.
"""

from __future__ import annotations

from tinygpu.diagnostic import Diagnostic, Label, Span
from tinygpu.record import dataclass
from tinygpu.syntax.expected import accepted, trace
from tinygpu.syntax.grammar import END
from tinygpu.syntax.lexer import NEWLINE, Source, Token, scan, significant
from tinygpu.syntax.reader import Parser, Unexpected

CLOSERS = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True, slots=True)
class Place:
    """Where the parser stopped: at a word of all words, in a state; the parser before the word, the open brackets, what could stand."""

    words: tuple[Token, ...]
    at: int
    state: int
    before: Parser
    open: tuple[Token, ...]
    accepted: frozenset[str]

    @property
    def token(self) -> Token:
        return self.words[self.at]

    @property
    def previous(self) -> Token | None:
        return self.words[self.at - 1] if self.at else None

    def line(self, source: Source) -> str:
        """The first word of the line of the previous word."""
        number = source.line(self.previous.start) if self.previous else 0
        return next((w.text for w in self.words[: self.at] if w.kind != NEWLINE and source.line(w.start) == number), "")


def place_of(unexpected: Unexpected, source: Source, begin: int) -> Place:
    words = tuple(significant(scan(source.text, begin), []))
    at = words.index(unexpected.token)
    brackets: list[Token] = []
    for word in words[:at]:
        if word.kind in CLOSERS:
            brackets.append(word)
        elif word.kind in CLOSERS.values():
            brackets.pop()
    before = trace(words[:at])
    return Place(words, at, unexpected.state, before, tuple(brackets), accepted(before))


def name_of(token: Token) -> str:
    """A word as it is spoken of."""
    if token.kind == NEWLINE:
        return "the new line"
    if token.kind == END:
        return "the end of the file"
    return f"`{token.text}`" if token.text.isprintable() else f"the character U+{ord(token.text[0]):04X}"


def at_word(source: Source, code: str, title: str, token: Token, text: str = "", help: str = "") -> Diagnostic:
    """A diagnostic that points at a word."""
    return Diagnostic(code, title, (Label(source.span(token.start, token.end), text),), helps=(help,) if help else ())


def after_previous(
    source: Source, code: str, title: str, place: Place, text: str = "", help: str = "", *labels: Label
) -> Diagnostic:
    """A diagnostic that points just behind the previous word."""
    end = place.previous.end if place.previous else 0
    here = source.span(end, end)
    span = Span(here.file, end, min(end + 1, len(source.text)), here.line, here.column, here.line, here.column + 1)
    token = place.token
    found = source.span(token.start, token.end)
    if token.kind not in (NEWLINE, END, "}") and token.start > end + 1:
        labels = (*labels, Label(found, f"{name_of(token)} cannot stand here"))
    return Diagnostic(code, title, (Label(span, text), *labels), helps=(help,) if help else ())
