"""Folds in formulas: `sum[k] A[i, k] * B[k, j]`, with the range and the guard of every binder.

Comes in: the tree of a fold and its scope. Goes out: a `Fold` term.
The one idea: a bound over sizes is the range of a binder; a bound over indices is a guard, and the range comes from the reads.
"""

from __future__ import annotations

from collections.abc import Callable

from tinygpu.category.carrier import result
from tinygpu.category.monoid import SCALARS, Carrier
from tinygpu.category.term import BOOL, INDEX, TRUE, App, Axis, Fold, Read, Term, Var, apply, conjunction, variables, walk
from tinygpu.model.builtin import BUILT_IN, built_in, monoid_of
from tinygpu.model.carried import lifted
from tinygpu.model.dtype import LITERAL, OPEN, not_offered, to_index
from tinygpu.model.problems import UNKNOWN, WRONG, Problems, listing, suggestion
from tinygpu.model.ranges import inferred, occurrences
from tinygpu.model.scope import Scope
from tinygpu.record import replace
from tinygpu.syntax import tree

PLACE = {"argmax": 1, "argmin": 1}  # which result stands for the fold where one value is wanted
Elaborate = Callable[[tree.Expr, Scope], Term]


def fold(expr: tree.FoldExpr, scope: Scope, value: Elaborate) -> Term:
    """`FoldExpr × Scope → Term`: a `Fold`, or what its monoid gives of one. `value` elaborates what stands inside."""
    found = _fold(expr, scope, value)
    if not isinstance(found, tuple):
        return found
    whole, given = found
    if expr.monoid in PLACE:
        return given[PLACE[expr.monoid]]
    return given[0] if len(given) == 1 else whole


def results(expr: tree.FoldExpr, scope: Scope, value: Elaborate) -> tuple[Term, ...]:
    """Everything that a fold gives, for the tuple on the left side of an equation."""
    found = _fold(expr, scope, value)
    return found[1] if isinstance(found, tuple) else (found,)


def _fold(expr: tree.FoldExpr, scope: Scope, value: Elaborate) -> Term | tuple[Fold, tuple[Term, ...]]:
    """A fold of single values; or of a carrier's, with its results."""
    problems = scope.problems
    monoid = monoid_of(expr.monoid, scope.monoids) if expr.named else None
    if monoid is None and (expr.named or expr.monoid not in (*SCALARS, *BUILT_IN)):
        if scope.monoids.get(expr.monoid, TRUE) is None:  # its declaration has been complained about
            for item in _items(expr):
                value(item, replace(scope, problems=Problems()))  # what stands in it is used all the same
            return WRONG
        known = list(scope.monoids) if expr.named else [*SCALARS, *BUILT_IN]
        fix = suggestion(expr.monoid, known) or (f"folds are {listing(known)}" if known else f"declare it: monoid {expr.monoid}(…)")
        return problems.add("TG107", f"unknown fold {expr.monoid}", expr.span, "no fold has this name", help=fix)
    bound = _bound(expr, scope, value)
    if bound is None or (expr.prefix and not _ends_at_an_index(expr, bound, scope, value)):
        return WRONG
    axes, guard, inner = bound
    if monoid is None and expr.monoid in SCALARS:
        return _folded(expr, axes, guard, value(expr.body, inner), scope)
    given = tuple(value(item, inner) for item in _items(expr))
    if guard.dtype == UNKNOWN or any(term.dtype == UNKNOWN for term in given):
        return WRONG
    return _carried(expr, axes, guard, given, monoid, scope)


Bound = tuple[tuple[Axis, ...], Term, Scope]


