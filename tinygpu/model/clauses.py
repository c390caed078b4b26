"""The clauses of a machine, sorted by kind, and what this version does not have yet said clearly.

Comes in: the tree of a machine. Goes out: one `Clauses`, with one more for each of several launches.
The one idea: whatever later steps read is here in one place, so that they never look at a clause that they do not know.
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygpu.diagnostic import NOWHERE, Label, Span
from tinygpu.model.problems import Problems, head
from tinygpu.record import dataclass, fields, is_dataclass, replace
from tinygpu.syntax import tree


@dataclass(frozen=True, slots=True)
class Clauses:
    """What a machine says, by kind, in the order of the text. `several` are its launches, each with the machine's clauses too."""

    work: tree.Work | None
    compute: tuple[tree.Compute, ...]
    own: tuple[tree.Own, ...]
    params: tuple[tree.Param, ...]
    where: tuple[tree.Expr, ...]
    per: tuple[tree.ForEquation, ...]
    equations: tuple[tree.Equations, ...]
    reduce: tuple[tree.Reduce, ...]
    keep: tuple[tree.Keep, ...]
    program: tree.ProgramClause | None
    launch: str = "main"
    span: Span = NOWHERE
    several: tuple[Clauses, ...] = ()
    stages: tuple[tree.Stage, ...] = ()

    @property
    def launches(self) -> tuple[Clauses, ...]:
        """The clauses of each launch, in order."""
        return self.several or (self,)


def sort_clauses(machine: tree.Machine, problems: Problems) -> Clauses:
    """`tree.Machine → Clauses`; says what is not in this version, and what stands twice."""
    launches = [c for c in machine.clauses if isinstance(c, tree.LaunchClause)]
    others = tuple(c for c in machine.clauses if not isinstance(c, tree.LaunchClause))
    for clause in (*others, *(c for one in launches for c in one.clauses)):
        _refuse(clause, problems)
    if not launches:
        return _sorted(others, machine.where, "main", NOWHERE, problems)
    if len(launches) == 1:
        one = launches[0]
        return _sorted((*others, *one.clauses), machine.where, one.name, _head(one), problems)
    for position, one in enumerate(launches):
        first = next((earlier for earlier in launches[:position] if earlier.name == one.name), None)
        if first:
            label = Label(_head(first), "the first")
            fix = "give each launch a name of its own"
            problems.add("TG102", f"the launch {one.name} stands twice", _head(one), "a second time", label, help=fix)
    parts = tuple(_sorted((*others, *one.clauses), (), one.name, _head(one), problems) for one in launches)
    whole = _sorted((*others, *(c for one in launches for c in one.clauses)), machine.where, "main", NOWHERE, problems)
    return replace(whole, work=None, several=parts)


def _head(launch: tree.LaunchClause) -> Span:
    return head(launch.span, f"launch {launch.name}")


def _sorted(clauses: tuple[tree.Clause, ...], where: tuple[tree.Expr, ...], name: str, span: Span, problems: Problems) -> Clauses:
    programs = [c for c in clauses if isinstance(c, tree.ProgramClause)]
    for second in programs[1:]:
        first = Label(programs[0].span, "the first")
        problems.add(
            "TG102", "program stands twice", second.span, "a second program", first, help="one program is the whole machine"
        )
    bare = tuple(tree.Compute((c,), None, c.span) for c in clauses if isinstance(c, tree.Binding))
    return Clauses(
        work=_work(clauses),
        compute=(*(c for c in clauses if isinstance(c, tree.Compute)), *bare),
        own=tuple(c for c in clauses if isinstance(c, tree.Own)),
        params=tuple(c for c in clauses if isinstance(c, tree.Param)),
        where=(*where, *(e for c in clauses if isinstance(c, tree.Where) for e in c.conditions)),
        per=tuple(c for c in clauses if isinstance(c, tree.ForEquation)),
        equations=tuple(c for c in clauses if isinstance(c, tree.Equations)),
        reduce=tuple(c for c in clauses if isinstance(c, tree.Reduce)),
        keep=tuple(c for c in clauses if isinstance(c, tree.Keep)),
        program=programs[0] if programs else None,
        launch=name,
        span=span,
        stages=tuple(c for c in clauses if isinstance(c, tree.Stage)),
    )


def _refuse(clause: tree.Clause, problems: Problems) -> None:
    if isinstance(clause, tree.Layout):
        fix = "write it inside of the braces of a stage"
        problems.add("TG109", "a layout stands outside of a stage", clause.span, "nothing here lies in shared memory", help=fix)
    if isinstance(clause, tree.LaunchClause):
        problems.add("TG109", "a launch inside a launch is not in this version yet", clause.span, help="take it out")


def _work(clauses: tuple[tree.Clause, ...]) -> tree.Work | None:
    """All work clauses as one; a level that stands in two of them is found later."""
    found = [c for c in clauses if isinstance(c, tree.Work)]
    if not found:
        return None
    return tree.Work(tuple(level for work in found for level in work.levels), found[0].span.to(found[-1].span))


def names_in(node: object) -> Iterator[str]:
    """Every bare name inside a tree node: what it might use."""
    match node:
        case tree.Name(name):
            yield name
        case tuple():
            for item in node:
                yield from names_in(item)
        case _ if is_dataclass(node) and not isinstance(node, Span | type):
            for part in fields(node):
                yield from names_in(getattr(node, part.name))
