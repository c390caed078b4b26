"""What a machine says, and the params that it speaks of: names for numbers, fixed or each of a set.

Comes in: the tree of a machine. Goes out: one `Clauses`, with one more for each of several launches; for each choice of the params, the
numbers by name. The one idea: what stands in braces is asked for by kind, so whoever reads it never looks at a clause that it does not
know; and a param is gone after elaboration, since a machine with sets is one machine for each choice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from tinygpu.category.term import TRUE, Const
from tinygpu.diagnostic import NOWHERE, Span
from tinygpu.model.problems import UNKNOWN, Problems, head
from tinygpu.model.scope import Scope
from tinygpu.model.value import condition, index
from tinygpu.record import dataclass, replace
from tinygpu.syntax import tree
from tinygpu.syntax.node import nodes

T = TypeVar("T")
Params = Mapping[str, tree.Param]
MOST = 1000  # choices of the params of a machine


@dataclass(frozen=True, slots=True)
class Clauses:
    """What stands in the braces of a machine, a launch or a stage, in the order of the text; `head` are the conditions before them.
    `several` are the launches of a machine, each with the machine's clauses too."""

    every: tuple[tree.Clause, ...]
    head: tuple[tree.Expr, ...] = ()
    launch: str = "main"
    span: Span = NOWHERE
    several: tuple[Clauses, ...] = ()

    def of(self, kind: type[T]) -> tuple[T, ...]:
        """The clauses of a kind."""
        return tuple(c for c in self.every if isinstance(c, kind))

    def anywhere(self, kind: type[T]) -> tuple[T, ...]:
        """The clauses of a kind, those for one equation too."""
        return (*self.of(kind), *(c for one in self.of(tree.ForEquation) for c in one.clauses if isinstance(c, kind)))

    @property
    def work(self) -> tree.Work | None:
        """All work clauses as one; a level that stands in two of them is found later."""
        found = self.of(tree.Work)
        if not found or self.several:
            return None
        return tree.Work(tuple(level for work in found for level in work.levels), span=found[0].span.to(found[-1].span))

    @property
    def compute(self) -> tuple[tree.Compute, ...]:
        """The compute clauses; a binding alone is one."""
        return (*self.of(tree.Compute), *(tree.Compute((c,), span=c.span) for c in self.of(tree.Binding)))

    @property
    def where(self) -> tuple[tree.Expr, ...]:
        """The preconditions, those of launches in a program too."""
        launches = (one for one in (self.program.body if self.program else ()) if isinstance(one, tree.LaunchClause))
        inside = (c for one in launches for c in one.clauses if isinstance(c, tree.Where))
        return (*self.head, *(e for c in (*self.of(tree.Where), *inside) for e in c.conditions))

    @property
    def program(self) -> tree.ProgramClause | None:
        return next(iter(self.of(tree.ProgramClause)), None)

    @property
    def launches(self) -> tuple[Clauses, ...]:
        """The clauses of each launch, in order."""
        return self.several or (self,)


def clauses_of(machine: tree.Machine, problems: Problems) -> Clauses:
    """`tree.Machine → Clauses`; says what is not in this version, and what stands twice."""
    launches = [c for c in machine.clauses if isinstance(c, tree.LaunchClause)]
    others = tuple(c for c in machine.clauses if not isinstance(c, tree.LaunchClause))
    places = {one.span: head(one.span, f"launch {one.name}") for one in launches}
    parts = tuple(Clauses((*others, *one.clauses), (), one.name, places[one.span]) for one in launches)
    every = (*others, *(c for one in launches for c in one.clauses))
    for clause in every:
        if isinstance(clause, tree.Layout | tree.LaunchClause):
            problems.say("TG109.layout" if isinstance(clause, tree.Layout) else "TG109.launch", clause.span)
    for position, one in enumerate(launches):
        first = next((earlier for earlier in launches[:position] if earlier.name == one.name), None)
        if first:
            problems.say("TG102.launch", places[one.span], places[first.span], name=one.name)
    whole = replace(parts[0], head=machine.where) if len(parts) == 1 else Clauses(every, machine.where, several=parts)
    for second in whole.of(tree.ProgramClause)[1:]:
        problems.say("TG102.program", second.span, whole.of(tree.ProgramClause)[0].span)
    return whole


