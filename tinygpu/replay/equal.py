"""A value is the equation's: folds are matched and become the equation's own; what is left has no binder and is one question.

Comes in: two values, without symbols of cells, at a place. Goes out: whether they are equal, with claims.
The one idea: outermost folds first; where one is not matched as a whole, its parts are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from tinygpu.replay.folds import has_folds, matched, monoid_of
from tinygpu.replay.ir import BOOL, FLOATS, Fold, Num, Op, Term, children, compare, either, rebuild, select, walk
from tinygpu.replay.judge import Judge, Place, Stuck
from tinygpu.replay.polynomials import opposite
from tinygpu.replay.symbols import ARITHMETIC, infinite

PATIENCE = 200  # comparisons for one machine; no shipped one takes more than fifteen
LARGE = 4_000  # subterms of a value; no shipped one has more than six hundred
PARTIAL = ("div", "log", "sqrt", "rsqrt")


def same(value: Term, wanted: Term, place: Place, judge: Judge) -> bool:
    """Whether two values are equal at a place; the claims are left only if they are."""
    judge.compared += 1
    if judge.compared > PATIENCE or next(islice(walk(value), LARGE, None), None) is not None:
        raise Stuck("a comparison of folds that is too large")
    mark = judge.mark()
    value, wanted = judge.simplify(place, value), judge.simplify(place, wanted)
    rewritten = likened(value, wanted, place, judge)
    if rewritten == wanted:  # said all the same: a claim about a store is there to be seen
        judge.claims[judge.claim(place, Op("eq", (rewritten, wanted), BOOL))] = None
    if judge.decide(place, compare("eq", rewritten, wanted)):
        defined(rewritten, wanted, place, judge)
        return True
    judge.back(mark)
    return False


def agree(value: Term, wanted: Term, place: Place, judge: Judge) -> None:
    """Claims that two values are equal; what could not be shown is claimed as it stands, and will not be proved."""
    if not same(value, wanted, place, judge):
        judge.state(place, compare("eq", value, wanted))


def likened(value: Term, wanted: Term, place: Place, judge: Judge) -> Term:
    """The value with the folds that are folds of the other one written as these."""
    if not has_folds(value):
        return value
    targets = tuple(dict.fromkeys(candidates(wanted)))

    def compared(a: Term, b: Term, there: Place) -> bool:
        return same(a, b, there, judge)

    def change(term: Term, here: Place) -> Term:
        if not has_folds(term):
            return term
        monoid = monoid_of(term)
        for target in targets:
            if monoid and monoid == monoid_of(target) and (term == target or matched(term, target, here, judge, compared)):
                return target
        match term:
            case Op("select", (condition, then, otherwise)):
                condition = change(condition, here)
                yes, no = here.under(condition), here.under(opposite(condition))
                return select(condition, change(then, yes), change(otherwise, no))
            case Fold():
                return term
        return rebuild(term, lambda t: change(t, here))

    return change(value, place)


def candidates(term: Term) -> Iterator[Term]:
    """The values in a term that are made of folds, larger ones first."""
    if monoid_of(term):
        yield term
    for child in children(term):
        if not isinstance(term, Fold):
            yield from candidates(child)


# ── what is undefined ──


def partial(term: Term, place: Place) -> Iterator[tuple[Op, Place]]:
    """Operations that are not defined everywhere, each where it is evaluated; those inside of folds are met where folds are matched."""
    match term:
        case Op("select", (condition, then, otherwise)):
            yield from partial(condition, place)
            yield from partial(then, place.under(condition))
            yield from partial(otherwise, place.under(opposite(condition)))
        case Op(op, args, dtype):
            if dtype in FLOATS and (op in PARTIAL or (op in ARITHMETIC and any(map(infinite, args)))):
                yield term, place
            for arg in args:
                yield from partial(arg, place)


def condition(term: Op) -> Term:
    """Where an operation is defined."""
    if term.op in ARITHMETIC and any(map(infinite, term.args)):
        return Num(False, BOOL)
    last = term.args[-1]
    zero = Num(0, last.dtype)
    return compare({"div": "ne", "sqrt": "ge"}.get(term.op, "gt"), last, zero)


def defined(value: Term, wanted: Term, place: Place, judge: Judge) -> None:
    """Claims that wherever the equation is defined, so is what the program evaluates."""
    theirs = list(partial(wanted, Place(())))
    kind = judge.kind, judge.code, judge.sentence
    judge.about("defined", "TG510", f"what is evaluated is defined wherever the equation is; {judge.sentence}")
    for term, where in partial(value, place):
        if any(term == other and set(there.facts) <= set(where.facts) for other, there in theirs):
            continue
        ways = [condition(term)]
        for other, there in theirs:
            if other.op == term.op and other.dtype == term.dtype:
                equal = (compare("eq", a, b) for a, b in zip(term.args, other.args, strict=True))
                parts = (*equal, *there.facts)
                ways.append(Op("and", parts, BOOL) if len(parts) > 1 else parts[0])
        judge.state(where, either(*ways))
    judge.kind, judge.code, judge.sentence = kind
