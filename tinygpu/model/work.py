"""The factors of a machine, and for each index the factors that it is the product of, or the term over factors that it is.

Comes in: the clauses `work`, `time`, `register`, `vector`, and the bindings of `compute`. Goes out: a table of factors, each with its sort
and, if it is given, its extent; and a placement of each index. The one idea: a factor is declared once, in one place that says who carries
it, an extent may stand there or where it is used, and an index that nobody places and that bears the name of a factor is that factor.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tinygpu.category.term import Const, Term
from tinygpu.diagnostic import NOWHERE, Span
from tinygpu.model.clauses import Clauses
from tinygpu.model.extent import same
from tinygpu.model.problems import WRONG, Problems, closest, suggestion
from tinygpu.model.scope import Scope
from tinygpu.model.value import index
from tinygpu.record import dataclass, replace
from tinygpu.syntax import tree

CLUSTER = "cluster"  # neighbours among the blocks of a grid, of which its last factors are the numbers
LEVELS = {"grid": "grid", CLUSTER: "grid", "block": "block"}  # and the sort of their factors
OWN = ("time", "register", "vector")
MOST = 32  # factors of a machine; proving takes longer with each
CARRIED = {sort: f"the {sort}" if sort in LEVELS else sort for sort in (*LEVELS, *OWN)}


@dataclass(frozen=True, slots=True)
class Factor:
    """A factor: `sort` is grid, block, time, register or vector; `extent` is None where it is to be inferred. Of a grid some say which block of its cluster it is."""

    name: str
    sort: str
    extent: Term | None
    span: Span
    extent_span: Span = NOWHERE
    clustered: bool = False

    @property
    def carried(self) -> bool:
        """Whether the work object carries it, rather than each thread."""
        return self.sort in LEVELS


def factor_table(clauses: Clauses, scope: Scope) -> dict[str, Factor]:
    """Every factor by name: those of the work object in its order, then time, register and vector factors in theirs."""
    table: dict[str, Factor] = {}
    carried = [(level.name, item) for level in _levels(clauses.work, scope) for item in level.factors.items]
    own = [(sort, one) for sort in OWN for c in clauses.anywhere(tree.Own) if c.sort == sort for one in c.factors]
    for level, item in (*carried, *own):
        sort, near = LEVELS.get(level, level), level == CLUSTER
        match item:
            case tree.Name(name):
                _declare(Factor(name, sort, None, item.span, clustered=near), table, scope)
            case tree.Sized(name, extent):
                _declare(Factor(name, sort, extent_of(extent, scope), item.span, extent.span, near), table, scope)
            case _:
                scope.problems.say("TG127.level", item.span, level=level)
    if len(table) > MOST:
        scope.problems.say("TG145.factors", list(table.values())[MOST].span, most=MOST, count=len(table), number=MOST + 1)
    return table


def _levels(work: tree.Work | None, scope: Scope) -> Iterable[tree.Level]:
    seen: dict[str, tree.Level] = {}
    written = work.levels if work else ()
    for level in written:
        name, span = level.name, level.span
        if name not in LEVELS:
            scope.problems.say("TG101.level", span, near=LEVELS, name=name)
        elif name in seen:
            scope.problems.say("TG102.level", span, seen[name].span, name=name)
        else:
            seen[name] = level
    for level in written:  # of a level that is misspelt the factors are known
        if level.name not in LEVELS:
            meant = closest(level.name, LEVELS) or "block"
            seen.setdefault(meant, replace(level, name=meant))
    return [seen[name] for name in LEVELS if name in seen]


def clustered(table: Mapping[str, Factor]) -> int:
    """How many of the grid's factors, the last ones, say which block of its cluster it is."""
    return sum(f.clustered for f in table.values())


def extent_of(expr: tree.Expr, scope: Scope) -> Term:
    """An extent: a number of at least 1, or a term over what the scope knows."""
    term = index(expr, scope)
    if isinstance(term, Const) and term is not WRONG and term.value < 1:
        return scope.problems.say("TG128.extent", expr.span, extent=term)
    return term


