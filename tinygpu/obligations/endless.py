"""What the program computes is the equation's where some value is infinite too.

    for each choice of which folds are infinite:   value(case) = claim(case)   wherever the claim has a value

Comes in: two values at a point, folds matched and written as symbols, and where those are numbers. Goes out: formulas by the cases of `extended`,
for the choices that the point does not rule out. The one idea: over the reals nothing is infinite, so what is proved there says nothing of a
maximum over nothing; and where nothing computes with an infinity, any number below all others stands for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count, islice, product

from tinygpu.category.cancel import cancel
from tinygpu.category.region import Region
from tinygpu.category.term import (
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
    memoised,
    negation,
    outside,
    rebuild,
    substitute,
    text,
    variables,
)
from tinygpu.category.text import WRITTEN
from tinygpu.category.total import INFINITE, mixing
from tinygpu.diagnostic import Label
from tinygpu.obligations.defined import partial, valued
from tinygpu.obligations.extended import NOTHING, Unfollowed, infinite, powers, several
from tinygpu.obligations.finite import HIGH, LOW, Ends, apart, blended, finite
from tinygpu.obligations.obligation import Claim, Obligation

MOST = 4  # symbols that may be infinite, beyond which nothing is asked case by case
BOTH = (LOW, HIGH)
CASES = 256  # of one choice of infinities, each a question
Values = tuple[Term, Term]


def infinity_written(value: Term, claim: Term, point: Region, ends: Ends) -> bool:
    """Whether something computes with an infinity that is written there, so that reals say nothing of it."""
    return computes(value, claim, point, dict.fromkeys(ends, (TRUE, TRUE)))


def computes(value: Term, claim: Term, point: Region, ends: Ends) -> bool:
    """Whether something computes with what may be infinite there, and is not the same in both."""
    return value != claim and any(_with_infinities(t, point, ends) for t in (value, claim))


def at_infinity(
    value: Term, claim: Term, point: Region, ends: Ends, labels: tuple[Label, ...], meant: Mapping[str, Term]
) -> Iterator[Claim]:
    """The claims of this property for one value; in messages stands what the symbols are `meant` for."""
    if not computes(value, claim, point, ends):
        return
    names = _Names(point, dict(ends))
    pair = names.leaves(value), names.leaves(claim)
    point = point.under(*(c for c in valued(claim, point) if not names.endless(names.leaves(c))))
    may = [(name, sign) for name, both in names.ends.items() for sign in (LOW, HIGH) if both[sign > 0] != TRUE]
    may = [(name, sign) for name, sign in may if any(_mentions(t, name) for t in pair)]
    bare = infinity_written(value, claim, point, ends)
    shown = text(substitute(value, meant)), text(substitute(claim, meant))
    pair = names.numbers(pair[0]), names.numbers(pair[1])
    if len({name for name, _ in may}) > MOST or any(t.parts > WRITTEN for t in pair):
        may, bare = [], False
        yield _wrong(shown, point, "may be infinite in too many ways to be compared", labels)
    kept = list(dict.fromkeys(n for n, _ in may))
    signs = [tuple(sign for n, sign in may if n == name) for name in kept]
    choices = [(None, *each, *((0,) if each == BOTH else ())) for each in signs]  # what meets both infinities may have no value
    for choice in product(*choices):
        chosen = {name: sign for name, sign in zip(kept, choice, strict=True) if sign is not None}
        if chosen or bare:
            there = point.under(
                *(negation(names.ends[n][end > 0]) for n, sign in chosen.items() for end in ([sign] if sign else BOTH))
            )
            found = _case(names, pair, shown, chosen, there, labels)
            try:
                yield from islice(found, CASES)
                if next(found, None) is not None:
                    yield _wrong(shown, there, "may be infinite in too many ways to be compared", labels)
            except Unfollowed:
                yield _wrong(shown, there, "computes with infinities in a way that is not followed", labels)


def _case(
    names: _Names, pair: Values, shown: tuple[str, str], chosen: dict[str, int], point: Region, labels: tuple[Label, ...]
) -> Iterator[Claim]:
    """Where these symbols are infinite, and no others."""
    env: dict[str, Term] = {n: Const(sign * INFINITE[0], names.dtypes[n]) if sign else NOTHING for n, sign in chosen.items()}
    for path, (theirs, ours) in several(pair[::-1], env, ()):
        if theirs is NOTHING or (infinite(ours) and ours == theirs):
            continue
        there = point.under(*map(names.back, path))
        if ours is NOTHING:
            yield _wrong(shown, there, "has no value where the equation has one", labels)
        elif infinite(ours) or infinite(theirs):
            yield _wrong(shown, there, "is infinite where the equation is not, or the other way round", labels)
        else:
            sentence = f"{shown[0]} is {shown[1]} where a fold over nothing is infinite"
            goal = equal(*(powers(names.back(cancel(t))) for t in (ours, theirs)))
            title, forms = "the value stored is not the equation's", (names.back(ours), names.back(theirs))
            yield Obligation("body", "TG502", title, sentence, there.facts, goal, labels, forms=forms)


def _wrong(shown: tuple[str, str], point: Region, what: str, labels: tuple[Label, ...]) -> Obligation:
    title = f"{shown[0]} {what}"
    sentence = f"{shown[0]} has the value {shown[1]} where infinities are computed with"
    help = "a fold over nothing gives its unit, -inf of a maximum: guard it, or say in `where` that there is something"
    return Obligation("defined", "TG510", title, sentence, point.facts, FALSE, labels, help)


def _with_infinities(term: Term, point: Region, ends: Ends) -> bool:
    """Whether something outside of folds computes with what is not seen to be a number, or a fold does."""
    if any(TRUE not in ends[name] for name in variables(term) if name in ends):
        return True
    for part, where in partial(term, point):
        if isinstance(part, Fold):
            if where.settled(blended(part, where, ends)) != TRUE:
                return True
        elif isinstance(part, App) and mixing(part):
            for arg in (a for a in part.args if a.dtype in FLOATS):
                if where.settled(finite(arg, where, ends)) != TRUE:
                    return True
    return False


def _mentions(term: Term, name: str) -> bool:
    return any(isinstance(part, Var) and part.name == name for part in outside(term))


class _Names:
    """Symbols for what is looked at as a whole: folds and components that may be infinite, and numbers."""

    def __init__(self, point: Region, ends: dict[str, tuple[Term, Term]]) -> None:
        self.point, self.ends, self.put, self.count = point, ends, dict[str, Term](), count()
        self.known: dict[Term, Var] = {}
        self.dtypes: dict[str, str] = {}

    def symbol(self, term: Term) -> Var:
        """One symbol for one term."""
        if term not in self.known:
            self.known[term] = Var(f"number value {next(self.count)}", term.dtype)  # where it is no number, something stands for it
            self.put[self.known[term].name] = term
        return self.known[term]

    @memoised
    def leaves(self, term: Term) -> Term:
        """The term with a symbol for each fold, and for each component of a value of several."""
        match term:
            case Var(name, dtype):
                self.dtypes[name] = dtype
                return term
            case App("part", (inner, _)) if not isinstance(inner, App) or inner.op != "pack":
                return self._leaf(term)
            case Fold() if term.dtype in FLOATS:
                return self._leaf(term)
            case Fold() | Read():
                return term
        return rebuild(term, self.leaves)

    def _leaf(self, term: Term) -> Term:
        symbol = self.symbol(term)
        self.dtypes[symbol.name] = symbol.dtype
        self.ends[symbol.name] = apart(term, LOW, self.point, self.ends), apart(term, HIGH, self.point, self.ends)
        return symbol

    @memoised
    def numbers(self, term: Term) -> Term:
        """The term with a symbol for each largest part that no infinity is in."""
        if isinstance(term, Const | Var) or self.endless(term):
            return term if isinstance(term, Const | Var | Read | Fold) else rebuild(term, self.numbers)
        return self.symbol(term)

    @memoised
    def endless(self, term: Term) -> bool:
        """Whether an infinity may be in a term without folds."""
        match term:
            case Const(value):
                return value in INFINITE
            case Var(name):
                return self.ends.get(name, (TRUE, TRUE)) != (TRUE, TRUE)
            case App(_, args):
                return any(map(self.endless, args))
        return False

    def back(self, term: Term) -> Term:
        """The term with what the symbols stand for."""
        while any(name in self.put for name in variables(term)):
            term = substitute(term, self.put)
        return term
