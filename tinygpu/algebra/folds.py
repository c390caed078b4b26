"""The laws of folds over the reals: how sums and maxima of a box are those of others. (`laws` says what an `Equal` is.)

    Σₖ (a + b) = Σₖ a + Σₖ b          Σₖ c·b = c·Σₖ b          (Σₖ a)·(Σₗ b) = Σₖ Σₗ a·b = Σₖₗ a·b          Σ_{k < n} b = n·b
    Σ_{k | g} b = Σₖ [g]·b            Σ_{k < 2} b(k) = b(0) + b(1)                Σ_{k < 2·n} b(k) = Σ_{k < n} b(k) + b(k + n)
    max_k (c + b) = c + max_k b, over something

Comes in: a fold, or a product with sums in it. Goes out: an `Equal`. The one idea: a law is a function from its left side to its right side, and where a choice is left, such as what an
axis is called, whoever asks makes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from tinygpu.algebra.laws import Equal, Side, equation, scoped, with_body
from tinygpu.algebra.polynomial import (
    ONE,
    REAL,
    ZERO,
    Met,
    Monomial,
    Polynomial,
    Unfollowed,
    added,
    atom,
    inverse,
    product,
    ring,
    term_of,
    times,
    truth,
    written,
)
from tinygpu.category.simplify import simplify
from tinygpu.category.term import (
    BOOL,
    INDEX,
    TRUE,
    App,
    Axis,
    Const,
    Fold,
    Term,
    Var,
    conjunction,
    conjuncts,
    substitute,
    text,
    variables,
)
from tinygpu.category.text import claimed


def is_sum(term: Term) -> bool:
    """Whether an atom is a sum over all of a box."""
    return isinstance(term, Fold) and str(term.monoid) == "sum" and term.guard == TRUE


def split(fold: Fold) -> Equal:
    """`Σ_{k | g} (c·a + b) = c·Σₖ [g]·a + Σₖ [g]·b`."""
    if str(fold.monoid) != "sum":
        raise ValueError("no sum")
    met: Met = set()
    body = times(truth(fold.guard, met), ring(fold.body, met), met)
    out: Polynomial = ZERO
    for monomial, c in body.items():
        out = added(out, atom(Fold("sum", fold.axes, TRUE, written(monomial), REAL)), c)
    sides = [scoped(Side("unequal", t), fold.axes, fold.guard) for t in met]
    return equation(fold, term_of(out), "split", sides=sides)


def hoisted(term: Term) -> Equal:
    """`Σₖ c·b = c·Σₖ b`: products whose sums have only what speaks of their indices."""
    met: Met = set()
    whole: Polynomial = ZERO
    for monomial, c in ring(term, met).items():
        whole = added(whole, _hoisted(monomial, met), c)
    return equation(term, term_of(whole), "hoisted", met=met)


def _hoisted(monomial: Monomial, met: Met) -> Polynomial:
    out = ONE
    for factor, power in monomial:
        one = atom(factor)
        if isinstance(factor, Fold) and is_sum(factor):
            names = {a.name for a in factor.axes}
            ((body, d),) = ring(factor.body, met).items()
            front = tuple((t, p) for t, p in body if names.isdisjoint(variables(t)))
            rest = tuple(f for f in body if f not in front)
            one = {product((*front, (Fold("sum", factor.axes, TRUE, written(rest), REAL), 1)), met): d}
        for _ in range(abs(power)):
            out = times(out, one if power > 0 else inverse(one), met)
    return out


def gathered(term: Term) -> Equal:
    """A product with sums in it, or the sum of such a product, as one sum: `Σₖ a·(Σₗ b) = Σₖₗ a·b`; `Σ_{k < n} b = n·b` where b does not speak of k."""
    taken = set(variables(term))
    if isinstance(term, Fold) and is_sum(term):
        taken |= {a.name for a in term.axes}
        every, factors, c = _flat(term.axes, term.body, taken)
    else:
        every, factors, c = _flat((), term, taken)
    axes = every
    counts: list[Term] = []
    while True:
        known = {n for t, _ in factors for n in variables(t)} | {n for a in axes for n in variables(a.extent)}
        bound = {a.name for a in axes}
        idle = next((a for a in axes if a.name not in known and bound.isdisjoint(variables(a.extent))), None)
        if idle is None:
            break
        axes = tuple(a for a in axes if a is not idle)
        counts.append(App("cast", (idle.extent,), REAL))
    met: Met = set()
    body = product(factors, met)
    whole = Fold("sum", axes, TRUE, written(body), REAL) if axes else written(body)
    right = term_of({(): c}) if c != 1 else None
    for factor in (whole, *counts):
        right = factor if right is None else App("mul", (right, factor), REAL)
    assert right is not None
    sides = [*(Side("counts", n.args[0]) for n in counts if isinstance(n, App)), *(Side("unequal", t) for t in met)]
    return equation(term, right, "gathered", sides=[scoped(s, every, TRUE) for s in sides])


def _flat(axes: tuple[Axis, ...], product: Term, taken: set[str]) -> tuple[tuple[Axis, ...], list[tuple[Term, int]], Fraction]:
    """All axes of a product of sums, each with a name of its own, what is multiplied at each of their points, and a number. Raises Unfollowed."""
    met: Met = set()
    found = ring(product, met)
    if len(found) != 1 or met:
        raise Unfollowed("a sum where a product is")
    ((factors, c),) = found.items()
    out: list[tuple[Term, int]] = []
    for term, power in factors:
        if not (isinstance(term, Fold) and is_sum(term)) or power < 0:
            out.append((term, power))
            continue
        for _ in range(power):
            names = {a.name: Var(claimed(a.name, taken)) for a in term.axes}
            own = tuple(Axis(names[a.name].name, a.extent) for a in term.axes)
            more, rest, d = _flat(own, substitute(term.body, names), taken)
            axes, out, c = (*axes, *more), [*out, *rest], c * d
    return axes, out, c


def renamed(fold: Fold, order: Sequence[int], names: Sequence[str]) -> Equal:
    """The same fold, its axes in another order and with other names."""
    axes = [fold.axes[n] for n in order]
    if sorted(order) != list(range(len(fold.axes))) or len(set(names)) != len(axes) or len(names) != len(axes):
        raise ValueError("no order")
    if any(variables(a.extent) & {b.name for b in axes} for a in axes):
        raise Unfollowed("an extent that follows another index")
    free = {*variables(fold.body), *variables(fold.guard), *(n for a in axes for n in variables(a.extent))}
    if free & {*names} - {a.name for a in axes}:
        raise ValueError("a name is taken")
    to: dict[str, Term] = {a.name: Var(name) for a, name in zip(axes, names, strict=True)}
    new = tuple(Axis(name, a.extent) for name, a in zip(names, axes, strict=True))
    return equation(fold, Fold(fold.monoid, new, substitute(fold.guard, to), substitute(fold.body, to), fold.dtype), "renamed")


def asked(fold: Fold) -> Equal:
    """A fold whose guard is written in one way: comparisons of indices as `0 <= d`, in one order."""
    parts = dict.fromkeys(map(_comparison, conjuncts(fold.guard)))
    return equation(fold, with_body(fold, conjunction(*sorted(parts, key=text)), fold.body), "asked")


def _comparison(condition: Term) -> Term:
    match condition:
        case App("lt" | "le" | "gt" | "ge" as op, (a, b)) if a.dtype == INDEX and b.dtype == INDEX:
            low, high = (b, a) if op in ("gt", "ge") else (a, b)
            return App("le", (Const(0), simplify(high - low - (1 if op in ("lt", "gt") else 0))), BOOL)
    return condition


def shifted(fold: Fold) -> Equal:
    """`max_k (c + b) = c + max_k b`, the maximum of something."""
    if str(fold.monoid) not in ("max", "min"):
        raise ValueError("no maximum")
    met: Met = set()
    names, body = {a.name for a in fold.axes}, ring(fold.body, met)
    out = {m: c for m, c in body.items() if names.isdisjoint(n for t, _ in m for n in variables(t))}
    rest = {m: c for m, c in body.items() if m not in out}
    over = atom(with_body(fold, fold.guard, term_of(rest))) if rest else ZERO
    sides = [*([Side("something", fold)] if out else []), *(scoped(Side("unequal", t), fold.axes, fold.guard) for t in met)]
    return equation(fold, term_of(added(out, over)), "shifted", sides=sides)
