"""What is known of the terms of a claim: what the op promises, what a maximum is, and what is true of every number.

    all[t] φ(idx[t])   gives   0 ≤ e < T  ⇒  φ(idx[e])        for every read idx[e] of the claim
    m = max[k ∈ K | g] b(k),   K ∋ 0 with g(0)      gives      ∃ k ∈ K:  g(k),  m = b(k)      and      b(e) ≤ m  where  e ∈ K,  g(e)
    −∞ < t < ∞ for what is finite, −∞ ≤ t ≤ ∞ for a fold;   exp t > 0;   √t ≥ 0, √t·√t = t where t ≥ 0, √t > 0 where t > 0;   a size is at most 2⁶³ − 1;   0 ≤ a ^ b ≤ a + b

Comes in: a claim with promises, or with symbols and the folds that they stand for. Goes out: facts to be added to its hypotheses. Promises are
assumptions that the verdict states. The one idea: what is so of every term (a sign, a promise of the data) is so of a symbol, without a law for each
sign; and the solver knows nothing of an infinity or a function.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from tinygpu.category.linear import as_written, divide, polynomial, solve, stride
from tinygpu.category.monoid import as_monoid
from tinygpu.category.operation import FUNCTION, KNOWN
from tinygpu.category.region import Region
from tinygpu.category.settle import within
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
    Read,
    Term,
    Var,
    children,
    conjunction,
    equal,
    fresh,
    negation,
    reads,
    substitute,
    variables,
    whole,
)
from tinygpu.category.total import INFINITE, limited, total
from tinygpu.obligations.counted import counted
from tinygpu.obligations.finite import HIGH, LOW, apart
from tinygpu.obligations.obligation import Claim, Gap, Inhabited, Obligation
from tinygpu.obligations.truncated import truncated, truncates
from tinygpu.record import replace


def promised(claim: Claim, promises: tuple[Term, ...]) -> Claim:
    """The claim under what is promised of the data that it reads."""
    if not promises or isinstance(claim, Gap):
        return claim
    terms = claim.hypotheses + ((claim.goal,) if isinstance(claim, Obligation) else ())
    read = tuple(dict.fromkeys(r for t in terms for r in reads(t)))
    facts = tuple(dict.fromkeys(fact for p in promises for fact in instances(p, read)))
    match claim:
        case Obligation() | Inhabited():
            return replace(claim, hypotheses=claim.hypotheses + facts)


def instances(promise: Term, read: tuple[Read, ...]) -> Iterator[Term]:
    """What a promise says at the elements that are read.

    >>> from tinygpu.category.term import TRUE, Axis, Var, text
    >>> idx = lambda i: Read("idx", (i,), "i32")
    >>> t, T = Var("t"), Var("T")
    >>> says = Fold("all", (Axis("t", T),), TRUE, App("ge", (idx(t), Var("low", "i32")), BOOL), BOOL)
    >>> [text(f) for f in instances(says, (idx(Var("b") + 1),))]
    ['not (0 <= b + 1 and b + 1 < T) or idx[b + 1] >= low']
    """
    match promise:
        case Fold("all"):
            # a thread may have the name of a binder
            promise = fresh(promise, frozenset().union(*map(variables, read)))
            axes, guard, body = promise.axes, promise.guard, promise.body
            binders = {a.name for a in axes}
            for general in reads(body):
                for special in (r for r in read if r.tensor == general.tensor):
                    bind = _unified(general, special, binders)
                    if set(bind) == binders:
                        inside = conjunction(*(within(bind[a.name], a.extent) for a in axes), substitute(guard, bind))
                        yield App("or", (negation(inside), substitute(body, bind)), BOOL)
        case App("and", args):
            for arg in args:
                yield from instances(arg, read)
        case _:
            yield promise


def _unified(general: Read, special: Read, binders: set[str]) -> dict[str, Term]:
    found: dict[str, Term] = {}
    for pattern, term in zip(general.index, special.index, strict=True):
        unknown = sorted(variables(pattern) & binders - set(found))
        point = solve(pattern, term, unknown[0]) if len(unknown) == 1 else None
        if point is not None:
            found[unknown[0]] = point
        if len(unknown) > 1:
            found |= _digits(pattern, term, unknown)
    return found


def _digits(pattern: Term, term: Term, names: Collection[str]) -> dict[str, Term]:
    """Where a flat address is that of several indices: `b·L + l` is `5·L + q` at b = 5, l = q.

    >>> from tinygpu.category.term import Var, text
    >>> found = _digits(Var("b") * Var("L") + Var("l"), Var("i") * Var("L") + Var("q") // 2, ["b", "l"])
    >>> {name: text(point) for name, point in found.items()}
    {'b': 'i', 'l': 'q // 2'}
    """
    found: dict[str, Term] = {}
    paces = {name: pace for name in names if (pace := stride(polynomial(pattern), name)[0])}
    form = polynomial(term)
    for name in sorted(paces, key=lambda n: max(map(len, paces[n])), reverse=True):
        quotient, form = divide(form, paces[name])
        found[name] = as_written(quotient)
    return found


BOUND = {"max": "le", "min": "ge"}


def extremes(meant: Mapping[str, Term], asked: tuple[Term, ...], point: Region) -> Iterator[Term]:
    """What is known of each symbol of a maximum or minimum that is asked of.

    >>> from tinygpu.category.term import Axis, text
    >>> x = lambda k: Read("x", (k,), "f32")
    >>> meant = {"number 0": Fold("max", (Axis("k", Var("K")),), TRUE, x(Var("k")), "f32")}
    >>> for fact in extremes(meant, (Var("number 0", "f32") - x(Const(2)),), Region((), (Var("K") >= 1,))):
    ...     print(text(fact))
    0 <= k of number 0 and k of number 0 < K
    number 0 == x[k of number 0]
    not (0 <= 2 and 2 < K) or x[2] <= number 0
    """
    names = frozenset().union(*map(variables, asked))
    read = tuple(dict.fromkeys(r for t in asked for r in reads(t)))
    for name, fold in meant.items():
        if name in names and isinstance(fold, Fold) and fold.monoid in BOUND:
            symbol = Var(name, fold.dtype)
            yield from _attained(symbol, fold, point)
            below = App(BOUND[fold.monoid], (fold.body, symbol), BOOL)
            yield from instances(Fold("all", fold.axes, fold.guard, below, BOOL), read)


def empty(meant: Mapping[str, Term], asked: tuple[Term, ...]) -> Iterator[Term]:
    """That a fold over nothing is its unit, where that is a number."""
    names = frozenset().union(*map(variables, asked))
    for name, fold in meant.items():
        unit = as_monoid(fold.monoid).unit(fold.dtype) if name in names and isinstance(fold, Fold) and fold.axes else None
        if isinstance(fold, Fold) and isinstance(unit, Const) and unit.value not in INFINITE:
            some = (a.extent >= 1 for a in fold.axes)
            yield App("or", (conjunction(*some), equal(Var(name, fold.dtype), unit)), BOOL)


def _attained(symbol: Var, fold: Fold, point: Region) -> Iterator[Term]:
    first: dict[str, Term] = {a.name: Const(0) for a in fold.axes}
    some = conjunction(*(a.extent >= 1 for a in fold.axes), substitute(fold.guard, first))
    if point.settled(some) == TRUE:
        there: dict[str, Term] = {a.name: Var(f"{a.name} of {symbol.name}") for a in fold.axes}
        inside = (within(there[a.name], a.extent) for a in fold.axes)
        yield conjunction(*inside, substitute(fold.guard, there))
        yield equal(symbol, substitute(fold.body, there))


LARGEST = 2**63 - 1
CHOOSING = (*COMPARISONS, "min", "max", "select")


def with_theorems(claim: Claim, sizes: tuple[str, ...]) -> Claim:
    """The claim with what is known of its terms."""
    if not isinstance(claim, Obligation):
        return claim
    said = (*claim.hypotheses, claim.goal)
    terms = parts(tuple(t for t in said if not whole(t)))
    casts = any(isinstance(t, App) and t.op == "cast" and t.dtype in INTEGERS and t.args[0].dtype == INDEX for t in terms)
    whole_sizes = [Var(s) <= LARGEST for s in sizes if any(s in variables(t) for t in said)] if casts else []
    facts = tuple(dict.fromkeys((*_infinities(terms), *_functions(terms), *_counts(terms), *whole_sizes)))
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


def _counts(terms: dict[Term, None]) -> Iterator[Term]:
    """How large sums of integers are."""
    for fold in (t for t in terms if isinstance(t, Fold)):
        yield from counted(fold)


def _functions(terms: dict[Term, None]) -> Iterator[Term]:
    """The ranges of functions of numbers."""
    for term in terms:
        if isinstance(term, App) and len(term.args) == 1 and limited(term.args[0]) and not total(term.args[0]):
            for (op, at), value in KNOWN.items():  # of what surely has a value that is known before (`cancel`)
                if term.op == op and at not in INFINITE:
                    known = App("eq", (term, Const(float(value), term.dtype)), BOOL)
                    yield App("or", (App("ne", (term.args[0], Const(float(at), term.dtype)), BOOL), known), BOOL)
        match term:
            case _ if truncates(term):
                yield from truncated(term)
            case App(op, (inner,), dtype) if op in FUNCTION and FUNCTION[op].positive and limited(inner):
                yield App("gt", (term, Const(0.0, dtype)), BOOL)
                if op == "exp" and isinstance(inner, App) and inner.op == "log":
                    argument = inner.args[0]
                    yield App("or", (App("le", (argument, Const(0.0, dtype)), BOOL), App("eq", (term, argument), BOOL)), BOOL)
            case App("log", (App("exp", (inner,)),)) if limited(inner):
                yield App("eq", (term, inner), BOOL)
            case App("round", (inner,), dtype):
                twice = App("mul", (Const(2.0, dtype), App("sub", (term, inner), dtype)), dtype)
                if limited(inner):
                    yield App(
                        "and", (App("le", (Const(-1.0, dtype), twice), BOOL), App("le", (twice, Const(1.0, dtype)), BOOL)), BOOL
                    )
            case App("floor", (inner,), dtype):
                yield App("le", (term, inner), BOOL)
                if limited(inner):
                    yield App("lt", (inner, App("add", (term, Const(1.0, dtype)), dtype)), BOOL)
            case App("sqrt", (inner,), dtype) if limited(inner):
                natural, zero = App("ge", (inner, Const(0.0, dtype)), BOOL), Const(0.0, dtype)
                yield App("or", (negation(natural), App("ge", (term, zero), BOOL)), BOOL)
                for op in ("gt", "eq"):  # a root is as positive as what it is of
                    yield App("or", (negation(App(op, (inner, zero), BOOL)), App(op, (term, zero), BOOL)), BOOL)
                if App("mul", (term, term), dtype) in terms:
                    yield App("or", (negation(natural), App("eq", (App("mul", (term, term), dtype), inner), BOOL)), BOOL)
