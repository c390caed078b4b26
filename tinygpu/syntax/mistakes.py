"""Why a text is not a program of the language, in the user's words.

Comes in: the word at which the automaton stopped, and all words. Goes out: one diagnostic with a place, a reason and a fix.
The one idea: first what is surely wrong (a bracket never closed), then the known mistakes of `grammar/mistakes.toml`, then a
single missing word, then what could stand there.
"""

from __future__ import annotations

import tomllib
import unicodedata
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from typing import Any

from tinygpu.diagnostic import Diagnostic, Label, Span
from tinygpu.syntax.automaton import DEPTH, Unexpected, run, symbol
from tinygpu.syntax.expected import accepted, advance, describe, in_words, missing, trace
from tinygpu.syntax.lexer import NEWLINE, STRAY, WORD, Source, Token, scan, significant
from tinygpu.syntax.tables import END, Tables, load, read_grammar_file

DECLARATIONS = ("op", "machine", "param", "import")
CLOSERS = {"(": ")", "[": "]", "{": "}"}


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


@dataclass(frozen=True, slots=True)
class Place:
    """Where the automaton stopped: at a word of all words, in a state, with the states before the word; the open brackets, what could stand."""

    words: tuple[Token, ...]
    at: int
    state: int
    stack: tuple[int, ...]
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


def explain(unexpected: Unexpected, source: Source, begin: int = 0) -> Diagnostic:
    """The diagnostic of a word that cannot stand where it stands, in a text that the automaton reads from `begin` on."""
    token = unexpected.token
    if unexpected.too_deep:
        help = "give parts names of their own, as intermediates of the op"
        return _at(source, "TG005", f"nested too deeply: more than {DEPTH} levels", token, help=help)
    place = _place(unexpected, source, begin)
    return (
        _unclosed(place, source)
        or _known(place, source)
        or _keyword(place, source)
        or _stray(place, source)
        or _missing(place, source)
        or _general(place, source)
    )


def _place(unexpected: Unexpected, source: Source, begin: int) -> Place:
    words = tuple(significant(scan(source.text, begin), []))
    at = words.index(unexpected.token)
    brackets: list[Token] = []
    for word in words[:at]:
        if word.kind in CLOSERS:
            brackets.append(word)
        elif word.kind in CLOSERS.values():
            brackets.pop()
    stack = trace(words[:at], load())
    return Place(words, at, unexpected.stack[-1], tuple(stack), tuple(brackets), accepted(stack, load()))


# ── brackets ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _unclosed(place: Place, source: Source) -> Diagnostic | None:
    """A bracket that is never closed, or one that closes nothing."""
    token = place.token
    opener = place.open[-1] if place.open else None
    if token.kind in CLOSERS.values() and (opener is None or CLOSERS[opener.kind] != token.kind):
        if opener is None or opener.kind == "{":
            return _at(source, "TG003", f"`{token.text}` closes nothing", token, help=f"take it away, or open it before with `{_opener(token)}`")
        other = Label(source.span(opener.start, opener.end), f"`{opener.text}` is open here")
        title = f"`{opener.text}` is {'never closed' if token.kind == '}' else f'closed by `{token.text}`'}"
        return _after(source, "TG003", title, place, f"`{CLOSERS[opener.kind]}` is missing", "", other)
    if opener is None or not _never_closed(place, source):
        return None
    closer = CLOSERS[opener.kind]
    here = Label(source.span(opener.start, opener.end), f"no `{closer}` follows")
    found = Label(source.span(token.start, token.end), f"{_name(token)} stands inside of it")
    return Diagnostic("TG003", f"`{opener.text}` is never closed", (here, found), helps=(f"close it with `{closer}`",))


def _never_closed(place: Place, source: Source) -> bool:
    """Does the innermost open bracket stay open to the end of its block, or an open brace to the next declaration?"""
    if place.open[-1].kind == "{":
        previous = place.previous
        heads = [w for w in (place.token, previous) if w and w.text in DECLARATIONS and source.span(w.start, w.end).column == 1]
        return place.token.kind == END or bool(heads)
    depth = 1
    for word in place.words[place.at :]:
        depth += (word.kind in ("(", "[")) - (word.kind in (")", "]"))
        if not depth:
            return False
        if word.kind in ("{", "}", END):
            return True
    return True


def _opener(token: Token) -> str:
    return next(opener for opener, closer in CLOSERS.items() if closer == token.kind)


# ── known mistakes ─────────────────────────────────────────────────────────────────────────────────────────────────


@cache
def mistakes() -> tuple[Mistake, ...]:
    """Every entry of `grammar/mistakes.toml`, with the states that its examples lead to."""
    return tuple(map(_mistake, tomllib.loads(read_grammar_file("mistakes.toml"))["mistake"]))


def _mistake(entry: dict[str, Any]) -> Mistake:
    free = any(key in entry for key in ("anywhere", "before", "line", "fits", "inside")) and not entry.get("state")
    states = None if free else frozenset(_state(example) for example in entry["examples"])
    sets = {key: frozenset(entry.get(key, ())) for key in ("found", "before", "line")}
    texts = {key: entry[key] for key in ("code", "title", "help", "fixed", "fits", "inside", "point") if key in entry}
    return Mistake(**texts, **sets, examples=tuple(entry["examples"]), words=tuple(entry.get("words", ())), states=states)


