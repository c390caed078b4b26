"""The launches of a machine in order: their work objects, a phase for each equation, and what crosses from one to the next.

Comes in: the clauses of each launch, its table of factors, the op. Goes out: the launches, and the workspaces between them. The one idea: extents
of the work object that are not written are inferred from the equations, so the phases come first; an equation whose fold is left open on the
grid goes on in the next launch that evaluates it, and an intermediate that another launch computes is read from a workspace of its name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tinygpu.category.term import Axis, Const, Term, outermost_folds, reads
from tinygpu.category.text import claimed
from tinygpu.diagnostic import Span
from tinygpu.model import across
from tinygpu.model.again import computed_again
from tinygpu.model.assignment import Setting, indices, owner
from tinygpu.model.clauses import Clauses, names_in
from tinygpu.model.machine import Launch, Phase
from tinygpu.model.op import Equation, Op, Tensor, put_in
from tinygpu.model.parts import Hand
from tinygpu.model.problems import UNKNOWN, Problems
from tinygpu.model.scope import Scope
from tinygpu.model.special import hinted, kept, online, reduced, special
from tinygpu.model.stage import staged
from tinygpu.model.view import VIEW
from tinygpu.model.work import CLUSTER, Factor, Placement, by_index, clustered, with_written_extents
from tinygpu.record import dataclass, field, replace
from tinygpu.syntax import tree

ASSIGNING = tree.Compute | tree.Binding | tree.Own | tree.ForEquation | tree.Folding | tree.Near | tree.Equations | tree.Stage
Table = Mapping[str, Factor]


@dataclass(slots=True)
class Course:
    """What is known as the launches are elaborated, one after the other.

    `targets` are the equations of each launch; `open` the phases whose folds wait for a later launch, `left` what is left of their equations
    then; `done` in which launch a value became complete; `leaves` the intermediates that each launch leaves. `heads` are the equations that
    say what comes before the blocks of a scan, each with the scan's.
    """

    op: Op
    scope: Scope
    where: Term
    taken: set[str]
    targets: list[tuple[str, ...]]
    equations: dict[str, Equation]
    open: dict[str, Phase] = field(default_factory=dict)
    left: dict[str, tuple[Equation, ...]] = field(default_factory=dict)
    done: dict[str, int] = field(default_factory=dict)
    leaves: dict[int, dict[str, None]] = field(default_factory=dict)
    workspaces: list[Tensor] = field(default_factory=list)
    heads: dict[str, str] = field(default_factory=dict)
    hand: Hand | None = None

    def fresh(self, base: str) -> str:
        """A name for a workspace that nothing else has."""
        return claimed(base, self.taken, "")

    def before(self, target: str) -> tuple[str, ...]:
        """What holds what comes before the blocks of an equation's scans."""
        return tuple(name for name, scan in self.heads.items() if scan == target)


def several(
    clauses: Clauses, op: Op, tables: Sequence[Table], scope: Scope, where: Term, place: Span, hand: Hand | None = None
) -> tuple[tuple[Launch, ...], tuple[Tensor, ...]]:
    """The launches and the workspaces, of a program those that are derived beside what is by `hand`; what is wrong is added to the scope's problems."""
    problems = scope.problems
    before = len(problems)
    targets = [_targets(one, clauses, op, scope, hand) for one in clauses.launches]
    if len(problems) > before:
        return (), ()
    named = {name for names in targets for name in names} | (hand.made if hand else set())
    equations = _equations(op, named, scope, place if hand is None else None)
    taken = {
        *(hand.taken if hand else ()),
        *op.sizes,
        *(t.name for t in (*op.tensors, *op.intermediates)),
        *scope.constants,
        *(n for t in tables for n in t),
    }
    course = Course(op, scope, where, taken, targets, equations, hand=hand)
    made: list[Launch] = []
    for number, one in enumerate(clauses.launches):
        launch = _launch(course, number, one, tables[number], one.span if clauses.several else place)
        if launch is None or len(problems) > before:
            return (), ()
        made.append(launch)
    for name in (n for n in sorted(hand.read if hand else ()) if n in course.done):
        course.leaves.setdefault(course.done[name], {})[name] = None
    whole = tuple(replace(one, leaves=tuple(course.leaves.get(n, ()))) for n, one in enumerate(made))
    crossing = [op.tensor(name) for one in whole for name in one.leaves]
    return whole, (*(replace(t, role="workspace") for t in crossing), *course.workspaces)


