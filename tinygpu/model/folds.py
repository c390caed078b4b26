"""Folds in formulas: `sum[k] A[i, k] * B[k, j]`, with the range and the guard of every binder.

Comes in: the tree of a fold, its scope, and what elaborates the expressions inside. Goes out: a `Fold` term, and all that its monoid gives of it.
The one idea: a bound over sizes is the range of a binder; a bound over indices or data is a guard, and the range comes from the reads.
"""

from __future__ import annotations

from tinygpu.category.carrier import result
from tinygpu.category.dtype import STORAGE
from tinygpu.category.monoid import BUILT_IN, NAMED, SCALARS, WORDS, Carrier
from tinygpu.category.term import BOOL, INDEX, TRUE, App, Axis, Const, Fold, Term, Var, apply, conjunction, reads, variables
from tinygpu.diagnostic import Span
from tinygpu.model.call import lifted
from tinygpu.model.dtype import LITERAL, OPEN, not_offered, to_index
from tinygpu.model.prefix import ended
from tinygpu.model.problems import UNKNOWN, WRONG, Problems
from tinygpu.model.ranges import Elaborate, inferred, occurrences
from tinygpu.model.scope import Scope
from tinygpu.record import replace
from tinygpu.syntax import tree

PLACE = {"argmax": 1, "argmin": 1}  # which result stands for the fold where one value is wanted
NOTHING = (WRONG, (WRONG,))
Given = tuple[Term, tuple[Term, ...]]
Bound = tuple[tuple[Axis, ...], Term, Scope]


def fold(expr: tree.FoldExpr, scope: Scope, value: Elaborate) -> Given:
    """`FoldExpr × Scope → Term × results`: what stands for a fold where one value is wanted, and all that it gives, for a tuple on the left
    side of an equation. `value` elaborates what stands inside."""
    monoid = scope.monoid(expr.monoid) if expr.named else None
    if monoid is None and expr.monoid not in (NAMED if expr.named else (*WORDS, *BUILT_IN)):
        return _unknown(expr, scope, value)
    bound = _bound(expr, scope, value)
    if bound is None or (expr.prefix and not _ends_at_an_index(expr, bound, scope, value)):
        return NOTHING
    axes, guard, inner = bound
    if monoid is None and expr.monoid in SCALARS:
        body = value(expr.body, inner)
        if UNKNOWN in (body.dtype, guard.dtype):
            return NOTHING
        if body.dtype in STORAGE:
            not_offered(expr.monoid, body.dtype, expr.body.span, scope.problems)
            return NOTHING
        if not SCALARS[expr.monoid].accepts(INDEX if body.dtype == LITERAL else body.dtype):
            message = "TG122.whole" if expr.named else "TG122.fold" if body.dtype == BOOL else "TG123.fold"
            scope.problems.say(message, expr.body.span, fold=expr.monoid, sign=expr.monoid, kind=body.dtype)
            return NOTHING
        whole = Fold(expr.monoid, axes, guard, body, body.dtype, expr.span)
        return whole, (whole,)
    given = tuple(value(item, inner) for item in _items(expr))
    if guard.dtype == UNKNOWN or any(term.dtype == UNKNOWN for term in given):
        return NOTHING
    return _carried(expr, axes, guard, given, monoid, scope)


def _unknown(expr: tree.FoldExpr, scope: Scope, value: Elaborate) -> Given:
    if scope.monoids.get(expr.monoid, TRUE) is None:  # its declaration has been complained about
        for item in _items(expr):
            value(item, replace(scope, problems=Problems()))  # what stands in it is used all the same
        return NOTHING
    known = [*scope.monoids, *NAMED] if expr.named else [*WORDS, *BUILT_IN]
    scope.problems.say("TG107.fold" if known else "TG107.monoid", expr.span, near=known, name=expr.monoid, known=known)
    return NOTHING


def _items(expr: tree.FoldExpr) -> tuple[tree.Expr, ...]:
    """What an element of a fold is made of: one value, or a list of them."""
    return expr.body.items if isinstance(expr.body, tree.Group) and len(expr.body.items) > 1 else (expr.body,)


def _bound(expr: tree.FoldExpr, scope: Scope, value: Elaborate) -> Bound | None:
    """The axes of a fold, what their bounds add to its guard, and the scope inside; None after a message."""
    axes: list[Axis] = []
    guard: Term = TRUE
    inner = scope
    for binder in expr.binders:
        name, span = binder.name, binder.span
        if scope.hides(name, span, "the index"):
            return None
        if name in (a.name for a in axes):
            scope.problems.say("TG102.bound", span, name=name)
            return None
        scope.folded.add(name)
        extent, restriction = _range(binder, expr, inner, value)
        inner = inner.with_indices({name: extent})
        if extent is not None:
            axes.append(Axis(name, extent, "reduction", span))
            guard = conjunction(guard, restriction)
    if len(axes) == len(expr.binders):
        if expr.guard is not None:
            guard = conjunction(guard, truth(value(expr.guard, inner), expr.guard.span, scope.problems))
        return tuple(axes), guard, inner
    for item in _items(expr):
        value(item, inner)  # for its messages
    return None


