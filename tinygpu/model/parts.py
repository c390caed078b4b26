"""Which launches of a program are derived, and of what: those with clauses, and the machine's own where its steps say `compute`.

Comes in: the clauses of a machine that has a program. Goes out: the clauses of each launch that is derived, wholly or in parts, and what the steps
by hand have to do with the op's equations. The one idea: a derived launch beside steps by hand is elaborated as any other; only, nobody has to evaluate what
those store, and they may read what it leaves.
"""

from __future__ import annotations

from collections.abc import Mapping

from tinygpu.diagnostic import Span
from tinygpu.model.clauses import Clauses
from tinygpu.model.op import Op
from tinygpu.model.problems import Problems, head
from tinygpu.model.source import words
from tinygpu.record import dataclass, field
from tinygpu.syntax import tree
from tinygpu.syntax.node import nodes


@dataclass(frozen=True, slots=True)
class Hand:
    """What is by hand beside derived launches: the intermediates that its steps `read` and those it has workspaces for, `made`; all its words, `taken`;
    and the equations that each derived launch is told to `compute`, by its name, with the place where it is."""

    read: frozenset[str] = frozenset()
    made: frozenset[str] = frozenset()
    taken: frozenset[str] = frozenset()
    compute: Mapping[str, Mapping[str, Span]] = field(default_factory=dict)

    def holds(self, launch: str, op: Op) -> tuple[str, ...]:
        """The intermediates that a launch is told to compute: they are in cells from there on."""
        return tuple(t.name for t in op.intermediates if t.name in self.compute.get(launch, {}))


def derived(clauses: Clauses, op: Op, problems: Problems) -> tuple[tuple[Clauses, ...], Hand]:
    """The launches of a program that are derived, none where it is all by hand."""
    assert clauses.program is not None
    body = clauses.program.body
    parts: tuple[Clauses, ...] = ()
    if tree.launching(body):
        shared = tuple(c for c in clauses.every if not isinstance(c, tree.ProgramClause))
        named = [s for s in body if isinstance(s, tree.LaunchClause)]
        for at, one in enumerate(named):
            if first := next((other for other in named[:at] if other.name == one.name), None):
                places = head(one.span, f"launch {one.name}"), head(first.span, f"launch {one.name}")
                problems.say("TG102.launch", *places, name=one.name)
        parts = tuple(Clauses((*shared, *one.clauses), (), one.name, head(one.span, f"launch {one.name}")) for one in named)
    elif any(isinstance(node, tree.Evaluate) for node in nodes(body)):
        parts = (clauses,)
    return parts, _by_hand(body, parts, op, problems)


def _by_hand(body: tuple[tree.Statement, ...], parts: tuple[Clauses, ...], op: Op, problems: Problems) -> Hand:
    """What the steps have to do with the equations."""
    between = {t.name for t in op.intermediates}
    compute = {one.launch: _computed(one, op, problems) for one in parts if one.program}
    read: set[str] = set()
    for statement in body if tree.launching(body) else ():
        own = compute.get(statement.name, ()) if isinstance(statement, tree.LaunchClause) else ()
        steps = (
            [c for c in statement.clauses if isinstance(c, tree.ProgramClause)]
            if isinstance(statement, tree.LaunchClause)
            else statement
        )
        found = {
            node.name
            for node in nodes(tuple(steps) if isinstance(steps, list) else steps)
            if isinstance(node, tree.Cell | tree.Name)
        }
        read |= (found & between) - {*own}
    made = {s.name for s in body if isinstance(s, tree.Array) and s.space == "workspace"} & between
    return Hand(frozenset(read - made), frozenset(made), frozenset(words(body)) - between, compute)


def _computed(part: Clauses, op: Op, problems: Problems) -> dict[str, Span]:
    """The equations that the steps of a launch compute, in the order of the text."""
    found: dict[str, Span] = {}
    known = [e.target for e in op.equations]
    for step in (node for node in nodes(part.program) if isinstance(node, tree.Evaluate)):
        for name in step.names:
            if name not in known:
                problems.say("TG175.equation", step.span, near=known, name=name, known=known)
            elif name in found:
                problems.say("TG175.twice", step.span, found[name], name=name)
            else:
                found[name] = step.span
    return found
