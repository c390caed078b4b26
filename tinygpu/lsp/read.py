"""What an editor knows of a text, also of one that is half written.

Comes in: a text and its path. Goes out: its tree, its spec, its names, and what is wrong with it. The one idea: a declaration that cannot be read is blanked, so that all others
are read where they stand; what follows from its absence is not said.
"""

from __future__ import annotations

import re

from tinygpu import pipeline
from tinygpu.diagnostic import Diagnostic, TinygpuError
from tinygpu.lsp.names import Table, table
from tinygpu.model.spec import Spec
from tinygpu.record import dataclass
from tinygpu.syntax.lexer import Source
from tinygpu.syntax.parse import DECLARATION, parse
from tinygpu.syntax.tree import File

ROUNDS = 8  # in which what cannot be read is blanked


@dataclass(frozen=True, slots=True)
class Document:
    """A text, with `loaded` what is right in it."""

    path: str
    text: str
    tree: File
    names: Table
    loaded: pipeline.Loaded
    diagnostics: tuple[Diagnostic, ...]
    broken: bool = False

    @property
    def source(self) -> Source:
        """Lines and columns."""
        return Source(self.text, self.path)


def as_document(text: str, path: str) -> Document:
    """`text → Document`; nothing is raised."""
    loaded, said, broken = what_is_right(text, path)
    return Document(path, text, loaded.tree, table(text, loaded.tree), loaded, said, broken)


def what_is_right(text: str, path: str) -> tuple[pipeline.Loaded, tuple[Diagnostic, ...], bool]:
    """The spec that a text is, without what is wrong in it; what is said of it; and whether some of it cannot be read."""
    try:
        loaded = pipeline.load_text(text, path)
        return loaded, loaded.spec.warnings, False
    except TinygpuError as error:
        if isinstance(error.rest, pipeline.Loaded):
            return error.rest, error.diagnostics, False
        said, readable = error.diagnostics, without_broken(text, path)
        if readable == text:  # of what it imports, or of names for terms
            return pipeline.Loaded(path, text, parse(text, path), Spec((), ())), said, False
    try:
        return pipeline.load_text(readable, path), said, True
    except TinygpuError as error:
        whole = error.rest if isinstance(error.rest, pipeline.Loaded) else None
        return whole or pipeline.Loaded(path, readable, parse(readable, path), Spec((), ())), said, True


def without_broken(text: str, path: str) -> str:
    """The text with blanks for each declaration that cannot be read."""
    for _ in range(ROUNDS):
        try:
            parse(text, path)
            return text
        except TinygpuError as error:
            for one in error.diagnostics:
                text = blanked(text, one.span.start)
    return re.sub(r"\S", " ", text)


def blanked(text: str, offset: int) -> str:
    """The text without the declaration that an offset is in.

    >>> blanked("param A = 1\\nop f(\\nparam B = 2", 15)
    'param A = 1\\n     \\nparam B = 2'
    """
    starts = [m.start() for m in DECLARATION.finditer(text)]
    begin = max((s for s in starts if s <= offset), default=0)
    end = min((s for s in starts if s > offset), default=len(text))
    return text[:begin] + re.sub(r"[^\n]", " ", text[begin:end]) + text[end:]
