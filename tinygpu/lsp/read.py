"""What an editor knows of a text, also of one that is half written.

Comes in: a text and its path. Goes out: its tree, its spec, its names, and what is wrong with it. The one idea: a declaration that cannot be read is blanked, so that all others
are read where they stand; what follows from its absence is not said.
"""

from __future__ import annotations

import re

from tinygpu import pipeline
from tinygpu.diagnostic import Diagnostic, TinygpuError
from tinygpu.lsp.names import Table, table
from tinygpu.record import dataclass
from tinygpu.syntax.lexer import Source
from tinygpu.syntax.parse import DECLARATION, parse
from tinygpu.syntax.tree import File

ROUNDS = 8  # in which what cannot be read is blanked


@dataclass(frozen=True, slots=True)
class Document:
    """A text, with `loaded` what is right in it, which is None where nothing is."""

    path: str
    text: str
    tree: File
    names: Table
    loaded: pipeline.Loaded | None
    diagnostics: tuple[Diagnostic, ...]
    broken: bool = False

    @property
    def source(self) -> Source:
        """Lines and columns."""
        return Source(self.text, self.path)


def read(text: str, path: str) -> Document:
    """`text → Document`; nothing is raised."""
    readable, problems = without_broken(text, path)
    loaded, found = load(readable, path)
    tree = loaded.tree if loaded else parsed(readable, path)
    return Document(path, text, tree, table(text, tree), loaded, problems or found, bool(problems))


def without_broken(text: str, path: str) -> tuple[str, tuple[Diagnostic, ...]]:
    """The text with blanks for each declaration that cannot be read, and why it cannot."""
    said: dict[Diagnostic, None] = {}
    for _ in range(ROUNDS):
        try:
            parse(text, path)
            return text, tuple(said)
        except TinygpuError as error:
            if not said:
                said = dict.fromkeys(error.diagnostics)
            for one in error.diagnostics:
                text = blanked(text, one.span.start)
    return re.sub(r"\S", " ", text), tuple(said)


def blanked(text: str, offset: int) -> str:
    """The text without the declaration that an offset is in.

    >>> blanked("param A = 1\\nop f(\\nparam B = 2", 15)
    'param A = 1\\n     \\nparam B = 2'
    """
    starts = [m.start() for m in DECLARATION.finditer(text)]
    begin = max((s for s in starts if s <= offset), default=0)
    end = min((s for s in starts if s > offset), default=len(text))
    return text[:begin] + re.sub(r"[^\n]", " ", text[begin:end]) + text[end:]


def load(text: str, path: str) -> tuple[pipeline.Loaded | None, tuple[Diagnostic, ...]]:
    """What is right in a text that parses, and what is said of it."""
    try:
        loaded = pipeline.load_text(text, path)
    except TinygpuError as error:
        return error.rest if isinstance(error.rest, pipeline.Loaded) else None, error.diagnostics
    return loaded, loaded.spec.warnings


def parsed(text: str, path: str) -> File:
    """The tree of a text that parses; an empty one of any other."""
    try:
        return parse(text, path)
    except TinygpuError:
        return File(())
