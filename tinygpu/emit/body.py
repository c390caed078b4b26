"""Steps as lines of Python: one line for each, and for a loop or a condition a head.

Comes in: steps. Goes out: lines. The one idea: one walk, in two dialects (`cuda_body.py`, `cpu_body.py`), and nothing is decided here. What is in
scope grows on the way down, and an index term gets its name where its axes are known.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, Self, assert_never

from tinygpu.category.term import TRUE, Read, Term, variables
from tinygpu.emit.python import Lines, block
from tinygpu.program.call import Call
from tinygpu.program.step import Array, Assign, Fact, For, If, Step
from tinygpu.program.traverse import terms
from tinygpu.record import dataclass, replace


class Texts(Protocol):
    """What writes terms: index terms that are `bound` have names."""

    @property
    def bound(self) -> Mapping[Term, str]: ...

    def binding(self, term: Term, name: str) -> Self: ...

    def text(self, term: Term, level: int = 0) -> str: ...


@dataclass(frozen=True, slots=True)
class Body:
    """What a body is printed with: what writes terms, the names of index terms, and the axes and sizes that are known around it."""

    scope: Texts
    labels: Mapping[Term, str]
    known: frozenset[str]

    def stands(self, label: Term, body: tuple[Step, ...]) -> bool:
        """Whether an index term stands somewhere in steps."""
        raise NotImplementedError

    def assign(self, step: Assign) -> Lines:
        """An assignment, without its guard."""
        raise NotImplementedError

    def loop(self, step: For) -> Lines:
        """A loop, with its body."""
        raise NotImplementedError

    def call(self, called: str, elements: list[Read]) -> Lines:
        """A call of a function with elements of memory."""
        return []

    def array(self, step: Array) -> Lines:
        """An array that is declared where the body begins."""
        return []

    def lines(self, body: tuple[Step, ...]) -> Lines:
        """The steps, after the names of the index terms whose axes are all known here for the first time."""
        out, here = Lines(), self
        for label, name in self.labels.items():
            if label not in here.scope.bound and variables(label) <= self.known and self.stands(label, body):
                out.append(f"{name} = {here.scope.text(label)}")
                here = replace(here, scope=here.scope.binding(label, name))
        return out + here.steps(body)

    def steps(self, body: tuple[Step, ...]) -> Lines:
        """One after the other."""
        return [line for step in body for line in self.step(step)]

    def step(self, step: Step) -> Lines:
        """One step."""
        match step:
            case Assign(guard=guard):
                return self.under(guard, self.assign(step))
            case If(guard, inner):
                return self.under(guard, self.lines(inner))
            case For():
                return self.loop(step)
            case Call():
                return self.call(step.called, [e for e in terms(step) if isinstance(e, Read)])
            case Array():
                return self.array(step)
            case Fact():
                return []
        assert_never(step)

    def under(self, guard: Term, lines: Lines) -> Lines:
        """Lines under a condition."""
        return lines if guard == TRUE else block(f"if {self.scope.text(guard)}", lines)
