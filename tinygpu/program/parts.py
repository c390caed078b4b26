"""What is derived of a program, as its reader asks for it.

Comes in: the tree of a part, and the reader that has come to it. Goes out: launches, steps, and the names that a part brings. The one idea: how
a part is derived is known downstream, so whoever knows it comes with the program.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from tinygpu.category.term import Axis, Term
from tinygpu.program.step import Launch, Step
from tinygpu.syntax import tree

if TYPE_CHECKING:
    from tinygpu.program.read import Reader


class Parts(Protocol):
    """The derived parts of one program."""

    def alone(self, reader: Reader, body: tuple[tree.Statement, ...]) -> Iterator[Launch]:
        """The launches of a program that is the one launch of its machine."""

    def named(self, reader: Reader, statement: tree.LaunchClause) -> Iterator[Launch]:
        """The launches of `launch NAME { … }`."""

    def evaluate(self, reader: Reader, statement: tree.Evaluate, axes: tuple[Axis, ...]) -> tuple[Step, ...]:
        """The steps of `compute s, acc`."""

    def placed(self, reader: Reader, step: Step) -> tuple[Step, ...]:
        """A step of the text with the cells of what is computed, and what begins before it."""

    def values(self, axes: Sequence[Axis]) -> Mapping[str, Term]:
        """The names that stand for terms at a place."""

    def apart(self, axes: Sequence[Axis]) -> Mapping[str, tuple[str, ...]]:
        """Those that stand for none there, each with the factors that they wait for."""
