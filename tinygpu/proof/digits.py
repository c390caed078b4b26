"""Goals about one point: true by bounds, and by values that are made alike; those whose numerals have sizes for radices, or about powers of two,
which are hard for solvers, by their digits.

Comes in: a goal, the ranges of its variables, hypotheses. Goes out: whether it is seen to hold. The one idea: two values are one where their
indices are, by rules that are theorems of the integers; what is tested is only put in order, unless that is not enough.
"""

from __future__ import annotations

from collections.abc import Mapping

from tinygpu.category.decide import decided, digits_hold
from tinygpu.category.known import Known
from tinygpu.category.linear import polynomial
from tinygpu.category.region import Region
from tinygpu.category.simplify import simplify
from tinygpu.category.term import INDEX, App, Axis, Const, Read, Term, conjuncts, memoised, walk
from tinygpu.obligations.bijection import stretched


def by_digits(goal: Term, extents: Mapping[str, Term], hypotheses: tuple[Term, ...]) -> bool:
    """Whether a goal about one point is true by bounds: each part of it a comparison that holds, or an equation with the same on both sides.

    >>> from tinygpu.category.term import Var
    >>> i, j, n, m = map(Var, "ijnm")
    >>> by_digits((i * m + j) // m < n, {"i": n, "j": m}, ())
    True
    """
    region = Region(tuple(Axis(name, extent) for name, extent in extents.items()), hypotheses)
    parts, known = conjuncts(goal), Known.at(region)
    if all(decided(part, known) or one(part, region) for part in parts):
        return True
    return (stretched(goal) or divided(goal)) and (
        all(decided(part, known) or digits_hold(part, known) or one(part, region) for part in parts)
        or all(one(part, region) for part in conjuncts(simplify(goal, region)))
    )


def divided(goal: Term) -> bool:
    """Whether an index is divided by what is no number."""
    parts = (t for t in walk(goal) if isinstance(t, App) and t.op in ("floordiv", "mod") and t.dtype == INDEX)
    return any(not isinstance(t.args[1], Const) for t in parts)


def one(part: Term, region: Region) -> bool:
    """Whether an equation has the same on both sides."""
    return isinstance(part, App) and part.op == "eq" and alike(*part.args, region)


@memoised
def alike(a: Term, b: Term, region: Region | None) -> bool:
    """Whether two values are made alike: of indices that have one form, or a simple one, under the same conditions, in whatever order these are
    asked; without a region, by their forms.

    >>> from tinygpu.category.region import EVERYWHERE
    >>> from tinygpu.category.term import Const, Read, Var, conjunction, select
    >>> i, j, zero = Var("i"), Var("j"), Const(0, "f32")
    >>> x, y = (Read("x", (at,), "f32") for at in (i * 2 + j, j + i * 2))
    >>> alike(select(i < j, select(j > 4, x, zero), zero), select(conjunction(j > 4, i < j), y, zero), EVERYWHERE)
    True
    >>> alike(select(i < j, x, zero), select(j < i, y, zero), EVERYWHERE), alike(x, zero, EVERYWHERE)
    (False, False)
    """
    if a == b:
        return True
    if a.dtype == INDEX == b.dtype:
        return polynomial(a) == polynomial(b) or (region is not None and simplify(a, region) == simplify(b, region))
    match a, b:
        case App("select", _), App("select", _):
            (asked, *ours), (wanted, *theirs) = chosen(a), chosen(b)
            sides = (asked, wanted), (wanted, asked)
            met = all(any(alike(c, d, way) for way in (None, region) for d in others) for some, others in sides for c in some)
            return met and all(alike(c, d, region) for c, d in zip(ours, theirs, strict=True))
        case (App(op, ours, dtype), App(other, theirs, kind)) | (Read(op, ours, dtype), Read(other, theirs, kind)):
            same = (op, dtype, len(ours)) == (other, kind, len(theirs))
            return same and all(alike(c, d, region) for c, d in zip(ours, theirs, strict=True))
    return False


def chosen(choice: App) -> tuple[tuple[Term, ...], Term, Term]:
    """The conditions of a choice, with those of choices inside that leave the same, and what is chosen: `(a if c else z) if d else z` is
    `a if c and d else z`."""
    condition, then, otherwise = choice.args
    match then:
        case App("select", (_, _, same)) if same == otherwise:
            further, then, otherwise = chosen(then)
            return (*conjuncts(condition), *further), then, otherwise
    return conjuncts(condition), then, otherwise
