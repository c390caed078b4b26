"""Simplification: one normal form for sums, divisions undone, guards that bounds decide gone.

Comes in: a term and the box it lives on. Goes out: a term that is equal at every point of the box.
The one idea: sums are polynomials, everything else is the table of `rules`, and side conditions are decided by bounds.
Only indices and guards change; values keep the order of evaluation that they were written in.
"""

from __future__ import annotations

from tinygpu.category.box import UNIT, Box
from tinygpu.category.decide import holds as holds
from tinygpu.category.interval import lower as lower
from tinygpu.category.interval import upper as upper
from tinygpu.category.known import COMPLEMENT
from tinygpu.category.linear import Polynomial, divide, number, plus, polynomial, term_of, times
from tinygpu.category.rules import HEADED, matches
from tinygpu.category.term import (
    BOOL,
    COMPARISONS,
    FALSE,
    INDEX,
    TRUE,
    App,
    Axis,
    Const,
    Fold,
    Term,
    Var,
    apply,
    conjunction,
    conjuncts,
    equal,
    negation,
    rebuild,
    select,
    substitute,
    variables,
)  # fmt: skip


def simplify(term: Term, box: Box = UNIT) -> Term:
    """`term → term`, equal on the box.

    >>> from tinygpu.category.term import lift, text
    >>> by, ty, ri, i, n = map(Var, ("by", "ty", "ri", "i", "n"))
    >>> tile = Box((Axis("by", Var("G")), Axis("ty", lift(8)), Axis("ri", lift(8))))
    >>> text(simplify((by * 8 + ty) * 8 + ri, tile)), text(simplify(((by * 8 + ty) * 8 + ri) // 8 % 8, tile))
    ('by*64 + ty*8 + ri', 'ty')
    >>> text(simplify(i // 1024 * 1024 + i // 4 % 256 * 4 + i % 4)), text(simplify((i < n + 4), Box((Axis("i", n),))))
    ('i', 'true')
    """
    match term:
        case Var(name):
            one = any(axis.name == name and number(polynomial(axis.extent)) == 1 for axis in box.axes)
            return Const(0) if one else term
        case Fold():
            return _fold(term, box)
        case App("select", (condition, then, otherwise)):
            condition = simplify(condition, box)
            return select(
                condition, simplify(then, box.guarded(condition)), simplify(otherwise, box.guarded(_complement(condition)))
            )
        case App("and" | "or" | "not", args):
            return _logic(term, args, box)
        case App(op, args, dtype):
            new = tuple(simplify(t, box) for t in args)
            if op in COMPARISONS and all(t.dtype == INDEX for t in new):
                return _comparison(op, new, box)
            if dtype != INDEX or op in ("cast", "table"):
                return App(op, new, dtype)
            return _index(op, new, box)
    return rebuild(term, lambda part: simplify(part, box))


def _index(op: str, args: tuple[Term, ...], box: Box) -> Term:
    """An operation on simple index terms: a sum in normal form, or the first rule that fits."""
    if op in ("add", "sub", "mul", "neg"):
        whole = polynomial(App(op, args))
        joined = _joined(whole, box)
        return term_of(joined, box.names) if joined == whole else simplify(term_of(joined, box.names), box)
    term = apply(op, *args)
    if not isinstance(term, App):
        return term
    for rule in HEADED.get(term.op, ()):
        for found in matches(rule, term):
            if all(holds(substitute(guard, found), box) for guard in rule.when):
                return simplify(substitute(rule.right, found), box)
    return term


def _joined(p: Polynomial, box: Box) -> Polynomial:
    """Digits put together again: `x // B·B + x % B` is x, and where B divides x, `x // B·B` is."""
    for monomial, c in p.items():
        for position, atom in enumerate(monomial):
            others = {monomial[:position] + monomial[position + 1 :]: c}
            match atom:
                case App("mod", (x, by)) if holds(by >= 1, box):
                    tens = times(others, times(polynomial(by), polynomial(simplify(apply("floordiv", x, by), box))))
                    if tens and all(p.get(m) == k for m, k in tens.items()):
                        return _joined(plus(plus(plus(p, tens, -1), {monomial: c}, -1), times(others, polynomial(x))), box)
                case App("floordiv", (x, by)) if holds(equal(apply("mod", x, by), 0), box):
                    times_x, rest = divide(others, polynomial(by))
                    if times_x and not rest:
                        return _joined(plus(plus(p, {monomial: c}, -1), times(times_x, polynomial(x))), box)
    return p


def _comparison(op: str, args: tuple[Term, ...], box: Box) -> Term:
    """A comparison of simple index terms: decided where bounds decide it."""
    guard = apply(op, *args)
    decided = holds(guard, box)
    return guard if decided is None else TRUE if decided else FALSE


def _logic(term: App, args: tuple[Term, ...], box: Box) -> Term:
    """Conjunctions lose what the rest implies, disjunctions their false parts; the complement of a comparison of indices is one."""
    match term.op:
        case "not":
            return _complement(simplify(args[0], box))
        case "or":
            parts = dict.fromkeys(simplify(arg, box) for arg in args)
            if TRUE in parts:
                return TRUE
            kept = tuple(part for part in parts if part != FALSE)
            return kept[0] if len(kept) == 1 else App("or", kept, BOOL) if kept else FALSE
    parts_kept: tuple[Term, ...] = ()
    for part in conjuncts(term):
        parts_kept += conjuncts(simplify(part, box.guarded(*parts_kept)))
    for part in parts_kept[::-1]:
        others = tuple(other for other in parts_kept if other != part)
        if holds(part, box.guarded(*others)):
            parts_kept = others
    return conjunction(*parts_kept)


def _complement(guard: Term) -> Term:
    """`not guard`; comparisons of indices turned round (those of floats are not: NaN compares with nothing)."""
    match guard:
        case App(op, (a, b), dtype) if op in COMPLEMENT and a.dtype == b.dtype == INDEX:
            return App(COMPLEMENT[op], (a, b), dtype)
    return negation(guard)


def _fold(fold: Fold, box: Box) -> Term:
    """A fold: its extents outside its axes, its guard and its body inside, where its axes hide others of the same names."""
    bound = {a.name for a in fold.axes}
    outside = tuple(a for a in box.axes if a.name not in bound and not variables(a.extent) & bound)
    kept = (g for g in conjuncts(box.guard) if not variables(g) & bound)
    axes = tuple(Axis(a.name, simplify(a.extent, box), a.sort, a.span) for a in fold.axes)
    inside = Box(outside + axes, conjunction(*kept))
    guard = simplify(fold.guard, inside)
    return Fold(fold.monoid, axes, guard, simplify(fold.body, inside.guarded(guard)), fold.dtype, fold.span)
