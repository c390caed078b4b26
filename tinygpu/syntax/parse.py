"""`parse : text → tree.File`, or a `TinygpuError` with code TG0xx that points at the place and says what could stand there.

Comes in: a text, and the name it is to be called by. Goes out: a tree whose nodes all carry their span.
The one idea: words, Lark's parser, nodes; and only when that fails does `explain` ask why.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from tinygpu.diagnostic import Diagnostic, TinygpuError
from tinygpu.syntax.build import build
from tinygpu.syntax.lexer import WORD, Source, Token, scan, significant
from tinygpu.syntax.node import Comment
from tinygpu.syntax.reader import Unexpected, at_start, run
from tinygpu.syntax.tree import File

ENOUGH = 20  # mistakes told of one text
LONGEST = 100  # characters of a name


def parse(text: str, file: str = "") -> File:
    """`text → tree.File`; raises `TinygpuError`.

    >>> parse("param BM = 128").declarations
    (Param(name='BM', value=Number(text='128'), choices=()),)
    """
    source = Source(text, file)
    comments: list[Token] = []
    problems: dict[Diagnostic, None] = {}
    begin = 0
    while True:
        try:
            result: File = read_tree(significant(_bearable(source, begin), comments), source)
            break
        except Unexpected as unexpected:
            from tinygpu.syntax.explain import explain  # late: a text without mistakes does not need it

            problem, offset = explain(unexpected, source, begin), unexpected.token.start
        except TinygpuError as error:
            problem = error.diagnostics[0]
            offset = problem.span.start
        problems[problem] = None
        after = _next_declaration(text, offset, begin if problem.code == "TG003" else offset)
        if after is None or len(problems) == ENOUGH:
            break
        begin = after
    if problems:
        raise TinygpuError(*problems)
    return File(result.declarations, tuple(_comment(c, source) for c in comments), span=source.span(0, len(text)))


def _bearable(source: Source, begin: int) -> Iterator[Token]:
    """The words of a text, none longer than names may be: they become names of files and of functions."""
    for token in scan(source.text, begin):
        if token.kind == WORD and len(token.text) > LONGEST:
            title = f"a name has at most {LONGEST} characters; this one has {len(token.text)}"
            raise TinygpuError.of("TG009", title, source.span(token.start, token.end), help="take a shorter one")
        yield token


def _next_declaration(text: str, offset: int, begin: int) -> int | None:
    """Where to read on after a mistake: the next declaration at the start of a line, behind `begin`; it may be the mistake's own line."""
    line = text.rfind("\n", 0, offset) + 1
    match = re.compile(r"^(?:op|machine|monoid|param|import)\b", re.MULTILINE).search(text, max(line, begin + 1))
    return match and match.start()


def _comment(token: Token, source: Source) -> Comment:
    span = source.span(token.start, token.end)
    own_line = not source.text[token.start - span.column + 1 : token.start].strip()
    return Comment(token.text.rstrip(), own_line, span=span)


def read_tree(tokens: Iterable[Token], source: Source) -> Any:
    """What the whole text means. Of two mistakes the first is told: what was read before a refusal is built all the same."""
    parser = at_start()
    try:
        whole = run(tokens, parser)
    except Exception:
        for part in parser.parser_state.value_stack:
            build(part, source)
        raise
    return build(whole, source)
