"""The clauses of a machine, sorted by kind, and what this version does not have yet said clearly.

Comes in: the tree of a machine. Goes out: one `Clauses`, in which a single `launch { … }` has been opened.
The one idea: whatever later steps read is here in one place, so that they never look at a clause that they do not know.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass

from tinygpu.diagnostic import Label, Span
from tinygpu.model.problems import Problems, head
from tinygpu.syntax import tree

NOT_YET = {
    tree.Stage: ("stage", "this version has no shared memory: read the tensor where it is used"),
    tree.Reduce: ("reduce", "this version folds inside one thread: put the fold's factors under time or register"),
    tree.Keep: ("keep", "leave it out: each equation reads the tensor itself"),
    tree.Layout: ("layout", "layouts belong to stages, which come later"),
}


@dataclass(frozen=True, slots=True)
class Clauses:
    """What a machine says, by kind, in the order of the text."""

    work: tree.Work | None
    compute: tuple[tree.Compute, ...]
    own: tuple[tree.Own, ...]
    params: tuple[tree.Param, ...]
    where: tuple[tree.Expr, ...]
    per: tuple[tree.ForEquation, ...]
    equations: tuple[tree.Equations, ...]
    program: tree.ProgramClause | None
    launch: str = "main"


def sort_clauses(machine: tree.Machine, problems: Problems) -> Clauses:
    """`tree.Machine → Clauses`; says what is not in this version, and what stands twice."""
    clauses, launch = _opened(machine, problems)
    for clause in clauses:
        _refuse(clause, problems)
    work = _work(clauses)
    programs = [c for c in clauses if isinstance(c, tree.ProgramClause)]
    for second in programs[1:]:
        first = Label(programs[0].span, "the first")
        problems.add(
            "TG102", "program stands twice", second.span, "a second program", first, help="one program is the whole machine"
        )
    bare = tuple(tree.Compute((c,), None, c.span) for c in clauses if isinstance(c, tree.Binding))
    where = (*machine.where, *(e for c in clauses if isinstance(c, tree.Where) for e in c.conditions))
    return Clauses(
        work=work,
        compute=(*(c for c in clauses if isinstance(c, tree.Compute)), *bare),
        own=tuple(c for c in clauses if isinstance(c, tree.Own)),
        params=tuple(c for c in clauses if isinstance(c, tree.Param)),
        where=where,
        per=tuple(c for c in clauses if isinstance(c, tree.ForEquation)),
        equations=tuple(c for c in clauses if isinstance(c, tree.Equations)),
        program=programs[0] if programs else None,
        launch=launch,
    )


def _opened(machine: tree.Machine, problems: Problems) -> tuple[tuple[tree.Clause, ...], str]:
    """The clauses with those of the one launch among them, and its name."""
    launches = [c for c in machine.clauses if isinstance(c, tree.LaunchClause)]
    others = tuple(c for c in machine.clauses if not isinstance(c, tree.LaunchClause))
    for launch in launches[1:]:
        problems.add(
            "TG109",
            "several launches are not in this version yet",
            head(launch.span, f"launch {launch.name}"),
            "a second launch",
            Label(head(launches[0].span, f"launch {launches[0].name}"), "the first"),
            help="write one launch, or one machine for each",
        )
    if not launches:
        return others, "main"
    return (*others, *launches[0].clauses), launches[0].name


def _refuse(clause: tree.Clause, problems: Problems) -> None:
    word, fix = NOT_YET.get(type(clause), ("", ""))
    if word:
        problems.add(
            "TG109", f"{word} is not in this version yet", clause.span, "cooperation of threads comes in a later version", help=fix
        )
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
