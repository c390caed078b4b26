"""`parse : text → tree.File`, or a `TinygpuError` with code TG0xx that points at the place and says what could stand there.

Comes in: a text, and the name it is to be called by. Goes out: a tree whose nodes all carry their span.
The one idea: words, automaton, nodes; and only when that fails does `mistakes` ask why.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tinygpu.diagnostic import Diagnostic, TinygpuError
from tinygpu.syntax import tree
from tinygpu.syntax.automaton import Unexpected, run
from tinygpu.syntax.build import BUILD
from tinygpu.syntax.lexer import Source, Token, scan, significant
from tinygpu.syntax.tables import load

ENOUGH = 20  # mistakes told of one text


def parse(text: str, file: str = "") -> tree.File:
    """`text → tree.File`; raises `TinygpuError`.

    >>> parse("param BM = 128").declarations
    (Param(name='BM', value=Number(text='128'), choices=()),)
    """
    source = Source(text, file)
    comments: list[Token] = []
    problems: list[Diagnostic] = []
    begin: int | None = 0

    def build(rule: str, parts: list[Any], start: int, end: int) -> Any:
        return BUILD[rule](source.span(start, end), *parts)

    while begin is not None and len(problems) < ENOUGH:
        try:
            result: tree.File = run(significant(scan(text, begin), comments), load(), build)
            begin = None
        except Unexpected as unexpected:
            from tinygpu.syntax.mistakes import explain  # late: a text without mistakes does not need it

            problems.append(explain(unexpected, source, begin))
            begin = _next_declaration(text, max(begin, unexpected.token.start))
        except TinygpuError as error:
            problems += error.diagnostics
            begin = _next_declaration(text, error.diagnostics[0].span.start)
    if problems:
        raise TinygpuError(*problems)
    return tree.File(result.declarations, tuple(_comment(c, source) for c in comments), source.span(0, len(text)))


def _next_declaration(text: str, offset: int) -> int | None:
    """Where to read on after a mistake: the next declaration at the start of a line."""
    match = re.compile(r"^(?:op|machine|param|import)\b", re.MULTILINE).search(text, offset + 1)
    return match and match.start()


def parse_file(path: str | Path) -> tree.File:
    """`path → tree.File`; also an unreadable file is a `TinygpuError`."""
    return parse(read_text(path), str(path))


def read_text(path: str | Path) -> str:
    """The text of a file, or TG004 with the reason."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise TinygpuError.of("TG004", f"{path} is not UTF-8 text (byte {error.start})", help="save the file as UTF-8") from None
    except OSError as error:
        raise TinygpuError.of("TG004", f"cannot read {path}: {(error.strerror or str(error)).lower()}") from None


def _comment(token: Token, source: Source) -> tree.Comment:
    span = source.span(token.start, token.end)
    own_line = not source.text[token.start - span.column + 1 : token.start].strip()
    return tree.Comment(token.text.rstrip(), own_line, span)
