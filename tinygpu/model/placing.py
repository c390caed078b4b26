"""Placing: for each index of an equation, the factors that it is the product of, or the term over factors that it is.

Comes in: the bindings of `compute` and the table of factors. Goes out: placements, chosen for each equation.
The one idea: an index that nobody places and that bears the name of a factor is that factor.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tinygpu.diagnostic import Label, Span
from tinygpu.model.problems import Problems
from tinygpu.model.scope import Scope
from tinygpu.model.work import Factor
from tinygpu.syntax import tree


@dataclass(frozen=True, slots=True)
class Placement:
    """`i = (g, t, v)`, `(i, j) = (g, t)`, or with `term` instead of factors `i = g*256 + t`."""

    indices: tuple[str, ...]
    factors: tuple[str, ...]
    span: Span
    term: tree.Expr | None = None


def placement(binding: tree.Binding, table: Mapping[str, Factor], scope: Scope) -> Placement | None:
    """`tree.Binding → Placement`; None after a message."""
    items = _items(binding.value, table, scope)
    if items is None:
        if len(binding.indices) > 1:
            scope.problems.add(
                "TG127",
                "merged indices are a product of factors",
                binding.value.span,
                "not a list of factors",
                help=f"write ({', '.join(binding.indices)}) = (g, t)",
            )
            return None
        return Placement(binding.indices, (), binding.span, binding.value)
    missing = [i for i in items if i.name not in table]
    for item in missing:
        scope.problems.add("TG130", f"the factor {item.name} is neither carried nor declared", item.span, f"the work object does not carry {item.name}",
                           help=f"declare it as the thread's own (register {item.name}, time {item.name} or vector {item.name}), "
                                f"or add it to a level of work")  # fmt: skip
    names = [i.name for i in items]
    for place, item in enumerate(items):
        if item.name in names[:place]:
            scope.problems.add(
                "TG131",
                f"the factor {item.name} is placed twice",
                item.span,
                "the second time",
                help="a factor counts one digit of one index",
            )
            return None
    return None if missing else Placement(binding.indices, tuple(names), binding.span)


def _items(value: tree.Expr, table: Mapping[str, Factor], scope: Scope) -> list[tree.Name | tree.Sized] | None:
    """The factors of a product; None if the value is a term."""
    match value:
        case tree.Name(name):
            return [value] if name in table or name not in scope.everything() else None
        case tree.Group((tree.Name() as one,)):
            return _items(one, table, scope)
        case tree.Group((single,)) if not isinstance(single, tree.Sized):
            return None
        case tree.Group(items):
            for item in items:
                if not isinstance(item, tree.Name | tree.Sized):
                    scope.problems.add(
                        "TG127",
                        "a product of factors is a list of names",
                        item.span,
                        "not the name of a factor",
                        help="write i = (g, t, v: 4), or give the index by one term: i = g*1024 + t",
                    )
            return [i for i in items if isinstance(i, tree.Name | tree.Sized)]
    return None


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
                problems.add(
                    "TG131",
                    f"the factor {name} is placed twice",
                    one.span,
                    f"{name} is a digit of {' and '.join(one.indices)}",
                    Label(seen[name].span, f"and of {' and '.join(seen[name].indices)}"),
                    help="take two factors, one for each index",
                )
            seen[name] = one
    return twice
