"""Over what an index runs: its bound, or the extent of the axes that it stands at bare.

Comes in: a binder or an index, the tree that it stands in, the names around. Goes out: its extent.
The one idea: a plain read decides; a read in a branch where no plain one does, a padded one last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from tinygpu.replay.dtypes import apply
from tinygpu.replay.ir import ONE, TRUE, Read, Term, Unsupported, Var, compare, free, walk
from tinygpu.syntax import tree

if TYPE_CHECKING:
    from tinygpu.replay.expressions import Scope


def ranged(binder: tree.Binder, body: tree.Expr, scope: Scope, index: Callable[[tree.Expr, Scope], Term]) -> tuple[Term, Term]:
    """The extent of a binder, and what its bound adds to the guard, over the binder's own name."""
    if binder.bound is None:
        return inferred(binder.name, body, scope), TRUE
    bound = index(binder.bound, scope)
    fixed = {n for t in scope.ranges for n in free(scope.terms[t])}
    if not free(bound) & fixed and not any(isinstance(t, Read) for t in walk(bound)):
        return (apply("add", (bound, ONE)) if binder.relation == "<=" else bound), TRUE
    guard = compare("le" if binder.relation == "<=" else "lt", Var(binder.name), bound)
    own = scope.ranges.get(binder.bound.name) if isinstance(binder.bound, tree.Name) else None
    if own is not None and not list(occurrences(binder.name, body, scope)):
        return own, guard
    return inferred(binder.name, body, scope), guard


def inferred(name: str, body: tree.Expr, scope: Scope) -> Term:
    """The extent of the axes at which an index stands bare: of a plain read, else of one in a branch, else of a padded one."""
    found = list(occurrences(name, body, scope))
    extents = {e for s, e in found if s == min(strength for strength, _ in found)}
    if not extents:
        raise Unsupported(f"the range of {name} is not known")
    if len(extents) > 1:
        raise Unsupported(f"{name} stands at axes that are written differently")
    return extents.pop()


def occurrences(name: str, expr: tree.Expr, scope: Scope, strength: int = 0) -> Iterator[tuple[int, Term]]:
    """Where an index stands bare: 0 for a plain read, 1 for one in a branch, 2 for a padded one; with the extent of the axis."""

    def inside(*parts: tree.Expr | None, strength: int = strength) -> Iterator[tuple[int, Term]]:
        for one in parts:
            if one is not None:
                yield from occurrences(name, one, scope, strength)

    match expr:
        case tree.Cell(array, places, fill):
            tensor = scope.tensors.get(array)
            for place, extent in zip(places, tensor.shape if tensor else (), strict=False):
                if isinstance(place, tree.Name) and place.name == name:
                    yield (2 if fill else strength), extent
            yield from inside(*places, fill)
        case tree.IfElse(a, c, b) | tree.Call("where", (c, a, b)):
            yield from inside(c)
            yield from inside(a, b, strength=max(strength, 1))
        case tree.FoldExpr(_, binders, body):
            yield from inside(*(b.bound for b in binders))
            if name not in {b.name for b in binders}:
                yield from inside(body)
        case tree.Call(_, parts) | tree.Group(parts):
            yield from inside(*parts)
        case tree.Binary(_, a, b):
            yield from inside(a, b)
        case tree.Unary(_, inner) | tree.Field(inner) | tree.Sized(_, inner):
            yield from inside(inner)
