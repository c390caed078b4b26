"""The value that the program computes is the value that the equation names.

    value(w)  =  claim(owner(w))        over the reals, tensors and `exp` and friends uninterpreted, integers modulo 2ʷ

Comes in: two values at a point. Goes out: formulas. Folds are matched first and then stand as one symbol on both sides, so that
what remains has no binder and is one question to the solver; a condition over folds is split into its two cases.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from itertools import count

from tinygpu.category.cancel import cancel
from tinygpu.category.decide import holds
from tinygpu.category.monoid import Carrier, as_monoid
from tinygpu.category.powers import joined
from tinygpu.category.region import Region
from tinygpu.category.settle import settle
from tinygpu.category.simplify import simplify
from tinygpu.category.term import (
    BOOL,
    FALSE,
    FLOATS,
    TRUE,
    App,
    Const,
    Fold,
    Read,
    Term,
    Var,
    equal,
    exchange,
    folds,
    negation,
    outer_folds,
    outside,
    substitute,
    tensors,
    text,
    total,
    variables,
    walk,
    whole,
)
from tinygpu.diagnostic import Label
from tinygpu.obligations.defined import defined, evaluated, valued
from tinygpu.obligations.endless import at_infinity, computes, infinity_written
from tinygpu.obligations.facts import empty, extremes
from tinygpu.obligations.finite import Ends, allowed, surely
from tinygpu.obligations.fold import match
from tinygpu.obligations.obligation import Claim, Obligation
from tinygpu.obligations.shape import OPENED, bare, combine, expand, flatten, met, neat, one_fold, parts_of, put, taken_apart
from tinygpu.obligations.signs import signed
from tinygpu.obligations.sums import one_more, scaled
from tinygpu.record import dataclass, field, replace

NUMBER = (TRUE, TRUE)


@dataclass(frozen=True, slots=True)
class Symbols:
    """What stands for folds: where each is not infinite, and which fold it is."""

    ends: dict[str, tuple[Term, Term]] = field(default_factory=dict)
    meant: dict[str, Term] = field(default_factory=dict)

    def new(self, fold: Term, ends: tuple[Term, Term] | None, value: Term, claim: Term, point: Region) -> Var:
        """A symbol for a fold, whose number no other symbol has there, whatever it stands for: the number of one that may be infinite is asked
        of too."""
        taken = frozenset(self.meant).union(*map(variables, (value, claim, *point.guard)))
        numbers = (f"{len(point.axes)}.{number}" for number in count())
        number = next(n for n in numbers if not {f"{kind} {n}" for kind in ("fold", "number")} & taken)
        symbol = Var(f"{'number' if ends == NUMBER else 'fold'} {number}", fold.dtype)
        self.meant[symbol.name] = fold
        if ends is not None:
            self.ends[symbol.name] = ends
        return symbol


def same(
    value: Term, claim: Term, point: Region, labels: tuple[Label, ...] = (), symbols: Symbols | None = None
) -> Iterator[Claim]:
    """The formulas that say `value = claim` at a point; each knows what the symbols in it stand for."""
    if symbols is None:
        symbols = Symbols()
        for said in same(value, claim, point, labels, symbols):
            yield replace(said, meant=(*symbols.meant.items(), *said.meant))
        return
    value, claim = map(cancel, united(*signed(bare(value), claim), point))
    condition = split_on(value) or split_on(claim)
    if condition is not None:
        level = len(point.axes)
        value, claim = neat(value, level), neat(claim, level)  # so that one condition is decided in both
        value, claim = shared(value, claim, point, symbols)
        condition = split_on(value) or split_on(claim)
    if condition is not None:
        wanted = next((f for f in outer_folds(claim) if alone(f, value, claim)), None) if folds(condition) else None
        if wanted is not None:
            value, claim = yield from named(value, claim, wanted, point, labels, symbols)
            yield from same(value, claim, point, labels, symbols)
        else:
            yield from _split(value, claim, condition, point, labels, symbols)
        return
    value = yield from indexed(value, claim, point, labels)
    claim = claim if value == claim else taken_apart(one_more(value, claim, point))
    ours = outer_folds(value)
    for wanted in sorted(outer_folds(claim), key=lambda fold: fold not in ours) if value != claim else ():
        value, claim = yield from named(value, claim, wanted, point, labels, symbols)
    value, claim = (expand(decided(side, point)) for side in (value, claim))
    value, claim = yield from numbered(value, claim, point, labels, symbols)
    yield from _finished(cancel(value), cancel(claim), point, labels, symbols.ends, symbols.meant)


def decided(term: Term, point: Region) -> Term:
    """The term with the choices inside of its folds made where what is known at the point decides them: what a row outside of a tensor adds up to is 0."""
    for fold in outer_folds(term):
        bound = {a.name for t in walk(fold) if isinstance(t, Fold) for a in t.axes}
        asked = {t.args[0] for t in walk(fold) if isinstance(t, App) and t.op == "select"}
        known = {c: Const(truth, BOOL) for c in asked if not variables(c) & bound and (truth := holds(c, point)) is not None}
        if known:
            term = put(term, fold, cancel(settle(exchange(fold, known), point.extents, frozenset(point.guard))))
    return term


def indexed(value: Term, claim: Term, point: Region, labels: tuple[Label, ...]) -> Generator[Claim, None, Term]:
    """The value with the claim's places in the indices of what both read, `x[argmax …]`, and the formulas that say that they are the same."""
    wanted = [t for t in outside(claim) if isinstance(t, Read) and any(map(placed, t.index))] if value != claim else []
    for ours in [t for t in outside(value) if isinstance(t, Read) and t not in wanted] if wanted else ():
        for theirs in (t for t in wanted if t.tensor == ours.tensor and any(map(placed, ours.index))):
            for a, b in zip(ours.index, theirs.index, strict=True):
                if a != b:
                    yield from same(uncast(a), uncast(b), point, labels)
            value = put(value, ours, theirs)
            break
    return value


