"""What is taken away is added with the other sign: a difference of sums is one sum.

    p − v  =  p ⊕ (−v)        a − Σ b  =  a + Σ (−b)

Comes in: the value of a loop's cell after a turn; a value and a claim. Goes out: equal ones. The one idea: a loop that takes away is an accumulation
like any other, and `b − Σ` meets it where both are written as sums. A sum of `−v` has a value where that of `v` has one, infinities included, and
integers that wrap are a ring.

    >>> from tinygpu.category.term import TRUE, Axis, Const, Read, Var, text
    >>> b, x = Read("b", (), "f32"), Read("x", (Var("j"),), "f32")
    >>> total, taken = (Fold("sum", (Axis("j", Const(8)),), TRUE, v, "f32") for v in (x, minus(x)))
    >>> [text(t) for t in signed(App("add", (b, taken), "f32"), App("sub", (b, total), "f32"))]
    ['b + sum[j < 8] -x[j]', 'b + sum[j < 8] -x[j]']
"""

from __future__ import annotations

from tinygpu.category.term import App, Const, Fold, Read, Term, memoised, outer_folds, outside, rebuild, tensors
from tinygpu.record import replace


@memoised
def summed(new: Term, previous: str) -> Term:
    """The value after a turn with what is taken from `previous` as what is added to it."""
    match new:
        case App("sub", (first, second), dtype) if previous in tensors(first) and previous not in tensors(second):
            return App("add", (summed(first, previous), minus(second)), dtype)
        case App("add", (first, second), dtype):
            return App("add", (summed(first, previous), summed(second, previous)), dtype)
        case App("select", (condition, *branches), dtype):
            return App("select", (condition, *(summed(b, previous) for b in branches)), dtype)
    return new


@memoised
def without_units(new: Term, previous: Read) -> Term:
    """The value after a turn as `previous` where it is `previous * 1 + 0`, as it is of who is under no guard of a turn that scales and adds.

    >>> p, x = Read("p", (), "f32"), Read("x", (), "f32")
    >>> scaled = App("mul", (p, Const(1.0, "f32")), "f32")
    >>> without_units(App("add", (scaled, Const(0.0, "f32")), "f32"), p) == p
    True
    >>> any(without_units(App("add", (scaled, other), "f32"), p) == p for other in (x, p, Const(1.0, "f32")))
    False
    """
    match new:
        case App("select", (condition, *branches), dtype):
            return App("select", (condition, *(without_units(b, previous) for b in branches)), dtype)
        case App("add", (inner, Const(0))) | App("mul", (inner, Const(1))) if without_units(inner, previous) == previous:
            return previous
    return new


def signed(value: Term, claim: Term) -> tuple[Term, Term]:
    """Both as sums, where one of them takes away a sum and the other one has a sum of what has a sign."""
    if value != claim and any(taking(a) and negative(b) for a, b in ((value, claim), (claim, value))):
        return added(value), added(claim)
    return value, claim


def taking(term: Term) -> bool:
    """Whether a sum is taken away."""
    return any(isinstance(t, App) and t.op in ("sub", "neg") and sums(t.args[-1]) for t in outside(term))


@memoised
def sums(term: Term) -> bool:
    """Whether a term adds up sums."""
    match term:
        case Fold("sum"):
            return True
        case App("add" | "sub" | "neg", args):
            return any(map(sums, args))
    return False


def negative(term: Term) -> bool:
    """Whether there is a sum of what has a sign."""

    @memoised
    def has_sign(t: Term) -> bool:
        match t:
            case App("neg"):
                return True
            case App("mul" | "div" | "add" | "select", args):
                return any(map(has_sign, args))
            case Fold("sum", body=body):
                return has_sign(body)
            case Const(value):
                return value < 0
        return False

    return any(f.monoid == "sum" and has_sign(f.body) for f in outer_folds(term))


@memoised
def added(term: Term) -> Term:
    """The term with the sums that are taken away added."""
    match term:
        case App("sub", (a, b), dtype) if sums(b):
            return App("add", (added(a), minus(b)), dtype)
        case App("neg", (a,)) if sums(a):
            return minus(a)
        case App():
            return rebuild(term, added)
    return term


@memoised
def minus(term: Term) -> Term:
    """The term with the other sign: of a sum, of what is added up."""
    match term:
        case App("neg", (a,)):
            return a
        case App("add", (a, b), dtype) if sums(term):
            return App("add", (minus(a), minus(b)), dtype)
        case App("sub", (a, b), dtype) if sums(term):
            return App("add", (minus(a), b), dtype)
        case App("select", (condition, a, b), dtype):
            return App("select", (condition, minus(a), minus(b)), dtype)
        case Fold("sum"):
            return replace(term, body=minus(term.body))
        case Const(0):
            return term
    return App("neg", (term,), term.dtype)
