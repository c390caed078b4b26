"""Why a text is not a program of the language, in the user's words.

Comes in: the word at which the parser stopped. Goes out: one diagnostic with a place, a reason and a fix.
The one idea: first what is surely wrong (a bracket never closed), then the known mistakes of `grammar/mistakes.toml`, then a
single missing word, then what could stand there.
"""

from __future__ import annotations

import unicodedata
from difflib import get_close_matches

from tinygpu.diagnostic import Diagnostic, Fix, Label
from tinygpu.syntax.grammar import DEPTH, END, shipped_parser
from tinygpu.syntax.lexer import NEWLINE, STRAY, WORD, Source, Token
from tinygpu.syntax.mistakes import CLOSERS, KINDS, Stop, after_previous, at_word, describe, known, name_of, place_of
from tinygpu.syntax.reader import Unexpected, advance, follow, reach, symbol, trace

INSERTABLE = (NEWLINE, ")", "]", "}", ",", ":", "=", "(", "[", "{", "->", "else", "in", "at", "by", "over")
DECLARATIONS = ("op", "machine", "choice", "pipeline", "theorem", "gradient", "lemma", "scheme", "monoid", "param", "def", "import")


def explain(unexpected: Unexpected, source: Source, begin: int = 0) -> Diagnostic:
    """The diagnostic of a word that cannot stand where it stands, in a text that the parser reads from `begin` on."""
    token = unexpected.token
    if unexpected.too_deep:
        help = "give parts names of their own, as intermediates of the op"
        return at_word(source, "TG005", f"nested too deeply: more than {DEPTH} levels", token, help=help)
    place = place_of(unexpected, source, begin)
    return (
        _unclosed(place, source)
        or known(place, source)
        or _keyword(place, source)
        or _stray(place, source)
        or _misspelt(place, source)
        or _missing(place, source)
        or _general(place, source)
    )


# ── brackets ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _unclosed(place: Stop, source: Source) -> Diagnostic | None:
    """A bracket that is never closed, or one that closes nothing."""
    token = place.token
    opener = place.open[-1] if place.open else None
    if token.kind in CLOSERS.values() and (opener is None or CLOSERS[opener.kind] != token.kind):
        if opener is None or opener.kind == "{":
            help = f"take it away, or open it before with `{_opener(token)}`"
            return at_word(source, "TG003", f"`{token.text}` closes nothing", token, help=help)
        other = Label(source.span(opener.start, opener.end), f"`{opener.text}` is open here")
        title = f"`{opener.text}` is {'never closed' if token.kind == '}' else f'closed by `{token.text}`'}"
        closer = CLOSERS[opener.kind]
        return after_previous(source, "TG003", title, place, f"`{closer}` is missing", "", other, write=closer)
    if opener is None or not _never_closed(place, source):
        return None
    closer = CLOSERS[opener.kind]
    here = Label(source.span(opener.start, opener.end), f"no `{closer}` follows")
    found = Label(source.span(token.start, token.end), f"{name_of(token)} stands inside of it")
    help = f"close it with `{closer}`"
    return Diagnostic(
        "TG003", f"`{opener.text}` is never closed", (here, found), helps=(help,), fixes=(_closed(place, source, closer, help),)
    )


def _closed(place: Stop, source: Source, closer: str, help: str) -> Fix:
    """The closer behind what surely stands inside: a brace on a line of its own, before the declaration that follows."""
    inside = [word for word in place.words[: place.at] if word.kind not in (NEWLINE, END)]
    if closer == "}" and len(inside) > 1 and _heads(inside[-1], source):
        inside.pop()
    end = inside[-1].end
    return Fix(help, source.span(end, end), f"\n{closer}" if closer == "}" else closer)


def _never_closed(place: Stop, source: Source) -> bool:
    """Does the innermost open bracket stay open to the end of its block, or an open brace to the next declaration?"""
    if place.open[-1].kind == "{":
        return place.token.kind == END or any(w and _heads(w, source) for w in (place.token, place.previous))
    depth = 1
    for word in place.words[place.at :]:
        depth += (word.kind in ("(", "[")) - (word.kind in (")", "]"))
        if not depth:
            return False
        if word.kind in ("{", "}", END):
            return True
    return True


