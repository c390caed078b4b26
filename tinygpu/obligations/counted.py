"""A sum of integers lies between as many times its least and its greatest term as it has terms.

    low ≤ b(k) ≤ high,   low ≤ 0 ≤ high,   K·low and K·high fit the dtype      ⊢      K·low  ≤  ⊕[k < K | g] b(k)  ≤  K·high

Comes in: a fold. Goes out: facts about it. The one idea: where a term is counts how many there are before it, so that what is stored at that count
has a place; K is the extent, or what the guard says that k is below, each a fact of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from tinygpu.category.dtype import RANGE
from tinygpu.category.linear import as_written, number, plus, polynomial, stride
from tinygpu.category.term import BOOL, INDEX, INTEGERS, App, Const, Fold, Term, conjunction, conjuncts, negation, variables
from tinygpu.obligations.shape import guarded

WIDE = 8  # bits of an input whose numbers are known well enough to be counted


def counted(fold: Fold) -> Iterator[Term]:
    """What is known of a sum of integers.

    >>> from tinygpu.category.term import TRUE, Axis, Read, Var, text
    >>> k, positive = Var("k"), App("gt", (Read("x", (Var("k"),), "i32"), Const(0, "i32")), BOOL)
    >>> one = App("select", (positive, Const(1, "i32"), Const(0, "i32")), "i32")
    >>> for fact in counted(Fold("sum", (Axis("k", Var("n")),), k < Var("i"), one, "i32")):
    ...     print(text(fact).replace("sum[k < n] ((1 if x[k] > 0 else 0) if k < i else nothing)", "SUM"))
    not (n >= 0 and n <= 2147483647) or SUM >= 0 and SUM <= n
    not (i >= 0 and i <= 2147483647) or SUM >= 0 and SUM <= i
    >>> len([*counted(Fold("sum", (Axis("k", Var("n")),), Var("i") < k, one, "i32"))])
    1
    """
    if fold.monoid != "sum" or fold.dtype not in INTEGERS or (ends := _ends(fold.body)) is None:
        return
    low, high = min(ends[0], 0), max(ends[1], 0)
    least, most = RANGE[fold.dtype]
    value = App("cast", (fold,), INDEX)
    for many in _many(guarded(fold)):
        fits = conjunction(many >= 0, many * high <= most, many * low >= least)
        between = conjunction(value >= many * low, value <= many * high)
        yield App("or", (negation(fits), between), BOOL)


def _many(fold: Fold) -> Iterator[Term]:
    """Numbers that a fold has no more terms than, where they are not negative."""
    if not any(variables(a.extent) & {b.name for b in fold.axes} for a in fold.axes):
        yield prod((a.extent for a in fold.axes), start=Const(1))
    for axis in fold.axes if len(fold.axes) == 1 else ():
        for part in conjuncts(fold.guard):
            match part:
                case App("lt" | "le" as how, (a, b)) if a.dtype == INDEX:
                    pace, rest = stride(plus(polynomial(b), polynomial(a), -1), axis.name)  # b - a is greater than 0, or at least 0
                    if number(pace or {}) == -1:
                        yield as_written(rest) + int(how == "le")


def _ends(term: Term) -> tuple[int, int] | None:
    """The least and the greatest number that an integer may be; None where that is not told.

    >>> from tinygpu.category.term import Read
    >>> x = lambda dtype: Read("x", (), dtype)
    >>> as_i32, as_u8 = (lambda term, to=to: App("cast", (term,), to) for to in ("i32", "u8"))
    >>> _ends(as_i32(x(BOOL))), _ends(x("i8")), _ends(as_i32(x("u8"))), _ends(as_u8(x("i8"))), _ends(x("f32"))
    ((0, 1), (-128, 127), (0, 255), None, None)
    """
    match term:
        case Const(value):
            return int(value), int(value)
        case App("select", (_, a, b)):
            both = _ends(a), _ends(b)
            return None if None in both else (min(e[0] for e in both if e), max(e[1] for e in both if e))
        case App("cast", (inner,)) if inner.dtype == BOOL:
            return 0, 1
        case App("cast", (inner,)) if inner.dtype in INTEGERS and (ends := _ends(inner)) is not None:
            least, most = RANGE.get(term.dtype, ends)
            return ends if least <= ends[0] and ends[1] <= most else None
    low, high = RANGE.get(term.dtype, (0, 1 << WIDE + 1))
    return (low, high) if term.dtype in INTEGERS and high - low < 1 << WIDE else None
