"""The program's folds are the equation's: the same terms, each once, and units elsewhere.

    parts ⊕ₚ ⊕[d ∈ Dₚ | gₚ] bₚ(d)   =   ⊕[k ∈ K | g] b(k)      when there are arrows φₚ : Dₚ → K with
    bₚ = b ∘ φₚ where φₚ lands in K,   bₚ = unit elsewhere,   together onto,   together one-to-one (unless idempotent)

Comes in: the parts of one value and a fold of the equation. Goes out: those four kinds of formulas. The reads of the two
bodies suggest φ; nothing about the suggestion is trusted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tinygpu.category.linear import polynomial
from tinygpu.category.monoid import as_monoid, neutral
from tinygpu.category.region import Region
from tinygpu.category.settle import settle, within
from tinygpu.category.term import (
    FALSE,
    TRUE,
    App,
    Const,
    Fold,
    Term,
    Var,
    conjunction,
    conjuncts,
    lift,
    negation,
    reads,
    select,
    substitute,
    text,
)
from tinygpu.diagnostic import Label
from tinygpu.obligations.arrow import arrow
from tinygpu.obligations.bijection import Part, collisions, first, monotone, onto
from tinygpu.obligations.defined import evaluated
from tinygpu.obligations.obligation import Claim, Gap, Obligation
from tinygpu.obligations.shape import guarded, spread
from tinygpu.record import dataclass, replace

Same = Callable[[Term, Term, Region], Iterator[Claim]]


def _alike(part: Fold, wanted: Fold) -> bool:
    """Whether the axes of both run as far."""
    return len(part.axes) == len(wanted.axes) and all(
        polynomial(a.extent) == polynomial(b.extent) for a, b in zip(part.axes, wanted.axes, strict=True)
    )


def alike_terms(part: Fold, wanted: Fold) -> bool:
    """Whether nothing tells one term of a part from another, and how many there are counts."""
    counted = len(wanted.axes) == 1 and len(part.axes) <= 1 and not as_monoid(wanted.monoid).idempotent
    return counted and part.guard == TRUE and not reads(part.body)


@dataclass(frozen=True, slots=True)
class Matched:
    """A part of the program's value with its arrow into the wanted fold."""

    fold: Fold
    arrow: tuple[Term, ...]


def match(parts: tuple[Term, ...], wanted: Fold, point: Region, labels: tuple[Label, ...], same: Same) -> Iterator[Claim]:
    """The formulas that say `⊕ parts = wanted` at a point."""
    wanted, inner = point.opened(guarded(wanted))
    matched, laid = [], lift(0)
    for part in (single for several in parts for single in spread(several, wanted)):
        fold = (
            part if isinstance(part, Fold) and part.monoid == wanted.monoid else Fold(wanted.monoid, (), TRUE, part, wanted.dtype)
        )
        fold, _ = inner.opened(guarded(fold))
        if fold.body == as_monoid(wanted.monoid).unit(wanted.dtype):  # what adds nothing was decided by something that has a value
            yield from evaluated(fold.guard, wanted, point.inside(*fold.axes), labels)
            continue
        phi = arrow(fold, wanted)
        if alike_terms(fold, wanted):  # one is laid beside the other
            phi = (Var(fold.axes[0].name) + laid,) if fold.axes else (laid,)
            laid = laid + (fold.axes[0].extent if fold.axes else 1)
        if phi is None:
            reason = f"nothing in {text(fold.body)} tells which term of {text(wanted)} it is"
            if fold.guard != TRUE:  # it may be a part of nothing, wherever it is said what decides that
                yield from evaluated(fold.guard, wanted, point.inside(*fold.axes), labels)
                title, sentence = "the fold could not be matched with the equation's", f"{reason}, but it is never there"
                facts = point.inside(*fold.axes).under(fold.guard).facts
                yield Obligation("fold", "TG503", title, sentence, facts, FALSE, labels)
                continue
            yield Gap("fold", "TG503", "the fold could not be matched with the equation's", reason, labels, (fold, wanted))
            return
        matched.append(Matched(fold, phi))
    wanted, matched = _decided_alike(wanted, matched)
    for m in matched:
        yield from _body(m, wanted, point, labels, same)
    if not as_monoid(wanted.monoid).commutative:
        yield from _ordered(tuple(matched), wanted, point, labels)
    yield from _bijection(tuple(matched), wanted, point, labels)


def _decided_alike(wanted: Fold, matched: list[Matched]) -> tuple[Fold, list[Matched]]:
    """The folds as they are where data decides the same in all of them; else what data decides is a value: it, or the unit."""
    alike = True
    for m in matched:
        bind = {a.name: term for a, term in zip(wanted.axes, m.arrow, strict=True)}
        theirs = {substitute(c, bind) for c in conjuncts(wanted.guard) if reads(c)}
        alike = alike and theirs == {c for c in conjuncts(m.fold.guard) if reads(c)}
    if alike:
        return wanted, matched
    return _chosen(wanted), _joined([replace(m, fold=_chosen(m.fold)) for m in matched])