def decided(machine: tree.Machine, constants: Mapping[str, int], problems: Problems) -> tree.Machine:
    """A machine for one choice of its params: of each `if` the clauses, or nothing."""

    def taken(clauses: tuple[tree.Clause, ...]) -> Iterator[tree.Clause]:
        for one in clauses:
            if isinstance(one, tree.IfClause):
                yield from taken(one.clauses) if _true(one.condition, Scope(problems, constants=constants)) else ()
            elif isinstance(one, tree.LaunchClause | tree.ForEquation | tree.Stage):
                yield replace(one, clauses=tuple(taken(one.clauses)))
            elif isinstance(one, tree.ProgramClause):
                launches = (
                    replace(s, clauses=tuple(taken(s.clauses))) if isinstance(s, tree.LaunchClause) else s for s in one.body
                )
                yield replace(one, body=tuple(launches))
            else:
                yield one

    for param in (p for node in nodes(machine.clauses) if isinstance(node, tree.IfClause) for p in node.clauses):
        if isinstance(param, tree.Param):
            problems.say("TG173.param", param.span, name=param.name)
    return replace(machine, clauses=tuple(taken(machine.clauses)))


def _true(expr: tree.Expr, scope: Scope) -> bool:
    """Whether a condition over params holds; says so where it speaks of anything else."""
    private = Problems()
    found = condition(expr, replace(scope, problems=private))
    if not isinstance(found, Const) or found.dtype == UNKNOWN:
        unknown = [d for d in private.found if d.code != "TG101"]
        for diagnostic in unknown:
            scope.problems.take(diagnostic)
        if not unknown:
            scope.problems.say("TG173.open", expr.span)
    return found == TRUE


def names_in(node: object) -> Iterator[str]:
    """Every bare name inside a tree: what it might use."""
    return (one.name for one in nodes(node) if isinstance(one, tree.Name))


# ── params ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def declared(params: Iterable[tree.Param], before: Params, problems: Problems) -> dict[str, tree.Param]:
    """The params by name, in order; says which stand twice."""
    found: dict[str, tree.Param] = {}
    for param in params:
        first = {**before, **found}.get(param.name)
        if first:
            problems.say("TG102.declared", param.span, first.span, what=f"param {param.name}")
        else:
            found[param.name] = param
    return found


def unused(params: Iterable[tree.Param], used: set[str], where: str, problems: Problems) -> None:
    """Says which params nothing speaks of."""
    for param in params:
        if param.name not in used:
            problems.say("TG104.param", param.span, verdict="warning", name=param.name, where=where)


def fixed(param: tree.Param) -> bool:
    """Whether a param is one number rather than each of a set."""
    return param.value is not None


def combinations(params: Params, problems: Problems) -> list[dict[str, int]]:
    """Every choice of a value for each param, in order; a param may be a term over those before it. None if one is wrong.

    >>> two = tree.Param("B", choices=(tree.Number("1"), tree.Number("2")))
    >>> combinations({"B": two, "C": tree.Param("C", tree.Binary("*", tree.Name("B"), tree.Number("8")))}, Problems())
    [{'B': 1, 'C': 8}, {'B': 2, 'C': 16}]
    """
    chosen: list[dict[str, int]] = [{}]
    wrong: set[str] = set()
    for name, param in params.items():
        exprs = param.choices if param.value is None else (param.value,)
        if wrong & set(names_in(exprs)):
            wrong.add(name)  # said already
            continue
        before = len(problems)
        if (count := len(chosen) * len(exprs)) > MOST:
            problems.say("TG144.choices", param.span, most=MOST, own=len(exprs), count=count)
            return []
        longer = [
            {**one, name: number}
            for one in chosen
            for number in dict.fromkeys(_number(expr, Scope(problems, constants=one)) for expr in exprs)
            if number is not None
        ]
        if len(problems) > before or not longer:
            wrong.add(name)
        else:
            chosen = longer
    return [] if wrong else chosen


def _number(expr: tree.Expr, scope: Scope) -> int | None:
    private = Problems()
    match index(expr, replace(scope, problems=private)):
        case Const(int(value), dtype) if dtype != UNKNOWN:
            return value
    unknown = [d for d in private.found if d.code == "TG101"]
    for diagnostic in unknown:
        scope.problems.take(diagnostic)
    if not unknown:
        scope.problems.say("TG141.param", expr.span)
    return None


def settled(params: Params) -> dict[str, tree.Param]:
    """The params that are one number: fixed, and made of fixed ones. Shapes may speak of these only."""
    found: dict[str, tree.Param] = {}
    for name, param in params.items():
        if fixed(param) and not set(names_in(param.value)) & (set(params) - set(found)):
            found[name] = param
    return found