def placed(index: Term) -> bool:
    """Whether an index is a component of a fold."""
    return any(isinstance(t, App) and t.op == "part" and folds(t) for t in walk(index))


def uncast(index: Term) -> Term:
    """The integer that is an index."""
    return index.args[0] if isinstance(index, App) and index.op == "cast" else index


def united(value: Term, claim: Term, point: Region) -> tuple[Term, Term]:
    """Both with one text for a fold that stands twice, by the names of its binders or by its places, where one of them has several."""
    first: dict[Term, Term] = {}
    sure = {
        a.name: b
        for a, b in (g.args for g in point.guard if isinstance(g, App) and g.op == "eq")
        if isinstance(a, Var) and whole(b)
    }
    if len(outer_folds(claim)) > 1 or (folds(claim) and len(outer_folds(value)) > 1):
        for fold in (*outer_folds(claim), *outer_folds(value)):
            one = first.setdefault(neat(simplify(substitute(fold, sure), Region(point.axes)), OPENED), fold)
            value, claim = put(value, fold, one), put(claim, fold, one)
    return value, claim


def _split(
    value: Term, claim: Term, condition: Term, point: Region, labels: tuple[Label, ...], symbols: Symbols
) -> Iterator[Claim]:
    """The formulas for both cases of a condition."""
    if condition in outside(value):
        yield from evaluated(condition, claim, point, labels, symbols.ends)
    for case, truth in ((condition, TRUE), (negation(condition), FALSE)):
        there = point.under(case)
        given = frozenset(there.guard)
        ours, theirs = (settle(put(side, condition, truth), there.extents, given) for side in (value, claim))
        yield from same(ours, theirs, there, labels, symbols)


def shared(value: Term, claim: Term, point: Region, symbols: Symbols) -> tuple[Term, Term]:
    """Both with a symbol for each fold that stands in both and has a value whatever the data is: then no case is split for its sake."""
    theirs = frozenset(outer_folds(claim))
    for fold in (f for f in outer_folds(value) if f in theirs and f.dtype in FLOATS and total(f) and find_region(value, f) == f):
        symbol = symbols.new(fold, surely(fold, point), value, claim, point)
        value, claim = put(value, fold, symbol), put(claim, fold, symbol)
    return value, claim


def alone(wanted: Fold, value: Term, claim: Term) -> bool:
    """Whether a fold of the claim and one of the value are the only ones of their monoid and tensors, so that they can only be the same."""

    def such(term: Term) -> list[Fold]:
        return [f for f in outer_folds(term) if f.monoid == wanted.monoid and same_tensors(f, wanted)]

    region = find_region(value, wanted) if len(such(claim)) == len(such(value)) == 1 else None
    return region is not None and not such(put(value, region, FALSE)) and one_fold(wanted) == wanted


def same_tensors(fold: Fold, other: Fold) -> bool:
    """Whether two folds read the same, the one perhaps in its guard what the other has in a choice: `⊕[d | c] v` and `⊕[d] (v if c else unit)`."""
    return not {tensors(fold.body), tensors(fold)}.isdisjoint({tensors(other.body), tensors(other)})


def named(
    value: Term, claim: Term, wanted: Fold, point: Region, labels: tuple[Label, ...], symbols: Symbols
) -> Generator[Claim, None, tuple[Term, Term]]:
    """The formulas that say that a fold of the claim is what the value has for it, and both with a symbol in its place."""
    value = yield from scaled(value, claim, wanted, point, labels)
    region = find_region(value, wanted)
    if region is None:
        return value, claim
    parts, rest = divide(parts_of(wanted.monoid, region), wanted, claim)
    if rest and not as_monoid(wanted.monoid).commutative:
        return value, claim
    symbol = symbols.new(wanted, surely(wanted, point) if wanted.dtype in FLOATS else None, value, claim, point)
    yield from match(parts, wanted, point, labels, lambda a, b, p: same(a, b, p, labels))
    if isinstance(wanted.dtype, Carrier) and allowed(wanted, point, symbols.ends):
        symbols.ends[symbol.name] = NUMBER
    value = put(value, region, combine(as_monoid(wanted.monoid).op, wanted.dtype, symbol, *rest))
    if len(parts) == 1:
        value = put(value, parts[0], symbol)
    return put(value, wanted, symbol), put(claim, wanted, symbol)


