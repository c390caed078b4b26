"""The factors of a machine, and for each index the factors that it is the product of, or the term over factors that it is.

Comes in: the clauses `work`, `time`, `register`, `vector`, and the bindings of `compute`. Goes out: a table of factors, each with its sort
and, if it is given, its extent; and a placement of each index. The one idea: a factor is declared once, in one place that says who carries
it, an extent may stand there or where it is used, and an index that nobody places and that bears the name of a factor is that factor.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tinygpu.category.term import Const, Term, text
from tinygpu.diagnostic import NOWHERE, Label, Span
from tinygpu.model.clauses import Clauses
from tinygpu.model.extent import same
from tinygpu.model.problems import WRONG, Problems, suggestion
from tinygpu.model.scope import Scope
from tinygpu.model.value import index
from tinygpu.record import dataclass, replace
from tinygpu.syntax import tree

LEVELS = ("grid", "block")
MOST = 32  # factors of a machine; proving takes longer with each
CARRIED = {
    "grid": "the grid",
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
    for level in _levels(clauses.work, scope) if clauses.work else ():
        for item in level.factors.items:
            if isinstance(item, tree.Name | tree.Sized):
                _declare(_factor(item.name, level.name, getattr(item, "extent", None), item.span, scope), table, scope)
            else:
                title, fix = f"{level.name} is a list of factors", f"write {level.name} = (t: 256)"
                scope.problems.add("TG127", title, item.span, "not a factor", help=fix)
    for sort in ("time", "register", "vector"):
        for one in (f for clause in clauses.anywhere(tree.Own) if clause.sort == sort for f in clause.factors):
            _declare(_factor(one.name, sort, one.extent, one.span, scope), table, scope)
    if len(table) > MOST:
        title, last = f"a machine has at most {MOST} factors, not {len(table)}", list(table.values())[MOST]
        fix = "merge factors that stand next to each other in every index"
        scope.problems.add("TG145", title, last.span, f"factor number {MOST + 1}", help=fix)
    return table


def _levels(work: tree.Work, scope: Scope) -> Iterable[tree.Level]:
    seen: dict[str, tree.Level] = {}
    for level in work.levels:
        name, span = level.name, level.span
        if name == "cluster":
            title, fix = "clusters are not in this version yet", "use the levels grid and block"
            scope.problems.add("TG109", title, span, "the cluster level", help=fix)
        elif name not in LEVELS:
            fix = suggestion(name, LEVELS) or "the levels are grid and block"
            scope.problems.add("TG101", f"unknown level {name}", span, "no level of the work object", help=fix)
        elif name in seen:
            first = Label(seen[name].span, "the first")
            scope.problems.add("TG102", f"the level {name} stands twice", span, "a second time", first, help="join them")
        else:
            seen[name] = level
    return [seen[name] for name in LEVELS if name in seen]


def _factor(name: str, sort: str, extent: tree.Expr | None, span: Span, scope: Scope) -> Factor:
    return Factor(name, sort, _extent(extent, scope), span, extent.span) if extent else Factor(name, sort, None, span)


def _extent(expr: tree.Expr, scope: Scope) -> Term:
    term = index(expr, scope)
    if isinstance(term, Const) and term is not WRONG and term.value < 1:
        return scope.problems.add("TG128", f"an extent is at least 1, not {text(term)}", expr.span, f"this is {text(term)}")
    return term


def _declare(factor: Factor, table: dict[str, Factor], scope: Scope) -> None:
    first = table.get(factor.name)
    if first:
        there, here = CARRIED[first.sort], CARRIED[factor.sort]
        title, label = f"the factor {factor.name} is declared twice", Label(first.span, f"declared first here, in {there}")
        again = "declared again" if there == here else f"declared again, in {here}"
        scope.problems.add("TG102", title, factor.span, again, label, help="take another name, or remove one")
    else:
        hidden = scope.hides(factor.name, factor.span, "the factor")
        table[factor.name] = replace(factor, extent=WRONG) if hidden else factor  # nothing is computed with it then


def with_written_extents(table: Mapping[str, Factor], bindings: Iterable[tree.Binding], scope: Scope) -> dict[str, Factor]:
    """The table with the extents that stand inside compute clauses, such as `v: 4` in `i = (g, t, v: 4)`."""
    result = dict(table)
    for item in (i for b in bindings if isinstance(b.value, tree.Group) for i in b.value.items):
        if not isinstance(item, tree.Sized) or item.name not in result:
            continue  # an unknown factor is said where it is placed
        extent, known = _extent(item.extent, scope), result[item.name]
        if known.extent is None:
            result[item.name] = replace(known, extent=extent, extent_span=item.extent.span)
        elif known.extent is not WRONG and extent is not WRONG and not same(known.extent, extent):
            title, label = f"the factor {item.name} has two extents", Label(known.extent_span, f"{text(known.extent)} here")
            scope.problems.add("TG137", title, item.span, f"{text(extent)} here", label, help="write it once")
    return result


# ── placements ─────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Placement:
    """`i = (g, t, v)`, `(i, j) = (g, t)`, or with `term` instead of factors `i = g*256 + t`. `places` are where the factors stand."""

    indices: tuple[str, ...]
    factors: tuple[str, ...]
    span: Span
    places: tuple[Span, ...] = ()
    term: tree.Expr | None = None

    def place(self, factor: str) -> Span:
        """Where a factor stands in it."""
        return dict(zip(self.factors, self.places, strict=True)).get(factor, self.span)


def by_index(
    computes: Iterable[tree.Compute], table: Mapping[str, Factor], known: frozenset[str], scope: Scope
) -> dict[str, Placement | None]:
    """The placement of each index that has one; None stands for one that is wrong."""
    found: dict[str, Placement | None] = {}
    first: dict[str, Span] = {}
    for binding in (b for compute in computes for b in compute.bindings):
        made = placement(binding, table, scope)
        for name in binding.indices:
            if name not in known:
                title, fix = f"no equation has the index {name}", f"the indices are {', '.join(sorted(known))}" if known else ""
                scope.problems.add("TG140", title, binding.span, f"{name} is no index", help=fix)
            elif name in found:
                title, label = f"the index {name} is computed twice", Label(first[name], "the first")
                scope.problems.add("TG102", title, binding.span, "the second time", label, help="write one line for each index")
            else:
                found[name], first[name] = made, binding.span
    return found


def placement(binding: tree.Binding, table: Mapping[str, Factor], scope: Scope) -> Placement | None:
    """`tree.Binding → Placement`; None after a message."""
    items = _items(binding.value, table, scope)
    if items is None:
        if len(binding.indices) > 1:
            title, fix = "merged indices are a product of factors", f"write ({', '.join(binding.indices)}) = (g, t)"
            scope.problems.add("TG127", title, binding.value.span, "not a list of factors", help=fix)
            return None
        return Placement(binding.indices, (), binding.span, (), binding.value)
    names = [i.name for i in items if isinstance(i, tree.Name | tree.Sized)]
    if len(names) < len(items) or not _known(items, table, scope):
        return None
    for place, item in enumerate(items):
        if names[place] in names[:place]:
            title, first = f"the factor {names[place]} is placed twice", Label(items[names.index(names[place])].span, "the first")
            scope.problems.add("TG131", title, item.span, "a second time", first, help="a factor is one digit of one index")
            return None
    return Placement(binding.indices, tuple(names), binding.span, tuple(i.span for i in items))


def _items(value: tree.Expr, table: Mapping[str, Factor], scope: Scope) -> tuple[tree.Expr, ...] | None:
    """The factors of a product; None if the value is a term."""
    match value:
        case tree.Name(name):
            return (value,) if name in table or name not in scope.everything() else None
        case tree.Group((tree.Name() as one,)):
            return _items(one, table, scope)
        case tree.Group((single,)) if not isinstance(single, tree.Sized):
            return None
        case tree.Group(items):
            for item in items:
                if not isinstance(item, tree.Name | tree.Sized):
                    title = "a product of factors is a list of names"
                    fix = "write i = (g, t, v: 4), or give the index by one term: i = g*1024 + t"
                    scope.problems.add("TG127", title, item.span, "not the name of a factor", help=fix)
            return items
    return None


def _known(items: Iterable[tree.Expr], table: Mapping[str, Factor], scope: Scope) -> bool:
    """Whether every factor is carried or declared; says which are not."""
    missing = [i for i in items if isinstance(i, tree.Name | tree.Sized) and i.name not in table]
    for item in missing:
        name, close = item.name, suggestion(item.name, table)
        title, label = f"the factor {name} is neither carried nor declared", f"the work object does not carry {name}"
        fix = f"declare it as the thread's own (register {name}, time {name} or vector {name}), or add it to a level of work"
        scope.problems.add("TG130", title, item.span, label, help=f"{close} or {fix}" if close else fix)
    return not missing


def doubly_placed(placements: Iterable[Placement], problems: Problems) -> bool:
    """Whether a factor is a digit of two indices of one equation; says so."""
    seen: dict[str, Placement] = {}
    twice = False
    for one in placements:
        for name in one.factors:
            if name in seen:
                twice = True
                here, there = " and ".join(one.indices), " and ".join(seen[name].indices)
                label, fix = Label(seen[name].place(name), f"and of {there}"), "take two factors, one for each index"
                problems.add("TG131", f"the factor {name} is placed twice", one.place(name), f"a digit of {here}", label, help=fix)
            seen[name] = one
    return twice