def _targets(one: Clauses, clauses: Clauses, op: Op, scope: Scope, hand: Hand | None) -> tuple[str, ...]:
    """The equations that a launch evaluates: those it names, or all; several launches may share the one equation there is. A launch with steps of its
    own evaluates what these say."""
    every = [e.target for e in op.equations if op.tensor(e.target).role != VIEW]
    named = [(name, clause.span) for clause in one.of(tree.Equations) for name in clause.names]
    if hand is not None and one.launch in hand.compute:
        named += hand.compute[one.launch].items()
        if not named:
            return ()
    for name, span in ((name, span) for name, span in named if name not in every):
        scope.problems.say("TG101.equation", span, near=every, name=name, known=every)
    if named:
        return tuple(t for t in every if t in {name for name, _ in named})
    needed = [e.target for e in op.equations if e.target in every and not _loose(e, op)]
    said = [{name for clause in launch.of(tree.Equations) for name in clause.names} for launch in clauses.launches]
    if clauses.several and len(needed) > 1 and said.count(set()) > (hand is None):
        scope.problems.say("TG536.unsaid", one.span, launch=one.launch, every=every, first=needed[0])
    return tuple([t for t in needed if not any(t in names for names in said)] or needed) if clauses.several else tuple(every)


def _loose(equation: Equation, op: Op) -> bool:
    """Whether an equation may be put in where its value is read: an intermediate without a fold."""
    return equation.target not in (t.name for t in op.outputs) and not outermost_folds(equation.value)


def _equations(op: Op, named: set[str], scope: Scope, place: Span | None) -> dict[str, Equation]:
    """The equations by target; those that no launch evaluates are put in where they are read, or, but for what is by hand, missed."""
    found: dict[str, Equation] = {}
    for equation in op.equations:
        if place is not None and equation.target not in named and not _loose(equation, op):
            scope.problems.say("TG536.nobody", place, equation.span, target=equation.target)
        found[equation.target] = replace(equation, value=put_in(equation.value, {n: e for n, e in found.items() if n not in named}))
    return found


