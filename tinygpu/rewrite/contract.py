"""In which order a product of many arrays is summed: the cheapest one, by dynamic programming over subsets of its factors.

    cost(S) = min over S = A ∪ B of cost(A) + cost(B) + points of what A and B still speak of          what only S speaks of is summed there

Comes in: a normal form, in which all indices of a product stand under one sum, and sizes. Goes out: an equal value of nested sums of products of two. The one idea: an index is summed as soon
as nobody else speaks of it, so a set of factors is worth what the others still need of it, whatever the order inside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from math import prod
from typing import TypeAlias

from tinygpu.algebra.folds import is_sum
from tinygpu.algebra.polynomial import REAL, Monomial, Polynomial, is_truth, ring, term_of
from tinygpu.category.term import FLOATS, TRUE, App, Axis, Fold, Term, children, conjunction, rebuild, variables

MOST = 9  # factors
Places: TypeAlias = Callable[[Term | str], int]  # of an extent, and of an index that is not summed here


def factored(term: Term, around: Places) -> Term:
    """The same value with its products in order, those inside first."""
    if isinstance(term, Fold) and not is_sum(term):
        return Fold(term.monoid, term.axes, term.guard, factored(term.body, around), term.dtype)
    if isinstance(term, App) and term.op not in ("add", "sub", "mul", "div", "neg"):
        return rebuild(term, lambda t: factored(t, around) if t.dtype in FLOATS else t)
    if not isinstance(term, App | Fold) or term.dtype not in FLOATS:
        return term
    form: Polynomial = ring(term, set())
    if len(form) == 1 and next(iter(form)) == ((term, 1),) and not isinstance(term, Fold):
        return term
    parts = [_scaled(monomial, c, around) for monomial, c in form.items()]
    return reduce(lambda a, b: App("add", (a, b), REAL), parts) if parts else term_of({})


def _scaled(monomial: Monomial, c: object, around: Places) -> Term:
    """A monomial: its sums in order, and what stands outside of them."""
    factors = [_power(_ordered(t, around) if isinstance(t, Fold) else factored(t, around), p) for t, p in monomial]
    number = [term_of({(): c})] if c != 1 or not factors else []  # type: ignore[dict-item]
    return reduce(lambda a, b: App("mul", (a, b), REAL), [*number, *factors])


def _power(term: Term, power: int) -> Term:
    whole = reduce(lambda a, b: App("mul", (a, b), REAL), [term] * abs(power))
    return whole if power > 0 else App("div", (term_of({(): 1}), whole), REAL)  # type: ignore[dict-item]


def _ordered(fold: Fold, around: Places) -> Term:
    """A sum of a product as nested sums."""
    if not is_sum(fold):
        return factored(fold, around)
    ((monomial, c),) = ring(fold.body, set()).items()
    asked = [t for t, _ in monomial if is_truth(t) and variables(t) & {a.name for a in fold.axes}]
    monomial = tuple((t, p) for t, p in monomial if t not in asked)
    guard = conjunction(fold.guard, *(children(t)[0] for t in asked))
    factors = [_power(factored(t, around), 1 if p > 0 else -1) for t, p in monomial for _ in range(abs(p))]
    plain = guard == TRUE and not any(variables(a.extent) & {b.name for b in fold.axes} for a in fold.axes)
    if not plain or not factors or len(factors) > MOST:
        body = reduce(lambda a, b: App("mul", (a, b), REAL), factors) if factors else term_of({(): 1})  # type: ignore[dict-item]
        whole: Term = Fold("sum", fold.axes, guard, body, REAL)
    else:
        whole = Plan(factors, fold.axes, around).value()
    return whole if c == 1 else App("mul", (term_of({(): c}), whole), REAL)


class Plan:
    """The cheapest order. Sets of factors are numbers, a bit for each."""

    def __init__(self, factors: Sequence[Term], axes: Sequence[Axis], around: Places):
        self.factors, self.axes = factors, axes
        self.bound, self.around = {a.name: around(a.extent) for a in axes}, around
        self.speaks = [variables(f) for f in factors]
        self.whole = (1 << len(factors)) - 1
        self.best: dict[int, tuple[int, int]] = {}
        for chosen in sorted(range(1, self.whole + 1), key=int.bit_count):
            self.best[chosen] = min(self.ways(chosen))

    def names(self, chosen: int) -> frozenset[str]:
        """What the factors of a set speak of."""
        return frozenset[str]().union(*(self.speaks[n] for n in range(len(self.factors)) if chosen >> n & 1))

    def kept(self, chosen: int) -> frozenset[str]:
        """What of that is still needed when all is summed that only they speak of."""
        mine = self.names(chosen)
        return (mine - self.bound.keys()) | (mine & self.names(self.whole ^ chosen))

    def points(self, names: frozenset[str]) -> int:
        """At how many points."""
        return prod(self.bound[name] if name in self.bound else self.around(name) for name in names)

    def ways(self, chosen: int) -> list[tuple[int, int]]:
        """For each way to make a set of two: what it costs, and one of them."""
        if chosen.bit_count() == 1:
            return [(self.points(self.names(chosen)) if self.kept(chosen) != self.names(chosen) else 0, 0)]
        found, part = [], (chosen - 1) & chosen
        while part:
            other = chosen ^ part
            if part < other:
                cost = 2 * self.points(self.kept(part) | self.kept(other))
                found.append((self.best[part][0] + self.best[other][0] + cost, part))
            part = (part - 1) & chosen
        return found

    def value(self, chosen: int | None = None) -> Term:
        """The value of a set of factors, of all."""
        chosen = self.whole if chosen is None else chosen
        part = self.best[chosen][1]
        if part:
            inner: Term = App("mul", (self.value(part), self.value(chosen ^ part)), REAL)
            before = self.kept(part) | self.kept(chosen ^ part)
        else:
            inner, before = self.factors[chosen.bit_length() - 1], self.names(chosen)
        unspoken = [a for a in self.axes if chosen == self.whole and a.name not in self.names(chosen)]
        done = [a for a in self.axes if a.name in before - self.kept(chosen)]
        axes = (*done, *unspoken)
        return Fold("sum", axes, TRUE, inner, REAL) if axes else inner
