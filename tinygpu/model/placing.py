"""Placing: for each index of an equation, the factors that it is the product of, or the term over factors that it is.

Comes in: the bindings of `compute` and the table of factors. Goes out: placements, chosen for each equation.
The one idea: an index that nobody places and that bears the name of a factor is that factor.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tinygpu.diagnostic import Label, Span
from tinygpu.model.problems import Problems, suggestion
from tinygpu.model.scope import Scope
from tinygpu.model.work import Factor
from tinygpu.record import dataclass
from tinygpu.syntax import tree


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
            title, first = f"the factor {names[place]} is placed twice", items[names.index(names[place])]
            scope.problems.add(
                "TG131",
                title,
                item.span,
                "a second time",
                Label(first.span, "the first"),
                help="a factor is one digit of one index",
            )
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
                    fix = "write i = (g, t, v: 4), or give the index by one term: i = g*1024 + t"
                    scope.problems.add(
                        "TG127", "a product of factors is a list of names", item.span, "not the name of a factor", help=fix
                    )
            return items
    return None


def _known(items: Iterable[tree.Expr], table: Mapping[str, Factor], scope: Scope) -> bool:
    """Whether every factor is carried or declared; says which are not."""
    missing = [i for i in items if isinstance(i, tree.Name | tree.Sized) and i.name not in table]
    for item in missing:
        name = item.name
        close = suggestion(name, table)
        fix = f"declare it as the thread's own (register {name}, time {name} or vector {name}), or add it to a level of work"
        title = f"the factor {name} is neither carried nor declared"
        scope.problems.add(
            "TG130", title, item.span, f"the work object does not carry {name}", help=f"{close} or {fix}" if close else fix
        )
    return not missing


def by_index(
    computes: Iterable[tree.Compute], table: Mapping[str, Factor], known: frozenset[str], scope: Scope
) -> dict[str, Placement | None]:
    """The placement of each index that has one; None stands for one that is wrong."""
    found: dict[str, Placement | None] = {}
    first: dict[str, Span] = {}
    for compute in computes:
        for binding in compute.bindings:
            made = placement(binding, table, scope)
            for name in binding.indices:
                if name not in known:
                    scope.problems.add(
                        "TG140",
                        f"no equation has the index {name}",
                        binding.span,
                        f"{name} is no index",
                        help=f"the indices are {', '.join(sorted(known))}" if known else "",
                    )
                elif name in found:
                    scope.problems.add(
                        "TG102",
                        f"the index {name} is computed twice",
                        binding.span,
                        "the second time",
                        Label(first[name], "the first"),
                        help="write one line for each index",
                    )
                else:
                    found[name], first[name] = made, binding.span
    return found


def doubly_placed(placements: Iterable[Placement], problems: Problems) -> bool:
    """Whether a factor is a digit of two indices of one equation; says so."""
    seen: dict[str, Placement] = {}
    twice = False
    for one in placements:
        for name in one.factors:
            if name in seen:
                twice = True
                here, there = " and ".join(one.indices), " and ".join(seen[name].indices)
                label = Label(seen[name].place(name), f"and of {there}")
                fix = "take two factors, one for each index"
                problems.add("TG131", f"the factor {name} is placed twice", one.place(name), f"a digit of {here}", label, help=fix)
            seen[name] = one
    return twice