def _declare(factor: Factor, table: dict[str, Factor], scope: Scope) -> None:
    first = table.get(factor.name)
    if first:
        there, here = CARRIED[first.sort], CARRIED[factor.sort]
        message = "TG102.factor" if there == here else "TG102.elsewhere"
        scope.problems.say(message, factor.span, first.span, name=factor.name, there=there, here=here)
    else:
        hidden = scope.hides(factor.name, factor.span, "the factor")
        table[factor.name] = replace(factor, extent=WRONG) if hidden else factor  # nothing is computed with it then


def with_written_extents(table: Mapping[str, Factor], bindings: Iterable[tree.Binding], scope: Scope) -> dict[str, Factor]:
    """The table with the extents that stand inside compute clauses, such as `v: 4` in `i = (g, t, v: 4)`."""
    result = dict(table)
    for item in (i for b in bindings if isinstance(b.value, tree.Group) for i in b.value.items):
        if not isinstance(item, tree.Sized) or item.name not in result:
            continue  # an unknown factor is said where it is placed
        extent, known = extent_of(item.extent, scope), result[item.name]
        if known.extent is None:
            result[item.name] = replace(known, extent=extent, extent_span=item.extent.span)
        elif known.extent is not WRONG and extent is not WRONG and not same(known.extent, extent):
            scope.problems.say("TG137.written", item.span, known.extent_span, name=item.name, extent=extent, first=known.extent)
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
                message = "TG140.index" if known else "TG140.none"
                scope.problems.say(message, binding.span, name=name, known=", ".join(sorted(known)))
            elif name in found:
                scope.problems.say("TG102.index", binding.span, first[name], name=name)
            else:
                found[name], first[name] = made, binding.span
    return found


def placement(binding: tree.Binding, table: Mapping[str, Factor], scope: Scope) -> Placement | None:
    """`tree.Binding → Placement`; None after a message."""
    items = _items(binding.value, table, scope)
    if items is None:
        if len(binding.indices) > 1:
            scope.problems.say("TG127.merged", binding.value.span, indices=", ".join(binding.indices))
            return None
        return Placement(binding.indices, (), binding.span, (), binding.value)
    names = [i.name for i in items if isinstance(i, tree.Name | tree.Sized)]
    if len(names) < len(items) or not _known(items, table, scope):
        return None
    for name, item in zip(names, items, strict=True):
        if (first := items[names.index(name)]) is not item:
            scope.problems.say("TG131.same", item.span, first.span, name=name)
            return None
    return Placement(binding.indices, tuple(names), binding.span, tuple(i.span for i in items))


def _items(value: tree.Expr, table: Mapping[str, Factor], scope: Scope) -> tuple[tree.Expr, ...] | None:
    """The factors of a product; None if the value is a term."""
    match value:
        case tree.Name(name):
            return (value,) if name in table or name not in scope.everything() else None
        case tree.Group((tree.Name() | tree.Group() as one,)):
            return _items(one, table, scope)
        case tree.Group((single,)) if not isinstance(single, tree.Sized):
            return None
        case tree.Group(items):
            for item in items:
                if not isinstance(item, tree.Name | tree.Sized):
                    scope.problems.say("TG127.name", item.span)
            return items
    return None


def _known(items: Iterable[tree.Expr], table: Mapping[str, Factor], scope: Scope) -> bool:
    """Whether every factor is carried or declared; says which are not."""
    missing = [i for i in items if isinstance(i, tree.Name | tree.Sized) and i.name not in table]
    for item in missing:
        close = suggestion(item.name, table)
        scope.problems.say("TG130.factor", item.span, name=item.name, close=f"{close} or " if close else "")
    return not missing


def doubly_placed(placements: Iterable[Placement], problems: Problems) -> bool:
    """Whether a factor is a digit of two indices of one equation; says so."""
    seen: dict[str, Placement] = {}
    before = len(problems)
    for one in placements:
        for name in one.factors:
            if (first := seen.get(name)) is not None:
                here, there = " and ".join(one.indices), " and ".join(first.indices)
                problems.say("TG131.two", one.place(name), first.place(name), name=name, here=here, there=there)
            seen[name] = one
    return len(problems) > before
