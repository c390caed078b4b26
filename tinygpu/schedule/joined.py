"""The contract of what is made of launchers: a table of cases, or of calls.

    table["cases"] = (when it is taken, launcher)        table["calls"] = (launcher, what it is given, its sizes, what it makes, its workspaces)

Comes in: an op as a program without launches, with its cases or calls. Goes out: the table, in the spec's own names and words. The one idea: what every launcher looks at
before anything else is the same, whoever is called then.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from tinygpu.category.term import Term, text
from tinygpu.program.step import Program
from tinygpu.record import dataclass
from tinygpu.schedule.contract import Table, table

CHOSEN = (
    "name",
    "inputs",
    "outputs",
    "strided",
    "workspaces",
    "sizes",
    "solved",
    "where",
    "promises",
)  # what is looked at before anybody is called
Given: TypeAlias = tuple[str | float | int | bool, ...]


@dataclass(frozen=True, slots=True)
class Cases:
    """What the launcher of a choice is made of: its op as a program without launches, and of each case when it is taken, with the launcher that is called."""

    program: Program
    cases: tuple[tuple[tuple[Term, ...], str], ...]

    @property
    def name(self) -> str:
        """The launcher's."""
        return self.program.name

    @property
    def called(self) -> tuple[str, ...]:
        """The launchers."""
        return tuple(name for _, name in self.cases)


@dataclass(frozen=True, slots=True)
class Invoked:
    """A call: the launcher, its inputs by name or as numbers, its sizes as terms of ours, what its outputs are, and which buffers are its workspaces."""

    launcher: str
    given: Given
    sizes: tuple[tuple[str, str], ...]
    made: tuple[str, ...]
    spaces: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Calls:
    """What the launcher of a pipeline is made of: its op as a program whose workspace is the arena, where each buffer lies there, and the calls."""

    program: Program
    between: Mapping[str, tuple[str, tuple[Term, ...], Term]]
    calls: tuple[Invoked, ...]

    @property
    def name(self) -> str:
        """The launcher's."""
        return self.program.name

    @property
    def called(self) -> tuple[str, ...]:
        """The launchers."""
        return tuple(one.launcher for one in self.calls)


def table_of(one: Cases | Calls) -> Table:
    """All that a launcher has to know: of the op what every launcher looks at, then its cases or calls."""
    whole = table(one.program, (), (), (), ())
    looked_at = {key: whole[key] for key in CHOSEN if key in whole}
    match one:
        case Cases(cases=cases):
            return {**looked_at, "cases": tuple((_words(where), name) for where, name in cases)}
        case Calls(between=between, calls=calls):
            lie = {name: (dtype, _words(shape), text(at)) for name, (dtype, shape, at) in between.items()}
            return {
                **looked_at,
                "between": lie,
                "calls": tuple((c.launcher, c.given, dict(c.sizes), c.made, c.spaces) for c in calls),
            }


def _words(terms: Iterable[Term]) -> tuple[str, ...]:
    return tuple(map(text, terms))
