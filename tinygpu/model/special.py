"""What the clauses of a launch say of single equations and tensors: where they are placed otherwise, how folds are combined, what is kept.

Comes in: the clauses of a launch. Goes out: tables by equation or tensor, and messages. The one idea: a clause that names something is read once,
and what it names has to be there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tinygpu.diagnostic import Span
from tinygpu.model.clauses import Clauses
from tinygpu.model.machine import Launch
from tinygpu.model.op import Op
from tinygpu.model.problems import Problems
from tinygpu.model.work import Factor
from tinygpu.record import replace
from tinygpu.syntax import tree

BY = ("shuffle", "shared", "atomic")  # how workers of a fold are combined


def special(clauses: Clauses, targets: Sequence[str], problems: Problems) -> dict[str, tuple[tree.Compute, ...]]:
    """The compute clauses that are for one equation only, by its name."""
    found: dict[str, tuple[tree.Compute, ...]] = {}
    per = clauses.of(tree.ForEquation)
    special: list[tuple[str, Span, tuple[tree.Compute, ...]]] = [(c.equation, c.span, (c,)) for c in clauses.compute if c.equation]
    special += [(p.equation, p.span, tuple(c for c in p.clauses if isinstance(c, tree.Compute))) for p in per]
    for name, span, computes in special:
        if name not in targets:
            problems.say("TG101.equation", span, near=targets, name=name, known=targets)
        found[name] = (*found.get(name, ()), *computes)
    for clause in (c for p in per for c in p.clauses if not isinstance(c, tree.Compute | tree.Own | tree.Reduce)):
        problems.say("TG109.special", clause.span)
    return found


def reduced(
    clauses: Clauses, targets: Sequence[str], table: Mapping[str, Factor], problems: Problems
) -> dict[str, tuple[tree.Reduce, ...]]:
    """The reduce clauses by equation, those inside of `for s { … }` too."""
    found: dict[str, tuple[tree.Reduce, ...]] = {}
    for clause in clauses.anywhere(tree.Reduce):
        unknown: list[tuple[str, str, Iterable[str]]] = [(n, "factor", table) for n in clause.factors if n not in table]
        unknown += [(clause.equation, "equation", targets)] if clause.equation not in targets else []
        unknown += [(clause.by, "way to combine", BY)] if clause.by not in BY else []
        home = next((p for p in clauses.of(tree.ForEquation) if clause in p.clauses and p.equation != clause.equation), None)
        if home:
            problems.say("TG535.home", clause.span, home.span, equation=clause.equation, home=home.equation)
        for name, kind, known in unknown:
            problems.say("TG101.kind", clause.span, near=known, name=name, kind=kind, known=known)
        seen = {n: r for r in found.get(clause.equation, ()) for n in r.factors}
        for name in (n for n in clause.factors if n in seen):
            problems.say("TG102.combined", clause.span, seen[name].span, name=name)
        if not unknown:
            found[clause.equation] = (*found.get(clause.equation, ()), clause)
    return found


def online(clauses: Clauses, targets: Sequence[str], time: Sequence[str], problems: Problems) -> tree.Online | None:
    """The folds that go on side by side in a loop."""
    every = clauses.of(tree.Online)
    for clause in every:
        unknown = [(n, "equation", targets) for n in clause.equations if n not in targets]
        unknown += [(clause.factor, "loop", time)] if clause.factor not in time else []
        for name, kind, known in unknown:
            problems.say("TG101.kind", clause.span, near=known, name=name, kind=kind, known=known)
        if (twice := next((n for n in clause.equations if clause.equations.count(n) > 1), None)) is not None:
            problems.say("TG539.again", clause.span, name=twice)
    for clause in every[1:]:
        problems.say("TG539.twice", clause.span, every[0].span)
    return every[0] if every else None


def kept(clauses: Clauses, op: Op, problems: Problems) -> tuple[tree.Keep, ...]:
    """The inputs and intermediates that are kept in registers, or by a core."""
    kept: dict[str, tree.Keep] = {}
    inputs = [t.name for t in (*op.inputs, *op.intermediates) if t.shape]
    for clause in clauses.of(tree.Keep):
        if clause.tensor not in inputs:
            problems.say("TG101.kept", clause.span, near=inputs, name=clause.tensor, known=inputs)
        elif clause.space != "register":
            problems.say("TG101.space", clause.span, space=clause.space, name=clause.tensor)
        kept[clause.tensor] = clause
    return tuple(kept.values())


def hinted(launch: Launch, clauses: Clauses, op: Op, problems: Problems) -> Launch:
    """The launch with the inputs of which the next point's elements are fetched while a core works on one, and the outputs that go past its caches."""
    ahead, leaving = (_named(kind, clauses, op, problems) for kind in (tree.Prefetch, tree.Stream))
    return replace(launch, prefetches=ahead, streams=leaving)


def _named(kind: type[tree.Prefetch | tree.Stream], clauses: Clauses, op: Op, problems: Problems) -> tuple[str, ...]:
    side, message = (op.inputs, "TG186.name") if kind is tree.Prefetch else (op.outputs, "TG186.output")
    known, found = [t.name for t in side if t.shape], dict[str, tree.Prefetch | tree.Stream]()
    for clause in clauses.of(kind):
        if clause.tensor not in known:
            problems.say(message, clause.span, near=known, name=clause.tensor, known=known)
        elif clause.tensor in found:
            problems.say("TG186.twice", clause.span, found[clause.tensor].span, name=clause.tensor)
        found[clause.tensor] = clause
    return tuple(found)
