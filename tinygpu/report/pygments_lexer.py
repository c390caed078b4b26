"""Colours for `.tgpu` in Markdown, by Pygments: the words are those that editors have.

    grammar/tgpu.tmLanguage.json:  a pattern and a scope for each of its groups   ⟼   a rule and a token for each of them

Comes in: the grammar for editors. Goes out: a lexer, which Pygments finds by the name `tgpu`. The one idea: there is one list of words, so a new one has its colour everywhere.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from re import Match
from typing import Any, ClassVar

from pygments.lexer import Lexer, RegexLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, String, Text, _TokenType

from tinygpu.syntax.grammar import read_grammar_file

TOKENS = {  # by the scope without its language
    "comment.line.number-sign": Comment.Single,
    "string.quoted.double": String.Double,
    "keyword.declaration": Keyword.Declaration,
    "entity.name.function": Name.Function,
    "keyword.control": Keyword,
    "keyword.other": Keyword,
    "keyword.operator.fold": Keyword.Pseudo,
    "keyword.operator": Operator,
    "constant.language": Keyword.Constant,
    "constant.numeric": Number,
    "storage.type": Keyword.Type,
    "support.function": Name.Builtin,
}
BEGINS = r"(?:(?<=^|\{)\s*|(?<=\s))", r"(?<![^\s{])"  # where a clause may begin: as editors say it, and as Python can
Found = Iterator[tuple[int, _TokenType, str]]


def token(scope: str) -> _TokenType:
    """`keyword.control.tgpu → Keyword`. Raises KeyError for a scope that has no colour."""
    return TOKENS[scope.removesuffix(".tgpu")]


def by_groups(captures: dict[int, _TokenType]) -> Callable[[Lexer, Match[str], Any], Found]:
    """What a match is made of: its groups, and what is between them."""

    def parts(lexer: Lexer, match: Match[str], context: Any = None) -> Found:
        at = match.start()
        for number in sorted((n for n in captures if match.start(n) >= 0), key=match.start):
            if match.start(number) > at:
                yield at, Text, match.string[at : match.start(number)]
            yield match.start(number), captures[number], match[number]
            at = match.end(number)
        if at < match.end():
            yield at, Text, match.string[at : match.end()]

    return parts


def rules() -> list[tuple[str, Any]]:
    """Each pattern of the grammar for editors, in its order; a letter that none of them begins with is plain."""
    grammar = json.loads(read_grammar_file("tgpu.tmLanguage.json"))
    found: list[tuple[str, Any]] = []
    for one in (grammar["repository"][include["include"].removeprefix("#")] for include in grammar["patterns"]):
        pattern = one["match"].replace(*BEGINS)
        captures = {int(number): token(said["name"]) for number, said in one.get("captures", {}).items()}
        found.append((pattern, by_groups(captures) if captures else token(one["name"])))
    return [*found, (r"[A-Za-z_][A-Za-z0-9_]*", Name), (r"\s", Text), (r".", Text)]


class TgpuLexer(RegexLexer):  # type: ignore[misc]
    """The lexer of `.tgpu`.

    >>> [text for kind, text in TgpuLexer().get_tokens("  vector v  # wide") if kind in Keyword]
    ['vector']
    """

    name = "tinygpu"
    aliases: ClassVar[list[str]] = ["tgpu"]
    filenames: ClassVar[list[str]] = ["*.tgpu"]
    tokens: ClassVar[dict[str, list[tuple[str, Any]]]] = {"root": rules()}
