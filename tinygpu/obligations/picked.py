"""A largest or smallest of integers that are made of indices is one of them, and so is the place of an `argmax`: it may be an index itself.

    m = max[k ∈ K | g] b(k)          ⊢      m = unit   or   ∃ k ∈ K:  g(k),  m = b(k)
    (v, p) = argmax[k ∈ K | g] (x(k), b(k)),   K ∋ 0 with g(0)      ⊢      ∃ k ∈ K:  g(k),  p = b(k)

Comes in: terms, or a claim about numbers that are held and the folds that they are another form of. Goes out: facts, in which new names stand for where
it was found. The one idea: an extreme of integers picks one of its terms. So does the place of an argmax or argmin in whatever order and of whatever
data it was computed, NaN among them: what compares with nothing leaves the smaller place, and that of a unit is the largest there is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tinygpu.category.monoid import as_monoid, is_built_in, part
from tinygpu.category.node import kept
from tinygpu.category.settle import within
from tinygpu.category.term import (
    BOOL,
    INDEX,
    INTEGERS,
    App,
    Const,
    Fold,
    Read,
    Term,
    Var,
    conjunction,
    equal,
    negation,
    outside,
    reads,
    substitute,
    walk,
)
from tinygpu.obligations.made import is_made, value_of
from tinygpu.obligations.obligation import Claim, Obligation
from tinygpu.obligations.shape import parts_of
from tinygpu.obligations.trace import Trace
from tinygpu.record import replace

PICKING = ("max", "min")
PLACES = ("argmax", "argmin")  # with the component `k`, the second
Held = Mapping[str, tuple[tuple[str, ...], Fold]]


def picked(terms: Iterable[Term]) -> Iterator[Term]:
    """What is known of each extreme of integers, and of each place.

    >>> from tinygpu.category.term import TRUE, Axis, text
    >>> place = App("cast", (Var("k"),), "i32")
    >>> for fact in picked([Fold("min", (Axis("k", Var("n")),), TRUE, place, "i32")]):
    ...     print(text(fact))
    min[k < n] i32(k) == 2147483647 or 0 <= k of pick 0 and k of pick 0 < n and min[k < n] i32(k) == i32(k of pick 0)
    """
    for number, term in enumerate(terms):
        match term:
            case Fold(monoid, dtype=dtype) if monoid in PICKING and dtype in INTEGERS and any(map(placed, walk(term.body))):
                unit = as_monoid(monoid).unit(dtype)
                assert unit is not None, "every dtype has a largest integer"
                yield App("or", (equal(term, unit), found(term, term, term.body, number)), BOOL)
            case App("part", (Fold(dtype=carrier) as fold, Const(1))) if of_places(carrier):
                yield from place_of(term, fold, number)


@kept
def picking(term: Term) -> bool:
    """Whether outside of its folds and indices stands what picks one of its terms: there is much that has none."""
    match term:
        case Fold(monoid):
            return monoid in PICKING or of_places(term.dtype)
        case App(_, args):
            return any(map(picking, args))
    return False


def of_places(name: str) -> bool:
    """Whether a dtype is that of a largest or smallest value with its place, and none of a file that is called so.

    >>> of_places("argmin_f32"), of_places("argmin_mine"), of_places("max")
    (True, False, False)
    """
    return is_built_in(name) and name.rpartition("_")[0] in PLACES


def place_of(term: Term, fold: Fold, number: int) -> Iterator[Term]:
    """What is known of a place, where there surely is a term: at the beginning of every axis."""
    body, first = part(fold.body, 1, term.dtype), dict[str, Term]((a.name, Const(0)) for a in fold.axes)
    some = conjunction(*(a.extent >= 1 for a in fold.axes), substitute(fold.guard, first))
    if any(map(placed, walk(body))):
        yield App("or", (negation(some), found(term, fold, body, number)), BOOL)


def found(term: Term, fold: Fold, body: Term, number: int) -> Term:
    """That a value is that of a body somewhere in a fold."""
    there: dict[str, Term] = {a.name: Var(f"{a.name} of pick {number}") for a in fold.axes}
    inside = (within(there[a.name], substitute(a.extent, there)) for a in fold.axes)
    return conjunction(*inside, substitute(fold.guard, there), equal(term, substitute(body, there)))


def placed(term: Term) -> bool:
    """Whether it is the integer of an index."""
    return isinstance(term, App) and term.op == "cast" and term.dtype in INTEGERS and term.args[0].dtype == INDEX


def held_places(trace: Trace) -> Held:
    """The numbers that are held of which the form is known to have a place, each a function of its index."""
    known: dict[str, tuple[tuple[str, ...], Fold]] = {}

    def look(term: Term) -> Term:
        for one in walk(term):
            match one:
                case App(_, (form, Read(name, index))) if is_made(one) and of_places(form.dtype) and name not in known:
                    pieces = parts_of(form.dtype, value_of(form))
                    if len(pieces) == 1 and isinstance(pieces[0], Fold) and all(isinstance(i, Var) for i in index):
                        known[name] = tuple(i.name for i in index if isinstance(i, Var)), pieces[0]
        return term

    trace.seen(look, look)
    return known


def with_places(claim: Claim, held: Held) -> Claim:
    """The claim with what is known of the places that it speaks of, those that are held too."""
    if not isinstance(claim, Obligation):
        return claim
    said = (*claim.hypotheses, claim.goal)
    if not held and not any(map(picking, said)):
        return claim
    terms = dict.fromkeys(t for s in said for t in outside(s))
    facts = list(picked(terms))  # whose new names have the numbers of terms; those of what is held have others
    for number, read in enumerate(dict.fromkeys(r for t in said for r in reads(t) if r.tensor in held), len(terms)):
        names, fold = held[read.tensor]
        here = substitute(fold, dict(zip(names, read.index, strict=True)))
        assert isinstance(here, Fold)
        facts += place_of(part(read, 1, "i32"), here, number)
    return replace(claim, hypotheses=(*claim.hypotheses, *facts)) if facts else claim
