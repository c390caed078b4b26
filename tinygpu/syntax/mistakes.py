"""Where the parser stopped, what could stand there in the user's words, and the known mistakes: `grammar/mistakes.toml`.

Comes in: the word that could not stand, and the text. Goes out: a `Stop`, diagnostics at a word or behind the one before, and that of the
first known mistake that a place meets. The one idea: an error is found at a word, but made just behind the word before, where the message
points; and a mistake is learned from its examples, by the state of the parser in which they fail.
"""

from __future__ import annotations

import tomllib
from difflib import get_close_matches
from functools import cache
from typing import Any

from tinygpu.diagnostic import Diagnostic, Fix, Label, Span
from tinygpu.record import dataclass, replace
from tinygpu.syntax.grammar import END, read_grammar_file, shipped_parser
from tinygpu.syntax.lexer import NEWLINE, STRAY, WORD, Source, Token, scan, significant
from tinygpu.syntax.reader import Parser, Unexpected, at_start, run, trace

CLOSERS = {"(": ")", "[": "]", "{": "}"}
CLAUSES = frozenset(("work", "compute", "time", "register", "vector", "param", "where", "stage", "layout", "launch", "equations",
                     "reduce", "keep", "prefetch", "stream", "use", "program", "let"))  # fmt: skip
STEPS = frozenset(
    (
        "local",
        "shared",
        "workspace",
        "tensor",
        "atomic",
        "for",
        "if",
        "barrier",
        "warp",
        "commit",
        "wait",
        "prefetch",
        "stream",
        "launch",
        "let",
    )
)
KINDS = {
    "NAME": "a name",
    "NUMBER": "a number",
    "STRING": "a file name in quotes",
    NEWLINE: "a new line",
    END: "the end of the file",
}
OPERAND = {"NAME", "NUMBER", "(", "-", "~", "not", "fold", "scan", "where", "FOLD"}
OPERATORS = {
    "+",
    "-",
    "*",
    "/",
    "//",
    "%",
    "<<",
    ">>",
    "&",
    "^",
    "<",
    "<=",
    ">",
    ">=",
    "==",
    "!=",
    "and",
    "or",
    "if",
    ".",
    "[",
    "(",
}


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

    def declaration(self, source: Source) -> str:
        """The first word of the declaration, which begins a line."""
        return next(
            (w.text for w in reversed(self.words[: self.at]) if source.span(w.start, w.end).column == 1 and w.kind == WORD), ""
        )


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


def at_word(
    source: Source, code: str, title: str, token: Token, text: str = "", help: str = "", write: str | None = None
) -> Diagnostic:
    """A diagnostic that points at a word, and what to `write` in its place."""
    span = source.span(token.start, token.end)
    fixes = () if write is None else (Fix(help or title, span, write),)
    return Diagnostic(code, title, (Label(span, text),), helps=(help,) * bool(help), fixes=fixes)


def after_previous(
    source: Source, code: str, title: str, place: Stop, text: str = "", help: str = "", *labels: Label, write: str = ""
) -> Diagnostic:
    """A diagnostic that points just behind the previous word, and what to `write` there."""
    end = place.previous.end if place.previous else 0
    here = source.span(end, end)
    span = Span(here.file, end, min(end + 1, len(source.text)), here.line, here.column, here.line, here.column + 1)
    token = place.token
    if token.kind not in (NEWLINE, END, "}") and token.start > end + 1:
        labels = (*labels, Label(source.span(token.start, token.end), f"{name_of(token)} cannot stand here"))
    fixes = (Fix(help or f"insert `{write}`", here, write),) * bool(write)
    return Diagnostic(code, title, (Label(span, text), *labels), helps=(help,) * bool(help), fixes=fixes)


# ── known mistakes ─────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Mistake:
    """An entry of `mistakes.toml`; `states` is None where the state does not matter."""

    code: str
    title: str
    help: str
    found: tuple[str, ...]
    examples: tuple[str, ...]
    fixed: str
    before: tuple[str, ...] = ()
    line: tuple[str, ...] = ()
    fits: str = ""
    inside: str = ""
    of: tuple[str, ...] = ()
    point: str = "after"
    words: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    states: frozenset[int] | None = None


@cache
def mistakes() -> tuple[Mistake, ...]:
    """Every entry of `grammar/mistakes.toml`, with the states that its examples lead to."""
    return tuple(map(_mistake, tomllib.loads(read_grammar_file("mistakes.toml"))["mistake"]))


def _mistake(entry: dict[str, Any]) -> Mistake:
    free = any(key in entry for key in ("anywhere", "before", "line", "fits", "inside", "of")) and not entry.get("state")
    states = None if free else frozenset(_state(example) for example in entry["examples"])
    parts: dict[str, Any] = {
        key: one if isinstance(one, str) else tuple(one) for key, one in entry.items() if key not in ("anywhere", "state")
    }
    return Mistake(**parts, states=states)


def _state(text: str) -> int:
    """The state in which a malformed text fails."""
    try:
        run(significant(scan(text), []), at_start())
    except Unexpected as unexpected:
        return unexpected.state
    raise ValueError(f"an example of a mistake parses: {text!r}")


def known(place: Stop, source: Source) -> Diagnostic | None:
    """The diagnostic of the first known mistake that a place meets."""
    for mistake in mistakes():
        if _meets(mistake, place, source):
            title, help = (_fill(text, place) for text in (mistake.title, mistake.help))
            token = place.previous if mistake.point == "before" and place.previous else place.token
            close = get_close_matches(token.text, mistake.words, 1)
            if mistake.point == "after":
                return replace(after_previous(source, mistake.code, title, place), helps=(help,))
            write = close[0] if close else _instead(mistake, place.token)
            return at_word(source, mistake.code, title, token, "", f"did you mean `{close[0]}`?" if close else help, write)
    return None


def _instead(mistake: Mistake, token: Token) -> str | None:
    """What an editor may write for a word that was found, if that is known."""
    return next((text for word, text in zip(mistake.found, mistake.write, strict=False) if word in _names(token)), None)


def _fill(text: str, place: Stop) -> str:
    before = place.previous.text if place.previous else ""
    after = place.words[place.at + 1].text if place.at + 1 < len(place.words) else ""
    for name, word in (("found", place.token.text), ("before", before), ("after", after)):
        text = text.replace(f"{{{name}}}", word.strip())
    return text


def _meets(mistake: Mistake, place: Stop, source: Source) -> bool:
    return (
        not _names(place.token).isdisjoint(mistake.found)
        and (mistake.states is None or place.state in mistake.states)
        and (not mistake.before or (place.previous is not None and not _names(place.previous).isdisjoint(mistake.before)))
        and (not mistake.inside or (bool(place.open) and place.open[-1].kind == mistake.inside))
        and (not mistake.line or place.line(source) in mistake.line)
        and (not mistake.of or place.declaration(source) in mistake.of)
        and (not mistake.fits or mistake.fits in place.accepted)
    )


def _names(token: Token) -> frozenset[str]:
    """A word and its kind, as `mistakes.toml` names them."""
    kind = {NEWLINE: "NEWLINE", END: "END", WORD: "NAME"}.get(token.kind, token.kind)
    if token.kind == STRAY and token.text[0] in '"0123456789':
        kind = "OPEN_STRING" if token.text[0] == '"' else "BAD_NUMBER"
    return frozenset((token.text, kind))
