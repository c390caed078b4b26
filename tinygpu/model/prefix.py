"""Prefix folds: `⊕[k ≤ i] b(k)` and, from the other end of an axis, `⊕[k ≤ n − 1 − i] b(k)`.

Comes in: an equation. Goes out: its prefix folds, and the indices that need no place of their own. The one idea: one pass along `i` makes the
values for all `i`, so an index k that no machine places runs along the factors of its bound, and the owner arrow is the diagonal `i ↦ (i, k = i)`;
up to the mirror of `i` it is k that goes along the factors, and i against it: `i = n − 1 − k`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tinygpu.category.linear import polynomial
from tinygpu.category.term import App, Fold, Term, Var, conjunction, conjuncts, outermost_folds, variables, walk
from tinygpu.model.op import Equation
from tinygpu.record import dataclass


@dataclass(frozen=True, slots=True)
class Prefix:
    """`⊕[k ≤ end]`, or with `exclusive` `⊕[k < end]`, where `end` is the index `bound` or its mirror; `rest` is what else guards the fold."""

    fold: Fold
    bound: str
    end: Term
    exclusive: bool
    rest: Term

    @property
    def index(self) -> str:
        """The index that is folded."""
        return self.fold.axes[0].name


def ended(condition: Term, index: str, extents: Mapping[str, Term | None]) -> tuple[str, Term, bool] | None:
    """`k ≤ e` or `k < e` as an index i, e, and whether e is left out; e is i, or `n − 1 − i` where i runs over n. None where it is no end.

    >>> from tinygpu.category.term import text
    >>> i, k, n = Var("i"), Var("k"), Var("n")
    >>> [(text(e), out) for _, e, out in (ended(c, "k", {"i": n}) for c in (k <= i, k < n - i - 1, k < n - i))]
    [('i', False), ('n - i - 1', True), ('n - i - 1', False)]
    """
    match condition:
        case App("le" | "lt" as op, (Var(k), end)) if k == index:
            for name, extent in extents.items():
                if end == Var(name) != Var(k) or (extent is not None and polynomial(end + Var(name)) == polynomial(extent - 1)):
                    return name, end, op == "lt"
                if op == "lt" and extent is not None and polynomial(end + Var(name)) == polynomial(extent):
                    return name, end - 1, False
    return None


def prefix(fold: Fold, extents: Mapping[str, Term | None]) -> Prefix | None:
    """The fold as a prefix up to one of the indices; None where it is another fold.

    >>> from tinygpu.category.term import Axis, Read
    >>> i, k = Var("i"), Axis("k", Var("n"))
    >>> one = prefix(Fold("sum", (k,), Var("k") < i, Read("x", (Var("k"),), "f32"), "f32"), {"i": Var("n")})
    >>> one.bound, one.exclusive, prefix(Fold("sum", (k,), Var("k") < i, Read("x", (i - Var("k"),), "f32"), "f32"), {"i": None})
    ('i', True, None)
    """
    if len(fold.axes) != 1:
        return None
    parts = conjuncts(fold.guard)
    for part in parts:
        if (found := ended(part, fold.axes[0].name, extents)) is not None:
            i, end, exclusive = found
            rest = conjunction(*(p for p in parts if p is not part))
            if i not in variables(rest) | variables(fold.body):
                return Prefix(fold, i, end, exclusive, rest)
    return None


def prefixes(equation: Equation) -> dict[Fold, Prefix]:
    """The prefix folds of an equation up to its indices, those that stand in no other fold."""
    extents = {a.name: a.extent for a in equation.axes}
    return {fold: one for fold in outermost_folds(equation.value) if (one := prefix(fold, extents)) is not None}


def diagonal(equation: Equation, placed: Collection[str]) -> dict[str, Prefix]:
    """The indices that no clause places because they run along another one: all folds over them are prefixes up to it, or all up to its
    mirror, and so are those of the others that run along it."""
    found: dict[str, Prefix] = {}
    scans = prefixes(equation)
    for one in scans.values():
        others = [t for t in walk(equation.value) if isinstance(t, Fold) and one.index in (a.name for a in t.axes)]
        others += [t for t, other in scans.items() if other.bound == one.bound and other.index not in placed]
        if one.index not in placed and all(t in scans and scans[t].end == one.end for t in others):
            found[one.index] = one
    return found
