"""The launch of a machine: its work object with every extent known, and a phase for each equation.

Comes in: the clauses, the table of factors, the op. Goes out: one `Launch`.
The one idea: extents of the work object that are not written are inferred from the equations, so the phases come first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tinygpu.category.term import Axis, Const, Term
from tinygpu.diagnostic import Span
from tinygpu.model.assignment import Setting, indices, owner
from tinygpu.model.clauses import Clauses, names_in
from tinygpu.model.machine import Launch, Phase
from tinygpu.model.op import Equation, Op
from tinygpu.model.problems import UNKNOWN, Problems
from tinygpu.model.scope import Scope
from tinygpu.model.stage import staged
from tinygpu.model.work import Factor, Placement, by_index, with_written_extents
from tinygpu.record import replace
from tinygpu.syntax import tree

ASSIGNING = tree.Compute | tree.Binding | tree.Own | tree.ForEquation | tree.Reduce | tree.Keep | tree.Equations | tree.Stage
BY = ("shuffle", "shared", "atomic")  # how workers of a fold are combined


def explicit(clauses: Clauses, table: Mapping[str, Factor], scope: Scope, place: Span) -> tuple[Launch, ...]:
    """The work object of a machine that gives its `program` itself: every extent is written, nothing is placed."""
    problems = scope.problems
    for one in (*(c for c in clauses.every if isinstance(c, ASSIGNING)), *clauses.several):
        problems.say("TG143.program", one.span)
    statements = clauses.program.body if clauses.program else ()
    if clauses.work is None and not any(isinstance(s, tree.LaunchStatement) for s in statements):
        problems.say("TG139.work", place)
    for factor in table.values():
        if factor.extent is None and factor.carried:
            example = "ceil(n / 256)" if factor.sort == "grid" else "256"
            problems.say("TG138.program", factor.span, name=factor.name, example=example)
    grid, block = (_axes(sort, table, {}, problems) for sort in ("grid", "block"))
    return (Launch(clauses.launch, grid, block, (), (), clauses.work.span if clauses.work else place),)


def derived(
    clauses: Clauses, op: Op, equations: Sequence[Equation], table: Mapping[str, Factor], scope: Scope, where: Term, place: Span
) -> Launch | None:
    """The work object and the phases of one launch, which evaluates these equations; None after a message."""
    problems = scope.problems
    if clauses.work is None:
        problems.say("TG139.work", place)
        return None
    work = clauses.work.span
    own = [c for c in clauses.compute if not c.equation]
    targets = [e.target for e in equations]
    special, reduced = _special(clauses, targets, problems), _reduced(clauses, targets, table, problems)
    written = (b for c in (*own, *(c for several in special.values() for c in several)) for b in c.bindings)
    table = with_written_extents(table, written, scope)
    everyone = frozenset(a.name for e in equations for a in indices(e, scope))
    before = len(problems)
    general = by_index(own, table, everyone, scope)
    setting = Setting(scope, table, where, work, len(problems) > before)
    _hidden(general.values(), everyone, setting)
    span = own[0].span.to(own[-1].span) if own else work
    phases = [_phase(e, general, special.get(e.target, ()), setting, span) for e in equations]
    _idle(setting)
    whole = [replace(p, reduce=reduced.get(p.equation.target, ())) for p in phases if p is not None]
    grid, block = (_axes(sort, table, setting.inferred, problems) for sort in ("grid", "block"))
    time = tuple(f.name for f in table.values() if f.sort == "time")
    keeps = _kept(clauses, op, problems)
    if len(whole) < len(phases):
        return None
    made = Launch(clauses.launch, grid, block, tuple(whole), time, work, keeps)
    return staged(made, clauses, op, table, scope, where)


def _special(clauses: Clauses, targets: Sequence[str], problems: Problems) -> dict[str, tuple[tree.Compute, ...]]:
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


def _reduced(
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


def _kept(clauses: Clauses, op: Op, problems: Problems) -> tuple[tree.Keep, ...]:
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


def _idle(setting: Setting) -> None:
    """Every factor serves some equation."""
    problems = setting.scope.problems
    quiet = len(problems)  # what is wrong elsewhere leaves factors idle
    for factor in setting.table.values():
        if factor.name not in setting.used and not quiet:
            problems.say("TG134.carried" if factor.carried else "TG134.own", factor.span, name=factor.name)


def _axes(sort: str, table: Mapping[str, Factor], inferred: Mapping[str, tuple[Term, str]], problems: Problems) -> tuple[Axis, ...]:
    """The work object at one level, slowest axis first."""
    axes = []
    for factor in (f for f in table.values() if f.sort == sort):
        extent = factor.extent if factor.extent is not None else inferred.get(factor.name, (None, ""))[0]
        if extent is None or extent.dtype == UNKNOWN:
            continue  # said already
        if sort == "block" and not isinstance(extent, Const):
            problems.say("TG136.work", factor.span, name=factor.name)
        axes.append(Axis(factor.name, extent, sort, factor.span))
    return tuple(axes)