def _state(text: str) -> int:
    """The state in which a malformed text fails."""
    try:
        run(significant(scan(text), []), load(), lambda rule, parts, start, end: parts)
    except Unexpected as unexpected:
        return unexpected.stack[-1]
    raise ValueError(f"an example of a mistake parses: {text!r}")


def _known(place: Place, source: Source) -> Diagnostic | None:
    for mistake in mistakes():
        if _meets(mistake, place, source):
            title, help = (_fill(text, place) for text in (mistake.title, mistake.help))
            token = place.previous if mistake.point == "before" and place.previous else place.token
            close = get_close_matches(token.text, mistake.words, 1)
            helps = (f"did you mean `{close[0]}`?",) if close else (help,)
            if mistake.point == "after":
                return replace(_after(source, mistake.code, title, place), helps=helps)
            return replace(_at(source, mistake.code, title, token), helps=helps)
    return None


def _fill(text: str, place: Place) -> str:
    before = place.previous.text if place.previous else ""
    return text.replace("{found}", place.token.text.strip()).replace("{before}", before)


def _meets(mistake: Mistake, place: Place, source: Source) -> bool:
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
        kind = "BAD_NUMBER" if token.text[0].isdigit() and token.text[0].isascii() else "OPEN_STRING" if token.text[0] == '"' else STRAY
    return frozenset((token.text, kind))


# ── the rest ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _keyword(place: Place, source: Source) -> Diagnostic | None:
    """A word of the language where a name is wanted."""
    tables = load()
    token, previous = place.token, place.previous
    if _is_keyword(token, tables) and "NAME" in place.accepted:
        title = f"`{token.text}` is a word of the language and cannot be a name here"
        return _at(source, "TG006", title, token, help="choose another name")
    if previous and _is_keyword(previous, tables):
        stack = advance(trace(place.words[: place.at - 1], tables), "NAME", tables)
        if stack and advance(stack, symbol(token, tables.rows[stack[-1]], tables), tables):
            title = f"`{previous.text}` is a word of the language and cannot be a name here"
            return _at(source, "TG006", title, previous, help="choose another name")
    return None


def _is_keyword(token: Token, tables: Tables) -> bool:
    return token.kind == WORD and (token.text in tables.literals or token.text in tables.folds)


def _stray(place: Place, source: Source) -> Diagnostic | None:
    """A character that no text of the language holds."""
    token = place.token
    if token.kind != STRAY:
        return None
    if token.text == "\0":
        return _at(source, "TG002", "the text holds a NUL byte", token, help="is this a .tgpu file? save it as UTF-8 text")
    character = next((c for c in token.text if not c.isascii()), token.text[0])
    name = unicodedata.name(character, "a control character").lower()
    help = "names are made of the letters a to z and A to Z, digits and `_`"
    return _at(source, "TG002", f"{_name(token)} cannot stand in a .tgpu text", token, f"{name}, U+{ord(character):04X}", help)


def _missing(place: Place, source: Source) -> Diagnostic | None:
    """One word whose absence explains the error."""
    wanted = missing(list(place.stack), place.words[place.at :], load())
    if wanted is None:
        return None
    words = "an operator or a new line" if wanted == NEWLINE and "*" in place.accepted else in_words(wanted)
    return _after(source, "TG001", f"{words} is missing before {_name(place.token)}", place, "it is missing here")


def _general(place: Place, source: Source) -> Diagnostic:
    could = describe(place.accepted)
    close = get_close_matches(place.token.text, [name for name in place.accepted if name[0].islower()], 1)
    help = f"did you mean `{close[0]}`?" if close else ""
    if " or " not in could:
        return _after(source, "TG001", f"{could} is missing before {_name(place.token)}", place, "it is missing here", help)
    return _after(source, "TG001", f"{_name(place.token)} cannot stand here", place, f"here could stand {could}", help)


def _name(token: Token) -> str:
    if token.kind == NEWLINE:
        return "the new line"
    if token.kind == END:
        return "the end of the file"
    return f"`{token.text}`" if token.text.isprintable() else f"the character U+{ord(token.text[0]):04X}"


def _at(source: Source, code: str, title: str, token: Token, text: str = "", help: str = "") -> Diagnostic:
    return Diagnostic(code, title, (Label(source.span(token.start, token.end), text),), helps=(help,) if help else ())


def _after(source: Source, code: str, title: str, place: Place, text: str = "", help: str = "", *labels: Label) -> Diagnostic:
    """A diagnostic that points just behind the previous word."""
    end = place.previous.end if place.previous else 0
    here = source.span(end, end)
    span = Span(here.file, end, min(end + 1, len(source.text)), here.line, here.column, here.line, here.column + 1)
    token = place.token
    found = source.span(token.start, token.end)
    if token.kind not in (NEWLINE, END, "}") and token.start > end + 1:
        labels = (*labels, Label(found, f"{_name(token)} cannot stand here"))
    return Diagnostic(code, title, (Label(span, text), *labels), helps=(help,) if help else ())