def _range(binder: tree.Binder, fold: tree.FoldExpr, scope: Scope, value: Elaborate) -> tuple[Term | None, Term]:
    """The extent of a binder, None after a message, and what its bound adds to the guard."""
    body, asked = fold.body, () if fold.guard is None else occurrences(fold.guard, binder.name, scope)
    if binder.bound is None:
        return inferred(binder.name, binder.span, body, scope, value, asked), TRUE
    start, bound = (_end(end, scope, value) for end in (binder.start, binder.bound))
    if UNKNOWN in (start.dtype, bound.dtype):
        return None, TRUE
    begun = TRUE if start == Const(0) else apply("le", start, Var(binder.name))
    if not variables(bound) & set(scope.indices) and not reads(bound):
        return (apply("add", bound, 1) if binder.relation == "<=" else bound), begun
    guard = conjunction(begun, apply("le" if binder.relation == "<=" else "lt", Var(binder.name), bound))
    own = scope.indices.get(bound.name) if isinstance(bound, Var) else None  # k <= q runs at most as far as q does
    if own is not None and not any(occurrences(body, binder.name, scope)):
        return own, guard
    return inferred(binder.name, binder.span, body, scope, value, asked), guard


def _end(end: tree.Expr | None, scope: Scope, value: Elaborate) -> Term:
    """Where a range begins or ends: at 0, if nothing is written."""
    return Const(0) if end is None else to_index(value(end, scope.inside_brackets()), end.span, scope.problems)


def _ends_at_an_index(expr: tree.FoldExpr, bound: Bound, scope: Scope, value: Elaborate) -> bool:
    """Whether a scan is a prefix: one index, up to an index of the equation, and a body that does not speak of that. Says if not."""
    axes, guard, inner = bound
    end = ended(guard, axes[0].name, scope.indices)
    quiet = replace(inner, problems=Problems())
    if len(axes) != 1:
        scope.problems.say("TG149.indices", expr.span, fold=expr.head)
    elif end is None:
        scope.problems.say("TG149.end", expr.binders[0].span, fold=expr.head)
    elif any(end[0] in variables(value(item, quiet)) for item in _items(expr)):
        scope.problems.say("TG149.body", expr.body.span, fold=expr.head, end=end[0], monoid=expr.monoid)
    else:
        return True
    return False


def _carried(
    expr: tree.FoldExpr, axes: tuple[Axis, ...], guard: Term, given: tuple[Term, ...], monoid: Carrier | None, scope: Scope
) -> Given:
    spans = [item.span for item in _items(expr)]
    if monoid is None:
        monoid = _built_in(expr, given, scope)
        if monoid is None:
            return NOTHING
        if expr.monoid in PLACE:
            given, spans = (*given, App("cast", (Var(axes[0].name),), "i32")), spans * 2
    body = lifted(monoid, given, spans, expr.monoid, scope)
    if body.dtype == UNKNOWN:
        return NOTHING
    whole = Fold(monoid, axes, guard, body, monoid, expr.span)
    if len(given) == 1 and given[0] is body:
        return whole, (whole,)
    results = result(monoid, whole)
    return results[PLACE[expr.monoid]] if expr.monoid in PLACE else results[0] if len(results) == 1 else whole, results


def _built_in(expr: tree.FoldExpr, given: tuple[Term, ...], scope: Scope) -> Carrier | None:
    """The monoid that `argmax` and the like are on the dtype of their values; None after a message."""
    name, span, dtype = expr.monoid, expr.body.span, given[0].dtype
    if len(given) > 1:
        scope.problems.say("TG127.fold", span, fold=name)
    elif dtype in OPEN:
        scope.problems.say("TG126.dtype", span, name=name)
    elif dtype not in BUILT_IN[name]:
        not_offered(name, dtype, span, scope.problems)
    elif name in PLACE and len(expr.binders) > 1:
        scope.problems.say("TG125.index", expr.span, fold=name, given=len(expr.binders), monoid=f"{name}_{dtype}")
    else:
        return scope.monoid(f"{name}_{dtype}")
    return None


def truth(term: Term, span: Span, problems: Problems) -> Term:
    """The term as a condition: it is one, or it is refused."""
    if term.dtype in (BOOL, UNKNOWN):
        return term
    kind = {LITERAL: "a number", INDEX: "an index"}.get(term.dtype, term.dtype)
    return problems.say("TG123.number", span, kind=kind)