def _ends_at_an_index(expr: tree.FoldExpr, bound: Bound, scope: Scope, value: Elaborate) -> bool:
    """Whether a scan is a prefix: one index, up to an index of the equation, and a body that does not speak of that. Says if not."""
    written = f"{'scan ' if expr.named else 'scan_'}{expr.monoid}"
    axes, guard, inner = bound
    label, fix = f"{written} folds all terms up to an index", f"write {written}[k <= i] …, or k < i to leave the last one out"
    if len(axes) != 1:
        scope.problems.add("TG149", f"{written} takes one index", expr.span, label, help=fix)
        return False
    ends = [n for n in scope.indices if guard in (Var(axes[0].name) <= Var(n), Var(axes[0].name) < Var(n))]
    if not ends:
        scope.problems.add("TG149", f"{written} ends at no index", expr.binders[0].span, label, help=fix)
        return False
    quiet = replace(inner, problems=Problems())
    if any(ends[0] in variables(value(item, quiet)) for item in _items(expr)):
        title, label = f"what {written} folds depends on {ends[0]}", f"{ends[0]} is where it ends"
        fix = f"a prefix goes on from one {ends[0]} to the next; if every {ends[0]} has terms of its own, write {expr.monoid}[…]"
        scope.problems.add("TG149", title, expr.body.span, label, help=fix)
        return False
    return True


def _items(expr: tree.FoldExpr) -> tuple[tree.Expr, ...]:
    """What an element of a fold is made of: one value, or a list of them."""
    return expr.body.items if isinstance(expr.body, tree.Group) and len(expr.body.items) > 1 else (expr.body,)


def _bound(expr: tree.FoldExpr, scope: Scope, value: Elaborate) -> Bound | None:
    """The axes of a fold, what their bounds add to its guard, and the scope inside; None after a message."""
    axes: list[Axis] = []
    guard: Term = TRUE
    inner = scope
    for binder in expr.binders:
        if scope.hides(binder.name, binder.span, "the index") or _twice(binder, axes, scope):
            return None
        extent, restriction = _range(binder, expr.body, inner, value)
        inner = inner.with_indices({binder.name: extent})
        if extent is not None:
            axes.append(Axis(binder.name, extent, "reduction", binder.span))
            guard = conjunction(guard, restriction)
    if len(axes) == len(expr.binders):
        return tuple(axes), guard, inner
    for item in _items(expr):
        value(item, inner)  # for its messages
    return None


def _carried(
    expr: tree.FoldExpr, axes: tuple[Axis, ...], guard: Term, given: tuple[Term, ...], monoid: Carrier | None, scope: Scope
) -> Term | tuple[Fold, tuple[Term, ...]]:
    """A fold of a carrier's values, with its results."""
    spans = [item.span for item in _items(expr)]
    if monoid is None:
        if len(given) > 1:
            fix = f"{expr.monoid} folds one value"
            return scope.problems.add("TG127", "a list is no value", expr.body.span, "one value is needed here", help=fix)
        dtype = given[0].dtype
        if dtype in OPEN:
            title = f"the dtype of {expr.monoid} is not known"
            fix = "say it with a cast: f32(…)"
            return scope.problems.add("TG126", title, expr.body.span, "only numbers and indices stand here", help=fix)
        if dtype not in BUILT_IN[expr.monoid]:
            return not_offered(expr.monoid, dtype, expr.body.span, scope.problems)
        monoid = built_in(expr.monoid, dtype)
        if expr.monoid in PLACE:
            if len(axes) > 1:
                fix = f"give the elements one number: fold {monoid}[…] (value, i32(number))"
                return scope.problems.add("TG125", f"{expr.monoid} takes one index", expr.span, f"{len(axes)} given", help=fix)
            given, spans = (*given, App("cast", (Var(axes[0].name),), "i32")), spans * 2
    body = lifted(monoid, given, spans, expr.monoid, scope)
    if body.dtype == UNKNOWN:
        return WRONG
    whole = Fold(monoid, axes, guard, body, monoid, expr.span)
    raw = len(given) == 1 and given[0] is body
    return whole if raw else (whole, result(monoid, whole))


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
    if not SCALARS[expr.monoid].accepts(INDEX if body.dtype == LITERAL else body.dtype):
        if body.dtype == BOOL:
            help = f"write {expr.monoid}[…] (1 if condition else 0), or fold with any or all"
            return scope.problems.add(
                "TG122", f"{expr.monoid} is not defined for bool", expr.body.span, "this is a condition", help=help
            )
        return scope.problems.add(
            "TG123", f"{expr.monoid} folds conditions", expr.body.span, "this is a number", help="compare it: … != 0"
        )
    return Fold(expr.monoid, axes, guard, body, body.dtype, expr.span)
