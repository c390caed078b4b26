"""`parse : text → tree.File`, or a `TinygpuError` with code TG0xx that points at the place and says what could stand there.

Comes in: a text, and the name it is to be called by. Goes out: a tree whose nodes all carry their span.
The one idea: words, automaton, nodes; and only when that fails does `mistakes` ask why.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tinygpu.diagnostic import TinygpuError
from tinygpu.syntax import tree
from tinygpu.syntax.automaton import Unexpected, run
from tinygpu.syntax.build import BUILD
from tinygpu.syntax.lexer import Source, Token, scan, significant
from tinygpu.syntax.tables import load


def parse(text: str, file: str = "") -> tree.File:
    """`text → tree.File`; raises `TinygpuError`.

    >>> parse("param BM = 128").declarations
    (Param(name='BM', value=Number(text='128'), choices=()),)
    """
    source, comments = Source(text, file), []

    def build(rule: str, parts: list[Any], start: int, end: int) -> Any:
        return BUILD[rule](source.span(start, end), *parts)

    try:
        result: tree.File = run(significant(scan(text), comments), load(), build)
    except Unexpected as unexpected:
        from tinygpu.syntax.mistakes import explain

        raise TinygpuError(explain(unexpected, source)) from None
    return tree.File(result.declarations, tuple(_comment(c, source) for c in comments), source.span(0, len(text)))


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
    before = source.text[: token.start].rpartition("\n")[2]
    return tree.Comment(token.text.rstrip(), not before.strip(), source.span(token.start, token.end))
