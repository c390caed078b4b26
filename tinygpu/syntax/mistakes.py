"""The known mistakes: `grammar/mistakes.toml`, and which of them a place of a text meets.

Comes in: the place where the parser stopped. Goes out: the diagnostic of the first entry that meets, or None.
The one idea: a mistake is learned from its examples, by the state of the parser in which they fail.
"""

from __future__ import annotations

import tomllib
from difflib import get_close_matches
from functools import cache
from typing import Any

from tinygpu.diagnostic import Diagnostic
from tinygpu.record import dataclass, replace
from tinygpu.syntax.grammar import END, read_grammar_file
from tinygpu.syntax.lexer import NEWLINE, STRAY, WORD, Source, Token, scan, significant
from tinygpu.syntax.place import Stop, after_previous, at_word
from tinygpu.syntax.reader import Unexpected, at_start, run


@dataclass(frozen=True, slots=True)
class Mistake:
    """An entry of `mistakes.toml`; `states` is None where the state does not matter."""

    code: str
    title: str
    help: str
    found: frozenset[str]
    examples: tuple[str, ...]
    fixed: str
    before: frozenset[str] = frozenset()
    line: frozenset[str] = frozenset()
    fits: str = ""
    inside: str = ""
    point: str = "after"
    words: tuple[str, ...] = ()
    states: frozenset[int] | None = None


SHARED = ("code", "title", "help", "fixed", "fits", "inside", "point", "found", "before", "line")


@cache
def mistakes() -> tuple[Mistake, ...]:
    """Every entry of `grammar/mistakes.toml`, with the states that its examples lead to."""
    return tuple(map(_mistake, tomllib.loads(read_grammar_file("mistakes.toml"))["mistake"]))


def _mistake(entry: dict[str, Any]) -> Mistake:
    free = any(key in entry for key in ("anywhere", "before", "line", "fits", "inside")) and not entry.get("state")
    states = None if free else frozenset(_state(example) for example in entry["examples"])
    fields: dict[str, Any] = {
        key: value if isinstance(value, str) else frozenset(value) for key, value in entry.items() if key in SHARED
    }
    return Mistake(**fields, examples=tuple(entry["examples"]), words=tuple(entry.get("words", ())), states=states)


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
            helps = (f"did you mean `{close[0]}`?",) if close else (help,)
            if mistake.point == "after":
                return replace(after_previous(source, mistake.code, title, place), helps=helps)
            return replace(at_word(source, mistake.code, title, token), helps=helps)
    return None


def _fill(text: str, place: Stop) -> str:
    before = place.previous.text if place.previous else ""
    after = place.words[place.at + 1].text if place.at + 1 < len(place.words) else ""
    for name, word in (("found", place.token.text), ("before", before), ("after", after)):
        text = text.replace(f"{{{name}}}", word.strip())
    return text


def _meets(mistake: Mistake, place: Stop, source: Source) -> bool:
    if not mistake.found & _names(place.token) or (mistake.states is not None and place.state not in mistake.states):
        return False
    if mistake.before and not (place.previous and mistake.before & _names(place.previous)):
        return False
    if mistake.inside and not (place.open and place.open[-1].kind == mistake.inside):
        return False
    if mistake.line and place.line(source) not in mistake.line:
        return False
    return not mistake.fits or mistake.fits in place.accepted


def _names(token: Token) -> frozenset[str]:
    """A word and its kind, as `mistakes.toml` names them."""
    kind = {NEWLINE: "NEWLINE", END: "END", WORD: "NAME"}.get(token.kind, token.kind)
    if token.kind == STRAY:
        kind = (
            "BAD_NUMBER"
            if token.text[0].isdigit() and token.text[0].isascii()
            else "OPEN_STRING"
            if token.text[0] == '"'
            else STRAY
        )
    return frozenset((token.text, kind))
