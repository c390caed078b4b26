"""The launch of a machine: its work object with every extent known, and a phase for each equation.

Comes in: the clauses, the table of factors, the op. Goes out: one `Launch`.
The one idea: extents of the work object that are not written are inferred from the equations, so the phases come first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tinygpu.category.term import Axis, Const, Term
from tinygpu.diagnostic import Label, Span
from tinygpu.model.assignment import Setting, indices, owner
from tinygpu.model.clauses import Clauses, names_in
from tinygpu.model.machine import Launch, Phase
from tinygpu.model.op import Equation, Op
from tinygpu.model.placing import Placement, by_index
from tinygpu.model.problems import UNKNOWN, listing, suggestion
from tinygpu.model.scope import Scope
from tinygpu.model.stage import staged
from tinygpu.model.work import CARRIED, Factor, with_written_extents
from tinygpu.syntax import tree


def explicit(clauses: Clauses, table: Mapping[str, Factor], scope: Scope, place: Span) -> Launch | None:
    """The work object of a machine that gives its `program` itself: every extent is written, nothing is placed."""
    problems = scope.problems
    extra: tuple[tree.Compute | tree.Own | tree.ForEquation, ...] = (*clauses.compute, *clauses.own, *clauses.per)
    for clause in extra:
        problems.add(
            "TG143",
            "a machine with a program has no assignment",
            clause.span,
            "the program says what each thread does",
            help="remove this clause, or the program",
        )
    statements = clauses.program.body if clauses.program else ()
    if clauses.work is None and not any(isinstance(s, tree.LaunchStatement) for s in statements):
        _no_work(place, scope)
    for factor in table.values():
        if factor.extent is None and factor.carried:
            fix = f"write it: {factor.name}: {'ceil(n / 256)' if factor.sort == 'grid' else '256'}"
            problems.add("TG138", f"the factor {factor.name} has no extent", factor.span, "a program infers nothing", help=fix)
    grid, block = (_axes(sort, table, {}, scope) for sort in ("grid", "block"))
    return Launch(clauses.launch, grid, block, (), (), clauses.work.span if clauses.work else place)


def derived(clauses: Clauses, op: Op, table: Mapping[str, Factor], scope: Scope, where: Term, place: Span) -> Launch | None:
    """The work object and the phases of a machine that assigns it."""
    if clauses.work is None:
        _no_work(place, scope)
        return None
    work = clauses.work.span
    own = [c for c in clauses.compute if not c.equation]
    special = _special(clauses, op, scope)
    table = with_written_extents(
        table, (b for c in (*own, *(s for several in special.values() for s in several)) for b in c.bindings), scope
    )
    everyone = frozenset(a.name for e in op.equations for a in indices(e, scope))
    before = len(scope.problems)
    general = by_index(own, table, everyone, scope)
    setting = Setting(scope, table, where, work, len(scope.problems) > before)
    _hidden(general.values(), table, everyone, scope)
    span = own[0].span.to(own[-1].span) if own else work
    phases = [_phase(e, general, special.get(e.target, ()), setting, span) for e in op.equations]
    _idle(setting)
    whole = [p for p in phases if p is not None]
    grid, block = (_axes(sort, table, setting.inferred, scope) for sort in ("grid", "block"))
    time = tuple(f.name for f in table.values() if f.sort == "time")
    made = Launch(clauses.launch, grid, block, tuple(whole), time, work) if len(whole) == len(phases) else None
    return staged(made, clauses, op, table, scope, where) if made and clauses.stages else made


def _no_work(place: Span, scope: Scope) -> None:
    scope.problems.add(
        "TG139",
        "the machine has no work object",
        place,
        "nothing says how many threads there are",
        help="add work grid = (g), block = (t: 256), or for one thread work grid = (), block = ()",
    )


def _special(clauses: Clauses, op: Op, scope: Scope) -> dict[str, tuple[tree.Compute, ...]]:
    """The compute clauses that are for one equation only, by its name."""
    found: dict[str, tuple[tree.Compute, ...]] = {}
    targets = [e.target for e in op.equations]
    per: list[tuple[str, Span, tuple[tree.Compute, ...]]] = [(c.equation, c.span, (c,)) for c in clauses.compute if c.equation]
    per += [(p.equation, p.span, tuple(c for c in p.clauses if isinstance(c, tree.Compute))) for p in clauses.per]
    for name, span, computes in per:
        if name not in targets:
            fix = suggestion(name, targets) or f"the equations are {listing(targets)}"
            scope.problems.add("TG101", f"unknown equation {name}", span, f"no equation computes {name}", help=fix)
        found[name] = (*found.get(name, ()), *computes)
    for clause in (c for p in clauses.per for c in p.clauses if not isinstance(c, tree.Compute | tree.Own)):
        scope.problems.add(
            "TG109",
            "this clause for one equation is not in this version yet",
            clause.span,
            "only compute and the thread's own factors",
        )
    for clause in clauses.equations:
        for name in (n for n in clause.names if n not in targets):
            scope.problems.add(
                "TG101",
                f"unknown equation {name}",
                clause.span,
                f"no equation computes {name}",
                help=f"the equations are {listing(targets)}",
            )
        if missing := [t for t in targets if t not in clause.names]:
            scope.problems.add(
                "TG109",
                "several launches are not in this version yet",
                clause.span,
                f"{listing(missing)} would need another launch",
                help="leave out the clause: one launch evaluates all equations",
            )
    return found


def _phase(
    equation: Equation, general: Mapping[str, Placement | None], special: Iterable[tree.Compute], setting: Setting, span: Span
) -> Phase | None:
    """One equation with its owner: the general placements, those of this equation before them."""
    special = tuple(special)
    known = frozenset(a.name for a in indices(equation, setting.scope))
    own = by_index(special, setting.table, known, setting.scope)
    _hidden(own.values(), setting.table, known, setting.scope)
    kept = {n: p for n, p in general.items() if p is None or not set(p.indices) & set(own)}
    arrow = owner(equation, {**kept, **own}, setting)
    return Phase(equation, arrow, special[0].span if special else span) if arrow else None


def _hidden(placements: Iterable[Placement | None], table: Mapping[str, Factor], everyone: frozenset[str], scope: Scope) -> None:
    """A factor may bear the name of an index only if it is a digit of that index."""
    for one in placements:
        names = () if one is None else one.factors if one.term is None else tuple(n for n in names_in(one.term) if n in table)
        for name in names:
            if one and name in everyone and name not in one.indices:
                scope.problems.add(
                    "TG103",
                    f"the factor {name} hides the index of the same name",
                    one.span,
                    f"{name} is a digit of {listing(one.indices)} here",
                    Label(table[name].span, f"{name} is declared here"),
                    help="take another name for the factor",
                )


def _idle(setting: Setting) -> None:
    """Every factor serves some equation."""
    quiet = len(setting.scope.problems)  # what is wrong elsewhere leaves factors idle
    for factor in setting.table.values():
        if factor.name not in setting.used and not quiet:
            fix = f"make it a digit of an index: compute i = (…, {factor.name})" if factor.carried else "remove it, or place it"
            setting.scope.problems.add(
                "TG134", f"the factor {factor.name} is in no equation", factor.span, "no index is computed from it", help=fix
            )


def _axes(sort: str, table: Mapping[str, Factor], inferred: Mapping[str, tuple[Term, str]], scope: Scope) -> tuple[Axis, ...]:
    """The work object at one level, slowest axis first."""
    axes = []
    for factor in (f for f in table.values() if f.sort == sort):
        extent = factor.extent if factor.extent is not None else inferred.get(factor.name, (None, ""))[0]
        if extent is None or extent.dtype == UNKNOWN:
            continue  # said already
        if sort == "block" and not isinstance(extent, Const):
            scope.problems.add(
                "TG136",
                f"the extent of {factor.name} is not a number",
                factor.span,
                f"{CARRIED[sort]} needs a constant",
                help=f"write {factor.name}: 256",
            )
        axes.append(Axis(factor.name, extent, sort, factor.span))
    return tuple(axes)
