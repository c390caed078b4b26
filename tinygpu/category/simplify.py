"""Simplification: one normal form for sums, divisions undone, guards that bounds decide gone.

Comes in: a term and the region where it stands. Goes out: a term that is equal at every point of it.
The one idea: sums are polynomials, everything else is the table of `rules`, and side conditions are decided by bounds.
Only indices and guards change; values keep the order of evaluation that they were written in.
"""

from __future__ import annotations

from tinygpu.category.decide import decided
from tinygpu.category.known import COMPLEMENT, Known
from tinygpu.category.linear import Polynomial, divide, number, plus, polynomial, term_of, times
from tinygpu.category.region import EVERYWHERE, Region
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
)  # fmt: skip


def simplify(term: Term, region: Region = EVERYWHERE) -> Term:
    """`term → term`, equal at every point of the region.

    >>> from tinygpu.category.term import lift, text
    >>> by, ty, ri, i, n = map(Var, ("by", "ty", "ri", "i", "n"))
    >>> tile = Region((Axis("by", Var("G")), Axis("ty", lift(8)), Axis("ri", lift(8))))
    >>> text(simplify((by * 8 + ty) * 8 + ri, tile)), text(simplify(((by * 8 + ty) * 8 + ri) // 8 % 8, tile))
    ('by*64 + ty*8 + ri', 'ty')
    >>> text(simplify(i // 1024 * 1024 + i // 4 % 256 * 4 + i % 4)), text(simplify((i < n + 4), Region((Axis("i", n),))))
    ('i', 'true')
    """
    return _simple(term, Known.at(region))


def _simple(term: Term, known: Known) -> Term:
    match term:
        case Var(name):
            return Const(0) if name in known.extents and number(polynomial(known.extents[name])) == 1 else term
        case Fold():
            return _fold(term, known)
        case App("select", (condition, then, otherwise)):
            condition = _simple(condition, known)
            return select(condition, _simple(then, known.under(condition)), _simple(otherwise, known.under(_complement(condition))))
        case App("and" | "or" | "not", args):
            return _logic(term, args, known)
        case App(op, args, dtype):
            new = tuple(_simple(t, known) for t in args)
            if op in COMPARISONS and all(t.dtype == INDEX for t in new):
                return _comparison(op, new, known)
            if dtype != INDEX or op in ("cast", "table"):
                return App(op, new, dtype)
            return _index(op, new, known)
    return rebuild(term, lambda part: _simple(part, known))


def _index(op: str, args: tuple[Term, ...], known: Known) -> Term:
    """An operation on simple index terms: a sum in normal form, or the first rule that fits."""
    if op in ("add", "sub", "mul", "neg"):
        whole = polynomial(App(op, args))
        joined = _joined(whole, known)
        return term_of(joined, known.extents) if joined == whole else _simple(term_of(joined, known.extents), known)
    term = apply(op, *args)
    if not isinstance(term, App):
        return term
    for rule in HEADED.get(term.op, ()):
        for found in matches(rule, term):
            if all(decided(substitute(guard, found), known) for guard in rule.when):
                return _simple(substitute(rule.right, found), known)
    return term


def _joined(p: Polynomial, known: Known) -> Polynomial:
    """Digits put together again: `x // B·B + x % B` is x, and where B divides x, `x // B·B` is."""
    for monomial, c in p.items():
        for position, atom in enumerate(monomial):
            others = {monomial[:position] + monomial[position + 1 :]: c}
            match atom:
                case App("mod", (x, by)) if decided(by >= 1, known):
                    tens = times(others, times(polynomial(by), polynomial(_simple(apply("floordiv", x, by), known))))
                    if tens and all(p.get(m) == k for m, k in tens.items()):
                        return _joined(plus(plus(plus(p, tens, -1), {monomial: c}, -1), times(others, polynomial(x))), known)
                case App("floordiv", (x, by)) if decided(equal(apply("mod", x, by), 0), known):
                    times_x, rest = divide(others, polynomial(by))
                    if times_x and not rest:
                        return _joined(plus(plus(p, {monomial: c}, -1), times(times_x, polynomial(x))), known)
    return p


def _comparison(op: str, args: tuple[Term, ...], known: Known) -> Term:
    """A comparison of simple index terms: decided where bounds decide it."""
    guard = apply(op, *args)
    verdict = decided(guard, known)
    return guard if verdict is None else Const(verdict, BOOL)


def _logic(term: App, args: tuple[Term, ...], known: Known) -> Term:
    """Conjunctions lose what the rest implies, disjunctions their false parts; the complement of a comparison of indices is one."""
    match term.op:
        case "not":
            return _complement(_simple(args[0], known))
        case "or":
            parts = dict.fromkeys(_simple(arg, known) for arg in args)
            if TRUE in parts:
                return TRUE
            kept = tuple(part for part in parts if part != FALSE)
            return kept[0] if len(kept) == 1 else App("or", kept, BOOL) if kept else FALSE
    parts_kept: tuple[Term, ...] = ()
    for part in conjuncts(term):
        parts_kept += conjuncts(_simple(part, known.under(conjunction(*parts_kept))))
    for part in parts_kept[::-1]:
        others = tuple(other for other in parts_kept if other != part)
        if decided(part, known.under(conjunction(*others))):
            parts_kept = others
    return conjunction(*parts_kept)


def _complement(guard: Term) -> Term:
    """`not guard`; comparisons of indices turned round (those of floats are not: NaN compares with nothing)."""
    match guard:
        case App(op, (a, b), dtype) if op in COMPLEMENT and a.dtype == b.dtype == INDEX:
            return App(COMPLEMENT[op], (a, b), dtype)
    return negation(guard)


def _fold(fold: Fold, known: Known) -> Term:
    """A fold: its extents outside its axes, its guard and its body inside."""
    axes = tuple(Axis(a.name, _simple(a.extent, known), a.sort, a.span) for a in fold.axes)
    inside = known.inside(axes)
    guard = _simple(fold.guard, inside)
    return Fold(fold.monoid, axes, guard, _simple(fold.body, inside.under(guard)), fold.dtype, fold.span)
