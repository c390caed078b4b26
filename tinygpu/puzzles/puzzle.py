"""Puzzles: an op, a machine of it with something missing or wrong, and what is wanted.

    puzzle = (text with a fault, target, wants, hints)        an answer = a text with the same op, whose target is proved and has what is wanted

Comes in: the texts and the table beside this file. Goes out: a `Puzzle` for each, in order. The one idea: a puzzle is a spec like any other, so whoever reads
one reads the language.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from tinygpu.record import dataclass, field

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True, slots=True)
class Want:
    """A condition beside the proof: its name in `conditions.py`, an array and a number if it speaks of them, and the sizes that it is about, where these
    are not the puzzle's."""

    what: str
    of: str = ""
    most: int = 0
    at: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Puzzle:
    """One of them. `target` is the machine, or the choice, that is asked for; `word` is said to who has solved it."""

    number: int
    title: str
    target: str
    sizes: Mapping[str, int]
    wants: tuple[Want, ...]
    hints: tuple[str, ...]
    word: str

    @property
    def file(self) -> str:
        """The name of the file that a learner edits."""
        return f"puzzle_{self.number}.tgpu"

    @property
    def text(self) -> str:
        """As it is given."""
        return (HERE / self.file).read_text(encoding="utf-8")

    @property
    def answer(self) -> str:
        """One answer of many."""
        return (HERE / f"answer_{self.number}.tgpu").read_text(encoding="utf-8")


@cache
def puzzles() -> tuple[Puzzle, ...]:
    """All of them, from the easiest on.

    >>> [one.number for one in puzzles()] == list(range(1, 11))
    True
    """
    import tomllib

    rows = tomllib.loads((HERE / "puzzles.toml").read_text(encoding="utf-8"))["puzzle"]
    return tuple(
        Puzzle(
            number,
            row["title"],
            row["target"],
            row["sizes"],
            tuple(Want(**want) for want in row["wants"]),
            tuple(row["hints"]),
            row["word"],
        )
        for number, row in enumerate(rows, 1)
    )