def numbered(
    value: Term, claim: Term, point: Region, labels: tuple[Label, ...], symbols: Symbols
) -> Generator[Claim, None, tuple[Term, Term]]:
    """Both with a symbol for each fold that is a number there, and in one of them only; that the program's have a value is said here."""
    theirs = {neat(f, OPENED) for f in outer_folds(claim)}
    for fold in dict.fromkeys(f for t in (value, claim) for f in outer_folds(t) if f.dtype in FLOATS):
        if surely(fold, point) == NUMBER:
            symbol = symbols.new(like := neat(fold, OPENED), NUMBER, value, claim, point)
            if like not in theirs:
                yield from evaluated(fold, claim, point, labels, symbols.ends)
            value, claim = (put(t, like, symbol, lambda f: neat(f, OPENED)) for t in (value, claim))
    return value, claim


def _finished(
    value: Term, claim: Term, point: Region, labels: tuple[Label, ...], ends: Ends, meant: Mapping[str, Term]
) -> Iterator[Claim]:
    """The formulas about two values without folds; of values of several components one for each, where one may be infinite."""
    if isinstance(value.dtype, Carrier) and computes(value, claim, point, ends):
        parts = value.dtype.parts
        for ours, theirs in zip(parts(value), parts(claim), strict=True):
            yield from _finished(ours, theirs, point, labels, ends, meant)
        return
    value = met(value, claim)
    sentence = f"{text(value)} is {text(claim)}" if value != claim else f"the value is {text(claim)}"
    title = "the value stored is not the equation's"
    there = point.under(*valued(claim, point), *(extremes(meant, (value, claim), point) if value != claim else ()))
    if not infinity_written(value, claim, point, ends):
        cases = computes(value, claim, point, ends)  # then what is infinite is asked by itself, and here are numbers
        names: dict[str, Term] = {name: Var(name.replace("fold", "number"), fold.dtype) for name, fold in meant.items() if cases}
        reals = (cancel(joined(substitute(t, names))) for t in (value, claim))
        facts, forms = tuple(substitute(f, names) for f in there.facts), (value, claim)
        yield Obligation("body", "TG502", title, sentence, facts, equal(*reals), labels, forms=forms)
    yield from defined(value, claim, there, labels, ends)
    yield from at_infinity(value, claim, point.under(*empty(meant, (value, claim))), ends, labels, meant)


def split_on(term: Term) -> Term | None:
    """The condition of a choice between values with folds, outermost first, not inside a fold."""
    return next((t.args[0] for t in outside(term) if isinstance(t, App) and t.op == "select" and any(map(folds, t.args[1:]))), None)


def find_region(value: Term, wanted: Fold) -> Term | None:
    """The first subterm that combines, with the wanted monoid, most folds, at least one the wanted one, or over the same tensors (or failing
    that, any)."""
    law = as_monoid(wanted.monoid)
    found: list[tuple[int, int, bool, int, Term]] = []
    for term in outside(value):
        parts = flatten(law.op, term)
        ours = [p for p in parts if isinstance(p, Fold) and p.monoid == wanted.monoid]
        if ours and term.dtype == wanted.dtype:
            inside = (f for p in parts if isinstance(p, App) and p.op != "select" for f in outer_folds(p))
            pure = not any(f.monoid == wanted.monoid for f in inside)
            exact = max(same_tensors(f, wanted) + (f == wanted) for f in ours)
            many = len({neat(f, OPENED) for f in dict.fromkeys(ours)}) if len(ours) > 1 else 1
            found.append((exact, many, pure, -len(ours), term))
    # a fold over nothing has no fold to stand for it, only the unit
    return max(found, key=lambda one: one[:4])[4] if found else value if value == law.unit(wanted.dtype) else None


def divide(parts: tuple[Term, ...], wanted: Fold, claim: Term) -> tuple[tuple[Term, ...], tuple[Term, ...]]:
    """Which parts of a combination belong to the wanted fold, and which stand beside it in the claim too."""
    names = tensors(wanted.body)
    only = all(f == wanted or f.monoid != wanted.monoid for f in outer_folds(claim))
    beside = {neat(t, OPENED) for t in outside(claim)}
    ours: list[Term] = []
    rest: list[Term] = []
    for part in parts:
        if isinstance(part, Fold) and part.monoid == wanted.monoid:
            # what the claim does not read is a part of nothing, which is asked beside the first fold
            mine = only or same_tensors(part, wanted) or not tensors(part.body) <= tensors(claim)
        else:
            mine = neat(part, OPENED) not in beside and tensors(part) == names and bool(names)
        (ours if mine else rest).append(part)
    return tuple(ours), tuple(rest)
