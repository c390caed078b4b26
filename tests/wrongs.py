"""Right texts with the edits that make each of them wrong, which stand below it as comments: one file is a program and all that it may become.

    # wrong: `OLD` → `NEW`; `OLD` → `NEW`
    # loose, TITLE: `OLD` → `NEW`: WHAT IS SAID

Comes in: a file. Goes out: its edits, each a text with what its line says. The one idea: an edit is as small as a slip of the hand.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

LINE = re.compile(r"# (wrong|loose)(?:, (.*?))?: (`.*`)(?:: (.*))?")
PAIR = re.compile(r"`([^`]*)` → `([^`]*)`")


@dataclass(frozen=True, slots=True)
class Wrong:
    """A text that is `wrong` or `loose`, its title, and a piece of what has to be said of it."""

    kind: str
    title: str
    text: str
    why: str = ""


def wrongs(path: Path) -> list[Wrong]:
    """The edited texts of a file. Raises AssertionError where an edit finds nothing to change."""
    lines = path.read_text(encoding="utf-8").splitlines()
    right = "\n".join(line for line in lines if not LINE.fullmatch(line))
    found: list[Wrong] = []
    for kind, title, pairs, why in (match.groups() for match in map(LINE.fullmatch, lines) if match):
        edited = right
        for old, new in PAIR.findall(pairs.replace("\\n", "\n")):
            assert old in edited, f"{path.stem} has no {old!r}"
            edited = edited.replace(old, new, 1)
        found.append(Wrong(kind, title or str(len(found)), edited, why or ""))
    return found
