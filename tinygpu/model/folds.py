"""Folds in formulas: `sum[k] A[i, k] * B[k, j]`, with the range and the guard of every binder.

Comes in: the tree of a fold and its scope. Goes out: a `Fold` term.
The one idea: a bound over sizes is the range of a binder; a bound over indices is a guard, and the range comes from the reads.
"""

from __future__ import annotations

from collections.abc import Callable

from tinygpu.category.monoid import MONOIDS
from tinygpu.category.term import BOOL, INDEX, TRUE, Axis, Fold, Read, Term, Var, apply, conjunction, variables, walk
from tinygpu.model.dtype import LITERAL, to_index
from tinygpu.model.problems import UNKNOWN, WRONG, listing, suggestion
from tinygpu.model.ranges import inferred, occurrences
from tinygpu.model.scope import Scope
from tinygpu.syntax import tree

LATER = ("argmax", "argmin", "logsumexp", "welford", "scan_sum")
Elaborate = Callable[[tree.Expr, Scope], Term]


def fold(expr: tree.FoldExpr, scope: Scope, value: Elaborate) -> Term:
    """`FoldExpr × Scope → Fold`; `value` elaborates what stands inside."""
    if expr.named or expr.monoid in LATER:
        return scope.problems.add(
            "TG109",
            f"fold {expr.monoid} is not in this version yet",
            expr.span,
            "a fold with a monoid of pairs, or of the user",
            help=f"this version folds with {listing(MONOIDS)}",
        )
    if expr.monoid not in MONOIDS:
        fix = suggestion(expr.monoid, MONOIDS) or f"folds are {listing(MONOIDS)}"
        return scope.problems.add("TG107", f"unknown fold {expr.monoid}", expr.span, "no fold has this name", help=fix)
    axes: list[Axis] = []
    guard: Term = TRUE
    inner = scope
    for binder in expr.binders:
        if scope.hides(binder.name, binder.span, "the index") or _twice(binder, axes, scope):
            return WRONG
        extent, restriction = _range(binder, expr.body, inner, value)
        if extent is None:
            return WRONG
        axes.append(Axis(binder.name, extent, "reduction", binder.span))
        guard = conjunction(guard, restriction)
        inner = inner.with_indices({binder.name: extent})
    return _folded(expr, tuple(axes), guard, value(expr.body, inner), scope)


def _twice(binder: tree.Binder, axes: list[Axis], scope: Scope) -> bool:
    twice = binder.name in (a.name for a in axes)
    if twice:
        scope.problems.add(
            "TG102", f"{binder.name} is bound twice", binder.span, "bound a second time in one fold", help="take another name"
        )
    return twice


def _range(binder: tree.Binder, body: tree.Expr, scope: Scope, value: Elaborate) -> tuple[Term | None, Term]:
    """The extent of a binder, None after a message, and what its bound adds to the guard."""
    if binder.bound is None:
        return inferred(binder.name, binder.span, body, scope), TRUE
    bound = to_index(value(binder.bound, scope.inside_brackets()), binder.bound.span, scope.problems)
    if bound.dtype == UNKNOWN:
        return None, TRUE
    depends = variables(bound) & set(scope.indices) or any(isinstance(t, Read) for t in walk(bound))
    if not depends:
        return (apply("add", bound, 1) if binder.relation == "<=" else bound), TRUE
    guard = apply("le" if binder.relation == "<=" else "lt", Var(binder.name), bound)
    own = scope.indices.get(bound.name) if isinstance(bound, Var) else None  # k <= q runs at most as far as q does
    if own is not None and not _stands(binder.name, body, scope):
        return own, guard
    return inferred(binder.name, binder.span, body, scope), guard


def _stands(name: str, body: tree.Expr, scope: Scope) -> bool:
    return any(occurrences(body, name, scope))


def _folded(expr: tree.FoldExpr, axes: tuple[Axis, ...], guard: Term, body: Term, scope: Scope) -> Term:
    if body.dtype == UNKNOWN or guard.dtype == UNKNOWN:
        return WRONG
    if not MONOIDS[expr.monoid].accepts(INDEX if body.dtype == LITERAL else body.dtype):
        if body.dtype == BOOL:
            help = f"write {expr.monoid}[…] (1 if condition else 0), or fold with any or all"
            return scope.problems.add(
                "TG122", f"{expr.monoid} is not defined for bool", expr.body.span, "this is a condition", help=help
            )
        return scope.problems.add(
            "TG123", f"{expr.monoid} folds conditions", expr.body.span, "this is a number", help="compare it: … != 0"
        )
    return Fold(expr.monoid, axes, guard, body, body.dtype, expr.span)
