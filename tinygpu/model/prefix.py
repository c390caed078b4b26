"""Prefix folds: `⊕[k ≤ i] b(k)`, whose values for all `i` one pass along `i` makes.

Comes in: a fold, and the indices around it. Goes out: the index that bounds it, if it is a prefix. The one idea: a prefix whose
index no machine places runs along the factors of its bound, so the owner arrow is the diagonal `i ↦ (i, k = i)`.
"""

from __future__ import annotations

from collections.abc import Collection

from tinygpu.category.term import App, Fold, Term, Var, conjunction, conjuncts, variables, walk
from tinygpu.model.machine import Phase
from tinygpu.model.op import Equation
from tinygpu.record import dataclass, replace


@dataclass(frozen=True, slots=True)
class Prefix:
    """`⊕[k ≤ i]`, or with `exclusive` `⊕[k < i]`; `rest` is what else guards the fold."""

    fold: Fold
    bound: str
    exclusive: bool
    rest: Term

    @property
    def index(self) -> str:
        """The index that is folded."""
        return self.fold.axes[0].name


def prefix(fold: Fold, indices: Collection[str]) -> Prefix | None:
    """The fold as a prefix up to one of the indices; None where it is another fold.

    >>> from tinygpu.category.term import Axis, Read
    >>> i, k = Var("i"), Axis("k", Var("n"))
    >>> one = prefix(Fold("sum", (k,), Var("k") < i, Read("x", (Var("k"),), "f32"), "f32"), ["i"])
    >>> one.bound, one.exclusive, prefix(Fold("sum", (k,), Var("k") < i, Read("x", (i - Var("k"),), "f32"), "f32"), ["i"])
    ('i', True, None)
    """
    if len(fold.axes) != 1:
        return None
    parts = conjuncts(fold.guard)
    for part in parts:
        match part:
            case App("le" | "lt" as op, (Var(k), Var(i))) if k == fold.axes[0].name and i in indices and i != k:
                rest = conjunction(*(p for p in parts if p is not part))
                if i not in variables(rest) | variables(fold.body):
                    return Prefix(fold, i, op == "lt", rest)
    return None


def prefixes(equation: Equation) -> dict[Fold, Prefix]:
    """The prefix folds of an equation up to its indices, those that stand in no other fold."""
    names = [a.name for a in equation.axes]
    inner = {t for f in walk(equation.value) if isinstance(f, Fold) for t in walk(f.body) if isinstance(t, Fold)}
    folds = (t for t in walk(equation.value) if isinstance(t, Fold) and t not in inner)
    return {fold: one for fold in folds if (one := prefix(fold, names)) is not None}


def diagonal(equation: Equation, placed: Collection[str]) -> dict[str, str]:
    """The indices that no clause places because they run along another one: all folds over them are prefixes up to it."""
    found: dict[str, str] = {}
    scans = prefixes(equation)
    for one in scans.values():
        others = [t for t in walk(equation.value) if isinstance(t, Fold) and one.index in (a.name for a in t.axes)]
        if one.index not in placed and all(t in scans and scans[t].bound == one.bound for t in others):
            found[one.index] = one.bound
    return found


def scans(phase: Phase, value: Term | None = None) -> dict[Fold, Prefix]:
    """The prefix folds of a phase, or of its value in another form, that run along the factors of their bounds."""
    terms = phase.owner.by_axis
    equation = phase.equation if value is None else replace(phase.equation, value=value)
    found = prefixes(equation).items()
    return {f: one for f, one in found if one.index in terms and terms[one.index] == terms[one.bound]}
