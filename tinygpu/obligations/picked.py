"""A largest or smallest of integers that are made of indices is one of them, so it may be an index itself.

    m = max[k ∈ K | g] b(k)      ⊢      m = unit   or   ∃ k ∈ K:  g(k),  m = b(k)

Comes in: a fold. Goes out: facts about it, in which new names stand for where it was found. The one idea: `max[b] (i32(b) if … else -1)` is -1 or a
place, whatever the data is; no comparison of floats is asked.
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygpu.category.monoid import as_monoid
from tinygpu.category.settle import within
from tinygpu.category.term import BOOL, INDEX, INTEGERS, App, Fold, Term, Var, conjunction, equal, substitute, walk

PICKING = ("max", "min")


def picked(fold: Fold, number: int) -> Iterator[Term]:
    """What is known of an extreme.

    >>> from tinygpu.category.term import TRUE, Axis, text
    >>> place = App("cast", (Var("k"),), "i32")
    >>> for fact in picked(Fold("min", (Axis("k", Var("n")),), TRUE, place, "i32"), 0):
    ...     print(text(fact))
    min[k < n] i32(k) == 2147483647 or 0 <= k of pick 0 and k of pick 0 < n and min[k < n] i32(k) == i32(k of pick 0)
    """
    unit = as_monoid(fold.monoid).unit(fold.dtype)
    if fold.monoid in PICKING and fold.dtype in INTEGERS and unit is not None and any(map(placed, walk(fold.body))):
        there: dict[str, Term] = {a.name: Var(f"{a.name} of pick {number}") for a in fold.axes}
        inside = (within(there[a.name], substitute(a.extent, there)) for a in fold.axes)
        found = conjunction(*inside, substitute(fold.guard, there), equal(fold, substitute(fold.body, there)))
        yield App("or", (equal(fold, unit), found), BOOL)


def placed(term: Term) -> bool:
    """Whether it is the integer of an index."""
    return isinstance(term, App) and term.op == "cast" and term.dtype in INTEGERS and term.args[0].dtype == INDEX