def _joined(matched: list[Matched]) -> list[Matched]:
    """`⊕[d] a  ⊕  ⊕[d] b` as `⊕[d] (a ⊕ b)`, where both are of the same terms: what data decides may be decided in two places."""
    out: list[Matched] = []
    for m in matched:
        law = as_monoid(m.fold.monoid)
        for place, other in enumerate(out):
            bind = {a.name: Var(b.name) for a, b in zip(m.fold.axes, other.fold.axes, strict=False)}
            guard, *arrow = (substitute(t, bind) for t in (m.fold.guard, *m.arrow))
            if law.commutative and _alike(m.fold, other.fold) and (guard, tuple(arrow)) == (other.fold.guard, other.arrow):
                body = App(law.op, (other.fold.body, substitute(m.fold.body, bind)), m.fold.dtype)
                out[place] = replace(other, fold=replace(other.fold, body=body))
                break
        else:
            out.append(m)
    return out


def _chosen(fold: Fold) -> Fold:
    """`⊕[g and c] v` as `⊕[g] (v if c else unit)`, where data decides `c`."""
    data = [c for c in conjuncts(fold.guard) if reads(c)]
    if not data:
        return fold
    rest = conjunction(*(c for c in conjuncts(fold.guard) if not reads(c)))
    return replace(fold, guard=rest, body=select(conjunction(*data), fold.body, neutral(fold.monoid, fold.dtype)))


def _lands(m: Matched, wanted: Fold) -> Term:
    bind = {a.name: term for a, term in zip(wanted.axes, m.arrow, strict=True)}
    inside = (within(term, a.extent) for a, term in zip(wanted.axes, m.arrow, strict=True))
    return conjunction(*inside, substitute(wanted.guard, bind))


def _body(m: Matched, wanted: Fold, point: Region, labels: tuple[Label, ...], same: Same) -> Iterator[Claim]:
    around = point.inside(*m.fold.axes)
    inner = around.under(m.fold.guard)
    lands = inner.settled(_lands(m, wanted))
    bind = {a.name: term for a, term in zip(wanted.axes, m.arrow, strict=True)}
    image = tuple(substitute(t, bind) for t in (wanted.guard, wanted.body))
    theirs: Term = App("select", (*image, Const(0, wanted.dtype)), wanted.dtype)  # the equation evaluates its body under its guard
    yield from evaluated(m.fold.guard, theirs, around, labels)
    there = inner.under(lands)
    given = frozenset(there.guard)
    ours, theirs = settle(m.fold.body, there.extents, given), settle(image[1], there.extents, given)
    yield from same(ours, theirs, there)
    if lands != TRUE:
        sentence = f"outside of {text(wanted)} the program contributes the unit of {wanted.monoid}"
        title, elsewhere = "a point outside the fold contributes to it", inner.under(negation(lands))
        for claim in same(m.fold.body, neutral(wanted.monoid, wanted.dtype), elsewhere):
            if isinstance(claim, Obligation) and claim.kind == "body":
                claim = replace(claim, kind="fold", code="TG504", title=title, sentence=sentence)
            yield claim


def _ordered(matched: tuple[Matched, ...], wanted: Fold, point: Region, labels: tuple[Label, ...]) -> Iterator[Claim]:
    """Where the monoid does not commute, the program combines the terms in the order of the equation."""
    title, sentence = "a fold changes the order of its terms", f"the terms of {text(wanted)} are combined in its order"
    help = f"{wanted.monoid} is not commutative: let the loops run in the order of the index, slowest factor outermost"
    parts = [Part(m.fold.axes, conjuncts(m.fold.guard) + conjuncts(_lands(m, wanted)), m.arrow) for m in matched]
    for part in parts:
        for hypotheses, goal in monotone(part, point):
            yield Obligation("fold", "TG508", title, sentence, hypotheses, goal, labels, help)
    for p, later in enumerate(parts):
        for earlier in parts[:p]:
            hypotheses, goal = first(earlier, later, point)
            yield Obligation("fold", "TG508", title, sentence, hypotheses, goal, labels, help)


def _bijection(matched: tuple[Matched, ...], wanted: Fold, point: Region, labels: tuple[Label, ...]) -> Iterator[Claim]:
    parts = tuple(Part(m.fold.axes, conjuncts(m.fold.guard), m.arrow) for m in matched)
    inner = point.inside(*wanted.axes).under(wanted.guard)
    goal = onto(parts, tuple(Var(a.name) for a in wanted.axes), inner.extents)
    sentence = f"every term of {text(wanted)} is contributed"
    yield Obligation("fold", "TG505", "a term of the fold is never contributed", sentence, inner.facts, goal, labels)
    if as_monoid(wanted.monoid).idempotent or not as_monoid(wanted.monoid).commutative:
        return  # what comes in order comes once: two points of one image would not come one after the other
    landing = tuple(Part(p.axes, p.guard + conjuncts(_lands(m, wanted)), p.terms) for p, m in zip(parts, matched, strict=True))
    for p, q, hypotheses, goal in collisions(landing, point):
        which = "" if p == q else f" (parts {q + 1} and {p + 1} of the program's sum)"
        sentence = f"no term of {text(wanted)} is contributed twice{which}"
        yield Obligation("fold", "TG506", "a term of the fold is contributed twice", sentence, hypotheses, goal, labels)