def _launch(course: Course, number: int, clauses: Clauses, table: Table, place: Span) -> Launch | None:
    """One launch: its work object, and a phase for each of its equations, as far as earlier launches have left them; None after a message."""
    scope, problems, targets = course.scope, course.scope.problems, course.targets[number]
    for name in targets:
        if name in course.done and name in (t.name for t in course.op.outputs):
            problems.say("TG536.twice", place, name=name)
    if clauses.work is None:
        problems.say("TG139.work", place)
        return None
    equations = [equation for t in targets for equation in course.left.get(t, (course.equations[t],))]
    work, targets = clauses.work.span, tuple(e.target for e in equations)
    own = [c for c in clauses.compute if not c.equation]
    apart, combined = special(clauses, targets, problems), reduced(clauses, targets, table, problems)
    written = (b for c in (*own, *(c for several in apart.values() for c in several)) for b in c.bindings)
    table = with_written_extents(table, written, scope)
    everyone = frozenset(a.name for e in equations for a in indices(e, scope))
    before = len(problems)
    general = by_index(own, table, everyone, scope)
    setting = Setting(scope, table, course.where, work, len(problems) > before)
    _hidden(general.values(), everyone, setting)
    span = own[0].span.to(own[-1].span) if own else work
    phases = [_phase(e, general, apart.get(e.target, ()), setting, span) for e in equations]
    if all(phases):
        held = {*apart, *combined, *(c.tensor for c in clauses.of(tree.Keep)), *(c.access.name for c in clauses.of(tree.Stage))}
        again = _again(course, [p for p in phases if p], table, held)
        phases = [
            p if p and p.equation is e else _phase(e, general, apart.get(e.target, ()), setting, span)
            for p, e in zip(phases, again, strict=True)
        ]
    wrong = len(problems) > 0  # what is wrong elsewhere leaves factors idle
    spoken = set(names_in(clauses.program)) if course.hand else ()
    for factor in (f for f in table.values() if f.name not in (*setting.used, *spoken) and not wrong):
        _idle(factor, targets, course)
    whole = [replace(p, reduce=combined.get(p.equation.target, ())) for p in phases if p is not None]
    grid, block = (_axes(sort, table, setting.inferred, problems) for sort in ("grid", "block"))
    time = tuple(f.name for f in table.values() if f.sort == "time")
    if len(whole) < len(phases):
        return None
    keeps, near, going = kept(clauses, course.op, problems), clustered(table), online(clauses, targets, time, problems)
    made = Launch(clauses.launch, grid, block, tuple(whole), time, work, keeps, cluster=near, online=going)
    made = staged(hinted(made, clauses, course.op, problems), clauses, course.op, table, scope, course.where)
    made = replace(made, holds=course.hand.holds(clauses.launch, course.op) if course.hand else ())
    for phase in (p for p in made.phases if p.equation.target in made.holds and across.incomplete(p)):
        factors = [a.name for a in across.incomplete(phase)]
        assert course.hand is not None
        place = course.hand.compute[clauses.launch][phase.equation.target]
        problems.say("TG175.open", place, phase.equation.span, name=phase.equation.target, factors=factors)
        return None
    made = replace(made, phases=tuple(_left(course, number, phase) for phase in made.phases))
    for phase in made.phases:
        _reads(course, number, phase)
    return made


def _again(course: Course, phases: Sequence[Phase], table: Table, held: set[str]) -> tuple[Equation, ...]:
    """The equations, those of intermediates put in where a thread has to compute them again."""
    between = {t.name for t in course.op.intermediates} - {*course.left, *course.heads}
    time = [f.name for f in table.values() if f.sort == "time"]
    return computed_again(phases, time, held.union(p.equation.target for p in phases) - (between - held))


def _idle(factor: Factor, targets: Sequence[str], course: Course) -> None:
    """Says that nothing is computed from a factor; where an equation of another launch has such an index, that this one may compute it again."""
    for name, equation in course.equations.items():
        if name not in targets and factor.name in (a.name for a in indices(equation, course.scope)):
            every = ", ".join(t for t in course.equations if t in (*targets, name))
            course.scope.problems.say("TG134.elsewhere", factor.span, equation.span, name=factor.name, target=name, every=every)
            return
    course.scope.problems.say("TG134.carried" if factor.carried else "TG134.own", factor.span, name=factor.name)


def _left(course: Course, number: int, phase: Phase) -> Phase:
    """A phase with its workspaces, where a fold of it is left open; what a later launch needs to know of it."""
    target, problems = phase.equation.target, course.scope.problems
    across.check_reduce(phase, problems)
    across.check_atomic(phase, course.op, problems)
    if (scan := course.heads.get(target)) is not None:  # what comes before each block; then the blocks again
        if across.incomplete(phase):
            across.goes_on(phase, (), 0, problems)
        course.left[scan] = (course.equations[scan],)
        return replace(phase, parts=(target,), known=across.known(course.open[scan], course.before(scan).index(target)))
    if before := course.before(target):
        if (first := course.open.pop(target, None)) is not None:
            across.check_blocks(first, phase, problems)
        course.done[target] = number
        return replace(phase, before=before)
    if not across.incomplete(phase):
        course.open.pop(target, None)
        course.left.pop(target, None)
        course.done[target] = number
        return phase
    later = sum(target in names for names in course.targets[number + 1 :])
    if not across.goes_on(phase, across.scans(phase), later, problems):
        return phase
    course.open[target] = phase = across.partial(phase, course.fresh)
    heads = across.heads(phase, course.fresh)
    course.heads |= {one.target: target for one in heads}
    course.left[target] = heads or (across.continued(phase),)
    course.workspaces.extend((*across.workspaces(phase), *map(across.space, heads)))
    return phase


