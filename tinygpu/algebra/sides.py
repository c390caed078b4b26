"""Where values are defined: what is divided by is not 0, roots are of what is not below 0, and a maximum is of something.

Comes in: a value, or what a law needed. Goes out: conditions over sizes and indices, each enough for one of these, for the solver. The one idea: what is above 0 is
seen by its form, since data can be anything: an exponential, a size, a sum of such over something. The rest has a value where the other side of the theorem has one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tinygpu.algebra.laws import Side
from tinygpu.category.dtype import contains
from tinygpu.category.term import (
    FLOATS,
    INDEX,
    TRUE,
    App,
    Axis,
    Const,
    Fold,
    Read,
    Term,
    Var,
    children,
    conjunction,
    fresh,
    negation,
    substitute,
    tensors,
    variables,
)
from tinygpu.record import replace

EXPONENTIALS = ("exp", "exp2")
MEANT = {
    "unequal": "{} is not 0", "root": "{} is not below 0", "above": "{} is above 0", "inside": "{} is inside its array",
    "holds": "{}", "always": "{}", "something": "{} is of something", "counts": "{} counts something",
}  # fmt: skip


HELPS = {
    "unequal": "say that there is something: where N >= 1; what may be 0 whatever the sizes has to be divided by on the left side, too",
    "root": "what is under a root stands under one on the left side, too, or is a sum of squares",
    "above": "what a logarithm is of is a sum of exponentials, or stands in one on the left side, too",
    "inside": "read inside of the array, or say for which sizes: where N >= 1",
    "holds": "an index that picks a place lies inside of the axis on both sides",
    "always": "",
    "something": "say that there is something: where N >= 1",
    "counts": "say that there is something: where N >= 1",
}


def needs(term: Term, axes: tuple[Axis, ...] = (), guard: Term = TRUE) -> Iterator[Side]:
    """What the value needs to be one, at every point at which it is asked for."""
    match term:
        case Fold():
            term = fresh(term, {*(a.name for a in axes), *variables(guard)})
            if str(term.monoid) in ("max", "min"):
                yield Side("something", term, axes, guard)
            yield from needs(term.guard, (*axes, *term.axes), guard)
            yield from needs(term.body, (*axes, *term.axes), conjunction(guard, term.guard))
            return
        case App("and", args):
            for n, part in enumerate(args):  # what stands before is asked before
                yield from needs(part, axes, conjunction(guard, *args[:n]))
            return
        case App("select", (condition, then, otherwise)):
            yield from needs(condition, axes, guard)
            yield from needs(then, axes, conjunction(guard, condition))
            yield from needs(otherwise, axes, conjunction(guard, negation(condition)))
            return
        case App("div", (_, b), dtype) if dtype in FLOATS:
            yield Side("unequal", b, axes, guard)
        case Read(_, index) if index:
            yield Side("inside", term, axes, guard)
        case App("sqrt", (a,)):
            yield Side("root", a, axes, guard)
        case App("rsqrt" | "log" | "log2", (a,)):
            yield Side("above", a, axes, guard)
    for child in children(term):
        yield from needs(child, axes, guard)


def enough(side: Side, shapes: Mapping[str, tuple[Term, ...]] | None = None) -> Term | None:
    """A condition under which it holds; None where none is seen."""
    match side.kind, side.term:
        case "inside", Read(tensor, index) if shapes:
            return conjunction(*(c for i, n in zip(index, shapes[tensor], strict=True) for c in (i >= 0, i < n)))
        case (("holds" | "always"), condition):
            return condition
        case "something", Fold() as fold:
            return inhabited(fold.axes, fold.guard)
        case "counts", extent:
            return extent >= 0
        case "root", value:
            return TRUE if not_below(value) else above(value)
    return above(side.term)


def inhabited(axes: tuple[Axis, ...], guard: Term) -> Term:
    """That a box has a point: its first one will do."""
    first: dict[str, Term] = {a.name: Const(0) for a in axes}
    return conjunction(*(substitute(a.extent, first) >= 1 for a in axes), substitute(guard, first))


def above(value: Term) -> Term | None:
    """A condition under which a value is above 0, whatever the data; None where none is seen.

    >>> from tinygpu.category.term import Read, text
    >>> n = Fold("sum", (Axis("j", Var("N")),), Var("j") <= Var("i"), App("exp", (Read("x", (Var("j"),), "f32"),), "f32"), "f32")
    >>> text(above(n)), above(Read("x", (), "f32"))
    ('N >= 1 and 0 <= i', None)
    """
    match value:
        case Const(number):
            return TRUE if number > 0 else None
        case App("cast", (a,)):
            return a >= 1 if a.dtype == INDEX else above(a) if a.dtype in FLOATS and contains(value.dtype, a.dtype) else None
        case App(op) if op in EXPONENTIALS:
            return TRUE
        case App("sqrt" | "rsqrt", (a,)):
            return above(a)
        case App("add" | "mul" | "div", (a, b)):
            p, q = above(a), above(b)
            if value.op == "add" and None in (p, q):  # one of them may be 0
                return p if p is not None and not_below(b) else q if q is not None and not_below(a) else None
            return None if p is None or q is None else conjunction(p, q)
        case App("select", (condition, a, Const(0))):
            found = above(a)
            return None if found is None else conjunction(condition, found)
        case Fold("sum", axes, guard, body) if not_below(body):
            first: dict[str, Term] = {a.name: Const(0) for a in axes}
            found = above(body)
            return None if found is None else conjunction(inhabited(axes, guard), substitute(found, first))
        case Fold("max", axes, guard, body):
            found = above(body)
            return inhabited(axes, guard) if found == TRUE else None
    return None


def seldom_nought(value: Term) -> Term | None:
    """A condition under which a value, in its normal form, is 0 at most on a set of measure 0 of the data; None where none is seen, as of what a maximum or a comparison of data is in, which may be
    0 on more, or of a difference, which may be one of the same.

    >>> from tinygpu.category.term import BOOL, Read, text
    >>> x = Read("x", (Var("j"),), "f32")
    >>> text(seldom_nought(Fold("sum", (Axis("j", Var("N")),), TRUE, App("mul", (x, x), "f32"), "f32"))), seldom_nought(App("max", (x, Const(0.0, "f32")), "f32"))
    ('N >= 1', None)
    >>> seldom_nought(x - Read("x", (Const(0),), "f32")), seldom_nought(App("cast", (x,), "f16"))
    (None, None)
    """
    match value:
        case Const(number):
            return TRUE if number != 0 else None
        case Read(_, _, dtype):
            return TRUE if dtype in FLOATS else None
        case App("cast", (a,)):
            return (
                (a >= 1 if not tensors(a) else None)
                if a.dtype == INDEX
                else seldom_nought(a)
                if a.dtype in FLOATS and contains(value.dtype, a.dtype)
                else None
            )
        case App(op) if op in (*EXPONENTIALS, "sigmoid"):
            return TRUE
        case App("neg" | "sqrt" | "rsqrt" | "tanh" | "sin" | "erf", (a,)):
            return seldom_nought(a)
        case App("mul" | "div", (a, b)):
            p, q = seldom_nought(a), seldom_nought(b)
            return None if p is None or q is None else conjunction(p, q)
        case App("add" | "sub") if _has_its_own(value):
            return TRUE
        case App("add", (a, b)) if not_below(a) and not_below(b):  # else they may cancel, as `x[i]` and `-x[j]` where `i == j`
            return next((p for p in map(seldom_nought, (a, b)) if p is not None), None)
        case App("select", (condition, a, Const(0))) if not tensors(condition):
            found = seldom_nought(a)
            return None if found is None else conjunction(condition, found)
        case Fold("sum", axes, guard, body) if not tensors(guard) and not_below(body):
            first: dict[str, Term] = {a.name: Const(0) for a in axes}
            found = seldom_nought(body)
            return None if found is None else conjunction(inhabited(axes, guard), substitute(found, first))
    return None


def _has_its_own(value: Term) -> bool:
    """Whether a part of a sum is a number of a tensor that the others know nothing of: whatever they are, one number alone makes it 0."""
    parts = [*_parts(value)]
    return any(
        isinstance(p, Read) and p.dtype in FLOATS and all(p.tensor not in tensors(q) for q in (*parts[:n], *parts[n + 1 :]))
        for n, p in enumerate(parts)
    )


def _parts(value: Term) -> Iterator[Term]:
    match value:
        case App("add" | "sub" | "neg", args):
            for arg in args:
                yield from _parts(arg)
        case _:
            yield value


def almost(side: Side) -> tuple[Side, ...]:
    """What is enough off a set of measure 0: for what has to be above 0, that it is not below, and not 0."""
    return (replace(side, kind="root"), replace(side, kind="unequal")) if side.kind == "above" else (side,)


def not_below(value: Term) -> bool:
    """Whether a value is seen not to be below 0, whatever the data."""
    match value:
        case Const(number):
            return number >= 0
        case App("cast", (Var(),)):
            return True  # a size or an index
        case App(op) if op in (*EXPONENTIALS, "sqrt", "rsqrt", "abs"):
            return True
        case App("mul", (a, b)) if a == b:
            return True
        case App("add" | "mul" | "div", (a, b)):
            return not_below(a) and not_below(b)
        case App("cast", (a,)) if a.dtype in FLOATS:
            return not_below(a)
        case App("select", (_, a, b)):
            return not_below(a) and not_below(b)
        case Fold("sum" | "max", _, _, body):
            return not_below(body)
    return False
