"""Sums with a factor, or with a term less, as the sums that the equation has.

    (Σ[k] b) · c  =  Σ[k] b · c        where c is a number, also where there is no k;      0 · c  =  0
    Σ[k < e] b  =  Σ[k <= e] b  −  b(e)

Comes in: a value, and a sum of the equation that is not scaled. Goes out: the value with its factors in the sums, and claims that they are numbers. The one
idea: what was summed to one base and is then scaled to another has the terms of the equation, which are compared one by one.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator

from tinygpu.category.powers import Factor
from tinygpu.category.powers import factors as factors_of
from tinygpu.category.region import Region
from tinygpu.category.settle import within
from tinygpu.category.term import (
    FLOATS,
    TRUE,
    App,
    Const,
    Fold,
    Term,
    Var,
    conjunction,
    conjuncts,
    folds,
    fresh,
    outer_folds,
    outside,
    reads,
    substitute,
    text,
    total,
    variables,
)
from tinygpu.diagnostic import Label
from tinygpu.obligations.defined import defined
from tinygpu.obligations.finite import finite
from tinygpu.obligations.obligation import Claim, Obligation
from tinygpu.obligations.shape import combine, flatten, put
from tinygpu.record import replace


def scaled(value: Term, claim: Term, wanted: Fold, point: Region, labels: tuple[Label, ...]) -> Generator[Claim, None, Term]:
    """The value with `sum[k] b·c` for `(sum[k] b)·c`, where the claim has a sum that is not scaled; and the claims that the factors are numbers."""
    if wanted.monoid != "sum" or wanted.dtype not in FLOATS or wanted not in flatten("add", claim):
        return value
    parts = []
    for part in flatten("add", value):
        factors = [*factors_of(part)]
        sums = [n for n, (f, over) in enumerate(factors) if not over and isinstance(f, Fold) and along(f) & along(wanted)]
        zeros = [n for n, (f, over) in enumerate(factors) if not over and f == Const(0.0, f.dtype)]
        place, others = (sums or zeros or [-1])[0], factors
        if len(factors) < 2 or len(sums or zeros) != 1:
            parts.append(part)
            continue
        fold, _ = others.pop(place)
        yield from _numbers(others, claim, point, labels)
        if isinstance(fold, Fold):
            parts.append(_inside(fold, others))
    return combine("add", wanted.dtype, *(parts or [Const(0.0, wanted.dtype)]))


def _numbers(factors: list[Factor], claim: Term, point: Region, labels: tuple[Label, ...]) -> Iterator[Claim]:
    """That each factor has a value, and is a number."""
    for factor, over in factors:
        divided = App("div", (Const(1.0, factor.dtype), factor), factor.dtype)
        yield from defined(divided if over else factor, claim, point, labels, {})
        goal = point.settled(finite(factor, point, {}))
        if goal != TRUE:
            title, sentence = "the factor of a sum may be infinite", f"{text(factor)} is a number"
            yield Obligation("body", "TG502", title, sentence, point.facts, goal, labels)


def _inside(fold: Fold, factors: list[Factor]) -> Fold:
    """The sum of the terms with these factors."""
    fold = fresh(fold, frozenset().union(*(variables(f) for f, _ in factors)))
    body = fold.body
    for factor, over in factors:
        body = App("div" if over else "mul", (body, factor), fold.dtype)
    return replace(fold, body=body)


def along(fold: Fold) -> frozenset[str]:
    """The tensors of which a sum reads other elements in each term."""
    names = {a.name for a in fold.axes} if fold.monoid == "sum" else set()
    return frozenset(r.tensor for r in reads(fold.body) if variables(r) & names)


def one_more(value: Term, claim: Term, point: Region) -> Term:
    """The claim with `sum[k <= e] b  -  b(e)` for `sum[k < e] b`, where the value takes that term, which is a number, from a sum."""
    taken = {t.args[1] for t in outside(value) if isinstance(t, App) and t.op == "sub" and folds(t.args[0])}
    for fold in outer_folds(claim) if taken else ():
        for part in conjuncts(fold.guard) if fold.monoid == "sum" and len(fold.axes) == 1 else ():
            match part:
                case App("lt", (Var(name) as k, end)) if name == fold.axes[0].name:
                    term = substitute(fold.body, {name: end})
                    guard = conjunction(*(k <= end if p == part else p for p in conjuncts(fold.guard)))
                    inside = conjunction(within(end, fold.axes[0].extent), substitute(guard, {name: end}))
                    known = conjunction(inside, finite(term, point, {}) if term.dtype in FLOATS else TRUE)
                    if term in taken and total(term) and point.settled(known) == TRUE:
                        return put(claim, fold, App("sub", (replace(fold, guard=guard), term), fold.dtype))
    return claim
