"""What is true of every number and says something about a claim: infinities are beyond numbers, `exp` is positive, sizes fit 64 bits.

    −∞ < t < ∞ for what is finite, −∞ ≤ t ≤ ∞ for a fold;   exp t > 0;   √t ≥ 0, √t·√t = t where t ≥ 0;   a size is at most 2⁶³ − 1
    0 ≤ a ^ b ≤ a + b for natural numbers

Comes in: a claim. Goes out: the claim with those facts about its own terms among its hypotheses, and with none where there is nothing to say.
The one idea: the solver knows nothing of an infinity or a function, and a call refuses larger sizes (`width`).
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygpu.category.cancel import KNOWN
from tinygpu.category.region import Region
from tinygpu.category.term import (
    BOOL,
    COMPARISONS,
    FALSE,
    INDEX,
    INTEGERS,
    TRUE,
    App,
    Const,
    Fold,
    Term,
    Var,
    children,
    negation,
    variables,
    whole,
)
from tinygpu.category.total import INFINITE, limited, total
from tinygpu.obligations.finite import HIGH, LOW, apart
from tinygpu.obligations.obligation import Claim, Obligation
from tinygpu.record import replace

LARGEST = 2**63 - 1
POSITIVE = ("exp", "exp2", "sigmoid")
CHOOSING = (*COMPARISONS, "min", "max", "select")


def with_theorems(claim: Claim, sizes: tuple[str, ...]) -> Claim:
    """The claim with what is known of its terms."""
    if not isinstance(claim, Obligation):
        return claim
    said = (*claim.hypotheses, claim.goal)
    terms = parts(tuple(t for t in said if not whole(t)))
    free = tuple(s for s in sizes if any(s in variables(t) for t in said)) if terms else ()
    facts = tuple(dict.fromkeys((*_infinities(terms), *_functions(terms), *_sizes(terms, free))))
    return replace(claim, hypotheses=claim.hypotheses + facts) if facts else claim


def parts(terms: tuple[Term, ...]) -> dict[Term, None]:
    """Everything that stands in terms outside of folds, each once."""
    found: dict[Term, None] = {}
    waiting = list(terms)
    while waiting:
        here = waiting.pop()
        if here not in found:
            found[here] = None
            waiting.extend(() if isinstance(here, Fold) else children(here))
    return found


def _infinities(terms: dict[Term, None]) -> Iterator[Term]:
    """That numbers lie between the infinities, where one of those is written."""
    ends = {t.dtype for t in terms if isinstance(t, Const) and t.value in INFINITE}
    chosen = (a for t in terms if isinstance(t, App) and t.op in CHOOSING for a in t.args if a.dtype in ends)
    for term in (t for t in dict.fromkeys(chosen) if not (isinstance(t, Const) and t.value in INFINITE)):
        low, high = (Const(end, term.dtype) for end in sorted(INFINITE))
        if limited(term):
            yield from (App("lt", (low, term), BOOL), App("lt", (term, high), BOOL))
        elif isinstance(term, Var | Fold):
            for sign, end in ((LOW, low), (HIGH, high)):
                ordered = (end, term) if sign == LOW else (term, end)
                yield App("le", ordered, BOOL)
                there = apart(term, sign, Region(()), {}) if isinstance(term, Fold) else FALSE
                if there != FALSE:
                    less = App("lt", ordered, BOOL)
                    yield less if there == TRUE else App("or", (negation(there), less), BOOL)


def _functions(terms: dict[Term, None]) -> Iterator[Term]:
    """The ranges of functions of numbers."""
    for term in terms:
        if isinstance(term, App) and len(term.args) == 1 and limited(term.args[0]) and not total(term.args[0]):
            for (op, at), value in KNOWN.items():  # of what surely has a value that is known before (`cancel`)
                if term.op == op and at not in INFINITE:
                    known = App("eq", (term, Const(float(value), term.dtype)), BOOL)
                    yield App("or", (App("ne", (term.args[0], Const(float(at), term.dtype)), BOOL), known), BOOL)
        match term:
            case App(op, (inner,), dtype) if op in POSITIVE and limited(inner):
                yield App("gt", (term, Const(0.0, dtype)), BOOL)
                if op == "exp" and isinstance(inner, App) and inner.op == "log":
                    argument = inner.args[0]
                    yield App("or", (App("le", (argument, Const(0.0, dtype)), BOOL), App("eq", (term, argument), BOOL)), BOOL)
            case App("log", (App("exp", (inner,)),)) if limited(inner):
                yield App("eq", (term, inner), BOOL)
            case App("xor", (a, b), dtype) if dtype == INDEX:
                natural = App("and", (a >= 0, b >= 0), BOOL)
                yield App("or", (negation(natural), App("and", (term >= 0, term <= a + b), BOOL)), BOOL)
            case App("floor", (inner,), dtype):
                yield App("le", (term, inner), BOOL)
                if limited(inner):
                    yield App("lt", (inner, App("add", (term, Const(1.0, dtype)), dtype)), BOOL)
            case App("sqrt", (inner,), dtype) if limited(inner):
                natural = App("ge", (inner, Const(0.0, dtype)), BOOL)
                yield App("or", (negation(natural), App("ge", (term, Const(0.0, dtype)), BOOL)), BOOL)
                if App("mul", (term, term), dtype) in terms:
                    yield App("or", (negation(natural), App("eq", (App("mul", (term, term), dtype), inner), BOOL)), BOOL)


def _sizes(terms: dict[Term, None], sizes: tuple[str, ...]) -> Iterator[Term]:
    """That sizes fit 64 bits, where an index is made an integer."""
    if any(isinstance(t, App) and t.op == "cast" and t.dtype in INTEGERS and t.args[0].dtype == INDEX for t in terms):
        yield from (Var(s) <= LARGEST for s in sizes)
