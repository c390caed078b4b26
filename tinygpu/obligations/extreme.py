"""A maximum over something is one of its terms, and no term is above it.

    m = max[k ∈ K | g] b(k),   K ∋ 0 with g(0)      gives      ∃ k ∈ K:  g(k),  m = b(k)      and      b(e) ≤ m  where  e ∈ K,  g(e)

Comes in: symbols and the folds that they stand for, and what is asked of them. Goes out: facts, one about a place that is new, the others about
the elements that are read. The one idea: what is so of every term (a sign, a promise of the data) is so of the symbol, without a law for each sign.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tinygpu.category.monoid import as_monoid
from tinygpu.category.region import Region
from tinygpu.category.settle import within
from tinygpu.category.term import BOOL, TRUE, App, Const, Fold, Read, Term, Var, conjunction, equal, reads, substitute, variables
from tinygpu.category.total import INFINITE
from tinygpu.obligations.promise import instances

BOUND = {"max": "le", "min": "ge"}


def extremes(meant: Mapping[str, Term], asked: tuple[Term, ...], point: Region) -> Iterator[Term]:
    """What is known of each symbol of a maximum or minimum that is asked of.

    >>> from tinygpu.category.term import Axis, text
    >>> x = lambda k: Read("x", (k,), "f32")
    >>> meant = {"number 0": Fold("max", (Axis("k", Var("K")),), TRUE, x(Var("k")), "f32")}
    >>> for fact in extremes(meant, (Var("number 0", "f32") - x(Const(2)),), Region((), (Var("K") >= 1,))):
    ...     print(text(fact))
    0 <= k of number 0 and k of number 0 < K
    number 0 == x[k of number 0]
    not (0 <= 2 and 2 < K) or x[2] <= number 0
    """
    names = frozenset().union(*map(variables, asked))
    read = tuple(dict.fromkeys(r for t in asked for r in reads(t)))
    for name, fold in meant.items():
        if name in names and isinstance(fold, Fold) and fold.monoid in BOUND:
            symbol = Var(name, fold.dtype)
            yield from _attained(symbol, fold, point)
            yield from _bounding(symbol, fold, read)


def empty(meant: Mapping[str, Term], asked: tuple[Term, ...]) -> Iterator[Term]:
    """That a fold over nothing is its unit, where that is a number.

    >>> from tinygpu.category.term import Axis, text
    >>> fold = Fold("sum", (Axis("k", Var("K")),), TRUE, Read("x", (Var("k"),), "f32"), "f32")
    >>> [text(fact) for fact in empty({"number 0": fold}, (Var("number 0", "f32"),))]
    ['K >= 1 or number 0 == 0']
    """
    names = frozenset().union(*map(variables, asked))
    for name, fold in meant.items():
        unit = as_monoid(fold.monoid).unit(fold.dtype) if name in names and isinstance(fold, Fold) and fold.axes else None
        if isinstance(fold, Fold) and isinstance(unit, Const) and unit.value not in INFINITE:
            some = (a.extent >= 1 for a in fold.axes)
            yield App("or", (conjunction(*some), equal(Var(name, fold.dtype), unit)), BOOL)


def _attained(symbol: Var, fold: Fold, point: Region) -> Iterator[Term]:
    first: dict[str, Term] = {a.name: Const(0) for a in fold.axes}
    some = conjunction(*(a.extent >= 1 for a in fold.axes), substitute(fold.guard, first))
    if point.settled(some) == TRUE:
        there: dict[str, Term] = {a.name: Var(f"{a.name} of {symbol.name}") for a in fold.axes}
        inside = (within(there[a.name], a.extent) for a in fold.axes)
        yield conjunction(*inside, substitute(fold.guard, there))
        yield equal(symbol, substitute(fold.body, there))


def _bounding(symbol: Var, fold: Fold, read: tuple[Read, ...]) -> Iterator[Term]:
    below = App(BOUND[fold.monoid], (fold.body, symbol), BOOL)
    yield from instances(Fold("all", fold.axes, fold.guard, below, BOOL), read)
