"""What decides an access, a store, a barrier or a loop is no real number: floats are rounded, and any data may be NaN.

    a comparison or a conversion of floats  ↦  one of its values, whichever, for each place that it is asked at

Comes in: a claim that has to hold for all data. Goes out: the claim in which every test of floats is an unknown function of the indices in
it. The one idea: two tests are one only where the same term is tested of the same elements; what a loop adds up is there by its name (`made`), since
its closed form does not say in which order it was computed.

    >>> from tinygpu.category.term import BOOL
    >>> x = Read("x", (Var("i"),), "f32")
    >>> test = App("gt", (App("add", (x, Const(1.0, "f32")), "f32"), x), BOOL)
    >>> text(either(test, {})), text(either(App("gt", (x, Const(1.0, "f32")), BOOL), {}, True))
    ('x[_] + 1 > x[_][i, i]', 'x[i] > 1')
"""

from __future__ import annotations

from math import inf

from tinygpu.category.cancel import cancel
from tinygpu.category.operation import KEEPING
from tinygpu.category.term import (
    COMPARISONS,
    FALSE,
    FLOATS,
    INDEX,
    LOGIC,
    App,
    Const,
    Fold,
    Read,
    Term,
    Var,
    memoised,
    rebuild,
    substitute,
    text,
    variables,
    walk,
    whole,
)
from tinygpu.category.text import WRITTEN
from tinygpu.obligations.made import carried, compared
from tinygpu.obligations.obligation import Claim, Gap, Inhabited, Obligation
from tinygpu.obligations.picked import of_places
from tinygpu.obligations.truncated import truncated, truncates
from tinygpu.record import replace

EXACT = (0, 1, inf)  # of these, products and quotients are some again
PLACE = (
    "the place of a largest or smallest value is an i32: promise that there are no more than it can count, where N <= 2147483647"
)
HELP = (
    "floats are rounded, so a comparison of computed ones may go either way: decide by integers, or by numbers as they are stored"
)


def controlled(claim: Claim, stored: bool = False) -> Claim:
    """The claim for all data; with `stored`, comparisons of numbers that are stored as they are stay what they are."""
    match claim:
        case Gap():
            return claim
        case Obligation(hypotheses=hypotheses, goal=goal):
            tests: dict[Term, str] = {}
            numbers = dict.fromkeys(t for said in (*hypotheses, goal) for t in walk(said, leave=_closed) if truncates(t))
            hypotheses += tuple(fact for t in numbers for fact in truncated(t))
            tested = tuple(either(h, tests, stored) for h in hypotheses), either(goal, tests, stored)
            places = [t for t in tests if isinstance(t, App) and t.op == "part" and of_places(t.args[0].dtype)]
            help = claim.help if tested == (hypotheses, goal) else PLACE if places else claim.help or HELP
            return replace(claim, hypotheses=tested[0], goal=tested[1], help=help)
        case Inhabited():
            return claim


def _closed(term: Term) -> bool:
    return isinstance(term, Fold) or whole(term)


@memoised
def either(term: Term, tests: dict[Term, str], stored: bool = False) -> Term:
    """The term with every test of floats replaced by an unknown of its indices. `tests` has the names of those that were met: two terms may
    have one text."""
    if whole(term):
        return term
    if literal(term) and isinstance(known := cancel(term), Const):
        return known
    match term:
        case App("gt", (_, Const(value))) | App("lt", (Const(value), _)) if value == inf:
            return FALSE  # nothing is beyond it, nor what is no number
        case App("lt", (_, Const(value))) | App("gt", (Const(value), _)) if value == -inf:
            return FALSE
        case App("part") if (known := cancel(term)) != term and not any(t.dtype in FLOATS for t in walk(term)):
            return either(known, tests, stored)
        case App(op, args, dtype) if dtype not in FLOATS and any(a.dtype in FLOATS or carried(a) for a in args):
            if stored and op in COMPARISONS and compared(term):
                return term
            free: list[Term] = []
            shape = _shape(term, free)
            if shape not in tests:
                same = sum(name.partition(" #")[0] == text(shape) for name in tests.values())
                tests[shape] = text(shape) + (f" #{same}" if same else "")
            return Read(tests[shape], tuple(either(t, tests, stored) for t in free), dtype)
    return rebuild(term, lambda t: either(t, tests, stored))


def literal(term: Term) -> bool:
    """Whether a term is made of 0, 1 and infinities alone, and gives no other numbers: nothing of it is rounded.

    >>> one, ends = Const(1.0, "f32"), Const(inf, "f32")
    >>> literal(App("sub", (one, ends), "f32")), literal(App("sub", (one, one), "f32")), literal(App("sqrt", (one,), "f32"))
    (True, False, False)
    """
    match term:
        case Const(value):
            return abs(value) in EXACT
        case App("add" | "sub", args) if not any(isinstance(a := cancel(t), Const) and a.value in (0, inf, -inf) for t in args):
            return False
        case App(op, args):
            return op in (*KEEPING, *COMPARISONS, *LOGIC, "add", "sub", "mul", "div", "select") and all(map(literal, args))
    return False


def _shape(term: Term, free: list[Term]) -> Term:
    """The term with its outermost indices as holes, which are collected; of a fold, or of what is long, with its variables as holes."""
    if term.dtype == INDEX and not isinstance(term, Const):
        free.append(term)
        return Var("_")
    match term:
        case _ if isinstance(term, Fold) or term.parts > WRITTEN:
            names = sorted(variables(term))
            free.extend(map(Var, names))
            return substitute(term, {name: Var(f"_{place}") for place, name in enumerate(names)})
    return rebuild(term, lambda t: _shape(t, free))
