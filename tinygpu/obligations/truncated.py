"""A number that is made an integer lies where what was chosen for it lies, whatever it was computed from.

    max(x, c) ≥ c,  min(x, c) ≤ c,  ⌊x⌋ ≥ n where x ≥ n        i32(x) ≥ min(0, n) where x ≥ n;   ≤ max(0, n) where x ≤ n        i32(NaN) = 0
    f32(t) = t  where −2²⁴ ≤ t ≤ 2²⁴

Comes in: a cast of a float to an integer. Goes out: facts about it. The one idea: an index that is computed with floats is kept inside by the last steps of
its computation, which are choices, and those are exact; so nothing has to be known of what is rounded before.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, floor, isfinite

from tinygpu.category.dtype import EPSILON, FLOATS, nearest
from tinygpu.category.term import BOOL, INDEX, INTEGERS, TRUE, App, Const, Term, apply, children, conjunction, negation

End = tuple[Term, Term]  # a condition, and an index that is an end where it holds
TURNED = {"low": "high", "high": "low"}
PICKS = {"low": "max", "high": "min"}  # what has an end already where one of the two has


def truncates(term: Term) -> bool:
    """Whether a term makes an integer of a float, also as kernels call it."""
    made = isinstance(term, App) and term.op in ("cast", f"trunc_{term.dtype}") and term.dtype in INTEGERS
    return made and children(term)[0].dtype in FLOATS


def truncated(term: Term) -> Iterator[Term]:
    """What is known of an integer that is made of a float.

    >>> from tinygpu.category.term import Read, Var, text
    >>> x, H = Read("x", (), "f32"), Var("H")
    >>> inside = App("min", (App("max", (x, Const(0.0, "f32")), "f32"), App("cast", (H - 1,), "f32")), "f32")
    >>> for fact in truncated(App("cast", (App("floor", (inside,), "f32"),), "i32")):
    ...     print(text(fact).replace("floor(min(max(x, 0), f32(H - 1)))", "…"))
    not (-16777216 <= H - 1 and H - 1 <= 16777216) or i32(…) >= min(0, min(0, H - 1))
    not (-16777216 <= H - 1 and H - 1 <= 16777216) or i32(…) <= max(0, H - 1)
    """
    (inner,) = children(term)
    value = App("cast", (term,), INDEX)
    for side, chosen in (("low", "min"), ("high", "max")):
        for where, end in _ends(inner, side):
            zero = apply(chosen, 0, end)
            known = value >= zero if side == "low" else value <= zero
            yield known if where == TRUE else App("or", (negation(where), known), BOOL)


def _ends(term: Term, side: str) -> list[End]:
    """Integers that a float is not below, or not above."""
    match term:
        case Const(value, dtype) if isfinite(value) and (exact := nearest(float(value), dtype)) is not None:
            return [(TRUE, Const(floor(exact) if side == "low" else ceil(exact)))]
        case App("cast", (whole,), dtype) if dtype in FLOATS and (whole.dtype == INDEX or whole.dtype in INTEGERS):
            most = int(2 / EPSILON[dtype])
            index = whole if whole.dtype == INDEX else App("cast", (whole,), INDEX)
            return [(conjunction(Const(-most) <= index, index <= most), index)]
        case App("neg", (x,)):
            return [(where, 0 - end) for where, end in _ends(x, TURNED[side])]
        case App("floor" | "round", (x,)):
            return _ends(x, side)
        case App("abs" | "exp" | "exp2" | "sqrt" | "sigmoid", _) if side == "low":
            return [(TRUE, Const(0))]
        case App("min" | "max" as op, (a, b)):
            ours, theirs = _ends(a, side), _ends(b, side)
            return [*ours, *theirs] if op == PICKS[side] else _both(op, ours, theirs)
        case App("select", (_, a, b)):
            return _both("min" if side == "low" else "max", _ends(a, side), _ends(b, side))
    return []


def _both(op: str, ours: list[End], theirs: list[End]) -> list[End]:
    return [(conjunction(a, b), apply(op, x, y)) for a, x in ours for b, y in theirs]