def _reads(course: Course, number: int, phase: Phase) -> None:
    """Every intermediate that an equation reads is complete here, or was left by an earlier launch. Says if not."""
    between = {t.name for t in course.op.intermediates}
    for read in (r for r in reads(phase.equation.value) if r.tensor in between):
        name, target = read.tensor, phase.equation.target
        if name in course.open:
            factors = [a.name for a in across.incomplete(course.open[name])]
            course.scope.problems.say("TG536.incomplete", read.span, name=name, target=target, factors=factors)
        elif name not in course.done and not (course.hand and name in course.hand.made):
            course.scope.problems.say("TG536.before", read.span, name=name, target=target)
        elif name in course.done and name not in course.targets[number]:
            course.leaves.setdefault(course.done[name], {})[name] = None


# ── one launch ─────────────────────────────────────────────────────────────────────────────────────────────────────


def explicit(clauses: Clauses, table: Mapping[str, Factor], scope: Scope, place: Span) -> tuple[Launch, ...]:
    """The work object of a machine that gives its `program` itself: every extent is written, nothing is placed."""
    problems = scope.problems
    for one in (*(c for c in clauses.every if isinstance(c, ASSIGNING)), *clauses.several):
        problems.say("TG143.program", one.span)
    statements = clauses.program.body if clauses.program else ()
    if clauses.work is None and not tree.launching(statements):
        problems.say("TG139.work", place)
    for factor in table.values():
        if factor.extent is None and factor.carried:
            example = "ceil(n / 256)" if factor.sort == "grid" else "256"
            problems.say("TG138.program", factor.span, name=factor.name, example=example)
    grid, block = (_axes(sort, table, {}, problems) for sort in ("grid", "block"))
    return (Launch(clauses.launch, grid, block, (), (), clauses.work.span if clauses.work else place, cluster=clustered(table)),)


def _phase(
    equation: Equation, general: Mapping[str, Placement | None], special: Sequence[tree.Compute], setting: Setting, span: Span
) -> Phase | None:
    """One equation with its owner: the general placements, those of this equation before them."""
    known = frozenset(a.name for a in indices(equation, setting.scope))
    own = by_index(special, setting.table, known, setting.scope)
    _hidden(own.values(), known, setting)
    kept = {n: p for n, p in general.items() if p is None or not set(p.indices) & set(own)}
    arrow = owner(equation, {**kept, **own}, setting)
    return Phase(equation, arrow, special[0].span if special else span) if arrow else None


def _hidden(placements: Iterable[Placement | None], everyone: frozenset[str], setting: Setting) -> None:
    """A factor may bear the name of an index only if it is a digit of that index."""
    for one in (p for p in placements if p is not None):
        names = one.factors if one.term is None else tuple(n for n in names_in(one.term) if n in setting.table)
        for name in (n for n in names if n in everyone and n not in one.indices):
            setting.scope.problems.say("TG103.index", one.span, setting.table[name].span, name=name, indices=one.indices)


def _axes(sort: str, table: Mapping[str, Factor], inferred: Mapping[str, tuple[Term, str]], problems: Problems) -> tuple[Axis, ...]:
    """The work object at one level, slowest axis first."""
    axes = []
    for factor in (f for f in table.values() if f.sort == sort):
        extent = factor.extent if factor.extent is not None else inferred.get(factor.name, (None, ""))[0]
        if extent is None or extent.dtype == UNKNOWN:
            continue  # said already
        if (sort == "block" or factor.clustered) and not isinstance(extent, Const):
            level, example = (CLUSTER, 2) if factor.clustered else (sort, 256)
            problems.say("TG136.work", factor.span, name=factor.name, level=level, example=example)
        axes.append(Axis(factor.name, extent, sort, factor.span))
    return tuple(axes)
