"""Terms: the one expression language of tinygpu, for indices and for values.

Comes in: the nodes of `category.node`, which this file hands on. Goes out: guards and choices, traversal, and substitution, which is
composition of arrows. The one idea: everything that tinygpu reasons about is built from five nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from tinygpu.category.fields import TERMED, children, with_terms
from tinygpu.category.monoid import pack, part
from tinygpu.category.node import (
    BOOL,
    DTYPES,
    FALSE,
    FLOATS,
    FOLDED,
    INDEX,
    INTEGERS,
    TRUE,
    Algebra,
    App,
    Axis,
    Const,
    Fold,
    Read,
    Term,
    Var,
    apply,
    lift,
)
from tinygpu.category.operation import ARITHMETIC, COMPARISONS, FUNCTIONS, LOGIC, OPERATIONS, OTHERS, SHUFFLES, SYMBOL
from tinygpu.category.text import claimed, text
from tinygpu.category.total import total
from tinygpu.category.walk import (
    different,
    folds,
    memoised,
    outer_folds,
    outermost_folds,
    outside,
    plain,
    reads,
    shuffled,
    tensors,
    variables,
    walk,
    whole,
)

__all__ = [
    "ARITHMETIC", "BOOL", "COMPARISONS", "DTYPES", "FALSE", "FLOATS", "FOLDED", "FUNCTIONS", "INDEX", "INTEGERS", "LOGIC",
    "OPERATIONS", "OTHERS", "SHUFFLES", "SYMBOL", "TRUE", "Algebra", "App", "Axis", "Const", "Fold", "Read", "Term", "Var",
    "apply", "ceildiv", "children", "conjunction", "conjuncts", "different", "disjunction", "equal", "folds", "lift", "memoised", "negation",
    "outer_folds", "outermost_folds", "outside", "pack", "part", "plain", "reads", "rebuild", "select", "shuffled", "substitute", "tensors",
    "text", "total", "variables", "walk", "whole",
]  # fmt: skip


def ceildiv(a: Term | int, b: Term | int) -> Term:
    """`⌈a / b⌉` for b > 0."""
    return apply("ceildiv", a, b)


def equal(a: Term | int, b: Term | int) -> Term:
    """The guard `a = b`."""
    return apply("eq", a, b)


def conjunction(*guards: Term) -> Term:
    """The conjunction of guards, flat, without `true`, each once.

    >>> i = Var("i")
    >>> text(conjunction(TRUE, i < 4, i < 4))
    'i < 4'
    """
    parts: dict[Term, None] = {}
    for guard in guards:
        match guard:
            case App("and", args):
                parts.update(dict.fromkeys(args))
            case Const(True):
                pass
            case _:
                parts[guard] = None
    if FALSE in parts:
        before = [part for part in list(parts)[: list(parts).index(FALSE)] if not total(part)]
        return App("and", (*before, FALSE), BOOL) if before else FALSE
    if len(parts) < 2:
        return next(iter(parts), TRUE)
    return App("and", tuple(parts), BOOL)


def disjunction(*ways: Term) -> Term:
    """That one of these holds, without `false`, each once: `true` where one is that, and what is asked before has a value.

    >>> i = Var("i")
    >>> [text(disjunction(*ways)) for ways in ((FALSE, i < 4, i < 4), (i < 4, TRUE), (), (i < 4, i >= 8))]
    ['i < 4', 'true', 'false', 'i < 4 or i >= 8']
    """
    parts = dict.fromkeys(way for way in ways if way != FALSE)
    if TRUE in parts:
        before = [part for part in list(parts)[: list(parts).index(TRUE)] if not total(part)]
        return App("or", (*before, TRUE), BOOL) if before else TRUE
    return App("or", tuple(parts), BOOL) if len(parts) > 1 else next(iter(parts), FALSE)


def conjuncts(guard: Term) -> tuple[Term, ...]:
    """The parts of a conjunction; none for `true`."""
    match guard:
        case Const(True):
            return ()
        case App("and", args):
            return tuple(part for arg in args for part in conjuncts(arg))
    return (guard,)


def negation(guard: Term) -> Term:
    """`not guard`, with constants and double negations gone."""
    match guard:
        case Const(bool(value)):
            return Const(not value, BOOL)
        case App("not", (inner,)):
            return inner
    return App("not", (guard,), BOOL)


def select(condition: Term, then: Term, otherwise: Term) -> Term:
    """`then if condition else otherwise`. Where both are the same the condition still has to have a value."""
    match condition:
        case Const(True):
            return then
        case Const(False):
            return otherwise
    return then if then == otherwise and total(condition) else App("select", (condition, then, otherwise), then.dtype)


def rebuild(term: Term, change: Callable[[Term], Term], written: bool = False) -> Term:
    """The term with `change` applied to each of its children. Index operations are folded again, if not all is to stay as it is `written`."""
    match term:
        case App(op, args, dtype):
            new = tuple(map(change, args))
            if new == args:
                return term
            if written:
                return App(op, new, dtype)
            if op in FOLDED and all(a.dtype == INDEX for a in new):
                return apply(op, *new)
            if op == "and":
                return conjunction(*new)
            if op == "or":
                return disjunction(*new)
            match op, new:
                case "select", (condition, then, otherwise):
                    return select(condition, then, otherwise)
                case "pack", _:
                    return pack(new, dtype)
                case "part", (value, Const(int(place))):
                    return part(value, place, dtype)
            return App(op, new, dtype)
        case Read(tensor, index, dtype, span):
            there = tuple(map(change, index))
            return term if there == index else Read(tensor, there, dtype, span)
    return with_terms(term, TERMED[term.__class__], change) if children(term) else term


def substitute(term: Term, mapping: Mapping[str, Term], written: bool = False) -> Term:
    """Composition: every variable replaced by its term. Binders of folds shadow, and are renamed where they would capture.

    >>> i, q = Var("i"), Var("q")
    >>> text(substitute(i // 4 + q, {"i": q * 8}))
    'q*8 // 4 + q'
    >>> k, size = Axis("k", Var("n")), Var("k_")
    >>> text(substitute(Fold("sum", (k,), TRUE, Read("x", (i, Var("k") * size), "f32"), "f32"), {"i": Var("k")}))
    'sum[k__ < n] x[k, k__*k_]'
    """
    return term if mapping.keys().isdisjoint(variables(term)) else _composed(term, mapping, written)


@memoised
def _composed(term: Term, mapping: Mapping[str, Term], written: bool) -> Term:
    match term:
        case Var(name):
            return mapping[name]
        case Fold():
            inner = {k: v for k, v in mapping.items() if k not in {a.name for a in term.axes}}
            fold = fresh(term, {n for v in inner.values() for n in variables(v)}, inner)
            axes = tuple(Axis(a.name, substitute(a.extent, mapping, written), a.sort, a.span) for a in fold.axes)
            guard, body = (substitute(t, inner, written) for t in (fold.guard, fold.body))
            return Fold(fold.monoid, axes, guard, body, fold.dtype, fold.span)
    return rebuild(term, lambda child: substitute(child, mapping, written), written)


@memoised
def exchange(term: Term, parts: Mapping[Term, Term]) -> Term:
    """The term with others for some of its parts, outermost first."""
    return parts[term] if term in parts else rebuild(term, lambda child: exchange(child, parts))


def fresh(fold: Fold, taken: Collection[str], more: Collection[str] = ()) -> Fold:
    """The fold with binders that no name in `taken` clashes with; the new ones are none of `more` either.

    >>> k = Fold("sum", (Axis("k", lift(8)),), TRUE, Read("x", (Var("k"),), "f32"), "f32")
    >>> fresh(k, {"k"}).axes[0].name, fresh(k, {"k"}).body
    ('k_', Read(tensor='x', index=(Var(name='k_', dtype='index'),), dtype='f32'))
    """
    clashing = [a.name for a in fold.axes if a.name in taken]
    if not clashing:
        return fold
    used = {*taken, *more, *variables(fold.guard), *variables(fold.body), *(a.name for a in fold.axes)}
    used.update(name for a in fold.axes for name in variables(a.extent))
    new = {name: Var(claimed(name, used)) for name in clashing}
    axes = tuple(Axis(new[a.name].name if a.name in new else a.name, a.extent, a.sort, a.span) for a in fold.axes)
    return Fold(fold.monoid, axes, substitute(fold.guard, new, True), substitute(fold.body, new, True), fold.dtype, fold.span)
