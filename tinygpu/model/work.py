"""The work object and the thread's own factors: every factor of a machine with its sort and, if it is given, its extent.

Comes in: the clauses `work`, `time`, `register`, `vector`, and the extents written inside `compute`. Goes out: a table of factors.
The one idea: a factor is declared once, in one place that says who carries it; an extent may stand there or where it is used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tinygpu.category.term import Const, Term, text
from tinygpu.diagnostic import NOWHERE, Label, Span
from tinygpu.model.clauses import Clauses
from tinygpu.model.extent import same
from tinygpu.model.problems import WRONG, suggestion
from tinygpu.model.scope import Scope
from tinygpu.model.value import index
from tinygpu.record import dataclass, replace
from tinygpu.syntax import tree

LEVELS = ("grid", "block")
MOST = 32  # factors of a machine; proving takes longer with each
CARRIED = {
    "grid": "the grid",
    "cluster": "the cluster",
    "block": "the block",
    "time": "time",
    "register": "register",
    "vector": "vector",
}


@dataclass(frozen=True, slots=True)
class Factor:
    """A factor: `sort` is grid, block, time, register or vector; `extent` is None where it is to be inferred."""

    name: str
    sort: str
    extent: Term | None
    span: Span
    extent_span: Span = NOWHERE

    @property
    def carried(self) -> bool:
        """Whether the work object carries it, rather than each thread."""
        return self.sort in LEVELS


def factor_table(clauses: Clauses, scope: Scope) -> dict[str, Factor]:
    """Every factor by name: those of the work object in its order, then time, register and vector factors in theirs."""
    table: dict[str, Factor] = {}
    if clauses.work:
        for level in _levels(clauses.work, scope):
            for factor in _carried(level, scope):
                _declare(factor, table, scope)
    own = [*clauses.own, *(c for p in clauses.per for c in p.clauses if isinstance(c, tree.Own))]
    for sort in ("time", "register", "vector"):
        for clause in own:
            for one in clause.factors if clause.sort == sort else ():
                extent = _extent(one.extent, scope) if one.extent else None
                _declare(Factor(one.name, sort, extent, one.span, one.extent.span if one.extent else NOWHERE), table, scope)
    if len(table) > MOST:
        last = list(table.values())[MOST]
        scope.problems.add(
            "TG145",
            f"a machine has at most {MOST} factors, not {len(table)}",
            last.span,
            f"factor number {MOST + 1}",
            help="merge factors that stand next to each other in every index",
        )
    return table


def _levels(work: tree.Work, scope: Scope) -> Iterable[tree.Level]:
    seen: dict[str, tree.Level] = {}
    for level in work.levels:
        if level.name == "cluster":
            scope.problems.add(
                "TG109",
                "clusters are not in this version yet",
                level.span,
                "the cluster level",
                help="use the levels grid and block",
            )
        elif level.name not in LEVELS:
            fix = suggestion(level.name, LEVELS) or "the levels are grid and block"
            scope.problems.add("TG101", f"unknown level {level.name}", level.span, "no level of the work object", help=fix)
        elif level.name in seen:
            scope.problems.add(
                "TG102",
                f"the level {level.name} stands twice",
                level.span,
                "a second time",
                Label(seen[level.name].span, "the first"),
                help="join them",
            )
        else:
            seen[level.name] = level
    return [seen[name] for name in LEVELS if name in seen]


def _carried(level: tree.Level, scope: Scope) -> Iterable[Factor]:
    for item in level.factors.items:
        match item:
            case tree.Name(name):
                yield Factor(name, level.name, None, item.span)
            case tree.Sized(name, extent):
                yield Factor(name, level.name, _extent(extent, scope), item.span, extent.span)
            case _:
                scope.problems.add(
                    "TG127", f"{level.name} is a list of factors", item.span, "not a factor", help=f"write {level.name} = (t: 256)"
                )


def _extent(expr: tree.Expr, scope: Scope) -> Term:
    term = index(expr, scope)
    if isinstance(term, Const) and term is not WRONG and term.value < 1:
        return scope.problems.add("TG128", f"an extent is at least 1, not {text(term)}", expr.span, f"this is {text(term)}")
    return term


def _declare(factor: Factor, table: dict[str, Factor], scope: Scope) -> None:
    first = table.get(factor.name)
    if first:
        there, here = CARRIED[first.sort], CARRIED[factor.sort]
        title = f"the factor {factor.name} is declared twice"
        text_ = f"declared again, in {here}" if there != here else "declared again"
        scope.problems.add(
            "TG102",
            title,
            factor.span,
            text_,
            Label(first.span, f"declared first here, in {there}"),
            help="take another name, or remove one",
        )
    else:
        hidden = scope.hides(factor.name, factor.span, "the factor")
        table[factor.name] = replace(factor, extent=WRONG) if hidden else factor  # nothing is computed with it then


def with_written_extents(table: Mapping[str, Factor], bindings: Iterable[tree.Binding], scope: Scope) -> dict[str, Factor]:
    """The table with the extents that stand inside compute clauses, such as `v: 4` in `i = (g, t, v: 4)`."""
    result = dict(table)
    for binding in bindings:
        for item in binding.value.items if isinstance(binding.value, tree.Group) else ():
            if not isinstance(item, tree.Sized) or item.name not in result:
                continue  # an unknown factor is said where it is placed
            extent, known = _extent(item.extent, scope), result[item.name]
            if known.extent is None:
                result[item.name] = replace(known, extent=extent, extent_span=item.extent.span)
            elif known.extent is not WRONG and extent is not WRONG and not same(known.extent, extent):
                scope.problems.add(
                    "TG137",
                    f"the factor {item.name} has two extents",
                    item.span,
                    f"{text(extent)} here",
                    Label(known.extent_span, f"{text(known.extent)} here"),
                    help="write it once",
                )
    return result
