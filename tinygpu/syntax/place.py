"""Where the parser stopped, what could stand there in the user's words, and how a diagnostic points there.

Comes in: the word that could not stand, and the text. Goes out: a `Place`, and diagnostics at a word or behind the one before.
The one idea: an error is found at a word, but made just behind the word before; that is where the message points.
"""

from __future__ import annotations

from tinygpu.diagnostic import Diagnostic, Label, Span
from tinygpu.record import dataclass
from tinygpu.syntax.grammar import END, shipped_parser
from tinygpu.syntax.lexer import NEWLINE, Source, Token, scan, significant
from tinygpu.syntax.reader import Parser, Unexpected, trace

CLOSERS = {"(": ")", "[": "]", "{": "}"}
CLAUSES = frozenset(("work", "compute", "time", "register", "vector", "param", "where", "stage", "layout", "launch", "equations",
                     "reduce", "keep", "program"))  # fmt: skip
STEPS = frozenset(("local", "shared", "workspace", "atomic", "for", "if", "barrier", "warp", "commit", "wait", "launch"))
KINDS = {
    "NAME": "a name",
    "NUMBER": "a number",
    "STRING": "a file name in quotes",
    NEWLINE: "a new line",
    END: "the end of the file",
}
OPERAND = {"NAME", "NUMBER", "(", "-", "not", "fold", "scan", "where", "FOLD"}
OPERATORS = {"+", "-", "*", "/", "//", "%", "^", "<", "<=", ">", ">=", "==", "!=", "and", "or", "if", ".", "[", "("}


@dataclass(frozen=True, slots=True)
class Stop:
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


def place_of(unexpected: Unexpected, source: Source, begin: int) -> Stop:
    """The place of a word in a text that the parser reads from `begin` on."""
    words = tuple(significant(scan(source.text, begin), []))
    at = words.index(unexpected.token)
    brackets: list[Token] = []
    for word in words[:at]:
        if word.kind in CLOSERS:
            brackets.append(word)
        elif word.kind in CLOSERS.values():
            brackets.pop()
    before = trace(words[:at])
    return Stop(words, at, unexpected.state, before, tuple(brackets), shipped_parser().symbols(before.accepts()))


def name_of(token: Token) -> str:
    """A word as it is spoken of."""
    if token.kind == NEWLINE:
        return "the new line"
    if token.kind == END:
        return "the end of the file"
    return f"`{token.text}`" if token.text.isprintable() else f"the character U+{ord(token.text[0]):04X}"


def describe(names: frozenset[str], limit: int = 6) -> str:
    """Symbols in words: `a name or `)``.

    >>> describe(frozenset(("NAME", ")")))
    'a name or `)`'
    """
    words, rest = [], set(names)
    if {"NAME", "NUMBER"} <= rest:
        words.append("an expression")
        rest -= OPERAND
    if {"*", "+"} <= rest:
        words.append("an operator")
        rest -= OPERATORS
    for group, title in ((CLAUSES, "a clause (`work`, `compute`, `time`, …)"), (STEPS, "a step (`local`, `for`, `if`, …)")):
        if len(rest & group) > 4:
            words.append(title)
            rest -= {*group, "for", "NAME", "(", "TIME"}
    words += [KINDS[name] for name in sorted(rest & set(KINDS))]
    if "FOLD" in rest:
        words.append("a fold (`sum`, `max`, …)")
    words += [f"`{name}`" for name in sorted(rest - set(KINDS) - {"FOLD"}, key=lambda w: (w.isalpha(), w))]
    words = words[:limit]
    return " or ".join(part for part in (", ".join(words[:-1]), *words[-1:]) if part)


def at_word(source: Source, code: str, title: str, token: Token, text: str = "", help: str = "") -> Diagnostic:
    """A diagnostic that points at a word."""
    return Diagnostic(code, title, (Label(source.span(token.start, token.end), text),), helps=(help,) if help else ())


def after_previous(
    source: Source, code: str, title: str, place: Stop, text: str = "", help: str = "", *labels: Label
) -> Diagnostic:
    """A diagnostic that points just behind the previous word."""
    end = place.previous.end if place.previous else 0
    here = source.span(end, end)
    span = Span(here.file, end, min(end + 1, len(source.text)), here.line, here.column, here.line, here.column + 1)
    token = place.token
    if token.kind not in (NEWLINE, END, "}") and token.start > end + 1:
        labels = (*labels, Label(source.span(token.start, token.end), f"{name_of(token)} cannot stand here"))
    return Diagnostic(code, title, (Label(span, text), *labels), helps=(help,) if help else ())
