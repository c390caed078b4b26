"""Characters to words. Comes in: a text; goes out: its words with offsets, its comments, its open brackets.

A word's kind is a literal of the grammar (`"->"`), a kind of the grammar (`NUMBER`), or `WORD`, which the parser's state decides.
The one idea: a newline separates, except inside ( ) and [ ], after a word that cannot end a line, and before `}` and `->`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from tinygpu.diagnostic import Span
from tinygpu.syntax.grammar import END, shipped_parser

NEWLINE, WORD, STRAY = "_NL", "WORD", "STRAY"
# what a writer of another language may type: read as one word, so that the message can speak of it
FOREIGN = ("**", "&&", "||", ":=", "=>", "!", "@", "?", ";", "'", "/=", "%=", "`", "$", "\\")
SIGNS = (
    "(", "[", "{", ",", ":", "=", "->", "|", "+", "-", "*", "/", "//", "%", "<<", ">>", "&", "~", "^", "<", "<=", ">", ">=", "==", "!=", "+=", "-=", "*=",
    "|=", "&=", "^=",
)  # fmt: skip
OPEN_ENDED = frozenset((*SIGNS, "if", "else", "and", "or", "not"))  # after these a line goes on


class Token(NamedTuple):
    """A word of the text: `kind` as above, characters `start` to `end`."""

    kind: str
    text: str
    start: int
    end: int


class Source:
    """A text that can tell the line and column of an offset."""

    __slots__ = ("_starts", "file", "text")

    def __init__(self, text: str, file: str = ""):
        self.text, self.file = text, file
        self._starts = [0, *(m.end() for m in re.finditer("\n", text))]

    def line(self, offset: int) -> int:
        """The line of an offset, from 1."""
        return bisect_right(self._starts, offset)

    def span(self, start: int, end: int) -> Span:
        """Characters `start` to `end` (exclusive) as a span, lines and columns from 1."""
        first, last = bisect_right(self._starts, start), bisect_right(self._starts, end)
        return Span(self.file, start, end, first, start - self._starts[first - 1] + 1, last, end - self._starts[last - 1] + 1)


@cache
def _scanner() -> re.Pattern[str]:
    """One pattern for every word; the longest literal first."""
    grammar = shipped_parser()
    signs = sorted((w for w in (*grammar.literals, *FOREIGN) if not w[0].isalpha()), key=lambda w: (-len(w), w))
    number = rf"(?:{grammar.patterns['NUMBER']})(?!\w)"
    kinds = [
        rf"(?P<{NEWLINE}>{grammar.patterns[NEWLINE]})",
        r"(?P<SPACE>[ \t]+|\A\ufeff)",  # some editors open a file with a mark
        r"(?P<COMMENT>\#[^\n]*)",
        rf"(?P<{WORD}>[A-Za-z_][A-Za-z0-9_]*(?!\w))",
        rf"(?P<NUMBER>{number})",
        rf"(?P<STRING>{grammar.patterns['STRING']})",
        rf"(?P<SIGN>{'|'.join(map(re.escape, signs))})",
        rf"(?P<{STRAY}>\w+|\"[^\"\n]*|.)",
    ]
    return re.compile("|".join(kinds), re.DOTALL)


def scan(text: str, start: int = 0, stop: int | None = None) -> Iterator[Token]:
    """Every word of the text from an offset on, or up to another, newlines and comments too; then the end."""
    stop = len(text) if stop is None else stop
    for match in _scanner().finditer(text, start, stop):
        kind = match.lastgroup or STRAY
        if kind != "SPACE":
            word = match.group()
            yield Token(word if kind == "SIGN" else kind, word, match.start(), match.end())
    yield Token(END, "", stop, stop)


def significant(tokens: Iterator[Token], comments: list[Token]) -> Iterator[Token]:
    """The words that the grammar sees; comments are put aside.

    >>> " ".join(t.text for t in significant(scan("a = (1,  # one\\n 2)\\n\\nb = 3\\n"), [])).replace("\\n", "|")
    'a = ( 1 , 2 ) | b = 3 '
    """
    depth, previous = 0, "{"
    newline: Token | None = None
    for token in tokens:
        if token.kind == "COMMENT":
            comments.append(token)
            continue
        if token.kind == NEWLINE:
            newline = newline or token
            continue
        if newline and not (depth or previous in OPEN_ENDED or token.kind in ("}", "->", END)):
            yield Token(NEWLINE, "\n", newline.start, newline.end)
        newline = None
        depth = max(0, depth + (token.kind in ("(", "[")) - (token.kind in (")", "]")))
        previous = token.text
        yield token
