"""The launches of a machine in order: which equations each evaluates, and what crosses from one to the next.

Comes in: the clauses of each launch, and the op. Goes out: the launches, and the workspaces between them.
The one idea: an equation whose fold is left open on the grid goes on in the next launch that evaluates it, and an intermediate that
another launch computes is read from a workspace of its name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tinygpu.category.term import Read, Term, memoised, outer_folds, rebuild, walk
from tinygpu.category.text import claimed
from tinygpu.diagnostic import Span
from tinygpu.model import across
from tinygpu.model.clauses import Clauses
from tinygpu.model.launch import derived
from tinygpu.model.machine import Launch, Phase
from tinygpu.model.op import Equation, Op, Tensor
from tinygpu.model.prefix import scans
from tinygpu.model.scope import Scope
from tinygpu.model.work import Factor
from tinygpu.record import dataclass, field, replace
from tinygpu.syntax import tree

Table = Mapping[str, Factor]


@dataclass(slots=True)
class Course:
    """What is known as the launches are elaborated, one after the other.

    `targets` are the equations of each launch; `open` the phases whose folds wait for a later launch; `done` in which launch a value
    became complete; `leaves` the intermediates that each launch leaves. `heads` are the equations that a scan over the grid goes on with,
    `chained` the workspaces that hold what comes before its blocks.
    """

    op: Op
    scope: Scope
    where: Term
    taken: set[str]
    targets: list[tuple[str, ...]]
    equations: dict[str, Equation]
    open: dict[str, Phase] = field(default_factory=dict)
    done: dict[str, int] = field(default_factory=dict)
    leaves: dict[int, dict[str, None]] = field(default_factory=dict)
    workspaces: list[Tensor] = field(default_factory=list)
    heads: dict[str, tuple[Equation, ...]] = field(default_factory=dict)
    chained: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def fresh(self, base: str) -> str:
        """A name for a workspace that nothing else has."""
        return claimed(base, self.taken, "")


def several(
    clauses: Clauses, op: Op, tables: Sequence[Table], scope: Scope, where: Term, place: Span
) -> tuple[tuple[Launch, ...], tuple[Tensor, ...]]:
    """The launches and the workspaces; what is wrong is added to the scope's problems."""
    problems = scope.problems
    before = len(problems)
    targets = [_targets(one, clauses, op, scope) for one in clauses.launches]
    if len(problems) > before:
        return (), ()
    equations = _equations(op, {name for names in targets for name in names}, scope, place)
    taken = {*op.sizes, *(t.name for t in (*op.tensors, *op.intermediates)), *scope.constants, *(n for t in tables for n in t)}
    course = Course(op, scope, where, taken, targets, equations)
    made: list[Launch] = []
    for number, one in enumerate(clauses.launches):
        launch = _launch(course, number, one, tables[number], one.span if clauses.several else place)
        if launch is None or len(problems) > before:
            return (), ()
        made.append(launch)
    whole = tuple(replace(one, leaves=tuple(course.leaves.get(n, ()))) for n, one in enumerate(made))
    crossing = [op.tensor(name) for one in whole for name in one.leaves]
    return whole, (*(replace(t, role="workspace") for t in crossing), *course.workspaces)


def _targets(one: Clauses, clauses: Clauses, op: Op, scope: Scope) -> tuple[str, ...]:
    """The equations that a launch evaluates: those it names, or all; several launches may share the one equation there is."""
    every = [e.target for e in op.equations]
    named = [(name, clause.span) for clause in one.of(tree.Equations) for name in clause.names]
    for name, span in named:
        if name not in every:
            scope.problems.say("TG101.equation", span, near=every, name=name, known=every)
    if named:
        return tuple(t for t in every if t in {name for name, _ in named})
    needed = [e.target for e in op.equations if not _put_in(e, op)]
    if clauses.several and len(needed) > 1:
        scope.problems.say("TG536.unsaid", one.span, launch=one.launch, every=every, first=needed[0])
    return tuple(needed) if clauses.several else tuple(every)


def _put_in(equation: Equation, op: Op) -> bool:
    """Whether an equation may be put in where its value is read: an intermediate without a fold."""
    return equation.target not in (t.name for t in op.outputs) and not outer_folds(equation.value)


