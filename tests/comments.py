"""What the comments of a test's spec say of it: the edits that make it wrong, the sizes at which it is run, pieces that its kernels have.

    # wrong: `OLD` → `NEW`; `OLD` → `NEW`                         # at SIZE, SIZE: (1, 2), (3, 4)
    # loose, TITLE: `OLD` → `NEW`: WHAT IS SAID                   # text: `PIECE`    # text 2: `PIECE`    # no text: `PIECE`

Comes in: a file. Goes out: edited texts; sizes; pieces. The one idea: one file is a program and all that is said of it.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path

EDIT = re.compile(r"# (wrong|loose)(?:, (.*?))?: (`.*`)(?:: (.*))?")
PAIR = re.compile(r"`([^`]*)` → `([^`]*)`")
AT = re.compile(r"# at ?(.*?): (.*)")
PIECE = re.compile(r"# (no )?text(?: (\d+))?: `(.*)`")


@dataclass(frozen=True, slots=True)
class Wrong:
    """A text that is `wrong` or `loose`, its title, and a piece of what has to be said of it."""

    kind: str
    title: str
    text: str
    why: str = ""


def matches(path: Path, form: re.Pattern[str]) -> list[tuple[str, ...]]:
    """The parts of the comments of that form."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [tuple(group or "" for group in match.groups()) for match in map(form.fullmatch, lines) if match]


def wrongs(path: Path) -> list[Wrong]:
    """The edited texts of a file. Raises AssertionError where an edit finds nothing to change."""
    right = "\n".join(line for line in path.read_text(encoding="utf-8").splitlines() if not EDIT.fullmatch(line))
    found: list[Wrong] = []
    for kind, title, pairs, why in matches(path, EDIT):
        edited = right
        for old, new in PAIR.findall(pairs.replace("\\n", "\n")):
            assert old in edited, f"{path.stem} has no {old!r}"
            edited = edited.replace(old, new, 1)
        found.append(Wrong(kind, title or str(len(found)), edited, why))
    return found


def sizes_of(path: Path) -> list[dict[str, int]]:
    """The sizes at which the programs of a file are run."""
    ((names, numbers),) = matches(path, AT)
    rows = (row if isinstance(row, tuple) else (row,) for row in ast.literal_eval(f"[{numbers}]"))
    return [dict(zip(names.split(", ") if names else (), row, strict=True)) for row in rows]


def has_pieces(path: Path, text: str) -> None:
    """Fails where a kernel's text has not what the comments say that it has, or has what they say that it has not."""
    for no, many, piece in matches(path, PIECE):
        count = text.count(piece.replace("\\n", "\n"))
        assert (count == int(many) if many else count > 0) == (not no), f"{path.stem}: {no}{piece} {many}\n{text}"