def _heads(word: Token, source: Source) -> bool:
    """Does a declaration begin with it?"""
    return word.text in DECLARATIONS and source.span(word.start, word.end).column == 1


def _opener(token: Token) -> str:
    return next(opener for opener, closer in CLOSERS.items() if closer == token.kind)


# ── the rest ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _keyword(place: Stop, source: Source) -> Diagnostic | None:
    """A word of the language where a name is wanted."""
    token, previous = place.token, place.previous
    if _is_keyword(token) and "NAME" in place.accepted and not _may_follow_a_name(place):
        title = f"`{token.text}` is a word of the language and cannot be a name here"
        return at_word(source, "TG006", title, token, help="choose another name")
    if previous and _is_keyword(previous):
        after = advance(trace(place.words[: place.at - 1]), "NAME")
        if after and follow(after, token):
            title = f"`{previous.text}` is a word of the language and cannot be a name here"
            return at_word(source, "TG006", title, previous, help="choose another name")
    return None


def _may_follow_a_name(place: Stop) -> bool:
    """Is it rather that something is missing before the word?"""
    after = advance(place.before, "NAME")
    return after is not None and follow(after, place.token) is not None


def _is_keyword(token: Token) -> bool:
    return token.kind == WORD and (token.text in shipped_parser().literals or token.text in shipped_parser().folds)


def _stray(place: Stop, source: Source) -> Diagnostic | None:
    """A character that no text of the language holds."""
    token = place.token
    if token.kind != STRAY:
        return None
    if token.text == "\0":
        return at_word(source, "TG002", "the text holds a NUL byte", token, help="is this a .tgpu file? save it as UTF-8 text")
    character = next((c for c in token.text if not c.isascii()), token.text[0])
    name = unicodedata.name(character, "a control character").lower()
    help = "names are made of the letters a to z and A to Z, digits and `_`"
    title = f"{name_of(token)} cannot stand in a .tgpu text"
    return at_word(source, "TG002", title, token, f"{name}, U+{ord(character):04X}", help)


def _misspelt(place: Stop, source: Source) -> Diagnostic | None:
    """A name, here or just before, that is nearly a word of the language, with which the text goes on for four words more, or to its end."""
    for at in range(max(place.at - 1, 0), place.at + 1):
        token, before = place.words[at], trace(place.words[:at])
        if token.kind != WORD or symbol(token, before, shipped_parser()) != "NAME":
            continue
        could = shipped_parser().symbols(before.accepts())
        ahead = place.words[at + 1 : at + 12]
        for name in get_close_matches(token.text, [name for name in could if name[0].islower()], 1, 0.75):
            after = advance(before, name)
            if after is not None and reach(after, ahead) >= min(4, len(ahead)):
                title, text = f"{name_of(token)} is no word of the language", f"here could stand {describe(could)}"
                return at_word(source, "TG001", title, token, text, f"did you mean `{name}`?", name)
    return None


def _missing(place: Stop, source: Source) -> Diagnostic | None:
    """The one word whose absence explains the error: with it the text goes on for four words more, or to its end."""
    ahead = place.words[place.at : place.at + 12]
    best, wanted = 0, ""
    for name in INSERTABLE:
        after = advance(place.before, name)
        if after is not None and (count := reach(after, ahead)) > best:
            best, wanted = count, name
    if not wanted or best < min(4, len(ahead)):
        return None
    either = "an operator or " if wanted in (NEWLINE, ",") and "*" in place.accepted else ""
    words = either + KINDS.get(wanted, f"`{wanted}`")
    return after_previous(
        source,
        "TG001",
        f"{words} is missing before {name_of(place.token)}",
        place,
        "it is missing here",
        write=wanted * (wanted not in KINDS),
    )


def _general(place: Stop, source: Source) -> Diagnostic:
    could = describe(place.accepted)
    close = get_close_matches(place.token.text, [name for name in place.accepted if name[0].islower()], 1)
    help = f"did you mean `{close[0]}`?" if close else ""
    if " or " not in could:
        title = f"{could} is missing before {name_of(place.token)}"
        return after_previous(source, "TG001", title, place, "it is missing here", help)
    return after_previous(source, "TG001", f"{name_of(place.token)} cannot stand here", place, f"here could stand {could}", help)
