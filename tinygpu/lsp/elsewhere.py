"""Names of a file in the other files that import it.

Comes in: a name that a file declares, a folder. Goes out: where other files use it. The one idea: names are one flat space, so who imports a file uses its names as they are; only files that
hold the word, and import something, are looked at.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from tinygpu.diagnostic import TinygpuError
from tinygpu.lsp.names import FILE, Named, Table, table
from tinygpu.record import dataclass
from tinygpu.syntax.files import SUFFIX, place, read_text
from tinygpu.syntax.parse import parse

IMPORT = re.compile(r'^\s*import\s+"', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class User:
    """A file that uses a name of another one: its text, its names, and where."""

    path: str
    text: str
    names: Table
    places: tuple[Named, ...]


def users(file: str, name: str, folder: Path, open: Mapping[str, str]) -> Iterator[User]:
    """The files of a folder that use a name of a file; of those that are `open` the text is what an editor has. One that cannot be read uses nothing."""
    here, word = os.path.realpath(file), re.compile(rf"\b{re.escape(name)}\b")
    for path in sorted(str(p) for p in folder.rglob(f"*{SUFFIX}") if os.path.realpath(p) != here):
        with suppress(TinygpuError):
            text = open.get(os.path.realpath(path)) or read_text(path)
            if IMPORT.search(text) and word.search(text):
                names = table(text, parse(text, path))
                one = names.declared.get(name)
                if one is not None and os.path.realpath(place(one.span.file)) == here:
                    yield User(path, text, names, names.all((FILE, name)))