def _equations(op: Op, named: set[str], scope: Scope, place: Span) -> dict[str, Equation]:
    """The equations by target; those that no launch evaluates are put in where they are read, or missed."""
    found: dict[str, Equation] = {}

    @memoised
    def put(term: Term) -> Term:
        term = rebuild(term, put)
        inner = isinstance(term, Read) and term.tensor not in named and term.tensor in found
        return found[term.tensor].at(term.index) if isinstance(term, Read) and inner else term

    for equation in op.equations:
        if equation.target not in named and not _put_in(equation, op):
            scope.problems.say("TG536.nobody", place, equation.span, target=equation.target)
        found[equation.target] = replace(equation, value=put(equation.value))
    return found


def _launch(course: Course, number: int, clauses: Clauses, table: Table, place: Span) -> Launch | None:
    """One launch: its equations, as far as earlier launches have left them."""
    targets, problems = course.targets[number], course.scope.problems
    for name in targets:
        if name in course.done and name in (t.name for t in course.op.outputs):
            problems.say("TG536.twice", place, name=name)
    equations = [equation for t in targets for equation in _next(course, t)]
    launch = derived(clauses, course.op, equations, table, course.scope, course.where, place)
    if launch is None:
        return None
    phases = tuple(_phase(course, number, phase) for phase in launch.phases)
    for phase in phases:
        _reads(course, number, phase)
    return replace(launch, phases=phases)


def _next(course: Course, target: str) -> tuple[Equation, ...]:
    """What a launch evaluates of an equation: itself, or what earlier launches have left of it."""
    if target in course.heads:
        return course.heads[target]
    if target in course.open and target not in course.chained:
        return (across.continued(course.open[target]),)
    return (course.equations[target],)


def _head_of(course: Course, target: str) -> str | None:
    """The equation of which another one says what comes before each block of its scan."""
    return next((name for name, heads in course.heads.items() if target in (h.target for h in heads)), None)


def _scan(course: Course, number: int, phase: Phase) -> Phase:
    """One launch of the three of a scan over the grid."""
    target, problems = phase.equation.target, course.scope.problems
    first = _head_of(course, target)
    if first is not None:  # the second: what comes before each block
        if across.incomplete(phase):
            across.open_grid(phase, problems)
        course.chained[first] = (*course.chained.get(first, ()), target)
        if len(course.chained[first]) == len(course.heads[first]):
            del course.heads[first]
        return replace(phase, parts=(target,), known=across.known(course.open[first], len(course.chained[first]) - 1))
    if target in course.chained:  # the third: the blocks again
        across.check_blocks(course.open.pop(target), phase, problems)
        course.done[target] = number
        return replace(phase, before=course.chained[target])
    if not across.check_open(phase, problems, sum(target in names for names in course.targets[number + 1 :])):
        return phase
    phase = across.partial(phase, course.fresh)
    course.open[target], course.heads[target] = phase, across.heads(phase, course.fresh)
    course.workspaces.extend((*across.workspaces(phase), *map(across.space, course.heads[target])))
    return phase


def _phase(course: Course, number: int, phase: Phase) -> Phase:
    """A phase with its workspaces, where a fold of it is left open; what a later launch needs to know of it."""
    target, problems = phase.equation.target, course.scope.problems
    across.check_reduce(phase, problems)
    across.check_atomic(phase, course.op, problems)
    if target in course.chained or (across.incomplete(phase) and scans(phase)) or _head_of(course, target) is not None:
        return _scan(course, number, phase)
    if not across.incomplete(phase):
        course.open.pop(target, None)
        course.done[target] = number
        return phase
    later = any(target in names for names in course.targets[number + 1 :])
    if not later or across.atomic(phase) or any(across.left(phase, fold) for fold in across.nested(phase)):
        across.open_grid(phase, problems)
        return phase
    phase = across.partial(phase, course.fresh)
    course.open[target] = phase
    course.workspaces.extend(across.workspaces(phase))
    return phase


def _reads(course: Course, number: int, phase: Phase) -> None:
    """Every intermediate that an equation reads is complete here, or was left by an earlier launch. Says if not."""
    for read in walk(phase.equation.value):
        if not isinstance(read, Read) or read.tensor not in (t.name for t in course.op.intermediates):
            continue
        name, target = read.tensor, phase.equation.target
        if name in course.open:
            factors = [a.name for a in across.incomplete(course.open[name])]
            course.scope.problems.say("TG536.incomplete", read.span, name=name, target=target, factors=factors)
        elif name not in course.done:
            course.scope.problems.say("TG536.before", read.span, name=name, target=target)
        elif name not in course.targets[number]:
            course.leaves.setdefault(course.done[name], {})[name] = None
